//! The examples of the documentation print what the documentation says.
//!
//! A block ```` ```console ```` whose lines with `$ ` all begin with `$ fairground ` is given to a shell, in a folder that
//! shows the tree's scenarios, examples and recordings. What it prints on stdout must be what the block says.
//!
//! `UPDATE_EXPECT=1 cargo test -p fairground_cli docs` writes what was printed into the pages.

use crate::support::{Folder, ok, workspace};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a folder of examples shows of the tree: folders that are only read, and those that commands write beside.
const READ: &[&str] = &["crates", "examples", "recordings"];
const WRITTEN: &[&str] =
    &["scenarios/examples", "scenarios/features", "scenarios/incidents", "scenarios/regressions", "scenarios/sweeps"];
/// A command whose runs take minutes: CI compares its rows (`cargo xtask ci`, step "reproduce, quick").
const LONG: &str = "reproduce";
/// The first line of a block that is run.
const FENCE: &str = "```console";

/// A block of a page: its commands with what the page says they print.
struct Block {
    /// The line of its fence, counted from 1.
    line: usize,
    commands: Vec<Example>,
}

/// A command and the lines below it.
struct Example {
    words: String,
    printed: String,
}

/// Every page of the tree that may hold examples.
fn pages() -> Vec<PathBuf> {
    let mut open = vec![workspace().join("docs"), workspace().join("scenarios")];
    let mut found = vec![workspace().join("README.md")];
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The blocks of a page that are run.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if line != FENCE {
            continue;
        }
        let body: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```")).collect();
        let commands = examples(&body);
        if !commands.is_empty() && commands.iter().all(|example| example.words.starts_with("fairground ")) {
            blocks.push(Block { line: at + 1, commands });
        }
    }
    blocks
}

fn examples(body: &[&str]) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    for line in body {
        if let Some(words) = line.strip_prefix("$ ") {
            found.push(Example { words: words.to_string(), printed: String::new() });
        } else if let Some(last) = found.last_mut() {
            last.printed += line;
            last.printed.push('\n');
        }
    }
    found
}

/// What the shell prints for a command, without spaces at the ends of lines.
fn printed(folder: &Path, words: &str) -> String {
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("sh")
        .args(["-c", words])
        .env("PATH", format!("{}:{path}", folder.join("bin").display()))
        .env_remove("COLUMNS")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked at"), "{words}: {errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim_end().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A folder in which the commands of the pages can be typed as they stand.
#[cfg(unix)]
fn shown() -> (Folder, PathBuf) {
    let folder = Folder::new();
    let path = PathBuf::from(folder.path("."));
    let tree = std::fs::canonicalize(workspace()).unwrap();
    for name in READ {
        std::os::unix::fs::symlink(tree.join(name), path.join(name)).unwrap();
    }
    for name in WRITTEN {
        std::fs::create_dir_all(path.join(name)).unwrap();
        for file in std::fs::read_dir(tree.join(name)).unwrap().map(|entry| entry.unwrap().path()) {
            std::fs::copy(&file, path.join(name).join(file.file_name().unwrap())).unwrap();
        }
    }
    std::fs::create_dir(path.join("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fairground"), path.join("bin/fairground")).unwrap();
    (folder, path)
}

#[cfg(unix)]
#[test]
fn examples_of_the_documentation_print_what_it_says() {
    let is_update = std::env::var_os("UPDATE_EXPECT").is_some();
    let (_folder, path) = shown();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let mut new = text.clone();
        for block in blocks(&text) {
            for example in block.commands {
                count += 1;
                let now = printed(&path, &example.words);
                if now != example.printed {
                    let at = format!("{}:{}: $ {}", page.display(), block.line, example.words);
                    wrong.push(format!("{at}\nthe page says:\n{}\nit prints:\n{now}", example.printed));
                    let heading = format!("$ {}\n", example.words);
                    new = new.replacen(&(heading.clone() + &example.printed), &(heading + &now), 1);
                }
            }
        }
        if is_update && new != text {
            std::fs::write(&page, new).unwrap();
        }
    }
    assert!(count > 0, "no page has an example");
    assert!(wrong.is_empty() || is_update, "UPDATE_EXPECT=1 writes what is printed into the pages\n\n{}", wrong.join("\n"));
}

#[test]
fn every_command_has_an_example() {
    let help = ok(&["--help"]).out;
    let commands = help.lines().skip_while(|line| !line.starts_with("Usage:")).take_while(|line| *line != "Options:");
    let names = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    let texts: Vec<String> = pages().iter().map(|page| std::fs::read_to_string(page).unwrap()).collect();
    let has = |name: &str| {
        let begins = |example: &Example| example.words.starts_with(&format!("fairground {name}"));
        texts.iter().flat_map(|text| blocks(text)).any(|block| block.commands.iter().any(begins))
    };
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 15, "{help}");
    let without: Vec<&str> = names.into_iter().filter(|&name| ![LONG, "help"].contains(&name) && !has(name)).collect();
    assert!(without.is_empty(), "no page has an example of {}", without.join(", "));
}

#[test]
fn a_block_is_taken_apart() {
    let page =
        "text\n```console\n$ fairground list machines | head -n 2\na\nb\n$ fairground x\n```\n```console\n$ cargo test\n```\n";
    let found = blocks(page);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].line, found[0].commands.len()), (2, 2));
    assert_eq!(found[0].commands[0].printed, "a\nb\n");
}
