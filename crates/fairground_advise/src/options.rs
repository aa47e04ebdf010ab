//! What else may be changed: a burst, fewer threads, another kernel, other CPUs, no limit; and what of it helps.

use super::curve::{Point, View, seeds};
use super::lab::{Lab, Subject, Variant};
use super::text::cpus_of;
use super::verdict::{Remedy, Verdict};
use fairground_model::CpuMax;
use fairground_scenario::Error;
use fairground_sched::profile::Profile;
use fairground_stdx::{CpuMask, Ns};
use fairground_workload::service::Service;

/// Kernels that are tried: one whose slices expire, two in which they do not, before and with EEVDF, and one that throttles single tasks.
const KERNELS: [&str; 4] = ["v5.1", "v5.10", "v6.12", "v6.18"];

/// A change other than another quota.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Other {
    /// What, as an order.
    pub what: String,
    /// Whether it is one of the remedies that a verdict may name, all of which cost nothing in the mean.
    pub is_remedy: bool,
    /// What it does.
    pub point: Point,
}

/// All changes at a limit, and notes on those that cannot be tried.
pub(super) fn others(lab: &Lab<'_>, view: &View<'_>, limit: CpuMax) -> Result<(Vec<Other>, Vec<String>), Error> {
    let mut notes = Vec::new();
    let mut rows: Vec<(String, bool, Variant)> = Vec::new();
    if let Some(quota) = limit.quota.filter(|quota| limit.burst < *quota) {
        let variant = Variant::new(CpuMax { burst: quota, ..limit });
        let us = quota.0 / 1000;
        match lab.can_run(&variant) {
            true => rows.push((format!("set cpu.max.burst to {us} us"), true, variant)),
            false => notes.push("the kernel of the scenario has no cpu.max.burst: no burst was tried".to_string()),
        }
    }
    rows.extend(threads(lab, limit));
    for name in KERNELS {
        match kernel(lab, limit, name) {
            Some(Ok((is_remedy, variant))) => rows.push((format!("run kernel {name}"), is_remedy, variant)),
            Some(Err(why)) => notes.push(format!("kernel {name} was not tried: {why}")),
            None => {}
        }
    }
    rows.extend(cpus(lab, limit));
    rows.extend(alone(lab, limit).filter(|row| lab.can_run(&row.2)));
    notes.push("replicas of the container (limit / r each) are not built: no row for them".to_string());
    let variants: Vec<Variant> = rows.iter().map(|row| row.2.clone()).collect();
    let points = view.points(lab, &variants, seeds(view.goals))?;
    let rows = rows.into_iter().zip(points);
    Ok((rows.map(|((what, is_remedy, _), point)| Other { what, is_remedy, point }).collect(), notes))
}

/// As many workers as the limit has CPUs, twice as many, and as the host has; and as few collectors. Without a limit: twice and four times
/// as many workers as now.
fn threads(lab: &Lab<'_>, limit: CpuMax) -> Vec<(String, bool, Variant)> {
    let Some((_, service)) = lab.base.service() else { return Vec::new() };
    let whole = u32::try_from(whole_cpus(limit)).unwrap_or(u32::MAX);
    let mut counts = match limit.quota {
        Some(_) => vec![whole, whole.saturating_mul(2), lab.base.machine.cpus.len() as u32],
        None => vec![service.workers.saturating_mul(2), service.workers.saturating_mul(4)],
    };
    counts.sort_unstable();
    counts.dedup();
    counts.retain(|&count| count != service.workers && count <= WORKERS_MAX);
    let with = |service: Service| Variant { service: Some(service), ..Variant::new(limit) };
    let workers = |&count: &u32| {
        let variant = with(Service { workers: count, ..service.clone() });
        (format!("run {count} workers"), count < service.workers, variant)
    };
    let mut rows: Vec<(String, bool, Variant)> = counts.iter().map(workers).collect();
    if service.background.iter().any(|group| group.name == "gc" && group.threads > whole) {
        let mut fewer = service.clone();
        for group in fewer.background.iter_mut().filter(|group| group.name == "gc") {
            // The same work of a collection, by fewer threads.
            group.work = Ns(group.work.0 * u64::from(group.threads) / u64::from(whole));
            group.threads = whole;
        }
        rows.push((format!("run {whole} gc threads"), true, with(fewer)));
    }
    rows
}

