//! Changes that a tree takes: of tasks, of files of groups, of CPUs and of features.

use super::TreeCore;
use super::attributes::{attributes, clamps, policy_number};
use fairground_kcore::{CallError, Policy as Attributes};
use fairground_model::features::FeatWrite;
use fairground_model::{Change, CpuMax, UtilClamp};
use fairground_sched::Sched;
use fairground_sim::Led;
use fairground_stdx::{CpuId, CpuMask, Id, Ns, TaskId};

/// The answer to what nobody may have.
const EINVAL: i64 = -22;

impl TreeCore {
    pub(super) fn allow(&mut self, cpu: u32, now: u64, number: u32, cpus: &CpuMask) -> Result<(), String> {
        let list: Vec<u32> = cpus.iter().map(CpuId::get).filter(|&cpu| (cpu as usize) < self.waiting.len()).collect();
        let answer = self.core.affinity(cpu, now, number, &list);
        self.said(answer)
    }

    pub(super) fn set_slice(
        &mut self,
        ours: &Sched,
        (cpu, now): (u32, u64),
        task: TaskId,
        slice: Option<Ns>,
    ) -> Result<(), String> {
        let row = ours.task(task);
        let (policy, nice) = (policy_number(row.policy), row.nice.into());
        let attributes = Attributes { policy, nice, runtime_ns: slice.map_or(0, |slice| slice.0), ..Attributes::default() };
        let number = self.number(task)?;
        let answer = self.core.policy(cpu, now, number, &attributes);
        self.said(answer)
    }

    pub(super) fn change(&mut self, ours: &Sched, (cpu, now): (u32, u64), change: &Change, led: &mut Led) -> Result<(), String> {
        let answer = match *change {
            Change::Nice { task, nice } => {
                let number = self.number(task)?;
                self.core.nice(cpu, now, number, nice.into())
            }
            Change::Affinity { task, ref cpus } => {
                let number = self.number(task)?;
                return self.allow(cpu, now, number, cpus);
            }
            Change::Policy { task, policy } => {
                let number = self.number(task)?;
                self.core.policy(cpu, now, number, &attributes(policy, ours.task(task).nice))
            }
            Change::Slice { task, slice } => {
                self.set_slice(ours, (cpu, now), task, slice)?;
                Ok(())
            }
            Change::Group { task, group } => {
                let number = self.number(task)?;
                self.core.group_move(cpu, now, number, self.group(group))
            }
            Change::Shares { group, shares } => self.core.group_file(cpu, now, self.group(Some(group)), "shares", shares as i64),
            Change::GroupIdle { group, idle } => self.core.group_file(cpu, now, self.group(Some(group)), "idle", i64::from(idle)),
            Change::Clamp { task, clamp } => {
                let number = self.number(task)?;
                // What the task asked for and may not have is EINVAL for it.
                match self.core.policy(cpu, now, number, &clamps(clamp)) {
                    Err(CallError::Refused(EINVAL)) => Ok(()),
                    answer => answer,
                }
            }
            Change::Hotplug { cpu: of, online } => return self.hotplug(now, of, online, led),
            Change::FreqCapacity { cpu: of, freq_capacity } => self.core.frequency(of.get(), now, freq_capacity),
            Change::Governor { cpu: of, governor } => {
                // The same one again changes nothing.
                let row = self.policies.iter().position(|policy| policy.cpus.contains(of) && policy.governor != governor);
                let Some(row) = row else { return Ok(()) };
                self.policies[row].governor = governor;
                return self.govern(ours, now, row);
            }
            Change::RemoveGroup { group } => self.core.group_remove(cpu, now, self.group(Some(group))),
            Change::GroupClamp { group, clamp } => {
                let group = self.group(Some(group));
                return self.clamp_group((cpu, now), group, clamp);
            }
            Change::CpuMax { group, limit } => {
                let group = self.group(Some(group));
                self.limit((cpu, now), group, limit)?;
                Ok(())
            }
            Change::Feature(FeatWrite { feat, on }) => {
                let answer = self.core.feature(feat.row().name, on);
                return self.set(answer);
            }
            _ => return Err(format!("kernel `{}`: {change:?} is not taken by a tree yet", self.name)),
        };
        self.said(answer)
    }

    /// A quota that is no more than the burst must not be seen in between: first nothing is limited.
    pub(super) fn limit(&mut self, (cpu, now): (u32, u64), group: u32, limit: CpuMax) -> Result<(), String> {
        let us = |time: Ns| (time.0 / 1000) as i64;
        let quota = limit.quota.map_or(-1, us);
        let rows = [("cfs_burst_us", 0), ("cfs_quota_us", -1), ("cfs_period_us", us(limit.period)), ("cfs_quota_us", quota)];
        let burst = (limit.burst > Ns::ZERO).then_some(("cfs_burst_us", us(limit.burst)));
        for (file, value) in rows.into_iter().chain(burst) {
            let answer = self.core.group_file(cpu, now, group, file, value);
            self.said(answer)?;
        }
        Ok(())
    }

    /// A CPU goes off line or comes back. One that goes serves first what other CPUs have asked of it.
    pub(super) fn hotplug(&mut self, now: u64, of: CpuId, online: bool, led: &mut Led) -> Result<(), String> {
        if std::mem::take(&mut self.waiting[of.index()].call) {
            let answer = self.core.ipi(of.get(), now, false);
            self.said(answer)?;
        }
        let answer = self.core.hotplug(of.get(), now, online);
        self.said(answer)?;
        self.offline[of.index()] = !online;
        led.flags.push(self.flags_of(of));
        Ok(())
    }

    /// The files of a group; what is left open stays.
    pub(super) fn clamp_group(&mut self, (cpu, now): (u32, u64), group: u32, clamp: UtilClamp) -> Result<(), String> {
        for (file, value) in [("uclamp.min", clamp.min), ("uclamp.max", clamp.max)] {
            if let Some(value) = value {
                let answer = self.core.group_file(cpu, now, group, file, value.into());
                self.said(answer)?;
            }
        }
        Ok(())
    }
}
