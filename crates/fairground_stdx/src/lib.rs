//! Units, typed ids and tables, CPU masks, random streams: what we wish were in std.
//!
//! Nothing here knows of a scheduler. All arithmetic is in integers; time comes from the caller.
#![deny(clippy::float_arithmetic)]

pub mod cpumask;
pub mod deadline_line;
pub mod distribution;
pub mod factor;
pub mod ids;
pub mod index_vec;
pub mod log2_histogram;
pub mod log_linear;
pub mod nearest;
pub mod outside;
pub mod prng;
pub mod rare;
pub mod time;
pub mod timeline;
pub mod units;

pub use cpumask::CpuMask;
pub use deadline_line::{DeadlineLine, DeadlineRow};
pub use distribution::Distribution;
pub use factor::Factor;
pub use ids::{
    CfsRqId, CpuId, Id, LockId, MarkerId, PartId, PipeId, PoolId, ProgramId, SdId, SdSharedId, SeId, SgId, SgRingId, SockId,
    TaskId, TgId, TimerId, WordId,
};
pub use index_vec::IndexVec;
pub use log_linear::LogLinear;
pub use log2_histogram::Log2Histogram;
pub use prng::{RngStream, StreamKind};
pub use rare::{Rare, Unused};
pub use time::{Instant, Ns, Vruntime};
pub use timeline::Timeline;
