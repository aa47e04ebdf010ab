//! The compact form of scheduling events: a column for each field, times as differences.

use crate::import::NameId;
use crate::perfetto::wire::{self, Value};

/// Names of one bundle that are kept; a bundle holds some thousand events at most.
const NAMES_MAX: usize = 1 << 16;
/// The number of CompactSched.intern_table.
const INTERN_TABLE: u32 = 5;
/// Columns of a switch: switch_timestamp, switch_prev_state, switch_next_pid, switch_next_prio, switch_next_comm_index.
const SWITCH: [usize; 5] = [1, 2, 3, 4, 6];
/// Columns of a waking: waking_timestamp, waking_pid, waking_target_cpu, waking_prio, waking_comm_index.
const WAKING: [usize; 5] = [7, 8, 9, 10, 11];
/// waking_common_flags, which older recorders leave out.
const WAKING_FLAGS: usize = 12;

/// The message CompactSched: `columns[number]` holds the packed numbers of that field.
#[derive(Default)]
pub(super) struct CompactSched {
    names: Vec<NameId>,
    columns: [Vec<u8>; 13],
}

/// One switch. Who left the CPU is not told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CompactSwitch {
    pub(super) at_ns: u64,
    pub(super) prev_state: u64,
    pub(super) next_pid: i32,
    pub(super) next_prio: i32,
    pub(super) next_name: u64,
}

/// One wake-up. Who woke is not told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CompactWaking {
    pub(super) at_ns: u64,
    pub(super) pid: i32,
    pub(super) target_cpu: i32,
    pub(super) prio: i32,
    pub(super) name: u64,
    pub(super) flags: Option<u32>,
}

impl CompactSched {
    /// Makes it empty; its memory is kept.
    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.columns.iter_mut().for_each(Vec::clear);
    }
    /// Takes a field of the message. A column may come in parts, or one number at a time.
    pub(super) fn field(&mut self, number: u32, value: Value<'_>, intern: impl FnOnce(&[u8]) -> NameId) {
        match (number, value) {
            (INTERN_TABLE, Value::Bytes(name)) if self.names.len() < NAMES_MAX => self.names.push(intern(name)),
            (INTERN_TABLE, _) => {}
            (number, value) => {
                let Some(column) = self.columns.get_mut(number as usize) else { return };
                match value {
                    Value::Bytes(packed) => column.extend_from_slice(packed),
                    Value::Number(one) => wire::put_varint(one, column),
                    Value::Fixed => {}
                }
            }
        }
    }
    /// The name that an event refers to.
    pub(super) fn name(&self, index: u64) -> Option<NameId> {
        self.names.get(usize::try_from(index).ok()?).copied()
    }
    pub(super) fn switches(&self) -> Switches<'_> {
        Switches { rows: self.rows(SWITCH) }
    }
    pub(super) fn wakings(&self) -> Wakings<'_> {
        let flags = &self.columns[WAKING_FLAGS];
        Wakings { rows: self.rows(WAKING), flags: (!flags.is_empty()).then_some(flags) }
    }
    fn rows(&self, numbers: [usize; 5]) -> Rows<'_> {
        Rows { columns: numbers.map(|number| self.columns[number].as_slice()), at_ns: 0, ended: End::NotYet }
    }
}

/// How far the columns were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    NotYet,
    /// All columns ended together.
    Even,
    /// Columns differ in length, hold no numbers, or the time runs over.
    Broken,
}

/// Rows of columns that are read in step; the first is of differences of time.
struct Rows<'a> {
    columns: [&'a [u8]; 5],
    at_ns: u64,
    ended: End,
}

impl Rows<'_> {
    fn next(&mut self) -> Option<[u64; 5]> {
        if self.ended != End::NotYet {
            return None;
        }
        if self.columns.iter().all(|column| column.is_empty()) {
            self.ended = End::Even;
            return None;
        }
        let row = self.row();
        if row.is_none() {
            self.ended = End::Broken;
        }
        row
    }
    fn row(&mut self) -> Option<[u64; 5]> {
        let mut row = [0; 5];
        for (value, column) in row.iter_mut().zip(&mut self.columns) {
            *value = wire::varint(column).ok()?;
        }
        self.at_ns = self.at_ns.checked_add(row[0])?;
        row[0] = self.at_ns;
        Some(row)
    }
}

/// The switches of a bundle in order.
pub(super) struct Switches<'a> {
    rows: Rows<'a>,
}

impl Switches<'_> {
    /// Whether the columns did not fit each other; to be asked at the end.
    pub(super) fn is_broken(&self) -> bool {
        self.rows.ended == End::Broken
    }
}

