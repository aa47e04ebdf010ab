//! `mysql`: HammerDB's TPROC-C against a MySQL server (InnoDB) over TCP: a thread of the server for each virtual user.

mod binlog;
mod connection;
mod redo;
mod rows;
mod user;

use crate::build::{marker, words};
use crate::param::{Param, Values};
use crate::table::{Aggregate, Column, Figure};
use crate::workload::Workload;
use fairground_model::{MarkerUnit, Mistakes, Policy, Program, Reg, SockKind, TaskSet, TaskSpec};
use fairground_stdx::{Instant, MarkerId, Ns, SockId, WordId};

/// New orders that are over: HammerDB's score.
const NEW_ORDERS: &str = "mysql_new_orders";
/// Transactions of all kinds that are over.
const TRANSACTIONS: &str = "mysql_transactions";
/// How long one took, as its user saw it.
const LATENCY: &str = "mysql_latency";
/// Bytes of a statement, and of what the server answers; a guess.
const STATEMENT: u32 = 128;
const ANSWER: u32 = 256;
/// What a thread of the server, and a user, has in the cache; a guess.
const WORKING_SET_KIB: u32 = 256;
/// The address spaces: of the server, and of HammerDB.
const SERVER_MM: u32 = 1;
const USERS_MM: u32 = 2;
/// What a user draws of 1 to 23 for a transaction: up to 10 a new order, up to 20 a payment, then one number each.
const KINDS: (u64, u64) = (1, 23);
const LAST_NEW_ORDER: u64 = 10;
const LAST_PAYMENT: u64 = 20;
const DELIVERY: u64 = 21;
/// Registers that calculate, beside those that a program keeps.
const SCRATCH: [Reg; 4] = [4, 5, 6, 7];

pub(crate) const WORKLOAD: Workload = Workload {
    name: "mysql",
    sentence: "HammerDB's TPROC-C against MySQL: virtual users, a server thread for each, row locks, redo log, group commit.",
    params: &[
        Param::count("vu", (1, 4096), "128", "Virtual users (vuset vu); each has a thread of the server."),
        Param::count("count-ware", (1, 10_000), "24", "Warehouses (mysql_count_ware)."),
        Param::switch("allwarehouse", "A user goes to another warehouse for each transaction (mysql_allwarehouse)."),
        Param::choice(
            "host",
            &["localhost", "remote"],
            "localhost",
            "Where HammerDB runs: beside the server, over TCP, or on another machine.",
        ),
        Param::count("time", (1, 1_000_000), "10", "How long it runs, in seconds.").short('T'),
        Param::cpus("cpus", "", "CPUs of the virtual users, if they run on this machine; empty: all."),
        Param::cpus("server-cpus", "", "CPUs of the server; empty: all."),
        Param::time("statement", "25us", "What a statement of a transaction computes, in the mean; a guess."),
        Param::time("fsync", "300us", "How long the disk takes for a flush of the redo log or of the binary log; a guess."),
        Param::time("engine-commit", "5us", "What the engine computes to commit a transaction, beside the log; a guess."),
        Param::time("think", "30us", "What a user computes for a statement; a guess."),
        Param::switch("batch", "All threads of the server are of policy SCHED_BATCH."),
    ],
    table: &[
        Column { title: "NOPM", unit: "", figure: Figure::PerSecond(NEW_ORDERS), scale: (60, 1), decimals: 0 },
        Column { title: "TPM", unit: "", figure: Figure::PerSecond(TRANSACTIONS), scale: (60, 1), decimals: 0 },
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

/// What the threads of the server share.
struct Server {
    rows: rows::Rows,
    redo: redo::Redo,
    binlog: binlog::Binlog,
}

/// What is counted.
struct Markers {
    new_orders: MarkerId,
    transactions: MarkerId,
    latency: MarkerId,
}

/// A user and its thread of the server.
struct Link {
    /// The ends of the connection: the user's, the server's.
    ends: [SockId; 2],
    /// What the user asks for: the number it has drawn.
    kind: WordId,
    user: u64,
}

fn build(values: &Values, _mistakes: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    let (users, remote) = (values.count("vu"), values.choice("host") == "remote");
    let server = Server {
        rows: rows::Rows::new(&mut set, values.count("count-ware"), users),
        redo: redo::Redo::new(&mut set),
        binlog: binlog::Binlog::new(&mut set, users),
    };
    let markers = Markers {
        new_orders: marker(&mut set, NEW_ORDERS, MarkerUnit::Count),
        transactions: marker(&mut set, TRANSACTIONS, MarkerUnit::Count),
        latency: marker(&mut set, LATENCY, MarkerUnit::Ns),
    };
    let kinds = words(&mut set, users, |_| 0);
    let links: Vec<Link> = (0..users)
        .map(|user| Link { ends: set.connect(SockKind::Stream), kind: WordId::new(kinds.get() + user as u32), user })
        .collect();
    for link in &links {
        let program = connection::code(link, &server, &markers, values);
        of_server(&mut set, "connection", link.user as u32, program, values);
    }
    for (name, program) in server.redo.threads(values.time("fsync")) {
        of_server(&mut set, name, 0, program, values);
    }
    for link in &links {
        let program = set.programs.push(user::code(link, &markers, values));
        set.tasks.push(TaskSpec {
            affinity: values.cpus("cpus"),
            elsewhere: remote,
            mm: USERS_MM,
            index: link.user as u32,
            working_set_kib: WORKING_SET_KIB,
            ..TaskSpec::new("hammerdb", program)
        });
    }
    set.window = Some((Instant::ZERO, Instant::from_ns(Ns::from_secs(values.count("time")).0.min(Instant::MAX.ns()))));
    set
}

/// A thread of the server.
fn of_server(set: &mut TaskSet, name: &str, index: u32, program: Program, values: &Values) {
    let program = set.programs.push(program);
    set.tasks.push(TaskSpec {
        policy: if values.switch("batch") { Policy::Batch } else { Policy::Normal },
        affinity: values.cpus("server-cpus"),
        mm: SERVER_MM,
        index,
        working_set_kib: WORKING_SET_KIB,
        ..TaskSpec::new(name, program)
    });
}

#[cfg(test)]
mod tests;
