//! The recorder's list of processes and threads, as a source of names.

use crate::perfetto::wire::Fields;

// ProcessTree.
const PROCESSES: u32 = 1;
const THREADS: u32 = 2;
/// The kernel keeps this many bytes of a name: TASK_COMM_LEN - 1.
const NAME_MAX: usize = 15;

/// Calls `each` with the process id and name of every thread that the message names.
pub(super) fn for_each_name<'a>(message: &'a [u8], mut each: impl FnMut(u32, &'a [u8])) {
    for (number, value) in Fields::of(message).flatten() {
        let Some(entry) = value.bytes() else { continue };
        // Thread: tid 1, name 2. Process: pid 1, cmdline 3 (the first one is the program).
        let name_number = match number {
            PROCESSES => 3,
            THREADS => 2,
            _ => continue,
        };
        let find = |wanted: u32| Fields::of(entry).flatten().find(|&(number, _)| number == wanted).map(|(_, value)| value);
        let (pid, name) = (find(1).and_then(|pid| pid.natural()), find(name_number).and_then(|name| name.bytes()));
        if let (Some(pid), Some(name)) = (pid, name.filter(|name| !name.is_empty())) {
            each(pid, if number == PROCESSES { name_of_program(name) } else { name });
        }
    }
}

/// The name that the kernel gives to a program: the last part of its path. Names of kernel threads
/// are no paths, though they may hold a slash.
fn name_of_program(program: &[u8]) -> &[u8] {
    let is_path = program.starts_with(b"/") || program.starts_with(b".");
    let name = if is_path { program.rsplit(|&byte| byte == b'/').next().unwrap_or(program) } else { program };
    &name[..name.len().min(NAME_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs() {
        for (program, name) in [
            ("/usr/bin/perl", "perl"),
            ("./a.out", "a.out"),
            ("kworker/0:1", "kworker/0:1"),
            ("/system/bin/surfaceflinger", "surfaceflinger"),
            ("com.android.systemui", "com.android.sys"),
            ("/", ""),
        ] {
            assert_eq!(name_of_program(program.as_bytes()), name.as_bytes());
        }
    }

    #[test]
    fn threads_and_processes() {
        let process = [0x0a, 10, 8, 7, 0x1a, 3, b'/', b'b', b'x', 0x1a, 1, b'-'];
        let thread = [0x12, 6, 8, 9, 0x12, 2, b'h', b'i'];
        let nameless = [0x12, 2, 8, 10, 0x18, 1, 0x12, 9];
        let message = [&process[..], &thread, &nameless].concat();
        let mut found = Vec::new();
        for_each_name(&message, |pid, name| found.push((pid, name)));
        assert_eq!(found, [(7, &b"bx"[..]), (9, b"hi")]);
    }
}
