//! `fairground kernel`: what is said of a folder that cannot be built.
#![cfg(target_os = "linux")]

use crate::support::{Folder, run};

#[test]
fn a_folder_that_is_no_kernel_is_refused_by_what_is_missing() {
    let folder = Folder::new();
    let path = folder.file("Makefile", "all:\n\tcc main.c\n");
    let tree = std::path::Path::new(&path).parent().unwrap().display().to_string();
    let ran = run(&["kernel", "build", &tree]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains(&format!("error: kernel: `{tree}` is no kernel tree, ")), "{}", ran.err);
    assert!(ran.err.contains("kernel/sched/fair.c"), "{}", ran.err);
}

#[test]
fn a_tree_that_is_too_old_says_what_it_lacks() {
    let folder = Folder::new();
    let head = "VERSION = 4\nPATCHLEVEL = 19\nSUBLEVEL = 1\n";
    let path = folder.file("Makefile", head);
    let tree = std::path::Path::new(&path).parent().unwrap();
    for name in ["Kconfig", "kernel/sched/sched.h", "kernel/sched/fair.c", "include/linux/sched.h", "scripts/x"] {
        let file = tree.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    let ran = run(&["kernel", "build", &tree.display().to_string()]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("has release 4.19.1, which is not supported") && ran.err.contains("kernel/sched in four units"),
        "{}",
        ran.err
    );
}

#[test]
fn a_name_that_is_no_word_is_refused() {
    let ran = run(&["kernel", "build", ".", "--as", "../x"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("is no name for a kernel"), "{}", ran.err);
}
