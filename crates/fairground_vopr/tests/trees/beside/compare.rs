//! What is compared after each entry.

use super::{BEGIN_NS, Beside};
use fairground_kcore::{CpuView, IDLE, STOPPER, TaskView};
use fairground_model::Policy;
use fairground_model::features::Feat;
use fairground_sched::fair::SchedEntity;
use fairground_sched::pelt::SchedAvg;
use fairground_sched::{Profile, SCHED_CLOCK_AT_START, Sched, TaskState};
use fairground_stdx::{CfsRqId, CpuId, Id, TaskId, TgId};

/// 100 ms in ticks of 4 ms.
const RR_SLICE: u32 = 25;

impl Beside {
    /// Everything that may be looked at, kernel and ours.
    pub(super) fn differences(&self, ours: &Sched, cpu_of_call: u32) -> Vec<String> {
        let mut all = Differences::default();
        for cpu in ours.cpu_ids() {
            let (row, theirs) = (ours.rq(cpu), self.core.cpu(cpu.get()).unwrap());
            let runs = match u64::from(theirs.running) {
                IDLE => "idle".into(),
                STOPPER => "stopper".into(),
                task => self.names.get(&task).map_or(format!("unknown {task}"), |task| format!("t{}", task.get())),
            };
            let our_runs = match row.curr {
                Some(task) => format!("t{}", task.get()),
                None if row.stop_running => "stopper".into(),
                None => "idle".into(),
            };
            let who = format!("CPU {}", cpu.get());
            all.add(&who, "runs", runs, our_runs);
        }
        for (&task, &row) in &self.tasks {
            if !matches!(ours.task(task).state, TaskState::Dead | TaskState::New) {
                self.task(ours, task, row, &mut all);
            }
        }
        for cpu in ours.cpu_ids() {
            let (row, theirs) = (ours.rq(cpu), self.core.cpu(cpu.get()).unwrap());
            let (who, balance) = (format!("CPU {}", cpu.get()), ours.balance_state(cpu));
            all.add(&who, "nr_running", theirs.nr_running, row.nr_counted());
            all.add(&who, "need_resched", theirs.need_resched != 0, row.need_resched || row.need_resched_lazy);
            all.add(&who, "user_works", theirs.user_works != 0, ours.user_work_due(cpu));
            all.add(
                &who,
                "next_balance",
                (theirs.next_balance.wrapping_sub(self.first_jiffies) as i64).max(0),
                balance.next_balance as i64,
            );
            all.add(&who, "capacity", theirs.capacity, balance.capacity);
            all.add(&who, "misfit_load", theirs.misfit_load, balance.misfit_load);
            all.add(&who, "avg_idle", theirs.avg_idle_ns, balance.avg_idle);
            let scan = ours.nr_idle_scan(cpu).filter(|_| ours.profile().has_feature(Feat::SIS_UTIL));
            all.add(&who, "nr_idle_scan", Some(theirs.nr_idle_scan).filter(|_| scan.is_some()), scan);
            self.real_time(ours, cpu, &theirs, &mut all);
            self.deadline(ours, cpu, &theirs, &mut all);
            if ours.uses_clamps() {
                all.add(&who, "clamps", (theirs.clamp_min, theirs.clamp_max), ours.cpu_clamps(cpu));
            }
            let pending = &self.cpus[cpu.get() as usize];
            if cpu.get() == cpu_of_call {
                all.add(&who, "softirq", !pending.softirqs.is_empty(), balance.softirq_raised);
            }
            let (mut domain, mut level) = (ours.topology().cpus[cpu].base, 0);
            while let Some(sd) = domain {
                let (row, theirs) = (&ours.topology().domains[sd], self.core.domain(cpu.get(), level).unwrap());
                let who = format!("CPU {} domain {level}", cpu.get());
                all.add(&who, "last_balance", theirs.last_balance.wrapping_sub(self.first_jiffies) as i64, row.last_balance);
                all.add(&who, "balance_interval", theirs.balance_interval, row.balance_interval);
                all.add(&who, "nr_balance_failed", theirs.nr_balance_failed, row.nr_balance_failed);
                (domain, level) = (row.parent, level + 1);
            }
            self.queue(ours, 0, cpu, row.cfs, &mut all);
            let expected = self.core.queue(0, cpu.get()).unwrap().util_est;
            all.add(&who, "util_est", expected, ours.cfs_avg(cpu).util_est.enqueued);
            for (group, &row) in self.groups.iter().enumerate() {
                self.group(ours, TgId::new(group as u32), row, cpu, &mut all);
            }
        }
        self.root(ours, &mut all);
        for row in 0..self.policies.len() {
            let (theirs, state) = (self.core.frequency_of(row as u32).unwrap(), ours.frequency_state(row));
            let who = format!("policy {row}");
            all.add(&who, "frequency", theirs.cur_khz, state.cur_khz);
            all.add(&who, "coming_frequency", theirs.coming_khz, state.coming_khz.unwrap_or(0));
            all.add(&who, "frequency_waits", theirs.waits != 0, state.waits);
            all.add(&who, "frequency_changes", theirs.changes, state.changes);
        }
        all.0
    }

