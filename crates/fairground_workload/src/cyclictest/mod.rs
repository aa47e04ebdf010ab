//! `cyclictest`: threads that sleep until fixed times and note how late they wake.

use crate::build::{land, marker};
use crate::param::{Param, ParamKind, Values};
use crate::table::{Aggregate, Column, Figure, Threads};
use crate::workload::Workload;
use fairground_model::{Instr, MarkerUnit, Mistakes, Mode, Policy, Program, RtPriority, TaskSet, TaskSpec, Test, Value};
use fairground_stdx::{CpuId, CpuMask, Ns};

/// What a thread computes after it was woken: it reads the clock and counts. A guess.
const BODY: Ns = Ns::from_us(1);

const fn column(title: &'static str, unit: &'static str, aggregate: Aggregate, divisor: u64) -> Column {
    Column { title, unit, figure: Figure::Of(LATENCY, aggregate), scale: (1, divisor), decimals: 0 }
}

/// The name of the marker.
const LATENCY: &str = "cyclictest";

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cyclictest",
    sentence: "Threads that sleep until fixed times and note how late they wake.",
    params: &[
        Param::count("threads", (1, CpuMask::CAPACITY as u64), "1", "The number of threads.").short('t'),
        Param::new("priority", ParamKind::Priority, "0", "The real-time priority; 0 = they are of SCHED_OTHER.").short('p'),
        Param::choice("policy", &["fifo", "rr", "other"], "fifo", "The policy of threads with a priority.").short('y'),
        Param::switch("priospread", "Each thread has a priority of one less than the one before."),
        Param::count("interval", (0, 1_000_000_000), "1000", "From one wake-up to the next of the first thread, us.").short('i'),
        Param::count(
            "distance",
            (0, 1_000_000_000),
            "500",
            "By what the interval of each thread is longer than that of the one before, us.",
        )
        .short('d'),
        Param::count("loops", (0, 1_000_000_000_000), "0", "How often each thread wakes; 0 = to the end of the run.").short('l'),
        Param::cpus(
            "affinity",
            "",
            "The CPUs on which the threads run, each bound to one of them in turn; all for each where none is given.",
        )
        .short('a'),
        Param::count(
            "histogram",
            (0, 100_000),
            "0",
            "A histogram of latencies below so many us; 0 = none. The threads have one interval then.",
        )
        .short('h'),
        Param::switch("mlockall", "Locks memory; there are no page faults here.").short('m'),
        Param::switch("quiet", "Prints at the end only, as it is here anyway.").short('q'),
    ],
    table: &[
        column("cycles", "", Aggregate::Count, 1),
        column("avg", "us", Aggregate::Mean, 1000),
        column("p99", "us", Aggregate::PerMille(990), 1000),
        column("max", "us", Aggregate::Max, 1000),
    ],
    percentiles: &[],
    duration: None,
    threads: Some(|values| Threads { marker: LATENCY, intervals_us: intervals(values), histogram_us: values.count("histogram") }),
    build,
};

/// The interval of each thread, us.
fn intervals(values: &Values) -> Vec<u64> {
    let distance = if values.count("histogram") > 0 && !values.given("distance") { 0 } else { values.count("distance") };
    (0..values.count("threads")).map(|row| values.count("interval") + row * distance).collect()
}

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    let (threads, priority) = (values.count("threads"), values.count("priority"));
    let spread = values.switch("priospread");
    if values.count("interval") == 0 {
        values.mistake(mistakes, "interval", "an interval of 0 never lets time pass", "Give a number of us such as 1000.");
        return set;
    }
    if values.choice("policy") == "other" && priority > 0 {
        values.mistake(mistakes, "policy", "SCHED_OTHER has no priority", "Leave out -p, or take fifo or rr.");
    }
    if spread && priority < threads {
        values.mistake(
            mistakes,
            "priospread",
            "the last threads would have no priority",
            "Give a priority of at least the number of threads.",
        );
    }
    let cpus: Vec<CpuId> = values.cpus("affinity").map(|cpus| cpus.iter().collect()).unwrap_or_default();
    for (row, interval) in intervals(values).into_iter().enumerate() {
        let code = program(&mut set, Ns::from_us(interval), values.count("loops"));
        let program = set.programs.push(code);
        let mut task = TaskSpec::new(format!("cyclictest{row:02}"), program);
        let own = if spread { priority.saturating_sub(row as u64) } else { priority };
        if let Some(level) = RtPriority::new(own as i64) {
            task.policy = if values.choice("policy") == "rr" { Policy::RoundRobin(level) } else { Policy::Fifo(level) };
        }
        if !cpus.is_empty() {
            task.affinity = Some(CpuMask::only(cpus[row % cpus.len()]));
        }
        set.tasks.push(task);
    }
    set
}

