//! Files that are not read, told by their content: what they seem to be, and what to do instead.

use crate::ctf;

/// A kind of file that is not read.
struct Foreign {
    /// Whether a file of this name, with these first bytes, is one.
    is_it: fn(&[u8], &str) -> bool,
    what: &'static str,
    hint: &'static str,
}

/// Where a tar archive says that it is one.
const TAR_MAGIC_AT: usize = 257;
fn contains(head: &[u8], text: &[u8]) -> bool {
    head.windows(text.len()).any(|window| window == text)
}

/// Whether a name ends in `.cpu` and a number.
fn is_part_of_cpu(name: &str) -> bool {
    name.rsplit_once(".cpu").is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

static FOREIGN: [Foreign; 12] = [
    Foreign {
        is_it: |head, _| ctf::is_part(head),
        what: "one file of a CTF trace (LTTng), which consists of several",
        hint: "give the folder that it lies in, or an archive of that folder",
    },
    Foreign {
        is_it: |head, _| head.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar")),
        what: "a tar archive",
        hint: "unpack it and give the trace in it; archives of a CTF trace or a SchedViz collection are read as they are",
    },
    Foreign {
        is_it: |head, _| head.starts_with(b"PK\x03\x04"),
        what: "a zip archive",
        hint: "unpack it and give the trace in it; archives of a CTF trace are read as they are",
    },
    Foreign {
        is_it: |head, _| head.starts_with(b"\xfd7zXZ\0"),
        what: "packed by xz",
        hint: "unpack it with `xz -d`, or pack it by zstd or gzip",
    },
    Foreign {
        is_it: |head, _| head.starts_with(b"BZh"),
        what: "packed by bzip2",
        hint: "unpack it with `bzip2 -d`, or pack it by zstd or gzip",
    },
    Foreign {
        is_it: |head, _| head.starts_with(b"\x04\x22\x4d\x18"),
        what: "packed by lz4",
        hint: "unpack it with `lz4 -d`, or pack it by zstd or gzip",
    },
    Foreign {
        is_it: |head, _| head.starts_with(b"\x7fELF"),
        what: "a program or a core dump",
        hint: "give the trace that was recorded",
    },
    Foreign {
        is_it: |head, _| head.starts_with(b"SQLite format 3\0"),
        what: "an SQLite database",
        hint: "give the trace from which it was made",
    },
    Foreign {
        is_it: |head, _| contains(head, b"\"traceEvents\""),
        what: "a JSON trace of Chrome, which does not tell what CPUs ran",
        hint: "record a Perfetto trace with `linux.ftrace`, or save the page of systrace",
    },
    Foreign {
        is_it: |head, _| contains(head, b"sch delay") && contains(head, b"run time"),
        what: "the table of `perf sched timehist`",
        hint: "give the perf.data from which it was made, or the text of `perf script`",
    },
    Foreign {
        is_it: |head, _| contains(head, b"Maximum delay ms") || contains(head, b"Max delay ms"),
        what: "the table of `perf sched latency`",
        hint: "give the perf.data from which it was made, or the text of `perf script`",
    },
    Foreign {
        is_it: |_, name| is_part_of_cpu(name),
        what: "the part of one CPU of a trace-cmd recording that was not finished",
        hint: "`trace-cmd restore` makes a trace.dat of all parts",
    },
];

/// What a file that no reader knows seems to be, as the rest of a sentence about it, and what to do.
pub(crate) fn seems(head: &[u8], name: &str) -> Option<(String, &'static str)> {
    FOREIGN.iter().find(|row| (row.is_it)(head, name)).map(|row| (format!("seems to be {}", row.what), row.hint))
}

#[cfg(test)]
mod tests {
    use crate::read_any;

    #[test]
    fn files_that_are_not_read_are_named() {
        let tar = [vec![b'a'; super::TAR_MAGIC_AT], b"ustar\x0000".to_vec()].concat();
        let metadata = 0x75d1_1d57_u32.to_be_bytes();
        let said = |bytes: &[u8], name: &str| read_any(bytes, name).map(|_| ()).map_err(|error| error.to_string()).unwrap_err();
        for (bytes, name, part) in [
            (
                &b"/* CTF 1.8 */\ntypealias integer"[..],
                "metadata",
                "a CTF trace (LTTng), which consists of several; give the folder",
            ),
            (&metadata, "metadata", "a CTF trace"),
            (&tar, "collection.tar", "SchedViz"),
            (b"\xfd7zXZ\0....", "t.xz", "`xz -d`"),
            (b"BZh91AY", "t.bz2", "bzip2"),
            (b"\x04\x22\x4d\x18..", "t.lz4", "lz4"),
            (b"\x7fELF\x02", "core", "a core dump"),
            (b"SQLite format 3\0", "t.db", "SQLite"),
            (b"{\"traceEvents\": [", "t.json", "JSON trace of Chrome"),
            (b"   time  cpu  task name  wait time  sch delay  run time\n", "hist", "perf sched timehist"),
            (b" Task | Runtime ms | Switches | Avg delay ms | Max delay ms\n", "lat", "perf sched latency"),
            (b"\x01\x02\x03", "trace.dat.cpu3", "`trace-cmd restore`"),
        ] {
            let said = said(bytes, name);
            assert!(said.starts_with(&format!("`{name}` seems to be ")) && said.contains(part), "{said}");
        }
        assert!(said(b"\0\x01\x02", "core").contains("no trace of a known format"));
    }
}
