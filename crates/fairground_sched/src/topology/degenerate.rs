//! Removal of domains that balance nothing.

use super::chain::Chain;
use super::{SchedDomain, SdFlags, Topology};
use crate::profile::Profile;
use crate::seam::{Degenerate, GroupFlags};

/// Flags that are of use only with two groups or more.
///
/// Kernel: sd_flags.h SDF_NEEDS_GROUPS from v5.10, topology.c before, v4.12–
fn needs_groups(rule: Degenerate) -> SdFlags {
    let listed = SdFlags::BALANCE_NEWIDLE
        .with(SdFlags::BALANCE_FORK)
        .with(SdFlags::BALANCE_EXEC)
        .with(SdFlags::SHARE_CPUCAPACITY)
        .with(SdFlags::ASYM_CPUCAPACITY)
        .with(SdFlags::SHARE_LLC);
    match rule {
        Degenerate::Listed => listed.with(SdFlags::LOAD_BALANCE),
        Degenerate::MetaFlags => listed
            .with(SdFlags::BALANCE_WAKE)
            .with(SdFlags::ASYM_CPUCAPACITY_FULL)
            .with(SdFlags::CLUSTER)
            .with(SdFlags::SERIALIZE)
            .with(SdFlags::ASYM_PACKING)
            .with(SdFlags::PREFER_SIBLING)
            .with(SdFlags::OVERLAP)
            .with(SdFlags::NUMA),
    }
}

/// Kernel: topology.c sd_degenerate(), v4.12–
fn sd_degenerate(rule: Degenerate, sd: &SchedDomain) -> bool {
    let uses_groups = sd.flags.intersects(needs_groups(rule)) && sd.groups.len() > 1;
    sd.span_weight == 1 || !uses_groups && !sd.flags.has(SdFlags::WAKE_AFFINE)
}

/// Whether `parent` does nothing that `sd` does not.
///
/// Kernel: topology.c sd_parent_degenerate(), v4.12–
fn sd_parent_degenerate(rule: Degenerate, sd: &SchedDomain, parent: &SchedDomain) -> bool {
    if sd_degenerate(rule, parent) {
        return true;
    }
    if sd.span != parent.span {
        return false;
    }
    let idle = if parent.groups.len() > 1 { SdFlags::EMPTY } else { needs_groups(rule).with(SdFlags::PREFER_SIBLING) };
    parent.flags.without(idle).without(sd.flags) == SdFlags::EMPTY
}

/// The domains of `chain` that balance something. A parent that is removed hands PREFER_SIBLING down: it spans the
/// same CPUs.
///
/// Kernel: topology.c cpu_attach_domain(), v4.12–
pub(super) fn prune(profile: &Profile, topology: &mut Topology, chain: Chain) -> Chain {
    let rule = profile.degenerate;
    let mut kept: Chain = Vec::new();
    let mut rest = chain.into_iter().peekable();
    while let Some(parent) = rest.next() {
        match kept.last_mut() {
            Some(sd) if sd_parent_degenerate(rule, sd, &parent) => {
                if let (GroupFlags::KeptChild, Some(next)) = (profile.group_flags, rest.peek_mut()) {
                    set_local_flags(topology, next, sd.flags);
                }
                sd.flags = sd.flags.with(parent.flags.and(SdFlags::PREFER_SIBLING));
            }
            _ => kept.push(parent),
        }
    }
    if kept.first().is_some_and(|sd| sd_degenerate(rule, sd)) {
        kept.remove(0);
        if let Some(base) = kept.first_mut() {
            set_local_flags(topology, base, SdFlags::EMPTY);
        }
    }
    kept
}

/// The group of `sd` that holds its CPU has other flags. A ring of groups that do not intersect is one for all its CPUs.
fn set_local_flags(topology: &mut Topology, sd: &mut SchedDomain, flags: SdFlags) {
    match sd.flags.intersects(SdFlags::NUMA.with(SdFlags::OVERLAP)) {
        true => sd.local_flags = Some(flags),
        false => topology.groups[sd.first_group].flags = flags,
    }
}
