//! Quotas: what accounts had, and what periods look like.

use super::number::percent;
use crate::card::Card;
use crate::decisions::Conformed;
use crate::page::{Section, Table};
use crate::quota_pattern::Pattern;
use fairground_conform::Quota;
use fairground_recordings::conform::QuotaReplay;

/// What is asked of throttles in hundredths of a percent: of hogs, and of periodic tasks, which share CPUs.
const HOGS: u64 = 98_00;
const PERIODIC: u64 = 90_00;

fn replay(card: &Card) -> Option<&QuotaReplay> {
    match &card.decisions {
        Conformed::Compared(found) => found.quota.as_ref(),
        Conformed::Refused(_) => None,
    }
}

/// What is asked of a set: nothing where the recorded kernel is not modelled, or several groups have a quota.
fn asked(card: &Card, quota: &QuotaReplay) -> Option<u64> {
    let is_held = quota.is_held && card.set.not_judged().is_none();
    is_held.then_some(if card.set.is_periodic() { PERIODIC } else { HOGS })
}

/// One row per set: accounts to the nanosecond, and timers.
pub(super) fn accounts(cards: &[Card]) -> Section {
    let mut table = Table::new(&[
        "set",
        "#groups",
        "#throttles",
        "#share",
        "#asked",
        "met",
        "#releases",
        "#period timers",
        "#slack timers",
        "#order taken",
        "#found runtime",
        "#overdue",
    ]);
    for (card, quota) in cards.iter().filter_map(|card| Some((card, replay(card)?))) {
        let Ok(outcome) = &quota.result else { continue };
        let cell = |what| format!("{} of {}", outcome.of(what).agree, outcome.of(what).decisions);
        let throttles = outcome.of(Quota::Throttle);
        let asked = asked(card, quota);
        let met =
            asked.map_or("shown", |asked| if throttles.agree * 10_000 >= asked * throttles.decisions { "yes" } else { "no" });
        table.push(vec![
            card.set.name.clone(),
            format!("{} of {}", quota.compared, quota.limits.len()),
            cell(Quota::Throttle),
            percent(throttles.agree, throttles.decisions),
            asked.map_or("-".to_string(), |asked| percent(asked, 10_000)),
            met.to_string(),
            cell(Quota::Unthrottle),
            cell(Quota::PeriodTimer),
            cell(Quota::SlackTimer),
            outcome.races.to_string(),
            outcome.found_runtime.to_string(),
            outcome.overdue.to_string(),
        ]);
    }
    let text = "The accounts of groups with a quota, replayed by our core from recorded run time, sleeps, wake-ups and moves \
                ([conform](conform.md)). A throttle or a release agrees if runtime_remaining is equal to the nanosecond. A timer agrees if the core \
                knows whether it distributes. *order taken*: several CPUs asked within 30 us for more than the pool had, and their order was taken \
                from the outcome. *found runtime*: calls of throttle_cfs_rq() that throttled nothing. *overdue*: tasks that were put on a CPU \
                although we would have throttled their queue. In kernel 7.2 each request is recorded as a throttle. Of sets in which several \
                groups have a quota nothing is asked: levels are charged one after the other, and many CPUs ask at once.";
    Section::new("Quota: accounts", text, table).in_file("quota-accounts")
}

/// One row per set: what periods look like.
pub(super) fn patterns(cards: &[Card]) -> Section {
    let mut table = Table::new(&[
        "set",
        "group",
        "whose",
        "#periods",
        "#queues per period",
        "#times per queue and period",
        "ms after the refill, by rank",
        "#farthest ms",
        "within a tick",
        "#throttle works",
    ]);
    for (card, (group, patterns)) in cards.iter().flat_map(|card| card.quota.iter().map(move |row| (card, row))) {
        let ours = patterns.all_ours();
        let within = patterns.farthest().is_some_and(|farthest| farthest <= patterns.tick);
        let farthest = patterns.farthest().map_or("-".to_string(), |farthest| ms(farthest.0));
        let cells =
            [(&patterns.recorded, "recorded", [String::new(), String::new()]), (&ours, "ours", [farthest, yes_or_no(within)])];
        for (pattern, whose, [farthest, within]) in cells {
            let mut row = vec![card.set.name.clone(), group.clone(), whose.to_string()];
            row.extend(looks(pattern));
            row.extend([farthest, within, pattern.throttle_works.to_string()]);
            table.push(row);
        }
    }
    let text = "When the queues of a group are throttled, in the recording and in our own runs of the set (all seeds together), without the first \
                two periods. The columns say how many queues are throttled in a period, how often each is, and how long after the period timer \
                the first, second and so on is (median). The phase of the timer to the ticks is the record's. Which CPU is charged first within a \
                tick is not recorded, so a queue may be throttled a tick (4 ms) earlier or later. Kernels from 6.18 on stop tasks one by one \
                (*throttle works*).";
    Section::new("Quota: periods", text, table).in_file("quota-periods")
}

fn looks(pattern: &Pattern) -> [String; 4] {
    let range = |least: u64, most: u64| if least == most { least.to_string() } else { format!("{least}–{most}") };
    let (least, most) = pattern.per_period();
    let times = pattern.per_period_and_queue();
    [
        pattern.periods.len().to_string(),
        range(least as u64, most as u64),
        range(times.0 as u64, times.1 as u64),
        pattern.phases().into_iter().map(|phase| ms(phase.0)).collect::<Vec<_>>().join(" "),
    ]
}

fn ms(length_ns: u64) -> String {
    format!("{}.{:02}", length_ns / 1_000_000, length_ns % 1_000_000 / 10_000)
}

fn yes_or_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_string()
}

/// Sets with quotas of which no account is judged.
pub(super) fn refused(cards: &[Card]) -> Section {
    let mut table = Table::new(&["set", "#throttles", "#releases", "#throttle works", "because"]);
    for (card, quota) in cards.iter().filter_map(|card| Some((card, replay(card)?))) {
        if let Err(why) = &quota.result {
            let counts = [quota.throttles, quota.unthrottles, quota.throttle_works].map(|count| count.to_string());
            table.push([vec![card.set.name.clone()], counts.to_vec(), vec![why.clone()]].concat());
        }
    }
    Section::new("Quota: not judged", "Recorded and counted, but no account is compared.", table).in_file("quota-not-judged")
}
