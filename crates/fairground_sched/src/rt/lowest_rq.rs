//! Where a real-time task may run: the CPUs of the lowest priority.

use super::RtRq;
use crate::Sched;
use crate::core::PushPull;
use crate::ctx::Ctx;
use crate::fair::select_task_rq::Wake;
use crate::seam::{CpupriDeadline, RtFit};
use fairground_model::Reason;
use fairground_stdx::{CpuId, CpuMask, TaskId};

impl Sched {
    /// The CPUs that a task may use whose highest queued priority is lowest, if that is lower than its own. One with fair tasks is as
    /// low as an idle one; one of which a deadline entity was written last is higher than all (CPUPRI_HIGHER). Where CPUs differ, only those count that have what
    /// the task asks for, if any has.
    ///
    /// Kernel: cpupri.c cpupri_find_fitness(), v5.6– (cpupri_find() before)
    pub(super) fn cpupri_find(&self, cx: &Ctx<'_, '_>, task: TaskId) -> Option<CpuMask> {
        let fitting =
            self.rt_looks_for_capacity().then(|| self.lowest_cpus(cx, task, |cpu| self.rt_task_fits_capacity(task, cpu)));
        fitting.flatten().or_else(|| self.lowest_cpus(cx, task, |_| true))
    }

    /// Of the CPUs for which `fits` holds.
    fn lowest_cpus(&self, cx: &Ctx<'_, '_>, task: TaskId, fits: impl Fn(CpuId) -> bool) -> Option<CpuMask> {
        let allowed = self.tasks[task].cpus_allowed.and(&cx.machine.online);
        let (mut lowest, mut mask) = (self.rt_prio(task), CpuMask::EMPTY);
        let open = |&cpu: &CpuId| self.rqs[cpu].online && !self.rqs[cpu].rt.cpupri_higher && fits(cpu);
        for cpu in allowed.iter().filter(open) {
            let prio = self.rqs[cpu].rt.highest_prio();
            if prio > lowest {
                (lowest, mask) = (prio, CpuMask::EMPTY);
            }
            if prio == lowest && lowest > self.rt_prio(task) {
                mask.insert(cpu);
            }
        }
        (!mask.is_empty()).then_some(mask)
    }

    /// The first deadline entity has come to a CPU, or the last one has left it.
    ///
    /// Kernel: deadline.c inc_dl_deadline(), dec_dl_deadline() with cpupri_set(), v5.11–
    pub(crate) fn cpupri_set_by_dl(&mut self, cpu: CpuId) {
        let counts = self.profile.cpupri_deadline == CpupriDeadline::Higher;
        self.rqs[cpu].rt.cpupri_higher = counts && self.rqs[cpu].dl.is_runnable();
    }

    /// The highest priority of the real-time tasks of a CPU is another one than `before`: it is written over what a deadline entity has
    /// written. Off line nothing is written.
    ///
    /// Kernel: rt.c inc_rt_prio_smp(), dec_rt_prio_smp(), v4.12–
    pub(super) fn cpupri_set_by_rt(&mut self, cpu: CpuId, before: u8) {
        let rq = &mut self.rqs[cpu];
        if rq.online && rq.rt.highest_prio() != before {
            rq.rt.cpupri_higher = false;
        }
    }

    /// All CPUs come to new domains, which know of their real-time tasks only.
    ///
    /// Kernel: topology.c rq_attach_root(), rt.c rq_online_rt(), v4.12–
    pub(crate) fn cpupri_set_anew(&mut self) {
        self.rqs.iter_mut().for_each(|rq| rq.rt.cpupri_higher = false);
    }

    /// Where a woken or new real-time task is queued: where it was, unless a real-time or deadline task runs there that does not give way
    /// to it, or cannot go elsewhere, or the CPU has less than it asks for and another that is of lower priority has that.
    ///
    /// Kernel: rt.c select_task_rq_rt(), v4.12–
    #[cold]
    pub(crate) fn select_task_rq_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, wake: Wake) -> (CpuId, Reason) {
        let prev = self.tasks[task].cpu;
        let stays = (prev, Reason::SelectRtPrev);
        let held = self.rqs[prev].curr.is_some_and(|curr| RtRq::holds(self, curr, task));
        if wake == Wake::Exec || (!held && self.rt_task_fits_capacity(task, prev)) {
            return stays;
        }
        match self.find_other_rq::<RtRq>(cx, task, self.rt_prio(task)) {
            Some(target) if held || self.rt_task_fits_capacity(task, target) => (target, Reason::SelectRtLowest),
            _ => stays,
        }
    }

    /// Whether real-time tasks look for capacity: CPUs differ, and clamps are in use.
    fn rt_looks_for_capacity(&self) -> bool {
        self.profile.rt_fit == RtFit::Capacity && self.topology.asym_cpucap_active && self.uclamps.is_used()
    }

    /// Whether a CPU has what a task asks for; whoever asks for more than it may have asks for that.
    ///
    /// Kernel: rt.c rt_task_fits_capacity(), v5.6–
    fn rt_task_fits_capacity(&self, task: TaskId, cpu: CpuId) -> bool {
        let clamps = self.uclamp_eff_value(task);
        !self.rt_looks_for_capacity() || self.capacity_orig_of(cpu) >= u64::from(clamps.min.min(clamps.max))
    }
}

