//! `hackbench` of rt-tests: groups of senders that each write to all receivers of their group.

use crate::build::marker;
use crate::param::{Param, Values};
use crate::table::{Aggregate, Column, Figure};
use crate::workload::Workload;
use fairground_model::{
    Instr, MarkerUnit, Mistakes, PAGE_SIZE, PipeSpec, Program, SockKind, Start, TaskSet, TaskSpec, UNIX_BYTES_MAX,
};
use fairground_stdx::{Id, Instant, MarkerId, Ns, PipeId, ProgramId, SockId, TaskId};

/// What a child has in the cache; a guess.
const WORKING_SET_KIB: u32 = 6;

/// The measurement: from the start byte to the last child's end.
const TIME: &str = "hackbench_time";
/// The measurement: a message was received.
const MESSAGES: &str = "hackbench_messages";

/// The most children of a run.
const CHILDREN_MAX: u64 = 100_000;

/// How long it may take if nothing else is said. It ends when its last child does.
const AN_HOUR: Ns = Ns::from_secs(3600);

pub(crate) const WORKLOAD: Workload = Workload {
    name: "hackbench",
    sentence: "hackbench of rt-tests: groups in which each sender writes to each receiver, through sockets or pipes.",
    params: &[
        Param::count("groups", (1, 10_000), "10", "The number of groups.").short('g'),
        Param::count("fds", (1, 1_000), "20", "The number of receivers of a group, and of its senders.").short('f'),
        Param::count("loops", (1, 1_000_000_000), "100", "How many messages each sender writes to each receiver.").short('l'),
        Param::count("datasize", (1, PAGE_SIZE as u64), "100", "Bytes of a message.").short('s'),
        Param::switch("pipe", "Pipes instead of AF_UNIX stream sockets.").short('p'),
        Param::switch("threads", "Threads of one process instead of processes.").short('T'),
        Param::switch("process", "Processes, as without it.").short('P'),
        Param::time("warmup", "0s", "How long it runs before messages are counted; no flag of the real program."),
        Param::time(
            "measure",
            "0s",
            "How long messages are counted before the run ends; 0s = to the last child's end. No flag of the real program.",
        ),
    ],
    table: &[
        Column { title: "Time", unit: "sec", figure: Figure::Of(TIME, Aggregate::Sum), scale: (1, 1_000_000_000), decimals: 3 },
        Column { title: "Messages", unit: "", figure: Figure::Of(MESSAGES, Aggregate::Count), scale: (1, 1), decimals: 0 },
        Column { title: "Messages per sec", unit: "", figure: Figure::PerSecond(MESSAGES), scale: (1, 1), decimals: 0 },
    ],
    percentiles: &[],
    duration: Some(|values| window(values).map_or(AN_HOUR, |(_, to)| Ns(to.ns()))),
    threads: None,
    build,
};

/// From when to when messages are counted, if that is not the whole run.
fn window(values: &Values) -> Option<(Instant, Instant)> {
    let (warmup, measure) = (values.time("warmup"), values.time("measure"));
    let length = if measure > Ns::ZERO { measure } else { AN_HOUR };
    let to = warmup.0.saturating_add(length.0).min(Instant::MAX.ns());
    (warmup > Ns::ZERO || measure > Ns::ZERO).then_some((Instant::ZERO + warmup, Instant::from_ns(to)))
}

/// The way of messages from the senders of a group to one of its receivers.
#[derive(Clone, Copy)]
enum Channel {
    Pipe(PipeId),
    Sockets { sender: SockId, receiver: SockId, bytes: u32 },
}

impl Channel {
    fn new(set: &mut TaskSet, pipe: bool, bytes: u32) -> Channel {
        if pipe {
            return Channel::Pipe(set.pipes.push(PipeSpec::of_bytes(bytes)));
        }
        let [receiver, sender] = set.connect(SockKind::Unix);
        Channel::Sockets { sender, receiver, bytes }
    }
    fn send(self) -> Instr {
        match self {
            Channel::Pipe(pipe) => Instr::Write { pipe, value: None },
            Channel::Sockets { sender, bytes, .. } => Instr::Send { sock: sender, bytes },
        }
    }
    fn receive(self) -> Instr {
        match self {
            Channel::Pipe(pipe) => Instr::Read { pipe, into: 1 },
            Channel::Sockets { receiver, bytes, .. } => Instr::Recv { sock: receiver, bytes },
        }
    }
}

