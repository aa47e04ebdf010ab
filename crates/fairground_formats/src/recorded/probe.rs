//! The lines of `trace.csv` that are no events: probes in the kernel's functions of CPU quota.

use crate::import::zstd::{MAGIC, ZstdReader};
use crate::import::{ImportStats, for_each_line};
use fairground_model::{QuotaCall, QuotaProbe};
use fairground_stdx::{CpuId, Instant};
use std::io::{BufRead, BufReader, Read};

/// Reads the probes of quota of a `trace.csv`, packed by zstd or not. All other lines are passed over; probes that could not be
/// read are noted in the stats.
pub fn read_quota_probes<'s>(source: impl Read + 's) -> (Vec<QuotaProbe>, ImportStats) {
    let mut plain = BufReader::new(source);
    let is_packed = plain.fill_buf().is_ok_and(|start| start.starts_with(&MAGIC));
    let source: Box<dyn BufRead + 's> =
        if is_packed { Box::new(BufReader::new(ZstdReader::new(plain))) } else { Box::new(plain) };
    let mut reader = Reader { stats: ImportStats::new(super::NAME), probes: Vec::new() };
    for_each_line(source, &mut reader, |reader| &mut reader.stats, Reader::line);
    // As recorders write them: in order, but for a few of different CPUs.
    reader.probes.sort_by_key(|probe| probe.at);
    (reader.probes, reader.stats)
}

struct Reader {
    stats: ImportStats,
    probes: Vec<QuotaProbe>,
}

impl Reader {
    fn line(&mut self, number: u64, text: &str) {
        let fields: Vec<&str> = text.trim().split(',').collect();
        if !fields.get(2).is_some_and(|kind| ["th", "un", "pe", "di", "dr", "tw"].contains(kind)) {
            return;
        }
        match probe(&fields) {
            Some(probe) => self.probes.push(probe),
            None => self.stats.skip(number, "a probe of quota that is not `t,cpu,ev,a,b,c` was left out"),
        }
    }
}

fn probe(fields: &[&str]) -> Option<QuotaProbe> {
    let &[at, cpu, kind, a, b, c] = fields else { return None };
    let queue = || a.strip_prefix('q')?.parse().ok();
    let call = match kind {
        "th" => QuotaCall::Throttle { queue: queue()?, remaining: b.parse().ok()?, current: c.parse().ok()? },
        "un" => QuotaCall::Unthrottle { queue: queue()?, remaining: b.parse().ok()? },
        "pe" => QuotaCall::PeriodTimer,
        "di" => QuotaCall::DistributeBegins,
        "dr" => QuotaCall::DistributeEnds,
        _ => QuotaCall::ThrottleWork { task: a.parse().ok()? },
    };
    Some(QuotaProbe { at: Instant::from_ns(at.parse().ok()?), cpu: CpuId::new(cpu.parse().ok()?), call })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_read_and_events_passed_over() {
        let text = "# t in ns from first event; window 5..90\nt,cpu,ev,a,b,c\n0,1,rt,1,10,99\n7,6,th,q0,-3549099,213\n\
                    8,6,pe,0,,\n9,6,di,0,,\n10,6,un,q0,1,0\n11,6,dr,0,,\n12,2,tw,213,,\n";
        let (probes, stats) = read_quota_probes(text.as_bytes());
        assert!(stats.is_clean());
        assert_eq!(
            probes.iter().map(|probe| (probe.at.ns(), probe.cpu.get(), probe.call)).collect::<Vec<_>>(),
            [
                (7, 6, QuotaCall::Throttle { queue: 0, remaining: -3_549_099, current: 213 }),
                (8, 6, QuotaCall::PeriodTimer),
                (9, 6, QuotaCall::DistributeBegins),
                (10, 6, QuotaCall::Unthrottle { queue: 0, remaining: 1 }),
                (11, 6, QuotaCall::DistributeEnds),
                (12, 2, QuotaCall::ThrottleWork { task: 213 }),
            ]
        );
    }

    #[test]
    fn what_is_no_probe_is_counted() {
        let text = "1,2,th,0,-1,3\n1,2,th,q0,x,3\n1,2,un,q0\nx,2,pe,0,,\n1,-2,di,0,,\n,,th,,,\n1,99999999999,dr,0,,\n";
        let (probes, stats) = read_quota_probes(text.as_bytes());
        assert!(probes.is_empty());
        assert_eq!(stats.skipped, 7);
        assert!(read_quota_probes(&b"\xff\x00,,"[..]).0.is_empty());
    }
}
