//! Where a child begins: find_idlest_cpu(), as far as the record can tell.

use super::{PlaceRule, View};
use fairground_model::MachineView;
use fairground_stdx::{CpuId, CpuMask};

/// One child's first place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BirthPlace {
    pub(crate) recorded: CpuId,
}

/// Whether some reading of `view` makes the place right. Which of the equally idle CPUs is taken depends on
/// utilisation, which is not recorded.
///
/// Kernel: fair.c find_idlest_group(), find_idlest_group_cpu(), v4.12–
pub(crate) fn explain_fork(birth: BirthPlace, view: &View, machine: &MachineView) -> Option<PlaceRule> {
    let idle = view.may_idle.and(&machine.online);
    let surely = |cpu: CpuId| idle.contains(cpu) && !view.may_busy.contains(cpu);
    if !idle.contains(birth.recorded) {
        return machine.online.iter().all(|cpu| !surely(cpu)).then_some(PlaceRule::ForkNoneIdle);
    }
    let all_idle = |cpus: &CpuMask| cpus.iter().all(surely);
    let may_be_idle = |cpus: &CpuMask| cpus.iter().all(|cpu| idle.contains(cpu));
    let llc = &machine.cpus[birth.recorded].llc;
    // The caches with more idle CPUs come first, then their wholly idle cores.
    let at_most = llc.iter().filter(|&cpu| idle.contains(cpu)).count();
    let elsewhere = machine.online.iter().filter(|&cpu| !llc.contains(cpu)).map(|cpu| &machine.cpus[cpu].llc);
    let fuller = elsewhere.into_iter().any(|other| other.iter().filter(|&cpu| surely(cpu)).count() > at_most);
    let core = &machine.cpus[birth.recorded].smt;
    let idle_core = llc.iter().any(|cpu| all_idle(&machine.cpus[cpu].smt));
    (!fuller && (may_be_idle(core) || !idle_core)).then_some(PlaceRule::ForkIdle)
}
