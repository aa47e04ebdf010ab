//! Sinks that become numbers.
//!
//! Each sink reads the same [`fairground_model::TraceEvent`]s, whether a run was simulated or recorded.
//! What decides anything (percentiles, whether a figure lies in its limits, A/B verdicts) is computed
//! in integers; floats serve the eye only.

pub mod compare;
pub mod decimal;
pub mod histogram;
pub mod latency;
pub mod marker;
pub mod metric;
pub mod percentile;
pub mod plat;
pub mod schedstat;
pub mod timehist;
pub mod timeline;
pub mod window;

pub use compare::{Comparison, Effect, FEWEST_PAIRS, Paired, Rule, SideStats, Verdict, compare_all};
pub use decimal::Decimal;
pub use histogram::{Histogram, Level};
pub use latency::{RunReport, RunStats};
pub use marker::{EachUs, MarkerReport, MarkerStats};
pub use metric::{Better, Metric, MetricRow, Unit};
pub use plat::PlatHistogram;
pub use timeline::{Stretch, Timeline, TimelineSink};
pub use window::{Clip, Interval, Moment, Window};
