//! Telling who asks what a balance came to.

use super::LbEnv;
use crate::ctx::Ctx;
use crate::topology::CpuIdleType;
use fairground_model::{BalanceFinding, BalancePass, BalanceVerdict, Refusal, TaskRefusal, Verdict};
use fairground_stdx::{CpuId, SdId, TaskId};

impl CpuIdleType {
    /// Who balances in that state.
    const fn pass(self) -> BalancePass {
        match self {
            CpuIdleType::NotIdle => BalancePass::BusyTick,
            CpuIdleType::Idle => BalancePass::Idle,
            CpuIdleType::NewlyIdle => BalancePass::Newidle,
        }
    }
}

impl Ctx<'_, '_> {
    /// Reports that a balance on behalf of `dst_cpu` ended before it looked at a domain.
    #[inline]
    pub(super) fn no_balance(
        &mut self,
        dst_cpu: CpuId,
        domain: Option<SdId>,
        idle: CpuIdleType,
        finding: BalanceFinding,
        (found, needed): (u64, u64),
    ) {
        let verdict = || BalanceVerdict { dst_cpu, domain, source: None, pass: idle.pass(), finding, found, needed };
        self.trace.verdict(self.now, self.cpu, || Verdict::Balance(verdict()));
    }

    /// Reports the result of balancing a domain.
    #[inline]
    pub(super) fn balance_came_to(&mut self, env: &LbEnv, finding: BalanceFinding, (found, needed): (u64, u64)) {
        let verdict = || BalanceVerdict {
            dst_cpu: env.dst_cpu,
            domain: Some(env.sd),
            source: env.src_cpu,
            pass: env.idle.pass(),
            finding,
            found,
            needed,
        };
        self.trace.verdict(self.now, self.cpu, || Verdict::Balance(verdict()));
    }

    /// A balance leaves a queued task where it is. Always false: the task does not move.
    #[inline]
    pub(super) fn leaves(&mut self, env: &LbEnv, task: TaskId, refusal: Refusal) -> bool {
        self.trace.verdict(self.now, self.cpu, || Verdict::Task(TaskRefusal { task, dst_cpu: env.dst_cpu, refusal }));
        false
    }
}