#[cfg(test)]
mod tests {
    use crate::deadline::{DlSe, DlTimer};
    use crate::fair::select_task_rq::{TestMachine, cpu};
    use fairground_model::{DlParams, MachineView, Policy, RtPriority, TaskSpec};
    use fairground_stdx::{CpuMask, Instant, Ns, ProgramId, TaskId};

    const MS: u64 = 1_000_000;

    fn fifo(priority: i64) -> Policy {
        Policy::Fifo(RtPriority::new(priority).unwrap())
    }

    fn begin(machine: &mut TestMachine, number: u32, policy: Policy) -> TaskId {
        let spec = TaskSpec { policy, ..TaskSpec::new("task", ProgramId::new(0)) };
        let task = machine.sched.add_task(&spec, CpuMask::first_n(2));
        machine.begin(number, task);
        task
    }

    fn goes_to_1(machine: &mut TestMachine, task: TaskId) -> bool {
        machine.on(0, |sched, cx| sched.cpupri_find(cx, task)).is_some_and(|mask| mask.contains(cpu(1)))
    }

    /// A deadline task comes to CPU 1. A real-time task that comes there too, and goes, is written over that, and so are new domains.
    #[test]
    fn what_was_written_of_a_cpu_last_counts() {
        for (kernel, is_higher) in [("v5.10", false), ("v5.19", true), ("v6.1", true)] {
            let mut machine = TestMachine::new(kernel, MachineView::flat(2, Ns(MS)));
            let asks = begin(&mut machine, 0, fifo(5));
            machine.running(1);
            assert!(goes_to_1(&mut machine, asks), "{kernel}");
            let [runtime, period] = [1, 100].map(|ms| Ns(ms * MS));
            let params = DlParams { runtime, deadline: period, period, reclaim: false };
            let urgent = machine.running(1);
            let change = |machine: &mut TestMachine, task, policy| {
                machine.on(1, |sched, cx| sched.sched_setscheduler(cx, task, policy)).unwrap();
            };
            change(&mut machine, urgent, Policy::Deadline(params));
            assert_eq!(goes_to_1(&mut machine, asks), !is_higher, "{kernel}: a deadline task is queued");
            let other = machine.running(1);
            change(&mut machine, other, fifo(1));
            assert!(goes_to_1(&mut machine, asks), "{kernel}: a real-time task was written over it");
            change(&mut machine, urgent, Policy::Normal);
            change(&mut machine, urgent, Policy::Deadline(params));
            assert_eq!(goes_to_1(&mut machine, asks), !is_higher, "{kernel}: the first one again");
            change(&mut machine, other, Policy::RoundRobin(RtPriority::new(1).unwrap()));
            assert!(goes_to_1(&mut machine, asks), "{kernel}: the only real-time task was put down and is back");
            change(&mut machine, urgent, Policy::Normal);
            change(&mut machine, urgent, Policy::Deadline(params));
            machine.sched.cpupri_set_anew();
            assert!(goes_to_1(&mut machine, asks), "{kernel}: the domains are new");
        }
    }

    /// The server of the fair class is a deadline entity, too.
    #[test]
    fn a_queued_server_puts_its_cpu_above_real_time_tasks() {
        let mut machine = TestMachine::new("v6.12", MachineView::flat(2, Ns(MS)));
        let asks = begin(&mut machine, 0, fifo(5));
        machine.sched.expect_policy(fifo(1));
        machine.running(1);
        assert!(goes_to_1(&mut machine, asks));
        machine.now = Instant::from_ns(2_000 * MS);
        machine.on(1, |sched, cx| sched.dl_timer(cx, DlTimer::Replenish(DlSe::FairServer(cpu(1)))));
        assert_eq!(machine.sched.rqs[cpu(1)].nr_counted(), 2);
        assert!(!goes_to_1(&mut machine, asks));
    }

    /// Who changes between the two policies of one priority leaves its CPU for a moment, so the others hear of a second task as it is back.
    #[test]
    fn a_change_within_a_priority_tells_of_a_second_task() {
        for kernel in ["v5.10", "v6.12", "v7.2"] {
            let mut machine = TestMachine::new(kernel, MachineView::flat(2, Ns(MS)));
            let runs = begin(&mut machine, 1, fifo(1));
            machine.running(1);
            machine.sched.topology.overload = false;
            let policy = Policy::RoundRobin(RtPriority::new(1).unwrap());
            machine.on(1, |sched, cx| sched.sched_setscheduler(cx, runs, policy)).unwrap();
            assert!(machine.sched.topology.overload, "{kernel}");
            assert_eq!(machine.sched.rq(cpu(1)).nr_running, 2, "{kernel}");
        }
    }
}
