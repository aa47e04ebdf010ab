//! `tbench`: the network half of a file server, over the loopback interface.

mod load;

use crate::build::marker;
use crate::param::{Param, Values};
use crate::table::{Column, Figure};
use crate::workload::Workload;
use fairground_model::{Instr, MarkerUnit, Mistakes, Program, SockKind, TaskSet, TaskSpec};
use fairground_stdx::{Instant, Ns};
use load::Exchange;

/// What a side of a pair has in the cache; a guess.
const WORKING_SET_KIB: u32 = 64;

/// The measurement: bytes of a read or a write that is over.
const BYTES: &str = "tbench_bytes";

/// The length of a message, which is read before the rest of it.
const HEADER: u32 = 4;

/// What client and server say to each other first, bytes each way.
const FIRST: u32 = 8;

const fn throughput(title: &'static str, figure: Figure) -> Column {
    Column { title, unit: "MB/sec", figure, scale: (1, 1_000_000), decimals: 3 }
}

pub(crate) const WORKLOAD: Workload = Workload {
    name: "tbench",
    sentence: "tbench: clients ask a server of their own for what a file server does; how many bytes a second?",
    params: &[
        Param::count("timelimit", (1, 1_000_000), "600", "How long it measures, in seconds.").short('t'),
        Param::count(
            "warmup",
            (0, 1_000_000),
            "0",
            "How long it runs before, in seconds; a fifth of the time limit unless given.",
        ),
        Param::count("clients", (1, 1024), "1", "The number of clients, which the real program takes behind its flags."),
    ],
    table: &[
        throughput("Throughput", Figure::PerSecond(BYTES)),
        throughput("Throughput of a client", Figure::PerSecondEach(BYTES)),
    ],
    percentiles: &[],
    duration: Some(|values| Ns(window(values).1.ns())),
    threads: None,
    build,
};

/// From when to when it measures.
fn window(values: &Values) -> (Instant, Instant) {
    let limit = values.count("timelimit");
    let warmup = if values.given("warmup") { values.count("warmup") } else { limit / 5 };
    let at = |secs| Instant::from_ns(Ns::from_secs(secs).0.min(Instant::MAX.ns()));
    (at(warmup), at(warmup + limit))
}

fn build(values: &Values, _mistakes: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    let bytes = marker(&mut set, BYTES, MarkerUnit::Count);
    set.window = Some(window(values));
    let exchanges = load::exchanges();
    for row in 0..values.count("clients") {
        let [client, server] = set.connect(SockKind::Stream);
        let mut asks = vec![Instr::Send { sock: client, bytes: FIRST }, Instr::Recv { sock: client, bytes: FIRST }];
        let mut answers = vec![Instr::Recv { sock: server, bytes: FIRST }, Instr::Send { sock: server, bytes: FIRST }];
        for &Exchange { request, reply, counted } in &exchanges {
            asks.push(Instr::Send { sock: client, bytes: request });
            asks.extend([HEADER, reply - HEADER].map(|bytes| Instr::Recv { sock: client, bytes }));
            if counted > 0 {
                asks.push(Instr::MarkValue { marker: bytes, value: u64::from(counted) });
            }
            answers.extend([HEADER, request - HEADER].map(|bytes| Instr::Recv { sock: server, bytes }));
            answers.push(Instr::Send { sock: server, bytes: reply });
        }
        for (name, mut code, mm) in [("tbench_srv", answers, 2 * row), ("tbench", asks, 2 * row + 1)] {
            // Behind the first exchange.
            code.push(Instr::Jump { to: 2 });
            let program = set.programs.push(Program::from(code));
            set.tasks.push(TaskSpec {
                mm: mm as u32,
                working_set_kib: WORKING_SET_KIB,
                ..TaskSpec::new(format!("{name}{row}"), program)
            });
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use crate::{Args, args_of_flags, build, duration, testing};
    use fairground_model::{Instr, TaskSet};
    use fairground_stdx::{Instant, Ns};

    fn set(args: &[(&str, &str)]) -> TaskSet {
        let set = build("tbench", &Args::of(args)).unwrap();
        testing::check(&set);
        set
    }

    #[test]
    fn what_one_side_sends_the_other_receives() {
        let set = set(&[("clients", "3")]);
        assert_eq!((set.tasks.len(), set.socks.len()), (6, 6));
        let sum = |row: u32, sends: bool| -> u64 {
            let code = &set.programs[set.tasks[fairground_stdx::TaskId::new(row)].program].code;
            let bytes = code.iter().map(|instr| match *instr {
                Instr::Send { bytes, .. } if sends => u64::from(bytes),
                Instr::Recv { bytes, .. } if !sends => u64::from(bytes),
                _ => 0,
            });
            bytes.sum()
        };
        for pair in [0, 2, 4] {
            assert_eq!((sum(pair, true), sum(pair, false)), (sum(pair + 1, false), sum(pair + 1, true)));
        }
    }

    #[test]
    fn warm_up_is_a_fifth_unless_given() {
        let window = |args: &[(&str, &str)]| set(args).window.unwrap();
        let at = |secs| Instant::ZERO + Ns::from_secs(secs);
        assert_eq!(window(&[("timelimit", "100")]), (at(20), at(120)));
        assert_eq!(window(&[("timelimit", "5"), ("warmup", "2")]), (at(2), at(7)));
        let args = args_of_flags("tbench", &["-t".into(), "100".into()]).unwrap();
        assert_eq!(duration("tbench", &args), Some(Ns::from_secs(120)));
    }

    #[test]
    fn bad_flags_are_refused() {
        for flags in [["-t", "0"], ["--clients", "0"], ["--clients", "1025"], ["--warmup", "soon"]] {
            let args = args_of_flags("tbench", &flags.map(String::from)).unwrap();
            assert!(build("tbench", &args).is_err(), "{flags:?}");
        }
        assert!(args_of_flags("tbench", &["4".to_string()]).is_err());
    }
}
