//! A gap in a recording that is longer than all the rest of it: a wrong time, or two recordings in one file. A run over it would
//! simulate the gap, tick by tick, for minutes or days.

use fairground_formats::GroupOf;
use fairground_stdx::{Instant, Ns};
use std::ops::Range;

/// A shorter gap is simulated in a moment.
const SHORT: Ns = Ns::from_secs(60);

/// The longest gap of a recording, found while it is read.
#[derive(Default)]
pub(super) struct Gap {
    /// The first event, and the last so far.
    ends: Option<(Instant, Instant)>,
    /// Events so far.
    events: usize,
    /// The longest gap: the event behind it, and the times around it. Of equal ones the first.
    longest: Option<(usize, Instant, Instant)>,
}

/// The part of a recording that is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    /// The events.
    kept: Range<usize>,
    /// The recording's first instant, to which the first of them moves.
    first: Instant,
    /// When the first of them was.
    begin: Instant,
    /// When the last of them was.
    end: Instant,
}

impl Gap {
    /// Takes the time of the next event.
    pub(super) fn event(&mut self, at: Instant) {
        let (first, last) = self.ends.unwrap_or((at, at));
        let length = at.saturating_since(last);
        let longest = self.longest.map_or(Ns::ZERO, |(_, before, after)| after.saturating_since(before));
        if self.ends.is_some() && (length > longest || self.longest.is_none()) {
            self.longest = Some((self.events, last, at));
        }
        self.ends = Some((first, at));
        self.events += 1;
    }
    /// The side that lasts longer, if the gap is longer than all the rest, and a sentence on what is left out.
    pub(super) fn cut(&self) -> Option<(Cut, String)> {
        let ((first, last), (place, before, after)) = (self.ends?, self.longest?);
        let (gap, whole) = (after.saturating_since(before), last.saturating_since(first));
        if gap < SHORT || gap.0 <= whole.0 / 2 {
            return None;
        }
        let cut = if before.saturating_since(first) >= last.saturating_since(after) {
            Cut { kept: 0..place, first, begin: first, end: before }
        } else {
            Cut { kept: place..self.events, first, begin: after, end: last }
        };
        let (left_out, all, seconds) = (self.events - cut.kept.len(), self.events, gap.0 / 1_000_000_000);
        let said = format!(
            "a gap of {seconds} s is longer than all the rest of the recording: it is cut there, and {left_out} of {all} events are \
             left out; `--across-gaps` runs them"
        );
        Some((cut, said))
    }
}

impl Cut {
    /// The time of an event of this number in what is left, if it is kept.
    pub(super) fn time_of(&self, number: usize, at: Instant) -> Option<Instant> {
        self.kept.contains(&number).then(|| self.moved(at))
    }
    fn moved(&self, at: Instant) -> Instant {
        self.first + at.saturating_since(self.begin)
    }
    /// How many events are kept.
    pub(super) fn events(&self) -> u64 {
        self.kept.len() as u64
    }
    /// From when to when they are, moved.
    pub(super) fn ends(&self) -> (Instant, Instant) {
        (self.first, self.moved(self.end))
    }
    /// Cuts what was told of groups. Where tasks were before the part that is kept still counts.
    pub(super) fn cut_groups(&self, groups: &mut Vec<GroupOf>) {
        groups.retain(|group| group.before <= self.kept.end);
        for group in groups {
            group.before = group.before.saturating_sub(self.kept.start);
            group.at = self.moved(group.at);
        }
    }
}
