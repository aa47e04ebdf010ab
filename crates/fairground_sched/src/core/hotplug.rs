//! CPUs that go off line and come back.

use crate::Sched;
use crate::ctx::{Ctx, SCHED_CLOCK_AT_START};
use crate::fair::balance::BalanceWork;
use crate::seam::{HotplugPush, OfflineClock};
use crate::topology::Topology;
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
    /// A CPU goes off line; `cx.machine` shows the machine without it. Nobody new comes there, and its tasks leave: each at its
    /// schedule() ([`HotplugPush::BalancePush`]), or all with the next one. Each goes to
    /// an allowed CPU of the same node, else to any allowed one; one that has none left may run anywhere.
    ///
    /// Kernel: core.c sched_cpu_deactivate(), migrate_tasks() up to v5.10, v4.12–
    pub fn set_cpu_offline(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> Result<(), LastCpu> {
        if cx.machine.online.is_empty() {
            return Err(LastCpu(cpu));
        }
        if !self.rqs[cpu].online {
            return Ok(());
        }
        let at_once = self.profile.hotplug_push == HotplugPush::AtOnce;
        self.end_migrations_to(cx, cpu);
        self.moves_to_fail(cpu);
        self.nohz_balance_exit_idle(cpu);
        self.rqs[cpu].online = false;
        // The kernel scales its tunables while the CPU still counts.
        self.tunables = self.profile.tunables.at(cx.machine.online.weight() as u32 + 1);
        self.update_rq_clock(cx, cpu);
        self.read_clocks_of_domains(cx, cpu);
        self.rebuild_sched_domains(cx, Some(cpu));
        self.hotplug_releases_quota(cx, cpu);
        self.rq_offline_rt(cx, cpu);
        if at_once && self.rqs[cpu].curr.is_none() && !self.rqs[cpu].stop_running {
            let caller = std::mem::replace(&mut cx.cpu, cpu);
            self.take_down_with_all(cx);
            cx.cpu = caller;
            self.stopper_takes_down(cx, cpu);
        } else if at_once {
            self.rqs[cpu].takedown_due = true;
            self.wake_stopper(cx, cpu);
        } else if self.is_vacated(cpu) {
            self.stopper_takes_down(cx, cpu);
        } else {
            self.resched_curr(cx, cpu);
        }
        Ok(())
    }

    /// Whether nobody runs or waits on `cpu`, its stopper included.
    pub fn is_vacated(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        rq.curr.is_none() && rq.nr_running == 0 && !rq.stop_running && !rq.ttwu_pending() && !self.stop_work_due(cpu)
    }

    /// Whether each schedule() on `cpu` pushes who was to run there.
    ///
    /// Kernel: core.c balance_push_set(), v5.11–
    pub(crate) fn pushes_off(&self, cpu: CpuId) -> bool {
        !self.rqs[cpu].online && self.profile.hotplug_push == HotplugPush::BalancePush && !self.is_led()
    }

    /// The end of a schedule() on a CPU that everybody leaves: the stopper puts `next` elsewhere, or takes the CPU down if nobody is left.
    ///
    /// Kernel: core.c balance_push(), balance_hotplug_wait(), v5.11–
    pub(super) fn balance_push(&mut self, cx: &mut Ctx<'_, '_>, next: Option<TaskId>) {
        if next.is_some() {
            self.rqs[cx.cpu].push_off = next;
            self.wake_stopper(cx, cx.cpu);
        } else if self.is_vacated(cx.cpu) {
            self.stopper_takes_down(cx, cx.cpu);
        }
    }

    /// Nobody is left on `cpu`. Its stopper, which is the last to run there, takes it down, and the CPU idles anew: all at one instant.
    ///
    /// Kernel: cpu.c takedown_cpu(), take_cpu_down(), v4.12–
    fn stopper_takes_down(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.update_rq_clock(cx, cpu);
        self.update_avg_idle(cx, cpu);
        self.rqs[cpu].lb.idle_stamp = self.rqs[cpu].clocks.clock;
        self.cpu_dies(cx, cpu);
    }

    /// Kernel: core.c sched_cpu_dying(), v4.12–
    fn cpu_dies(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.topology.threads.set_up(cx.machine, cpu, false);
        self.topology.update_max_interval(cx.machine.online.weight() as u64);
        self.hrtick_clear(cx, cpu);
        self.dl_server_off_line(cx, cpu);
    }

    /// The same where another core decides: it moves the tasks, and our tables follow.
    pub fn led_offline(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let caller = std::mem::replace(&mut cx.cpu, cpu);
        self.led_wake_list(cx);
        cx.cpu = caller;
        self.rqs[cpu].online = false;
        self.topology.threads.set_up(cx.machine, cpu, false);
        self.rebuild_sched_domains(cx, Some(cpu));
    }

    /// A CPU comes back where another core decides.
    pub fn led_online(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.rqs[cpu].online = true;
        self.topology.threads.set_up(cx.machine, cpu, true);
        self.update_rq_clock(cx, cpu);
        self.rebuild_sched_domains(cx, None);
    }

    /// A CPU comes back, idle; `cx.machine` shows the machine with it. Tasks that may use it may do so again.
    ///
    /// Kernel: core.c sched_cpu_activate(), v4.12–
    pub fn set_cpu_online(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.rqs[cpu].online {
            return;
        }
        self.rqs[cpu].online = true;
        self.topology.threads.set_up(cx.machine, cpu, true);
        self.update_rq_clock(cx, cpu);
        self.tunables = self.profile.tunables.at(cx.machine.online.weight() as u32);
        self.read_clocks_of_domains(cx, cpu);
        self.rebuild_sched_domains(cx, None);
        self.topology.update_max_interval(cx.machine.online.weight() as u64 - 1);
        self.hotplug_releases_quota(cx, cpu);
        self.rq_online_rt(cpu);
    }

    /// The stopper of `cx.cpu` takes it down: tasks whose wake-up it was to finish are queued, and all leave in the order in which they
    /// would have run. Each is set to run and put down for that.
    ///
    /// Kernel: core.c sched_cpu_dying(), migrate_tasks(), v4.12–v5.10; smp.c flush_smp_call_function_queue(), v5.8–
    pub(super) fn take_down_with_all(&mut self, cx: &mut Ctx<'_, '_>) {
        let cpu = cx.cpu;
        self.sched_ttwu_pending(cx);
        self.update_rq_clock(cx, cpu);
        while let Some(task) = self.pick_task(cx) {
            if self.is_fair(task) {
                self.cfs_tasks_picked(cpu, task, true);
                self.set_first_task_fair(cx, task);
            } else {
                self.set_next_task(cx, task);
            }
            self.put_prev_task(cx, task);
            self.leave_forbidden_cpu(cx, task);
        }
        // Deadline tasks that wait for runtime stand on no queue. A kernel moves them when they have runtime again
        // (dl_task_offline_migration()).
        for task in self.tasks.ids() {
            let row = &self.tasks[task];
            if row.cpu == cpu && row.state.is_on_rq() {
                self.leave_forbidden_cpu(cx, task);
            }
        }
        self.cpu_dies(cx, cpu);
    }

    /// While domains are built anew every run queue goes off line for a moment, also those of the CPUs that stay. From v6.5 on that reads
    /// their clocks.
    ///
    /// Kernel: topology.c rq_attach_root(), core.c set_rq_offline(), v6.5–
    fn read_clocks_of_domains(&mut self, cx: &mut Ctx<'_, '_>, but: CpuId) {
        if self.profile.offline_clock == OfflineClock::Once {
            for other in cx.machine.online.iter().filter(|&other| other != but) {
                self.update_rq_clock(cx, other);
            }
        }
    }

    /// Builds the domains anew, with fresh state of balancing. Who balances or searches goes on in the old ones to the end. A CPU that
    /// is `leaving` still counts in intervals.
    ///
    /// Kernel: topology.c partition_sched_domains(), v4.12–
    fn rebuild_sched_domains(&mut self, cx: &Ctx<'_, '_>, leaving: Option<CpuId>) {
        let mut fresh = Topology::build_without(&self.profile, cx.machine, leaving);
        fresh.max_load_balance_interval = self.topology.max_load_balance_interval;
        fresh.threads = std::mem::take(&mut self.topology.threads);
        fresh.set_birth(cx.jiffies, SCHED_CLOCK_AT_START + cx.now.ns());
        let balancing = self.balance_works.iter().any(|work| !matches!(work, BalanceWork::None));
        let searching = self.searches.any();
        self.topology.replace(fresh, balancing || searching);
        self.group_stats.forget();
        self.cpupri_set_anew();
        // The new domains count all their CPUs as busy.
        self.rqs.iter_mut().for_each(|rq| rq.lb.counted_idle = false);
        for cpu in cx.machine.online.iter() {
            self.update_cpu_capacity(cpu);
        }
    }
}

