//! `cargo xtask pictures`: the pictures of the documentation, made anew from pages that the command writes.
//!
//! Each picture is a part of a page that a command writes with `-o PAGE.html`, drawn by a headless Chromium.

use crate::steps::{fairground, succeeds};
use std::path::Path;
use std::process::{Command, Stdio};

/// Where the pictures lie.
const FOLDER: &str = "docs/pictures";
/// What Chromium is called, by distribution.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// A picture: the command that writes the page, the part of it that is shown, and the size in pixels.
struct Picture {
    name: &'static str,
    command: &'static [&'static str],
    view: &'static str,
    size: (u32, u32),
}

const PICTURES: &[Picture] = &[
    Picture { name: "quota", command: &["run", "scenarios/examples/quota.toml"], view: "t=200ms-700ms", size: (1100, 700) },
    // Two minutes.
    Picture {
        name: "bisect",
        command: &[
            "bisect",
            "scenarios/regressions/postgres-preempt.toml",
            "--a",
            "v6.12",
            "--b",
            "v7.2",
            "--metric",
            "pgbench_transactions.per_second",
        ],
        view: "",
        size: (1100, 860),
    },
];

/// `cargo xtask pictures`.
pub(crate) fn run(root: &Path) -> bool {
    let Some(browser) = BROWSERS.iter().find(|name| Command::new(name).arg("--version").output().is_ok()) else {
        eprintln!("no Chromium is installed: apt-get install chromium");
        return false;
    };
    let folder = root.join("target/pictures");
    if let Err(error) = std::fs::create_dir_all(&folder).and_then(|()| std::fs::create_dir_all(root.join(FOLDER))) {
        eprintln!("{FOLDER}: {error}");
        return false;
    }
    PICTURES.iter().all(|picture| draw(root, &folder, browser, picture))
}

fn draw(root: &Path, folder: &Path, browser: &str, picture: &Picture) -> bool {
    let page = folder.join(format!("{}.html", picture.name));
    let mut run = fairground(root);
    run.args(picture.command).arg("-o").arg(&page).stdout(Stdio::null());
    if !succeeds(&mut run) {
        return false;
    }
    let Ok(page) = std::fs::canonicalize(&page) else { return false };
    let to = format!("{FOLDER}/{}.png", picture.name);
    let mut draw = Command::new(browser);
    draw.current_dir(root)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", folder.join("browser").display()))
        .arg(format!("--window-size={},{}", picture.size.0, picture.size.1))
        .arg(format!("--screenshot={to}"))
        .arg(format!("file://{}#{}", page.display(), picture.view))
        .stderr(Stdio::null());
    let drawn = succeeds(&mut draw);
    println!("{to}");
    drawn
}
