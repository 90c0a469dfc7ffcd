//! `move_file`: what moves, what is refused.

use super::*;
use crate::testing::Bench;
use std::os::unix::fs::symlink;

async fn moved(bench: &Bench, from: &str, to: &str) -> String {
    bench
        .said(
            &MoveFile,
            json!({"source_path": from, "destination_path": to}),
        )
        .await
}

#[tokio::test]
async fn files_and_folders_move() {
    let bench = Bench::new();
    bench.put("a", "text");
    bench.seen.note(&bench.path("a"), "known");
    let got = bench
        .envelope(&MoveFile, json!({"source": "a", "destination": "x/y/b"}))
        .await;
    let data = json!({"source_path": bench.path("a"), "destination_path": bench.path("x/y/b"), "overwrote": false});
    assert_eq!(got, json!({"ok": true, "data": data}));
    assert_eq!(bench.get("x/y/b"), b"text");
    // What was known of the file goes with it.
    assert_eq!(
        bench.seen.known(&bench.path("x/y/b")).as_deref(),
        Some("known")
    );
    assert_eq!(bench.seen.known(&bench.path("a")), None);
    assert_eq!(moved(&bench, "x", "z").await, "Moved.");
    assert_eq!(bench.get("z/y/b"), b"text");
    // Into a folder, by a slash.
    bench.put("c", "more");
    assert_eq!(moved(&bench, "c", "z/").await, "Moved.");
    assert_eq!(bench.get("z/c"), b"more");
    // A link moves itself.
    symlink(bench.path("z/c"), bench.path("link")).unwrap();
    assert_eq!(moved(&bench, "link", "other").await, "Moved.");
    assert!(bench.path("other").is_symlink());
}

#[tokio::test]
async fn nothing_is_overwritten_unasked() {
    let bench = Bench::new();
    bench.put("a", "new");
    bench.put("b", "old");
    assert_eq!(
        moved(&bench, "a", "b").await,
        "exists: b already exists. Choose another name, or pass overwrite."
    );
    assert_eq!(
        (bench.get("a"), bench.get("b")),
        (b"new".to_vec(), b"old".to_vec())
    );
    let args = json!({"source_path": "a", "destination_path": "b", "overwrite": true});
    let data = bench.run(&MoveFile, args).await.unwrap().data;
    assert_eq!(data["overwrote"], true);
    assert_eq!(
        MoveFile::render(&data).text,
        "Moved; the file that was there is gone."
    );
    assert_eq!(bench.get("b"), b"new");
}

#[tokio::test]
async fn errors_say_what_is_wrong() {
    let bench = Bench::new();
    bench.put("dir/a", "x");
    bench.put("file", "x");
    std::fs::write(bench.dir.path().join("outside"), "safe").unwrap();
    let outside = "lies outside of the folders that may be written (DIR/project).";
    for (from, to, expect) in [
        (
            "nothing",
            "b",
            "not_found: DIR/project/nothing does not exist.".to_owned(),
        ),
        (
            "dir",
            "dir",
            "invalid_input: Source and destination are the same path.".into(),
        ),
        (
            "dir",
            "dir/sub/dir",
            "invalid_input: dir cannot be moved into itself.".into(),
        ),
        (
            "file",
            "dir",
            "exists: dir already exists. Choose another name, or pass overwrite.".into(),
        ),
        ("file", "../out", format!("forbidden: DIR/out {outside}")),
        (
            "../outside",
            "in",
            format!("forbidden: DIR/outside {outside}"),
        ),
        (
            "file",
            "dir/a/b",
            "path_error: DIR/project/dir/a is not a directory.".into(),
        ),
        ("file", "", "invalid_input: The path is empty.".into()),
    ] {
        assert_eq!(moved(&bench, from, to).await, expect, "{from} -> {to}");
    }
    assert!(!bench.path("dir/sub").exists());
    assert_eq!(
        (bench.get("dir/a"), bench.get("file")),
        (b"x".to_vec(), b"x".to_vec())
    );
}

#[test]
fn both_ends_are_declared() {
    let scope = Scope::new("/r", None);
    let args = json!({"source_path": "a", "destination_path": "d/"});
    let expect = vec![Access::Write("/r/a".into()), Access::Write("/r/d/a".into())];
    assert_eq!(crate::testing::access(&MoveFile, &args, &scope), Ok(expect));
}
