//! Whether the present limit meets the goal, and what to set instead: the headline.

use super::Advice;
use super::alternatives::SetIn;
use super::goal::names;
use super::text::{confidence, cpus_of, milli_cpus};
use super::verdict::cpus;
use fairground_model::CpuMax;
use fairground_report::units::format_ns;

/// Whether a limit meets the goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// It does.
    Met,
    /// It does not.
    Missed,
    /// The runs do not tell.
    Open,
}

impl Reached {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Reached::Met => "MET",
            Reached::Missed => "MISSED",
            Reached::Open => "NOT DECIDED",
        }
    }
    /// 0, 1 and 4.
    pub fn exit_code(self) -> u8 {
        match self {
            Reached::Met => 0,
            Reached::Missed => 1,
            Reached::Open => 4,
        }
    }
}

impl Advice {
    /// Whether the present limit meets the goal; none without a goal.
    pub fn reached(&self) -> Option<Reached> {
        let found = self.smallest.as_ref()?;
        let room = |limit: CpuMax| limit.quota.map_or(u64::MAX, |quota| quota.0);
        Some(match (found.enough, found.below) {
            // As few misses as so many runs can show; the confidence that they give stands beside.
            (Some(proved), _) if room(self.limit) >= room(proved) => Reached::Met,
            (_, Some(below)) if room(self.limit) <= room(below) => Reached::Missed,
            _ => Reached::Open,
        })
    }

    /// The headline: whether the goal is met, the smallest limit, and the cheapest other way.
    pub fn headline(&self) -> Vec<String> {
        let Some(reached) = self.reached() else { return Vec::new() };
        let now = match self.limit.quota {
            Some(_) => format!("{} CPUs, the present limit of {}", cpus_of(self.limit), self.group),
            None => format!("no limit, as {} has now", self.group),
        };
        let word = match reached {
            Reached::Met => "holds with",
            Reached::Missed => "does not hold with",
            Reached::Open => "may hold or not with",
        };
        let mut lines = vec![format!("{}: {} {word} {now}", reached.name(), names(&self.goals))];
        lines.push(format!("  holds: in at least 95 of 100 runs; a run is {} of this load", format_ns(self.window)));
        let Some(found) = &self.smallest else { return lines };
        let sure = |percent: u64, seeds: u64| format!("{} % confidence, {seeds} runs", confidence(percent));
        match found.limit {
            Some(limit @ CpuMax { quota: Some(_), .. }) => {
                lines.push(format!(
                    "  smallest limit: {} CPUs, cpu.max \"{limit}\"{} ({})",
                    cpus_of(limit),
                    if SetIn::of(limit) == SetIn::Pod { format!(", Kubernetes {}m", milli_cpus(limit)) } else { String::new() },
                    sure(found.confidence, found.seeds),
                ));
                if let Some(proved) = found.proved().filter(|proved| *proved != limit) {
                    let safe = if proved.quota.is_some() { format!("{} CPUs", cpus_of(proved)) } else { "no limit".to_string() };
                    lines.push(format!("  on the safe side: {safe} ({} % confidence)", found.sure));
                }
                if super::verdict::is_unstable(self.demand_ns_per_s, limit) {
                    lines.push(
                        "  caution: that is hardly more than the service uses; in a longer run its queue would grow".to_string(),
                    );
                }
                lines.extend(self.cheaper(limit));
            }
            Some(_) => lines.push(format!("  only without a limit ({})", sure(found.confidence, found.seeds))),
            None => {
                lines.push(format!(
                    "  no limit meets it: without any it is missed in {} of {} runs ({} % confidence)",
                    found.misses,
                    found.seeds,
                    confidence(found.confidence)
                ));
                lines.extend(self.why_none());
            }
        }
        lines
    }

    /// The cheapest other period or burst, if it takes at least a step less.
    fn cheaper(&self, limit: CpuMax) -> Option<String> {
        let per_second =
            |limit: CpuMax| limit.quota.map(|quota| u128::from(quota.0) * 1_000_000 / u128::from(limit.period.0.max(1)));
        let best = self.alternatives.first()?.limit;
        let is_less = per_second(best).zip(per_second(limit)).is_some_and(|(best, limit)| best * 102 < limit * 100);
        is_less.then(|| {
            format!(
                "  cheapest: about {} CPUs, cpu.max \"{best}\" with cpu.max.burst {} us; set in: {}",
                cpus_of(best),
                best.burst.0 / 1000,
                SetIn::of(best).name()
            )
        })
    }

    /// Why no limit is enough, and what would help.
    fn why_none(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.unstable {
            lines.push(format!(
                "  unstable without any limit: requests come faster than they are served, with {} CPUs in use",
                cpus(self.demand_ns_per_s)
            ));
        }
        if let Some(slow) = &self.slow {
            lines.push(format!("  why: {}", slow.where_time_goes(self.permille)));
        }
        let best = self.others.iter().filter(|other| other.point.holds * 20 >= other.point.seeds * 19);
        match best.min_by_key(|other| other.point.latency.mean) {
            Some(other) => lines.push(format!("  what would meet it: {}", other.what)),
            None => lines.push("  nothing that was tried meets it: see the table of other changes".to_string()),
        }
        lines
    }
}
