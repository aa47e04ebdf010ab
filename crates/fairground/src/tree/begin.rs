//! The beginning of a run over a tree.
//!
//! The library boots at a time that is a multiple of the tick and of a period of load tracking, and the run begins as long after
//! that. So averages are at the start of a period, as in a run that begins at 0. Groups are made at the boot: what that leaves in
//! sums of load has decayed by then, as with groups that are there for long.

use super::{BOOT_TICKS, TreeCore, Waiting, set};
use fairground_kcore::Why;
use fairground_model::DEFAULT_SHARES;
use fairground_model::features::FeatWrite;
use fairground_sched::{Sched, TaskState};
use fairground_sim::Led;
use fairground_stdx::{CpuId, Instant, TaskId};
use std::collections::BTreeMap;

impl TreeCore {
    pub(super) fn begin_run(&mut self, ours: &Sched) -> Result<(), String> {
        let booted = self.core.boot(&self.hardware.clone());
        self.said(booted)?;
        for FeatWrite { feat, on } in std::mem::take(&mut self.switches) {
            let answer = self.core.feature(feat.row().name, on);
            self.set(answer).map_err(|why| format!("{why} (feature {})", feat.row().name))?;
        }
        for (name, value) in std::mem::take(&mut self.tunables) {
            let answer = self.core.tunable(&name, value);
            self.set(answer).map_err(|why| format!("{why} (tunable sched_{name})"))?;
        }
        if ours.uses_clamps() {
            let answer = self.core.tunable("clamps_used", 1);
            self.set(answer).map_err(|why| format!("{why} (the build has no CONFIG_UCLAMP_TASK)"))?;
        }
        self.make_groups()?;
        self.wait_for_the_run()?;
        let periods = |&group: &u32| self.core.quota(group).map_or(0, |quota| quota.nr_periods);
        self.periods_before = self.groups.iter().map(periods).collect();
        for cpu in ours.cpu_ids() {
            self.begin_domains(ours, cpu)?;
            let answer = self.core.set_idle_since(cpu.get(), self.begin_ns);
            self.set(answer)?;
        }
        for task in ours.task_ids().filter(|&task| ours.task(task).state == TaskState::Asleep) {
            self.begin_asleep(ours, task)?;
        }
        self.begin_frequencies(ours)?;
        // Nobody has anything to run yet; timers go on.
        self.waiting.fill(Waiting::default());
        self.moves.clear();
        let due = |at_ns: u64| Some(Instant::from_ns(at_ns.saturating_sub(self.begin_ns))).filter(|&due| due < Instant::MAX);
        let timers = self.timers.iter().map(|(&timer, &(_, at_ns))| (timer as usize, due(at_ns))).collect();
        self.asked = Led { timers, frequencies: std::mem::take(&mut self.asked.frequencies), ..Led::default() };
        Ok(())
    }

    fn make_groups(&mut self) -> Result<(), String> {
        let at = (0, self.core.boot_ns());
        for spec in self.group_specs.clone().iter() {
            let parent = self.group(spec.parent);
            let made = self.core.group_new(at.0, at.1, parent);
            let number = self.said(made)?;
            self.groups.push(number);
            if spec.shares != DEFAULT_SHARES {
                let answer = self.core.group_file(at.0, at.1, number, "shares", spec.shares as i64);
                self.said(answer)?;
            }
            if spec.idle {
                let answer = self.core.group_file(at.0, at.1, number, "idle", 1);
                self.said(answer)?;
            }
            if spec.limit.quota.is_some() {
                self.limit(at, number, spec.limit)?;
            }
            self.clamp_group(at, number, spec.clamp)?;
        }
        Ok(())
    }

    /// The timers of quotas find nobody, and stop.
    fn wait_for_the_run(&mut self) -> Result<(), String> {
        let first = |timers: &BTreeMap<u64, (u32, u64)>, before: u64| {
            timers.iter().map(|(&timer, &(cpu, at_ns))| (at_ns, timer, cpu)).min().filter(|row| row.0 < before)
        };
        while let Some((at_ns, timer, cpu)) = first(&self.timers, self.begin_ns) {
            self.timers.remove(&timer);
            let answer = self.core.timer(cpu, at_ns, timer as u32);
            self.said(answer)?;
        }
        let counted = self.core.count_jiffies(self.begin_ns, BOOT_TICKS);
        self.set(counted)
    }

    fn begin_domains(&mut self, ours: &Sched, cpu: CpuId) -> Result<(), String> {
        let mut domain = ours.topology().cpus[cpu].base;
        let mut level = 0;
        while let Some(sd) = domain
            && let Some(view) = self.core.domain(cpu.get(), level)
        {
            let row = &ours.topology().domains[sd];
            let last = view.last_balance.wrapping_add(BOOT_TICKS).wrapping_add_signed(row.last_balance);
            let answer = self.core.set_domain(cpu.get(), level, last, ours.nr_idle_scan_of(sd));
            self.set(answer)?;
            (domain, level) = (row.parent, level + 1);
        }
        Ok(())
    }

    /// A task that has slept since before the run: it is made, runs for no time, and sleeps.
    fn begin_asleep(&mut self, ours: &Sched, task: TaskId) -> Result<(), String> {
        let now = self.begin_ns;
        self.fork(ours, (0, now), None, task)?;
        let number = self.number(task)?;
        let cpu = self.core.wake_up_new_task(0, now, number);
        let cpu = self.said(cpu)?;
        let picked = self.core.schedule(cpu, now, Why::Preempted);
        if self.said(picked)? != u64::from(number) {
            return Err(format!("kernel `{}`: a task on an idle CPU does not run", self.name));
        }
        let left = self.core.schedule(cpu, now, Why::Sleeps);
        self.said(left)?;
        set(&mut self.homes, task, CpuId::new(cpu));
        Ok(())
    }
}
