//! `cargo xtask dist`: what a release page holds, in `target/dist/page`. Equal sources give equal files.
//!
//! ```text
//! fairground-0.1.0-x86_64-unknown-linux-musl.tar.gz   program, licence, man pages, completions
//! fairground-0.1.0.cdx.json                           what is in it (CycloneDX)
//! fairground-0.1.0-cp310-abi3-….whl                   the Python package, for the C library of this host; only where Python is
//! SHA256SUMS                                          checksums of all of them
//! ```

mod elf;
mod sbom;

use crate::steps::cargo;
use crate::{licences, python};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program for any Linux of this architecture: its C library is linked in.
const TARGET: &str = "x86_64-unknown-linux-musl";
/// Size that the program may have, bytes.
const PROGRAM_MAX: u64 = 12_000_000;
const SHELLS: [(&str, &str); 3] = [("bash", "fairground.bash"), ("zsh", "_fairground"), ("fish", "fairground.fish")];
/// A name of each kind that completions must know: machine, profile, workload, feature.
const COMPLETED: [&str; 4] = ["epyc-9654-2s", "v6.12", "hackbench", "NO_NEXT_BUDDY"];

/// `cargo xtask dist`.
pub(crate) fn run(root: &Path) -> bool {
    match make(root) {
        Ok(files) => {
            files.iter().for_each(|file| println!("{file}"));
            true
        }
        Err(why) => {
            eprintln!("{why}");
            false
        }
    }
}

/// Makes the page once more, from a clone of the last commit in another folder, and compares the checksums: where the sources lie, and
/// what lay there before, must not show. Takes two builds with full optimisation.
pub(crate) fn again(root: &Path) -> bool {
    match differences(root) {
        Ok(lines) if lines.is_empty() => true,
        Ok(lines) => {
            lines.iter().for_each(|line| eprintln!("not as before: {line}"));
            false
        }
        Err(why) => {
            eprintln!("{why}");
            false
        }
    }
}

/// Checksums of the second page that the first does not have.
fn differences(root: &Path) -> Result<Vec<String>, String> {
    let root = &root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let changed = done(Command::new("git").current_dir(root).args(["status", "--porcelain"]))?;
    if !changed.is_empty() {
        return Err(format!("a clone has the last commit only, and here is more:\n{changed}"));
    }
    let clone = root.join("target/dist/again");
    if clone.exists() {
        fs::remove_dir_all(&clone).map_err(|error| at(&clone, &error))?;
    }
    done(Command::new("git").args(["clone", "--quiet", "--depth", "1"]).arg(format!("file://{}", root.display())).arg(&clone))?;
    done(cargo(&clone).args(["run", "--quiet", "--package", "xtask", "--", "dist"]))?;
    let sums = |root: &Path| read(&root.join("target/dist/page/SHA256SUMS"));
    let first = sums(root)?;
    Ok(sums(&clone)?.lines().filter(|line| !first.contains(line)).map(str::to_string).collect())
}

fn make(root: &Path) -> Result<Vec<String>, String> {
    let root = &root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let program = build(root)?;
    let out = root.join("target/dist/page");
    if out.exists() {
        fs::remove_dir_all(&out).map_err(|error| at(&out, &error))?;
    }
    let version = answer(&program, &["--version"])?.trim().trim_start_matches("fairground ").to_string();
    let name = format!("fairground-{version}-{TARGET}");
    let folder = out.join(&name);
    fill(root, &program, &folder)?;
    let archive = format!("{name}.tar.gz");
    let tar = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--use-compress-program=gzip -n9"];
    done(Command::new("tar").current_dir(&out).args(tar).args(["--create", "--file", &archive, &name]))?;
    let parts = format!("fairground-{version}.cdx.json");
    let shipped = licences::tree(root, TARGET, &[licences::COMMAND])?;
    write(&out.join(&parts), &sbom::cyclonedx(&version, &shipped, &read(&root.join("Cargo.lock"))?)?)?;
    let mut files = vec![archive, parts];
    match python::environment(root) {
        Ok(venv) => {
            let wheel = python::wheel(root, &venv, "dist", &out)?;
            files.extend(wheel.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
        Err(why) => eprintln!("no wheel is made: {why}"),
    }
    let sums = done(Command::new("sha256sum").current_dir(&out).args(&files))?;
    write(&out.join("SHA256SUMS"), &sums)?;
    files.push("SHA256SUMS".to_string());
    Ok(files.into_iter().map(|file| format!("target/dist/page/{file}")).collect())
}

/// The program, after a look at what makes it fit to be handed out.
fn build(root: &Path) -> Result<PathBuf, String> {
    let libraries = done(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]))?;
    if !Path::new(libraries.trim()).is_dir() {
        return Err(format!("there is no standard library for {TARGET}: `rustup target add {TARGET}` fetches it"));
    }
    done(cargo(root).args(["build", "--profile", "dist", "--package", "fairground_cli", "--target", TARGET]))?;
    let program = root.join("target").join(TARGET).join("dist/fairground");
    let bytes = fs::read(&program).map_err(|error| at(&program, &error))?;
    elf::check(&bytes)?;
    let size = bytes.len() as u64;
    if size > PROGRAM_MAX {
        return Err(format!("{}: {size} bytes, at most {PROGRAM_MAX} are wanted", program.display()));
    }
    eprintln!("{}: {size} bytes, linked statically", program.display());
    Ok(program)
}

/// Puts everything into the folder that is packed.
fn fill(root: &Path, program: &Path, folder: &Path) -> Result<(), String> {
    let (manual, completions) = (folder.join("man"), folder.join("completions"));
    for folder in [&manual, &completions] {
        fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    }
    for (from, to) in
        [(program, "fairground"), (&root.join("LICENSE"), "LICENSE"), (&root.join("docs/licences.md"), "licences.md")]
    {
        fs::copy(from, folder.join(to)).map_err(|error| at(from, &error))?;
    }
    answer(program, &["man", "--output", &manual.to_string_lossy()])?;
    let pages = fs::read_dir(&manual).map_err(|error| at(&manual, &error))?.count();
    if pages < 2 {
        return Err(format!("{pages} manual pages: there should be one for each command"));
    }
    for (shell, file) in SHELLS {
        let text = answer(program, &["completions", shell])?;
        if let Some(missing) = COMPLETED.iter().find(|name| !text.contains(*name)) {
            return Err(format!("completions for {shell} do not know `{missing}`"));
        }
        write(&completions.join(file), &text)?;
    }
    Ok(())
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| at(path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| at(path, &error))
}

/// What our program prints.
fn answer(program: &Path, arguments: &[&str]) -> Result<String, String> {
    done(Command::new(program).args(arguments))
}

/// What a command prints; its errors are shown as they come.
fn done(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(std::process::Stdio::inherit()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{command:?}: {error}"))
}
