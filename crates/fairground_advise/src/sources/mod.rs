//! What people have: one file and one row of [`SOURCES`] for each kind of text. A text is told by what stands in it.
//!
//! ```text
//! request table, access log                             ──▶ requests  ──▶ a service that is run
//! sample table, Prometheus, /metrics, cpu.stat, a URL   ──▶ samples   ──▶ counters of one container ──▶ a fit
//! kubectl get pod                                       ──▶ limit and weight of either
//! ```

mod access_log;
pub(super) mod ask;
mod container;
mod cpu_stat;
mod exposition;
mod number;
mod pod;
mod prometheus;
mod series;
mod stamp;
mod time;
mod yaml;

pub use container::Select;
pub(super) use container::{Counted, Points, counted};
pub(super) use pod::{Container, choose};
pub(super) use series::Samples;

use crate::log::{self, Requests};
use fairground_scenario::Error;

/// What a text holds.
pub(super) enum Part {
    /// Requests that can be run.
    Requests(Requests),
    /// Counters of containers.
    Samples(Samples),
    /// Samples without a name, as a table has them; they are read when the limit is known.
    Table(String),
    /// Limits.
    Containers(Vec<Container>),
}

/// A kind of text.
pub(super) struct Source {
    /// What it is called where all are listed.
    pub(super) what: &'static str,
    /// Whether the begin of a text is one.
    pub(super) is: fn(&str) -> bool,
    read: fn(&str, &str) -> Result<Part, Error>,
}

/// All kinds that are told by what stands in them. An access log is told by its format.
pub(super) const SOURCES: [Source; 6] = [
    Source {
        what: "a table of requests (`arrival_s,latency_ms,cpu_ms`)",
        is: log::is_log,
        read: |name, text| log::read(name, text).map(Part::Requests),
    },
    Source {
        what: "a table of counters (`time_s,usage_usec,nr_periods,nr_throttled,throttled_usec`)",
        is: crate::counters::are_counters,
        read: |_, text| Ok(Part::Table(text.to_string())),
    },
    Source {
        what: "JSON of Prometheus (/api/v1/query_range)",
        is: prometheus::is_answer,
        read: |name, text| prometheus::read(name, text).map(Part::Samples),
    },
    Source {
        what: "a pod (`kubectl get pod -o yaml`, -o json)",
        is: pod::is_pod,
        read: |name, text| pod::read(name, text).map(Part::Containers),
    },
    Source {
        what: "/metrics of cAdvisor, scraped several times",
        is: exposition::is_exposition,
        read: |name, text| exposition::read(name, text).map(Part::Samples),
    },
    Source {
        what: "samples of cpu.stat",
        is: cpu_stat::is_cpu_stat,
        read: |name, text| cpu_stat::read(name, text).map(Part::Samples),
    },
];

/// The kind of a text, by its begin.
pub(super) fn source_of(head: &str) -> Option<&'static Source> {
    let head = head.trim_start_matches('\u{feff}').trim_start();
    SOURCES.iter().find(|source| (source.is)(head))
}

impl Source {
    pub(super) fn read(&self, name: &str, text: &str) -> Result<Part, Error> {
        (self.read)(name, text.trim_start_matches('\u{feff}'))
    }
}

/// Reads an access log.
pub(super) fn access_log(name: &str, text: &str, format: &str) -> Result<Part, Error> {
    access_log::read(name, text, format).map(Part::Requests)
}

/// Why a text is nothing that is read, and what is.
pub(super) fn foreign(name: &str, head: &str) -> Error {
    if access_log::may_be_one(head) {
        return Error::one(
            name,
            "this looks like an access log, and its format is not known",
            "Give the string of nginx' `log_format` or Envoy's `text_format`: --log-format '$msec $request_time $upstream_response_time'; \
             `envoy` is its default.",
        );
    }
    let known: Vec<&str> = SOURCES.iter().map(|source| source.what).collect();
    Error::one(
        name,
        "this is nothing that `advise` reads",
        format!(
            "It reads {}; an access log (--log-format); a scenario (.toml) with a workload `service`; traces. See `fairground list formats` for those.",
            known.join("; ")
        ),
    )
}
