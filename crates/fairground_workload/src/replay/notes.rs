//! The sentences that say what a replay assumed and what the recording lacked.

use super::cause::Causes;
use super::follow::Counts;

/// Things met while building, for the notes.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) asleep_at_start: u64,
    pub(super) alive_at_end: u64,
    pub(super) real_time: u64,
    pub(super) pinned: u64,
    pub(super) unpinned: u64,
}

/// What a replay keeps, and what it cannot know.
pub(super) fn kept(causes: &Causes, hidden: u64, tasks: usize) -> Vec<String> {
    let ended = |(cause, count, replay): (&str, u64, &str)| format!("{count} by {cause} ({replay})");
    let rows: Vec<String> = causes.rows().into_iter().filter(|row| row.1 > 0).map(ended).collect();
    let sleeps =
        if rows.is_empty() { "no sleeps".to_string() } else { format!("{} sleeps ended: {}", causes.sum(), rows.join(", ")) };
    let mut notes = vec![format!("{tasks} tasks, {sleeps}; waiting for a CPU is dropped")];
    if causes.message > 0 {
        notes.push(format!(
            "wake-ups in soft interrupts are taken for messages where the tasks answer one another or chance does not explain them: mean confidence {} %",
            causes.confidence_permille / 10
        ));
    }
    if hidden > 0 {
        notes.push(format!(
            "{hidden} messages between tasks that wake one another left no record, as the receiver was awake: they are put in"
        ));
    }
    notes.extend([
        "where a recording does not tell interrupts apart, a timer that fires while a task runs looks like a wake-up by that task".to_string(),
        "recorded run time is taken as work on a CPU of capacity 1024 at its highest frequency".to_string(),
        "affinity, policy and address spaces are not in a trace: unless a container tells, tasks may run on all CPUs and are SCHED_OTHER; each has its own address space".to_string(),
        "a wake-up of another task is done as a write into its pipe, with the sync hint".to_string(),
    ]);
    notes
}

/// What was odd.
pub(super) fn odd(counts: &Counts, facts: &Facts) -> Vec<String> {
    let mut notes = Vec::new();
    let mut say = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{what}: {count}"));
        }
    };
    say(facts.asleep_at_start, "tasks that slept when the recording began (they start at time 0 and sleep at once)");
    say(facts.alive_at_end, "tasks that had not ended when the recording did (they end after what was recorded of them)");
    say(facts.pinned, "per-CPU kernel threads bound to the CPU of their name");
    say(facts.unpinned, "per-CPU kernel threads left free (their CPU does not exist here, or they ran elsewhere)");
    say(facts.real_time, "tasks of other classes (real-time, stop) that run as fair tasks of nice -20");
    say(counts.awake, "wake-ups of tasks that were awake, dropped");
    say(counts.no_waking, "sleeps without a sched_waking record at their end (they end at the next sign of life)");
    say(counts.by_runtime, "run intervals without a switch record, completed from sched_stat_runtime");
    say(counts.no_switch, "records that contradict the switches before them (a sched_switch is missing)");
    say(counts.odd_forks, "forks of tasks that already existed, dropped");
    say(counts.after_death, "records of tasks that had ended, dropped");
    say(counts.strangers, "records of idle or unknown tasks, dropped");
    say(counts.back_in_time, "records that lie before an earlier one (they count as of its time)");
    say(counts.too_late, "records more than 13 days after the first, dropped");
    notes
}
