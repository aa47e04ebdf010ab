//! The numbered tests of specification 02 that are of EEVDF.

use super::pick::Respect;
use super::test_bench::{Bench, CPU, Decisions, MS};
use super::weight::{NICE_0_LOAD, SCHED_FIXEDPOINT_SHIFT};
use super::{CfsRq, weight::LoadWeight};
use crate::task::TaskState;
use crate::{Profile, Sched, WakeFlags, Waking};
use fairground_model::{Policy, PrevState, Reason, WakeContext};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, RngStream, StreamKind, TaskId, Vruntime};

/// The kernels with delayed dequeue.
const DELAYING: [&str; 3] = ["v6.12", "v6.14", "v6.18"];
/// All kernels with EEVDF.
const EEVDF: [&str; 4] = ["v6.6", "v6.12", "v6.14", "v6.18"];

fn with_slice(name: &str, slice: &str) -> Profile {
    Profile::parse(name).unwrap().with_tunable("sched_base_slice_ns", slice).unwrap()
}

/// An entity of a queue that is made by hand: virtual time, deadline, (scaled-down) weight.
#[derive(Clone, Copy, Debug)]
struct Entity {
    vruntime: u64,
    deadline: u64,
    weight: u64,
}

/// The running entity of such a queue, by its row.
#[derive(Clone, Copy, Debug)]
struct Running {
    row: usize,
    protected: bool,
}

fn entity(vruntime: u64, deadline: u64) -> Entity {
    Entity { vruntime, deadline, weight: 1024 }
}

impl Bench {
    /// A kernel with room for that many entities.
    fn with_rows(name: &str, rows: usize) -> Bench {
        let mut bench = Bench::new(with_slice(name, "3ms"));
        (0..rows).for_each(|_| {
            bench.forked(Policy::Normal, 0);
        });
        bench
    }

    /// Makes the queue hold exactly `rows`, which arrived in that order.
    fn set_queue(&mut self, floor: u64, rows: &[Entity], running: Option<Running>) {
        let cfs_rq = self.sched.rqs[CPU].cfs;
        self.sched.cfs_rqs[cfs_rq] = CfsRq::new(CPU);
        self.sched.cfs_rqs[cfs_rq].min_vruntime = Vruntime(floor);
        for (index, row) in rows.iter().enumerate() {
            let se = self.row(index);
            let entity = &mut self.sched.ses[se];
            entity.load = LoadWeight::new(row.weight << SCHED_FIXEDPOINT_SHIFT);
            (entity.vruntime, entity.deadline, entity.on_rq) = (Vruntime(row.vruntime), Vruntime(row.deadline), true);
            entity.vprot = Vruntime(0);
            match running.filter(|running| running.row == index) {
                Some(running) => {
                    entity.vprot = if running.protected { entity.deadline } else { Vruntime(row.vruntime.wrapping_sub(1)) };
                    self.sched.cfs_rqs[cfs_rq].curr = Some(se);
                }
                None => self.sched.level(se).enqueue_in_order(),
            }
            self.sched.cfs_rqs[cfs_rq].nr_running += 1;
        }
    }

    fn row(&self, index: usize) -> fairground_stdx::SeId {
        self.sched.se_of(TaskId::new(index as u32))
    }

    /// The row that is picked.
    fn picks(&self) -> usize {
        let picked = self.sched.pick_eevdf(self.sched.rqs[CPU].cfs, Respect::Protection).unwrap();
        self.sched.ses[picked.se].task.unwrap().get() as usize
    }

    fn average(&self) -> u64 {
        self.sched.averages(self.sched.rqs[CPU].cfs).avg_vruntime().0
    }

    /// Places row `index`, which is on no queue, with that lag.
    fn places(&mut self, index: usize, lag: i64) -> u64 {
        let (se, cfs_rq) = (self.row(index), self.sched.rqs[CPU].cfs);
        self.sched.ses[se].vlag = lag;
        self.call(|sched, cx| sched.place_entity_by_lag(cx, cfs_rq, se, false));
        self.sched.ses[se].vruntime.0
    }

    /// How far a task is behind the average of its queue.
    fn lag(&self, task: TaskId) -> i64 {
        self.average().wrapping_sub(self.vruntime(task)) as i64
    }

    fn at(&mut self, ns: u64) {
        self.now = Instant::from_ns(ns);
    }