/// What children and their parent share.
struct Hackbench {
    set: TaskSet,
    /// Each child writes a byte into it when it is there.
    ready: PipeId,
    /// The parent writes one byte into it, which nobody reads.
    wake: PipeId,
    messages: MarkerId,
    threads: bool,
    children: Vec<TaskId>,
}

impl Hackbench {
    /// A child that says that it is ready, waits for the start and does `round` so many times.
    fn child(&mut self, name: String, round: Vec<Instr>, times: u64) {
        let mut code = vec![Instr::Write { pipe: self.ready, value: None }, Instr::Poll { pipe: self.wake }];
        let to = code.len() as u32;
        code.extend(round);
        code.push(Instr::Repeat { counter: 0, times, to });
        let program = self.set.programs.push(Program::from(code));
        self.fork(name, program);
    }
    fn fork(&mut self, name: String, program: ProgramId) {
        let mm = if self.threads { 0 } else { self.set.tasks.len() as u32 + 1 };
        let spec = TaskSpec { mm, start: Start::Forked, working_set_kib: WORKING_SET_KIB, ..TaskSpec::new(name, program) };
        self.children.push(self.set.tasks.push(spec));
    }
    /// The receivers of a group, then its senders, all of which run one program.
    fn group(&mut self, number: u64, channels: &[Channel], loops: u64) {
        let fds = channels.len() as u64;
        for (row, channel) in channels.iter().enumerate() {
            let round = vec![channel.receive(), Instr::MarkValue { marker: self.messages, value: 1 }];
            self.child(format!("receiver{number}.{row}"), round, fds * loops);
        }
        let sends = channels.iter().map(|channel| channel.send()).collect();
        self.child(format!("sender{number}.0"), sends, loops);
        let program = ProgramId::from_index(self.set.programs.len() - 1);
        (1..fds).for_each(|row| self.fork(format!("sender{number}.{row}"), program));
    }
    /// The parent: forks, waits until all are there, gives the start and waits for their end.
    fn parent(mut self) -> TaskSet {
        let time = marker(&mut self.set, TIME, MarkerUnit::Ns);
        let mut code: Vec<Instr> = self.children.iter().map(|&task| Instr::Fork { task }).collect();
        let to = code.len() as u32;
        code.push(Instr::Read { pipe: self.ready, into: 1 });
        code.push(Instr::Repeat { counter: 0, times: self.children.len() as u64, to });
        code.push(Instr::Now { reg: 0 });
        code.push(Instr::Write { pipe: self.wake, value: None });
        code.push(Instr::WaitChildren);
        code.push(Instr::MarkSince { marker: time, reg: 0 });
        let program = self.set.programs.push(Program::from(code));
        self.set.tasks.push(TaskSpec::new("hackbench", program));
        self.set
    }
}

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    let (groups, fds, bytes) = (values.count("groups"), values.count("fds"), values.count("datasize") as u32);
    let pipe = values.switch("pipe");
    if 2 * groups * fds > CHILDREN_MAX {
        let message = format!("{} children are too many", 2 * groups * fds);
        values.mistake(mistakes, "groups", &message, &format!("Groups times fds times 2 is at most {CHILDREN_MAX}."));
    }
    if values.switch("threads") && values.switch("process") {
        values.mistake(mistakes, "process", "threads and processes at once", "Keep one of -T and -P.");
    }
    if !pipe && bytes > UNIX_BYTES_MAX {
        let hint = format!("A message to a socket has {UNIX_BYTES_MAX} bytes at most here; one into a pipe (-p) {PAGE_SIZE}.");
        values.mistake(mistakes, "datasize", "a message that is not sent in one piece", &hint);
    }
    if !mistakes.0.is_empty() {
        return set;
    }
    set.window = window(values);
    let [ready, wake] = [(); 2].map(|()| set.pipes.push(PipeSpec::of_bytes(1)));
    let messages = marker(&mut set, MESSAGES, MarkerUnit::Count);
    let mut hackbench = Hackbench { set, ready, wake, messages, threads: values.switch("threads"), children: Vec::new() };
    for number in 0..groups {
        let channels: Vec<Channel> = (0..fds).map(|_| Channel::new(&mut hackbench.set, pipe, bytes)).collect();
        hackbench.group(number, &channels, values.count("loops"));
    }
    hackbench.parent()
}

