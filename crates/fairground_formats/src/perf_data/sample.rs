//! Where a sample has its time, CPU, task and fields.
//!
//! The library's own parser of samples multiplies lengths from the file unchecked and takes single
//! counter values for groups, so the few values that matter are found here.

use crate::import::event_format::ByteOrder;
use crate::perf_data::bytes::Bytes;
use linux_perf_event_reader::SampleFormat;

// Bits of perf_event_attr.read_format: include/uapi/linux/perf_event.h PERF_FORMAT_*.
const TOTAL_TIME_ENABLED: u64 = 1;
const TOTAL_TIME_RUNNING: u64 = 1 << 1;
const ID: u64 = 1 << 2;
const GROUP: u64 = 1 << 3;
const LOST: u64 = 1 << 4;

/// The layout of the samples of one event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SampleLayout {
    tid: Option<usize>,
    time: Option<usize>,
    cpu: Option<usize>,
    /// Bytes before the first part whose length differs.
    fixed: usize,
    /// `read_format`, if counter values stand in the samples.
    read: Option<u64>,
    has_callchain: bool,
    has_raw: bool,
    /// Bytes between the raw record and the number of the control group, if that is in the samples and can be found.
    cgroup: Option<u64>,
}

/// What is used of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sample<'a> {
    /// When, in ns of the recording's clock.
    pub(super) at_ns: u64,
    /// On which CPU.
    pub(super) cpu: u32,
    /// The current task as perf's process id space names it; -1 if it was about to end.
    pub(super) tid: Option<u32>,
    /// The tracepoint's record.
    pub(super) raw: &'a [u8],
    /// The number of the current task's control group.
    pub(super) cgroup: Option<u64>,
}

impl SampleLayout {
    /// Samples hold the parts of `format`, in this order.
    pub(super) fn new(format: SampleFormat, read_format: u64) -> SampleLayout {
        let fixed = [
            SampleFormat::IDENTIFIER,
            SampleFormat::IP,
            SampleFormat::TID,
            SampleFormat::TIME,
            SampleFormat::ADDR,
            SampleFormat::ID,
            SampleFormat::STREAM_ID,
            SampleFormat::CPU,
            SampleFormat::PERIOD,
        ];
        let before = |count: usize| 8 * fixed[..count].iter().filter(|&&part| format.contains(part)).count();
        let place = |part: SampleFormat| {
            let index = fixed.iter().position(|&other| other == part)?;
            format.contains(part).then(|| before(index))
        };
        SampleLayout {
            // Process id first, thread id behind it.
            tid: place(SampleFormat::TID).map(|place| place + 4),
            time: place(SampleFormat::TIME),
            cpu: place(SampleFormat::CPU),
            fixed: before(fixed.len()),
            read: format.contains(SampleFormat::READ).then_some(read_format),
            has_callchain: format.contains(SampleFormat::CALLCHAIN),
            has_raw: format.contains(SampleFormat::RAW),
            cgroup: before_cgroup(format),
        }
    }
    /// What is needed and not in the samples.
    pub(super) fn lacks(&self) -> Option<&'static str> {
        match () {
            () if self.time.is_none() => Some("times"),
            () if self.cpu.is_none() => Some("CPU numbers"),
            () if !self.has_raw => Some("the tracepoints' fields"),
            () => None,
        }
    }
    /// Reads a sample; `None` if it is too short or lacks something that is needed.
    pub(super) fn parse<'a>(&self, body: &'a [u8], order: ByteOrder) -> Option<Sample<'a>> {
        let number = |place: usize, size: usize| body.get(place..place + size).map(|bytes| order.unsigned(bytes));
        let at_ns = number(self.time?, 8)?;
        let cpu = number(self.cpu?, 4)? as u32;
        let tid = self.tid.and_then(|place| number(place, 4)).map(|tid| tid as u32);
        let mut rest = Bytes::new(body.get(self.fixed..)?, order);
        if let Some(read_format) = self.read {
            skip_counters(&mut rest, read_format)?;
        }
        if self.has_callchain {
            let frames = rest.u64()?;
            rest.take(frames.checked_mul(8)?)?;
        }
        if !self.has_raw {
            return None;
        }
        let size = rest.u32()?;
        let raw = rest.take(u64::from(size))?;
        let cgroup = self.cgroup.and_then(|before| rest.take(before).and_then(|_| rest.u64()));
        Some(Sample { at_ns, cpu, tid, raw, cgroup })
    }
}

/// Bytes between the raw record and the control group: parts of 8 bytes. `None` if there is no group, or parts whose length differs
/// stand before it.
fn before_cgroup(format: SampleFormat) -> Option<u64> {
    let unknown = SampleFormat::BRANCH_STACK | SampleFormat::REGS_USER | SampleFormat::STACK_USER | SampleFormat::REGS_INTR;
    let fixed = [
        SampleFormat::WEIGHT | SampleFormat::WEIGHT_STRUCT,
        SampleFormat::DATA_SRC,
        SampleFormat::TRANSACTION,
        SampleFormat::PHYS_ADDR,
    ];
    let is_told = format.contains(SampleFormat::CGROUP) && !format.intersects(unknown);
    is_told.then(|| 8 * fixed.into_iter().filter(|&part| format.intersects(part)).count() as u64)
}

