//! Writes trace.dat files, so that every byte order, length of `long`, version and packing can be
//! tested on any machine.

use flate2::bufread::ZlibEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Read;

/// How a file is written.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) version: u8,
    pub(crate) big_endian: bool,
    /// Bytes of a `long` of kernel and user space.
    pub(crate) long: usize,
    /// `none`, `zstd` or `zlib`; version 7 only.
    pub(crate) packing: &'static str,
    pub(crate) page_size: usize,
    pub(crate) clock: &'static str,
    /// Tracepoints with their fields.
    pub(crate) formats: Vec<(&'static str, Fields)>,
    /// The option that turns cycles into ns: multiplier and shift.
    pub(crate) cycles: Option<(u32, u32)>,
    /// Names of buffers; the events go into the first.
    pub(crate) buffers: Vec<&'static str>,
    /// The events go into all buffers; version 7 only.
    pub(crate) fill_all: bool,
}

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Int,
    U32,
    U64,
    Long,
    /// `char name[16]`.
    Comm,
    /// `__data_loc char[] name`.
    String,
}

/// The fields of a tracepoint behind the common ones.
pub(crate) type Fields = Vec<(&'static str, Kind)>;

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Number(i64),
    Text(&'static str),
}

/// A record: time, tracepoint, common_flags, common_pid and fields.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) at: u64,
    pub(crate) event: &'static str,
    pub(crate) flags: u8,
    pub(crate) pid: i32,
    pub(crate) values: Vec<Value>,
}

/// The records of one page; the number that was lost before it, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub(crate) records: Vec<Record>,
    pub(crate) lost: Option<Option<u64>>,
}

const FIRST_ID: usize = 300;
/// A record that the kernel took back after it was written.
pub(crate) const DISCARDED: &str = "(discarded)";

/// The tracepoints as kernel 6.18 describes them; `vruntime` as kernels before 6.8.
pub(crate) fn formats() -> Vec<(&'static str, Fields)> {
    use Kind::*;
    let wakeup = || vec![("comm", Comm), ("pid", Int), ("prio", Int), ("target_cpu", Int)];
    vec![
        ("sched_waking", wakeup()),
        ("sched_wakeup", wakeup()),
        ("sched_wakeup_new", wakeup()),
        (
            "sched_switch",
            vec![
                ("prev_comm", Comm),
                ("prev_pid", Int),
                ("prev_prio", Int),
                ("prev_state", Long),
                ("next_comm", Comm),
                ("next_pid", Int),
                ("next_prio", Int),
            ],
        ),
        ("sched_migrate_task", vec![("comm", String), ("pid", Int), ("prio", Int), ("orig_cpu", Int), ("dest_cpu", Int)]),
        ("sched_stat_runtime", vec![("comm", String), ("pid", Int), ("runtime", U64), ("vruntime", U64)]),
        ("sched_process_fork", vec![("parent_comm", Comm), ("parent_pid", Int), ("child_comm", Comm), ("child_pid", Int)]),
        ("sched_process_exit", vec![("comm", Comm), ("pid", Int), ("prio", Int)]),
        ("sched_process_wait", vec![("comm", Comm), ("pid", Int), ("prio", Int)]),
        ("cpu_frequency", vec![("state", U32), ("cpu_id", U32)]),
    ]
}

/// How the real tool prints the fields, where it has no plugin for the event.
fn print_format(event: &str) -> &'static str {
    match event {
        "sched_switch" => {
            "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d\", \
             REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, \
             \"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, \
             { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", \
             REC->prev_state & 0x100 ? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio"
        }
        "sched_migrate_task" => {
            "\"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d\", __get_str(comm), REC->pid, REC->prio, REC->orig_cpu, REC->dest_cpu"
        }
        "sched_stat_runtime" => {
            "\"comm=%s pid=%d runtime=%Lu [ns] vruntime=%Lu [ns]\", __get_str(comm), REC->pid, \
             (unsigned long long)REC->runtime, (unsigned long long)REC->vruntime"
        }
        "sched_process_fork" => {
            "\"comm=%s pid=%d child_comm=%s child_pid=%d\", REC->parent_comm, REC->parent_pid, REC->child_comm, REC->child_pid"
        }
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
            "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu"
        }
        "cpu_frequency" => "\"state=%lu cpu_id=%lu\", (unsigned long)REC->state, (unsigned long)REC->cpu_id",
        _ => "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio",
    }
}

