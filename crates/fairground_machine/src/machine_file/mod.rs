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
//! One `[[idle_state]]` table per idle state of the CPUs, shallowest first, with the keys `name`, `exit_latency`
//! (as the driver's table says), `exit_time` (how long it takes; as the table says if left out), `target_residency` and
//! `polling` (whether the CPU watches its reschedule flag, as with mwait; false if left out).
//! Without any there is one state, and leaving it costs `idle_exit`.
//!
//! One `[[policy]]` table per set of CPUs that change frequency together, with the keys `cpus` (such as "0-3"), `khz` (the operating points,
//! the slowest first), `power_mw` (of one busy CPU at each point) or `millivolt` and `dynamic_power_coefficient` (from which
//! coefficient · MHz · mV² / 10⁹ mW follow), `transition_latency`, `transition_delay` (the least time between two changes that
//! the driver asks for), `fast_switch` (the scheduler changes the frequency itself, at once; false if left out) and `governor`, who chooses
//! among the points: a name (`fairground list governors`), or a table such as `{ name = "schedutil", rate_limit = "10ms" }`. Further keys of
//! that table: `sampling_rate`, `up_threshold`, `down_threshold`, `freq_step`, `sampling_down_factor`, `setspeed_khz`, `min_khz`,
//! `max_khz`, `start_khz`. `governor` beside the keys of the machine is that of all policies, whatever they say. Without any policy
//! there are no operating points, and CPUs run at `freq_capacity`.
//!
//! `preset = "spr-2x56"` instead of a shape takes a ready machine; everything that is no shape can
//! then be changed. A machine of no regular shape has one `[[cpu]]` table per CPU, in CPU order, with
//! the keys `id`, `core`, `cluster`, `llc`, `package`, `node`, `capacity`, `freq_capacity`, `freq_domain`, and `clock_ahead = "1.5ms"`
//! where the scheduler's clock of a CPU is ahead of the clock. All numbers count over the whole machine. What is left out: the CPU's own number for `core`, none
//! for `cluster`, 0 for `llc`, `package` and `node`, 1024 for the capacities, the core for `freq_domain`.

mod explicit;
mod fields;
mod governor;
mod idle;
mod policies;
mod read;
mod write;

pub(crate) use fields::{Fields, parse_document};
pub use read::from_table;
pub use write::write;

use crate::machine::Machine;
use fairground_model::Mistakes;

/// Reads a machine file. All mistakes are reported together.
pub fn parse(text: &str) -> Result<Machine, Mistakes> {
    let mut mistakes = Mistakes::default();
    let document = parse_document(text, &mut mistakes);
    let machine = document.and_then(|document| from_table(document.as_table(), 0..text.len(), &mut mistakes));
    mistakes.or(())?;
    machine.ok_or_else(|| Mistakes::one("this file describes no machine", "Write `preset`, `cores` or `[[cpu]]` tables."))
}
