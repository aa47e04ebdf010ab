//! `pgbench`: clients of a PostgreSQL server, each with a backend of its own, over sockets of one machine or from another.

mod backend;
mod jobs;
mod table_pages;
mod wal;

use crate::build::marker;
use crate::param::{Param, Values};
use crate::table::{Aggregate, Column, Figure};
use crate::workload::Workload;
use fairground_model::{
    LockKind, LockSpec, MarkerUnit, Mistakes, PageSize, Policy, PoolSpec, SockKind, SpinSpec, TaskSet, TaskSpec,
};
use fairground_stdx::{Instant, LockId, MarkerId, Ns, PoolId, SockId, WordId};

/// Transactions that are over.
const TRANSACTIONS: &str = "pgbench_transactions";
/// How long one took, from its first statement on.
const LATENCY: &str = "pgbench_latency";
/// The spin lock of the free list (BufferStrategyLock).
const LOCK: &str = "buffer_strategy_lock";
/// Bytes of a buffer, and of its descriptor.
const BUFFER_KIB: u64 = 8;
const DESCRIPTOR_BYTES: u64 = 64;
/// Bytes of a statement, and of what the server answers; a guess.
const STATEMENT: u32 = 96;
const ANSWER: u32 = 64;
/// What a backend, and a thread of pgbench, has in the cache; a guess.
const WORKING_SET_KIB: u32 = 256;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "pgbench",
    sentence: "pgbench beside its PostgreSQL server: clients, a backend for each, the spin lock of the free list of buffers.",
    params: &[
        Param::count("client", (1, 4096), "1", "The number of clients; each has a backend.").short('c'),
        Param::count("jobs", (1, 4096), "1", "The number of threads of pgbench, which share the clients.").short('j'),
        Param::cpus("cpus", "", "CPUs of the threads of pgbench, if they run on this machine; empty: all."),
        Param::cpus("server-cpus", "", "CPUs of the backends; empty: all."),
        Param::count("time", (1, 1_000_000), "10", "How long it runs, in seconds.").short('T'),
        Param::choice("builtin", &["simple-update", "select-only"], "simple-update", "The script.").short('b'),
        Param::choice(
            "host",
            &["socket", "localhost", "remote"],
            "socket",
            "Where pgbench runs: beside the server over AF_UNIX sockets or TCP, or on another machine.",
        )
        .short('h'),
        Param::count("shared-buffers", (1, 16 << 20), "128", "shared_buffers of the server, in MiB."),
        Param::choice("pages", &["4KiB", "64KiB", "2MiB", "1GiB"], "4KiB", "The size of pages of shared memory (huge_pages)."),
        Param::count("scale", (1, 1_000_000), "1", "The scale factor of the tables: so many times 100,000 accounts.").short('s'),
        Param::count("fillfactor", (10, 100), "100", "How full pages of accounts are, in percent.").short('F'),
        Param::count(
            "after",
            (0, 1_000_000_000_000),
            "1000000000000",
            "Transactions since the server started: they have read pages. By default all are in memory.",
        ),
        Param::time("statement", "180us", "What a statement computes in user mode, in the mean; a guess."),
        Param::count("calls", (0, 100), "5", "System calls of a statement beside those of its socket; a guess."),
        Param::time("flush", "1ms", "How long it takes to write and flush the log (fsync); a guess."),
        Param::time("round", "50ns", "A round of s_lock(), from one look at the lock to the next; a guess."),
        Param::switch("batch", "The backends are of policy SCHED_BATCH."),
        Param::switch("slice-extension", "Backends ask for a slice extension (rseq) while they have the lock."),
    ],
    table: &[
        Column { title: "tps", unit: "", figure: Figure::PerSecond(TRANSACTIONS), scale: (1, 1), decimals: 1 },
        Column {
            title: "latency average",
            unit: "ms",
            figure: Figure::Of(LATENCY, Aggregate::Mean),
            scale: (1, 1_000_000),
            decimals: 3,
        },
    ],
    percentiles: &[],
    duration: Some(|values| Ns::from_secs(values.count("time"))),
    threads: None,
    build,
};

/// What a transaction is made of.
struct Script {
    /// How many statements it has.
    statements: u64,
    /// The number of the one that needs buffers.
    reads: u64,
    /// How long it takes to flush the log at its end.
    flush: Option<Ns>,
}

