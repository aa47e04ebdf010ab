//! Seam `throttle`, `on-user-return`: a throttled queue only marks; each of its tasks leaves the queue on its own way back to
//! user mode, and waits in limbo.
//!
//! ```text
//! picked below a throttled queue ─► throttle_work ─► return to user mode: dequeued, head of its queue's limbo, schedule()
//! (from v7.2: running, or put on the CPU, below one)
//! queue released, none above is throttled ─► limbo, last come first: enqueued as if woken
//! ```
//!
//! Contract: a task in limbo is on no queue and counts nowhere, and yet runnable; it is in the limbo of its own queue, which is
//! throttled, or below one that is. Counts and load go up as if nothing were throttled.

use crate::Sched;
use crate::ctx::{Ctx, Request};
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::seam::{Throttle, ThrottleAt, ThrottledTime};
use crate::task::TaskState;
use fairground_model::{Op, QueueAct, Reason};
use fairground_stdx::{CfsRqId, TaskId};

impl Sched {
    /// Marks a task to leave its queue before it returns to user mode. Kernel threads are never marked.
    ///
    /// Kernel: fair.c task_throttle_setup_work(), v6.18–
    pub(crate) fn task_throttle_setup_work(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let row = &mut self.tasks[task];
        if row.kthread || std::mem::replace(&mut row.throttle_work, true) {
            return;
        }
        cx.decide(Reason::ThrottleMark, Some(task), 0);
    }

    /// The queue of a running task was throttled where it was charged: the task is marked, and another CPU interrupted for that.
    ///
    /// Kernel: fair.c task_throttle_setup_work() from throttle_cfs_rq(), task_work.c task_work_add(), v7.2–
    pub(super) fn mark_where_it_runs(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let cpu = self.tasks[task].cpu;
        let marked = self.tasks[task].throttle_work;
        self.task_throttle_setup_work(cx, task);
        if cpu != cx.cpu && self.tasks[task].throttle_work && !marked {
            self.interrupt_cpu(cx, cpu, |cpu, at| Request::ReschedIpi { cpu, at });
        }
    }

    /// The last of an enqueue with `on-user-return-v1`: a task that comes below a throttled queue is marked at once.
    ///
    /// In the mail of March 2025 that is the end of enqueue_task_fair().
    #[inline]
    pub(in crate::fair) fn mark_if_throttled(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let queue = self.ses[self.tasks[task].se].cfs_rq;
        if self.profile.throttle == Throttle::OnUserReturnV1 && self.throttled_hierarchy(queue) {
            self.task_throttle_setup_work(cx, task);
        }
    }

    /// Every task on a queue is marked, the running one included.
    ///
    /// In the mail of March 2025 tg_throttle_down() does so.
    pub(super) fn mark_all(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        let row = &self.cfs_rqs[queue];
        let waiting = row.timeline.iter().map(|row| row.1).chain(row.deadlines.iter().map(|row| row.item));
        let mut tasks = std::mem::take(&mut self.bandwidth.marked);
        tasks.extend(waiting.chain(row.curr).filter_map(|se| self.ses[se].task));
        cx.meter.count_n(Op::BwMark, tasks.len() as u64);
        for task in tasks.drain(..) {
            self.task_throttle_setup_work(cx, task);
        }
        self.bandwidth.marked = tasks;
    }

    /// The current task is about to return to user mode with a mark: it leaves its queue, unless that was released meanwhile. The
    /// caller then calls schedule(), as is asked for.
    ///
    /// Kernel: fair.c throttle_cfs_rq_work(), v6.18–
    pub fn throttle_cfs_rq_work(&mut self, cx: &mut Ctx<'_, '_>) {
        let cpu = cx.cpu;
        let task = self.rqs[cpu].curr.expect("invariant: a task returns to user mode");
        self.touch_levels(task);
        self.tasks[task].throttle_work = false;
        let queue = self.ses[self.tasks[task].se].cfs_rq;
        self.count_rq_lock(cx, cpu);
        if !self.is_fair(task) || !self.throttled_hierarchy(queue) {
            return;
        }
        self.update_rq_clock(cx, cpu);
        if cx.trace.wants_samples() {
            self.tell(cx, cpu, QueueAct::Stop, (None, Some(task)));
        }
        let without_delay = match self.profile.throttle {
            Throttle::OnUserReturnV1 => DequeueFlags::SPECIAL,
            Throttle::OnUserReturn | Throttle::CfsRqDequeue => DequeueFlags::THROTTLE,
        };
        self.deactivate_task(cx, task, DequeueFlags::SLEEP.with(without_delay));
        self.start_throttled_clocks(task);
        self.enter_limbo(task);
        cx.decide(Reason::ThrottleWork, Some(task), 0);
        self.resched_curr(cx, cpu);
    }

