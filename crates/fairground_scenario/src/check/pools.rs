//! Pools of memory: whether the machine has pages of their size.

use crate::nouns::workload::Workload;
use fairground_machine::Machine;
use fairground_model::{Mistakes, PageSize};

/// Finds pools whose pages the machine does not have: one mistake for each.
pub(crate) fn check(workloads: &[Workload], machine: Option<&Machine>, m: &mut Mistakes) {
    let Some(machine) = machine else { return };
    for workload in workloads {
        let rows = workload.tasks.pools.iter().zip(&workload.pool_spans);
        for (pool, span) in rows.filter(|(pool, _)| !machine.page_sizes.contains(&pool.page)) {
            let hint = format!("It has {}; its key `page_sizes` says so.", PageSize::list(&machine.page_sizes));
            m.at(span.clone(), format!("pool `{}`: the machine has no pages of {}", pool.name, pool.page.name()), hint);
        }
    }
}
