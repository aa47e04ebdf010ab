//! MySQL in whole runs: payments of a warehouse come one after the other, and a commit serves all that came meanwhile.

use crate::transactions;

/// Transactions in a second.
fn per_second(flags: &str) -> u64 {
    transactions::per_second("mysql", &format!("think = \"1us\", allwarehouse = true, {flags}"))
}

/// Of 23 transactions 21 wait for one or two flushes of the redo log, and for one of the binary log. So a user alone makes 1/3 to 1/2 of a
/// transaction in the time of a flush. Twelve users share flushes: one for each would be no more than one user makes.
#[test]
fn one_flush_serves_all_that_came_before_it() {
    for host in ["localhost", "remote"] {
        let flags = |users| format!("host = \"{host}\", vu = {users}, count-ware = 100, statement = \"1us\", fsync = \"1ms\"");
        let alone = per_second(&flags(1));
        assert!((330..550).contains(&alone), "{host}: {alone}");
        let twelve = per_second(&flags(12));
        assert!((3 * alone..12 * alone).contains(&twelve), "{host}: {twelve}");
    }
}

/// A payment has its warehouse for seven and a half statements of 100 us and its commit: with one warehouse there are at most 1,333 a second, and
/// 23/10 times as many transactions. It waits for districts, too, which a new order has for 43 statements: so they are fewer. Rows that nobody hands
/// over would stop all of them.
#[test]
fn payments_of_a_warehouse_come_one_after_the_other() {
    let flags = |ware| format!("host = \"remote\", vu = 16, count-ware = {ware}, statement = \"100us\", fsync = \"0us\"");
    let (one, hundred) = (per_second(&flags(1)), per_second(&flags(100)));
    assert!((1_000..3_067).contains(&one), "{one}");
    assert!(hundred > one * 4 / 3, "{hundred}");
}