    /// The first task below a throttled queue that stops begins what cpu.stat counts as throttled time.
    ///
    /// Kernel: fair.c record_throttle_clock(), v6.18–
    fn start_throttled_clocks(&mut self, task: TaskId) {
        if self.profile.throttled_time != ThrottledTime::FirstStop {
            return;
        }
        let cpu = self.tasks[task].cpu;
        let clock = self.rqs[cpu].clocks.clock;
        let mut level = Some(self.tasks[task].se);
        while let Some(se) = level {
            let account = self.pool_of(self.ses[se].cfs_rq).map(|pool| &mut pool.accounts[cpu]);
            if let Some(account) = account.filter(|account| account.throttled && account.throttled_clock == 0) {
                account.throttled_clock = clock;
            }
            level = self.ses[se].parent;
        }
    }

    /// A task, which is on no queue, waits for quota.
    fn enter_limbo(&mut self, task: TaskId) {
        let queue = self.ses[self.tasks[task].se].cfs_rq;
        let next = self.throttled_queue(queue).limbo.replace(task);
        let row = &mut self.tasks[task];
        (row.throttled, row.throttle_next, row.state) = (true, next, TaskState::Limbo);
    }

    /// Takes a task out of the limbo of its queue.
    fn leave_limbo(&mut self, task: TaskId) {
        let queue = self.ses[self.tasks[task].se].cfs_rq;
        let next = self.tasks[task].throttle_next.take();
        let mut place = self.bandwidth.queues[queue].limbo.expect("invariant: a task in limbo is in that of its queue");
        if place == task {
            self.bandwidth.queues[queue].limbo = next;
            return;
        }
        while let Some(other) = self.tasks[place].throttle_next.filter(|&other| other != task) {
            place = other;
        }
        self.tasks[place].throttle_next = next;
    }

    /// Enqueues the tasks in the limbo of a queue, the last first, when nothing above it is throttled any more.
    ///
    /// Kernel: fair.c tg_unthrottle_up(), v6.18–
    pub(super) fn release_limbo(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        if self.profile.throttle_at == ThrottleAt::Charge {
            return self.release_limbo_while_paid(cx, queue);
        }
        while let Some(task) = self.bandwidth.queues.get(queue).and_then(|row| row.limbo) {
            self.leave_limbo(task);
            self.is_queued_again(task);
            self.enqueue_task(cx, task, EnqueueFlags::WAKEUP);
        }
    }

    /// An enqueue charges those that run on the queues above, which may throttle one of them, and with it this queue: the rest
    /// goes back to limbo then.
    ///
    /// Kernel: fair.c tg_unthrottle_up(), v7.2–
    fn release_limbo_while_paid(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId) {
        let mut waiting = self.throttled_queue(queue).limbo.take();
        while let Some(task) = waiting.filter(|_| !self.throttled_hierarchy(queue)) {
            waiting = self.tasks[task].throttle_next.take();
            self.is_queued_again(task);
            self.enqueue_task(cx, task, EnqueueFlags::WAKEUP);
        }
        if waiting.is_some() {
            self.bandwidth.queues[queue].limbo = waiting;
        }
    }

    /// A task that was in limbo is not any more. One that has not left its CPU yet runs on.
    fn is_queued_again(&mut self, task: TaskId) {
        let running = self.rqs[self.tasks[task].cpu].curr == Some(task);
        let row = &mut self.tasks[task];
        (row.throttled, row.state) = (false, if running { TaskState::Running } else { TaskState::Queued });
    }

    /// A task in limbo is taken off its queue, on which it is not, since something about it changes.
    ///
    /// Kernel: fair.c dequeue_throttled_task(), v6.18–
    pub(in crate::fair) fn dequeue_throttled_task(&mut self, task: TaskId, flags: DequeueFlags) {
        self.leave_limbo(task);
        if flags.has(DequeueFlags::SLEEP) {
            self.tasks[task].throttled = false;
        }
    }

    /// A task that was in limbo comes to a queue. True: into the limbo of that, and that was all.
    ///
    /// Kernel: fair.c enqueue_throttled_task(), v6.18–
    pub(in crate::fair) fn enqueue_throttled_task(&mut self, task: TaskId) -> bool {
        let row = &self.tasks[task];
        let runs = self.rqs[row.cpu].curr == Some(task);
        let waits = self.profile.throttle == Throttle::OnUserReturn && !runs;
        if waits && self.throttled_hierarchy(self.ses[row.se].cfs_rq) {
            self.enter_limbo(task);
            return true;
        }
        self.is_queued_again(task);
        false
    }

    /// Who waits in the limbo of a queue, in the order in which they are released.
    pub fn limbo(&self, queue: CfsRqId) -> impl Iterator<Item = TaskId> {
        let first = self.bandwidth.queues.get(queue).and_then(|row| row.limbo);
        std::iter::successors(first, |&task| self.tasks[task].throttle_next)
    }
}
