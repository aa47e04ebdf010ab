use super::*;
use fairground_scenario::FileMistakes;

const BASE: &str = "duration = \"20ms\"\n[machine]\npreset = \"smp-2\"\n[profile]\nkernel = \"6.1\"\n[[group]]\npath = \"/web\"\n\
    [[workload]]\ngroup = \"/web\"\ntasks = [{ name = \"a\", hog = true, count = 3 }, { name = \"b\", run = \"1ms\", period = \"5ms\" }]\n";

fn sweep_of(text: &str) -> Result<Sweep, Error> {
    let base = Source { name: "base.toml".into(), text: BASE.into() };
    Sweep::parse(SweepText { name: "s.toml".into(), text: text.into(), base: Some(base), ..SweepText::default() })
}

fn lines(text: &str) -> Vec<String> {
    match sweep_of(text) {
        Err(Error::Input(files)) => files.iter().flat_map(FileMistakes::lines).collect(),
        Err(error) => panic!("{error}"),
        Ok(_) => Vec::new(),
    }
}

#[test]
fn wrong_values_of_all_axes_and_mistakes_of_the_base_are_found_together() {
    let folder = std::env::temp_dir().join(format!("fairground-sweep-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let base =
        "duration = \"1s\"\n[machine]\npreset = \"smp-1\"\n[[workload]]\ntasks = [{ name = \"a\", hog = true, nice = 99 }]\n";
    std::fs::write(folder.join("base.toml"), base).unwrap();
    let sweep = "base = \"base.toml\"\n[axes]\nprofile = [\"v9\", \"v5.19\"]\nfeature = [\"FOO\", \"NEXT_BUDDY\"]\n\
                 machine = [\"smp-0\", \"smp-2\"]\nset = { sched_latency_ns = [1000000, 0] }\nseed = \"1..2\"\n";
    let path = folder.join("sweep.toml");
    std::fs::write(&path, sweep).unwrap();
    let Err(Error::Input(files)) = Sweep::load(&path) else { panic!("much is wrong") };
    std::fs::remove_dir_all(&folder).unwrap();
    let lines: Vec<String> = files.iter().flat_map(FileMistakes::lines).collect();
    let parts =
        ["toml:3: there is no profile `v9`", "toml:4: ", "toml:5: unknown machine", "toml:6: 0 is out", "base.toml:5: nice 99"];
    assert_eq!(lines.len(), parts.len(), "{lines:?}");
    for part in parts {
        assert!(lines.iter().any(|line| line.contains(part)), "{part}: {lines:?}");
    }
}

#[test]
fn wrong_keys_of_paths_point_at_the_line_of_the_sweep_file() {
    for (axis, part) in [
        (
            "\"workload.0.tasks.0.niec\" = [1, 2]",
            "s.toml:2: unknown key `niec` in [[workload.tasks]] (hint: Did you mean `nice`?)",
        ),
        ("\"worklod.0.x\" = [1, 2]", "Did you mean `workload`?"),
        ("\"workload.0.tasks.c.nice\" = [1]", "no entry `c` in `tasks`"),
        ("\"machine.hzz\" = [100]", "s.toml:2: unknown key `hzz`"),
        ("\"profile.tunables.sched_latency\" = [100]", "s.toml:2: "),
        ("\"costs.tik\" = [100]", "s.toml:2: "),
        ("\"group.web.cpu.maxx\" = [\"max\"]", "s.toml:2: "),
        ("\"workload.0.tasks.b.nice\" = [1, 2.5]", "s.toml:2: `nice` is the number 2.5"),
        ("\"workload.0.tasks.a.nice\" = [1, 99]", "s.toml:2: nice 99"),
    ] {
        let found = lines(&format!("[axes]\n{axis}\n"));
        assert_eq!(found.len(), 1, "{axis}: {found:?}");
        assert!(found[0].starts_with("s.toml:2: ") && found[0].contains(part), "{axis}: {found:?}");
    }
}

#[test]
fn what_all_values_of_a_range_do_wrong_is_one_mistake() {
    let found = lines("[axes]\n\"workload.0.tasks.b.run\" = { from = 1, to = 300, step = 1 }\n");
    let part = "`run = 1` has no unit, and so with 299 more values";
    assert!(found.len() == 1 && found[0].starts_with("s.toml:2: ") && found[0].contains(part), "{found:?}");
    assert!(lines("[axes]\n\"groups.web.cpu_max\" = { from = 1000, to = 300000, step = 1000 }\n").is_empty());
}

#[test]
fn prices_stand_beside_the_list_of_the_machine_and_no_axis_undoes_another() {
    let sweep = sweep_of("[axes]\n\"costs.tick\" = [\"1us\", \"9us\"]\n").unwrap();
    let digests: Vec<u128> = (0..2).map(|number| sweep.scenario(number).unwrap().digest()).collect();
    assert_ne!(digests[0], digests[1]);
    let found = lines("[axes]\nmachine = [\"smp-2\"]\n\"costs.tick\" = [\"1us\"]\n");
    assert!(found.len() == 1 && found[0].contains("takes the place of what `costs.tick` changes"), "{found:?}");
}

#[test]
fn a_value_that_some_combination_allows_is_no_mistake_and_other_combinations_are_refused_rows() {
    let text = "[axes]\nmachine = [\"smp-2\", \"smp-4\"]\n\"workload.0.tasks.a.cpus\" = [\"0\", \"3\"]\n";
    let swept = sweep_of(text).unwrap().run(&SweepOptions::default(), Control::none()).unwrap();
    let refused: Vec<bool> = swept.rows.iter().map(|row| matches!(row.outcome, Outcome::Refused(_))).collect();
    assert_eq!(refused, [false, true, false, false]);
    assert_eq!(swept.exit_code(), 2);
    // A condition leaves it out.
    let text = format!("only = \"cpus = 0 or machine = 'smp-4'\"\n{text}");
    let swept = sweep_of(&text).unwrap().run(&SweepOptions::default(), Control::none()).unwrap();
    assert_eq!((swept.rows.len(), swept.exit_code()), (3, 0));
}

const MANY: &str = "metrics = [\"switches\"]\nzip = [[\"workload.0.tasks.b.period\", \"workload.0.tasks.b.nice\"]]\n[axes]\n\
    \"groups.web.cpu_max\" = [\"5000 10000\", \"max\"]\n\"workload.0.tasks.b.period\" = [\"3ms\", \"5ms\"]\n\
    \"workload.0.tasks.b.nice\" = [0, 5]\nseed = \"1..7\"\n";

fn files(sweep: &Sweep, swept: &Swept) -> Vec<Vec<u8>> {
    use crate::output::ResultKind::{Csv, Html, Json, Parquet};
    [Csv, Json, Parquet, Html].map(|kind| sweep_file(swept, &sweep.inputs(), kind)).into()
}

#[test]
fn parts_made_anywhere_in_any_order_and_sent_as_text_give_the_same_bytes() {
    for more in ["", "seeds = \"apart\"\n", "until = \"50%\"\n"] {
        let sweep = sweep_of(&format!("{more}{MANY}")).unwrap();
        let whole = sweep.run(&SweepOptions { threads: 1, ..SweepOptions::default() }, Control::none()).unwrap();
        let wanted = files(&sweep, &whole);
        for (step, threads) in [(1, 2), (3, 1), (5, 4), (100, 3)] {
            let mut rows = Vec::new();
            for start in (0..sweep.runs()).step_by(step).rev() {
                // Another process has read the same text.
                let worker = Sweep::parse(sweep.carried()).unwrap();
                let made = worker.run_points(start..start + step, threads, Control::none()).unwrap();
                rows.extend(made.iter().map(|row| sweep.row_of_line(&worker.line_of(row)).unwrap()));
            }
            assert_eq!(files(&sweep, &sweep.assemble(rows).unwrap()), wanted, "{more} {step} {threads}");
        }
    }
}

#[test]
fn a_journal_begun_in_one_way_is_finished_in_another() {
    let journal = std::env::temp_dir().join(format!("fairground-sweep-journal-{}", std::process::id()));
    for more in ["", "until = \"50%\"\n"] {
        let sweep = sweep_of(&format!("{more}{MANY}")).unwrap();
        let options = SweepOptions { threads: 1, fresh: true, journal: Some(journal.clone()) };
        let begun = sweep.begin(&options).unwrap();
        assert_eq!((begun.finished.len(), begun.open.len()), (0, 28));
        for row in sweep.run_points(0..9, 1, Control::none()).unwrap() {
            begun.note(&row).unwrap();
        }
        let again = SweepOptions { fresh: false, ..options };
        // A journal has one writer at a time.
        assert!(sweep.begin(&again).is_err());
        drop(begun);
        let begun = sweep.begin(&again).unwrap();
        assert!((7..28).contains(&begun.finished.len()), "{}", begun.finished.len());
        let mut rest = Vec::new();
        for number in begun.open.clone() {
            rest.extend(sweep.run_points(number..number + 1, 1, Control::none()).unwrap());
        }
        let there = begun.assemble(&sweep, rest).unwrap();
        let here = sweep.run(&again, Control::none()).unwrap();
        assert!(here.resumed >= 7);
        assert_eq!(files(&sweep, &there), files(&sweep, &here));
        std::fs::remove_file(&journal).unwrap();
    }
}

#[test]
fn rows_of_another_version_or_sweep_are_refused_by_name() {
    let sweep = sweep_of(MANY).unwrap();
    let first = sweep.run_points(0..1, 1, Control::none()).unwrap().remove(0);
    let (line, far) = (sweep.line_of(&first), sweep.line_of(&Row { number: 99, ..first }));
    let wrong = |line: String| sweep.row_of_line(&line).unwrap_err().to_string();
    assert!(wrong(line.replace(VERSION, "0.0.9")).contains("made by fairground 0.0.9"));
    assert!(wrong(far).contains("no run 99"));
    assert!(wrong(line.replace("\"run\":0", "\"run\":1")).contains("no row"), "its checksum is that of another line");
    assert!(wrong(line[..40].to_string()).contains("no row"));
    let row = sweep.row_of_line(&line).unwrap();
    assert!(sweep.assemble(vec![row.clone(), row]).is_err());
}

#[test]
fn seeds_are_taken_together_and_columns_have_their_types() {
    let sweep = sweep_of(MANY).unwrap();
    let swept = sweep.run(&SweepOptions::default(), Control::none()).unwrap();
    let csv = String::from_utf8(sweep_file(&swept, &[], crate::output::ResultKind::Csv)).unwrap();
    let head = "point,groups.web.cpu_max,workload.0.tasks.b.period_ns,workload.0.tasks.b.nice,state,seeds,switches,switches:low,\
                switches:high,switches:p10,switches:p90,";
    assert!(csv.starts_with(head), "{csv}");
    assert_eq!(csv.lines().count(), 5);
    assert!(csv.lines().nth(1).unwrap().starts_with("0,5000 10000,3000000,0,done,7,"), "{csv}");
    let point = &swept.points()[1];
    let mut values: Vec<u64> = swept.rows[7..14].iter().map(|row| row.figures().unwrap().get("switches").unwrap()).collect();
    values.sort_unstable();
    let found = swept.aggregate(point, "switches").unwrap();
    let wanted =
        Aggregate { count: 7, median: values[3], interval: Some((values[0], values[6])), p10: values[0], p90: values[6] };
    assert_eq!(found, wanted);
    let document = sweep_document(&swept, &[]).to_string();
    assert!(document.contains("\"workload.0.tasks.b.nice\": 5"), "{document}");
    // Terminals have the metric that was asked for.
    let titles: Vec<String> = sweep_table(&swept).columns().iter().map(|column| column.title.clone()).collect();
    assert_eq!(titles, ["point", "cpu_max", "period", "nice", "state", "seeds", "switches", "95 % interval"]);
}

#[test]
fn short_names_of_axes_are_told_apart() {
    let text = "[axes]\n\"workload.0.tasks.a.nice\" = [0]\n\"workload.0.tasks.b.nice\" = [0]\n\"workload.0.tasks.b.run\" = [\"1ms\"]\nmachine = [\"smp-2\"]\n";
    let sweep = sweep_of(text).unwrap();
    let names: Vec<&str> = (0..4).map(|axis| aggregate::short_name(&sweep.spec, axis)).collect();
    assert_eq!(names, ["machine", "a.nice", "b.nice", "b.run"]);
}

#[test]
fn the_base_may_stand_in_the_sweep_file() {
    let text = format!(
        "[axes]\n\"workload.0.tasks.b.nice\" = [0, 1]\n[base]\n{}",
        BASE.replace("[machine]", "[base.machine]")
            .replace("[profile]", "[base.profile]")
            .replace("[[group]]", "[[base.group]]")
            .replace("[[workload]]", "[[base.workload]]")
    );
    let of = |text: String| Sweep::parse(SweepText { name: "s.toml".into(), text, ..SweepText::default() });
    let swept = of(text.clone()).unwrap().run(&SweepOptions::default(), Control::none()).unwrap();
    assert_eq!(swept.exit_code(), 0);
    let Err(error) = of(text.replace("hog = true", "hogg = true")) else { panic!("a wrong key") };
    assert!(error.to_string().contains("s.toml:13: unknown key `hogg`"), "{error}");
}