    /// What is kept of all CPUs.
    fn root(&self, ours: &Sched, all: &mut Differences) {
        let (Some(first), state) = (ours.cpu_ids().find(|&cpu| ours.rq(cpu).online), ours.root_state()) else { return };
        let theirs = self.core.cpu(first.get()).unwrap();
        all.add("all", "overloaded", theirs.overloaded != 0, state.overloaded);
        all.add("all", "overutilized", (theirs.by_energy != 0).then_some(theirs.overutilized != 0), state.overutilized);
    }

    /// The real-time queue of a CPU, and what the class used of it.
    fn real_time(&self, ours: &Sched, cpu: CpuId, theirs: &CpuView, all: &mut Differences) {
        let (row, who) = (ours.rt_state(cpu), format!("CPU {}", cpu.get()));
        all.add(&who, "rt_nr_running", theirs.rt_nr_running, row.nr_running);
        // Nobody is 100 up to v5.10, and 99 since.
        all.add(&who, "highest_prio", theirs.rt_highest.min(99), row.highest_prio.min(99));
        let first = (theirs.rt_first_pushable != 0).then(|| self.names.get(&theirs.rt_first_pushable.into()).copied());
        all.add(&who, "pushable", first, row.first_pushable.map(Some));
        all.add(&who, "rt_overloaded", theirs.rt_overloaded != 0, row.overloaded);
        // One that is off line has no limit.
        if theirs.rt_runtime_ns != 0 && ours.rq(cpu).online {
            all.add(&who, "rt_time", theirs.rt_time_ns, row.time_ns);
            all.add(&who, "rt_runtime", theirs.rt_runtime_ns, row.runtime_ns);
            all.add(&who, "rt_throttled", theirs.rt_throttled != 0, row.throttled);
        }
        if let Some((runtime, deadline, active, throttled)) = ours.fair_server(cpu).filter(|row| row.1 != 0) {
            all.add(&who, "server_active", theirs.server_active != 0, active);
            all.add(&who, "server_throttled", theirs.server_throttled != 0, throttled);
            all.add(&who, "server_runtime", theirs.server_runtime_ns, runtime);
            let since = |at: u64, start: u64| at.wrapping_sub(start) as i64;
            all.add(&who, "server_deadline", since(theirs.server_deadline_ns, BEGIN_NS), since(deadline, SCHED_CLOCK_AT_START));
        }
        all.add(&who, "rt_util_avg", theirs.rt_util_avg, row.util_avg);
    }

    /// The deadline queue of a CPU, and shares of it.
    fn deadline(&self, ours: &Sched, cpu: CpuId, theirs: &CpuView, all: &mut Differences) {
        let (row, who) = (ours.dl_queue_state(cpu), format!("CPU {}", cpu.get()));
        all.add(&who, "dl_nr_running", theirs.dl_nr_running, row.nr_running);
        let earliest = (theirs.dl_earliest_ns != 0).then(|| theirs.dl_earliest_ns.wrapping_sub(BEGIN_NS) as i64);
        all.add(&who, "earliest_dl", earliest, row.earliest.map(|at| at.wrapping_sub(SCHED_CLOCK_AT_START) as i64));
        let first = (theirs.dl_first_pushable != 0).then(|| self.names.get(&theirs.dl_first_pushable.into()).copied());
        all.add(&who, "dl_pushable", first, row.first_pushable.map(Some));
        all.add(&who, "dl_util_avg", theirs.dl_util_avg, row.util_avg);
        // Servers that decide nothing are not at work in ours, and have no share.
        if theirs.rt_runtime_ns == 0 && ours.fair_server(cpu).is_none() {
            return;
        }
        all.add(&who, "dl_running_bw", theirs.dl_running_bw, row.running_bw);
        all.add(&who, "dl_this_bw", theirs.dl_this_bw, row.this_bw);
        all.add(&who, "dl_total_bw", theirs.dl_total_bw, row.total_bw);
    }

