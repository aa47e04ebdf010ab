//! What must always hold of the tables.

use crate::Sched;
use crate::fair::{CfsRq, SchedEntity};
use crate::task::TaskState;
use fairground_stdx::{CfsRqId, Id, SeId, Vruntime};

/// An invariant that does not hold, as a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken(pub String);

impl Sched {
    /// Slow, complete check of every invariant.
    pub fn check(&self) -> Result<(), Broken> {
        for (id, queue) in self.cfs_rqs.iter_enumerated() {
            match self.profile.pick.is_eevdf() {
                false => self.check_timeline(id, queue)?,
                true => self.check_deadlines(id, queue)?,
            }
            self.check_counts(id, queue)?;
        }
        self.check_task_groups()?;
        self.check_tasks()?;
        self.check_idle_cpus()?;
        self.check_rqs()?;
        self.check_rt()?;
        self.check_clamps()?;
        self.check_dl()?;
        self.check_wake_lists()?;
        self.check_searches()?;
        hold(!self.plain_ticks || self.ticks_may_be_plain(), || {
            "ticks go the short way, and the machine is not for that".into()
        })?;
        hold(!self.plain_switches || (self.ticks_may_be_plain() && self.switches_may_be_plain()), || {
            "switches go the short way, and the machine is not for that".into()
        })?;
        self.check_bandwidth()?;
        self.check_balance()
    }

    /// The set of idle CPUs is that of the CPUs that are idle.
    fn check_idle_cpus(&self) -> Result<(), Broken> {
        self.rqs.ids().try_for_each(|cpu| {
            hold(self.idle_cpus.contains(cpu) == self.idle_cpu(cpu), || format!("{cpu} is wrong in the set of idle CPUs"))
        })
    }

    /// A search that fails came to the cache domain, and each search has looked at least once.
    fn check_searches(&self) -> Result<(), Broken> {
        self.rqs.iter_enumerated().try_for_each(|(cpu, rq)| {
            let sis = rq.sis;
            let right = sis.sis_failed <= sis.sis_domain_search
                && sis.sis_domain_search <= sis.sis_search
                && sis.sis_search <= sis.sis_scanned;
            hold(right, || format!("the searches of {cpu} do not add up: {sis:?}"))
        })
    }

    /// CFS: the order is that of virtual time.
    fn check_timeline(&self, id: CfsRqId, queue: &CfsRq) -> Result<(), Broken> {
        let mut last = None;
        for (key, se) in queue.timeline.iter() {
            hold(key == self.ses[se].vruntime, || {
                format!("{se:?} moved in virtual time while it stood in the timeline of {id:?}")
            })?;
            hold(last.is_none_or(|last: Vruntime| key.since(last) >= 0), || {
                format!("the timeline of {id:?} is out of order at {se:?}")
            })?;
            self.check_waits(id, queue, se)?;
            last = Some(key);
        }
        Ok(())
    }

    /// EEVDF: the order is that of deadlines, the sums are right, and no lag is lost.
    fn check_deadlines(&self, id: CfsRqId, queue: &CfsRq) -> Result<(), Broken> {
        hold(queue.deadlines.is_sound(), || format!("the deadlines of {id:?} are out of order"))?;
        let (mut sum, mut weight) = (0, 0);
        for row in queue.deadlines.iter() {
            let entity = &self.ses[row.item];
            let same = (row.deadline, row.vruntime, row.slice) == (entity.deadline, entity.vruntime, entity.slice);
            hold(same, || format!("{:?} changed while it stood in the order of {id:?}", row.item))?;
            self.check_waits(id, queue, row.item)?;
            let key = i128::from(entity.vruntime.since(queue.min_vruntime));
            sum += key * self.avg_weight(entity);
            weight += self.avg_weight(entity);
        }
        let right = (sum, weight) == (queue.avg_vruntime, i128::from(queue.avg_load));
        hold(right, || {
            format!("the sums of {id:?} are {sum} and {weight}, it says {} and {}", queue.avg_vruntime, queue.avg_load)
        })?;
        self.check_lags(id, queue)
    }

