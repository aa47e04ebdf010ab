//! What a patch author sees: a tree that does not compile, a symbol that is not there, faults of the patch, and a change of
//! the rules that changes the run.

use super::builds::{order, store, tree};
use super::driver::{BOOT_NS, TICK_NS};
use fairground_kcore::build::{Built, build};
use fairground_kcore::{CallError, Fork, Hardware, KernelCore, Stop, StopKind, Why};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A tree of links with a scheduler of its own, in which `line` begins the body of task_tick_fair().
fn patched(line: &str) -> PathBuf {
    let (from, to) = (tree("6.12"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("patched"));
    if !to.exists() {
        fs::create_dir_all(to.join("kernel/sched")).unwrap();
        let links = |part: &str, without: &str| {
            for entry in from.join(part).read_dir().unwrap().flatten().filter(|entry| entry.file_name() != without) {
                symlink(entry.path().canonicalize().unwrap(), to.join(part).join(entry.file_name())).unwrap();
            }
        };
        links("", "kernel");
        links("kernel", "sched");
        for entry in from.join("kernel/sched").read_dir().unwrap().flatten() {
            fs::copy(entry.path(), to.join("kernel/sched").join(entry.file_name())).unwrap();
        }
    }
    let text = fs::read_to_string(from.join("kernel/sched/fair.c")).unwrap();
    let start = text.find("static void task_tick_fair(").unwrap();
    let body = start + text[start..].find("{\n").unwrap() + 2;
    fs::write(to.join("kernel/sched/fair.c"), format!("{}{line}\n{}", &text[..body], &text[body..])).unwrap();
    to
}

fn built(line: &str) -> Result<Built, String> {
    build(&order(patched(line)), &store())
}

/// The fault at the first tick of a hog.
fn fault(built: &Built) -> Stop {
    let mut core = KernelCore::load(&built.named.library, Some(&built.named.identity)).unwrap();
    core.boot(&Hardware::flat(1, BOOT_NS)).unwrap();
    let task = core.fork(0, BOOT_NS, &Fork { name: "hog".into(), ..Fork::default() }).unwrap();
    core.wake_up_new_task(0, BOOT_NS, task).unwrap();
    core.schedule(0, BOOT_NS, Why::Preempted).unwrap();
    match core.tick(0, BOOT_NS + TICK_NS) {
        Err(CallError::Stopped(stop)) => stop,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_patch_does_wrong_is_told_as_the_patchs_own() {
    let why = built("\tthis is no C;").unwrap_err();
    let place = patched("").canonicalize().unwrap().join("kernel/sched/fair.c");
    assert!(why.contains(&format!("{}:", place.display())) && why.contains("error:"), "{why}");

    let unknown = built("\t{ extern void fairground_new_thing(void); fairground_new_thing(); }").unwrap();
    let note = unknown.notes.join("\n");
    assert!(note.contains("`fairground_new_thing`, called by task_tick_fair() in"), "{note}");
    let stop = fault(&unknown);
    assert_eq!((stop.kind, stop.what.as_str()), (StopKind::Trap, "fairground_new_thing"));
    assert_eq!(stop.function.as_deref(), Some("task_tick_fair"));

    let stop = fault(&built("\tBUG();").unwrap());
    assert!(stop.to_string().starts_with("the kernel's own BUG in task_tick_fair() at "), "{stop}");
    let stop = fault(&built("\t*(volatile int *)8 = 1;").unwrap());
    assert_eq!((stop.kind, stop.address, stop.function.as_deref()), (StopKind::Oops, 8, Some("task_tick_fair")));
    let stop = fault(&built("\tfor (;;) barrier();").unwrap());
    assert_eq!((stop.kind, stop.function.as_deref()), (StopKind::Loop, Some("task_tick_fair")));

    let again = built("\tBUG();").unwrap();
    assert!(again.cached, "a content that was built is not built again");
}