    /// The current task goes to sleep (or ends); tells who runs then, and what was decided.
    fn current_leaves(&mut self, state: PrevState) -> (Option<TaskId>, Vec<Reason>) {
        let task = self.sched.rq(CPU).curr.unwrap();
        self.call(|sched, _| sched.set_current_state(CPU, state));
        let mut decisions = Decisions::default();
        let switch = self.call_with(&mut decisions, |sched, cx| sched.schedule(cx));
        self.sched.finish_task_switch(task);
        self.sched.check().unwrap();
        (switch.next, decisions.0)
    }

    /// Wakes a task; tells what was decided.
    fn wakes(&mut self, task: TaskId) -> Vec<Reason> {
        let flags = WakeFlags { sync: false, context: WakeContext::Hardirq };
        let mut decisions = Decisions::default();
        if self.call_with(&mut decisions, |sched, cx| sched.ttwu_select(cx, task, flags)) == Waking::Selected(CPU) {
            self.call_with(&mut decisions, |sched, cx| sched.ttwu_activate(cx, task, CPU));
        }
        self.sched.check().unwrap();
        decisions.0.retain(|reason| *reason != Reason::SelectOnlyAllowed);
        decisions.0
    }

    fn state(&self, task: TaskId) -> TaskState {
        self.sched.task(task).state
    }

    fn counts(&self) -> (u32, u32) {
        let queue = self.sched.cfs_rq(CPU);
        (queue.nr_running, queue.h_nr_runnable)
    }
}

/// The pick by definition: who has no negative lag, then the earliest deadline.
fn naive_pick(kernel: &str, rows: &[Entity], running: Option<Running>) -> usize {
    let lag =
        |at: u64| -> i128 { rows.iter().map(|row| i128::from(row.vruntime as i64 - at as i64) * i128::from(row.weight)).sum() };
    let eligible = |row: usize| lag(rows[row].vruntime) >= 0;
    let curr = running.filter(|running| eligible(running.row));
    if let Some(running) = running
        && (rows.len() == 1 || curr.is_some() && running.protected)
    {
        return running.row;
    }
    let waits = |row: &usize| running.is_none_or(|running| running.row != *row) && eligible(*row);
    let tie = |row: usize| if kernel == "v6.6" { rows[row].vruntime } else { 0 };
    let best = (0..rows.len()).filter(waits).min_by_key(|&row| (rows[row].deadline, tie(row), row));
    match (curr.map(|running| running.row), best) {
        (Some(curr), Some(best)) => {
            let (mine, theirs) = (rows[curr].deadline, rows[best].deadline);
            if mine < theirs || kernel == "v6.6" && mine == theirs { curr } else { best }
        }
        (only, None) | (None, only) => only.expect("somebody is eligible"),
    }
}

#[test]
fn spec_02_t12_averages() {
    let mut bench = Bench::with_rows("v6.14", 3);
    let weighted = |vruntime, weight| Entity { vruntime, deadline: 0, weight };
    for (floor, rows, average) in [
        (0, vec![weighted(0, 1024), weighted(3 * MS, 1024)], 1_500_000),
        (0, vec![weighted(0, 1024), weighted(3 * MS, 1024), weighted(6 * MS, 335)], 2_132_605),
        (10, vec![weighted(9, 1024), weighted(10, 1024)], 9),
        (100, vec![weighted(90, 3), weighted(100, 4)], 95),
        (77, vec![], 77),
    ] {
        bench.set_queue(floor, &rows, None);
        assert_eq!(bench.average(), average, "{rows:?}");
        if !rows.is_empty() {
            bench.set_queue(floor, &rows, Some(Running { row: 0, protected: false }));
            assert_eq!(bench.average(), average, "the running entity counts too: {rows:?}");
        }
    }
}

#[test]
fn spec_02_t12_placement_with_lag() {
    for kernel in EEVDF {
        let mut bench = Bench::with_rows(kernel, 3);
        let two = [entity(0, 0), entity(3 * MS, 0)];
        for (lag, vruntime) in [(500_000, 750_000), (-500_000, 2_250_000)] {
            bench.set_queue(0, &two, None);
            let (newcomer, nice_0) = (bench.row(2), LoadWeight::new(NICE_0_LOAD));
            bench.sched.ses[newcomer].load = nice_0;
            assert_eq!(bench.places(2, lag), vruntime, "{kernel}");
            let deadline = bench.sched.ses[newcomer].deadline;
            bench.set_queue(0, &[two[0], two[1], entity(vruntime, deadline.0)], None);
            assert_eq!(bench.lag(TaskId::new(2)), lag, "{kernel}: after insertion the lag is there again");
        }
        bench.set_queue(0, &[entity(10 * MS, 0)], None);
        let light = bench.row(2);
        bench.sched.ses[light].load = LoadWeight::nice(5);
        assert_eq!(bench.places(2, 2 * MS as i64), 7_345_704, "{kernel}: the lag is inflated to 2,654,296");
    }
}