#[cfg(test)]
impl Sched {
    /// The calls of schedule() on `cx.cpu` up to the last that its stopper asks for.
    pub(crate) fn schedule_with_stopper(&mut self, cx: &mut Ctx<'_, '_>) -> Option<TaskId> {
        loop {
            if self.stop_work_due(cx.cpu) {
                let switch = self.schedule_stopper(cx, None);
                switch.prev.into_iter().for_each(|prev| self.finish_task_switch(prev));
                while self.run_stopper(cx) == crate::BalanceStep::More {}
            }
            let next = self.schedule(cx).next;
            if !self.stop_work_due(cx.cpu) {
                return next;
            }
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
            call(
                &mut self.sched,
                &mut Ctx { now, cpu: on, jiffies: 7, until: Instant::MAX, switched: None, machine, meter, requests, trace },
            )
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
            self.call(on, |sched, cx| sched.schedule_with_stopper(cx))
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
            assert!(bench.sched.rq(cpu(6)).need_resched && !bench.sched.is_vacated(cpu(6)));
            let stays = |task| bench.sched.task(task).cpu == cpu(6);
            assert!([waiting, elsewhere, running].into_iter().all(stays), "{profile}");
            assert_eq!(bench.schedule(cpu(6)), None);
            let where_to = [waiting, elsewhere, running].map(|task| bench.sched.task(task).cpu);
            assert_eq!(where_to, [cpu(4), cpu(1), cpu(4)], "{profile}");
            assert!(bench.sched.is_vacated(cpu(6)), "{profile}");
        }
    }

