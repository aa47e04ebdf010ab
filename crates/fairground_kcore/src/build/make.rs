//! The programs that a build runs, and what is shown when one of them fails.

use std::path::Path;
use std::process::Command;

/// What a build needs on the machine.
const TOOLS: &[&str] = &["gcc", "make", "flex", "bison", "bc", "nm", "objdump"];

/// All that is missing, at once.
pub(super) fn check_tools() -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |tool: &str| std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    let missing: Vec<&str> = TOOLS.iter().copied().filter(|tool| !is_there(tool)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("a kernel build needs {}. On Debian: apt install gcc make flex bison bc binutils", missing.join(", ")))
}

/// A program that runs in `folder`, in the language that its messages are read in.
pub(super) fn tool(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(folder).env("LC_ALL", "C");
    for variable in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", "KCFLAGS", "KBUILD_OUTPUT", "ARCH", "CROSS_COMPILE"] {
        command.env_remove(variable);
    }
    command
}

/// Runs it; the answer is what it printed. What it said of a failure is the error.
pub(super) fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// The compiler's errors in `said`, with the places of the user's tree instead of the overlay's. What follows an error up to
/// the next message belongs to it.
pub(super) fn errors(said: &str, overlay: &Path, tree: &Path) -> Vec<String> {
    let (from, to) = (format!("{}/", overlay.display()), format!("{}/", tree.display()));
    let mut found: Vec<String> = Vec::new();
    let mut within = false;
    for line in said.lines() {
        let is_new = line.contains("error:") || line.contains("warning:") || line.contains("note:") || line.starts_with("make");
        if is_new {
            within = line.contains("error:") && !line.contains("ld returned");
        }
        if within && found.len() < 60 {
            let line = line.replace(&from, &to);
            found.push(line.chars().flat_map(|sign| if sign == '\t' { vec![' '] } else { escaped(sign) }).collect());
        }
    }
    found
}

fn escaped(sign: char) -> Vec<char> {
    if sign.is_control() { sign.escape_default().collect() } else { vec![sign] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shown_at_their_place_in_the_users_tree() {
        let said = "  CC kernel/sched/fair.o\n/s/o/kernel/sched/fair.c:12:5: warning: odd\n  12 | odd\n\
                    /s/o/kernel/sched/fair.c:20:9: error: 'x' undeclared\n   20 |  x = 1;\n      |  ^\nmake[3]: *** [fair.o] Error 1\nrest\n";
        let found = errors(said, Path::new("/s/o"), Path::new("/home/me/linux"));
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], "/home/me/linux/kernel/sched/fair.c:20:9: error: 'x' undeclared");
    }
}