/// Most workers of a service.
const WORKERS_MAX: u32 = 1024;

/// The CPUs of a limit, rounded up.
fn whole_cpus(limit: CpuMax) -> u64 {
    limit.quota.map_or(1, |quota| quota.0.div_ceil(limit.period.0.max(1))).max(1)
}

/// A kernel other than that of the scenario. It is a remedy if slices expire in that of the scenario and not in this one.
fn kernel(lab: &Lab<'_>, limit: CpuMax, name: &str) -> Option<Result<(bool, Variant), String>> {
    if lab.base.profile.name == name {
        return None;
    }
    let profile = match Profile::parse(name) {
        Ok(profile) => profile,
        Err(wrong) => return Some(Err(wrong.message)),
    };
    let expires = |profile: &Profile| {
        profile.diff(&profile.clone().with_seam("slice_expiry", "never").unwrap_or(profile.clone())).is_empty()
    };
    let is_remedy = expires(&profile) && !expires(&lab.base.profile);
    let variant = Variant { profile: Some(profile), ..Variant::new(limit) };
    Some(if lab.can_run(&variant) { Ok((is_remedy, variant)) } else { Err("it cannot run this limit".to_string()) })
}

/// As many CPUs as the limit has, for itself, and no quota. Without a limit: all CPUs of the machine.
fn cpus(lab: &Lab<'_>, limit: CpuMax) -> Option<(String, bool, Variant)> {
    let (_, service) = lab.base.service()?;
    if limit.quota.is_none() {
        let count = lab.base.machine.cpus.len();
        let restricted = service.cpus.filter(|cpus| cpus.iter().count() < count)?;
        let variant = Variant { service: Some(Service { cpus: None, ..service.clone() }), ..Variant::new(limit) };
        return Some((format!("use all {count} CPUs in place of {}", restricted.iter().count()), false, variant));
    }
    let whole = whole_cpus(limit);
    let allowed = service.cpus.unwrap_or(CpuMask::first_n(lab.base.machine.cpus.len()));
    let cpus: CpuMask = allowed.iter().take(usize::try_from(whole).unwrap_or(usize::MAX)).collect();
    let unlimited = CpuMax { quota: None, burst: Ns::ZERO, ..limit };
    let variant = Variant { service: Some(Service { cpus: Some(cpus), ..service.clone() }), ..Variant::new(unlimited) };
    Some((format!("cpuset of {whole} CPUs, no limit"), false, variant))
}

/// The service without its neighbours.
fn alone(lab: &Lab<'_>, limit: CpuMax) -> Option<(String, bool, Variant)> {
    let Subject::Service(_) = lab.subject else { return None };
    let neighbours = lab.base.workloads.len() - 1;
    let variant = Variant { alone: true, ..Variant::new(limit) };
    (neighbours > 0).then(|| ("move the other workloads away".to_string(), false, variant))
}

/// What may be done about a limit.
pub(super) fn remedies(limit: CpuMax, demand: u64, curve: &[Point], others: &[Other]) -> Vec<Remedy> {
    let is_ok = |point: &Point| Verdict::of(point.ratio, demand, point.limit) == Verdict::Ok;
    let mut rows: Vec<Remedy> = others
        .iter()
        .filter(|other| other.is_remedy)
        .map(|other| Remedy { what: other.what.clone(), cost_ns_per_s: Some(0), helps: is_ok(&other.point) })
        .collect();
    let per_second =
        |limit: CpuMax| limit.quota.map_or(0, |quota| u128::from(quota.0) * 1_000_000_000 / u128::from(limit.period.0.max(1)));
    let larger = curve.iter().filter(|point| point.limit.quota.is_some() && point.limit.quota > limit.quota);
    rows.extend(larger.map(|point| Remedy {
        what: format!("raise the limit to {} CPUs", cpus_of(point.limit)),
        cost_ns_per_s: u64::try_from(per_second(point.limit) - per_second(limit)).ok(),
        helps: is_ok(point),
    }));
    rows.push(Remedy { what: "run without a limit".to_string(), cost_ns_per_s: None, helps: true });
    rows
}
