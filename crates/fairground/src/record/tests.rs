//! Snapshots of trees of files that stand for a host: no privileges are needed.

use super::folder::Unfinished;
use super::map::container_of;
use super::mask::Mask;
use super::recorder::Recorder;
use super::{RecordOptions, Root, events, record, snapshot, take};
use fairground_scenario::trace_file;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A folder of one test; it goes away with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("fairground-record-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn file(&self, name: &str, content: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    fn folder(&self, name: &str) {
        fs::create_dir_all(self.0.join(name)).unwrap();
    }
    fn root(&self) -> Root {
        Root::at(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The stat file of a thread: only the fields that are used are other than 0.
fn stat(tid: u32, name: &str, flags: u64, nice: i32, rt_priority: u32, policy: u32) -> String {
    let zeros = |count: usize| "0 ".repeat(count);
    format!("{tid} ({name}) S {}{flags} {}{nice} {}777 {}{rt_priority} {policy} 0 0\n", zeros(5), zeros(9), zeros(2), zeros(17))
}

/// A host of two CPUs with three tasks; the control groups are added by the tests.
fn host() -> Folder {
    let host = Folder::new();
    host.file("proc/sys/kernel/osrelease", "6.12.1\n");
    host.file(
        "boot/config-6.12.1",
        "# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_LAZY=y\nCONFIG_HZ=1000\nCONFIG_IRQ_TIME_ACCOUNTING=y\n",
    );
    host.file("proc/sys/kernel/sched_autogroup_enabled", "1\n");
    host.file("proc/loadavg", "1.50 0 0 2/3 9\n");
    host.file("proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 5\n");
    host.file("proc/cpuinfo", "flags\t\t: fpu hypervisor\n");
    host.file("sys/devices/system/cpu/online", "0-1\n");
    host.file("sys/kernel/debug/sched/features", "PLACE_LAG NO_RUN_TO_PARITY\n");
    host.file("sys/kernel/debug/sched/preempt", "none voluntary full (lazy)\n");
    host.file("sys/kernel/debug/sched/base_slice_ns", "2800000\n");
    for (tid, name, flags, nice, rt, policy) in
        [(2, "kthreadd", 0x20_0000, 0, 0, 0), (10, "we (b) \u{1b}[31m", 0, -5, 0, 3), (11, "audio", 0, 0, 50, 1)]
    {
        let task = format!("proc/{tid}/task/{tid}");
        host.file(&format!("{task}/stat"), &stat(tid, name, flags, nice, rt, policy));
        host.file(&format!("{task}/status"), "Name:\tx\nCpus_allowed_list:\t0-1\n");
        host.file(
            &format!("{task}/sched"),
            "x (1, #threads: 1)\nse.slice          :     2800000\nuclamp.min     : 100\nuclamp.max  : 1024\n",
        );
        host.file(&format!("proc/{tid}/autogroup"), if tid == 2 { "" } else { "/autogroup-7 nice 5\n" });
    }
    // It ends while it is read.
    host.folder("proc/12/task/12");
    host
}

#[test]
fn a_host_with_cgroup_v1_tells_groups_tasks_and_kernel() {
    let host = host();
    host.file(
        "proc/self/mounts",
        "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n",
    );
    host.file("proc/self/cgroup", "3:cpuset:/\n5:cpu,cpuacct:/\n0::/\n");
    host.file("proc/2/task/2/cgroup", "5:cpu,cpuacct:/\n0::/system\n");
    host.file("proc/10/task/10/cgroup", "3:cpuset:/b\n5:cpu,cpuacct:/web/a:b\n");
    host.file("proc/11/task/11/cgroup", "5:cpu,cpuacct:/\n");
    for (folder, shares, quota) in [("", "1024", "-1"), ("/web", "2048", "-1"), ("/web/a:b", "512", "50000")] {
        let folder = format!("sys/fs/cgroup/cpu{folder}");
        host.file(&format!("{folder}/cpu.shares"), shares);
        host.file(&format!("{folder}/cpu.cfs_quota_us"), quota);
        host.file(&format!("{folder}/cpu.cfs_period_us"), "100000");
        host.file(&format!("{folder}/cpu.stat"), "nr_periods 4\nnr_throttled 1\n");
    }
    host.file("sys/fs/cgroup/cpuset/b/cpuset.effective_cpus", "1\n");
    let taken = take(&host.root());
    let of_host = &taken.host;
    assert_eq!(
        (of_host.hz, of_host.preempt.as_deref(), of_host.preempt_in_force.as_deref()),
        (Some(1000), Some("lazy"), Some("lazy"))
    );
    assert_eq!((of_host.irq_time_accounting, of_host.cpu_hierarchy, of_host.hypervisor), (Some(true), Some(5), Some(true)));
    assert_eq!((of_host.features.len(), of_host.tunables.len(), of_host.steal()), (2, 1, Some((8, 36))));
    assert!(of_host.not_readable.is_empty(), "{:?}", of_host.not_readable);
    let rows: Vec<_> =
        taken.groups.iter().map(|group| (group.path.as_str(), group.shares, group.quota_us, group.is_cpuset)).collect();
    assert_eq!(
        rows,
        [
            ("/", Some(1024), None, false),
            ("/web", Some(2048), None, false),
            ("/web/a:b", Some(512), Some(50_000), false),
            ("/b", None, None, true),
            // The weight of nice 5.
            ("/autogroup-7", Some(335), None, false),
        ]
    );
    let tasks: Vec<_> =
        taken.tasks.iter().map(|task| (task.tid, task.group.as_deref(), task.nice, task.policy, task.rt_priority)).collect();
    assert_eq!(
        tasks,
        [
            (2, Some("/"), Some(0), Some(0), Some(0)),
            (10, Some("/web/a:b"), Some(-5), Some(3), Some(0)),
            (11, Some("/autogroup-7"), Some(0), Some(1), Some(50)),
        ]
    );
    assert!(taken.tasks[0].kthread && !taken.tasks[1].kthread);
    assert_eq!(
        (taken.tasks[1].slice_ns, taken.tasks[1].uclamp, taken.tasks[1].start_ticks),
        (Some(2_800_000), Some((100, 1024)), Some(777))
    );
    assert!(taken.machine.contains("hz = 1000"), "{}", taken.machine);
}

#[test]
fn a_host_with_cgroup_v2_tells_the_groups_that_have_the_controller() {
    let host = host();
    host.file("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
    host.file("proc/10/task/10/cgroup", "0::/web/inner\n");
    host.file("sys/fs/cgroup/cgroup.controllers", "cpu\n");
    host.file("sys/fs/cgroup/web/cpu.weight", "200\n");
    host.file("sys/fs/cgroup/web/cpu.max", "50000 100000\n");
    host.file("sys/fs/cgroup/web/cpuset.cpus.effective", "0\n");
    host.folder("sys/fs/cgroup/web/inner");
    let taken = take(&host.root());
    let rows: Vec<_> =
        taken.groups.iter().map(|group| (group.path.as_str(), group.shares, group.quota_us, group.cpus.as_deref())).collect();
    assert_eq!(rows[..2], [("/", None, None, None), ("/web", Some(2048), Some(50_000), Some("0"))]);
    assert_eq!((taken.host.cpu_hierarchy, taken.tasks[1].group.as_deref()), (Some(0), Some("/web/inner")));
}

#[test]
fn what_cannot_be_read_is_said() {
    let empty = Folder::new();
    let taken = take(&empty.root());
    let said = taken.host.not_readable.join("\n");
    for what in ["configuration", "features", "control groups", "slices", "the machine"] {
        assert!(said.contains(what), "{what}: {said}");
    }
    assert!(taken.tasks.is_empty() && taken.machine.is_empty());
}

#[test]
fn missing_tracepoints_and_permissions_are_told_with_what_to_do() {
    let host = host();
    let refused = |host: &Folder| events::choose(&host.root(), &[]).unwrap_err().to_string();
    assert!(refused(&host).contains("mount -t tracefs none /sys/kernel/tracing"), "{}", refused(&host));
    host.folder("sys/kernel/tracing/events/sched/sched_waking");
    assert!(refused(&host).contains("no tracepoint sched:sched_switch"), "{}", refused(&host));
    host.folder("sys/kernel/tracing/events/sched/sched_switch");
    let found = events::choose(&host.root(), &[]).unwrap();
    assert_eq!(found.there, ["sched:sched_switch", "sched:sched_waking"]);
    assert!(found.missing.contains(&"sched:sched_stat_runtime".to_string()));
    let besides = |event: &str| events::choose(&host.root(), &[event.to_string()]).unwrap_err().to_string();
    assert!(besides("irq:none").contains("this kernel has no such tracepoint"));
    assert!(besides("../x:y").contains("this is no tracepoint") && besides("x").contains("this is no tracepoint"));
    // A plain user: no capability, and perf is not allowed.
    host.file("proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n");
    host.file("proc/sys/kernel/perf_event_paranoid", "2\n");
    let may_not = Recorder::choose(Some(Recorder::Tracefs), &host.root()).unwrap_err().to_string();
    assert!(may_not.contains("only root") && may_not.contains("sudo fairground record"), "{may_not}");
    host.file("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\n");
    assert_eq!(Recorder::choose(Some(Recorder::Tracefs), &host.root()).unwrap(), Recorder::Tracefs);
}

#[test]
fn a_recorder_that_writes_nothing_leaves_nothing() {
    let (host, out) = (host(), Folder::new());
    host.folder("sys/kernel/tracing/events/sched/sched_switch");
    host.file("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\n");
    let output = out.0.join("x.fgr");
    let options = RecordOptions {
        output: output.clone(),
        command: Vec::new(),
        length: None,
        comm: None,
        cgroup: None,
        events: Vec::new(),
        buffer_mib: 1,
        is_masked: false,
        recorder: Some(Recorder::Tracefs),
    };
    // These files are no tracefs: an instance of it cannot be made.
    let error = record(&options, &host.root(), &AtomicBool::new(false)).unwrap_err();
    assert!(error.to_string().starts_with("cannot write /sys/kernel/tracing"), "{error}");
    assert_eq!(fs::read_dir(&out.0).unwrap().count(), 0);
}

#[test]
fn a_container_does_not_replace_what_is_there() {
    let (host, out) = (host(), Folder::new());
    let output = out.0.join("x.fgr");
    let made = snapshot(&output, false, &host.root()).unwrap();
    assert_eq!((made.tasks, made.path.as_path()), (3, output.as_path()));
    assert!(made.notes.iter().any(|note| note.contains("load average 1.50 on 2 CPUs")), "{:?}", made.notes);
    let again = snapshot(&output, false, &host.root()).unwrap_err().to_string();
    assert!(again.contains("is there already"), "{again}");
    let names: Vec<_> = fs::read_dir(&out.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["x.fgr"]);
    // One that is given up with a recording in it leaves that.
    let unfinished = Unfinished::create(&out.0.join("y.fgr")).unwrap();
    let path = unfinished.path().to_path_buf();
    fs::write(path.join("perf.data"), "x").unwrap();
    drop(unfinished);
    assert!(path.is_dir() && path.to_string_lossy().ends_with(".partial"));
}

const TRACE: &str = "\
 web-10 [000] d..2.  1.000001: sched_switch: prev_comm=web prev_pid=10 prev_prio=115 prev_state=S ==> next_comm=kworker/0:1 next_pid=2 next_prio=120
 kworker/0:1-2 [000] d..2.  1.000005: sched_switch: prev_comm=kworker/0:1 prev_pid=2 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn masked_names_are_the_same_everywhere_and_the_kernels_stay() {
    let (host, out) = (host(), Folder::new());
    host.file("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
    host.file("proc/10/task/10/cgroup", "0::/secret/inner\n");
    host.file("sys/fs/cgroup/secret/cpu.weight", "200\n");
    host.file("sys/fs/cgroup/secret/inner/cpu.weight", "100\n");
    let mut taken = take(&host.root());
    taken.tasks[1].comm = "web".to_string();
    let output = out.0.join("x.fgr");
    snapshot(&output, false, &host.root()).unwrap();
    fs::write(output.join("trace.txt"), TRACE).unwrap();
    let mut mask = Mask::of(&[&taken]);
    mask.snapshot(&mut taken);
    mask.recording(&output, "trace.txt").unwrap();
    assert_eq!(taken.tasks.iter().map(|task| task.comm.as_str()).collect::<Vec<_>>(), ["kthreadd", "task-1", "task-2"]);
    assert_eq!(taken.tasks[1].group.as_deref(), Some("/group-1/group-2"));
    let paths: Vec<_> = taken.groups.iter().map(|group| group.path.as_str()).collect();
    assert_eq!(paths, ["/", "/group-1", "/group-1/group-2", "/autogroup-7"]);
    assert!(!output.join("trace.txt").exists());
    let text = fs::read_to_string(output.join("trace.json")).unwrap();
    assert!(text.contains("task-1") && text.contains("kworker/0:1") && !text.contains("web"), "{text}");
    let trace = trace_file::TraceFile::load(&output).unwrap().trace;
    assert_eq!(trace.tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["task-1", "kworker/0:1"]);
}

#[test]
fn a_map_tells_the_groups_of_a_recording_from_elsewhere() {
    let out = Folder::new();
    out.file("trace.txt", TRACE);
    out.file(
        "map",
        "# two groups\n/web/api weight=200 max=50000/100000 burst=1000\n/low idle shares=2\ntask we* /web/api\npid 2 /low\n",
    );
    let at = |name: &str| -> PathBuf { out.0.join(name) };
    let made = container_of(&at("trace.txt"), &at("map"), &at("x.fgr")).unwrap();
    assert_eq!((made.groups, made.tasks), (3, 2));
    let trace = trace_file::TraceFile::load(&at("x.fgr")).unwrap().trace;
    let groups: Vec<_> = trace.groups.iter().map(|of| of.path.as_str()).collect();
    assert_eq!(groups, ["/web/api", "/low"]);
    let (specs, _) = trace.stats.container.unwrap().beginning().unwrap().specs();
    let rows: Vec<_> = specs.iter().map(|group| (group.name.as_str(), group.shares, group.idle, group.limit.burst.0)).collect();
    assert_eq!(rows, [("/low", 2, true, 0), ("/web", 1024, false, 0), ("/web/api", 2048, false, 1_000_000)]);
    out.file("bad", "web /x\n/a/../b idle\n/a weight=0\n/a max=1/2/3\ntask x y\npid x /a\n/ idle\n/a speed=1\n");
    let error = container_of(&at("trace.txt"), Path::new(&at("bad")), &at("z.fgr")).unwrap_err().to_string();
    assert_eq!(error.lines().filter(|line| line.contains("bad:")).count(), 8, "{error}");
    assert!(!at("z.fgr").exists());
}