    /// The queue of a group on a CPU, what stands for it above, and its part of a quota.
    fn group(&self, ours: &Sched, group: TgId, row: u32, cpu: CpuId, all: &mut Differences) {
        let Some((queue, se)) = ours.group_on(group, cpu).filter(|_| !ours.group(group).removed) else { return };
        self.queue(ours, row, cpu, queue, all);
        let (theirs, entity) = (self.core.queue(row, cpu.get()).unwrap(), ours.entity(se));
        let who = format!("entity of group {row} on CPU {}", cpu.get());
        self.entity(&who, ours.profile(), (entity, ours.entity_avg(se)), &theirs.entity, all);
        let who = format!("group {row}");
        all.add(&who, "load_avg", theirs.group_load_avg, ours.group(group).load_avg);
        if let Some(pool) = ours.cfs_bandwidth(group).filter(|pool| pool.limit.quota.is_some()) {
            let account = &pool.accounts()[cpu];
            all.add(&who, "pool", theirs.pool_ns, pool.runtime);
            if let Some(theirs) = self.core.quota(row) {
                all.add(&who, "nr_periods", theirs.nr_periods - self.periods_before[group.index()], pool.stats.nr_periods);
                all.add(&who, "nr_throttled", theirs.nr_throttled, pool.stats.nr_throttled);
                all.add(&who, "throttled_time", theirs.throttled_time_ns, pool.stats.throttled_time.0);
            }
            all.add(&format!("{who} on CPU {}", cpu.get()), "remaining", theirs.runtime_remaining_ns, account.remaining);
            all.add(&format!("{who} on CPU {}", cpu.get()), "throttled", theirs.throttled != 0, account.throttled);
        }
    }

    /// Who runs on each CPU of the kernel and how many want to, for the list of the last entries; in brackets, if ours has others.
    pub(super) fn runs_where(&self, ours: &Sched) -> String {
        let cpus = ours.cpu_ids().map(|cpu| {
            let (row, theirs) = (ours.rq(cpu), self.core.cpu(cpu.get()).unwrap());
            let name = |task: Option<&TaskId>| task.map_or("-".into(), |task| format!("t{}", task.get()));
            let kernel = format!("{}/{}", name(self.names.get(&theirs.running.into())), theirs.nr_running);
            let our = format!("{}/{}", name(row.curr.as_ref()), row.nr_counted());
            if our == kernel { kernel } else { format!("{kernel} [{our}]") }
        });
        format!(" → {}", cpus.collect::<Vec<_>>().join(" "))
    }

    fn task(&self, ours: &Sched, task: TaskId, row: u32, all: &mut Differences) {
        let theirs = self.core.task(row).unwrap();
        let who = format!("t{}", task.get());
        all.add(&who, "cpu", theirs.cpu, ours.task(task).cpu.get());
        if let Policy::RoundRobin(_) = ours.task(task).policy {
            all.add(&who, "rr_slice", theirs.rr_slice, ours.rr_slice_left(task).unwrap_or(RR_SLICE));
        }
        if ours.uses_clamps() {
            all.add(&who, "clamp", (theirs.clamp_min, theirs.clamp_max), ours.effective_clamp(task));
        }
        if let Some(row) = ours.dl_task_state(task) {
            // One that has not been queued since it has the policy has none yet.
            let since = |at: u64, start: u64| (at != 0).then(|| at.wrapping_sub(start) as i64);
            all.add(&who, "dl_runtime", theirs.dl_runtime_ns, row.runtime);
            all.add(&who, "dl_deadline", since(theirs.dl_deadline_ns, BEGIN_NS), since(row.deadline, SCHED_CLOCK_AT_START));
            all.add(&who, "dl_throttled", theirs.dl_throttled != 0, row.throttled);
            all.add(&who, "dl_yielded", theirs.dl_yielded != 0, row.yielded);
            all.add(&who, "dl_non_contending", theirs.dl_non_contending != 0, row.non_contending);
        }
        self.entity(&who, ours.profile(), (ours.se(task), ours.se_avg(task)), &theirs, all);
        all.add(&who, "util_est", theirs.util_est, ours.profile().util_est.task_estimate(ours.se_avg(task)));
    }