#[test]
fn spec_02_t12_picks() {
    let running = |row, protected| Some(Running { row, protected });
    let half = MS / 2;
    for kernel in EEVDF {
        let mut bench = Bench::with_rows(kernel, 3);
        bench.set_queue(0, &[entity(0, 6 * MS), entity(0, 3 * MS), entity(3 * MS, 2 * MS)], None);
        assert_eq!(bench.picks(), 1, "{kernel}");
        bench.set_queue(0, &[entity(0, 3 * MS), entity(MS, 5 * half)], None);
        assert_eq!(bench.picks(), 0, "{kernel}");
        bench.set_queue(0, &[entity(0, 3 * MS), entity(0, 5 * half)], running(0, true));
        assert_eq!(bench.picks(), 0, "{kernel}: protected");
        bench.set_queue(0, &[entity(0, 3 * MS), entity(0, 5 * half)], running(0, false));
        assert_eq!(bench.picks(), 1, "{kernel}: not protected");
    }
}

#[test]
fn spec_02_t12_equal_deadlines() {
    for (kernel, waiting, against_running) in [("v6.6", 1, 2), ("v6.12", 0, 0), ("v6.14", 0, 0), ("v6.18", 0, 0)] {
        let rows = [entity(MS, 5 * MS), entity(0, 5 * MS), entity(0, 5 * MS)];
        let rows = [rows[0], rows[1], rows[2], entity(4 * MS, 9 * MS)];
        let mut bench = Bench::with_rows(kernel, 4);
        bench.set_queue(0, &rows, None);
        assert_eq!(bench.picks(), waiting, "{kernel}: arrival, or virtual time before v6.8");
        bench.set_queue(0, &rows, Some(Running { row: 2, protected: false }));
        assert_eq!(bench.picks(), against_running, "{kernel}: the running one goes first only before v6.8");
    }
}

#[test]
fn spec_02_t12_pick_equals_the_definition() {
    let mut dice = RngStream::new(12, StreamKind::Vopr, 0);
    for kernel in ["v6.6", "v6.12", "v6.18"] {
        let mut bench = Bench::with_rows(kernel, 400);
        for round in 0..10_000 {
            let most = if round % 50 == 0 { 400 } else { 64 };
            let length = 1 + dice.below(most) as usize;
            // Half of the queues have few different values, so that ties are common.
            let (span, step) = if round % 2 == 0 { (8, 1) } else { (100 * MS, 1) };
            let rows: Vec<Entity> = (0..length)
                .map(|_| {
                    let vruntime = dice.below(span) * step;
                    let weight = [15, 335, 1024, 1024, 1024, 3121, 88_761][dice.below(7) as usize];
                    Entity { vruntime, deadline: vruntime + 1 + dice.below(span), weight }
                })
                .collect();
            let row = dice.below(2 * length as u64) as usize;
            let running = (row < length).then(|| Running { row, protected: dice.below(2) == 0 });
            bench.set_queue(0, &rows, running);
            assert_eq!(bench.picks(), naive_pick(kernel, &rows, running), "{kernel} {rows:?} {running:?}");
        }
    }
}

/// Every queue of up to three entities over a small grid, and of up to six over a smaller one.
#[test]
fn spec_02_t12_pick_equals_the_definition_exhaustively() {
    let grid = |vruntimes: u64, lengths: u64, weights: &'static [u64]| -> Vec<Entity> {
        let cells = (0..vruntimes).flat_map(|v| (1..=lengths).map(move |length| (v, v + length)));
        let of_weight = |(vruntime, deadline)| weights.iter().map(move |&weight| Entity { vruntime, deadline, weight });
        cells.flat_map(of_weight).collect()
    };
    let (fine, coarse) = (grid(3, 2, &[1024, 335]), grid(2, 2, &[1024]));
    for kernel in ["v6.6", "v6.14"] {
        let mut bench = Bench::with_rows(kernel, 6);
        for (cells, lengths) in [(&fine, 1..=3u32), (&coarse, 4..=6)] {
            for length in lengths {
                for case in 0..cells.len().pow(length) {
                    let rows: Vec<Entity> = (0..length).map(|i| cells[case / cells.len().pow(i) % cells.len()]).collect();
                    for running in [
                        None,
                        Some(Running { row: 0, protected: false }),
                        Some(Running { row: length as usize - 1, protected: true }),
                    ] {
                        bench.set_queue(0, &rows, running);
                        assert_eq!(bench.picks(), naive_pick(kernel, &rows, running), "{kernel} {rows:?} {running:?}");
                    }
                }
            }
        }
    }
}