    /// The weighted lags of a queue sum to less than its weight: to zero but for the rounding of the average.
    fn check_lags(&self, id: CfsRqId, queue: &CfsRq) -> Result<(), Broken> {
        let averages = self.averages(id);
        let (average, total) = (averages.avg_vruntime(), i128::from(averages.weight()));
        let running = queue.curr.filter(|&se| self.ses[se].on_rq);
        let queued = queue.deadlines.iter().map(|row| row.item).chain(running);
        let lags = queued.map(|se| i128::from(average.since(self.ses[se].vruntime)) * self.avg_weight(&self.ses[se]));
        let sum: i128 = lags.sum();
        hold(sum <= 0 && sum > -total.max(1), || format!("the weighted lags on {id:?} sum to {sum}, beyond its weight {total}"))
    }

    fn avg_weight(&self, entity: &SchedEntity) -> i128 {
        i128::from(self.profile.avg_weight(entity.load.weight()))
    }

    fn check_waits(&self, id: CfsRqId, queue: &CfsRq, se: SeId) -> Result<(), Broken> {
        let entity = &self.ses[se];
        let waits = queue.curr != Some(se) && entity.on_rq && entity.cfs_rq == id;
        hold(waits, || format!("{se:?} stands in the order of {id:?} but does not wait there"))
    }

    fn check_counts(&self, id: CfsRqId, queue: &CfsRq) -> Result<(), Broken> {
        let running = queue.curr.filter(|&se| self.ses[se].on_rq);
        let waiting = queue.timeline.iter().map(|row| row.1).chain(queue.deadlines.iter().map(|row| row.item));
        let queued: Vec<SeId> = waiting.chain(running).collect();
        let weight: u64 = queued.iter().map(|&se| self.ses[se].load.weight()).sum();
        hold(weight == queue.load.weight(), || {
            format!("the weights on {id:?} sum to {weight}, its load says {}", queue.load.weight())
        })?;
        hold(queued.len() == queue.nr_running as usize, || {
            format!("{id:?} counts {} entities and holds {}", queue.nr_running, queued.len())
        })?;
        self.check_runnable_weight(id, queue, &queued)?;
        self.check_hierarchical_counts(id, queue, &queued)
    }

    /// What a queue counts of the tasks below it is what its entities say.
    fn check_hierarchical_counts(&self, id: CfsRqId, queue: &CfsRq, queued: &[SeId]) -> Result<(), Broken> {
        let count = |of: fn(&Sched, &SchedEntity, Option<&CfsRq>) -> u32| -> u32 {
            queued.iter().map(|&se| of(self, &self.ses[se], self.ses[se].my_q.map(|below| &self.cfs_rqs[below]))).sum()
        };
        let counts = [
            ("tasks", queue.h_nr_running, count(|_, _, below| below.map_or(1, |below| below.h_nr_running))),
            (
                "tasks that want to run",
                queue.h_nr_runnable,
                count(|_, se, below| below.map_or(u32::from(!se.sched_delayed), |below| below.h_nr_runnable)),
            ),
            ("idle entities", queue.idle_nr_running, count(|sched, se, _| u32::from(sched.se_is_idle(se)))),
            (
                "idle tasks",
                queue.idle_h_nr_running,
                count(|sched, se, below| match below {
                    Some(below) if sched.se_is_idle(se) => below.h_nr_running,
                    Some(below) => below.idle_h_nr_running,
                    None => u32::from(sched.se_is_idle(se)),
                }),
            ),
        ];
        counts.into_iter().try_for_each(|(what, says, holds)| {
            hold(says == holds, || format!("{id:?} counts {says} {what}, its entities {holds}"))
        })
    }

