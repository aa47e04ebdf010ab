//! The kernel's own description of a tracepoint's record, as it stands in `events/*/*/format` and is
//! copied into the binary files of perf and trace-cmd:
//!
//! ```text
//! name: sched_wakeup
//! ID: 374
//! format:
//!         field:char comm[16];    offset:8;       size:16;        signed:0;
//!         field:pid_t pid;        offset:24;      size:4; signed:1;
//!
//! print fmt: "comm=%s pid=%d", REC->comm, REC->pid
//! ```
//!
//! Offsets and sizes differ between kernels and machines, so fields are always looked up by name.

/// Order of the bytes in the recording machine's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The unsigned number in `bytes`, which are 8 at most.
    pub(crate) fn unsigned(self, bytes: &[u8]) -> u64 {
        let join = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        match self {
            ByteOrder::Little => bytes.iter().rev().fold(0, join),
            ByteOrder::Big => bytes.iter().fold(0, join),
        }
    }
}

/// Where the value of a field lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// At the field's own place.
    Here,
    /// `__data_loc`: the field holds length << 16 | offset from the beginning of the record.
    DataLoc,
    /// `__rel_loc`: the same, counted from the end of the field.
    RelLoc,
}

/// One field of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) offset: usize,
    pub(crate) size: usize,
    signed: bool,
    place: Place,
}

impl Field {
    /// Reads `char comm[16];\toffset:8;\tsize:16;\tsigned:0;`. Kernels before 2.6.32 do not say `signed`.
    fn parse(line: &str) -> Option<Field> {
        let (declaration, rest) = line.split_once(';')?;
        let number = |key: &str| {
            let mut keys = rest.split(';').map(str::trim);
            keys.find_map(|part| part.strip_prefix(key)?.strip_prefix(':')?.trim().parse::<usize>().ok())
        };
        let (offset, size) = (number("offset")?, number("size")?);
        let place = match declaration.split_whitespace().next()? {
            "__data_loc" => Place::DataLoc,
            "__rel_loc" => Place::RelLoc,
            _ => Place::Here,
        };
        let without_length = declaration.trim_end().strip_suffix(']').and_then(|text| text.rsplit_once('['));
        let declared = without_length.map_or(declaration, |(before, _)| before);
        let name = declared.split_whitespace().next_back()?.trim_start_matches('*').to_string();
        Some(Field { name, offset, size, signed: number("signed") == Some(1), place })
    }
    /// The bytes at the field's own place.
    fn bytes<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }
    /// Its value as a number of 64 bits; signed ones are extended (-1 is `u64::MAX`). `None` if the
    /// record is too short or the field is no number.
    pub(crate) fn integer(&self, record: &[u8], order: ByteOrder) -> Option<u64> {
        if !matches!(self.size, 1 | 2 | 4 | 8) {
            return None;
        }
        let value = order.unsigned(self.bytes(record)?);
        let unused = 64 - 8 * self.size as u32;
        Some(if self.signed { ((value << unused).cast_signed() >> unused).cast_unsigned() } else { value })
    }
    /// Its text up to the first NUL, be it an array of characters or a string behind the record.
    pub(crate) fn text<'r>(&self, record: &'r [u8], order: ByteOrder) -> Option<&'r [u8]> {
        let own = self.bytes(record)?;
        let whole = match self.place {
            Place::Here => own,
            Place::DataLoc | Place::RelLoc => {
                let word = order.unsigned(own.get(..4)?) as usize;
                let base = if self.place == Place::RelLoc { self.offset + self.size } else { 0 };
                let start = base + (word & 0xffff);
                record.get(start..start + (word >> 16))?
            }
        };
        whole.split(|&byte| byte == 0).next()
    }
}

/// The description of one tracepoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EventFormat {
    pub(crate) name: String,
    /// What stands in `common_type` of its records.
    pub(crate) id: u32,
    fields: Vec<Field>,
    /// Pairs of a mask and a text, as the print format shows the bits of a field (`{ 0x00000001, "S" }`).
    flags: Vec<(u64, String)>,
}

impl EventFormat {
    /// Reads a description; `None` if it has no name or id.
    pub(crate) fn parse(text: &str) -> Option<EventFormat> {
        let (name, id) = EventFormat::heading(text)?;
        let print_format = text.lines().filter_map(|line| line.trim_start().strip_prefix("print fmt:"));
        Some(EventFormat {
            name: name.to_string(),
            id,
            fields: fields_of(text),
            flags: print_format.flat_map(flags_of).collect(),
        })
    }
    /// Name and id alone.
    pub(crate) fn heading(text: &str) -> Option<(&str, u32)> {
        let value = |key: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(key)).map(str::trim);
        Some((value("name:")?, value("ID:")?.parse().ok()?))
    }
    /// The field of this name.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
    /// The names of flags in the print format.
    pub(crate) fn flags(&self) -> &[(u64, String)] {
        &self.flags
    }
}

