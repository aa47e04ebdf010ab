//! Tests of EEVDF on one CPU. This file has what they share: queues that are made by hand, and acts of tasks.

mod lag;
mod pick;
mod preempt;
mod turns;

use crate::fair::CfsRq;
use crate::fair::pick::Respect;
use crate::fair::tests::bench::{Bench, CPU, Decisions};
use crate::fair::weight::{LoadWeight, SCHED_FIXEDPOINT_SHIFT};
use crate::task::TaskState;
use crate::{Profile, WakeFlags, Waking};
use fairground_model::{Policy, PrevState, Reason, WakeContext};
use fairground_stdx::{Instant, TaskId, Vruntime};

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
