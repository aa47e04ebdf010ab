use super::*;
use crate::topology::Topology;
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
        let of = |sd| (topology.domains[sd].span_weight, topology.domains[sd].min_interval, topology.domains[sd].max_interval);
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
        let spans =
            |topology: &Topology, sd| topology.groups_of(sd).map(|group| topology.groups[group].span).collect::<Vec<CpuMask>>();
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
