//! The workloads that have a name: one row each. `list workloads`, the flags of
//! `run --workload NAME -- FLAGS` and the `[[workload]]` of a scenario all come from this table.

use crate::args::{self, Args};
use crate::param::Values;
use crate::table::Threads;
use crate::workload::Workload;
use fairground_model::{Mistakes, TaskSet};
use fairground_stdx::Ns;

static WORKLOADS: &[Workload] = &[
    crate::cyclictest::WORKLOAD,
    crate::fibtest::WORKLOAD,
    crate::hackbench::WORKLOAD,
    crate::hog::WORKLOAD,
    crate::hog_tree::WORKLOAD,
    crate::irq_noise::WORKLOAD,
    crate::management::WORKLOAD,
    crate::mysql::WORKLOAD,
    crate::periodic::WORKLOAD,
    crate::pgbench::WORKLOAD,
    crate::netperf::WORKLOAD,
    crate::press::WORKLOAD,
    crate::sched_pipe::WORKLOAD,
    crate::schbench::WORKLOAD,
    crate::schbench_2016::WORKLOAD,
    crate::service::WORKLOAD,
    crate::steal::WORKLOAD,
    crate::tbench::WORKLOAD,
];

/// All named workloads.
pub fn workloads() -> &'static [Workload] {
    WORKLOADS
}

/// The workload of this name.
pub fn find(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|workload| workload.name == name)
}

fn known(name: &str) -> Result<&'static Workload, Mistakes> {
    find(name).ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
        Mistakes::one(format!("there is no workload `{name}`"), format!("The workloads are: {}.", names.join(", ")))
    })
}

/// Builds the tasks of a named workload; every wrong setting is a mistake at its place.
pub fn build(name: &str, args: &Args) -> Result<TaskSet, Mistakes> {
    let workload = known(name)?;
    let values = Values::read(workload.params, args)?;
    let mut mistakes = Mistakes::default();
    let set = (workload.build)(&values, &mut mistakes);
    mistakes.or(set)
}

/// How long a named workload runs by its own settings, if they say so.
pub fn duration(name: &str, args: &Args) -> Option<Ns> {
    let workload = find(name)?;
    let values = Values::read(workload.params, args).ok()?;
    workload.duration.map(|duration| duration(&values))
}

/// The table with a line per thread that a named workload prints, if it does.
pub fn threads(name: &str, args: &Args) -> Option<Threads> {
    let workload = find(name)?;
    let values = Values::read(workload.params, args).ok()?;
    workload.threads.map(|threads| threads(&values))
}

/// Reads the real program's flags. Places of mistakes are byte ranges of [`flags_text`].
pub fn args_of_flags(name: &str, flags: &[String]) -> Result<Args, Mistakes> {
    args::parse_flags(known(name)?.params, flags)
}

/// The flags as one line of text, to show mistakes in.
pub fn flags_text(flags: &[String]) -> String {
    args::flags_text(flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn defaults_build() {
        for workload in workloads() {
            let set = build(workload.name, &Args::default()).unwrap();
            assert!(!set.tasks.is_empty() || !set.noise.is_empty(), "{}", workload.name);
            crate::testing::check(&set);
        }
    }

    #[test]
    fn tables_use_declared_markers() {
        use crate::table::Figure;
        for workload in workloads() {
            let set = build(workload.name, &Args::default()).unwrap();
            let has = |name: &str| set.markers.iter().any(|marker| marker.name == name);
            for table in workload.percentiles {
                assert!(has(table.marker), "{} {}", workload.name, table.marker);
            }
            for column in workload.table {
                match column.figure {
                    Figure::Of(marker, _) | Figure::PerSecond(marker) | Figure::PerSecondEach(marker) => {
                        assert!(has(marker), "{} {marker}", workload.name)
                    }
                    Figure::Ratio(top, bottom) => assert!(has(top) && has(bottom), "{}", workload.name),
                }
            }
        }
    }

    #[test]
    fn five_mistakes_are_five_mistakes() {
        let flags: Vec<String> = "--tasks 0 --nice 40 --cpus 3-1 --pin=perhaps --tasks 2".split(' ').map(String::from).collect();
        let args = args_of_flags("hog", &flags).unwrap();
        let mistakes = build("hog", &args).unwrap_err();
        let text = flags_text(&flags);
        let places: Vec<&str> = mistakes.0.iter().map(|mistake| &text[mistake.span.clone().unwrap()]).collect();
        assert_eq!(places, ["0", "40", "3-1", "--pin=perhaps", "2"]);
        assert!(build("nothing", &Args::default()).unwrap_err().to_string().contains("hog"));
    }

    #[test]
    fn flags_that_do_not_exist_or_lack_a_value() {
        let flags: Vec<String> = ["stray", "--what", "-q", "--tasks"].map(String::from).into();
        let mistakes = args_of_flags("hog", &flags).unwrap_err();
        assert_eq!(mistakes.0.len(), 4);
        assert!(mistakes.0[3].message.contains("no value"));
    }

    proptest! {
        #[test]
        fn any_flags_build_or_are_refused(name in 0..workloads().len(), flags in prop::collection::vec(prop_oneof![
            "\\PC{0,12}",
            prop::sample::select(vec![
                "--tasks", "--nice", "--cpus", "--pin", "--run", "--period", "--jitter", "-l", "-T", "--every", "--work", "--rounds",
                "--processes", "-m", "-t", "-s", "-c", "-r", "-p", "-R", "0", "1", "3", "0-3", "1023", "-20,19", "10ms", "13d", "999999h", "0.5ns", "--loop=5", "=", "--",
            ]).prop_map(String::from),
        ], 0..8)) {
            let workload = &workloads()[name];
            if let Ok(args) = args_of_flags(workload.name, &flags)
                && let Ok(set) = build(workload.name, &args)
            {
                crate::testing::check(&set);
                for program in set.programs.iter().take(3) {
                    crate::testing::steps(program, 50);
                }
            }
        }
    }
}
