//! The walks up the tree: what each call does to the loads, in the order of docs/model/03-groups.md.

use super::rules::{KERNELS, MigrateDetach, Propagation, Reweight, Rules};
use super::tree::{Entity, Group, Queue};
use fairground_sched::pelt::{LOAD_AVG_MAX, SchedAvg};
use std::collections::BTreeMap;

/// A task.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) entity: usize,
    pub(super) cpu: usize,
    pub(super) group: Option<usize>,
}

/// What the model takes from the core, since it knows no virtual time.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The clocks of load tracking, by CPU.
    pub(super) clock: Vec<u64>,
    /// Of each idle CPU: its clock of load tracking when it went idle, and the time since.
    pub(super) idle_clock: Vec<Option<(u64, u64)>>,
    /// The clock of all.
    pub(super) now: u64,
    /// Who was found to sleep on its queue (`true`: it leaves, `false`: it is runnable again), in order.
    pub(super) delays: Vec<(Who, bool)>,
    /// Who sleeps on its queue in the end.
    pub(super) delayed: Vec<Who>,
}

/// A task, or a group on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Who {
    Task(usize),
    Group(usize, usize),
}

/// How an entity leaves its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Leaving {
    pub(super) sleeps: bool,
    pub(super) may_delay: bool,
    pub(super) migrates: bool,
}

/// Groups on a few CPUs.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) rules: Rules,
    pub(super) groups: Vec<Group>,
    pub(super) tasks: Vec<Task>,
    pub(super) queues: Vec<Queue>,
    pub(super) entities: Vec<Entity>,
    pub(super) who: Vec<Who>,
    /// The queue of a group on a CPU, as soon as it was used there.
    pub(super) at: BTreeMap<(Option<usize>, usize), usize>,
    /// Queues with load, by CPU, in the kernel's order.
    pub(super) listed: Vec<Vec<usize>>,
    /// The queue listed last, by CPU, as long as the one above it is not.
    pub(super) branch: Vec<Option<usize>>,
    pub(super) seen: Seen,
}

/// Shares as they are stored: 2 to 2^18, times 1024; an idle group has 3.
pub(super) fn stored(shares: u64, idle: bool) -> u64 {
    1024 * if idle { 3 } else { shares.clamp(2, 1 << 18) }
}

impl Model {
    pub(super) fn new(kernel: &str, cpus: usize) -> Model {
        debug_assert!(KERNELS.contains(&kernel));
        let mut model = Model {
            rules: Rules::of(kernel),
            groups: Vec::new(),
            tasks: Vec::new(),
            queues: Vec::new(),
            entities: Vec::new(),
            who: Vec::new(),
            at: BTreeMap::new(),
            listed: vec![Vec::new(); cpus],
            branch: vec![None; cpus],
            seen: Seen::default(),
        };
        for cpu in 0..cpus {
            model.queues.push(Queue::new(cpu, None, None));
            model.at.insert((None, cpu), cpu);
        }
        model
    }

    pub(super) fn add_group(&mut self, parent: Option<usize>, shares: u64, idle: bool) {
        let shares = stored(shares, idle);
        let mut written = Some(self.groups.len()).filter(|_| shares != stored(1024, false));
        self.groups.push(Group { parent, shares, idle, load_avg: 0, written: false });
        while let Some(group) = written {
            self.groups[group].written = true;
            written = self.groups[group].parent;
        }
    }

    /// The queue of a group on a CPU; it is there from its first use on.
    pub(super) fn queue(&mut self, group: Option<usize>, cpu: usize) -> usize {
        if let Some(&queue) = self.at.get(&(group, cpu)) {
            return queue;
        }
        let tg = group.expect("invariant: the roots are there from the start");
        let above = self.queue(self.groups[tg].parent, cpu);
        let mut avg = SchedAvg::default();
        self.rules.family.init_group(&mut avg, &self.queues[above].avg);
        let (entity, queue) = (self.entities.len(), self.queues.len());
        let light = self.groups[tg].written && self.rules.reweight != Reweight::IfChangedAndLoaded;
        self.entities.push(Entity {
            queue: above,
            below: Some(queue),
            weight: if light { 2 } else { 1 << 20 },
            second: 0,
            avg,
            on: false,
            delayed: false,
        });
        self.who.push(Who::Group(tg, cpu));
        self.queues.push(Queue::new(cpu, group, Some(entity)));
        self.at.insert((group, cpu), queue);
        queue
    }