    /// A task, or what stands for the queue of a group.
    fn entity(&self, who: &str, profile: &Profile, ours: (&SchedEntity, &SchedAvg), theirs: &TaskView, all: &mut Differences) {
        let (se, avg) = ours;
        all.add(who, "on_rq", theirs.on_rq != 0, se.on_rq);
        all.add(who, "weight", theirs.weight, profile.scale_load_down.apply(se.load.weight()));
        if self.eevdf {
            all.add(who, "delayed", theirs.delayed != 0, se.sched_delayed);
        }
        if se.on_rq && theirs.on_rq != 0 {
            all.add(who, "vruntime", theirs.vruntime as i64, se.vruntime.0 as i64);
            all.add(who, "sum_exec", theirs.sum_exec_ns, se.sum_exec_runtime);
            if self.eevdf {
                all.add(who, "deadline", theirs.deadline as i64, se.deadline.0 as i64);
                all.add(who, "slice", theirs.slice_ns, se.slice);
            }
        } else if self.eevdf {
            all.add(who, "vlag", theirs.vlag, se.vlag);
        }
        all.averages(who, avg, (theirs.load_avg, theirs.runnable_avg, theirs.util_avg));
        all.sums(who, avg, (theirs.load_sum, theirs.runnable_sum, theirs.util_sum), theirs.last_update_ns);
    }

    fn queue(&self, ours: &Sched, group: u32, cpu: CpuId, queue: CfsRqId, all: &mut Differences) {
        let (row, avg, theirs) = (ours.queue(queue), ours.queue_avg(queue), self.core.queue(group, cpu.get()).unwrap());
        let who = format!("queue of group {group} on CPU {}", cpu.get());
        all.add(&who, "nr_queued", theirs.nr_queued, row.nr_running);
        all.add(&who, "h_nr_queued", theirs.h_nr_queued, row.h_nr_running);
        all.add(&who, "weight", theirs.weight, ours.profile().scale_load_down.apply(row.load.weight()));
        all.add(&who, "min_vruntime", theirs.min_vruntime as i64, row.min_vruntime.0 as i64);
        all.averages(&who, avg, (theirs.load_avg, theirs.runnable_avg, theirs.util_avg));
        all.sums(&who, avg, (theirs.load_sum, theirs.runnable_sum, theirs.util_sum), theirs.last_update_ns);
    }
}

/// What differs, one sentence each.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn add<T: PartialEq + std::fmt::Debug>(&mut self, who: &str, what: &str, theirs: T, ours: T) {
        if theirs != ours {
            self.0.push(format!("{what} of {who}: kernel {theirs:?}, ours {ours:?}"));
        }
    }

    fn averages(&mut self, who: &str, ours: &SchedAvg, (load, runnable, util): (u64, u64, u64)) {
        self.add(who, "load_avg", load, ours.load_avg);
        self.add(who, "runnable_avg", runnable, ours.runnable_avg);
        self.add(who, "util_avg", util, ours.util_avg.into());
    }

    /// Sums, and when they were aged last; 0 is never. Where all are 0 on both sides that does not matter; nor do sums that were left
    /// at the boot, which are 0 as soon as they are aged.
    fn sums(&mut self, who: &str, ours: &SchedAvg, sums: (u64, u64, u64), at_ns: u64) {
        let (load, runnable, util) = if (1..BEGIN_NS).contains(&at_ns) { (0, 0, 0) } else { sums };
        self.add(who, "load_sum", load, ours.load_sum);
        self.add(who, "runnable_sum", runnable, ours.runnable_sum);
        self.add(who, "util_sum", util, ours.util_sum.into());
        if (load, runnable, util) != (0, 0, 0) {
            let since = |at: u64, start: u64| (at != 0).then(|| at.wrapping_sub(start) as i64);
            self.add(who, "last_update", since(at_ns, BEGIN_NS), since(ours.last_update_time, SCHED_CLOCK_AT_START));
        }
    }
}
