//! The nouns on both sides of every boundary: trace events and sinks, counted operations and the
//! machine as the scheduler sees it, what tasks do. Data and pure functions only.
#![deny(clippy::float_arithmetic)]

mod append;
pub mod balance;
pub mod cgroup;
pub mod code;
mod connect;
pub mod cost_class;
mod cpu_max;
pub mod digest;
mod distributed;
pub mod event;
pub mod features;
mod frame;
pub mod freq;
pub mod governor;
pub mod kernel_warn;
mod lock;
mod lock_event;
pub mod machine_view;
mod message_event;
pub mod mistake;
mod noise;
pub mod op;
pub mod policy;
mod pool;
pub mod program;
mod quota_probe;
pub mod reason;
pub mod schedstat;
pub mod sink;
pub mod sis;
pub mod socket;
pub mod task_set;
pub mod time_spent;
pub mod turns;
mod util_clamp;
pub mod version;

pub use balance::{BalanceFinding, BalancePass, BalanceVerdict, Refusal, TaskRefusal, Verdict};
pub use code::Code;
pub use cost_class::CostClass;
pub use cpu_max::{CpuMax, Refused};
pub use digest::Digest;
pub use distributed::Distributed;
pub use event::{Decision, PrevState, QueueAct, Section, TraceEvent, WakeContext, Who};
pub use frame::{Frame, Step, Surroundings};
pub use freq::{FreqPolicy, Opp};
pub use governor::{Governor, GovernorKind, Tunable, TunableUnit};
pub use kernel_warn::KernelWarn;
pub use lock::{LockKind, LockMode, LockSpec, RCU_SYNC_DELAY, SpinSpec};
pub use lock_event::{LockAct, LockEvent};
pub use machine_view::MachineView;
pub use message_event::{MessageAct, MessageEvent};
pub use mistake::{Mistake, Mistakes, Wrong};
pub use noise::{Gap, NoiseKind, NoiseSpec};
pub use op::{Meter, Op, Prices};
pub use policy::{DL_PRIO, DlParams, Policy, RtPriority};
pub use pool::{MAX_MAPPED_PAGES, PageSize, PoolSpec};
pub use program::{Arithmetic, Instr, Mode, Program, Reg, Test, TimerMode, Value, Word};
pub use quota_probe::{QuotaCall, QuotaProbe};
pub use reason::{IdKind, Reason};
pub use schedstat::{CpuStat, DomainStat, LbStats, RqStats, SchedStat, SdStats};
pub use sink::{InGroup, NullSink, Recorder, Sink, TaskInfo};
pub use sis::SisStats;
pub use socket::{DATAGRAM_BYTES_MAX, STREAM_BYTES_MAX, SockKind, SockSpec, UNIX_BYTES_MAX};
pub use task_set::{
    Change, DEFAULT_SHARES, HUNG_TASK_TIMEOUT, MarkerSpec, MarkerUnit, PAGE_SIZE, PipeSpec, Start, TaskGroupSpec, TaskSet,
    TaskSpec, TimedChange,
};
pub use time_spent::{OpTime, SpentOn, SpentRow, TimeSpent};
pub use turns::Turns;
pub use util_clamp::{CLAMP_MAX, UtilClamp};
