//! Writes perf.data files as the format is documented (tools/perf/Documentation/perf.data-file-format.txt,
//! include/uapi/linux/perf_event.h), so that either byte order, both modes, packing and every oddity can be
//! tested on any machine.

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

// Record types and parts of samples: perf_event.h.
pub(crate) const LOST: u32 = 2;
pub(crate) const COMM: u32 = 3;
pub(crate) const THROTTLE: u32 = 5;
pub(crate) const SAMPLE: u32 = 9;
pub(crate) const LOST_SAMPLES: u32 = 13;
pub(crate) const HEADER_ATTR: u32 = 64;
pub(crate) const HEADER_TRACING_DATA: u32 = 66;
pub(crate) const FINISHED_ROUND: u32 = 68;
pub(crate) const COMPRESSED: u32 = 81;
pub(crate) const TIME: u64 = 1 << 2;
pub(crate) const CPU: u64 = 1 << 7;
pub(crate) const RAW: u64 = 1 << 10;
const TID: u64 = 1 << 1;
const IDENTIFIER: u64 = 1 << 16;
const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;
const FLAG_USE_CLOCKID: u64 = 1 << 25;
const ATTR_SIZE: u32 = 128;

/// A tracepoint with its fields: declaration and size, in the order in which they are laid out.
#[derive(Clone, Debug)]
pub(crate) struct Tracepoint {
    pub(crate) name: &'static str,
    pub(crate) fields: Vec<(&'static str, usize)>,
    /// Parts of its samples beside TIME, CPU and RAW are TID and IDENTIFIER.
    pub(crate) sample_type: u64,
    pub(crate) clock: Option<u32>,
}

/// How a file is written.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) big_endian: bool,
    pub(crate) pipe: bool,
    pub(crate) packed: bool,
    pub(crate) tracing_data: bool,
    pub(crate) tracepoints: Vec<Tracepoint>,
}

/// One thing that is recorded.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// Tracepoint, time, CPU, common_flags, common_pid, values of its fields.
    Sample(&'static str, u64, u32, u8, u32, Vec<Value>),
    /// Any other record: type, misc, body.
    Other(u32, u16, Vec<u8>),
}

/// The value of a field; text is cut or filled to the field's size.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Number(i64),
    Text(&'static str),
}

const TRACEPOINTS: [(&str, &[(&str, usize)]); 13] = [
    (
        "sched_switch",
        &[
            ("char prev_comm[16]", 16),
            ("pid_t prev_pid", 4),
            ("int prev_prio", 4),
            ("long prev_state", 8),
            ("char next_comm[16]", 16),
            ("pid_t next_pid", 4),
            ("int next_prio", 4),
        ],
    ),
    ("sched_waking", &[("char comm[16]", 16), ("pid_t pid", 4), ("int prio", 4), ("int target_cpu", 4)]),
    ("sched_wakeup", &[("char comm[16]", 16), ("pid_t pid", 4), ("int prio", 4), ("int target_cpu", 4)]),
    ("sched_wakeup_new", &[("char comm[16]", 16), ("pid_t pid", 4), ("int prio", 4), ("int target_cpu", 4)]),
    ("sched_migrate_task", &[("char comm[16]", 16), ("pid_t pid", 4), ("int prio", 4), ("int orig_cpu", 4), ("int dest_cpu", 4)]),
    ("sched_stat_runtime", &[("char comm[16]", 16), ("pid_t pid", 4), ("u64 runtime", 8), ("u64 vruntime", 8)]),
    (
        "sched_process_fork",
        &[("char parent_comm[16]", 16), ("pid_t parent_pid", 4), ("char child_comm[16]", 16), ("pid_t child_pid", 4)],
    ),
    ("sched_process_exit", &[("char comm[16]", 16), ("pid_t pid", 4), ("int prio", 4)]),
    ("cpu_frequency", &[("u32 state", 4), ("u32 cpu_id", 4)]),
    ("irq_handler_entry", &[("int irq", 4), ("__data_loc char[] name", 4)]),
    ("irq_handler_exit", &[("int irq", 4), ("int ret", 4)]),
    ("softirq_entry", &[("unsigned int vec", 4)]),
    ("softirq_exit", &[("unsigned int vec", 4)]),
];

