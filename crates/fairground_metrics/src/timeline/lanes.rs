//! Lanes of stretches that together stay within a number.
//!
//! While there is room, each stretch stays as it is. When it runs out, time is cut into cells, and stretches that lie in one cell of a lane
//! become one; when that is not enough the cells double. Stretches that reach over the border of a cell stay as they are, so that what
//! is long stays exact.
//!
//! ```text
//! cells    |        |        |        |
//! before   ab.aabb.ab==========cc.c.dd=====
//! after    M______ab==========M______=====      M: so many stretches, so much of the time, the most of it for one
//! ```

use fairground_stdx::{Instant, Ns};

/// The first length of a cell.
const FIRST_GRAIN: Ns = Ns(1024);

/// A time in which something went on without a break, or several such times close together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// When it begins.
    pub start: Instant,
    /// When it ends.
    pub end: Instant,
    /// What it is, by a number whose meaning the lane tells. Of several together it is one that has a large part.
    pub who: u32,
    /// How many stretches these are.
    pub parts: u32,
    /// How much of the time is theirs; the rest is breaks between them.
    pub busy: Ns,
    /// At least so much of it is that of `who`.
    pub most: Ns,
}

impl Stretch {
    pub(super) fn new(start: Instant, end: Instant, who: u32) -> Stretch {
        let length = end.since(start);
        Stretch { start, end, who, parts: 1, busy: length, most: length }
    }
    fn merge(&mut self, later: &Stretch) {
        self.end = later.end;
        self.parts = self.parts.saturating_add(later.parts);
        self.busy += later.busy;
        if self.who == later.who {
            self.most += later.most;
        } else if later.most > self.most {
            (self.who, self.most) = (later.who, later.most);
        }
    }
}

/// The lanes.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    rows: Vec<Vec<Stretch>>,
    /// How long a cell is; 0 = nothing is put together.
    pub(super) grain: Ns,
    held: usize,
    most: usize,
}

impl Lanes {
    /// Lanes that hold at most so many stretches, apart from the two for each lane that are always held.
    pub(super) fn new(most: usize) -> Lanes {
        Lanes { rows: Vec::new(), grain: Ns::ZERO, held: 0, most }
    }
    /// The stretches of a lane, which has none afterwards.
    pub(super) fn take(&mut self, lane: usize) -> Vec<Stretch> {
        self.rows.get_mut(lane).map(std::mem::take).unwrap_or_default()
    }
    /// A lane gets its next stretch. One without length is nothing, and what overlaps the last one begins behind it.
    pub(super) fn push(&mut self, lane: usize, stretch: Stretch) {
        if lane >= self.rows.len() {
            self.rows.resize_with(lane + 1, Vec::new);
        }
        let row = &mut self.rows[lane];
        let start = row.last().map_or(stretch.start, |last| last.end.max(stretch.start));
        if start >= stretch.end {
            return;
        }
        self.held += append(row, Stretch::new(start, stretch.end, stretch.who), self.grain);
        if self.held > self.most {
            self.coarsen();
        }
    }
    /// Makes room for a quarter of what may be held, or as much as there is.
    #[cold]
    fn coarsen(&mut self) {
        while self.held > self.most / 4 * 3 && self.grain.0 < 1 << 62 {
            self.grain = if self.grain == Ns::ZERO { FIRST_GRAIN } else { Ns(self.grain.0 * 2) };
            self.held = 0;
            for row in &mut self.rows {
                let before = std::mem::take(row);
                before.iter().for_each(|stretch| self.held += append(row, *stretch, self.grain));
            }
        }
    }
}

/// Appends to a lane and says by how many it grew.
fn append(row: &mut Vec<Stretch>, stretch: Stretch, grain: Ns) -> usize {
    let cell = |at: u64| at.checked_div(grain.0);
    match row.last_mut() {
        Some(last) if grain > Ns::ZERO && cell(last.start.ns()) == cell(stretch.end.ns() - 1) => {
            last.merge(&stretch);
            0
        }
        _ => {
            row.push(stretch);
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stretch(start: u64, end: u64, who: u32) -> Stretch {
        Stretch::new(Instant::from_ns(start), Instant::from_ns(end), who)
    }

    #[test]
    fn what_is_short_is_put_together_and_what_is_long_stays() {
        let mut lanes = Lanes::new(4);
        for (start, end, who) in [(0, 100, 1), (100, 200, 2), (300, 500, 2), (500, 5000, 3), (5000, 5010, 1)] {
            lanes.push(0, stretch(start, end, who));
        }
        let first = Stretch { start: Instant::ZERO, end: Instant::from_ns(500), who: 2, parts: 3, busy: Ns(400), most: Ns(200) };
        assert_eq!(lanes.rows[0], [first, stretch(500, 5000, 3), stretch(5000, 5010, 1)]);
        assert_eq!((lanes.grain, lanes.held), (FIRST_GRAIN, 3));
    }

    #[test]
    fn overlaps_and_empty_stretches_are_cut() {
        let mut lanes = Lanes::new(10);
        for (start, end) in [(0, 10), (5, 10), (5, 12), (12, 12)] {
            lanes.push(1, stretch(start, end, 0));
        }
        assert_eq!(lanes.rows, [vec![], vec![stretch(0, 10, 0), stretch(10, 12, 0)]]);
    }

    proptest! {
        /// Whatever comes, time and number of stretches are kept, in order and within the bound.
        #[test]
        fn nothing_is_lost(pairs in prop::collection::vec((0u64..3000, 1u64..3000, 0u32..4, 0usize..3), 1..400)) {
            let (mut lanes, mut at) = (Lanes::new(20), 0);
            for &(gap, length, who, lane) in &pairs {
                lanes.push(lane, stretch(at + gap, at + gap + length, who));
                at += gap + length;
            }
            let all: Vec<&Stretch> = lanes.rows.iter().flatten().collect();
            prop_assert_eq!(all.iter().map(|row| row.busy.0).sum::<u64>(), pairs.iter().map(|row| row.1).sum::<u64>());
            prop_assert_eq!(all.iter().map(|row| row.parts as usize).sum::<usize>(), pairs.len());
            prop_assert!(all.len() == lanes.held && lanes.held <= 20);
            prop_assert!(all.iter().all(|row| row.most <= row.busy && row.busy <= row.end.since(row.start)));
            prop_assert!(lanes.rows.iter().all(|row| row.windows(2).all(|pair| pair[0].end <= pair[1].start)));
        }
    }
}
