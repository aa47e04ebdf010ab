//! Runnable load of groups, where it propagates by itself, in random runs.

use crate::fair::group::Tell;
use crate::fair::tests::bench::{Bench, MS};
use crate::pelt::LOAD_AVG_MAX;
use crate::task::TaskState;
use crate::{Profile, WakeFlags, Waking};
use fairground_model::{PrevState, TaskSpec, WakeContext};
use fairground_stdx::{CfsRqId, CpuId, CpuMask, Instant, ProgramId, RngStream, SeId, StreamKind, TaskId, TgId};

const PATCHED: &str = "v4.12+independent-runnable";
const CPUS: u32 = 3;

/// Three groups, each in the one before, with tasks on all levels, and a hand that makes steps at random.
struct Tree {
    bench: Bench,
    dice: RngStream,
    groups: Vec<TgId>,
    tasks: Vec<TaskId>,
}

/// A step that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// A task was woken where it had slept.
    Woken(TaskId),
    /// Anything else.
    Other,
}

impl Tree {
    fn new(kernel: &str, shares: u64) -> Tree {
        let mut bench = Bench::with_cpus(Profile::parse(kernel).unwrap(), CPUS as usize);
        let mut groups = Vec::new();
        for _ in 0..3 {
            groups.push(bench.group(groups.last().copied(), shares));
        }
        let mut dice = RngStream::new(7, StreamKind::Vopr, 0);
        let mut tasks = Vec::new();
        for number in 0..12 {
            let mut spec = TaskSpec::new("task", ProgramId::new(0));
            spec.group = groups.get(number % 4).copied();
            spec.nice = [0, 0, -5, 5][number / 4];
            let task = bench.sched.add_task(&spec, CpuMask::first_n(CPUS as usize));
            bench.call(|sched, cx| sched.sched_fork(cx, None, task));
            // As if it had run for some part of the time.
            let avg = &mut bench.sched.pelt_se[bench.sched.tasks[task].se];
            avg.load_avg = dice.between(0, avg.load_avg);
            avg.load_sum = avg.load_avg * LOAD_AVG_MAX;
            bench.cpu = CpuId::new(dice.below(u64::from(CPUS)) as u32);
            let cpu = bench.cpu;
            bench.call(|sched, cx| sched.wake_up_new_task(cx, task, Some(cpu)));
            tasks.push(task);
        }
        Tree { bench, dice, groups, tasks }
    }

    /// A task wakes, sleeps or goes to another CPU, if what was thrown can be.
    fn step(&mut self) -> Step {
        let task = self.tasks[self.dice.below(self.tasks.len() as u64) as usize];
        let cpu = CpuId::new(self.dice.below(u64::from(CPUS)) as u32);
        let (state, from) = (self.bench.sched.tasks[task].state, self.bench.sched.tasks[task].cpu);
        let mut made = Step::Other;
        self.bench.cpu = cpu;
        match self.dice.below(5) {
            0 | 1 if state == TaskState::Asleep => {
                let flags = WakeFlags { sync: false, context: WakeContext::Hardirq };
                let waking = self.bench.call(|sched, cx| sched.ttwu_select(cx, task, flags));
                assert!(matches!(waking, Waking::Selected(_)));
                self.bench.call(|sched, cx| sched.ttwu_activate(cx, task, cpu));
                made = if from == cpu { Step::Woken(task) } else { Step::Other };
            }
            2 | 3 => {
                if self.bench.sched.rqs[cpu].curr.is_some() {
                    self.bench.sched.set_current_state(cpu, PrevState::Sleeping);
                }
                self.bench.call(|sched, cx| sched.schedule(cx));
            }
            4 if state == TaskState::Queued && from != cpu => {
                self.bench.cpu = from;
                self.bench.call(|sched, cx| sched.detach_task(cx, task, cpu));
                self.bench.cpu = cpu;
                self.bench.call(|sched, cx| sched.attach_task(cx, task));
            }
            _ => {}
        }
        self.bench.sched.check().unwrap();
        made
    }

    /// Everything is brought up to now, from the leaves up.
    fn refresh(&mut self) {
        for cpu in (0..CPUS).map(CpuId::new) {
            self.bench.cpu = cpu;
            let sched = &self.bench.sched;
            let mut ses: Vec<SeId> = sched.entity_ids().filter(|&se| self.is_at(se, cpu)).collect();
            ses.sort_by_key(|&se| std::cmp::Reverse(sched.cfs_rqs[sched.ses[se].cfs_rq].depth));
            self.bench.call(|sched, cx| sched.update_rq_clock(cx, cpu));
            for se in ses {
                self.bench.call(|sched, cx| sched.update_load_avg(cx, se, Tell::Group));
            }
        }
    }