    pub(super) fn add_task(&mut self, group: Option<usize>, cpu: usize, weight: u64) {
        let queue = self.queue(group, cpu);
        let mut avg = SchedAvg::default();
        self.rules.family.init_task(&mut avg, self.rules.down(weight));
        let entity = self.entities.len();
        self.who.push(Who::Task(self.tasks.len()));
        self.entities.push(Entity { queue, below: None, weight, second: 0, avg, on: false, delayed: false });
        self.tasks.push(Task { entity, cpu, group });
    }

    pub(super) fn parent(&self, entity: usize) -> Option<usize> {
        self.queues[self.entities[entity].queue].entity
    }

    fn now(&self, queue: usize) -> u64 {
        self.seen.clock[self.queues[queue].cpu]
    }

    /// An entity that leaves its queue to sleep stays there for now, as the core found: it is told later that it left or
    /// is runnable again, or it is still there.
    fn stays(&self, entity: usize) -> bool {
        let who = self.who[entity];
        self.seen.delays.iter().any(|row| row.0 == who) || self.seen.delayed.contains(&who)
    }

    /// A queue tells its group a change of load of more than a 64th, as update_tg_load_avg() does.
    pub(super) fn tell(&mut self, queue: usize) {
        let now = self.seen.now;
        let row = &mut self.queues[queue];
        let Some(group) = row.group else { return };
        if now - row.told_at < self.rules.report_every {
            return;
        }
        let (old, new) = (row.told, row.avg.load_avg);
        if new.abs_diff(old) > old / 64 {
            (row.told, row.told_at) = (new, now);
            self.groups[group].load_avg = self.groups[group].load_avg + new - old;
        }
    }

    /// calc_group_shares(): shares * load / (load elsewhere + load), unscaled 2 at the least.
    fn part(&self, queue: usize, load: u64) -> u64 {
        let row = &self.queues[queue];
        let group = &self.groups[row.group.expect("invariant: only groups have shares")];
        let everywhere = group.load_avg - row.told + load;
        let whole = group.shares * load;
        let part = whole.checked_div(everywhere).unwrap_or(whole);
        part.max(2).min(group.shares)
    }

    /// An entity and its queue are brought up to date, as by update_load_avg().
    pub(super) fn update(&mut self, entity: usize, tells: bool) {
        let queue = self.entities[entity].queue;
        let now = self.now(queue);
        let running = self.queues[queue].curr == Some(entity);
        let belongs = self.entities[entity].avg.last_update_time != 0;
        if belongs {
            self.entities[entity].age(&self.rules, now, running);
        }
        let mut other = self.queues[queue].age(&self.rules, now);
        if !belongs {
            self.join(entity);
        }
        other |= self.follow(entity);
        if !belongs || (other && tells) {
            self.tell(queue);
        }
    }

    /// Its averages join those of its queue.
    fn join(&mut self, entity: usize) {
        let row = &mut self.entities[entity];
        self.queues[row.queue].attach(&self.rules, self.rules.down(row.weight), &mut row.avg);
    }

    /// propagate_entity_load_avg(): the entity follows the queue below it.
    fn follow(&mut self, entity: usize) -> bool {
        let Some(below) = self.entities[entity].below else { return false };
        let above = self.entities[entity].queue;
        if self.rules.propagation == Propagation::AveragesAndRunnableLoad {
            let load = self.rules.down(self.part(below, self.queues[below].avg.runnable_avg));
            let avg = &mut self.entities[entity].avg;
            let delta = load as i64 - avg.runnable_avg as i64;
            if delta != 0 {
                (avg.runnable_avg, avg.runnable_sum) = (load, load * LOAD_AVG_MAX);
                let parent = &mut self.queues[above].avg;
                parent.runnable_avg = parent.runnable_avg.saturating_add_signed(delta);
                parent.runnable_sum = parent.runnable_avg * LOAD_AVG_MAX;
            }
        }
        if !self.queues[below].changed {
            return false;
        }
        self.queues[below].changed = false;
        let change = std::mem::take(&mut self.queues[below].change);
        self.queues[above].changes(change);
        let load = self.queues[below].avg.load_avg;
        let share = match self.rules.propagation {
            Propagation::Averages => {
                let group = &self.groups[self.queues[below].group.expect("invariant: it has a group")];
                let everywhere = group.load_avg + 1 - self.queues[below].told + load;
                if load > 0 && everywhere > self.rules.down(group.shares) {
                    load * self.rules.down(group.shares) / everywhere
                } else {
                    load
                }
            }
            Propagation::AveragesAndRunnableLoad => self.rules.down(self.part(below, load)),
            Propagation::RunnableSum | Propagation::RunnableSumAndCounts => 0,
        };
        let below = self.queues[below].clone();
        self.entities[entity].take(&self.rules, &mut self.queues[above], &below, change, share);
        true
    }