/// Sums of weighted lags are part of `Sched::check`, which runs here after every act.
#[test]
fn spec_02_t13_lag_survives_sleep() {
    for kernel in EEVDF {
        for (nice, others) in [(0, vec![0]), (0, vec![0, 0, 0]), (5, vec![0, -5]), (-5, vec![0, 5, 10]), (19, vec![0, 0])] {
            // With delayed dequeue a negative lag is slept off; it is kept without.
            let profile = with_slice(kernel, "3ms");
            let profile = if kernel == "v6.6" { profile } else { profile.with_feature("NO_DELAY_DEQUEUE").unwrap() };
            let mut bench = Bench::new(profile);
            others.iter().for_each(|&nice| {
                bench.normal(nice);
            });
            let sleeper = bench.normal(nice);
            let mut now = 0;
            let mut slept = 0;
            let mut curr = bench.schedule();
            for tick in 1..200 {
                now += MS + 137 * tick;
                curr = bench.tick(now);
                bench.sched.check().unwrap();
                if curr != sleeper {
                    continue;
                }
                now += 300_000;
                bench.at(now);
                curr = bench.current_leaves(PrevState::Sleeping).0.unwrap();
                let kept = bench.sched.se(sleeper).vlag;
                bench.wakes(sleeper);
                let lag = bench.lag(sleeper);
                assert!((lag - kept).abs() <= 2, "{kernel} nice {nice} among {others:?}: {kept} became {lag}");
                slept += 1;
            }
            assert!(slept > 0 && bench.sched.rq(CPU).curr == Some(curr), "{kernel} nice {nice} among {others:?}");
        }
    }
}

#[test]
fn spec_02_t13_lag_is_limited() {
    // Nice 0, slice 3 ms: at most 6 ms either way; a slice of 0.7 ms: one tick of 4 ms.
    for (slice, tick_ms, limit) in [("3ms", 1, 6 * MS), ("700us", 4, 4 * MS), ("700us", 1, 1_400_000)] {
        let mut bench = Bench::new(with_slice("v6.12", slice));
        bench.machine.tick = Ns::from_ms(tick_ms);
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(50 * MS);
        bench.call(|sched, cx| sched.sched_tick(cx));
        let cfs_rq = bench.sched.rqs[CPU].cfs;
        for (task, sign) in [(a, -1), (b, 1)] {
            let se = bench.sched.se_of(task);
            bench.call(|sched, cx| sched.update_entity_lag(cx, cfs_rq, se));
            assert_eq!(bench.sched.se(task).vlag, sign * limit as i64, "slice {slice}, tick {tick_ms} ms");
        }
    }
}

/// What hogs got that are placed together at time 0 and accounted at exact ticks only.
struct Shares {
    /// Who ran for how many ms, in order.
    turns: String,
    cpu_ms: Vec<u64>,
    longest_wait_ms: Vec<u64>,
}

/// Ten seconds of hogs A, B, C with those nice values and slices.
fn hogs(profile: &str, hz: u64, hogs: &[(i8, Ns)]) -> Shares {
    let mut bench = Bench::new(with_slice(profile, "3ms"));
    bench.machine.tick = Ns(1_000_000_000 / hz);
    let tasks: Vec<TaskId> = hogs.iter().map(|&(nice, slice)| bench.queued_with_slice(nice, slice)).collect();
    let mut curr = bench.schedule();
    let mut shares = Shares { turns: String::new(), cpu_ms: vec![], longest_wait_ms: vec![0; tasks.len()] };
    let (mut since, mut left) = (0, vec![0; tasks.len()]);
    for tick in 1..=10 * hz {
        let now = tick * bench.machine.tick.0;
        let next = bench.tick(now);
        if next == curr {
            continue;
        }
        let row = |task| tasks.iter().position(|&other| other == task).unwrap();
        shares.turns += &format!("{}{} ", (b'A' + row(curr) as u8) as char, (now - since) / MS);
        left[row(curr)] = now;
        let wait = &mut shares.longest_wait_ms[row(next)];
        *wait = (*wait).max((now - left[row(next)]) / MS);
        (curr, since) = (next, now);
    }
    shares.cpu_ms = tasks.iter().map(|&task| bench.sched.se(task).sum_exec_runtime / MS).collect();
    shares
}

