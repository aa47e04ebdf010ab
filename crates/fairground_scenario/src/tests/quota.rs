//! Quotas: from the text to what the engine gets.

use super::{mistakes, parse};
use crate::write;
use fairground_model::{Change, CpuMax};
use fairground_sched::Profile;
use fairground_stdx::Ns;

const QUOTA: &str = "
duration = \"1s\"
[machine]
preset = \"smp-2\"
[profile]
kernel = \"6.12\"
[[group]]
path = \"/web\"
\"cpu.weight\" = 200
\"cpu.max\" = \"50000\"
[[group]]
path = \"/web/api\"
\"cpu.max.burst\" = 10000
[[workload]]
group = \"/web/api\"
tasks = [{ name = \"a\", hog = true, count = 2 }]
";

/// The same with files of cgroup v1.
fn v1() -> String {
    QUOTA
        .replace("\"cpu.weight\" = 200", "\"cpu.shares\" = 2048")
        .replace("\"cpu.max\" = \"50000\"", "\"cpu.cfs_quota_us\" = 50000")
        .replace("cpu.max.burst", "cpu.cfs_burst_us")
}

/// With writes of which each is 100 ms after the one before; the last stands first in the text.
fn with(text: &str, writes: &[&str]) -> String {
    let rows = writes.iter().enumerate().rev();
    rows.fold(text.to_string(), |text, (row, act)| format!("{text}[[at]]\ntime = \"{}ms\"\ndo = \"{act}\"\n", 100 * (row + 1)))
}

fn us(quota: Option<u64>, period: u64, burst: u64) -> CpuMax {
    CpuMax { quota: quota.map(Ns::from_us), period: Ns::from_us(period), burst: Ns::from_us(burst) }
}

fn changes(text: &str) -> Vec<CpuMax> {
    let limit = |change| if let Change::CpuMax { limit, .. } = change { limit } else { panic!("{change:?}") };
    parse(text).unwrap().tasks().changes.into_iter().map(|timed| limit(timed.change)).collect()
}

#[test]
fn each_write_keeps_what_it_does_not_name() {
    let text = with(
        QUOTA,
        &[
            "cpu.max /web/api 20000 50000",
            "cpu.max /web/api 30000",
            "cpu.max /web/api max",
            "cpu.max.burst /web/api 0",
            "cpu.max /web max 10000",
        ],
    );
    let expected = [
        us(Some(20_000), 50_000, 10_000),
        us(Some(30_000), 50_000, 10_000),
        us(None, 50_000, 10_000),
        us(None, 50_000, 0),
        us(None, 10_000, 0),
    ];
    assert_eq!(changes(&text), expected);
    let of_v1 = with(
        &v1(),
        &[
            "cpu.cfs_period_us /web/api 50000",
            "cpu.cfs_quota_us /web/api 20000",
            "cpu.cfs_burst_us /web/api 5",
            "cpu.cfs_quota_us /web -1",
        ],
    );
    let expected =
        [us(None, 50_000, 10_000), us(Some(20_000), 50_000, 10_000), us(Some(20_000), 50_000, 5), us(None, 100_000, 0)];
    assert_eq!(changes(&of_v1), expected);
    for text in [&text, &of_v1] {
        let scenario = parse(text).unwrap();
        let printed = scenario.canonical();
        let again = parse(&printed).unwrap();
        assert_eq!((again.canonical(), again.tasks()), (printed, scenario.tasks()));
        let setup = scenario.setup().unwrap();
        let written = write("again", &setup).unwrap();
        let again = parse(&written).unwrap().setup().unwrap();
        assert_eq!((again.tasks.groups, again.tasks.changes), (setup.tasks.groups, setup.tasks.changes), "{written}");
    }
}

#[test]
fn the_limit_at_the_start_decides() {
    let digest = |text: &str| parse(text).unwrap().digest();
    assert_ne!(digest(QUOTA), digest(&QUOTA.replace("50000", "50001")));
    assert_ne!(digest(QUOTA), digest(&QUOTA.replace("10000", "10001")));
    let groups = parse(QUOTA).unwrap().tasks().groups;
    let limits: Vec<CpuMax> = groups.iter().map(|group| group.limit).collect();
    assert_eq!(limits, [us(Some(50_000), 100_000, 0), us(None, 100_000, 10_000)]);
}

#[test]
fn what_the_kernel_refuses_is_refused_with_its_line() {
    let of_v2 = |writes: &[&str]| with(QUOTA, writes);
    let of_v1 = |writes: &[&str]| with(&v1(), writes);
    let declared =
        |quota: &str| v1().replace("[[workload]]", &format!("[[group]]\npath = \"/web/api/x\"\n{quota}\n[[workload]]"));
    for (text, part) in [
        (of_v2(&["cpu.max /web/api 9999"]), "at 100ms is refused (EINVAL): cpu.max 9999: the burst is larger than the quota"),
        (of_v2(&["cpu.max /web/api 10000", "cpu.max.burst /web/api 10001"]), "at 200ms is refused (EINVAL)"),
        (of_v2(&["cpu.cfs_quota_us /web/api 20000"]), "cgroup v1 and v2 in one scenario"),
        (of_v1(&["cpu.max /web/api 20000"]), "cgroup v1 and v2 in one scenario"),
        (of_v2(&["cpu.max /wab 20000"]), "there is no group `/wab`"),
        (of_v2(&["cpu.uclamp.min /web 10 20"]), "cpu.uclamp.min 10 20: no percentage (EINVAL)"),
        // A child has at most what its parents have: there, where a group between has no quota, and where the parent gets less.
        (of_v1(&["cpu.cfs_quota_us /web/api 50001"]), "group `/web/api` would get more CPU time than a group above it"),
        (
            of_v1(&["cpu.cfs_quota_us /web/api 50000", "cpu.cfs_quota_us /web 49000"]),
            "at 200ms is refused (EINVAL): group `/web/api`",
        ),
        (of_v1(&["cpu.cfs_quota_us /web/api 50000", "cpu.cfs_period_us /web/api 90000"]), "at 200ms is refused (EINVAL)"),
        (declared("\"cpu.cfs_quota_us\" = 60000"), "group `/web/api/x` would get more CPU time than a group above it (EINVAL)"),
    ] {
        let found = mistakes(&text);
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
        assert!(found[0].contains(part) && found[0].contains("(hint: ") && found[0].starts_with("test.toml:"), "{found:#?}");
    }
}

/// Model: 10 T12
#[test]
fn a_child_may_have_more_quota_than_its_parent_in_cgroup_v2_only() {
    let child =
        |text: &str, file: &str| text.replace("[[workload]]", &format!("[[group]]\npath = \"/web/db\"\n{file}\n[[workload]]"));
    assert!(parse(&child(QUOTA, "\"cpu.max\" = \"100000\"")).is_ok());
    assert!(parse(&child(&v1(), "\"cpu.cfs_quota_us\" = 100000")).is_err());
    // Siblings are not summed, and no quota is the parent's.
    assert!(parse(&child(&v1(), "\"cpu.cfs_quota_us\" = 50000")).is_ok());
    assert!(parse(&child(&v1(), "\"cpu.cfs_quota_us\" = -1")).is_ok());
    // Held against the quotient, whatever the periods are.
    assert!(parse(&child(&v1(), "\"cpu.cfs_quota_us\" = 5000\n\"cpu.cfs_period_us\" = 10000")).is_ok());
    assert!(parse(&child(&v1(), "\"cpu.cfs_quota_us\" = 5001\n\"cpu.cfs_period_us\" = 10000")).is_err());
    assert_eq!(changes(&with(QUOTA, &["cpu.max /web/api max 20000", "cpu.max /web 10000"])).len(), 2);
}

/// Whether a group's queue is throttled or its tasks: the files are the same.
#[test]
fn every_way_to_throttle_takes_the_same_files() {
    for kernel in ["6.14", "6.18"] {
        assert!(parse(&QUOTA.replace("6.12", kernel)).unwrap().setup().is_ok(), "{kernel}");
    }
    assert!(parse(QUOTA).unwrap().with_profile(Profile::parse("v6.14+task-throttle").unwrap()).setup().is_ok());
    let app = "rtapp_text = '{\"tasks\":{\"a\":{\"run\":5,\"taskgroup\":{\"path\":\"/x\",\"cpu.max\":\"5000\"}}}}'";
    let app = format!("duration = \"1s\"\n[machine]\npreset = \"smp-2\"\n[profile]\nkernel = \"6.18\"\n[[workload]]\n{app}\n");
    assert!(parse(&app).unwrap().setup().is_ok());
}

#[test]
fn files_are_for_kernels_that_have_them() {
    for (kernel, write, part, since) in [
        ("5.10", "cpu.max.burst /web 0", "test.toml:19: profile `v5.10` has no file cpu.max.burst", "v5.14"),
        ("5.10", "cpu.idle /web 1", "test.toml:19: profile `v5.10` has no file cpu.idle", "v5.15"),
        ("5.1", "cpu.uclamp.max /web 50%", "test.toml:19: profile `v5.1` has no file cpu.uclamp.max", "v5.4"),
    ] {
        let found = mistakes(&with(&QUOTA.replace("6.12", kernel), &[write]));
        assert!(found.len() == 2 && found[0].contains("no file cpu.max.burst"), "{found:#?}");
        assert!(found[1].starts_with(part) && found[1].contains(since), "{found:#?}");
    }
    let app = "rtapp_text = '{\"tasks\":{\"a\":{\"run\":5,\"taskgroup\":{\"path\":\"/x\",\"cpu.idle\":1}}}}'";
    let app = format!("duration = \"1s\"\n[machine]\npreset = \"smp-2\"\n[profile]\nkernel = \"5.10\"\n[[workload]]\n{app}\n");
    assert!(mistakes(&app)[0].contains("group `/x`: profile `v5.10` has no file cpu.idle"));
}

#[test]
fn a_change_from_a_flag_builds_on_what_was_written_before() {
    let scenario = parse(&with(QUOTA, &["cpu.max /web/api 20000 50000", "cpu.max /web/api 30000 60000"])).unwrap();
    let made = scenario.changes("cpu.max /web/api 40000", fairground_stdx::Instant::from_ns(150_000_000), "--what-if").unwrap();
    assert!(matches!(made[0].change, Change::CpuMax { limit, .. } if limit == us(Some(40_000), 50_000, 10_000)), "{made:?}");
}

#[test]
fn a_run_with_weights_of_v1_and_limits_of_v2_cannot_be_written() {
    let mut setup = parse(&with(QUOTA, &["cpu.max /web/api 60000"])).unwrap().setup().unwrap();
    assert!(write("t", &setup).is_ok());
    setup.tasks.groups.iter_mut().for_each(|group| group.shares = 1025);
    assert!(write("t", &setup).unwrap_err().to_string().contains("the limit of `/web/api`, which v1 refuses"));
}

/// Two hogs of a group with 50 ms in each 100 ms, for half a second; then without a limit on two CPUs.
#[test]
fn a_write_in_mid_run_takes_effect() {
    let ran = |text: &str| {
        let scenario = parse(text).unwrap();
        let metrics = crate::testing::metrics(&scenario);
        let of = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap().value;
        (of("tasks.a-0.runtime_ms") + of("tasks.a-1.runtime_ms")) / 1_000_000
    };
    let always = ran(QUOTA);
    assert!((500..=560).contains(&always), "{always} ms");
    let at = "[[at]]\ntime = \"500ms\"\ndo = \"cpu.max /web max\"\n";
    let half = ran(&format!("{QUOTA}{at}"));
    assert!((1_250..=1_320).contains(&half), "{half} ms");
}

/// Model: 12 T13
#[test]
fn a_kernel_thread_that_no_quota_stops_is_noted() {
    let notes = |kernel: &str, more: &str| {
        let text = QUOTA.replace("hog = true, count = 2", &format!("hog = true, count = 2{more}")).replace("\"6.12\"", kernel);
        let notes = parse(&text).unwrap().notes;
        notes.into_iter().filter(|note| note.contains("kernel thread")).collect::<Vec<String>>()
    };
    assert!(notes("\"6.18\"", "").is_empty());
    assert!(notes("\"6.12\"", ", kthread = true").is_empty(), "its queue stops it");
    let found = notes("\"6.18\"", ", kthread = true");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], "`a-0` is a kernel thread in group `/web/api`: no quota stops it, it never returns to user mode");
}
