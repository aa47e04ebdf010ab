//! From objects to a library: the tree's objects, ours, and a stub for each symbol that is left.
//!
//! A symbol is left because the scheduler calls the rest of a kernel. `stubs.list` says what each known one does. One that
//! is in no row becomes a trap, which stops the core with its name, and the build says who calls it: that is how a patch
//! that leans on something new shows.

use super::make::{run, tool};
use super::shim::{LINK, STUBS};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Objects of the tree that compute only: the scheduler's helpers.
pub(super) const HELPERS: &[&str] = &[
    "init/init_task",
    "kernel/locking/mutex",
    "kernel/locking/spinlock",
    "kernel/power/energy_model",
    "kernel/smp",
    "kernel/task_work",
    "kernel/time/time",
    "lib/bitmap",
    "lib/bsearch",
    "lib/cpumask",
    "lib/ctype",
    "lib/find_bit",
    "lib/hweight",
    "lib/list_sort",
    "lib/llist",
    "lib/math/div64",
    "lib/math/gcd",
    "lib/math/int_sqrt",
    "lib/math/reciprocal_div",
    "lib/plist",
    "lib/random32",
    "lib/rbtree",
    "lib/sort",
    "lib/timerqueue",
];
/// What the host's C library and the script of the linker give.
const GIVEN: &str = "memcpy memset memmove memcmp memchr snprintf sprintf sscanf vsnprintf vsscanf strcmp strlen strncmp strnlen \
                     strchr strncpy strcpy strstr strsep strpbrk strcspn strspn strrchr _GLOBAL_OFFSET_TABLE_ jiffies \
                     __per_cpu_start __per_cpu_end __sched_class_highest __sched_class_lowest __begin_sched_classes __end_sched_classes \
                     __ehdr_start fg_identity fg_core_initcalls fg_core_initcalls_end";

/// Links what lies in `build`; the answer names the symbols that are in no list, with those that call them.
pub(super) fn link(overlay: &Path, build: &Path, identity: &str) -> Result<Vec<String>, String> {
    let helpers: Vec<String> = HELPERS.iter().map(|name| format!("{name}.o")).filter(|name| build.join(name).exists()).collect();
    let mut objects = vec!["kernel/sched/built-in.a".to_string(), "arch/fg/kernel/built-in.a".to_string()];
    objects.extend(helpers);
    let left = undefined(build, &objects)?;
    let (stubs, unknown) = stubs(&left, identity);
    write(&build.join("stubs.c"), &stubs)?;
    write(&build.join("core.lds.S"), LINK)?;
    let mut script = tool("gcc", build);
    script.args(["-E", "-P", "-x", "c", "-D__KERNEL__", "-DLINKER_SCRIPT", "-D__ASSEMBLY__", "-D__ASSEMBLER__"]);
    for (place, folder) in [
        (overlay, "arch/fg/include"),
        (build, "arch/fg/include/generated"),
        (overlay, "include"),
        (build, "include"),
        (overlay, "arch/fg/include/uapi"),
        (build, "arch/fg/include/generated/uapi"),
        (overlay, "include/uapi"),
        (build, "include/generated/uapi"),
    ] {
        script.arg("-I").arg(place.join(folder));
    }
    script.arg("-include").arg(overlay.join("include/linux/kconfig.h")).args(has(build)).args(["core.lds.S", "-o", "core.lds"]);
    run(&mut script)?;
    let flags =
        ["-O2", "-fPIC", "-fvisibility=hidden", "-fno-builtin", "-fcf-protection=none", "-w", "-c", "stubs.c", "-o", "stubs.o"];
    run(tool("gcc", build).args(flags))?;
    let mut linker = tool("gcc", build);
    linker.args([
        "-shared",
        "-o",
        "core.so",
        "-Wl,-T,core.lds",
        "-Wl,-z,noexecstack",
        "-Wl,--no-undefined",
        "-Wl,--whole-archive",
    ]);
    linker.args(&objects[..2]).arg("-Wl,--no-whole-archive").args(&objects[2..]).arg("stubs.o");
    run(&mut linker)?;
    let symbols = run(tool("nm", build).args(["-n", "--defined-only", "core.so"]))?;
    write(&build.join("core.symbols"), &symbols)?;
    callers(build, &objects, &unknown)
}

