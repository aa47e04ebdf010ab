//! lstopo XML, recorded topologies and sysfs trees: right ones, wrong ones, and noise.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where it likes")]

use fairground_machine::{CpuSpec, Imported, Machine, lstopo, machine_file, recorded, synthetic, sysfs};
use fairground_model::Mistakes;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

fn column(machine: &Machine, key: fn(&CpuSpec) -> u32) -> Vec<u32> {
    machine.cpus.iter().map(key).collect()
}
fn refused(result: Result<Imported, Mistakes>) -> String {
    let mistakes = result.unwrap_err();
    assert!(!mistakes.0.is_empty() && mistakes.0.iter().all(|mistake| mistake.hint.ends_with(['.', '?'])), "{mistakes}");
    mistakes.0.into_iter().map(|mistake| mistake.message).collect::<Vec<_>>().join(" | ")
}

mod lstopo_xml {
    use super::*;

    const MODERN: &str = include_str!("lstopo/two-packages-2.x.xml");
    const OLD: &str = include_str!("lstopo/two-nodes-1.x.xml");

    #[test]
    fn version_2() {
        let imported = lstopo::parse(MODERN).unwrap();
        let machine = &imported.machine;
        assert_eq!(column(machine, |cpu| cpu.core), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(column(machine, |cpu| cpu.llc), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(column(machine, |cpu| cpu.package), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(column(machine, |cpu| cpu.node), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(machine.distances, [[10, 21], [21, 10]]);
        assert!(machine.cpus.iter().all(|cpu| cpu.cluster.is_none()), "the L2 of a core is no cluster");
        assert_eq!(imported.notes, ["1 NUMA node(s) without CPUs are left out"]);
    }

    #[test]
    fn version_1() {
        let machine = lstopo::parse(OLD).unwrap().machine;
        assert_eq!(column(&machine, |cpu| cpu.node), [0, 1, 0, 1]);
        assert_eq!(column(&machine, |cpu| cpu.core), [0, 1, 2, 3]);
        assert_eq!(column(&machine, |cpu| cpu.llc), [0, 1, 0, 1]);
        assert_eq!(machine.distances, [[10, 21], [21, 10]]);
    }

    #[test]
    fn capacities_of_cpu_kinds() {
        let kinds = r#"<cpukind cpuset="0x00000005"><info name="LinuxCapacity" value="446"/></cpukind><cpukind cpuset="0xa"/></topology>"#;
        let imported = lstopo::parse(&OLD.replace("</topology>", kinds)).unwrap();
        assert_eq!(column(&imported.machine, |cpu| cpu.capacity), [446, 1024, 446, 1024]);
        assert_eq!(imported.notes.len(), 1);
    }

    #[test]
    fn a_machine_without_caches() {
        let imported =
            lstopo::parse(r#"<topology><object type="PU" os_index="0"/><object type="PU" os_index="3"/></topology>"#).unwrap();
        assert_eq!(column(&imported.machine, |cpu| cpu.llc), [0, 1]);
        assert_eq!(imported.notes.len(), 2, "{:?}", imported.notes);
    }

    #[test]
    fn indexes_with_holes_are_renumbered_and_said() {
        let holes = OLD.replace("os_index=\"2\"", "os_index=\"6\"").replace("os_index=\"1\"", "os_index=\"9\"");
        let imported = lstopo::parse(&holes).unwrap();
        assert_eq!(column(&imported.machine, |cpu| cpu.node), [0, 1, 0, 1], "by the number of the CPU: 0, 3, 6, 9");
        let said = |what: &str| imported.notes.iter().any(|note| note.contains(what));
        assert!(said("CPUs 0 to 3 of the machine are 0, 3, 6, 9 there"), "{:?}", imported.notes);
        assert!(said("nodes 0 to 1 of the machine are 0, 9 there"), "{:?}", imported.notes);
    }

    #[test]
    fn what_is_no_topology_is_refused() {
        assert_eq!(refused(lstopo::parse("<svg/>")), "the document is a <svg>");
        assert_eq!(refused(lstopo::parse("<topology/>")), "a machine of 0 CPUs");
        assert!(refused(lstopo::parse("")).starts_with("this is no XML"));
        assert!(refused(lstopo::parse("\u{0}\u{1}\u{7f}ELF")).starts_with("this is no XML"));
        assert!(refused(lstopo::parse(&MODERN[..MODERN.len() / 2])).starts_with("this is no XML"));
        assert!(refused(lstopo::parse(&OLD.replace("os_index=\"3\"", "os_index=\"2\""))).contains("CPU 2 is there twice"));
        assert!(refused(lstopo::parse(&OLD.replace("os_index=\"3\"", "os_index=\"-3\""))).contains("os_index `-3`"));
        assert!(refused(lstopo::parse(&OLD.replace("os_index=\"3\"", ""))).contains("os_index ``"));
    }

    #[test]
    fn bombs_and_giants_are_refused() {
        let bomb = r#"<!DOCTYPE t [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><topology>&b;</topology>"#;
        assert!(refused(lstopo::parse(bomb)).contains("entities"));
        let crowd = format!("<topology>{}</topology>", r#"<object type="PU" os_index="1"/>"#.repeat(5000));
        assert_eq!(refused(lstopo::parse(&crowd)), "a machine of 5000 CPUs");
        let tower =
            |inner: &str, n: usize| format!("<topology>{}{inner}{}</topology>", "<object>".repeat(n), "</object>".repeat(n));
        assert!(refused(lstopo::parse(&tower(r#"<object type="PU" os_index="1"/>"#, 500))).contains("too deep"));
        let crowd = format!("<topology>{}</topology>", "<a/>".repeat(2_100_000));
        assert!(refused(lstopo::parse(&crowd)).starts_with("this is no XML"));
    }

    #[test]
    fn broken_matrices_are_left_out_and_said() {
        for (from, to) in [("10 21 17 21 ", "10 21 "), ("0 1 2 </i", "0 1 7 </i"), ("10 28 17", "10 x 17")] {
            let imported = lstopo::parse(&MODERN.replace(from, to)).unwrap();
            assert_eq!(imported.machine.distances, [[10, 20], [20, 10]], "{to}");
            assert_eq!(imported.notes.len(), 2, "{:?}", imported.notes);
        }
    }
}

mod recorded_sets {
    use super::*;

    #[test]
    fn cores_and_caches_follow_the_lists() {
        let text = "cpu0 core=0 pkg=0 smt=0 llc=0-1\ncpu1 core=1 pkg=0 smt=1 llc=0-1\ncpu2 core=0 pkg=1 smt=2 llc=2-3\ncpu3 core=1 pkg=1 smt=3 llc=2-3\n";
        let machine = recorded::parse_topology(text).unwrap().machine;
        assert_eq!(column(&machine, |cpu| cpu.core), [0, 1, 2, 3]);
        assert_eq!(column(&machine, |cpu| cpu.llc), [0, 0, 1, 1]);
        assert_eq!(column(&machine, |cpu| cpu.package), [0, 0, 1, 1]);
        assert_eq!((machine.hz, machine.costs.name.as_str(), machine.irq_time_accounting), (250, "icount", false));
    }

    #[test]
    fn capacities_and_missing_caches() {
        let text = "cpu0 core=0 pkg=0 smt=0 llc= capacity=512\r\ncpu1 core=1 pkg=-1 smt=1 llc=";
        let imported = recorded::parse_topology(text).unwrap();
        assert_eq!(column(&imported.machine, |cpu| cpu.capacity), [512, 1024]);
        assert_eq!(column(&imported.machine, |cpu| cpu.llc), [0, 1]);
        assert_eq!(imported.notes.len(), 1);
        assert!(recorded::has_asymmetric_capacity("flags: SD_WAKE_AFFINE SD_ASYM_CPUCAPACITY SD_ASYM_CPUCAPACITY_FULL"));
        assert!(!recorded::has_asymmetric_capacity("flags: SD_WAKE_AFFINE"));
    }

    #[test]
    fn mistakes_have_their_lines() {
        let text = "cpu0 core=0 pkg=0 smt=0 llc=0-1\nkpu1\ncpu2 core=x smd=2 llc=9-1\ncpu3 pkg=1 pkg=1 capacity=0\ncpu4 smt=5\ncpu5000\n";
        let mistakes = recorded::parse_topology(text).unwrap_err();
        let found: Vec<(usize, &str)> = mistakes
            .0
            .iter()
            .map(|mistake| (Mistakes::line_of(text, mistake.span.clone().unwrap().start), mistake.message.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (2, "`kpu1` is no CPU"),
                (3, "cpu2: `core=x`"),
                (3, "cpu2: unknown key `smd`"),
                (3, "cpu2: `llc=9-1`"),
                (4, "cpu3: `pkg` twice"),
                (4, "cpu3: `capacity=0`"),
                (5, "cpu4 is not in its own `smt=5`"),
                (6, "`cpu5000` is no CPU"),
            ]
        );
        assert!(refused(recorded::parse_topology("cpu0 smt=0-1\ncpu1 smt=1")).contains("cpu1 has another list"));
        assert_eq!(refused(recorded::parse_topology("")), "a machine of 0 CPUs");
        assert_eq!(refused(recorded::parse_topology("cpu0\ncpu0")), "CPU 0 is there twice");
    }

    /// Every recorded set's topology is read, and is as large as the set's name says.
    #[test]
    fn all_recorded_topologies() {
        let mut read = 0;
        for set in fairground_testing::sets(|_| true) {
            let Ok(text) = std::fs::read_to_string(set.join("system/topology.txt")) else { continue };
            let imported = recorded::parse_topology(&text).unwrap_or_else(|mistakes| panic!("{}: {mistakes}", set.display()));
            let name = set.file_name().unwrap().to_string_lossy().into_owned();
            let cpus = imported.machine.cpus.len();
            assert_eq!(cpus, text.lines().count(), "{name}");
            let digits = |word: &str| word.strip_suffix("cpu").and_then(|n| n.parse::<usize>().ok());
            if let Some(expected) = name.split('-').find_map(digits) {
                assert_eq!(cpus, expected, "{name}");
            }
            let debug = std::fs::read_to_string(set.join("system/debug_sched.txt")).unwrap_or_default();
            assert_eq!(recorded::has_asymmetric_capacity(&debug), name.contains("half"), "{name}");
            read += 1;
        }
        assert!(read > 40, "{read} sets");
    }
}

mod sysfs_trees {
    use super::*;

    type Files = BTreeMap<String, String>;

    /// A machine of two packages, each a node with one L3, two cores and two threads, thread-major.
    fn tree() -> Files {
        let mut files = Files::new();
        let mut put = |path: String, text: &str| files.insert(format!("/sys/devices/system/{path}"), format!("{text}\n"));
        put("cpu/online".into(), "0-7");
        put("node/online".into(), "0-1");
        for node in 0..2 {
            put(format!("node/node{node}/cpulist"), ["0-1,4-5", "2-3,6-7"][node]);
            put(format!("node/node{node}/distance"), ["10 21", "21 10"][node]);
        }
        for cpu in 0..8 {
            let core = cpu % 4;
            let package = ["0-1,4-5", "2-3,6-7"][core / 2];
            put(format!("cpu/cpu{cpu}/topology/core_cpus_list"), &format!("{core},{}", core + 4));
            put(format!("cpu/cpu{cpu}/topology/package_cpus_list"), package);
            put(format!("cpu/cpu{cpu}/topology/cluster_cpus_list"), &format!("{core},{}", core + 4));
            for (index, (level, kind, shared)) in
                [("1", "Data", None), ("1", "Instruction", None), ("2", "Unified", None), ("3", "Unified", Some(package))]
                    .iter()
                    .enumerate()
            {
                put(format!("cpu/cpu{cpu}/cache/index{index}/level"), level);
                put(format!("cpu/cpu{cpu}/cache/index{index}/type"), kind);
                let own = format!("{core},{}", core + 4);
                put(format!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"), shared.unwrap_or(&own));
            }
        }
        files
    }
    fn capture(files: &Files) -> Result<Imported, Mistakes> {
        sysfs::capture(&|path| files.get(path).cloned())
    }
    fn set(files: &mut Files, path: &str, text: &str) {
        files.insert(format!("/sys/devices/system/{path}"), text.to_string());
    }

    #[test]
    fn a_server() {
        let machine = capture(&tree()).unwrap().machine;
        assert_eq!(column(&machine, |cpu| cpu.core), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(column(&machine, |cpu| cpu.llc), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(column(&machine, |cpu| cpu.node), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(machine.distances, [[10, 21], [21, 10]]);
        assert_eq!(machine_file::parse(&machine_file::write(&machine)).unwrap(), machine);
    }

    #[test]
    fn offline_cpus_are_left_out() {
        let mut files = tree();
        set(&mut files, "cpu/online", "0-2,5-7");
        let imported = capture(&files).unwrap();
        assert_eq!(column(&imported.machine, |cpu| cpu.core), [0, 1, 2, 1, 2, 3]);
        assert!(imported.notes.iter().any(|note| note.contains("are 0, 1, 2, 5, 6, 7 there")), "{:?}", imported.notes);
    }

    #[test]
    fn missing_files_have_defaults() {
        let mut files = tree();
        files.retain(|path, _| path.ends_with("cpu/online") || path.contains("core_cpus_list"));
        let imported = capture(&files).unwrap();
        assert_eq!(column(&imported.machine, |cpu| cpu.llc), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert!(imported.notes.iter().any(|note| note.contains("CPUs 0-7 show no cache")), "{:?}", imported.notes);
        files.retain(|path, _| path.ends_with("cpu/online"));
        assert_eq!(column(&capture(&files).unwrap().machine, |cpu| cpu.core), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn big_and_little_cpus_with_clusters() {
        let mut files = Files::new();
        set(&mut files, "cpu/online", "0-3");
        for cpu in 0..4 {
            let pair = ["0-1", "2-3"][cpu / 2];
            set(&mut files, &format!("cpu/cpu{cpu}/cpu_capacity"), ["446", "1024"][cpu / 2]);
            set(&mut files, &format!("cpu/cpu{cpu}/cpufreq/related_cpus"), pair);
            set(&mut files, &format!("cpu/cpu{cpu}/topology/cluster_cpus_list"), pair);
            set(&mut files, &format!("cpu/cpu{cpu}/cache/index0/level"), "3");
            set(&mut files, &format!("cpu/cpu{cpu}/cache/index0/shared_cpu_list"), "0-3");
        }
        set(&mut files, "cpu/cpu1/cpufreq/related_cpus", "0 1");
        let machine = capture(&files).unwrap().machine;
        assert_eq!(column(&machine, |cpu| cpu.capacity), [446, 446, 1024, 1024]);
        assert_eq!(column(&machine, |cpu| cpu.freq_domain), [0, 0, 1, 1]);
        assert!(machine.cpus.iter().all(|cpu| cpu.cluster.is_some()));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(refused(capture(&Files::new())).contains("no CPU"));
        let with = |path: &str, text: &str| {
            let mut files = tree();
            set(&mut files, path, text);
            refused(capture(&files))
        };
        assert!(with("cpu/online", "0-5000").contains("cpu/online holds `0-5000`"));
        assert!(with("cpu/online", "\u{0}junk").contains("cpu/online holds"));
        assert!(with("cpu/cpu3/cpu_capacity", "-5").contains("cpu_capacity holds `-5`"));
        assert!(with("cpu/cpu3/cache/index3/shared_cpu_list", "x").contains("shared_cpu_list holds `x`"));
        assert!(with("cpu/cpu4/topology/package_cpus_list", "4").contains("reaches into package"));
        assert!(with("node/node1/distance", "22 10").contains("from node 0 to node 1 it is 21, back it is 22"));
    }

    /// The host that runs the tests.
    #[test]
    fn this_host() {
        if !Path::new("/sys/devices/system/cpu/online").exists() {
            eprintln!("skipped: this host has no sysfs");
            return;
        }
        match sysfs::capture(&|path| std::fs::read_to_string(path).ok()) {
            Ok(imported) => {
                let text = machine_file::write(&imported.machine);
                assert_eq!(machine_file::parse(&text).unwrap(), imported.machine);
            }
            Err(mistakes) => assert!(mistakes.to_string().contains("not modelled yet"), "{mistakes}"),
        }
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,200}") {
        let _ = (lstopo::parse(&text), synthetic::parse(&text), recorded::parse_topology(&text));
    }

    #[test]
    fn no_xml_panics(words in prop::collection::vec(prop::sample::select(vec![
        "<topology>", "</topology>", "<object type=\"PU\" os_index=\"0\"/>", "<object type=\"PU\" os_index=\"4294967295\"/>",
        "<object type=\"Core\">", "<object type=\"L3Cache\">", "<object type=\"Package\">", "</object>",
        "<object type=\"NUMANode\" os_index=\"9\"/>", "<distances2 type=\"NUMANode\" nbobjs=\"1\" kind=\"5\">", "</distances2>",
        "<indexes length=\"1\">9</indexes>", "<u64values>10</u64values>", "<cpukind cpuset=\"0x1\"/>", "é",
    ]), 0..20)) {
        let body = words.concat();
        let _ = (lstopo::parse(&body), lstopo::parse(&format!("<topology>{body}</topology>")));
    }

    #[test]
    fn no_synthetic_string_panics(words in prop::collection::vec(prop::sample::select(vec![
        "package:2 ", "numa:1 ", "l3:1 ", "core:8 ", "pu:2", "pu:1024 ", "2 ", "(indexes=", "0,1", "2*2", ":", "core:numa", ")", "[numa]",
        "[numa(", "]", "(", " ", "é", "18446744073709551615*3", "group:1024 ", "l2:1",
    ]), 0..12)) {
        if let Ok(imported) = synthetic::parse(&words.concat()) {
            prop_assert!(imported.machine.validate().is_ok());
        }
    }

    #[test]
    fn no_topology_panics(lines in prop::collection::vec((0..6u32, "[0-9,-]{0,6}", "[0-9,-]{0,6}", "[a-z=0-9 ]{0,12}"), 0..6)) {
        let text: String = lines.iter().map(|(cpu, smt, llc, rest)| format!("cpu{cpu} smt={smt} llc={llc} {rest}\n")).collect();
        if let Ok(imported) = recorded::parse_topology(&text) {
            prop_assert!(imported.machine.validate().is_ok());
        }
    }

    #[test]
    fn no_sysfs_panics(text in "[0-9,\\- a-z]{0,12}", online in "[0-9,-]{0,8}") {
        let read = |path: &str| Some(if path.ends_with("cpu/online") { online.clone() } else { text.clone() });
        let _ = sysfs::capture(&read);
    }
}
