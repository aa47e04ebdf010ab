use super::*;
use crate::{Args, args_of_flags, build as built, testing};
use fairground_model::{Instr, LockMode};

fn set(args: &[(&str, &str)]) -> TaskSet {
    let set = built("pgbench", &Args::of(args)).unwrap();
    testing::check(&set);
    set
}
fn count(set: &TaskSet, task: u32, is: impl Fn(&Instr) -> bool) -> usize {
    set.programs[set.tasks[fairground_stdx::TaskId::new(task)].program].code.iter().filter(|row| is(row)).count()
}

#[test]
fn threads_share_the_clients_as_evenly_as_it_goes() {
    let of = |clients: u64, jobs: u64| -> Vec<usize> {
        let mut each = vec![0; jobs as usize];
        (0..clients).for_each(|client| each[job_of(client, clients, jobs)] += 1);
        each
    };
    assert_eq!(of(10, 4), [3, 3, 2, 2]);
    assert_eq!(of(8, 4), [2; 4]);
    assert_eq!(of(1024, 96).iter().sum::<usize>(), 1024);
    // More threads than clients: pgbench makes as many as there are clients.
    assert_eq!(set(&[("client", "3"), ("jobs", "8")]).tasks.len(), 6);
}

#[test]
fn each_client_has_a_backend_and_its_statements_are_answered() {
    let set = set(&[("client", "5"), ("jobs", "2")]);
    let names: Vec<&str> = set.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["postgres", "postgres", "postgres", "postgres", "postgres", "pgbench", "pgbench"]);
    let sends = |task| count(&set, task, |row| matches!(row, Instr::Send { .. }));
    let receives = |task| count(&set, task, |row| matches!(row, Instr::Recv { .. }));
    assert_eq!((sends(0), receives(0)), (5, 5));
    // The first statement of each client, and the next one behind each answer.
    assert_eq!((sends(5), receives(5), sends(6)), (6, 1, 4));
    let mms: std::collections::BTreeSet<u32> = set.tasks.iter().map(|task| task.mm).collect();
    assert_eq!(mms.len(), 6);
}

#[test]
fn one_statement_of_a_transaction_takes_buffers() {
    let locks = |args: &[(&str, &str)]| count(&set(args), 0, |row| matches!(row, Instr::Lock { mode: LockMode::Write, .. }));
    // Everything is in memory, or nothing: then the leaf and the page of the account need a buffer each.
    let cold = ("after", "0");
    assert_eq!([locks(&[]), locks(&[cold]), locks(&[cold, ("builtin", "select-only")])], [0, 2, 2]);
    let chances = |args: &[(&str, &str)]| -> Vec<u32> {
        let set = set(args);
        let of = |row: &Instr| match *row {
            Instr::JumpByChance { hits, .. } => Some(hits),
            _ => None,
        };
        set.programs.iter().next().unwrap().code.iter().filter_map(of).collect()
    };
    let report = [("scale", "8470"), ("fillfactor", "90"), ("shared-buffers", "122880"), ("after", "5000000")];
    assert_eq!((chances(&[cold]), chances(&report)), (vec![0, 0], vec![884_740, 272_959]));
    let waits = |args: &[(&str, &str)]| count(&set(args), 0, |row| matches!(row, Instr::Io { .. }));
    assert_eq!([waits(&[]), waits(&[("flush", "0ms")]), waits(&[("builtin", "select-only")])], [1, 0, 0]);
}

#[test]
fn backends_may_be_batch_tasks_ask_for_extensions_and_be_reached_by_tcp() {
    let (plain, asked) =
        (set(&[]), set(&[("after", "0"), ("batch", "true"), ("slice-extension", "true"), ("host", "localhost")]));
    let policies = |set: &TaskSet| set.tasks.iter().map(|task| task.policy).collect::<Vec<_>>();
    assert_eq!((policies(&plain), policies(&asked)), (vec![Policy::Normal; 2], vec![Policy::Batch, Policy::Normal]));
    let steps: Vec<bool> = asked
        .programs
        .iter()
        .next()
        .unwrap()
        .code
        .iter()
        .filter_map(|row| match row {
            Instr::SliceExt { request } => Some(*request),
            _ => None,
        })
        .collect();
    assert_eq!((steps, count(&plain, 0, |row| matches!(row, Instr::SliceExt { .. }))), (vec![true, false, true, false], 0));
    let kinds = |set: &TaskSet| set.socks.iter().map(|sock| sock.kind).collect::<Vec<_>>();
    let remote = set(&[("host", "remote")]);
    let there: Vec<bool> = remote.tasks.iter().map(|task| task.elsewhere).collect();
    assert_eq!((kinds(&remote), there), (vec![SockKind::Stream; 4], vec![false, true]));
    assert_eq!((kinds(&plain), kinds(&asked)), (vec![SockKind::Unix; 4], vec![SockKind::Stream; 4]));
}

#[test]
fn descriptors_lie_on_pages() {
    let pages = |args: &[(&str, &str)]| set(args).pools.iter().next().unwrap().pages();
    // 120 GiB: 15.7 million descriptors of 64 bytes.
    assert_eq!(pages(&[("shared-buffers", "122880")]), 245_760);
    assert_eq!(pages(&[("shared-buffers", "122880"), ("pages", "2MiB")]), 480);
}

#[test]
fn bad_flags_are_refused() {
    for flags in [["-c", "0"], ["-j", "0"], ["--shared-buffers", "0"], ["--pages", "8KiB"], ["-b", "tpcb-like"]] {
        let args = args_of_flags("pgbench", &flags.map(String::from)).unwrap();
        assert!(built("pgbench", &args).is_err(), "{flags:?}");
    }
}
