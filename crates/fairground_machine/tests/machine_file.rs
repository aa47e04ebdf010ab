//! Machine files: what they say, what is wrong with them, and that they read back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where it likes")]

use fairground_machine::{Machine, Numbering, Regular, machine_file, presets};
use fairground_model::{Mistakes, Op};
use fairground_stdx::{CpuId, Ns};
use proptest::prelude::*;
use std::path::Path;

fn parse(text: &str) -> Machine {
    machine_file::parse(text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}
/// Line and message of each mistake.
fn mistakes(text: &str) -> Vec<String> {
    let mistakes = machine_file::parse(text).unwrap_err();
    assert!(mistakes.0.iter().all(|mistake| mistake.hint.ends_with(['.', '?'])), "{mistakes}");
    let line = |span: &Option<std::ops::Range<usize>>| Mistakes::line_of(text, span.as_ref().unwrap().start);
    mistakes.0.iter().map(|mistake| format!("{}: {}", line(&mistake.span), mistake.message)).collect()
}

#[test]
fn a_regular_machine() {
    let machine = parse(
        r#"
name = "two sockets"
sockets = 2
cores = 4
threads = 2
numbering = "adjacent"
freq_domains = "package"
distances = [[10, 21], [21, 10]]
hz = 1000
tick_jitter = "300us"
tick_jitter_seed = 12345
irq_time_accounting = false
nohz_idle = false
costs = "zero"
"#,
    );
    let shape = Regular { sockets: 2, cores: 4, threads: 2, numbering: Numbering::Adjacent, ..Regular::default() };
    assert!(machine.cpus.iter().zip(shape.cpus().iter()).all(|(a, b)| (a.core, a.llc, a.node) == (b.core, b.llc, b.node)));
    assert_eq!(machine.cpus[CpuId::new(15)].freq_domain, 1);
    assert_eq!((machine.hz, machine.tick), (1000, Ns::from_ms(1)));
    assert_eq!((machine.tick_jitter, machine.tick_jitter_seed), (Ns::from_us(300), Some(12345)));
    assert!(!machine.irq_time_accounting && !machine.nohz_idle);
    assert_eq!(machine.costs.price_ps(Op::Tick), 0);
}

#[test]
fn a_preset_with_changes() {
    let machine = parse("preset = \"lap8\"\ntick = \"1048576ns\"\nfreq_capacity = 512\nskew_tick = true\nhz = 1000\n");
    assert_eq!((machine.tick, machine.hz, machine.tick_offset), (Ns(1_048_576), 1000, Ns(65_536)));
    assert!(machine.cpus.iter().all(|cpu| cpu.freq_capacity == 512));
    let machine = parse("preset = \"hikey\"\ncapacities = [446, 446, 446, 446, 1024, 1024, 1024, 1024]\n");
    assert_eq!((machine.cpus[CpuId::new(3)].capacity, machine.cpus[CpuId::new(4)].capacity), (446, 1024));
    let machine = parse("preset = \"epyc-9654-2s\"\ndistances = [[10, 33], [33, 10]]\nname = \"far\"\n");
    assert_eq!((machine.distances[0][1], machine.name.as_str()), (33, "far"));
}

#[test]
fn cpus_one_by_one() {
    let machine = parse(
        "[[cpu]]\nid = 1\ncore = 7\nllc = 1\ncapacity = 1024\n[[cpu]]\nid = 0\ncore = 3\nllc = 0\ncapacity = 446\nfreq_domain = 9\n",
    );
    let cpu = &machine.cpus[CpuId::new(0)];
    assert_eq!((cpu.core, cpu.llc, cpu.capacity, cpu.freq_domain), (3, 0, 446, 9));
    assert_eq!(machine.cpus[CpuId::new(1)].freq_domain, 7);
    let inline = parse("cpu = [{ core = 0 }, { core = 0 }, { core = 1, node = 1, package = 1, llc = 1 }]");
    assert_eq!(inline.cpus.len(), 3);
    assert_eq!(inline.distances, [[10, 20], [20, 10]]);
}

#[test]
fn all_mistakes_at_once() {
    let text =
        "coers = 4\ncores = -4\nhz = 999\ntick = 4\nnumbering = \"adjacnt\"\nnohz_idle = \"yes\"\ntick_jitter = \"5 parsecs\"\n";
    assert_eq!(
        mistakes(text),
        [
            "1: unknown key `coers`",
            "2: `cores` is -4",
            "3: hz = 999",
            "4: `tick` is 4",
            "5: `numbering` is \"adjacnt\"",
            "6: `nohz_idle` is \"yes\"",
            "7: `tick_jitter` is \"5 parsecs\": `parsecs` is no unit of time",
        ]
    );
    assert_eq!(mistakes("cores = 2\nhz = 999\ntick_jitter = \"5s\"\n").len(), 2);
}

#[test]
fn impossible_machines() {
    assert_eq!(mistakes("cores = 0\n"), ["1: `cores` is 0"]);
    assert_eq!(mistakes("\n"), ["1: which CPUs does the machine have?"]);
    assert_eq!(mistakes("cpu = []\n"), ["1: a machine of 0 CPUs"]);
    assert_eq!(mistakes("cpu = 4\n"), ["1: `cpu` is 4"]);
    assert_eq!(mistakes("sockets = 5\ncores = 1000\n"), ["2: this shape has 5000 CPUs"]);
    assert_eq!(mistakes(&"[[cpu]]\n".repeat(5000)), ["1: a machine of 5000 CPUs"]);
    assert_eq!(mistakes("[[cpu]]\nid = 0\n[[cpu]]\nid = 0\n"), ["4: CPU 0 is described twice"]);
    assert_eq!(mistakes("[[cpu]]\nid = 5\n"), ["2: `id` is 5"]);
    assert_eq!(
        mistakes("[[cpu]]\ncore = 99999999999\n[[cpu]]\ncapacity = 0\n"),
        ["2: `core` is 99999999999", "4: `capacity` is 0"]
    );
    assert_eq!(mistakes("[[cpu]]\n[[cpu]]\nllc = 1\npackage = 1\n[[cpu]]\nllc = 1\n").len(), 1);
    assert_eq!(mistakes("cores = 2\ncapacity = [1024]\n"), ["2: `capacity` lists 1 numbers"]);
    assert_eq!(mistakes("cores = 2\ncapacity = [1024, \"x\"]\n"), ["2: `capacity` holds \"x\""]);
    assert_eq!(mistakes("cores = 2\nfreq_capacity = 0\n"), ["2: CPUs 0-1 have freq_capacity 0"]);
    assert_eq!(mistakes("cores = 2\ncapacity = 1025\n"), ["2: CPUs 0-1 have capacity 1025"]);
    assert_eq!(
        mistakes("cores = 4\ncapacity = [0, 1024, 2000, 0]\n"),
        ["2: CPUs 0,3 have capacity 0", "2: CPU 2 has capacity 2000"]
    );
    assert_eq!(
        mistakes("cores = 2\nthreads = 2\ncapacities = [1, 2, 1, 2]\n"),
        ["3: SMT together with CPUs of different capacity is not modelled yet"]
    );
    assert_eq!(
        mistakes("cores = 2\nasym_priority = [1, 2]\n"),
        ["2: packing by CPU priority (`asym_priority`) is not modelled yet"]
    );
    assert_eq!(
        mistakes("sockets = 2\ncores = 2\ndistances = [[10, 21], [20, 10]]\n"),
        ["3: from node 0 to node 1 it is 21, back it is 20"]
    );
    assert_eq!(mistakes("cores = 2\ndistances = 4\n"), ["2: `distances` is 4"]);
    assert_eq!(mistakes("cores = 2\ndistances = [4]\n"), ["2: `distances` is a list of 1"]);
}

#[test]
fn contradictions() {
    assert_eq!(mistakes("preset = \"lap8\"\ncores = 4\n"), ["2: `cores` beside `preset`: the preset has its own CPUs"]);
    assert_eq!(mistakes("preset = \"lap9\"\n"), ["1: unknown machine preset `lap9`"]);
    assert_eq!(mistakes("cores = 4\n[[cpu]]\n"), ["1: `cores` beside `cpu` tables"]);
    assert_eq!(mistakes("cores = 4\ncapacity = 5\ncapacities = 5\n"), ["3: `capacity` and `capacities` are the same"]);
    assert_eq!(mistakes("cores = 4\nskew_tick = true\ntick_offset = \"1us\"\n"), ["3: `tick_offset` beside `skew_tick`"]);
    assert_eq!(mistakes("cores = 4\ncores = 5\n").len(), 1, "duplicate keys");
}

#[test]
fn texts_that_are_no_machine_files() {
    for text in ["\u{0}\u{1}\u{2}", "<xml/>", "[[[[", "= 4", "cores", "\u{FEFF}cores == 2"] {
        assert_eq!(mistakes(text).len(), 1, "{text:?}");
    }
    assert!(machine_file::parse(&"[".repeat(200_000)).is_err());
    assert!(machine_file::parse(&format!("cores = {}", "[".repeat(100_000))).is_err());
    assert!(machine_file::parse(&format!("x = \"{}\"", "a".repeat(5_000_000))).is_err());
}

#[test]
fn a_table_in_a_scenario() {
    let text =
        "title = \"x\"\n[machine]\npreset = \"smp-4\"\n[machine.costs]\npreset = \"zero\"\ntick = \"1.8us\"\n[machine.cots]\n";
    let document = toml_edit::Document::parse(text).unwrap();
    let item = document.as_table().get("machine").unwrap();
    let mut found = Mistakes::default();
    let machine = machine_file::from_table(item.as_table_like().unwrap(), item.span().unwrap(), &mut found).unwrap();
    assert_eq!((machine.cpus.len(), machine.costs.price_ps(Op::Tick)), (4, 1_800_000));
    assert_eq!((found.0.len(), found.0[0].message.as_str()), (1, "unknown key `cots`"));
    assert_eq!(Mistakes::line_of(text, found.0[0].span.clone().unwrap().start), 7);
}

#[test]
fn presets_read_back() {
    for preset in presets() {
        let machine = Machine::preset(&preset.name.replace("-N", "-7")).unwrap();
        let text = machine_file::write(&machine);
        assert_eq!(parse(&text), machine, "{text}");
        // CPUs of two kinds are in no regular order.
        let alike = machine.cpus.iter().all(|cpu| cpu.capacity == 1024);
        assert!(!alike || !text.contains("[[cpu]]"), "{text}");
    }
}

#[test]
fn page_sizes_are_a_list_in_any_order() {
    use fairground_model::PageSize::{G1, K4, K64, M2};
    assert_eq!(parse("cores = 2\n").page_sizes, [K4, M2, G1]);
    assert_eq!(parse("cores = 2\npage_sizes = [\"2MiB\", \"64KiB\", \"2MiB\"]\n").page_sizes, [K64, M2]);
    for wrong in ["[]", "\"4KiB\"", "[\"8KiB\"]", "[4096]"] {
        let found = mistakes(&format!("cores = 2\npage_sizes = {wrong}\n"));
        assert_eq!(found, ["2: `page_sizes` is no list of sizes of pages"], "{wrong}");
    }
}

#[test]
fn cpus_of_the_network_device_are_a_list() {
    assert_eq!(parse("cores = 4\n").nic_cpus, None);
    assert_eq!(parse("cores = 4\nnic_cpus = \"0,2-3\"\n").nic_cpus.unwrap().iter().count(), 3);
    assert_eq!(parse("cores = 4\nnic_cpus = 3\n").nic_cpus, parse("cores = 4\nnic_cpus = \"3\"\n").nic_cpus);
    assert_eq!(mistakes("cores = 4\nnic_cpus = \"many\"\n"), ["2: `nic_cpus` is \"many\""]);
}

/// All keys but those that say the same as another.
#[test]
fn every_key_is_written_where_it_changes_something_and_reads_back() {
    let settings = "description = \"x\"\ncapacity = 512\nfreq_capacity = 700\nreclaim_distance = 12\nsmt = false\ncluster = false\n\
        mc = false\nnuma = false\nhz = 1000\ntick = \"3ms\"\ntick_jitter = \"10us\"\ntick_jitter_seed = 5\ntick_offset = \"1us\"\n\
        tick_phase = \"5us\"\nround_of_turns = \"100us\"\nscan_atomic = true\nsmt_percent = 70\ncore_cache = \"1MiB\"\n\
        page_sizes = [\"64KiB\"]\nnic_cpus = \"1-2\"\nwire = \"40us\"\nidle_governor = \"deepest\"\nfreq_invariant = false\n";
    let tables = "[[policy]]\ncpus = \"0-3\"\nkhz = [1, 2]\npower_mw = [3, 4]\ntransition_delay = \"1ms\"\n\
        governor = { name = \"ondemand\", up_threshold = 50 }\n[[idle_state]]\nexit_latency = \"2us\"\nexit_time = \"1us\"\n\
        target_residency = \"3us\"\n[costs]\npreset = \"zero\"\ntick = \"1us\"\n";
    let cpu = |id| format!("[[cpu]]\ncluster = 0\nclock_ahead = \"{id}us\"\n");
    let cpus: String = (1..=4).map(cpu).collect();
    let shape = "distances = [[10, 11], [11, 10]]\nsockets = 2\nclusters = 1\ncores = 2\nfreq_domains = \"machine\"\n";
    let texts = [
        shape.to_string() + &settings.replace("numa = false\n", "") + tables,
        settings.replace("freq_capacity = 700\n", "") + tables + &cpus,
    ];
    let mut written = String::new();
    for text in texts {
        let machine = parse(&text);
        let text = machine_file::write(&machine);
        assert_eq!(parse(&text), machine, "{text}");
        written += &text;
    }
    let same = ["preset", "capacities", "skew_tick", "asym_priority", "millivolt", "dynamic_power_coefficient"];
    let said = |name: &str| written.contains(&format!("{name} = ")) || written.contains(&format!("[{name}]"));
    for key in machine_file::all_keys() {
        assert!(said(key.name) || same.contains(&key.name), "{}: {written}", key.name);
        for inner in key.keys.iter().filter(|_| key.name != "governor") {
            assert!(said(inner.name) || same.contains(&inner.name), "{}.{}: {written}", key.name, inner.name);
        }
    }
}

#[test]
fn the_published_example_is_correct() {
    let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/machine_file/mod.rs")).unwrap();
    let example: Vec<&str> =
        source.lines().filter_map(|line| line.strip_prefix("//!")).skip_while(|line| *line != " ```toml").collect();
    let example: Vec<&str> = example.into_iter().skip(1).take_while(|line| *line != " ```").map(str::trim).collect();
    let text = example.join("\n").replace("costs = \"xeon-spr\" ", "# ");
    let machine = parse(&text);
    assert_eq!((machine.cpus.len(), machine.costs.price_ps(Op::IdleExit)), (32, 170_000_000));
}

prop_compose! {
    fn shapes()(
        sockets in 1..3u32, nodes in 1..3u32, llcs in 1..3u32, clusters in prop::option::of(1..3u32),
        cores in 1..4u32, threads in 1..3u32, adjacent in any::<bool>(), level in 0..5usize,
    ) -> Regular {
        let numbering = if adjacent { Numbering::Adjacent } else { Numbering::ThreadMajor };
        let freq_domains = fairground_machine::Level::NAMES[level].1;
        Regular { sockets, nodes, llcs, clusters, cores, threads, numbering, freq_domains }
    }
}
prop_compose! {
    fn machines()(
        shape in shapes(), name in ".{0,20}", description in ".{0,20}", hz in prop::sample::select(vec![100u32, 250, 300, 1000]),
        tick in prop::option::of(1_000_000..20_000_000u64), jitter in 0..1_000_000u64, seed in prop::option::of(any::<u32>()),
        offset in 0..1000u64, flags in any::<[bool; 3]>(), capacities in prop::collection::vec(1..=1024u32, 192),
        costs in 0..7usize, price in 0..1_000_000_000u64, irregular in any::<bool>(), far in 11..255u32,
    ) -> Machine {
        let nodes = shape.total_nodes();
        let mut distances = fairground_machine::regular::default_distances(nodes);
        if nodes > 1 {
            (distances[0][1], distances[1][0]) = (far, far);
        }
        let mut machine = Machine::new(name, shape.cpus(), distances);
        machine.description = description;
        machine.hz = hz;
        machine.tick = tick.map_or(fairground_machine::machine::tick_of(hz), Ns);
        (machine.tick_jitter, machine.tick_jitter_seed, machine.tick_offset) = (Ns(jitter), seed, Ns(offset));
        (machine.irq_time_accounting, machine.nohz_idle) = (flags[0], flags[1]);
        let equal = shape.threads > 1 || flags[2];
        for (cpu, capacity) in machine.cpus.iter_mut().zip(&capacities) {
            cpu.capacity = if equal { capacities[0] } else { *capacity };
            cpu.freq_capacity = *capacity;
        }
        if irregular {
            machine.cpus.iter_mut().for_each(|cpu| cpu.freq_domain = 77);
            machine.cpus[CpuId::new(0)].core = 1000;
            machine.cpus[CpuId::new(0)].freq_domain = 5;
        }
        machine.costs = fairground_machine::CostModel::preset(fairground_machine::CostModel::names().nth(costs).unwrap()).unwrap();
        if flags[0] {
            machine.costs.prices_ps[3] = price;
            machine.costs.sources[3] = "a \"quoted\" \\ source\n\u{7}".to_string();
        }
        if flags[1] && flags[2] {
            machine.costs.name = "mine".to_string();
        }
        machine
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_machine_reads_back(machine in machines()) {
        let possible = machine.validate();
        let text = machine_file::write(&machine);
        match machine_file::parse(&text) {
            Ok(read) => prop_assert_eq!(read, machine),
            Err(mistakes) => prop_assert!(possible.is_err(), "{}\n{}", mistakes, text),
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,200}") {
        let _ = machine_file::parse(&text);
    }

    #[test]
    fn no_toml_panics(
        keys in prop::collection::vec((prop::sample::select(
            machine_file::all_keys().iter().map(|key| key.name).collect::<Vec<_>>()
        ), prop::sample::select(vec![
            "0", "1", "-1", "2", "1024", "9223372036854775807", "1.5", "nan", "true", "\"\"", "\"zero\"", "\"smp-3\"", "\"4ms\"",
            "\"99999999999999d\"", "[]", "[1]", "[[10]]", "[[]]", "[{}]", "{}", "[[10, 10], [10, 10]]", "[{ id = 0 }]", "1979-05-27",
            "{ preset = \"unit\", tick = \"10ms\" }", "[{ node = 1023 }]", "[{ core = -1 }, 5]", "\"deepest\"", "\"schedutil\"",
            "[{ cpus = \"0\", khz = [5, 6], power_mw = [1, 2] }]", "[{ exit_latency = \"1us\", target_residency = \"2us\" }]",
        ])), 0..6)
    ) {
        let text: String = keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        if let Ok(machine) = machine_file::parse(&text) {
            prop_assert!(machine.validate().is_ok());
            machine.view();
        }
    }
}

#[test]
fn operating_points_are_read_and_written() {
    let text = "cores = 4\nfreq_invariant = false\n[[policy]]\ncpus = \"0,2\"\nkhz = [600000, 1200000]\npower_mw = [100, 300]\n\
                fast_switch = true\n[[policy]]\ncpus = \"1,3\"\nkhz = [2000000]\ntransition_latency = \"300us\"\n\
                transition_delay = \"1ms\"\n";
    let machine = parse(text);
    assert!(!machine.freq_invariant && machine.policies[0].fast_switch);
    let khz: Vec<(u32, Option<u32>)> = machine.policies[0].opps.iter().map(|opp| (opp.khz, opp.power_mw)).collect();
    assert_eq!(khz, [(600_000, Some(100)), (1_200_000, Some(300))]);
    let second = &machine.policies[1];
    assert_eq!((second.transition_latency, second.transition_delay), (Ns::from_us(300), Some(Ns::from_ms(1))));
    let domains: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.freq_domain).collect();
    assert_eq!(domains, [0, 1, 0, 1], "policies say who changes frequency together");
    let view = machine.view();
    assert_eq!(view.cpus.iter().map(|cpu| cpu.policy).collect::<Vec<_>>(), [Some(0), Some(1), Some(0), Some(1)]);
    assert_eq!(parse(&machine_file::write(&machine)), machine);
    let hikey = parse("preset = \"hikey\"\n");
    assert_eq!(hikey.policies[0].opps[4].power_mw, Some(660));
    assert_eq!(parse(&machine_file::write(&hikey)), hikey);
    let slow = parse("preset = \"hikey\"\nfreq_capacity = 177\nfreq_invariant = false\n");
    assert_eq!((slow.cpus[CpuId::new(0)].freq_capacity, slow.view().cpus[CpuId::new(0)].freq_capacity), (177, 1024));
}

#[test]
fn impossible_operating_points() {
    let policy = |rest: &str| mistakes(&format!("cores = 2\n[[policy]]\n{rest}"));
    let both = |rest: &str| policy(&format!("cpus = \"0-1\"\n{rest}"));
    assert_eq!(both("khz = [2, 1]\n"), ["4: the policy of CPUs 0-1 has 1 kHz after 2 kHz"]);
    assert_eq!(both("khz = [1, 1]\n"), ["4: the policy of CPUs 0-1 has 1 kHz twice"]);
    assert_eq!(both("khz = [0, 1]\n"), ["4: the policy of CPUs 0-1 has an operating point at 0 kHz"]);
    assert_eq!(both("khz = [2000000000]\n").len(), 1);
    assert_eq!(both("khz = []\n"), ["4: the policy of CPUs 0-1 has 0 operating points"]);
    assert_eq!(both("khz = 1000\n"), ["4: `khz` is 1000"]);
    assert_eq!(both("khz = [1, 2]\npower_mw = [1]\n"), ["5: `power_mw` lists 1 numbers"]);
    assert_eq!(both("khz = [1, 2]\npower_mw = [0, 1]\n"), ["5: the policy of CPUs 0-1 has a point that draws 0 mW"]);
    assert_eq!(both("khz = [1]\nmillivolt = [1000]\n"), ["2: a policy without `dynamic_power_coefficient`"]);
    assert_eq!(
        both("khz = [1]\npower_mw = [5]\nmillivolt = [1000]\ndynamic_power_coefficient = 1\n"),
        ["5: `power_mw` beside what it follows from"]
    );
    assert_eq!(both("khz = [1]\ntransition_latency = \"2s\"\n").len(), 1);
    assert_eq!(both("khz = [1]\nmhz = 5\n"), ["5: unknown key `mhz`"]);
    assert_eq!(policy("khz = [1]\n"), ["2: a policy without `cpus`"]);
    assert_eq!(policy("cpus = \"0-\"\nkhz = [1]\n"), ["3: `cpus` is \"0-\""]);
    assert_eq!(policy("cpus = \"0\"\nkhz = [1]\n"), ["3: CPUs 1 are in no policy"]);
    assert_eq!(policy("cpus = \"0-2\"\nkhz = [1]\n"), ["3: a policy of CPUs \"0-2\" on a machine of CPUs 0-1"]);
    assert!(
        policy("cpus = \"0-1\"\nkhz = [1]\n[[policy]]\ncpus = \"1\"\nkhz = [1]\n")
            .contains(&"6: CPU 1 is in two policies".to_string())
    );
    assert_eq!(
        mistakes("cores = 2\nfreq_domains = \"core\"\n[[policy]]\ncpus = \"0-1\"\nkhz = [1]\n"),
        ["4: the policy of CPUs 0-1 beside a frequency domain of CPUs 0"]
    );
    assert_eq!(mistakes("cores = 2\npolicy = 5\n"), ["2: `policy` is 5"]);
}

#[test]
fn what_cores_share_is_read_written_and_refused() {
    let machine = parse("preset = \"llc112\"\nsmt_percent = 70\ncore_cache = \"1MiB\"\n");
    assert_eq!((machine.smt_percent, machine.core_cache_kib), (70, 1024));
    assert_eq!(parse(&machine_file::write(&machine)), machine);
    assert_eq!(parse("cores = 2\ncore_cache = 512\n").core_cache_kib, 512);
    let plain = parse("cores = 2\nthreads = 2\n");
    assert_eq!((plain.smt_percent, plain.core_cache_kib), (100, 2048));
    assert_eq!(
        mistakes("cores = 2\nsmt_percent = 0\ncore_cache = \"1GB\"\n"),
        ["2: `smt_percent` is 0", "3: `core_cache` is \"1GB\""]
    );
}
