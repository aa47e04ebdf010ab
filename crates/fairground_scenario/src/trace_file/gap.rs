//! A gap in a recording that is longer than all the rest of it: a wrong time, or two recordings in one file. A run over it would
//! simulate the gap, tick by tick, for minutes or days.

use super::TraceFile;
use fairground_stdx::{Instant, Ns};

/// A shorter gap is simulated in a moment.
const SHORT: Ns = Ns::from_secs(60);

impl TraceFile {
    /// Cuts the recording at such a gap, and keeps the side that lasts longer. Says what was cut. A recorded set says itself which part
    /// of it counts.
    pub fn cut_at_gap(&mut self) -> Option<String> {
        if self.trace.stats.window.is_some() {
            return None;
        }
        let events = &self.trace.events;
        let (first, last) = (events.first()?.0, events.last()?.0);
        let gaps = events.windows(2).enumerate().map(|(place, pair)| (pair[1].0.saturating_since(pair[0].0), place + 1));
        let (gap, place) = gaps.max_by_key(|&(gap, place)| (gap, std::cmp::Reverse(place)))?;
        let whole = last.saturating_since(first);
        if gap < SHORT || gap.0 <= whole.0 / 2 {
            return None;
        }
        let before = events[place - 1].0.saturating_since(first);
        let after = last.saturating_since(events[place].0);
        let all = events.len();
        let trace = &mut self.trace;
        if before >= after {
            trace.events.truncate(place);
            trace.groups.retain(|group| group.before <= place);
        } else {
            let begin = trace.events[place].0;
            trace.events.drain(..place);
            trace.events.iter_mut().for_each(|event| event.0 = first + event.0.since(begin));
            for group in &mut trace.groups {
                group.before = group.before.saturating_sub(place);
                group.at = first + group.at.saturating_since(begin);
            }
        }
        trace.stats.first_at = first;
        trace.stats.last_at = trace.events.last().map_or(Instant::ZERO, |event| event.0);
        trace.stats.events = trace.events.len() as u64;
        let (left_out, seconds) = (all - trace.events.len(), gap.0 / 1_000_000_000);
        Some(format!(
            "a gap of {seconds} s is longer than all the rest of the recording: it is cut there, and {left_out} of {all} events are \
             left out; `--across-gaps` runs them"
        ))
    }
}