/// Symbols that the objects use and do not define.
fn undefined(build: &Path, objects: &[String]) -> Result<BTreeSet<String>, String> {
    let names = |option: &str, row: usize, words: usize| -> Result<BTreeSet<String>, String> {
        let text = run(tool("nm", build).arg(option).args(objects))?;
        let name = |line: &str| {
            let all: Vec<&str> = line.split_whitespace().collect();
            (all.len() == words).then(|| all[row].to_string())
        };
        Ok(text.lines().filter_map(name).collect())
    };
    let (used, defined) = (names("--undefined-only", 1, 2)?, names("--defined-only", 2, 3)?);
    Ok(used.into_iter().filter(|name| !defined.contains(name) && !GIVEN.split_whitespace().any(|given| given == name)).collect())
}

/// The text of the stubs, and the symbols that are in no row.
fn stubs(left: &BTreeSet<String>, identity: &str) -> (String, BTreeSet<String>) {
    let rows: BTreeMap<&str, (&str, &str)> = STUBS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (kind, name) = (words.next()?, words.next()?);
            Some((name, (kind, words.next().unwrap_or_default())))
        })
        .collect();
    let mut text = String::from("void fg_trap(const char *symbol, unsigned long caller);\n");
    let _ = writeln!(text, "const char fg_identity[] = \"{identity}\";");
    let mut unknown = BTreeSet::new();
    for name in left {
        let _ = match rows.get(name.as_str()) {
            Some(("zero", _)) => writeln!(text, "long {name}(void) {{ return 0; }}"),
            Some(("one", _)) => writeln!(text, "long {name}(void) {{ return 1; }}"),
            Some(("data", bytes)) => writeln!(text, "char {name}[{bytes}] __attribute__((aligned(64)));"),
            known => {
                if known.is_none() {
                    unknown.insert(name.clone());
                }
                writeln!(text, "void {name}(void) {{ fg_trap(\"{name}\", (unsigned long)__builtin_return_address(0)); }}")
            }
        };
    }
    (text, unknown)
}

/// The macros that the tree's own build was given by `has.mk`: the script must read the same headers.
fn has(build: &Path) -> Vec<String> {
    let command = fs::read_to_string(build.join("arch/fg/kernel/.boot.o.cmd")).unwrap_or_default();
    let all: BTreeSet<&str> = command.split_whitespace().filter(|word| word.starts_with("-DFG_HAS_")).collect();
    all.into_iter().map(str::to_string).collect()
}

/// Who uses each unknown symbol: `foo, called by bar() in kernel/sched/fair.o`.
fn callers(build: &Path, objects: &[String], unknown: &BTreeSet<String>) -> Result<Vec<String>, String> {
    let mut found: BTreeMap<&str, BTreeSet<String>> = unknown.iter().map(|name| (name.as_str(), BTreeSet::new())).collect();
    if unknown.is_empty() {
        return Ok(Vec::new());
    }
    let text = run(tool("objdump", build).args(["-dr", "--no-show-raw-insn"]).args(objects))?;
    let (mut function, mut object) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(name) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            function = name.1.to_string();
        } else if let Some((name, _)) = line.split_once(":     file format") {
            object = name.to_string();
        } else if let Some((_, target)) = line.split_once("R_X86_64_").and_then(|row| row.1.split_once('\t')) {
            let symbol = target.split(['-', '+']).next().unwrap_or_default();
            if let Some(row) = found.get_mut(symbol) {
                row.insert(format!("{function}() in {object}"));
            }
        }
    }
    let line = |(name, by): (&str, BTreeSet<String>)| {
        let by: Vec<String> = by.into_iter().take(3).collect();
        if by.is_empty() { format!("`{name}`, named in data") } else { format!("`{name}`, called by {}", by.join(", ")) }
    };
    Ok(found.into_iter().map(line).collect())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_in_no_list_becomes_a_trap_and_is_named() {
        let left = ["put_task_stack", "init_mm", "seq_read", "new_thing"].map(String::from).into();
        let (text, unknown) = stubs(&left, "id");
        assert!(text.contains("long put_task_stack(void) { return 0; }") && text.contains("char init_mm[16384]"));
        assert!(text.contains("fg_trap(\"seq_read\"") && text.contains("fg_trap(\"new_thing\""));
        assert_eq!(unknown.into_iter().collect::<Vec<_>>(), ["new_thing"]);
    }
}