    /// The weight of a group's entity, as update_cfs_group() sets it.
    pub(super) fn weigh(&mut self, entity: usize) {
        let Some(below) = self.entities[entity].below else { return };
        let row = &self.queues[below];
        let rule = self.rules.reweight;
        if rule == Reweight::IfChangedAndLoaded && row.load == 0 {
            return;
        }
        let load = match self.rules.propagation {
            Propagation::Averages | Propagation::AveragesAndRunnableLoad => self.rules.down(row.load),
            Propagation::RunnableSum | Propagation::RunnableSumAndCounts => self.rules.down(row.load).max(row.avg.load_avg),
        };
        let weight = self.part(below, load);
        if rule != Reweight::Always && weight == self.entities[entity].weight {
            return;
        }
        let over = row.avg.load_avg.max(self.rules.down(row.load));
        let product = row.avg.runnable_avg.max(self.rules.down(row.second_load)) * weight;
        let second = product.checked_div(over).unwrap_or(product);
        let second = if self.rules.propagation == Propagation::RunnableSum { second.max(2).min(weight) } else { weight };
        let entity = &mut self.entities[entity];
        entity.reweigh(&self.rules, &mut self.queues[entity.queue], weight, second);
    }

    fn count_below(&mut self, entity: usize) {
        if let (Some(below), Propagation::RunnableSumAndCounts) = (self.entities[entity].below, self.rules.propagation) {
            self.entities[entity].second = u64::from(self.queues[below].runnable);
        }
    }

    /// The tasks of an entity are one more or less on its queue.
    fn count(&mut self, entity: usize, tasks: i32, runnable: i32) {
        let row = &mut self.queues[self.entities[entity].queue];
        row.tasks = row.tasks.strict_add_signed(tasks);
        row.runnable = row.runnable.strict_add_signed(runnable);
    }

    /// list_add_leaf_cfs_rq(): right before the queue above, or as part of a branch at the front; the root is the last.
    fn list(&mut self, queue: usize) {
        let row = &self.queues[queue];
        let (above, list) = (row.entity.map(|entity| self.entities[entity].queue), &mut self.listed[row.cpu]);
        if list.contains(&queue) {
            return;
        }
        let place = |of: usize| list.iter().position(|&other| other == of);
        let (at, closes) = match above {
            None => (list.len(), true),
            Some(above) => match (place(above), self.branch[row.cpu].and_then(place)) {
                (Some(at), _) => (at, true),
                (None, Some(last)) => (last + 1, false),
                (None, None) => (0, false),
            },
        };
        list.insert(at, queue);
        self.branch[row.cpu] = if closes { None } else { Some(queue) };
    }

    /// A task comes onto its queue, and every group above with it: enqueue_task_fair().
    pub(super) fn enqueue(&mut self, task: usize) {
        let first = self.tasks[task].entity;
        let runnable = i32::from(!self.entities[first].delayed);
        let mut level = Some(first);
        while let Some(entity) = level.filter(|&entity| !self.entities[entity].on) {
            self.update(entity, true);
            self.count_below(entity);
            self.weigh(entity);
            let queue = self.entities[entity].queue;
            self.queues[queue].runnable_load(&self.rules, &self.entities[entity], true);
            self.queues[queue].load += self.entities[entity].weight;
            self.queues[queue].nr += 1;
            self.entities[entity].on = true;
            if self.queues[queue].nr == 1 {
                self.list(queue);
            }
            self.count(entity, 1, runnable);
            level = self.parent(entity);
        }
        if let Some(group) = level.filter(|&group| self.entities[group].delayed) {
            self.update(group, false);
            self.entities[group].delayed = false;
        }
        while let Some(entity) = level {
            self.update(entity, true);
            self.count_below(entity);
            self.weigh(entity);
            self.count(entity, 1, runnable);
            level = self.parent(entity);
        }
    }

    /// A task leaves its queue: dequeue_task_fair(). Whether it left.
    pub(super) fn dequeue(&mut self, task: usize, how: Leaving) -> bool {
        let first = self.tasks[task].entity;
        let runnable = i32::from(how.sleeps || !self.entities[first].delayed);
        self.dequeue_entity(first, how, 1, runnable)
    }