/// Nice values, HZ, the first turns, CPU time and longest waits in ms.
type Row = (&'static [i8], u64, &'static str, &'static [u64], &'static [u64]);

fn check_hogs(profile: &str, rows: &[Row]) {
    for &(nices, hz, turns, cpu_ms, waits_ms) in rows {
        let set: Vec<_> = nices.iter().map(|&nice| (nice, Ns(3 * MS))).collect();
        let shares = hogs(profile, hz, &set);
        assert!(shares.turns.starts_with(turns), "{profile} {nices:?} at {hz}: {}", &shares.turns[..60]);
        assert_eq!(shares.cpu_ms, cpu_ms, "{profile} {nices:?} at {hz}");
        assert_eq!(shares.longest_wait_ms, waits_ms, "{profile} {nices:?} at {hz}");
    }
}

#[test]
fn spec_02_t14_hogs() {
    for profile in DELAYING {
        check_hogs(
            profile,
            &[
                (&[0, 0], 1000, "A2 B2 A3 B3 A3 B3", &[5000, 5000], &[3, 3]),
                (&[0, 0], 250, "A4 B4 A4 B4", &[5000, 5000], &[4, 4]),
                (&[0, 5], 1000, "A2 B2 A5 B4 A12 B4 A12 B4 A12 B4 A13 B4", &[7534, 2466], &[4, 13]),
                (&[0, 5], 250, "A4 B4 A12 B4 A12 B4", &[7532, 2468], &[4, 16]),
                (&[0, 0, 0], 1000, "A2 B2 C2 A3 B3 C3 A3 B3 C3", &[3335, 3333, 3332], &[6, 6, 6]),
                (&[0, 0, 0], 250, "A4 B4 C4 A4 B4 C4", &[3336, 3332, 3332], &[8, 8, 8]),
                (&[0, 0, 5], 1000, "A2 B2 C2 A3 B3 A3 B3 C4 A3 B3", &[4298, 4296, 1406], &[7, 7, 30]),
                (&[-5, 0], 1000, "A2 B2 A5 B3 A9 B3 A9 B3", &[7529, 2471], &[3, 10]),
            ],
        );
        let shares = hogs(profile, 1000, &[(0, Ns(3 * MS)), (0, Ns(700_000))]);
        // From v6.17 on a picked entity is protected for the shortest request of its queue only.
        let turns = if profile == "v6.18" { "B1 A2 B2 A1 B1 A1 B1" } else { "B1 A2 B2 A3 B3 A3 B3" };
        assert!(shares.turns.starts_with(turns), "{profile}: {}", &shares.turns[..60]);
        assert_eq!(shares.cpu_ms, [5000, 5000], "{profile}");
    }
}

/// The same for v6.6, computed with the reference model changed in three places: no half first request,
/// the running entity wins a tie of deadlines, other ties go by virtual time.
#[test]
fn spec_02_t14_hogs_before_v6_8() {
    check_hogs(
        "v6.6",
        &[
            (&[0, 0], 1000, "A3 B6 A6 B6 A6 B6", &[5001, 4999], &[6, 6]),
            (&[0, 0], 250, "A4 B8 A8 B8 A8 B8", &[5000, 5000], &[8, 8]),
            (&[0, 5], 1000, "A3 B4 A12 B4 A12 B4 A12 B4 A12 B4 A12 B4", &[7533, 2467], &[4, 15]),
            (&[0, 5], 250, "A4 B4 A12 B4 A12 B4", &[7532, 2468], &[4, 16]),
            (&[0, 0, 0], 1000, "A3 B3 C6 A3 B6 C3 A6 B3 C6 A3 B6 C3", &[3333, 3333, 3334], &[9, 9, 9]),
            (&[0, 0, 0], 250, "A4 B4 C8 A4 B8 C4 A8 B4 C8 A4 B8 C4", &[3332, 3336, 3332], &[12, 12, 12]),
            (&[0, 0, 5], 1000, "A3 B3 C4 A3 B6 A6 B6 A3 C4 B3 A6 B6", &[4296, 4296, 1408], &[7, 7, 30]),
            (&[-5, 0], 1000, "A4 B3 A8 B3 A8 B3 A8 B3 A12 B3 A8 B3", &[7528, 2472], &[3, 12]),
        ],
    );
}