impl Iterator for Switches<'_> {
    type Item = CompactSwitch;

    fn next(&mut self) -> Option<CompactSwitch> {
        let [at_ns, prev_state, next_pid, next_prio, next_name] = self.rows.next()?;
        Some(CompactSwitch { at_ns, prev_state, next_pid: next_pid as i32, next_prio: next_prio as i32, next_name })
    }
}

/// The wake-ups of a bundle in order.
pub(super) struct Wakings<'a> {
    rows: Rows<'a>,
    flags: Option<&'a [u8]>,
}

impl Wakings<'_> {
    /// Whether the columns did not fit each other; to be asked at the end.
    pub(super) fn is_broken(&self) -> bool {
        self.rows.ended == End::Broken
    }
}

impl Iterator for Wakings<'_> {
    type Item = CompactWaking;

    fn next(&mut self) -> Option<CompactWaking> {
        let [at_ns, pid, target_cpu, prio, name] = self.rows.next()?;
        let flags = self.flags.as_mut().and_then(|flags| wire::varint(flags).ok()).map(|flags| flags as u32);
        Some(CompactWaking { at_ns, pid: pid as i32, target_cpu: target_cpu as i32, prio: prio as i32, name, flags })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::NameTable;

    fn packed(numbers: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&number| wire::put_varint(number, &mut bytes));
        bytes
    }
    fn no_name(_: &[u8]) -> NameId {
        panic!("a column is no name")
    }
    /// Columns with the names `a` and `b`.
    fn filled(columns: &[(u32, &[u64])]) -> CompactSched {
        let (mut compact, mut names) = (CompactSched::default(), NameTable::default());
        for name in [b"b", b"a"] {
            compact.field(INTERN_TABLE, Value::Bytes(name), |name| names.intern(&String::from_utf8_lossy(name)));
        }
        columns.iter().for_each(|(number, column)| compact.field(*number, Value::Bytes(&packed(column)), no_name));
        compact
    }

    #[test]
    fn switches_with_differences_of_time() {
        let minus_one = u64::MAX;
        let compact = filled(&[(1, &[100, 20]), (2, &[1, 0]), (3, &[7, 0]), (4, &[120, minus_one]), (6, &[1, 9])]);
        let row = |at_ns, prev_state, next_pid, next_prio, next_name| CompactSwitch {
            at_ns,
            prev_state,
            next_pid,
            next_prio,
            next_name,
        };
        assert_eq!(compact.switches().collect::<Vec<_>>(), [row(100, 1, 7, 120, 1), row(120, 0, 0, -1, 9)]);
        assert_eq!((compact.name(1).is_some(), compact.name(9), compact.name(u64::MAX)), (true, None, None));
        assert_eq!(compact.wakings().count(), 0);
    }

    #[test]
    fn wakings_with_and_without_flags_and_in_parts() {
        let mut compact = filled(&[(7, &[5]), (8, &[3]), (9, &[1]), (10, &[120]), (11, &[0])]);
        for (number, one) in [(7, 6), (8, 4), (9, 2), (10, 121), (11, 1)] {
            compact.field(number, Value::Number(one), no_name);
        }
        let row = |at_ns, pid, target_cpu, prio, name, flags| CompactWaking { at_ns, pid, target_cpu, prio, name, flags };
        assert_eq!(compact.wakings().collect::<Vec<_>>(), [row(5, 3, 1, 120, 0, None), row(11, 4, 2, 121, 1, None)]);
        compact.field(12, Value::Bytes(&[8]), no_name);
        assert_eq!(compact.wakings().map(|row| row.flags).collect::<Vec<_>>(), [Some(8), None]);
        compact.clear();
        assert_eq!((compact.wakings().count(), compact.name(0)), (0, None));
    }

    #[test]
    fn columns_that_do_not_fit_each_other() {
        for columns in [
            &[(1, &[1u64, 2][..]), (2, &[0]), (3, &[1, 1]), (4, &[1, 1]), (6, &[0, 0])],
            &[(1, &[1][..]), (2, &[0, 0]), (3, &[1]), (4, &[1]), (6, &[0])],
            &[(1, &[1, u64::MAX][..]), (2, &[0, 0]), (3, &[1, 1]), (4, &[1, 1]), (6, &[0, 0])],
        ] {
            let compact = filled(columns);
            let mut switches = compact.switches();
            assert_eq!((switches.by_ref().count(), switches.is_broken()), (1, true), "{columns:?}");
        }
        let even = filled(&[(1, &[1]), (2, &[0]), (3, &[1]), (4, &[1]), (6, &[0])]);
        let mut switches = even.switches();
        assert_eq!((switches.by_ref().count(), switches.is_broken()), (1, false));
    }
}