    /// Whether it is queued there, or a group used there.
    fn is_at(&self, se: SeId, cpu: CpuId) -> bool {
        let (entity, avg) = (&self.bench.sched.ses[se], &self.bench.sched.pelt_se[se]);
        let counts = entity.on_rq || entity.my_q.is_some();
        counts && avg.last_update_time != 0 && self.bench.sched.cfs_rqs[entity.cfs_rq].cpu == cpu
    }

    /// The entities whose runnable load makes that of a queue: average and sum of each.
    fn parts(&self, queue: CfsRqId) -> Vec<(SeId, u64, u64)> {
        let sched = &self.bench.sched;
        let part = |se: SeId| {
            let (entity, avg) = (&sched.ses[se], &sched.pelt_se[se]);
            match entity.my_q {
                Some(_) => Some((se, avg.runnable_avg, avg.runnable_sum)),
                None => entity.on_rq.then_some((se, avg.load_avg, avg.load_sum)),
            }
        };
        sched.entity_ids().filter(|&se| sched.ses[se].cfs_rq == queue).filter_map(part).collect()
    }

    fn queues(&self) -> Vec<CfsRqId> {
        self.bench.sched.cfs_rqs.ids().collect()
    }

    /// What the root queue of a CPU should have: the load of what is queued there, that of a group cut to its share.
    fn scaled(&self, level: usize, cpu: CpuId) -> u64 {
        let sched = &self.bench.sched;
        let group = level.checked_sub(1).map(|above| self.groups[above]);
        let queue = group.map_or(sched.rqs[cpu].cfs, |group| sched.groups[group].queues[cpu].unwrap());
        let queued = |task: &&TaskId| {
            let se = &sched.ses[sched.se_of(**task)];
            se.on_rq && se.cfs_rq == queue
        };
        let tasks: u64 = self.tasks.iter().filter(queued).map(|&task| sched.pelt_se[sched.se_of(task)].load_avg).sum();
        let Some(&below) = self.groups.get(level).filter(|&&below| sched.groups[below].queues[cpu].is_some()) else {
            return tasks;
        };
        let load = self.scaled(level + 1, cpu);
        let (tg, row) = (&sched.groups[below], &sched.cfs_rqs[sched.groups[below].queues[cpu].unwrap()]);
        let everywhere = tg.load_avg - row.tg_load_avg_contrib + load;
        tasks + (tg.shares * load).checked_div(everywhere).unwrap_or(0) / 1024
    }
}

/// How much of an average a period is at the most: 1024 of the 47742 units of a sum.
fn period(average: u64) -> u64 {
    average * 1024 / LOAD_AVG_MAX + 1
}

/// The runnable load of a queue is that of the tasks queued on it and of its groups: whatever happens at one instant
/// leaves that as it is, to the last bit, and so that an empty group has none.
///
/// Time does not. A queue and its entities open their periods at different times (attaching copies the time of the last
/// update only, and a new task is one unit short of a whole period where a queue begins with an empty one), so one of them
/// has one period more behind it than the other: it decayed once more, and has the contribution of one more. And an average
/// is as old as the last end of a period: what its sum is ahead of it by then comes when the next one ends, elsewhere at
/// another time. What propagates also makes the queue's sum anew from its average. Nothing takes these differences back,
/// so that they add up: to about 3000 in the long run with a group of weight 102400. Hence each stretch of time here begins
/// with equal sides.
///
/// Model: 03 T07
#[test]
fn runnable_load_of_a_queue_is_that_of_its_entities() {
    for shares in [1024, 102_400] {
        let mut tree = Tree::new(PATCHED, shares);
        let mut aged = 0;
        for round in 0..10_000 {
            let before: Vec<_> = tree.queues().into_iter().map(|queue| tree.parts(queue)).collect();
            let pass = [0, 1_000, 400_000, 9 * MS, 400 * MS][tree.dice.below(5) as usize];
            tree.bench.now = Instant::from_ns(tree.bench.now.ns() + tree.dice.below(pass + 1));
            tree.refresh();
            for (queue, before) in tree.queues().into_iter().zip(before) {
                let after = tree.parts(queue);
                let moves = |&(se, average, _): &(SeId, u64, u64)| {
                    let (old, sum) = before.iter().find(|row| row.0 == se).map_or((0, 0), |row| (row.1, row.2));
                    let weight = tree.bench.sched.ses[se].load.weight() / 1024;
                    (sum / LOAD_AVG_MAX).abs_diff(old) + 2 * period(average.max(old).max(weight))
                };
                let bound: u64 = after.iter().map(moves).sum();
                let (sum, avg) = (after.iter().map(|row| row.1).sum::<u64>(), &mut tree.bench.sched.pelt_cfs[queue]);
                let differs = avg.runnable_avg.abs_diff(sum);
                assert!(differs <= bound, "round {round}: {queue:?} has {}, its entities {sum}: {bound}", avg.runnable_avg);
                aged += u64::from(differs > 0);
                avg.runnable_avg = sum;
                avg.runnable_sum = after.iter().map(|row| row.2).sum();
            }
            tree.step();
            for queue in tree.queues() {
                let (parts, sched) = (tree.parts(queue), &tree.bench.sched);
                let sum: u64 = parts.iter().map(|row| row.1).sum();
                assert_eq!(sched.pelt_cfs[queue].runnable_avg, sum, "round {round}: {queue:?}");
                let nothing = sched.cfs_rqs[queue].nr_running == 0;
                let group = sched.cfs_rqs[queue].se.map_or(0, |se| sched.pelt_se[se].runnable_avg);
                assert!(!nothing || (sum, group) == (0, 0), "round {round}: {queue:?} is empty: {sum}, {group}");
            }
        }
        assert!(aged > 1000, "{aged} differences are few");
    }
}

