//! What is done to tasks and groups: start, wake-up, migration, switch, tick, and changes of group, weight and shares.

use super::model::{Leaving, Model, Who, stored};
use super::rules::MigrateDetach;
use fairground_sched::pelt::{LOAD_AVG_MAX, PeltFamily};

impl Model {
    /// A new task gets its first utilisation and is queued.
    pub(super) fn start(&mut self, task: usize, from: usize, cpu: usize) {
        let group = self.tasks[task].group;
        self.queue(group, from);
        self.bind(task, cpu);
        let entity = self.tasks[task].entity;
        let queue = self.entities[entity].queue;
        let (avg, weight) = (&self.queues[queue].avg, self.entities[entity].weight);
        let room = u64::from(1024_u32.saturating_sub(avg.util_avg) / 2);
        // 6.12 on: the weight as in the nice table.
        let scaled = if self.rules.report_every > 0 { self.rules.down(weight) } else { weight };
        let util = if avg.util_avg == 0 { room } else { room.min(u64::from(avg.util_avg) * scaled / (avg.load_avg + 1)) };
        let own = &mut self.entities[entity].avg;
        if util > 0 {
            own.util_avg = util as u32;
            match self.rules.family {
                PeltFamily::A => own.util_sum = (util * LOAD_AVG_MAX) as u32,
                PeltFamily::B | PeltFamily::C => {}
                PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => own.runnable_avg = util,
            }
        }
        if !self.rules.joins_when_queued {
            self.attach(entity);
        }
        self.enqueue(task);
    }

    fn bind(&mut self, task: usize, cpu: usize) {
        let queue = self.queue(self.tasks[task].group, cpu);
        let row = &mut self.tasks[task];
        row.cpu = cpu;
        self.entities[row.entity].queue = queue;
    }

    /// A sleeper is woken on `cpu`.
    pub(super) fn wake(&mut self, task: usize, cpu: usize) {
        if self.tasks[task].cpu != cpu {
            self.add_to_removed(self.tasks[task].entity);
            self.age_by_estimate(self.tasks[task].entity);
            self.bind(task, cpu);
        }
        self.enqueue(task);
    }

    /// A task has ended: task_dead_fair().
    pub(super) fn end(&mut self, task: usize) {
        self.add_to_removed(self.tasks[task].entity);
    }

    /// A sleeper leaves its queue without the lock: remove_entity_load_avg().
    fn add_to_removed(&mut self, entity: usize) {
        let queue = self.entities[entity].queue;
        self.entities[entity].age_blocked(&self.rules, self.queues[queue].avg.last_update_time);
        let avg = &mut self.entities[entity].avg;
        let time = match self.rules.family {
            PeltFamily::A => 0,
            PeltFamily::B | PeltFamily::C => avg.load_sum,
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => avg.runnable_avg,
        };
        let gone = &mut self.queues[queue].gone;
        *gone = (gone.0 + 1, gone.1 + avg.load_avg, gone.2 + u64::from(avg.util_avg), gone.3 + time);
        avg.last_update_time = 0;
    }

    /// A sleeper that was removed from an idle CPU is aged as if somebody had looked at that queue: migrate_se_pelt_lag(). Nothing is
    /// added if another CPU has looked since it is idle.
    fn age_by_estimate(&mut self, entity: usize) {
        let queue = self.entities[entity].queue;
        let known = self.queues[queue].avg.last_update_time;
        let idle = self.seen.idle_clock[self.queues[queue].cpu].filter(|_| self.rules.estimates_idle_clock);
        let Some((frozen, since)) = idle.filter(|&(frozen, _)| frozen >= known) else { return };
        self.entities[entity].avg.last_update_time = known;
        self.entities[entity].age_blocked(&self.rules, frozen + since);
        self.entities[entity].avg.last_update_time = 0;
    }

    /// A queued task moves to `cpu`.
    pub(super) fn migrate(&mut self, task: usize, cpu: usize) {
        self.dequeue(task, Leaving { sleeps: false, may_delay: false, migrates: true });
        let entity = self.tasks[task].entity;
        match self.rules.migrate_detach {
            MigrateDetach::Removed => self.add_to_removed(entity),
            MigrateDetach::AfterDequeue | MigrateDetach::InDequeue => self.detach(entity),
        }
        self.entities[entity].avg.last_update_time = 0;
        self.bind(task, cpu);
        self.enqueue(task);
    }

    /// The current task's levels end, and those of the next begin, below where both meet.
    pub(super) fn switch(&mut self, prev: Option<usize>, next: Option<usize>) {
        let path = |model: &Model, task: Option<usize>| -> Vec<usize> {
            let mut path = Vec::new();
            let mut level = task.map(|task| model.tasks[task].entity);
            while let Some(entity) = level {
                path.push(entity);
                level = model.parent(entity);
            }
            path
        };
        let (old, new) = (path(self, prev), path(self, next));
        let same = prev == next;
        let (stays, goes) = (|e: &usize| !same && new.contains(e), |e: &usize| !same && old.contains(e));
        let out: Vec<usize> = old.iter().copied().filter(|e| !stays(e)).collect();
        let mut come: Vec<usize> = new.iter().copied().filter(|e| !goes(e)).collect();
        if prev.is_none() && self.rules.sets_from_top {
            come.reverse();
        }
        for entity in out {
            self.put(entity);
        }
        for entity in come {
            self.set(entity);
        }
    }

    fn put(&mut self, entity: usize) {
        if self.entities[entity].on {
            self.update(entity, false);
        }
        self.queues[self.entities[entity].queue].curr = None;
    }