/// Register 0 holds the time of the next wake-up, register 1 the present. Times that have passed are left out.
fn program(set: &mut TaskSet, interval: Ns, loops: u64) -> Program {
    let latency = marker(set, LATENCY, MarkerUnit::EachUs);
    let (next, now) = (0, 1);
    let mut program = Program::from(vec![Instr::Now { reg: next }]);
    let cycle = program.here();
    program.code.push(Instr::Add { reg: next, time: interval });
    program.code.push(Instr::Now { reg: now });
    program.code.push(Instr::JumpIf { reg: now, is: Test::AtMost, value: Value::Reg(next), to: 0 });
    program.code.push(Instr::Jump { to: cycle });
    land(&mut program, cycle + 2);
    program.code.push(Instr::SleepUntil { reg: next });
    program.code.push(Instr::MarkSince { marker: latency, reg: next });
    program.code.push(Instr::Run { work: BODY, mode: Mode::User });
    match loops {
        0 => program.code.push(Instr::Jump { to: cycle }),
        times => {
            program.code.push(Instr::Repeat { counter: 0, times, to: cycle });
            program.code.push(Instr::Exit);
        }
    }
    program
}

#[cfg(test)]
mod tests {
    use crate::{Args, args_of_flags, build, testing, threads};
    use expect_test::expect_file;

    fn flags(text: &str) -> Args {
        args_of_flags("cyclictest", &text.split(' ').map(String::from).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn golden() {
        let set = build("cyclictest", &flags("-t 2 -p 80 -i 1000 -l 100 -m -q -a 0-1")).unwrap();
        expect_file!["golden/two-threads.txt"].assert_eq(&testing::dump(&set));
        testing::check(&set);
    }

    #[test]
    fn wakes_on_its_grid_and_as_often_as_it_is_told() {
        use fairground_model::Step;
        let set = build("cyclictest", &flags("-i 250 -l 3")).unwrap();
        let steps = testing::steps(set.programs.iter().next().unwrap(), 30);
        let sleeps: Vec<u64> =
            steps.iter().filter_map(|row| if let Step::SleepUntil(at) = row.1 { Some(at.ns()) } else { None }).collect();
        assert_eq!(sleeps, [250_000, 500_000, 750_000]);
        assert_eq!(steps.last().unwrap().1, Step::Exit);
    }

    #[test]
    fn intervals_grow_by_the_distance() {
        let of = |text: &str| threads("cyclictest", &flags(text)).unwrap();
        assert_eq!(of("-t 3").intervals_us, [1000, 1500, 2000]);
        assert_eq!(of("-t 3 -h 50").intervals_us, [1000; 3]);
        assert_eq!((of("-t 2 -d 0").intervals_us, of("-h 50").histogram_us), (vec![1000; 2], 50));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |text: &str| build("cyclictest", &flags(text)).unwrap_err().to_string();
        assert!(refused("-i 0").contains("interval of 0"));
        assert!(refused("-y other -p 5").contains("no priority"));
        assert!(refused("-t 8 -p 5 --priospread").contains("last threads"));
        for wrong in ["-p 100", "-p -1", "-p x"] {
            assert!(refused(wrong).contains("Expected a real-time priority from 1 to 99, or 0 for none."), "{wrong}");
        }
        for unknown in ["-S", "--smi", "-b", "-N"] {
            assert!(args_of_flags("cyclictest", &[unknown.into()]).unwrap_err().to_string().contains(unknown), "{unknown}");
        }
    }
}
