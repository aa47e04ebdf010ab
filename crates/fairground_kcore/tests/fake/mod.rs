//! The interface, by a core of one FIFO per CPU in C: no kernel tree is needed, a C compiler is.

use fairground_kcore::{
    CallError, Fork, Governing, Hardware, IDLE, KernelCore, Kind, Points, Policy, StopKind, Wake, Why, Woken,
};
use std::path::{Path, PathBuf};
use std::process::Command;

const MS: u64 = 1_000_000;
const BOOT: u64 = 4_096 * MS;

/// The library of the fake core. A machine without a C compiler fails here: nothing of this interface can be tested then.
fn library(name: &str, flags: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("core.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-w", "-shared", "-fPIC"]).args(flags).arg("-I").arg(root.join("../../kcore/arch/fg/include/asm"));
    let status = compiler.arg("-o").arg(&library).arg(root.join("tests/fake/core.c")).status();
    let hint = "these tests compile a small core in C: install a C compiler (Debian: apt install gcc)";
    assert!(status.expect(hint).success(), "cc cannot compile tests/fake/core.c; {hint}");
    let symbols = Command::new("nm").args(["-n", "--defined-only"]).arg(&library).output().expect(hint);
    std::fs::write(folder.join("core.symbols"), symbols.stdout).unwrap();
    library
}

fn booted(name: &str, cpus: u32) -> KernelCore {
    let mut core = KernelCore::load(&library(name, &[]), Some("fake-1")).unwrap();
    core.boot(&Hardware::flat(cpus, BOOT)).unwrap();
    core
}

fn hogs(core: &mut KernelCore, count: u32) -> Vec<u32> {
    let mut make = |row| {
        let task = core.fork(0, BOOT, &Fork { name: format!("hog{row}"), ..Fork::default() }).unwrap();
        core.wake_up_new_task(0, BOOT, task).unwrap();
        task
    };
    (0..count).map(&mut make).collect()
}

#[test]
fn what_a_call_has_seen_of_other_cpus_is_told_in_its_order() {
    let mut core = booted("seen", 3);
    core.tick(1, BOOT + 4 * MS).unwrap();
    let seen: Vec<_> = core.seen().iter().map(|seen| (seen.cpu(), seen.is_lock())).collect();
    assert_eq!(seen, [(0, false), (2, false), (1, true)]);
    core.schedule(1, BOOT + 4 * MS, Why::Preempted).unwrap();
    assert_eq!(core.seen(), [], "the list is that of the last call");
}

#[test]
fn hogs_of_the_fake_core_take_turns_at_each_tick() {
    let mut core = booted("turns", 1);
    assert_eq!(hogs(&mut core, 3), [1, 2, 3]);
    assert_eq!(core.schedule(0, BOOT, Why::Preempted).unwrap(), 1);
    let mut who = Vec::new();
    for tick in 1..=6 {
        let now = BOOT + tick * 4 * MS;
        core.tick(0, now).unwrap();
        let asked: Vec<_> = core.requests().iter().map(|request| (request.kind(), request.cpu, request.time_ns)).collect();
        assert_eq!(asked, [(Some(Kind::Resched), 0, now)]);
        who.push(core.schedule(0, now, Why::Preempted).unwrap());
        let switch = core.requests()[0];
        assert_eq!((switch.kind(), switch.b), (Some(Kind::Switch), who[who.len() - 1]));
    }
    assert_eq!(who, [2, 3, 1, 2, 3, 1]);
    assert_eq!(core.task(1).map(|task| task.sum_exec_ns), Some(8 * MS));
}