impl Layout {
    pub(crate) fn new(version: u8) -> Layout {
        Layout {
            version,
            big_endian: false,
            long: 8,
            packing: "none",
            page_size: 4096,
            clock: "mono",
            formats: formats(),
            cycles: None,
            buffers: vec![""],
            fill_all: false,
        }
    }
    fn number(&self, number: u64, size: usize) -> Vec<u8> {
        match self.big_endian {
            true => number.to_be_bytes()[8 - size..].to_vec(),
            false => number.to_le_bytes()[..size].to_vec(),
        }
    }
    fn sized(&self, text: &str, size: usize) -> Vec<u8> {
        [self.number(text.len() as u64, size), text.as_bytes().to_vec()].concat()
    }
    fn size(&self, kind: Kind) -> usize {
        match kind {
            Kind::Int | Kind::U32 | Kind::String => 4,
            Kind::U64 => 8,
            Kind::Long => self.long,
            Kind::Comm => 16,
        }
    }
    /// The place of each field and of what follows them.
    fn places(&self, fields: &[(&str, Kind)]) -> (Vec<usize>, usize) {
        let mut at = 8;
        let places = fields.iter().map(|&(_, kind)| {
            let size = self.size(kind);
            let align = if kind == Kind::Comm { 1 } else { size };
            let place = usize::next_multiple_of(at, align);
            at = place + size;
            place
        });
        (places.collect(), at)
    }
    fn format(&self, id: usize, name: &str, fields: &[(&str, Kind)]) -> String {
        let mut text = format!("name: {name}\nID: {id}\nformat:\n");
        for (field, offset, size, signed) in [
            ("unsigned short common_type", 0, 2, 0),
            ("unsigned char common_flags", 2, 1, 0),
            ("unsigned char common_preempt_count", 3, 1, 0),
            ("int common_pid", 4, 4, 1),
        ] {
            text += &format!("\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n");
        }
        text += "\n";
        for ((field, kind), offset) in fields.iter().zip(self.places(fields).0) {
            let (declared, signed) = match kind {
                Kind::Int => (format!("int {field}"), 1),
                Kind::U32 => (format!("u32 {field}"), 0),
                Kind::U64 => (format!("u64 {field}"), 0),
                Kind::Long => (format!("long {field}"), 1),
                Kind::Comm => (format!("char {field}[16]"), 0),
                Kind::String => (format!("__data_loc char[] {field}"), 0),
            };
            text += &format!("\tfield:{declared};\toffset:{offset};\tsize:{};\tsigned:{signed};\n", self.size(*kind));
        }
        text + &format!("\nprint fmt: {}\n", print_format(name))
    }
    fn header_page(&self) -> String {
        let long = self.long;
        format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
             \tfield: char data;\toffset:{};\tsize:{};\tsigned:0;\n",
            8 + long,
            self.page_size - 8 - long
        )
    }
    fn headers(&self) -> Vec<u8> {
        let event = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
            \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
        let page = self.sized(&self.header_page(), 8);
        [b"header_page\0".to_vec(), page, b"header_event\0".to_vec(), self.sized(event, 8)].concat()
    }
    fn event_formats(&self) -> Vec<u8> {
        let mut bytes = self.number(2, 4);
        for (system, is_sched) in [("sched\0", true), ("power\0", false)] {
            let formats = self.formats.iter().enumerate().filter(|row| row.1.0.starts_with("sched_") == is_sched);
            bytes.extend([system.as_bytes().to_vec(), self.number(formats.clone().count() as u64, 4)].concat());
            for (row, (name, fields)) in formats {
                bytes.extend(self.sized(&self.format(FIRST_ID + row, name, fields), 8));
            }
        }
        bytes
    }
    fn cmdlines(&self) -> Vec<u8> {
        self.sized("1 init\n7 cached name\n", 8)
    }
    /// One record behind its common fields.
    fn record(&self, record: &Record) -> Vec<u8> {
        let row = self.formats.iter().position(|(name, _)| *name == record.event);
        let mut bytes = self.number(row.map_or(65535, |row| FIRST_ID + row) as u64, 2);
        bytes.extend([record.flags, 0]);
        bytes.extend(self.number(record.pid as u64, 4));
        let Some(row) = row else { return bytes };
        let fields = &self.formats[row].1;
        let (places, end) = self.places(fields);
        bytes.resize(end, 0);
        for (((_, kind), place), value) in fields.iter().zip(places).zip(&record.values) {
            let size = self.size(*kind);
            let value = match value {
                Value::Number(number) => self.number(*number as u64, size),
                Value::Text(text) if *kind == Kind::String => {
                    let here = (text.len() as u64 + 1) << 16 | bytes.len() as u64;
                    bytes.extend(text.bytes().chain([0]));
                    self.number(here, size)
                }
                Value::Text(text) => text.bytes().chain([0; 16]).take(16).collect(),
            };
            bytes[place..place + size].copy_from_slice(&value);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }
    fn word(&self, kind: u64, delta: u64) -> Vec<u8> {
        self.number(if self.big_endian { kind << 27 | delta } else { delta << 5 | kind }, 4)
    }
    fn page(&self, page: &Page) -> Vec<u8> {
        let start = page.records.first().map_or(0, |record| record.at);
        let (mut data, mut last) = (Vec::new(), start);
        for record in &page.records {
            let mut delta = record.at - last;
            last = record.at;
            if delta >> 27 != 0 {
                data.extend(self.word(30, delta & 0x7ff_ffff));
                data.extend(self.number(delta >> 27, 4));
                delta = 0;
            }
            let bytes = self.record(record);
            if record.event == DISCARDED {
                data.extend(self.word(29, delta.max(1)));
                data.extend(self.number(bytes.len() as u64 + 4, 4));
            } else if bytes.len() > 28 * 4 {
                data.extend(self.word(0, delta));
                data.extend(self.number(bytes.len() as u64 + 4, 4));
            } else {
                data.extend(self.word(bytes.len() as u64 / 4, delta));
            }
            data.extend(bytes);
        }
        let flags = match page.lost {
            None => 0,
            Some(None) => 1 << 31,
            Some(Some(_)) => 3 << 30,
        };
        let mut bytes = [self.number(start, 8), self.number(data.len() as u64 | flags, self.long), data].concat();
        if let Some(Some(lost)) = page.lost {
            bytes.extend(self.number(lost, self.long));
        }
        assert!(bytes.len() <= self.page_size, "the page is full");
        bytes.resize(self.page_size, 0);
        bytes
    }
    fn start(&self) -> Vec<u8> {
        let mut file = b"\x17\x08\x44tracing".to_vec();
        file.extend([b'0' + self.version, 0, u8::from(self.big_endian), self.long as u8]);
        file.extend(self.number(self.page_size as u64, 4));
        file
    }
    /// The file with the pages of each CPU.
    pub(crate) fn file(&self, cpus: &[Vec<Page>]) -> Vec<u8> {
        let cpus: Vec<Vec<u8>> = cpus.iter().map(|pages| pages.iter().flat_map(|page| self.page(page)).collect()).collect();
        if self.version == 6 { self.version6(&cpus) } else { self.version7(&cpus) }
    }
    fn option(&self, id: u64, data: &[u8]) -> Vec<u8> {
        [self.number(id, 2), self.number(data.len() as u64, 4), data.to_vec()].concat()
    }
    fn clock_options(&self) -> Vec<u8> {
        let mut options = self.option(4, format!("local [{}] tai\n\0", self.clock).as_bytes());
        if let Some((mult, shift)) = self.cycles {
            let numbers = [self.number(mult.into(), 4), self.number(shift.into(), 4), self.number(0, 8)].concat();
            options.extend(self.option(14, &numbers));
        }
        options.extend(self.option(5, b"Linux host 6.12.3-test x86_64\0"));
        options
    }
    fn version6(&self, cpus: &[Vec<u8>]) -> Vec<u8> {
        let mut file = self.start();
        file.extend(self.headers());
        file.extend(self.number(0, 4)); // no events of ftrace itself
        file.extend(self.event_formats());
        file.extend(self.sized("ffffffff81000000 T _text\n", 4));
        file.extend(self.sized("0xffffffff82000000 : \"hello\"\n", 4));
        file.extend(self.cmdlines());
        file.extend(self.number(cpus.len() as u64, 4));
        file.extend(b"options  \0");
        file.extend(self.clock_options());
        let table = 10 + cpus.len() * 16;
        let instances: Vec<&str> = self.buffers.iter().copied().filter(|name| !name.is_empty()).collect();
        let names: usize = instances.iter().map(|name| 6 + 8 + name.len() + 1).sum();
        let tables = file.len() + names + 2;
        for (row, name) in instances.iter().enumerate() {
            let offset = tables + (row + 1) * table;
            file.extend(self.option(3, &[self.number(offset as u64, 8), name.as_bytes().to_vec(), vec![0]].concat()));
        }
        file.extend(self.number(0, 2));
        let data = (tables + (instances.len() + 1) * table).next_multiple_of(self.page_size);
        for buffer in std::iter::once("").chain(instances) {
            file.extend(b"flyrecord\0");
            let mut at = data;
            for bytes in cpus {
                let filled = self.buffers[0] == buffer;
                file.extend(self.number(at as u64, 8));
                file.extend(self.number(if filled { bytes.len() as u64 } else { 0 }, 8));
                at += bytes.len();
            }
        }
        file.resize(data, 0);
        file.extend(cpus.concat());
        file
    }
    fn packed(&self, bytes: &[u8]) -> Vec<u8> {
        if self.packing == "zstd" {
            return compress_to_vec(bytes, CompressionLevel::Fastest);
        }
        let mut packed = Vec::new();
        ZlibEncoder::new(bytes, flate2::Compression::default()).read_to_end(&mut packed).unwrap();
        packed
    }
    fn section(&self, id: u64, content: &[u8]) -> Vec<u8> {
        let packs = self.packing != "none" && id != 0;
        let content = if packs {
            let packed = self.packed(content);
            [self.number(packed.len() as u64, 4), self.number(content.len() as u64, 4), packed].concat()
        } else {
            content.to_vec()
        };
        [self.number(id, 2), self.number(u64::from(packs), 2), self.number(0, 4), self.number(content.len() as u64, 8), content]
            .concat()
    }
    /// Pages in chunks of two.
    fn chunks(&self, bytes: &[u8]) -> Vec<u8> {
        let chunks: Vec<&[u8]> = bytes.chunks(2 * self.page_size).collect();
        let mut packed = self.number(chunks.len() as u64, 4);
        for chunk in chunks {
            let bytes = self.packed(chunk);
            packed.extend([self.number(bytes.len() as u64, 4), self.number(chunk.len() as u64, 4), bytes].concat());
        }
        packed
    }
    fn version7(&self, cpus: &[Vec<u8>]) -> Vec<u8> {
        let mut file = self.start();
        file.extend(format!("{}\0{}\0", self.packing, if self.packing == "none" { "" } else { "1.0" }).bytes());
        let first_options = file.len();
        file.extend([0; 8]);
        let mut options = self.clock_options();
        let mut put = |file: &mut Vec<u8>, id: u64, content: &[u8]| {
            options.extend(self.option(id, &self.number(file.len() as u64, 8)));
            file.extend(self.section(id, content));
        };
        put(&mut file, 16, &self.headers());
        put(&mut file, 17, &self.number(0, 4));
        put(&mut file, 18, &self.event_formats());
        put(&mut file, 19, &self.sized("ffffffff81000000 T _text\n", 4));
        put(&mut file, 20, &self.sized("0xffffffff82000000 : \"hello\"\n", 4));
        put(&mut file, 21, &self.cmdlines());
        file.extend(self.section(15, b"options\0"));
        let mut buffers = Vec::new();
        for (row, name) in self.buffers.iter().enumerate() {
            let (section, mut places, mut data) = (file.len(), Vec::new(), Vec::new());
            let start = (section + 16).next_multiple_of(self.page_size);
            for (cpu, bytes) in cpus.iter().enumerate().filter(|_| row == 0 || self.fill_all) {
                let bytes = if self.packing == "none" { bytes.clone() } else { self.chunks(bytes) };
                // The real tool does not count the 4 bytes of the number of chunks.
                let size = bytes.len() - if self.packing == "none" { 0 } else { 4 };
                let place = (start + data.len()).next_multiple_of(self.page_size);
                data.resize(place - start, 0);
                places.push([self.number(cpu as u64, 4), self.number(place as u64, 8), self.number(size as u64, 8)].concat());
                data.extend(bytes);
            }
            let flags = u64::from(self.packing != "none");
            let size = (start + data.len() - section - 16) as u64;
            file.extend([self.number(3, 2), self.number(flags, 2), self.number(0, 4), self.number(size, 8)].concat());
            file.resize(start, 0);
            file.extend(data);
            let names = [name.as_bytes(), b"\0", self.clock.as_bytes(), b"\0"].concat();
            let head = [self.number(section as u64, 8), names, self.number(self.page_size as u64, 4)].concat();
            let buffer = [head, self.number(places.len() as u64, 4), places.concat()].concat();
            buffers.extend(self.option(3, &buffer));
        }
        // Two lists of options: the first names the second.
        let at = file.len() as u64;
        file[first_options..first_options + 8].copy_from_slice(&self.number(at, 8));
        let next = at + 16 + options.len() as u64 + 14;
        options.extend(self.option(0, &self.number(next, 8)));
        file.extend(self.section(0, &options));
        buffers.extend(self.option(0, &self.number(0, 8)));
        file.extend(self.section(0, &buffers));
        file
    }
}
