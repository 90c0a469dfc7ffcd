//! `ostler checkpoint` as people use it.

use crate::support::*;
use ostler_testkit::TempWorkspace;
use serde_json::Value;

#[test]
fn a_tree_is_saved_looked_at_and_brought_back() {
    let space = TempWorkspace::new();
    let shown = |run: ostler_testkit::Run| space.shown(&run.output());
    insta::assert_snapshot!(shown(space.ostler(["checkpoint", "list"])), @"
    exit 0
    --- stderr
    There are no checkpoints of this project.
    ");
    assert!(!space.home().join("checkpoints").exists());
    let (a, b) = (space.root().join("a.txt"), space.root().join("b/c.txt"));
    space.write(&a, "one");
    space.write(&b, "one");
    let taken = shown(space.ostler(["checkpoint", "take", "--label", "before"]));
    assert!(taken.starts_with("exit 0\nCheckpoint 1: "), "{taken}");
    space.write(&a, "two");
    std::fs::remove_dir_all(space.root().join("b")).expect("gone");
    insta::assert_snapshot!(shown(space.ostler(["checkpoint", "diff", "1"])), @r"
    exit 0
    changed  a.txt
    removed  b
    removed  b/c.txt
    ");
    insta::assert_snapshot!(shown(space.ostler(["checkpoint", "restore", "1"])), @r"
    exit 1
    --- stderr
    ostler: nothing was restored: these have changed since checkpoint 1 last saw them: a.txt. `--keep` leaves them as they are, `--force` restores them as well.
    ");
    insta::assert_snapshot!(shown(space.ostler(["checkpoint", "restore", "1", "--force"])), @r"
    exit 0
    restored  a.txt
    restored  b
    restored  b/c.txt
    3 paths as in checkpoint 1. Undo: ostler checkpoint restore 2
    ");
    assert_eq!(std::fs::read(&a).expect("a file"), b"one");
    let undo = space
        .ostler(["checkpoint", "restore", "2", "--format", "json"])
        .output()
        .ok();
    let report: Value = serde_json::from_str(&undo.stdout).expect("json");
    assert_eq!(
        report["changed"],
        serde_json::json!(["a.txt", "b", "b/c.txt"])
    );
    assert_eq!(std::fs::read(&a).expect("a file"), b"two");
    let list = space
        .ostler(["checkpoint", "list", "--format", "json"])
        .output()
        .ok();
    let list: Value = serde_json::from_str(&list.stdout).expect("json");
    assert_eq!(list[0]["label"], "before");
    let gc = shown(space.ostler(["checkpoint", "gc", "--quota", "1B"]));
    assert!(gc.contains("Removed "), "{gc}");
    insta::assert_snapshot!(shown(space.ostler(["checkpoint", "show", "1"])), @r"
    exit 1
    --- stderr
    ostler: there is no checkpoint 1. `ostler checkpoint list` shows them.
    ");
}

#[test]
fn the_home_folder_is_no_project() {
    let space = TempWorkspace::new();
    let root = space.user_home().display().to_string();
    let out = space
        .ostler(["--root", &root, "checkpoint", "take"])
        .output();
    let shown = space.shown(&out);
    assert!(shown.contains("it is your home folder"), "{shown}");
    assert_eq!(out.code, Some(1));
}