    /// The entity of a group is queued if its queue holds anything and is not throttled, or in delayed dequeue; it runs with what runs below it;
    /// a group's load is the sum of what its queues have told.
    fn check_task_groups(&self) -> Result<(), Broken> {
        let mut told = vec![0; self.groups.len()];
        for (id, queue) in self.cfs_rqs.iter_enumerated() {
            let (Some(tg), Some(se)) = (queue.tg, queue.se) else { continue };
            told[tg.index()] += queue.tg_load_avg_contrib;
            let entity = &self.ses[se];
            let queued = (queue.nr_running > 0 && !self.counts_end_at(id)) || entity.sched_delayed;
            hold(entity.on_rq == queued, || {
                format!("{id:?} holds {} entities, its own is queued: {}", queue.nr_running, entity.on_rq)
            })?;
            let above = &self.cfs_rqs[entity.cfs_rq];
            hold(queue.curr.is_none() || above.curr == Some(se), || format!("{id:?} has a running entity, {se:?} does not run"))?;
            let runnable = above.curr == Some(se) && queue.curr.is_none() && entity.on_rq && !entity.sched_delayed;
            hold(!runnable, || format!("{se:?} runs, and nothing on its {id:?}"))?;
            let listed = self.rqs[queue.cpu].leaf_cfs_rqs.contains(&id);
            hold(listed == queue.on_list, || format!("{id:?} is wrong about the list of its CPU"))?;
        }
        self.groups.iter().zip(told).try_for_each(|(tg, told)| {
            hold(tg.load_avg == told, || format!("{} has a load of {}, its queues have told {told}", tg.name, tg.load_avg))
        })
    }

    /// A queue stands still if it or one above it is throttled, and as often; it is on its pool's list once if it is throttled.
    fn check_bandwidth(&self) -> Result<(), Broken> {
        for (id, queue) in self.cfs_rqs.iter_enumerated() {
            // Walks leave removed groups out: nobody is there.
            let Some(tg) = queue.tg.filter(|&tg| !self.groups[tg].removed) else { continue };
            let throttled = self.cfs_rq_throttled(id);
            let above = queue.se.map_or(0, |se| self.throttle_count(self.ses[se].cfs_rq));
            let count = self.throttle_count(id);
            hold(count == above + u32::from(throttled), || {
                format!("{id:?} is throttled {count} times, what lies above {above}, itself: {throttled}")
            })?;
            let in_line = self.cfs_bandwidth(tg).map_or(0, |pool| pool.times_in_line(queue.cpu));
            hold(in_line == usize::from(throttled), || format!("{id:?} stands in line {in_line} times, throttled: {throttled}"))?;
            hold(self.cfs_bandwidth(tg).is_none_or(|pool| pool.is_conserved()), || {
                format!("quota of {tg:?} came or went unseen")
            })?;
            let stopped = self.pelt_stopped(id);
            hold(!stopped || !queue.on_list || self.lists_throttled(), || {
                format!("{id:?} stands still and is on the list of its CPU")
            })?;
            hold(!stopped || count > 0, || format!("{id:?} stands still, and nothing above it is throttled"))?;
            hold(count > 0 || self.limbo(id).next().is_none(), || format!("{id:?} has tasks in limbo and is not throttled"))?;
        }
        hold(self.stale_subtree().is_none(), || format!("the walk below {:?} is known wrongly", self.stale_subtree()))?;
        self.check_limbo()
    }

    /// Who is in limbo is in that of its own queue, once.
    fn check_limbo(&self) -> Result<(), Broken> {
        let mut waits = 0;
        for id in self.cfs_rqs.ids() {
            for task in self.limbo(id) {
                waits += 1;
                let row = &self.tasks[task];
                let right = row.state == TaskState::Limbo && row.throttled && self.ses[row.se].cfs_rq == id;
                hold(right, || format!("{task:?} is {:?} and in the limbo of {id:?}", row.state))?;
            }
        }
        let told = self.tasks.iter().filter(|row| row.state == TaskState::Limbo).count();
        hold(waits == told, || format!("{told} tasks are in limbo, {waits} are found there"))
    }

    /// Families B and C: the second weights of a queue's entities sum to what it says.
    fn check_runnable_weight(&self, id: CfsRqId, queue: &CfsRq, queued: &[SeId]) -> Result<(), Broken> {
        let counted = self.profile.group_load.has_second_weights();
        let sum: u64 = queued.iter().filter(|_| counted).map(|&se| self.ses[se].runnable_weight()).sum();
        hold(!counted || sum == queue.runnable_weight, || {
            format!("the second weights on {id:?} sum to {sum}, it says {}", queue.runnable_weight)
        })
    }