#[test]
fn a_copy_goes_on_from_the_same_state_by_itself() {
    let mut core = booted("copies", 1);
    hogs(&mut core, 3);
    core.schedule(0, BOOT, Why::Preempted).unwrap();
    let go_on = |core: &mut KernelCore, ticks: std::ops::Range<u64>| -> Vec<u64> {
        let one = |tick| {
            let now = BOOT + tick * 4 * MS;
            core.tick(0, now).unwrap();
            core.schedule(0, now, Why::Preempted).unwrap()
        };
        ticks.map(one).collect()
    };
    assert_eq!(go_on(&mut core, 1..3), [2, 3]);
    let mut copy = core.clone();
    assert_eq!(go_on(&mut core, 3..6), [1, 2, 3]);
    // It knows nothing of what the other one did, and the other way round.
    assert_eq!(copy.task(1).map(|task| task.sum_exec_ns), Some(4 * MS));
    let mut third = copy.clone();
    assert_eq!(go_on(&mut copy, 3..5), [1, 2]);
    assert_eq!(core.task(1).map(|task| task.sum_exec_ns), Some(8 * MS));
    drop(core);
    assert_eq!(go_on(&mut copy, 5..6), [3]);
    assert!(matches!(third.tick(0, BOOT), Err(CallError::Refused(-22))), "time does not go back in any of them");
    drop(copy);
    assert_eq!(go_on(&mut third, 3..6), [1, 2, 3]);
}

#[test]
fn a_sleeper_leaves_and_comes_back_by_a_wake_up() {
    let mut core = booted("sleeper", 2);
    hogs(&mut core, 1);
    assert_eq!(core.schedule(0, BOOT, Why::Preempted).unwrap(), 1);
    assert_eq!(core.schedule(0, BOOT + MS, Why::Sleeps).unwrap(), IDLE);
    assert_eq!(core.task(1).map(|task| task.on_rq), Some(0));
    assert_eq!(core.wake(1, BOOT + 2 * MS, 1, Wake::Timer).unwrap(), Woken { cpu: 0, listed: false });
    assert_eq!(core.schedule(0, BOOT + 2 * MS, Why::Preempted).unwrap(), 1);
    assert_eq!(core.schedule(0, BOOT + 2 * MS, Why::Sleeps).unwrap(), IDLE);
    assert_eq!(core.wake(1, BOOT + 2 * MS, 1, Wake::Sync).unwrap(), Woken { cpu: 0, listed: true });
    assert_eq!(core.schedule(0, BOOT + 2 * MS, Why::Preempted).unwrap(), 1);
    assert_eq!(core.exit(0, BOOT + 3 * MS).unwrap(), IDLE);
}

#[test]
fn who_goes_to_another_cpu_is_told() {
    let mut core = booted("moves", 3);
    hogs(&mut core, 1);
    core.affinity(0, BOOT, 1, &[0, 2]).unwrap();
    let moves: Vec<_> = core.requests().iter().map(|row| (row.kind(), row.cpu, row.a)).collect();
    assert_eq!(moves, [(Some(Kind::Move), 2, 1)]);
}

#[test]
fn views_have_the_fields_of_the_header_at_their_places() {
    let mut core = booted("views", 2);
    hogs(&mut core, 2);
    assert_eq!((core.release().as_str(), core.hz(), core.boot_ns()), ("fake", 250, BOOT));
    assert_eq!(core.task(1).map(|task| (task.util_est, task.on_rq)), Some((7, 1)));
    assert_eq!(core.queue(0, 1).map(|queue| (queue.runtime_remaining_ns, queue.h_nr_queued)), Some((-5, 1)));
    assert_eq!(core.cpu(0).map(|cpu| (cpu.clock_ns, cpu.nr_idle_scan, cpu.nr_running)), Some((BOOT, 9, 1)));
    let domain = core.domain(0, 0).unwrap();
    assert_eq!((domain.name().as_str(), domain.weight, domain.spans(1), domain.spans(2)), ("MC", 2, true, false));
    assert_eq!(core.domain(0, 1), None);
    (0..2).for_each(|cpu| core.tick(cpu, BOOT).unwrap());
    let quota = core.quota(0).unwrap();
    assert_eq!((quota.quota_ns(), quota.period_ns, quota.burst_ns), (None, 100, 3));
    assert_eq!((quota.nr_periods, quota.nr_throttled, quota.throttled_time_ns), (2, 1, 2000));
    assert_eq!((quota.nr_burst, quota.burst_time_ns, core.quota(1)), (4, 5, None));
}

