//! `netperf`: request and response over the loopback interface, one transaction after the other.

use crate::build::marker;
use crate::param::{Param, ParamKind, Values};
use crate::table::{Column, Figure};
use crate::workload::Workload;
use fairground_model::{DATAGRAM_BYTES_MAX, Instr, MarkerUnit, Mistakes, Program, SockKind, Start, TaskSet, TaskSpec};
use fairground_stdx::{Instant, Ns, SockId};

/// What a side of a pair has in the cache: socket, packets, stack; a guess.
const WORKING_SET_KIB: u32 = 12;

/// The measurement: a transaction is over.
const TRANSACTIONS: &str = "netperf_transactions";

/// The tests by their names.
const TESTS: &[&str] = &["TCP_RR", "UDP_RR"];

/// The most bytes of a request or a response, whatever the test: a stream carries more.
const BYTES_MAX: u64 = 1 << 20;

const fn rate(title: &'static str, figure: Figure) -> Column {
    Column { title, unit: "", figure, scale: (1, 1), decimals: 2 }
}

pub(crate) const WORKLOAD: Workload = Workload {
    name: "netperf",
    sentence: "netperf TCP_RR and UDP_RR: a client asks, its server answers; how often a second?",
    params: &[
        Param::choice("test", TESTS, "TCP_RR", "The test: TCP_RR or UDP_RR.").short('t'),
        Param::count("testlen", (1, 1_000_000), "10", "How long it measures, in seconds.").short('l'),
        Param::new("request", ParamKind::Pair(1, BYTES_MAX), "1,1", "Bytes of a request and of a response.").short('r'),
        Param::count("instances", (1, 4096), "1", "Pairs of client and server that run at once; no flag of the real program."),
        Param::time("warmup", "0s", "How long it runs before it measures; no flag of the real program."),
        Param::time(
            "apart",
            "1ms",
            "How long after one instance the next one begins: a shell starts them in a loop; no flag of the real program.",
        ),
    ],
    table: &[
        rate("Trans. Rate per sec", Figure::PerSecondEach(TRANSACTIONS)),
        rate("of all instances", Figure::PerSecond(TRANSACTIONS)),
    ],
    percentiles: &[],
    duration: Some(|values| Ns(window(values).1.ns())),
    threads: None,
    build,
};

/// From when to when it measures.
fn window(values: &Values) -> (Instant, Instant) {
    let from = Instant::ZERO + values.time("warmup");
    let to = from.ns().saturating_add(Ns::from_secs(values.count("testlen")).0);
    (from, Instant::from_ns(to.min(Instant::MAX.ns())))
}

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let (request, response) = values.pair("request");
    let kind = match values.choice("test") {
        "UDP_RR" => SockKind::Datagram,
        _ => SockKind::Stream,
    };
    let mut set = TaskSet::default();
    if request.max(response) > u64::from(kind.bytes_max()) {
        let hint = format!("A datagram has {DATAGRAM_BYTES_MAX} bytes at most (EMSGSIZE).");
        values.mistake(mistakes, "request", "a message that no datagram holds", &hint);
        return set;
    }
    let (request, response) = (request as u32, response as u32);
    let transactions = marker(&mut set, TRANSACTIONS, MarkerUnit::Count);
    let (from, end) = window(values);
    set.window = Some((from, end));
    let apart = values.time("apart");
    for row in 0..values.count("instances") {
        let start = Start::At(Instant::from_ns(apart.0.saturating_mul(row).min(Instant::MAX.ns())));
        let [client, server] = set.connect(kind);
        let answers = serve(server, request, response);
        let code = vec![
            Instr::Set { reg: 0, at: end },
            Instr::Send { sock: client, bytes: request },
            Instr::Recv { sock: client, bytes: response },
            Instr::MarkValue { marker: transactions, value: 1 },
            Instr::Now { reg: 1 },
            Instr::JumpIfBefore { reg: 1, at: end, to: 1 },
            Instr::Exit,
        ];
        for (name, code, mm) in [("netserver", answers, 2 * row), ("netperf", code, 2 * row + 1)] {
            let program = set.programs.push(Program::from(code));
            set.tasks.push(TaskSpec {
                mm: mm as u32,
                start,
                working_set_kib: WORKING_SET_KIB,
                ..TaskSpec::new(format!("{name}{row}"), program)
            });
        }
    }
    set
}

/// What the server does until the end.
fn serve(sock: SockId, request: u32, response: u32) -> Vec<Instr> {
    vec![Instr::Recv { sock, bytes: request }, Instr::Send { sock, bytes: response }, Instr::Jump { to: 0 }]
}

#[cfg(test)]
mod tests {
    use crate::{args_of_flags, build, duration, testing};
    use expect_test::expect_file;
    use fairground_model::{Mistakes, TaskSet};
    use fairground_stdx::Ns;

    fn read(flags: &str) -> Result<TaskSet, Mistakes> {
        let flags: Vec<String> = flags.split_whitespace().map(String::from).collect();
        let set = build("netperf", &args_of_flags("netperf", &flags)?)?;
        testing::check(&set);
        Ok(set)
    }

    #[test]
    fn golden() {
        expect_file!["golden/tcp.txt"].assert_eq(&testing::dump(&read("-t TCP_RR -l 100 -- -r 1,1").unwrap()));
        expect_file!["golden/udp.txt"]
            .assert_eq(&testing::dump(&read("-t UDP_RR -l 5 --warmup 2s --instances 2 -- -r 64,1024").unwrap()));
    }

    #[test]
    fn flags_are_those_of_netperf() {
        assert_eq!(read("").unwrap(), read("-t TCP_RR -l 10 -- -r 1").unwrap());
        assert_ne!(read("-t UDP_RR").unwrap(), read("").unwrap());
        let args = args_of_flags("netperf", &["-l7".into(), "--warmup=2s".into()]).unwrap();
        assert_eq!(duration("netperf", &args), Some(Ns::from_secs(9)));
    }

    #[test]
    fn bad_flags_are_refused_with_what_was_expected() {
        for (flags, expected) in [
            ("-t TCP_CRR", "TCP_RR, UDP_RR"),
            ("-r 0,1", "from 1"),
            ("-r 1,2,3", "two whole numbers"),
            ("-r 2000000", "to 1048576"),
            ("-t UDP_RR -r 65508,1", "65507"),
            ("-l 0", "from 1"),
            ("--instances 0", "from 1"),
            ("-H 10.0.0.1", "unknown flag"),
        ] {
            let mistakes = read(flags).unwrap_err().to_string();
            assert!(mistakes.contains(expected), "{flags}: {mistakes}");
        }
    }
}