    fn check_tasks(&self) -> Result<(), Broken> {
        for (id, task) in self.tasks.iter_enumerated() {
            let (rq, se) = (&self.rqs[task.cpu], &self.ses[task.se]);
            if self.is_dl(id) {
                self.check_dl_task(id)?;
                continue;
            }
            if !self.is_fair(id) {
                self.check_rt_task(id)?;
                continue;
            }
            let right = match task.state {
                TaskState::Running => rq.curr == Some(id) && se.on_rq && !se.sched_delayed,
                TaskState::Queued => rq.curr != Some(id) && se.on_rq && !se.sched_delayed,
                // Below a throttled queue it is no candidate: while its CPU looks for other work it is current.
                TaskState::Delayed => (rq.curr != Some(id) || self.waits_for_quota(id)) && se.on_rq && se.sched_delayed,
                TaskState::Migrating => rq.curr != Some(id) && !se.on_rq,
                TaskState::Asleep => rq.curr != Some(id) && !se.on_rq && !se.sched_delayed && !task.on_cpu,
                // While its CPU looks for other work, a task that has left its queue is still current.
                _ => (rq.curr != Some(id) || task.on_cpu) && !se.on_rq && !se.sched_delayed,
            };
            hold(right, || {
                let current = rq.curr == Some(id);
                format!(
                    "{id:?} is {:?} and yet elsewhere: current of CPU {} {current}, queued {}, delayed {}, on its CPU {}",
                    task.state, task.cpu, se.on_rq, se.sched_delayed, task.on_cpu
                )
            })?;
        }
        Ok(())
    }

    /// Who stands on a wake list is being woken, stands on one only, and is bound to that CPU.
    fn check_wake_lists(&self) -> Result<(), Broken> {
        let mut listed = vec![false; self.tasks.len()];
        for (cpu, rq) in self.rqs.iter_enumerated() {
            for &task in &rq.wake_list {
                let row = &self.tasks[task];
                hold(row.state == TaskState::Waking && row.cpu == cpu, || {
                    format!("{task:?} is {:?} on CPU {} and stands on the wake list of CPU {cpu}", row.state, row.cpu)
                })?;
                let twice = std::mem::replace(&mut listed[task.index()], true);
                hold(!twice, || format!("{task:?} stands on two wake lists"))?;
            }
        }
        Ok(())
    }

    fn check_rqs(&self) -> Result<(), Broken> {
        for (cpu, rq) in self.rqs.iter_enumerated() {
            hold(self.cfs_rqs[rq.cfs].h_nr_running + rq.rt.nr_counted() + rq.dl.nr_counted() == rq.nr_running, || {
                format!("CPU {cpu} counts {} tasks, its queues another number", rq.nr_running)
            })?;
            let ordered = rq.clocks.clock_pelt <= rq.clocks.clock_task && rq.clocks.clock_task <= rq.clocks.clock;
            hold(ordered, || format!("the clocks of CPU {cpu} overtook one another"))?;
            // The task that runs there leaves at its next schedule(), or each of them at one of these.
            let stands = |task| self.ses[self.tasks[task].se].on_rq || self.is_queued_rt(task) || self.is_queued_dl(task);
            let runs = rq.curr.is_some_and(stands);
            let left = rq.nr_running.saturating_sub(u32::from(runs));
            let are_pushed = self.pushes_off(cpu) && (rq.need_resched || rq.stop_running || rq.curr.is_some());
            let are_taken = rq.takedown_due;
            hold(rq.online || left == 0 || are_pushed || are_taken || left == self.left_behind(cpu), || {
                format!("{left} tasks wait on CPU {cpu}, which is off line")
            })?;
        }
        Ok(())
    }
}

pub(crate) fn hold(holds: bool, broken: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(broken())) }
}