    #[test]
    fn a_bound_task_may_run_anywhere_when_its_cpu_is_gone() {
        let mut bench = Bench::new("v6.1");
        let bound = bench.task_on(cpu(6), "6");
        bench.offline(6).unwrap();
        bench.schedule(cpu(6));
        assert_eq!((bench.sched.task(bound).cpu, *bench.sched.task(bound).cpus_allowed), (cpu(0), cpus("0-7")));
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
                bench.schedule(cpu(6));
                assert_eq!(bench.sched.task(task).cpu, cpu(4), "{profile}");
                assert_eq!([4, 6].map(|number| bench.sched.rq(cpu(number)).nr_running), [1, 0], "{profile}");
            }
        }
    }

    /// Each task that was to run is put elsewhere; who sleeps meanwhile is none of them.
    #[test]
    fn the_stopper_moves_those_that_were_to_run() {
        let mut bench = Bench::new("v6.12");
        let tasks = [0, 1].map(|_| bench.task_on(cpu(6), "0-7"));
        bench.offline(6).unwrap();
        let first = bench.call(cpu(6), |sched, cx| sched.schedule(cx)).next.unwrap();
        let counts = |bench: &Bench| [6, 4].map(|number| bench.sched.rq(cpu(number)).nr_running);
        assert!(bench.sched.stop_work_due(cpu(6)) && bench.sched.rq(cpu(6)).need_resched);
        assert_eq!(counts(&bench), [2, 0], "who was chosen has not moved yet");
        assert_eq!(bench.schedule(cpu(6)), None);
        assert_eq!((counts(&bench), tasks.contains(&first)), ([0, 2], true));
    }

    /// Up to v5.10 the next schedule() gives the CPU to the stopper, which takes all away, the one that ran too, and an idle CPU goes at once.
    #[test]
    fn the_stopper_moves_all_as_it_takes_the_cpu_down_up_to_v5_10() {
        for kernel in ["v4.12", "v5.10"] {
            let mut bench = Bench::new(kernel);
            let tasks = [0, 1].map(|_| bench.task_on(cpu(6), "0-7"));
            let runs = bench.schedule(cpu(6)).unwrap();
            bench.offline(6).unwrap();
            let counts = |bench: &Bench| [6, 4].map(|number| bench.sched.rq(cpu(number)).nr_running);
            assert!(bench.sched.stop_work_due(cpu(6)) && bench.sched.rq(cpu(6)).need_resched, "{kernel}");
            assert_eq!((counts(&bench), bench.sched.rq(cpu(6)).curr), ([2, 0], Some(runs)), "{kernel}");
            assert_eq!((bench.schedule(cpu(6)), counts(&bench)), (None, [0, 2]), "{kernel}");
            assert!(tasks.contains(&runs) && bench.sched.is_vacated(cpu(6)), "{kernel}");
            bench.offline(7).unwrap();
            assert!(bench.sched.is_vacated(cpu(7)), "{kernel}: nobody was there");
        }
    }

    /// The stopper comes for the running task, and finds that the CPU for which it was to leave is gone.
    #[test]
    fn who_was_to_go_to_a_cpu_that_left_stays() {
        for kernel in ["v4.12", "v5.10", "v6.1", "v6.14", "v7.2"] {
            let mut bench = Bench::new(kernel);
            let task = bench.task_on(cpu(0), "0-7");
            assert_eq!(bench.schedule(cpu(0)), Some(task));
            assert!(bench.call(cpu(1), |sched, cx| sched.set_cpus_allowed(cx, task, cpus("6-7"))));
            bench.offline(6).unwrap();
            assert!(bench.sched.stop_work_due(cpu(0)), "{kernel}: the stopper was asked for");
            assert_eq!(bench.schedule(cpu(0)), Some(task), "{kernel}");
            assert_eq!((bench.sched.task(task).cpu, *bench.sched.task(task).cpus_allowed), (cpu(0), cpus("6-7")), "{kernel}");
            assert_eq!(bench.schedule(cpu(6)), None, "{kernel}");
        }
    }

    /// While a CPU leaves, the hardware's masks have it still: intervals go by them. It is gone from them when the next one leaves.
    #[test]
    fn a_leaving_cpu_counts_in_intervals() {
        let mut bench = Bench::new("v6.12");
        let intervals = |bench: &Bench| {
            let topology = bench.sched.topology();
            let of =
                |sd| (topology.domains[sd].span_weight, topology.domains[sd].min_interval, topology.domains[sd].max_interval);
            (topology.domains_of(cpu(5)).map(of).collect::<Vec<_>>(), topology.max_load_balance_interval)
        };
        assert_eq!(intervals(&bench), (vec![(4, 4, 8), (8, 8, 16)], 175), "the last one to come does not count");
        bench.offline(6).unwrap();
        assert_eq!(intervals(&bench), (vec![(3, 4, 8), (7, 8, 16)], 175));
        bench.offline(7).unwrap();
        assert_eq!(intervals(&bench), (vec![(2, 3, 6), (6, 7, 14)], 150));
        bench.online(7);
        assert_eq!(intervals(&bench), (vec![(3, 3, 6), (7, 7, 14)], 150));
        let mut newer = Bench::new("v7.2");
        newer.offline(6).unwrap();
        assert_eq!(intervals(&newer), (vec![(3, 3, 6), (7, 7, 14)], 175), "7.2 goes by the domain");
    }

    /// A CPU is a thread of its core up to its last step, so its sibling does not take the core for idle while tasks leave.
    #[test]
    fn who_leaves_is_a_thread_of_its_core_to_the_end() {
        for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
            let mut bench = Bench::new(kernel);
            [6, 7].into_iter().for_each(|number| bench.machine.cpus[cpu(number)].smt = cpus("6-7"));
            bench.sched = Sched::new(Profile::parse(kernel).unwrap(), &bench.machine);
            bench.task_on(cpu(6), "0-7");
            bench.schedule(cpu(6));
            let threads = |bench: &Bench| bench.sched.topology().threads.of(cpu(7)).len();
            bench.offline(6).unwrap();
            assert_eq!((threads(&bench), bench.schedule(cpu(6)), threads(&bench)), (2, None, 1), "{kernel}");
        }
    }

    /// A search in new domains may look at nobody, until a balance tells; in 7.2 the field has a flag of 512 in it.
    #[test]
    fn new_domains_begin_with_a_bound_for_searches() {
        for (kernel, bound) in [("v6.12", 0), ("v6.18", 0), ("v7.2", 512)] {
            let mut bench = Bench::new(kernel);
            assert_eq!(bench.sched.nr_idle_scan(cpu(5)), Some(4), "{kernel}: it idled for long before");
            bench.offline(6).unwrap();
            assert_eq!(bench.sched.nr_idle_scan(cpu(5)), Some(bound), "{kernel}");
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
        assert!(topology.cpus.iter().all(|cpu| cpu.idle_cores_shared == cpu.sd_llc_shared && cpu.sd_llc_shared.is_some()));
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
        assert_eq!(*bench.sched.task(task).cpus_allowed, cpus("0-7"));
        assert!(bench.call(cpu(0), |sched, cx| sched.set_cpus_allowed(cx, task, cpus("2-3"))));
        assert_eq!((bench.sched.task(task).cpu, *bench.sched.task(task).cpus_allowed), (cpu(3), cpus("2-3")));
        bench.online(2);
        bench.offline(3).unwrap();
        bench.schedule(cpu(3));
        assert_eq!(bench.sched.task(task).cpu, cpu(2));
    }
}