#[cfg(test)]
mod tests {
    use crate::{args_of_flags, build, duration, testing};
    use expect_test::expect_file;
    use fairground_model::{Instr, Mistakes, TaskSet};
    use fairground_stdx::{Instant, Ns};

    fn read(flags: &str) -> Result<TaskSet, Mistakes> {
        let flags: Vec<String> = flags.split_whitespace().map(String::from).collect();
        let set = build("hackbench", &args_of_flags("hackbench", &flags)?)?;
        testing::check(&set);
        Ok(set)
    }

    #[test]
    fn golden() {
        expect_file!["golden/sockets.txt"].assert_eq(&testing::dump(&read("-g 1 -f 2 -l 3").unwrap()));
        expect_file!["golden/pipes.txt"].assert_eq(&testing::dump(&read("-g 2 -f 1 -l 5 -s 64 -p -T").unwrap()));
    }

    #[test]
    fn flags_are_those_of_rt_tests() {
        assert_eq!(read("").unwrap(), read("-g10 -f20 -l100 -s100 -P").unwrap());
        assert_eq!(read("").unwrap().tasks.len(), 401);
        assert_eq!(
            read("--groups 1 --fds=3 --loops 7 --datasize 8 --pipe --threads").unwrap(),
            read("-g 1 -f 3 -l 7 -s 8 -p -T").unwrap()
        );
        for flags in ["-p", "-T", "-s 8"] {
            assert_ne!(read(flags).unwrap(), read("").unwrap(), "{flags}");
        }
    }

    #[test]
    fn threads_share_an_address_space_and_processes_do_not() {
        let mms = |flags: &str| {
            let mut mms: Vec<u32> = read(flags).unwrap().tasks.iter().map(|task| task.mm).collect();
            mms.sort_unstable();
            mms.dedup();
            mms.len()
        };
        assert_eq!([mms("-g 2 -f 2"), mms("-g 2 -f 2 -T")], [9, 1]);
    }

    /// Receivers read what senders write.
    #[test]
    fn as_many_messages_are_received_as_are_sent() {
        let set = read("-g 2 -f 3 -l 4").unwrap();
        let count = |is: fn(&Instr) -> bool| -> u64 {
            let rounds = |code: &[Instr]| match code.last() {
                Some(Instr::Repeat { times, .. }) => *times,
                _ => 0,
            };
            set.tasks
                .iter()
                .map(|task| &set.programs[task.program].code)
                .map(|code| code.iter().filter(|&i| is(i)).count() as u64 * rounds(code))
                .sum()
        };
        assert_eq!(count(|instr| matches!(instr, Instr::Send { .. })), 2 * 3 * 3 * 4);
        assert_eq!(count(|instr| matches!(instr, Instr::Recv { .. })), 2 * 3 * 3 * 4);
    }

    #[test]
    fn a_part_of_a_run_is_measured() {
        let flags: Vec<String> = ["--warmup", "1s", "--measure=2s"].map(String::from).into();
        assert_eq!(duration("hackbench", &args_of_flags("hackbench", &flags).unwrap()), Some(Ns::from_secs(3)));
        let at = |secs| Instant::from_ns(Ns::from_secs(secs).0);
        assert_eq!(read("--warmup 1s --measure 2s").unwrap().window, Some((at(1), at(3))));
        assert_eq!(read("").unwrap().window, None);
    }

    #[test]
    fn bad_flags_are_refused_with_what_was_expected() {
        for (flags, expected) in [
            ("-g 0", "from 1"),
            ("-f 0", "from 1"),
            ("-l many", "from 1"),
            ("-s 4097 -p", "to 4096"),
            ("-s 3777", "at most"),
            ("-g 10000 -f 1000", "100000"),
            ("-T -P", "Keep one"),
            ("--measure 5", "time"),
            ("-i", "unknown flag"),
        ] {
            let mistakes = read(flags).unwrap_err().to_string();
            assert!(mistakes.contains(expected), "{flags}: {mistakes}");
        }
    }
}