/// At one instant: with the patch the root's runnable load is the scaled load of all queued tasks; without it often not.
///
/// Model: 07 T15
#[test]
fn runnable_load_at_the_root_is_the_scaled_load_of_queued_tasks() {
    for (kernel, holds) in [(PATCHED, true), ("v4.12", false)] {
        for shares in [1024, 102_400] {
            let mut tree = Tree::new(kernel, shares);
            let mut wrong = 0;
            for round in 0..3000 {
                tree.step();
                // Twice: what a queue tells its group changes the shares of others.
                tree.refresh();
                tree.refresh();
                for cpu in (0..CPUS).map(CpuId::new) {
                    let (root, scaled) = (tree.bench.sched.cfs_avg(cpu).runnable_avg, tree.scaled(0, cpu));
                    let differs = root.abs_diff(scaled) > tree.groups.len() as u64;
                    assert!(!holds || !differs, "round {round}: CPU {cpu:?} has {root}, its tasks {scaled}");
                    wrong += u64::from(differs);
                }
            }
            assert!(holds || wrong > 1000, "{wrong}");
        }
    }
}

/// A second worker wakes where one of its group is queued: without the patch the root's load stays, with it that grows.
///
/// Model: 07 T15
#[test]
fn a_second_worker_does_not_show_at_the_root_without_the_patch() {
    for (kernel, shows) in [(PATCHED, true), ("v4.12", false)] {
        let mut tree = Tree::new(kernel, 102_400);
        let mut seconds = 0;
        for _ in 0..3000 {
            tree.refresh();
            let before = tree.bench.sched.clone();
            let Step::Woken(task) = tree.step() else { continue };
            let (cpu, se) = (before.tasks[task].cpu, before.se_of(task));
            let grouped = before.ses[se].parent.is_some_and(|group| before.ses[group].on_rq);
            if !grouped || before.pelt_se[se].load_avg < 64 {
                continue;
            }
            seconds += 1;
            let [old, new] = [&before, &tree.bench.sched].map(|sched| sched.cfs_avg(cpu).runnable_avg);
            assert_eq!(new > old, shows, "{kernel}: {old}, {new}");
            assert!(shows || new == old, "{kernel}: {old}, {new}");
        }
        assert!(seconds > 50, "{seconds}");
    }
}

/// A run that the patch joins counts what is queued from then on, and one that it leaves counts entities again.
#[test]
fn runnable_load_is_made_anew_where_the_patch_joins_a_run_or_leaves_it() {
    let mut tree = Tree::new("v4.12", 102_400);
    let mut wrong = 0;
    for round in 0..300 {
        tree.step();
        tree.refresh();
        tree.refresh();
        let before = tree.bench.sched.clone();
        let patched = before.profile().clone().with_overlay("independent-runnable").unwrap();
        tree.bench.sched.change_profile(patched, "independent-runnable").unwrap();
        for cpu in (0..CPUS).map(CpuId::new) {
            let (root, scaled) = (tree.bench.sched.cfs_avg(cpu).runnable_avg, tree.scaled(0, cpu));
            assert!(root.abs_diff(scaled) <= tree.groups.len() as u64, "round {round}: CPU {cpu:?} has {root} and not {scaled}");
            wrong += u64::from(before.cfs_avg(cpu).runnable_avg.abs_diff(scaled) > tree.groups.len() as u64);
        }
        tree.bench.sched.change_profile(before.profile().clone(), "without").unwrap();
        for queue in tree.queues() {
            let sched = &tree.bench.sched;
            let queued = sched.entity_ids().filter(|&se| sched.ses[se].cfs_rq == queue && sched.ses[se].on_rq);
            let sum: u64 = queued.map(|se| sched.pelt_se[se].load_avg).sum();
            assert_eq!(sched.pelt_cfs[queue].runnable_avg, sum, "round {round}: {queue:?}");
        }
        tree.bench.sched = before;
    }
    assert!(wrong > 100, "{wrong}");
}
