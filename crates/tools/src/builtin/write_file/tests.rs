//! `write_file`: what is written, what is refused.

use super::*;
use crate::builtin::read_file::ReadFile;
use crate::seen::Seen;
use crate::testing::Bench;
use std::os::unix::fs::{PermissionsExt, symlink};

async fn wrote(bench: &Bench, path: &str, content: &str) -> String {
    bench
        .said(&WriteFile, json!({"path": path, "content": content}))
        .await
}

#[tokio::test]
async fn files_are_made_with_their_parents() {
    let bench = Bench::new();
    let got = bench
        .envelope(&WriteFile, json!({"path": "a/b/c.txt", "content": "hé\n"}))
        .await;
    let path = bench.path("a/b/c.txt");
    let hash = Seen::hash("hé\n".as_bytes());
    let data = json!({"path": path, "bytes": 4, "created": true, "hash": hash});
    assert_eq!(got, json!({"ok": true, "data": data}));
    assert_eq!(bench.get("a/b/c.txt"), "hé\n".as_bytes());
    assert_eq!(wrote(&bench, "a/b/c.txt", "x").await, "Overwrote, 1 bytes.");
    assert_eq!(wrote(&bench, "new\nline", "").await, "Created, 0 bytes.");
}

#[tokio::test]
async fn what_is_overwritten_is_kept_as_a_diff() {
    for (old, new, expect) in [
        (
            "a\nb\nc\n",
            "a\nB\nc\n",
            json!("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
        ),
        ("same\n", "same\n", json!("")),
        ("\0binary", "text", Value::Null),
    ] {
        let bench = Bench::new();
        bench.put("f", old);
        let args = json!({"path": "f", "content": new});
        let got = bench.envelope(&WriteFile, args).await;
        assert_eq!(got["data"]["diff"], expect, "{old:?}");
    }
    // The log is no place for a file twice.
    let (old, new) = ("old line\n".repeat(9_000), "new line\n".repeat(9_000));
    let bench = Bench::new();
    bench.put("f", &old);
    let got = bench
        .envelope(&WriteFile, json!({"path": "f", "content": new}))
        .await;
    let diff = got["data"]["diff"].as_str().unwrap();
    assert!(
        diff.len() < 20_000 && diff.ends_with("more lines\n"),
        "{}",
        diff.len()
    );
}

#[tokio::test]
async fn only_a_state_that_was_seen_is_overwritten() {
    let bench = Bench::new();
    bench.put("f", "one");
    // Never seen: nothing to compare with.
    assert_eq!(wrote(&bench, "f", "two").await, "Overwrote, 3 bytes.");
    bench.put("f", "somebody else");
    let stale = "stale: f has changed since it was read. Read it again, then write or edit.";
    assert_eq!(wrote(&bench, "f", "three").await, stale);
    assert_eq!(bench.get("f"), b"somebody else");
    bench
        .run(&ReadFile, json!({"path": "f", "limit": 1}))
        .await
        .unwrap();
    assert_eq!(wrote(&bench, "f", "three").await, "Overwrote, 5 bytes.");
    // The same bytes again are the same state, whatever the clock says.
    bench.put("f", "three");
    assert_eq!(wrote(&bench, "f", "four").await, "Overwrote, 4 bytes.");
    std::fs::remove_file(bench.path("f")).unwrap();
    assert_eq!(wrote(&bench, "f", "five").await, "Created, 4 bytes.");
}

#[tokio::test]
async fn encodings_are_kept_where_they_can_say_it() {
    let bench = Bench::new();
    for (old, new, expect, told) in [
        (
            &b"\xFF\xFEa\0"[..],
            "b€",
            &b"\xFF\xFEb\0\xAC\x20"[..],
            "Overwrote, 6 bytes in UTF-16LE.",
        ),
        (
            b"\xEF\xBB\xBFa",
            "b",
            b"\xEF\xBB\xBFb",
            "Overwrote, 4 bytes in UTF-8 with BOM.",
        ),
        (
            b"caf\xE9 cr\xE8me",
            "th\u{e9}",
            b"th\xE9",
            "Overwrote, 3 bytes in windows-1252.",
        ),
        (
            b"caf\xE9 cr\xE8me",
            "你好",
            "你好".as_bytes(),
            "Overwrote, 6 bytes.",
        ),
        (b"\x7FELF\0", "text", b"text", "Overwrote, 4 bytes."),
    ] {
        bench.put("f", old);
        bench.seen.forget(&bench.path("f"));
        assert_eq!(wrote(&bench, "f", new).await, told);
        assert_eq!(bench.get("f"), expect, "{old:?}");
    }
}

#[tokio::test]
async fn errors_say_what_is_wrong() {
    let bench = Bench::new();
    bench.put("file", "");
    std::fs::create_dir(bench.path("dir")).unwrap();
    std::fs::write(bench.dir.path().join("outside"), "safe").unwrap();
    symlink(bench.dir.path().join("outside"), bench.path("way-out")).unwrap();
    symlink(bench.dir.path(), bench.path("dir-out")).unwrap();
    let outside = "lies outside of the folders that may be written (DIR/project).";
    for (path, expect) in [
        (
            "dir",
            "write_error: DIR/project/dir is a directory, not a file.".to_owned(),
        ),
        (
            "file/x",
            "mkdir_error: DIR/project/file is not a directory.".into(),
        ),
        ("../outside", format!("write_error: DIR/outside {outside}")),
        ("way-out", format!("write_error: DIR/outside {outside}")),
        ("dir-out/new", format!("write_error: DIR/new {outside}")),
        (
            "/etc/ostler-test",
            format!("write_error: /etc/ostler-test {outside}"),
        ),
        (
            "a\0b",
            "invalid_input: DIR/project/a\0b must be an absolute path without NUL bytes.".into(),
        ),
        ("", "invalid_input: The path is empty.".into()),
    ] {
        assert_eq!(wrote(&bench, path, "gone").await, expect);
    }
    assert_eq!(
        std::fs::read(bench.dir.path().join("outside")).unwrap(),
        b"safe"
    );
    let scope = bench.context("write_file").scope;
    let slash = crate::testing::access(&WriteFile, &json!({"path": "new/", "content": ""}), &scope);
    assert_eq!(
        slash.unwrap_err().message,
        "The path ends with a slash; name a file."
    );
}

#[tokio::test]
async fn a_read_only_folder_is_told_apart() {
    let bench = Bench::new();
    bench.put("locked/file", "x");
    let lock = |mode| {
        std::fs::set_permissions(bench.path("locked"), PermissionsExt::from_mode(mode)).unwrap()
    };
    lock(0o555);
    // Root may write anywhere; the others get a sentence.
    if std::fs::write(bench.path("locked/probe"), "").is_err() {
        assert_eq!(
            wrote(&bench, "locked/new", "").await,
            "write_error: permission denied for DIR/project/locked/new."
        );
        let sub = wrote(&bench, "locked/sub/new", "").await;
        assert!(
            sub.starts_with("mkdir_error: cannot make the directory DIR/project/locked/sub"),
            "{sub}"
        );
    }
    lock(0o755);
}