    fn set(&mut self, entity: usize) {
        if self.entities[entity].on {
            self.update(entity, true);
        }
        self.queues[self.entities[entity].queue].curr = Some(entity);
    }

    /// All levels of the current task of a CPU are put down, or taken up.
    pub(super) fn put_or_set(&mut self, task: usize, set: bool) {
        let mut level = Some(self.tasks[task].entity);
        while let Some(entity) = level {
            if set {
                self.set(entity)
            } else {
                self.put(entity)
            }
            level = self.parent(entity);
        }
    }

    /// The tick.
    pub(super) fn tick(&mut self, task: usize) {
        let mut level = Some(self.tasks[task].entity);
        while let Some(entity) = level {
            self.update(entity, true);
            self.weigh(entity);
            level = self.parent(entity);
        }
    }

    /// A task goes to another group.
    pub(super) fn change_group(&mut self, task: usize, group: Option<usize>, queued: bool, running: bool) {
        if queued {
            self.dequeue(task, Leaving { sleeps: false, may_delay: false, migrates: false });
        }
        if running {
            self.put_or_set(task, false);
        }
        let (entity, cpu) = (self.tasks[task].entity, self.tasks[task].cpu);
        self.detach(entity);
        self.tasks[task].group = group;
        self.bind(task, cpu);
        self.entities[entity].avg.last_update_time = 0;
        self.attach(entity);
        if queued {
            self.enqueue(task);
        }
        if running {
            self.put_or_set(task, true);
        }
    }

    /// A task gets another weight.
    pub(super) fn change_weight(&mut self, task: usize, weight: u64, queued: bool, running: bool) {
        if queued {
            self.dequeue(task, Leaving { sleeps: false, may_delay: false, migrates: false });
            if running {
                self.put_or_set(task, false);
            }
        }
        let entity = self.tasks[task].entity;
        let row = &mut self.entities[entity];
        // Only that of a SCHED_IDLE task does not follow its nice value.
        let stays = row.weight == weight && !self.rules.reweighs_idle;
        match row.avg.last_update_time != 0 {
            true if stays => {}
            true => row.reweigh(&self.rules, &mut self.queues[row.queue], weight, weight),
            false => {
                row.weight = weight;
                self.rules.family.init_task(&mut row.avg, self.rules.down(weight));
            }
        }
        if queued {
            self.enqueue(task);
            if running {
                self.put_or_set(task, true);
            }
        }
    }

    /// A group gets other shares: sched_group_set_shares().
    pub(super) fn set_shares(&mut self, group: usize, shares: u64, idle: bool) {
        let shares = stored(shares, idle);
        if std::mem::replace(&mut self.groups[group].shares, shares) == shares {
            return;
        }
        for cpu in 0..self.listed.len() {
            let queue = self.queue(Some(group), cpu);
            let mut level = self.queues[queue].entity;
            while let Some(entity) = level {
                self.update(entity, true);
                self.weigh(entity);
                level = self.parent(entity);
            }
        }
    }

    /// Load of sleepers ages, queue by queue as they are listed: update_blocked_averages().
    pub(super) fn age_blocked(&mut self, cpu: usize) {
        for queue in std::mem::take(&mut self.listed[cpu]) {
            let changed = self.queues[queue].age(&self.rules, self.seen.clock[cpu]);
            // The root has nobody to tell.
            if let Some(entity) = self.queues[queue].entity {
                if changed {
                    self.tell(queue);
                }
                let avg = &self.entities[entity].avg;
                if avg.load_avg != 0 || avg.util_avg != 0 || self.queues[queue].changed {
                    self.update(entity, true);
                }
            }
            let row = &self.queues[queue];
            let left = [row.avg.load_sum, row.avg.runnable_sum, u64::from(row.avg.util_sum)];
            // child_cfs_rq_on_list() asks only the one right before it.
            let in_it = |&other: &usize| self.queues[other].group.is_some_and(|other| self.groups[other].parent == row.group);
            let waits = (self.rules.keeps_parents && self.listed[cpu].last().is_some_and(in_it))
                || (self.rules.keeps_untold && row.told != 0);
            if row.nr > 0 || left != [0; 3] || waits {
                self.listed[cpu].push(queue);
            }
        }
    }

    /// A group without tasks goes.
    pub(super) fn remove_group(&mut self, group: usize) {
        for cpu in 0..self.listed.len() {
            let counts_any = self.rules.family != PeltFamily::A;
            let Some(&queue) = self.at.get(&(Some(group), cpu)) else {
                // It was never used here. One that left nothing has left all the same.
                let above = self.at.get(&(self.groups[group].parent, cpu)).copied();
                if let Some(above) = above.filter(|_| counts_any) {
                    self.queues[above].gone.0 += 1;
                }
                continue;
            };
            let entity = self.queues[queue].entity.expect("invariant: a group has an entity");
            if self.entities[entity].delayed {
                self.complete(Who::Group(group, cpu));
            }
            if counts_any || self.entities[entity].avg.last_update_time != 0 {
                self.add_to_removed(entity);
            }
            self.listed[cpu].retain(|&row| row != queue);
        }
    }

    /// The part of the root's load that is this queue's: update_cfs_rq_h_load().
    pub(super) fn h_load(&self, queue: usize) -> u64 {
        match self.queues[queue].entity {
            None => self.queues[queue].avg.load_avg,
            Some(entity) => {
                let row = &self.entities[entity];
                self.h_load(row.queue) * row.avg.load_avg / (self.queues[row.queue].avg.load_avg + 1)
            }
        }
    }
}