    /// Of any entity, with the tasks that leave with it.
    fn dequeue_entity(&mut self, first: usize, mut how: Leaving, tasks: i32, runnable: i32) -> bool {
        let mut level = Some(first);
        while let Some(entity) = level {
            let queue = self.entities[entity].queue;
            if how.sleeps && how.may_delay && self.stays(entity) {
                self.update(entity, false);
                self.entities[entity].delayed = true;
                if entity == first {
                    self.sleeps_on_queue(entity, -1);
                    return false;
                }
                break;
            }
            let is_task = self.entities[entity].below.is_none();
            let detaches = how.migrates && is_task && self.rules.migrate_detach == MigrateDetach::InDequeue;
            self.update(entity, !detaches);
            if detaches {
                self.leave(entity);
                self.entities[entity].avg.last_update_time = 0;
            }
            self.count_below(entity);
            self.queues[queue].runnable_load(&self.rules, &self.entities[entity], false);
            self.entities[entity].on = false;
            self.queues[queue].load -= self.entities[entity].weight;
            self.queues[queue].nr -= 1;
            self.weigh(entity);
            if how.sleeps && !how.may_delay {
                // The end of a delay, or of the task. All above count the task as runnable until it is counted out there.
                if std::mem::take(&mut self.entities[entity].delayed) && is_task {
                    self.sleeps_on_queue(entity, 1);
                }
            }
            self.count(entity, -tasks, -runnable);
            level = self.parent(entity);
            if self.queues[queue].nr > 0 {
                break;
            }
            how = Leaving { sleeps: true, may_delay: true, ..how };
        }
        while let Some(entity) = level {
            self.update(entity, true);
            self.count_below(entity);
            self.weigh(entity);
            self.count(entity, -tasks, -runnable);
            level = self.parent(entity);
        }
        true
    }

    /// A task sleeps on its queue, or is runnable there again: nobody above is weighed for that.
    fn sleeps_on_queue(&mut self, entity: usize, by: i32) {
        let mut level = Some(entity);
        while let Some(entity) = level {
            self.count(entity, 0, by);
            level = self.parent(entity);
        }
    }

    /// A task that sleeps on its queue is woken there.
    pub(super) fn requeue(&mut self, task: usize) {
        let entity = self.tasks[task].entity;
        self.update(entity, false);
        self.entities[entity].delayed = false;
        self.sleeps_on_queue(entity, 1);
    }

    /// Whoever sleeps on a queue and was picked leaves it.
    pub(super) fn complete(&mut self, who: Who) {
        let how = Leaving { sleeps: true, may_delay: false, migrates: false };
        match who {
            Who::Task(task) => {
                self.dequeue(task, how);
            }
            Who::Group(group, cpu) => {
                let queue = self.at[&(Some(group), cpu)];
                let entity = self.queues[queue].entity.expect("invariant: a group has an entity");
                self.dequeue_entity(entity, how, 0, 0);
            }
        }
    }

    /// Its averages leave those of its queue.
    fn leave(&mut self, entity: usize) {
        let row = &self.entities[entity];
        let queue = row.queue;
        self.queues[queue].detach(&self.rules, self.rules.down(row.weight), &row.avg);
        self.tell(queue);
    }

    /// propagate_entity_cfs_rq(): all above are brought up to date.
    fn tell_all_above(&mut self, entity: usize) {
        self.list(self.entities[entity].queue);
        let mut level = self.parent(entity);
        while let Some(entity) = level {
            self.list(self.entities[entity].queue);
            self.update(entity, true);
            level = self.parent(entity);
        }
    }

    /// A task that is on no queue takes its averages off, or puts them on.
    pub(super) fn detach(&mut self, entity: usize) {
        if self.entities[entity].avg.last_update_time == 0 {
            return;
        }
        let queue = self.entities[entity].queue;
        let now = self.now(queue);
        self.entities[entity].age_blocked(&self.rules, now);
        self.queues[queue].age(&self.rules, now);
        self.leave(entity);
        self.tell_all_above(entity);
    }

    pub(super) fn attach(&mut self, entity: usize) {
        let queue = self.entities[entity].queue;
        let now = self.now(queue);
        self.queues[queue].age(&self.rules, now);
        self.join(entity);
        self.tell(queue);
        self.tell_all_above(entity);
    }
}