/// All fields that a text describes, line by line.
pub(crate) fn fields_of(text: &str) -> Vec<Field> {
    text.lines().filter_map(|line| Field::parse(line.trim_start().strip_prefix("field:")?)).collect()
}

/// The pairs `{ 0x00000001, "S" }` of a print format.
fn flags_of(print_format: &str) -> Vec<(u64, String)> {
    let pairs = print_format.split('{').skip(1).filter_map(|part| {
        let (mask, text) = part.split_once('}')?.0.split_once(',')?;
        let mask = mask.trim();
        let mask = mask.strip_prefix("0x").map_or_else(|| mask.parse(), |hex| u64::from_str_radix(hex, 16)).ok()?;
        Some((mask, text.trim().trim_matches('"').to_string()))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:0;\n\
        \tfield:__rel_loc char[] other;\toffset:44;\tsize:4;\tsigned:0;\n\
        \tfield:const char * fmt;\toffset:48;\tsize:8;\tsigned:0;\n\
        \tfield:u64 args[6];\toffset:48;\tsize:48;\tsigned:0;\n\n\
        print fmt: \"%s\", __print_flags(REC->prev_state, \"|\", { 0x00000001, \"S\" }, { 2, \"D\" }) : \"R\"\n";

    #[test]
    fn a_description() {
        let format = EventFormat::parse(SWITCH).unwrap();
        assert_eq!((format.name.as_str(), format.id, format.fields.len()), ("sched_switch", 372, 8));
        let field = |name| format.field(name).map(|field| (field.offset, field.size, field.signed, field.place));
        assert_eq!(field("prev_comm"), Some((8, 16, false, Place::Here)));
        assert_eq!(field("prev_state"), Some((32, 8, true, Place::Here)));
        assert_eq!(field("name"), Some((40, 4, false, Place::DataLoc)));
        assert_eq!(field("other"), Some((44, 4, false, Place::RelLoc)));
        assert_eq!(field("fmt"), Some((48, 8, false, Place::Here)));
        assert_eq!(field("absent"), None);
        assert_eq!(format.flags(), [(1, "S".to_string()), (2, "D".to_string())]);
    }

    #[test]
    fn what_is_no_description() {
        for text in ["", "name: a\n", "ID: 5\n", "name: a\nID: x\n"] {
            assert_eq!(EventFormat::parse(text), None, "{text}");
        }
        let bare = EventFormat::parse("name: a\nID: 5\nformat:\n\tfield:int x;\toffset:0;\n\tfield:;\n\tfield:y\n").unwrap();
        assert_eq!((bare.fields.len(), bare.flags.len()), (0, 0));
    }

    #[test]
    fn numbers_of_both_byte_orders() {
        let field = |size, signed| Field { name: String::new(), offset: 1, size, signed, place: Place::Here };
        let record = [9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        let little = |size, signed| field(size, signed).integer(&record, ByteOrder::Little);
        assert_eq!(little(4, true), Some(-2i64 as u64));
        assert_eq!([1, 2, 4, 8].map(|size| little(size, false).unwrap()), [0xfe, 0xfffe, 0xffff_fffe, -2i64 as u64]);
        assert_eq!(field(2, false).integer(&record, ByteOrder::Big), Some(0xfeff));
        assert_eq!(field(2, true).integer(&record, ByteOrder::Big), Some(-257i64 as u64));
        assert_eq!((little(3, false), field(8, false).integer(&record[..8], ByteOrder::Big)), (None, None));
    }

    #[test]
    fn texts_lie_in_the_record_or_behind_it() {
        let place = |place, offset| Field { name: String::new(), offset, size: 4, signed: false, place };
        let mut record = b"abc\0....".to_vec();
        record.extend([12, 0, 3, 0]);
        record.extend(b"xy\0");
        let text = |field: Field| field.text(&record, ByteOrder::Little).map(<[u8]>::to_vec);
        assert_eq!(text(place(Place::Here, 0)), Some(b"abc".to_vec()));
        assert_eq!(text(place(Place::Here, 4)), Some(b"....".to_vec()));
        assert_eq!(text(place(Place::DataLoc, 8)), Some(b"xy".to_vec()));
        assert_eq!(text(place(Place::RelLoc, 8)), None, "it ends behind the record");
        assert_eq!(text(place(Place::Here, 12)), None);
        record[8] = 0;
        assert_eq!(place(Place::RelLoc, 8).text(&record, ByteOrder::Little), Some(&b"xy"[..]));
    }
}