impl Script {
    /// simple-update: BEGIN, UPDATE, SELECT, INSERT, END. select-only: SELECT.
    fn of(values: &Values) -> Script {
        match values.choice("builtin") {
            "select-only" => Script { statements: 1, reads: 0, flush: None },
            _ => Script { statements: 5, reads: 1, flush: Some(values.time("flush")).filter(|time| time.0 > 0) },
        }
    }
}

/// What all of them share.
struct Shared {
    lock: LockId,
    wal: wal::Wal,
    descriptors: PoolId,
    /// The first buffer of the free list.
    first_free: WordId,
    transactions: MarkerId,
    latency: MarkerId,
}

/// The ends of a client's connections: of the statements, and of the answers, which all clients of a thread share.
struct Link {
    statements: [SockId; 2],
    answers: [SockId; 2],
    /// Whether the client has an answer that its thread has not seen.
    answered: WordId,
    /// How many statements of its transaction were sent.
    sent: WordId,
    /// When the first of them was.
    began: WordId,
}

fn build(values: &Values, _mistakes: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    let (clients, jobs) = (values.count("client"), values.count("jobs").min(values.count("client")));
    let entries = values.count("shared-buffers") * 1024 / BUFFER_KIB;
    let page = PageSize::by_name(values.choice("pages")).unwrap_or(PageSize::K4);
    let spin = SpinSpec { round: values.time("round").max(Ns(1)), ..SpinSpec::POSTGRES };
    let shared = Shared {
        lock: set.locks.push(LockSpec::new(LOCK, LockKind::Spin(spin))),
        wal: wal::Wal::new(&mut set),
        descriptors: set.pools.push(PoolSpec { name: "descriptors".into(), entries, entry_bytes: DESCRIPTOR_BYTES, page }),
        first_free: set.words.push(0),
        transactions: marker(&mut set, TRANSACTIONS, MarkerUnit::Count),
        latency: marker(&mut set, LATENCY, MarkerUnit::Ns),
    };
    let script = Script::of(values);
    let misses = table_pages::misses(values.count("scale"), values.count("fillfactor"), values.count("after"), entries);
    let kind = if values.choice("host") == "socket" { SockKind::Unix } else { SockKind::Stream };
    let elsewhere = values.choice("host") == "remote";
    let answers: Vec<[SockId; 2]> = (0..jobs).map(|_| set.connect(kind)).collect();
    let mut links: Vec<Vec<Link>> = (0..jobs).map(|_| Vec::new()).collect();
    for client in 0..clients {
        // As pgbench shares them out: the first threads have one more where they do not come out even.
        let job = job_of(client, clients, jobs);
        let link = Link {
            statements: set.connect(kind),
            answers: answers[job],
            answered: set.words.push(0),
            sent: set.words.push(0),
            began: set.words.push(0),
        };
        let code = backend::code(&link, &shared, &script, &misses, values);
        let program = set.programs.push(code);
        let policy = if values.switch("batch") { Policy::Batch } else { Policy::Normal };
        set.tasks.push(TaskSpec {
            policy,
            affinity: values.cpus("server-cpus"),
            mm: client as u32 + 1,
            index: client as u32,
            working_set_kib: WORKING_SET_KIB,
            ..TaskSpec::new("postgres", program)
        });
        links[job].push(link);
    }
    for (job, links) in links.iter().enumerate() {
        let program = set.programs.push(jobs::code(links, &shared, &script));
        set.tasks.push(TaskSpec {
            affinity: values.cpus("cpus"),
            elsewhere,
            index: job as u32,
            working_set_kib: WORKING_SET_KIB,
            ..TaskSpec::new("pgbench", program)
        });
    }
    set.window = Some((Instant::ZERO, Instant::from_ns(Ns::from_secs(values.count("time")).0.min(Instant::MAX.ns()))));
    set
}

/// The thread that has a client.
fn job_of(client: u64, clients: u64, jobs: u64) -> usize {
    let (each, more) = (clients / jobs, clients % jobs);
    let in_large = more * (each + 1);
    let job = if client < in_large { client / (each + 1) } else { more + (client - in_large) / each };
    job as usize
}

#[cfg(test)]
mod tests;