#[test]
fn works_are_done_on_the_way_to_user_mode() {
    let mut core = booted("works", 1);
    let flags = |core: &KernelCore| {
        let (view, flags) = (core.cpu(0).unwrap(), core.flags(0).unwrap());
        assert_eq!((view.user_works == 1, view.need_resched == 1), (flags.user_works(), flags.must_schedule()));
        assert!(!flags.may_schedule());
        Some((view.user_works, view.need_resched))
    };
    let task = core.fork(0, BOOT, &Fork { nice: 19, ..Fork::default() }).unwrap();
    core.wake_up_new_task(0, BOOT, task).unwrap();
    assert_eq!(flags(&core), Some((0, 1)), "who does not run yet returns nowhere");
    core.schedule(0, BOOT, Why::Preempted).unwrap();
    assert_eq!(flags(&core), Some((1, 0)));
    core.user_return(0, BOOT).unwrap();
    assert_eq!(flags(&core), Some((0, 1)), "the work may have left the task without a queue");
    assert!(core.user_return(1, BOOT).is_err());
}

#[test]
fn a_frequency_changes_when_the_driver_is_done() {
    let mut core = booted("frequency", 2);
    let points = Points { cpus: vec![0, 1], khz: vec![500_000, 1_500_000], latency_ns: MS, fast_switch: false, milliwatt: None };
    let policy = core.policy_new(BOOT, &points).unwrap();
    assert!(core.policy_new(BOOT, &Points { khz: vec![], ..points }).is_err());
    let limits = Governing { min_khz: 500_000, max_khz: 1_500_000, cur_khz: 500_000, ..Governing::default() };
    let how = Governing { schedutil: 1, rate_limit_us: 7, ..limits };
    core.govern(1, BOOT, policy, &how).unwrap();
    let asked = |core: &mut KernelCore| core.requests().iter().map(|row| (row.kind(), row.cpu, row.a, row.b)).collect::<Vec<_>>();
    assert_eq!(asked(&mut core), [(Some(Kind::FrequencyTimer), 1, 0, BOOT + 7)]);
    let view =
        |core: &KernelCore| core.frequency_of(policy).map(|view| (view.cur_khz, view.coming_khz, view.changes, view.waits));
    assert_eq!(view(&core), Some((500_000, 1_500_000, 0, 0)));
    core.frequency_work(1, BOOT + 7, policy).unwrap();
    assert_eq!(asked(&mut core), [(Some(Kind::Frequency), 1, 0, 1_500_000)]);
    assert_eq!((view(&core), core.frequency_of(1)), (Some((1_500_000, 0, 1, 0)), None));
    core.govern(1, BOOT + 7, policy, &Governing { begin_khz: 500_000, ..limits }).unwrap();
    assert_eq!(view(&core), Some((500_000, 500_000, 0, 0)));
    assert!(core.govern(1, BOOT + 7, policy, &Governing { max_khz: 2_000_000, ..limits }).is_err());
}

#[test]
fn what_a_core_refuses_is_an_error_and_the_core_goes_on() {
    let mut core = booted("refuses", 1);
    assert_eq!(core.flags(1), None, "there is one CPU");
    let refused = |answer: Result<Woken, CallError>| matches!(answer, Err(CallError::Refused(number)) if number < 0);
    assert!(refused(core.wake(0, BOOT, 99, Wake::Task)));
    assert!(refused(core.wake(7, BOOT, 1, Wake::Task)));
    assert!(core.nice(0, BOOT, 1, 40).is_err());
    assert!(core.policy(0, BOOT, 1, &Policy { priority: 100, ..Policy::default() }).is_err());
    assert!(core.affinity(0, BOOT, 1, &[]).is_err());
    assert!(core.fork(0, BOOT, &Fork { name: "a\0b".into(), ..Fork::default() }).is_err());
    assert!(core.boot(&Hardware::flat(1, BOOT)).is_err(), "a core boots once");
    let mut uneven = Hardware::flat(2, BOOT);
    uneven.node.pop();
    assert!(booted("uneven", 1).boot(&uneven).is_err());
    assert_eq!(hogs(&mut core, 1), [1]);
}

