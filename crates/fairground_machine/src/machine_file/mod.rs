//! Machine files: TOML, either regular (so many sockets, caches, cores, threads) or one table per CPU.
//!
//! ```toml
//! name = "two sockets"
//! sockets = 2                  # packages
//! nodes = 1                    # NUMA nodes per package
//! llcs = 1                     # last-level caches per node
//! clusters = 2                 # per last-level cache; leave out if there are none
//! cores = 4                    # per cluster, or per last-level cache
//! threads = 2                  # per core
//! numbering = "thread-major"   # or "adjacent"
//! freq_domains = "core"        # or "cpu", "llc", "package", "machine"
//! distances = [[10, 21], [21, 10]]
//! reclaim_distance = 30        # nodes farther apart share no wake-ups, forks and execs; 32 on AMD Zen
//! smt = true                   # false: a kernel without this level of scheduling domains;
//! cluster = true               # the same for these
//! mc = true
//! numa = true
//! capacity = 1024              # all CPUs; or a list, one number per CPU
//! freq_capacity = 1024         # the same
//! hz = 250
//! tick = "4ms"                 # 1/hz if left out
//! tick_jitter = "300us"
//! tick_jitter_seed = 12345
//! tick_offset = "10us"         # CPU n ticks n times this later; or skew_tick = true
//! tick_phase = "500us"         # all tick so long after whole ticks of the clock, as kernels from v4.19 to v6.3 do
//! irq_time_accounting = true
//! nohz_idle = true
//! round_of_turns = "100us"     # an emulator that executes all CPUs on one thread, in turns; left out: all run at once
//! scan_atomic = false          # true: a search for an idle CPU reads all run queues at its beginning, not each at its moment
//! smt_percent = 62             # throughput of a thread beside a busy one of its core; left out: 100, they do not disturb one another
//! core_cache = "2MiB"          # of a core, which its tasks share; or a number of KiB
//! page_sizes = ["4KiB", "2MiB", "1GiB"]  # those of x86-64; arm64 with base pages of 4 KiB has "64KiB" too
//! nic_cpus = "0-7"             # the CPUs that the network device interrupts; all if left out
//! wire = "25us"                # how long a message from or to another machine is on the way
//! freq_invariant = true        # false: a kernel that takes every CPU for one at its highest frequency
//! idle_governor = "menu-like"  # or "shallowest", "deepest"
//! costs = "xeon-spr"           # or a table, see below
//!
//! [costs]
//! preset = "xeon-spr"
//! tick = "2us"
//! idle_exit = { price = "170us", source = "measured, C6" }
//! scale = { network = 2.4, switch = { factor = 0.5, source = "calibrated: …" } }
//! ```
//!
//! `scale` multiplies prices of the preset, class by class; a price that stands here itself is taken as it is.
//!
//! The rows of [`all_keys`] say what each key is, those of the tables `[[policy]]`, `[[idle_state]]` and `[[cpu]]` included.
//!
//! - Without `[[idle_state]]` there is one idle state, and leaving it costs `idle_exit`.
//! - Without `[[policy]]` there are no operating points, and CPUs run at `freq_capacity`. `governor` is a name (`fairground list
//!   governors`), or a table such as `{ name = "schedutil", rate_limit = "10ms" }`.
//! - `preset = "spr-2x56"` instead of a shape takes a ready machine; everything that is no shape can then be changed.
//! - A machine of no regular shape has one `[[cpu]]` table per CPU, in CPU order. All numbers there count over the whole machine.

mod cpus;
mod governor;
mod idle;
mod policies;
mod read;
mod settings;
mod shape;
mod write;

pub(crate) use read::preset;
pub use read::{all_keys, from_table, parse};
pub use write::write;
