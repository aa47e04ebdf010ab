//! What a call has seen of other CPUs, in every file of a tree: prices of runs over trees go by it.

use super::builds::core;
use fairground_kcore::{Fork, Hardware, Wake, Why};

const BOOT_NS: u64 = 4_000_000 << 20;

/// `idle_cpu()` is in core.c, which defines the run queues, up to v6.8, and in syscalls.c from then on. Whether the CPU on
/// which a task was is idle is asked there, before any search.
#[test]
fn a_look_by_the_file_that_defines_the_run_queues_is_seen() {
    for series in ["5.10", "6.1", "6.12"] {
        let mut core = core(series);
        core.boot(&Hardware::flat(4, BOOT_NS)).unwrap();
        let task = core.fork(0, BOOT_NS, &Fork { outside: true, ..Fork::default() }).unwrap();
        let home = core.wake_up_new_task(0, BOOT_NS, task).unwrap();
        core.schedule(home, BOOT_NS, Why::Preempted).unwrap();
        core.schedule(home, BOOT_NS, Why::Sleeps).unwrap();
        let waker = (home + 1) % 4;
        assert_eq!(core.wake(waker, BOOT_NS + 1_000_000, task, Wake::Timer).unwrap().cpu, home, "{series}: it is idle");
        let looks: Vec<u32> = core.seen().iter().filter(|seen| !seen.is_lock()).map(|seen| seen.cpu()).collect();
        assert!(looks.contains(&home), "{series}: {looks:?}");
    }
}
