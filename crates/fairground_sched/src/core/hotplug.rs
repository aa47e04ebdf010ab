//! CPUs that go off line and come back.

use crate::Sched;
use crate::ctx::{Ctx, SCHED_CLOCK_AT_START};
use crate::fair::balance::BalanceWork;
use crate::rt::MAX_RT_PRIO;
use crate::topology::Topology;
use fairground_model::{DL_PRIO, Policy};
use fairground_stdx::{CpuId, TaskId};

/// The last CPU cannot go off line (EBUSY).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastCpu(
    /// That CPU.
    pub CpuId,
);

impl std::fmt::Display for LastCpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CPU {} is the last one on line and cannot go off line", self.0)
    }
}

impl Sched {
    /// A CPU goes off line; `cx.machine` shows the machine without it. Its tasks move: those that wait at once, the
    /// smallest virtual time first, the one that runs at its next schedule(), which is asked for. Each goes to an
    /// allowed CPU of the same node, else to any allowed one; one that has none left may run anywhere.
    ///
    /// Kernel: core.c sched_cpu_deactivate(), balance_push(), migrate_tasks() up to v5.10, v4.12–
    pub fn set_cpu_offline(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> Result<(), LastCpu> {
        if cx.machine.online.is_empty() {
            return Err(LastCpu(cpu));
        }
        if !self.rqs[cpu].online {
            return Ok(());
        }
        self.queue_wake_list(cx, cpu);
        self.end_migrations_to(cx, cpu);
        self.nohz_balance_exit_idle(cpu);
        self.rqs[cpu].online = false;
        // The kernel scales its tunables while the CPU still counts.
        self.tunables = self.profile.tunables.at(cx.machine.online.weight() as u32 + 1);
        self.rebuild_sched_domains(cx);
        self.hotplug_releases_quota(cx, cpu);
        self.rq_offline_rt(cx, cpu);
        self.hrtick_clear(cx, cpu);
        self.push_tasks_off(cx, cpu);
        self.dl_server_off_line(cx, cpu);
        Ok(())
    }

    /// The same where another core decides: it moves the tasks, and our tables follow.
    pub fn led_offline(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let caller = std::mem::replace(&mut cx.cpu, cpu);
        self.led_wake_list(cx);
        cx.cpu = caller;
        self.rqs[cpu].online = false;
        self.rebuild_sched_domains(cx);
    }

    /// A CPU comes back where another core decides.
    pub fn led_online(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.rqs[cpu].online = true;
        self.update_rq_clock(cx, cpu);
        self.rebuild_sched_domains(cx);
    }

    /// A CPU comes back, idle; `cx.machine` shows the machine with it. Tasks that may use it may do so again.
    ///
    /// Kernel: core.c sched_cpu_activate(), v4.12–
    pub fn set_cpu_online(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.rqs[cpu].online {
            return;
        }
        self.rqs[cpu].online = true;
        self.update_rq_clock(cx, cpu);
        self.tunables = self.profile.tunables.at(cx.machine.online.weight() as u32);
        self.rebuild_sched_domains(cx);
        self.hotplug_releases_quota(cx, cpu);
        self.rq_online_rt(cpu);
    }

    /// Tasks whose wake-up `cpu` was to finish are queued there, and leave with the others.
    ///
    /// Kernel: smp.c flush_smp_call_function_queue() on the dying CPU, v5.8– (core.c sched_cpu_dying() before)
    fn queue_wake_list(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let caller = std::mem::replace(&mut cx.cpu, cpu);
        self.sched_ttwu_pending(cx);
        cx.cpu = caller;
    }

    fn push_tasks_off(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let queued = |task: &TaskId| {
            let row = &self.tasks[*task];
            row.cpu == cpu && row.state.is_on_rq()
        };
        let mut leaving: Vec<TaskId> = self.tasks.ids().filter(queued).collect();
        // Deadline tasks come first, then real-time tasks in order of priority.
        let order = |task: TaskId| match self.tasks[task].policy {
            Policy::Deadline(_) => (DL_PRIO, self.tasks[task].dl.deadline() as i64),
            Policy::Fifo(priority) | Policy::RoundRobin(priority) => (i32::from(priority.prio()), 0),
            _ => (i32::from(MAX_RT_PRIO), self.ses[self.tasks[task].se].vruntime.0 as i64),
        };
        leaving.sort_by_key(|&task| order(task));
        for task in leaving {
            self.leave_forbidden_cpu(cx, task);
        }
        // Those that were on their way here go elsewhere.
        for task in self.tasks.ids() {
            if self.tasks[task].migration_pending == Some(cpu) {
                self.leave_forbidden_cpu(cx, task);
            }
        }
    }

    /// Builds the domains anew, with fresh state of balancing. Who balances or searches goes on in the old ones to the end.
    ///
    /// Kernel: topology.c partition_sched_domains(), v4.12–
    fn rebuild_sched_domains(&mut self, cx: &Ctx<'_, '_>) {
        let mut fresh = Topology::build(&self.profile, cx.machine);
        fresh.set_birth(cx.jiffies, SCHED_CLOCK_AT_START + cx.now.ns());
        let balancing = self.balance_works.iter().any(|work| !matches!(work, BalanceWork::None));
        let searching = self.searches.any();
        self.topology.replace(fresh, balancing || searching);
        self.group_stats.forget();
        // The new domains count all their CPUs as busy.
        self.rqs.iter_mut().for_each(|rq| rq.lb.counted_idle = false);
        for cpu in cx.machine.online.iter() {
            self.update_cpu_capacity(cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Request};
    use fairground_model::{Decision, Digest, MachineView, Meter, Reason, Recorder, Sink, TaskSpec, TraceEvent};
    use fairground_stdx::{CpuMask, Instant, Ns, ProgramId};

    #[derive(Default)]
    struct Decisions(Vec<Reason>);

    impl Sink for Decisions {
        fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
            if let TraceEvent::Decision(Decision { reason, .. }) = event {
                self.0.push(*reason);
            }
        }
    }

    /// Eight CPUs on two nodes.
    struct Bench {
        sched: Sched,
        machine: MachineView,
        decisions: Decisions,
    }

    fn cpu(number: u32) -> CpuId {
        CpuId::new(number)
    }

    fn cpus(list: &str) -> CpuMask {
        CpuMask::parse_list(list).unwrap()
    }

    impl Bench {
        fn new(profile: &str) -> Bench {
            let mut machine = MachineView::flat(8, Ns::from_ms(4));
            machine.distances = vec![vec![10, 20], vec![20, 10]];
            for number in 0..8 {
                let view = &mut machine.cpus[cpu(number)];
                (view.node, view.package, view.llc) = (number / 4, number / 4, cpus(if number < 4 { "0-3" } else { "4-7" }));
            }
            let sched = Sched::new(Profile::parse(profile).unwrap(), &machine);
            Bench { sched, machine, decisions: Decisions::default() }
        }

        fn call<R>(&mut self, on: CpuId, call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
            let (mut digest, mut meter, mut requests) = (Digest::default(), Meter::free(), Vec::<Request>::new());
            let mut trace = Recorder::new(&mut digest, &mut self.decisions);
            let machine = &self.machine;
            let now = Instant::ZERO;
            let (meter, requests, trace) = (&mut meter, &mut requests, &mut trace);
            call(&mut self.sched, &mut Ctx { now, cpu: on, jiffies: 7, until: Instant::MAX, machine, meter, requests, trace })
        }

        fn task_on(&mut self, on: CpuId, allowed: &str) -> TaskId {
            let mut spec = TaskSpec::new("task", ProgramId::new(0));
            spec.first_cpu = Some(on);
            let task = self.sched.add_task(&spec, cpus(allowed));
            self.call(on, |sched, cx| {
                sched.sched_fork(cx, None, task);
                sched.wake_up_new_task(cx, task, Some(on))
            });
            task
        }

        fn schedule(&mut self, on: CpuId) -> Option<TaskId> {
            self.call(on, |sched, cx| sched.schedule(cx)).next
        }

        fn offline(&mut self, number: u32) -> Result<(), LastCpu> {
            self.machine.online.remove(cpu(number));
            let acting = self.machine.online.first().unwrap_or(cpu(number));
            self.call(acting, |sched, cx| sched.set_cpu_offline(cx, cpu(number)))
        }

        fn online(&mut self, number: u32) {
            self.machine.online.insert(cpu(number));
            self.call(cpu(0), |sched, cx| sched.set_cpu_online(cx, cpu(number)));
        }
    }

    #[test]
    fn tasks_leave_for_the_same_node() {
        for profile in ["v4.12", "v5.10", "v6.1", "v6.14"] {
            let mut bench = Bench::new(profile);
            let running = bench.task_on(cpu(6), "0-7");
            assert_eq!(bench.schedule(cpu(6)), Some(running));
            let waiting = bench.task_on(cpu(6), "0-7");
            let elsewhere = bench.task_on(cpu(6), "1,6");
            bench.offline(6).unwrap();
            assert_eq!(bench.sched.task(waiting).cpu, cpu(4), "{profile}");
            assert_eq!(bench.sched.task(elsewhere).cpu, cpu(1), "{profile}");
            assert!(bench.sched.rq(cpu(6)).need_resched);
            assert_eq!(bench.schedule(cpu(6)), None);
            assert_eq!(bench.sched.task(running).cpu, cpu(4), "{profile}");
            assert_eq!(bench.sched.rq(cpu(6)).nr_running, 0);
        }
    }

    #[test]
    fn a_bound_task_may_run_anywhere_when_its_cpu_is_gone() {
        let mut bench = Bench::new("v6.1");
        let bound = bench.task_on(cpu(6), "6");
        bench.offline(6).unwrap();
        assert_eq!((bench.sched.task(bound).cpu, bench.sched.task(bound).cpus_allowed), (cpu(4), cpus("0-7")));
        assert!(bench.decisions.0.contains(&Reason::AffinityWidened));
    }

    /// Between the two parts of a birth its CPU goes off line, or is forbidden.
    #[test]
    fn who_is_being_born_follows_the_others() {
        for profile in ["v4.12", "v5.10", "v6.1", "v6.14"] {
            for goes_off_line in [true, false] {
                let mut bench = Bench::new(profile);
                let task = bench.sched.add_task(&TaskSpec::new("task", ProgramId::new(0)), cpus("0-7"));
                let target = bench.call(cpu(6), |sched, cx| {
                    sched.sched_fork(cx, None, task);
                    sched.select_new_task(cx, task, Some(cpu(6)))
                });
                assert_eq!(target, cpu(6));
                match goes_off_line {
                    true => bench.offline(6).unwrap(),
                    false => assert!(bench.call(cpu(0), |sched, cx| sched.set_cpus_allowed(cx, task, cpus("4")))),
                }
                bench.call(cpu(5), |sched, cx| sched.activate_new_task(cx, task, target));
                assert_eq!(bench.sched.task(task).cpu, cpu(4), "{profile}");
                assert_eq!([4, 6].map(|number| bench.sched.rq(cpu(number)).nr_running), [1, 0], "{profile}");
            }
        }
    }

    #[test]
    fn the_last_cpu_stays() {
        let mut bench = Bench::new("v6.1");
        (1..8).for_each(|number| bench.offline(number).unwrap());
        assert!(bench.sched.topology().domains_of(cpu(0)).next().is_none());
        let refused = bench.offline(0).unwrap_err();
        assert_eq!(refused.to_string(), "CPU 0 is the last one on line and cannot go off line");
        assert!(bench.sched.rq(cpu(0)).online);
    }

    #[test]
    fn domains_follow_and_keep_no_state() {
        let mut bench = Bench::new("v6.1");
        let weights = |bench: &Bench, number| {
            let topology = bench.sched.topology();
            topology.domains_of(cpu(number)).map(|sd| topology.domains[sd].span_weight).collect::<Vec<_>>()
        };
        let before = weights(&bench, 5);
        bench.offline(6).unwrap();
        assert_eq!((before, weights(&bench, 5), weights(&bench, 6)), (vec![4, 8], vec![3, 7], vec![]));
        let topology = bench.sched.topology();
        assert!(topology.domains.iter().all(|sd| sd.last_balance == 7 && !sd.span.contains(cpu(6))));
        bench.online(6);
        assert_eq!((weights(&bench, 5), weights(&bench, 6)), (vec![4, 8], vec![4, 8]));
    }

    #[test]
    fn who_balances_goes_on_in_the_old_domains() {
        let bench = Bench::new("v6.1");
        let (old, mut topology) = (bench.sched.topology().clone(), bench.sched.topology().clone());
        topology.replace(old.clone(), true);
        assert_eq!(topology.domains.len(), 2 * old.domains.len());
        for number in 0..8 {
            let spans = |topology: &Topology, sd| {
                topology.groups_of(sd).map(|group| topology.groups[group].span).collect::<Vec<CpuMask>>()
            };
            let rows = old.domains_of(cpu(number)).zip(topology.domains_of(cpu(number)));
            for (before, after) in rows {
                assert_eq!(spans(&old, before), spans(&topology, after));
                assert_eq!(spans(&old, before), spans(&topology, before), "the old rows stay valid");
                assert_eq!(old.domains[before].shared.is_some(), topology.domains[after].shared.is_some());
            }
        }
    }

    #[test]
    fn allowed_cpus_off_line_are_remembered() {
        let mut bench = Bench::new("v6.1");
        let task = bench.task_on(cpu(0), "0-7");
        bench.offline(2).unwrap();
        assert!(!bench.call(cpu(0), |sched, cx| sched.set_cpus_allowed(cx, task, cpus("2"))), "EINVAL");
        assert_eq!(bench.sched.task(task).cpus_allowed, cpus("0-7"));
        assert!(bench.call(cpu(0), |sched, cx| sched.set_cpus_allowed(cx, task, cpus("2-3"))));
        assert_eq!((bench.sched.task(task).cpu, bench.sched.task(task).cpus_allowed), (cpu(3), cpus("2-3")));
        bench.online(2);
        bench.offline(3).unwrap();
        assert_eq!(bench.sched.task(task).cpu, cpu(2));
    }
}