/// Passes over the values of one counter, or of a group of them.
fn skip_counters(rest: &mut Bytes<'_>, read_format: u64) -> Option<()> {
    let count = |bits: u64| u64::from((read_format & bits).count_ones());
    let times = count(TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING);
    let words_of_one = 1 + count(ID | LOST);
    let words = match read_format & GROUP != 0 {
        true => rest.u64()?.checked_mul(words_of_one)?.checked_add(times)?,
        false => words_of_one + times,
    };
    rest.take(words.checked_mul(8)?).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
    fn with_raw(mut body: Vec<u8>) -> Vec<u8> {
        body.extend_from_slice(&[3, 0, 0, 0, b'r', b'a', b'w', 0]);
        body
    }

    #[test]
    fn parts_stand_in_the_kernels_order() {
        let least = SampleFormat::TIME | SampleFormat::CPU | SampleFormat::RAW;
        let all = least | SampleFormat::IDENTIFIER | SampleFormat::IP | SampleFormat::TID | SampleFormat::ADDR;
        let all = all | SampleFormat::ID | SampleFormat::STREAM_ID | SampleFormat::PERIOD;
        let body = with_raw(words(&[1, 2, 5 << 32 | 4, 77, 3, 4, 5, 6, 7]));
        let sample = SampleLayout::new(all, 0).parse(&body, ByteOrder::Little).unwrap();
        assert_eq!(sample, Sample { at_ns: 77, cpu: 6, tid: Some(5), raw: b"raw", cgroup: None });
        let body = with_raw(words(&[77, 6]));
        let sample = SampleLayout::new(least, 0).parse(&body, ByteOrder::Little).unwrap();
        assert_eq!(sample, Sample { at_ns: 77, cpu: 6, tid: None, raw: b"raw", cgroup: None });
        for length in 0..body.len() - 1 {
            assert_eq!(SampleLayout::new(least, 0).parse(&body[..length], ByteOrder::Little), None);
        }
    }

    #[test]
    fn the_control_group_stands_behind_the_raw_record() {
        let least = SampleFormat::TIME | SampleFormat::CPU | SampleFormat::RAW | SampleFormat::CGROUP;
        let raw = [4, 0, 0, 0, b'r', b'a', b'w', 0];
        let group = |format: SampleFormat, behind: &[u64]| {
            let body = [&words(&[77, 6])[..], &raw, &words(behind)].concat();
            SampleLayout::new(format, 0).parse(&body, ByteOrder::Little).unwrap().cgroup
        };
        assert_eq!(group(least, &[25]), Some(25));
        assert_eq!(group(least | SampleFormat::WEIGHT | SampleFormat::DATA_SRC, &[1, 2, 25, 3]), Some(25));
        assert_eq!(group(least | SampleFormat::STACK_USER, &[0, 25]), None, "parts of other lengths stand before it");
        assert_eq!(group(least, &[]), None);
    }

    #[test]
    fn counters_and_call_chains_are_passed_over() {
        let format = SampleFormat::TIME | SampleFormat::CPU | SampleFormat::RAW | SampleFormat::READ | SampleFormat::CALLCHAIN;
        let parse = |read_format, body: &[u64]| {
            let body = with_raw(words(&[&[77, 6], body].concat()));
            SampleLayout::new(format, read_format).parse(&body, ByteOrder::Little).map(|sample| sample.raw.to_vec())
        };
        let found = Some(b"raw".to_vec());
        assert_eq!(parse(0, &[9, 2, 100, 101]), found);
        assert_eq!(parse(ID | LOST | TOTAL_TIME_ENABLED, &[9, 9, 9, 9, 0]), found);
        assert_eq!(parse(GROUP | ID | TOTAL_TIME_RUNNING, &[2, 9, 1, 1, 2, 2, 1, 100]), found);
        for huge in [u64::MAX, 1 << 61, 1 << 60] {
            assert_eq!((parse(0, &[9, huge]), parse(GROUP | ID, &[huge, 0])), (None, None));
        }
    }

    #[test]
    fn what_is_needed_and_missing_has_a_name() {
        let lacks = |format| SampleLayout::new(format, 0).lacks();
        assert_eq!(lacks(SampleFormat::CPU | SampleFormat::RAW), Some("times"));
        assert_eq!(lacks(SampleFormat::TIME | SampleFormat::RAW), Some("CPU numbers"));
        assert_eq!(lacks(SampleFormat::TIME | SampleFormat::CPU), Some("the tracepoints' fields"));
        assert_eq!(lacks(SampleFormat::TIME | SampleFormat::CPU | SampleFormat::RAW), None);
    }
}
