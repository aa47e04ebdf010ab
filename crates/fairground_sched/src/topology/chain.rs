//! Domains in the making.

use super::SchedDomain;
use fairground_stdx::{CpuId, IndexVec};

/// The domains of one CPU, smallest first, one per level.
pub(super) type Chain = Vec<SchedDomain>;

/// The chains of all CPUs before anything is removed from them.
pub(super) type Chains = IndexVec<CpuId, Chain>;