/// The process survives each kind of fault, and says what and where.
#[test]
fn a_fault_of_the_core_ends_the_call_and_nothing_else() {
    let told = [
        ("BUG", StopKind::Bug, "the kernel's own BUG in pick_next_entity() at kernel/sched/fair.c:4711"),
        ("OOPS", StopKind::Oops, "the kernel's own oops in fake_fault(): invalid access to address 0x10"),
        ("LOOP", StopKind::Loop, "the kernel loops without end in fake_fault(): an endless loop"),
        ("TRAP", StopKind::Trap, "the kernel calls `new_thing` in feature()"),
    ];
    for (name, kind, words) in told {
        let mut core = booted(&format!("fault-{name}"), 1);
        let Err(CallError::Stopped(stop)) = core.feature(name, true) else { panic!("{name} does not stop the core") };
        assert_eq!(stop.kind, kind);
        assert!(stop.to_string().starts_with(words), "{stop}");
        assert_eq!(core.schedule(0, BOOT, Why::Preempted), Err(CallError::Stopped(stop)), "a stopped core takes no call");
    }
}

#[test]
fn a_full_table_is_a_fault_with_its_name() {
    let mut core = booted("full", 1);
    let made = (0..300).find_map(|_| core.fork(0, BOOT, &Fork::default()).err());
    let Some(CallError::Stopped(stop)) = made else { panic!("{made:?}") };
    assert_eq!((stop.kind, stop.what.as_str()), (StopKind::Full, "tasks"));
}

#[test]
fn a_warning_is_a_request_and_its_text_is_escaped() {
    let mut core = booted("warning", 1);
    core.feature("WARN", true).unwrap();
    assert_eq!(core.requests()[0].kind(), Some(Kind::Warn));
    assert_eq!(core.log(), "WARNING: kernel/sched/core.c:12 \\u{1b}[31m\n");
}

/// Each instance has variables of its own, though all come from one file.
#[test]
fn forty_instances_do_not_see_each_other() {
    let library = library("forty", &[]);
    let mut cores: Vec<KernelCore> = (0..40).map(|_| KernelCore::load(&library, None).unwrap()).collect();
    for (row, core) in cores.iter_mut().enumerate() {
        core.boot(&Hardware::flat(1, BOOT)).unwrap();
        assert_eq!(hogs(core, row as u32 + 1).last(), Some(&(row as u32 + 1)));
    }
    let Err(CallError::Stopped(_)) = cores[7].feature("OOPS", true) else { panic!("no fault") };
    assert!(cores.iter().enumerate().all(|(row, core)| core.stopped().is_some() == (row == 7)));
}

#[test]
fn a_library_of_another_tree_or_interface_is_refused() {
    let why = |answer: Result<KernelCore, String>| answer.err().unwrap_or_default();
    let good = library("identity", &[]);
    let other = why(KernelCore::load(&good, Some("fake-2")));
    assert!(other.contains("was built from another tree (fake-1, wanted fake-2)"), "{other}");
    let old = why(KernelCore::load(&library("interface", &["-DFAKE_ABI=99"]), None));
    assert!(old.contains("has interface 99 of") && old.ends_with("Build the tree anew"), "{old}");
    let text = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-library.so");
    std::fs::write(&text, "no library").unwrap();
    assert!(why(KernelCore::load(&text, None)).contains("is no core"));
    let whole = std::fs::read(&good).unwrap();
    for length in [1000, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&text, &whole[..length]).unwrap();
        let short = why(KernelCore::load(&text, None));
        assert!(short.contains(&format!("is no core: it ends after {length} of {} bytes", whole.len())), "{short}");
    }
    assert!(why(KernelCore::load(Path::new("/nowhere.so"), None)).starts_with("/nowhere.so: "));
}