#[test]
fn spec_02_t15_delayed_dequeue() {
    for kernel in DELAYING {
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let (a, b, c) = (bench.normal(0), bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(MS);
        // A has run 1 ms, the average is 1/3 ms: its lag is negative and it stays.
        let (next, decisions) = bench.current_leaves(PrevState::Sleeping);
        assert_eq!(next, Some(b));
        assert_eq!(decisions, [Reason::DelayDequeue, Reason::PickEligibleDeadline], "{kernel}");
        assert_eq!((bench.state(a), bench.counts()), (TaskState::Delayed, (3, 2)), "{kernel}");
        assert_eq!(bench.sched.rq(CPU).nr_running, 3);
        // B ends in the same way, but an end is never delayed.
        bench.at(2 * MS);
        let (next, decisions) = bench.current_leaves(PrevState::Dead);
        assert_eq!((next, bench.state(b)), (Some(c), TaskState::Dead), "{kernel}");
        assert!(!decisions.contains(&Reason::DelayDequeue), "{kernel}");
        // C runs until it is behind A, which is picked then, and leaves.
        let mut now = 2 * MS;
        while bench.state(a) == TaskState::Delayed {
            now += MS;
            assert_eq!(bench.tick(now), c, "{kernel}");
            assert!(now < 20 * MS, "{kernel}");
        }
        assert_eq!((bench.state(a), bench.counts()), (TaskState::Asleep, (1, 1)), "{kernel}");
        assert_eq!(bench.sched.rq(CPU).nr_running, 1);
        assert_eq!(bench.sched.se(a).vlag, 0, "{kernel}: DELAY_ZERO");
    }
}

#[test]
fn spec_02_t15_lag_gained_while_asleep() {
    for (feature, keeps) in [("DELAY_ZERO", false), ("NO_DELAY_ZERO", true)] {
        let mut bench = Bench::new(with_slice("v6.12", "3ms").with_feature(feature).unwrap());
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(MS);
        assert_eq!(bench.current_leaves(PrevState::Sleeping).0, Some(b));
        bench.tick(4 * MS);
        assert_eq!(bench.state(a), TaskState::Asleep, "B has run 3 ms, A 1 ms");
        assert_eq!(bench.sched.se(a).vlag, if keeps { MS as i64 } else { 0 }, "{feature}");
    }
}

#[test]
fn spec_02_t15_woken_while_delayed() {
    for (wakes_at, reason, lag) in [(1_500_000, Reason::DelayRequeue, -250_000), (2_600_000, Reason::DelayZero, 0)] {
        let mut bench = Bench::new(with_slice("v6.12", "3ms"));
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(MS);
        assert_eq!(bench.current_leaves(PrevState::Sleeping).0, Some(b));
        assert_eq!(bench.counts(), (2, 1));
        // Time passes, but nobody accounts B: the requeue goes by what was accounted before.
        bench.at(wakes_at);
        if reason == Reason::DelayZero {
            bench.call(|sched, cx| sched.sched_tick(cx));
        }
        let decisions = bench.wakes(a);
        assert!(decisions.contains(&reason), "{decisions:?}");
        assert_eq!((bench.state(a), bench.counts()), (TaskState::Queued, (2, 2)));
        assert!((bench.lag(a) - lag).abs() <= 1, "{reason:?}: {}", bench.lag(a));
        assert_eq!(bench.sched.nr_wakeups(), 1);
    }
}

/// Kernels before v6.18 move the deadline of whoever yields; v6.18 moves an eligible one to its deadline.
#[test]
fn spec_02_t19_yield_with_deadlines() {
    for kernel in EEVDF {
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        let start = bench.vruntime(b);
        let deadline = bench.sched.se(a).deadline.0;
        let yields = |bench: &mut Bench| {
            let mut decisions = Decisions::default();
            bench.call_with(&mut decisions, |sched, cx| sched.sched_yield(cx));
            (decisions.0.pop(), bench.vruntime(a).wrapping_sub(start), bench.sched.se(a).deadline.0.wrapping_sub(deadline))
        };
        // At the start A is eligible.
        let first = yields(&mut bench);
        let request = deadline.wrapping_sub(start);
        match kernel {
            "v6.18" => assert_eq!(first, (Some(Reason::YieldForfeit), request, 3 * MS)),
            _ => assert_eq!(first, (Some(Reason::YieldDeadline), 0, 3 * MS), "{kernel}"),
        }
        bench.sched.check().unwrap();
        // 100 us later it is ahead of the average.
        bench.at(100_000);
        let second = yields(&mut bench);
        match kernel {
            "v6.18" => assert_eq!(second, (Some(Reason::YieldNotEligible), request + 100_000, 3 * MS)),
            _ => assert_eq!(second, (Some(Reason::YieldDeadline), 100_000, 6 * MS), "{kernel}"),
        }
        assert_eq!(bench.schedule(), b, "{kernel}");
    }
}

/// What is decided when a task of that slice wakes at the average while A, of 3 ms, runs protected: A was
/// picked, ran 1 ms and is not eligible any more.
fn short_wakes(profile: Profile, slice_us: u64) -> Reason {
    let mut bench = Bench::new(profile);
    let wakee = bench.queued_with_slice(0, Ns::from_us(slice_us));
    assert_eq!(bench.schedule(), wakee);
    assert_eq!(bench.current_leaves(PrevState::Sleeping).0, None);
    let a = bench.normal(0);
    bench.normal(0);
    assert_eq!(bench.schedule(), a);
    bench.at(MS);
    *bench.wakes(wakee).last().unwrap()
}

#[test]
fn a_short_slice_may_break_protection() {
    for kernel in DELAYING {
        let stock = Profile::parse(kernel).unwrap().with_tunable("sched_base_slice_ns", "3ms").unwrap();
        assert_eq!(short_wakes(stock.clone(), 400), Reason::WakeShortPreempts, "{kernel}");
        assert_eq!(short_wakes(stock.clone(), 3000), Reason::WakeLaterDeadline, "{kernel}: A is not eligible, B is earlier");
        let without = stock.with_feature("NO_PREEMPT_SHORT").unwrap();
        assert_eq!(short_wakes(without, 400), Reason::WakeDeadlinePreempts, "{kernel}: a protected task must be eligible too");
    }
}

/// A runs 200 us of its request with B and a sleeper at the same virtual time; a wakee of nice -10, whose
/// deadline is early, meets its protection.
#[test]
fn protection_holds_while_eligible() {
    for kernel in EEVDF {
        for (feature, preempts) in [("RUN_TO_PARITY", false), ("NO_RUN_TO_PARITY", true)] {
            let mut bench = Bench::new(with_slice(kernel, "3ms").with_feature(feature).unwrap());
            let heavy = bench.normal(-10);
            assert_eq!(bench.schedule(), heavy);
            assert_eq!(bench.current_leaves(PrevState::Sleeping).0, None);
            let a = bench.normal(0);
            assert_eq!(bench.schedule(), a);
            // Alone it is eligible for ever, and has the mark as long as its first request lasts.
            let now = if kernel == "v6.18" && preempts { 1_000_000 } else { 200_000 };
            bench.at(now);
            let reason = *bench.wakes(heavy).last().unwrap();
            assert_eq!(reason, if preempts { Reason::WakeDeadlinePreempts } else { Reason::WakeProtected }, "{kernel} {feature}");
        }
    }
}

#[test]
fn the_next_buddy_is_picked_if_eligible() {
    for kernel in EEVDF {
        let mut bench = Bench::new(with_slice(kernel, "3ms").with_feature("NEXT_BUDDY").unwrap());
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        let buddy = bench.sched.se_of(b);
        bench.sched.set_next_buddy(buddy);
        // A is protected, but the buddy goes first, and only once.
        assert_eq!(bench.schedule(), b, "{kernel}");
        assert_eq!(bench.schedule(), b, "{kernel}: it is protected now");
        bench.tick(4 * MS);
        assert_eq!(bench.sched.rq(CPU).curr, Some(a), "{kernel}");
        // B is ahead of the average: not eligible.
        bench.sched.set_next_buddy(buddy);
        assert_eq!(bench.schedule(), a, "{kernel}");
    }
}

#[test]
fn idle_policy_gives_way() {
    for kernel in EEVDF {
        let wakes_against_idle = |feature: &str| {
            let mut bench = Bench::new(with_slice(kernel, "3ms").with_feature(feature).unwrap());
            let wakee = bench.normal(0);
            bench.schedule();
            assert_eq!(bench.current_leaves(PrevState::Sleeping).0, None);
            bench.queued(Policy::Idle, 0);
            bench.schedule();
            *bench.wakes(wakee).last().unwrap()
        };
        assert_eq!(wakes_against_idle("WAKEUP_PREEMPTION"), Reason::WakePolicy, "{kernel}");
        let off = if kernel == "v6.6" { Reason::WakePolicy } else { Reason::WakeFeatureOff };
        assert_eq!(wakes_against_idle("NO_WAKEUP_PREEMPTION"), off, "{kernel}");
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let idle = bench.queued(Policy::Idle, 0);
        bench.schedule();
        assert_eq!(bench.current_leaves(PrevState::Sleeping).0, None);
        bench.normal(0);
        bench.schedule();
        assert_eq!(bench.wakes(idle).last(), Some(&Reason::WakeBatch), "{kernel}");
    }
}

/// Base slices as recorded and as in the source, and who has which tunables.
#[test]
fn base_slices() {
    for (kernel, base_us) in [("v6.6", 750), ("v6.12", 700), ("v6.14", 750), ("v6.18", 700)] {
        let profile = Profile::parse(kernel).unwrap();
        for (cpus, factor) in [(1, 1), (2, 2), (3, 2), (4, 3), (8, 4), (64, 4)] {
            assert_eq!(profile.tunables.at(cpus).base_slice_ns, base_us * 1000 * factor, "{kernel} at {cpus} CPUs");
        }
        for name in ["sched_latency_ns", "sched_min_granularity_ns", "sched_wakeup_granularity_ns", "sched_child_runs_first"] {
            let error = profile.clone().with_tunable(name, "1").unwrap_err();
            assert!(error.message.contains(&format!("profile `{kernel}` has no tunable `{name}`")), "{error}");
            assert!(error.hint.contains("sched_base_slice_ns"), "{error}");
        }
        for value in ["99us", "101ms"] {
            assert!(profile.clone().with_tunable("base_slice_ns", value).unwrap_err().message.contains("out of range"));
        }
    }
}

/// A slice of one's own is cut to what the kernel allows, and v6.6 knows none.
#[test]
fn slices_of_tasks() {
    for (kernel, slice, kept) in [("v6.12", 50_000, 100_000), ("v6.12", 200 * MS, 100 * MS), ("v6.18", 5 * MS, 5 * MS)] {
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let task = bench.queued_with_slice(0, Ns(slice));
        assert_eq!((bench.sched.se(task).slice, bench.sched.se(task).custom_slice), (kept, true), "{kernel} {slice}");
        bench.call(|sched, cx| sched.set_slice(cx, task, None));
        assert_eq!((bench.sched.se(task).slice, bench.sched.se(task).custom_slice), (3 * MS, false), "{kernel} {slice}");
        bench.sched.check().unwrap();
    }
    let mut bench = Bench::new(with_slice("v6.6", "3ms"));
    let task = bench.queued_with_slice(0, Ns(MS));
    assert_eq!(bench.sched.se(task).slice, 3 * MS);
}

/// A delayed sleeper keeps sleeping through changes of nice value and CPU.
#[test]
fn spec_02_t15_changes_of_a_delayed_task() {
    for kernel in DELAYING {
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(2 * MS);
        assert_eq!(bench.current_leaves(PrevState::Sleeping).0, Some(b));
        let lag = bench.lag(a);
        bench.call(|sched, cx| sched.set_user_nice(cx, a, 5));
        bench.sched.check().unwrap();
        assert_eq!((bench.state(a), bench.counts()), (TaskState::Delayed, (2, 1)), "{kernel}");
        // What it owes stays: weight * lag; the average moves with the weights, so to within rounding of the clamp.
        let (before, after) = (lag * 1024, bench.lag(a) * 335);
        assert!((before - after).abs() < 4096, "{kernel}: {before} {after}");
        bench.wakes(a);
        assert_eq!(bench.state(a), TaskState::Queued, "{kernel}");
    }
}

/// A running task may no longer use its CPU, and goes to sleep before it can be moved.
#[test]
fn spec_02_t15_a_delayed_task_leaves_a_forbidden_cpu() {
    let other = CpuId::new(1);
    for kernel in DELAYING {
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let view = bench.machine.cpus[CPU].clone();
        bench.machine.cpus.push(view);
        bench.machine.online = CpuMask::first_n(2);
        bench.sched = Sched::new(with_slice(kernel, "3ms"), &fairground_model::MachineView::flat(2, Ns(MS)));
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        bench.at(2 * MS);
        bench.call(|sched, cx| sched.set_cpus_allowed(cx, a, CpuMask::only(other)));
        assert_eq!(bench.current_leaves(PrevState::Sleeping).0, Some(b));
        assert_eq!((bench.state(a), bench.sched.task(a).cpu, bench.counts()), (TaskState::Delayed, other, (1, 1)), "{kernel}");
        assert_eq!(bench.sched.cfs_rq(other).nr_running, 1, "{kernel}");
    }
}