impl Layout {
    /// A plain file of a little-endian machine with all tracepoints.
    pub(crate) fn plain() -> Layout {
        let tracepoint = |&(name, fields): &(&'static str, &[(&'static str, usize)])| Tracepoint {
            name,
            fields: fields.to_vec(),
            sample_type: TIME | CPU | RAW,
            clock: None,
        };
        Layout {
            big_endian: false,
            pipe: false,
            packed: false,
            tracing_data: true,
            tracepoints: TRACEPOINTS.iter().map(tracepoint).collect(),
        }
    }
    pub(crate) fn tracepoint(&mut self, name: &str) -> &mut Tracepoint {
        self.tracepoints.iter_mut().find(|tracepoint| tracepoint.name == name).unwrap()
    }
    /// A number of `size` bytes.
    pub(crate) fn number(&self, value: i64, size: usize) -> Vec<u8> {
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if self.big_endian {
            bytes.reverse();
        }
        bytes
    }
    fn u64(&self, value: u64) -> Vec<u8> {
        self.number(value as i64, 8)
    }
    fn u32(&self, value: u32) -> Vec<u8> {
        self.number(i64::from(value), 4)
    }
    fn record(&self, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let head = [self.u32(kind), self.number(i64::from(misc), 2), self.number(8 + body.len() as i64, 2)];
        [&head.concat(), body].concat()
    }
    fn attr(&self, row: usize) -> Vec<u8> {
        let Tracepoint { sample_type, clock, .. } = self.tracepoints[row];
        let flags = FLAG_SAMPLE_ID_ALL | clock.map_or(0, |_| FLAG_USE_CLOCKID);
        let flags = if self.big_endian { flags.reverse_bits() } else { flags };
        let mut attr = [self.u32(2), self.u32(ATTR_SIZE), self.u64(100 + row as u64), self.u64(1)].concat();
        attr.extend([self.u64(sample_type | TID | IDENTIFIER), self.u64(0), self.u64(flags)].concat());
        attr.resize(92, 0);
        attr.extend(self.u32(clock.unwrap_or(0)));
        attr.resize(ATTR_SIZE as usize, 0);
        attr
    }
    fn id(row: usize) -> u64 {
        7000 + row as u64
    }
    fn format(&self, row: usize) -> String {
        let tracepoint = &self.tracepoints[row];
        let mut text = format!("name: {}\nID: {}\nformat:\n", tracepoint.name, 100 + row);
        let common = [("unsigned short common_type", 2), ("unsigned char common_flags", 1), ("char common_preempt_count", 1)];
        let mut offset = 0;
        for (declaration, size) in common.iter().chain(&[("int common_pid", 4)]).chain(&tracepoint.fields) {
            let signed = u8::from(declaration.starts_with("int") || declaration.starts_with("pid_t"));
            text += &format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n");
            offset += size;
        }
        text + "\nprint fmt: \"%s\", { 0x1, \"S\" }, { 0x2, \"D\" }, { 0x10, \"X\" }, { 0x20, \"Z\" }, { 0x80, \"I\" }\n"
    }
    fn tracing_data(&self) -> Vec<u8> {
        let mut data = b"\x17\x08\x44tracing0.6\0".to_vec();
        data.extend([u8::from(self.big_endian), 8]);
        data.extend(self.u32(4096));
        for part in ["header_page", "header_event"] {
            data.extend([part.as_bytes(), b"\0", &self.u64(3), b"abc"].concat());
        }
        data.extend([self.u32(0), self.u32(1), b"sched\0".to_vec(), self.u32(self.tracepoints.len() as u32)].concat());
        for row in 0..self.tracepoints.len() {
            let text = self.format(row);
            data.extend([self.u64(text.len() as u64), text.into_bytes()].concat());
        }
        data.extend([self.u32(0), self.u32(0), self.u64(0)].concat());
        data.resize(data.len().next_multiple_of(8), 0);
        data
    }
    fn item(&self, item: &Item) -> Vec<u8> {
        let (name, at, cpu, flags, pid, values) = match item {
            Item::Other(kind, misc, body) => return self.record(*kind, *misc, body),
            Item::Sample(name, at, cpu, flags, pid, values) => (name, at, cpu, flags, pid, values),
        };
        let row = self.tracepoints.iter().position(|tracepoint| tracepoint.name == *name).unwrap();
        let tracepoint = &self.tracepoints[row];
        let mut raw = [self.number(100 + row as i64, 2), vec![*flags, 0], self.u32(*pid)].concat();
        for (value, &(_, size)) in values.iter().zip(&tracepoint.fields) {
            match value {
                Value::Number(number) => raw.extend(self.number(*number, size)),
                Value::Text(text) => {
                    let mut bytes = text.as_bytes().to_vec();
                    bytes.resize(size, 0);
                    raw.extend(bytes);
                }
            }
        }
        raw.resize((raw.len() + 4).next_multiple_of(8) - 4, 0);
        let mut body = [self.u64(Layout::id(row)), self.u32(*pid), self.u32(*pid)].concat();
        if tracepoint.sample_type & TIME != 0 {
            body.extend(self.u64(*at));
        }
        if tracepoint.sample_type & CPU != 0 {
            body.extend([self.u32(*cpu), self.u32(0)].concat());
        }
        if tracepoint.sample_type & RAW != 0 {
            body.extend([self.u32(raw.len() as u32), raw].concat());
        }
        self.record(SAMPLE, 0, &body)
    }
    /// The records, packed or not; marks are never packed.
    fn data(&self, items: &[Item]) -> Vec<u8> {
        if !self.packed {
            return items.iter().flat_map(|item| self.item(item)).collect();
        }
        let plain: Vec<u8> = items.iter().filter(|item| !is_mark(item)).flat_map(|item| self.item(item)).collect();
        let packed = compress_to_vec(&plain[..], CompressionLevel::Fastest);
        packed.chunks(100).flat_map(|piece| self.record(COMPRESSED, 0, piece)).collect()
    }
    /// The file.
    pub(crate) fn file(&self, items: &[Item]) -> Vec<u8> {
        let magic = if self.big_endian { b"2ELIFREP" } else { b"PERFILE2" };
        let (rows, data) = (self.tracepoints.len(), self.data(items));
        if self.pipe {
            let mut file = [magic.to_vec(), self.u64(16)].concat();
            for row in 0..rows {
                file.extend(self.record(HEADER_ATTR, 0, &[self.attr(row), self.u64(Layout::id(row))].concat()));
            }
            if self.tracing_data {
                let tracing = self.tracing_data();
                file.extend([self.record(HEADER_TRACING_DATA, 0, &self.u32(tracing.len() as u32)), tracing].concat());
            }
            return [file, data].concat();
        }
        let (ids_at, attrs_at) = (104, 104 + 8 * rows);
        let data_at = attrs_at + (ATTR_SIZE as usize + 16) * rows;
        let features_at = data_at + data.len();
        let place = |offset: usize, size: usize| [self.u64(offset as u64), self.u64(size as u64)].concat();
        let mut file = [magic.to_vec(), self.u64(104), self.u64(u64::from(ATTR_SIZE) + 16)].concat();
        file.extend([place(attrs_at, data_at - attrs_at), place(data_at, data.len()), place(0, 0)].concat());
        file.extend([self.u64(u64::from(self.tracing_data) << 1), vec![0; 24]].concat());
        (0..rows).for_each(|row| file.extend(self.u64(Layout::id(row))));
        (0..rows).for_each(|row| file.extend([self.attr(row), place(ids_at + 8 * row, 8)].concat()));
        file.extend(data);
        if self.tracing_data {
            let tracing = self.tracing_data();
            file.extend([place(features_at + 16, tracing.len()), tracing].concat());
        }
        file
    }
}

fn is_mark(item: &Item) -> bool {
    matches!(item, Item::Other(FINISHED_ROUND, ..))
}
