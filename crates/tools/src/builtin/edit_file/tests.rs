//! `edit_file`: what is found, what is changed, what is refused.

use super::*;
use crate::builtin::read_file::ReadFile;
use crate::seen::Seen;
use crate::testing::Bench;
use serde_json::json;
use std::os::unix::fs::symlink;

async fn edited(bench: &Bench, args: Value) -> String {
    bench.said(&EditFile, args).await
}

fn change(old: &str, new: &str) -> Value {
    json!({"path": "f", "old": old, "new": new})
}

#[tokio::test]
async fn the_envelope_has_the_contract_fields() {
    let bench = Bench::new();
    let path = bench.put("f", "a\nb\nc\n");
    let got = bench
        .envelope(
            &EditFile,
            json!({"file_path": "f", "old_string": "b", "new_string": "B"}),
        )
        .await;
    let data = json!({
        "path": path,
        "hash": Seen::hash(b"a\nB\nc\n"),
        "replacements": 1,
        "match": "exact",
        "diff": "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
    });
    assert_eq!(got, json!({"ok": true, "data": data}));
    assert_eq!(bench.get("f"), b"a\nB\nc\n");
}

#[tokio::test]
async fn bytes_around_the_edit_survive() {
    let bench = Bench::new();
    let utf16 = |text: &str| -> Vec<u8> {
        [0xFE, 0xFF]
            .into_iter()
            .chain(text.encode_utf16().flat_map(u16::to_be_bytes))
            .collect()
    };
    let chinese = "// 读取配置文件，然后启动服务器。\r\nlet 名字 = 1;\r\n";
    let gb = |text: &str| encoding_rs::GB18030.encode(text).0.into_owned();
    for (before, old, new, after) in [
        (b"a\r\nb\nc".to_vec(), "b", "x\ny", b"a\r\nx\ny\nc".to_vec()),
        (
            b"\xEF\xBB\xBFa\r\nb\r\n".to_vec(),
            "a\nb\n",
            "c\n",
            b"\xEF\xBB\xBFc\r\n".to_vec(),
        ),
        (utf16("one\r\ntwo 🎉"), "two", "2", utf16("one\r\n2 🎉")),
        (
            gb(chinese),
            "名字",
            "变量",
            gb(&chinese.replace("名字", "变量")),
        ),
        (
            b"caf\xE9 cr\xE8me\n".to_vec(),
            "crème",
            "brûlée",
            b"caf\xE9 br\xFBl\xE9e\n".to_vec(),
        ),
        (
            b"\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F \xFF end".to_vec(),
            "end",
            "fin",
            b"\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F \xFF fin".to_vec(),
        ),
    ] {
        bench.put("f", &before);
        bench.seen.forget(&bench.path("f"));
        assert_eq!(edited(&bench, change(old, new)).await, "1 replacement.");
        assert_eq!(bench.get("f"), after, "{before:?}");
    }
}

#[tokio::test]
async fn a_loose_match_is_shown() {
    let bench = Bench::new();
    bench.put("f", "class A:\n    def f(self):\n        return 1\n");
    let got = edited(
        &bench,
        change(
            "def f(self):\n    return 1\n",
            "def f(self):\n    return 2\n",
        ),
    )
    .await;
    insta::assert_snapshot!(got, @r"
    1 replacement, matched up to indentation:
    @@ -1,3 +1,3 @@
     class A:
         def f(self):
    -        return 1
    +        return 2
    ");
}

#[tokio::test]
async fn what_differs_by_blanks_is_said() {
    let bench = Bench::new();
    bench.put("f", "x  =  1\ny\n");
    insta::assert_snapshot!(edited(&bench, change("x = 1\ny", "z")).await, @r"
    old_not_found: `old` is not in f as it is written; only blanks differ, from line 1 on:
    1: x  =  1
    2: y
    Copy `old` exactly, white space included.
    ");
    bench.put("f", "a \nb\n\na\t\nb\n");
    insta::assert_snapshot!(edited(&bench, change("a\nb", "z")).await, @r"
    old_not_found: `old` is not in f as it is written; only blanks differ, at 2 places, the first from line 1 on:
    1: a 
    2: b
    Copy `old` exactly, white space included.
    ");
    bench.put("f", "  a()\n");
    insta::assert_snapshot!(edited(&bench, change("a()", "a()\nb()")).await, @"invalid_input: `old` begins within the indentation of line 1 in f, so it is not clear how far the further lines of `new` are meant to be indented. Send `old` and `new` with the whole indentation.");
    bench.put("f", "a  \nb\n");
    insta::assert_snapshot!(edited(&bench, change("a\nb", "a\nc")).await, @r"
    1 replacement, matched up to trailing blanks:
    @@ -1,2 +1,2 @@
     a  
    -b
    +c
    ");
}

#[tokio::test]
async fn a_changed_file_is_edited_and_said() {
    let bench = Bench::new();
    bench.put("f", "one\n");
    bench.run(&ReadFile, json!({"path": "f"})).await.unwrap();
    assert_eq!(edited(&bench, change("one", "two")).await, "1 replacement.");
    bench.put("f", "zero\ntwo\n");
    let data = bench
        .run(&EditFile, change("two", "three"))
        .await
        .unwrap()
        .data;
    assert_eq!(data["changed_since_read"], true);
    assert!(
        EditFile::render(&data)
            .text
            .starts_with("1 replacement.\nThe file had changed")
    );
    assert_eq!(bench.get("f"), b"zero\nthree\n");
    assert_eq!(
        edited(&bench, change("three", "four")).await,
        "1 replacement."
    );
}

#[tokio::test]
async fn counts_are_kept_to() {
    let bench = Bench::new();
    bench.put("f", "x\nx\ny\n");
    let many = "replacement_count_mismatch: `old` occurs 2 times in f (lines 1, 2), expected 1. Add lines around it to `old`, or set expected_replacements.";
    assert_eq!(edited(&bench, change("x", "z")).await, many);
    let few = "replacement_count_mismatch: `old` occurs 1 time in f (line 3), expected 2. Add lines around it to `old`, or set expected_replacements.";
    assert_eq!(
        edited(
            &bench,
            json!({"path": "f", "old": "y", "new": "z", "expected_replacements": 2})
        )
        .await,
        few
    );
    assert_eq!(
        edited(
            &bench,
            json!({"path": "f", "old": "x", "new": "z", "expected_replacements": 2})
        )
        .await,
        "2 replacements."
    );
    assert_eq!(bench.get("f"), b"z\nz\ny\n");
    let all = |old: &str| json!({"path": "f", "old": old, "new": "w", "replace_all": true});
    assert_eq!(edited(&bench, all("z")).await, "2 replacements.");
    assert_eq!(edited(&bench, all("y")).await, "1 replacement.");
    assert!(edited(&bench, all("q")).await.starts_with("old_not_found"));
    assert_eq!(bench.get("f"), b"w\nw\nw\n");
    // A number that was sent counts, whatever stands beside it.
    let both = |all: bool, n: usize| json!({"path": "f", "old": "w", "new": "v", "replace_all": all, "expected_replacements": n});
    for (args, expect) in [
        (both(true, 1), "replacement_count_mismatch: `old` occurs 3"),
        (both(true, 2), "replacement_count_mismatch: `old` occurs 3"),
        (both(false, 3), "invalid_input: replace_all is false"),
        (both(false, 1), "replacement_count_mismatch: `old` occurs 3"),
        (both(true, 3), "3 replacements."),
    ] {
        let told = edited(&bench, args.clone()).await;
        assert!(told.starts_with(expect), "{args}: {told}");
    }
    assert_eq!(bench.get("f"), b"v\nv\nv\n");
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let bench = Bench::new();
    bench.put("f", "fn main() {\n    println!(\"hello\");\n}\n");
    bench.put("latin", b"caf\xE9 cr\xE8me\n");
    bench.put("program", b"\x7FELF\0");
    bench.put("torn", b"\xFF\xFEa\0b");
    std::fs::create_dir(bench.path("dir")).unwrap();
    std::fs::write(bench.dir.path().join("outside"), "safe").unwrap();
    symlink(bench.dir.path().join("outside"), bench.path("way-out")).unwrap();
    for (path, old, new, expect) in [
        (
            "f",
            "    printn!(\"hello\");",
            "x",
            "old_not_found: `old` is not in f. Nearest lines:\n2:     println!(\"hello\");\nCopy `old` exactly, white space included.",
        ),
        (
            "f",
            "@@@@",
            "x",
            "old_not_found: `old` is not in f, nor anything like it. Read the file again.",
        ),
        (
            "f",
            "",
            "x",
            "invalid_input: `old` is empty. To make a file or replace all of it use write_file.",
        ),
        (
            "nothing",
            "",
            "x",
            "invalid_input: `old` is empty. To make a file or replace all of it use write_file.",
        ),
        (
            "f",
            "x",
            "x",
            "invalid_input: `old` and `new` are the same.",
        ),
        (
            "nothing",
            "a",
            "b",
            "path_error: DIR/project/nothing does not exist. Use write_file to make it, or glob to find it.",
        ),
        (
            "dir",
            "a",
            "b",
            "path_error: DIR/project/dir is a directory, not a file.",
        ),
        (
            "way-out",
            "safe",
            "b",
            "path_error: DIR/outside lies outside of the folders that may be written (DIR/project).",
        ),
        (
            "latin",
            "crème",
            "奶油",
            "write_error: latin is encoded in windows-1252, which has no `奶`. Nothing was written. Use other characters, or convert the file first.",
        ),
        (
            "program",
            "E",
            "x",
            "read_error: program is a binary file (ELF). Change it with a program, through bash.",
        ),
        (
            "torn",
            "a",
            "x",
            "read_error: torn looks like UTF-16LE, but not all of its bytes are. An edit would damage it. Use a program, through bash.",
        ),
    ] {
        let before = std::fs::read(bench.path(path)).ok();
        assert_eq!(
            edited(&bench, json!({"path": path, "old": old, "new": new})).await,
            expect
        );
        assert_eq!(std::fs::read(bench.path(path)).ok(), before);
    }
}

#[tokio::test]
async fn large_files_and_lines_are_no_trouble() {
    let bench = Bench::new();
    let long = format!("{}needle{}\n", "x".repeat(5_000_000), "y".repeat(5_000_000));
    bench.put("f", &long);
    let data = bench
        .run(&EditFile, change("needle", "pin"))
        .await
        .unwrap()
        .data;
    assert!(data["diff"].as_str().is_some_and(|d| d.len() < 20_000));
    assert_eq!(bench.get("f"), long.replace("needle", "pin").as_bytes());
    let missing = edited(&bench, change("needles in a haystack", "x")).await;
    assert!(missing.len() < 1000, "{missing}");
    bench.put("f", vec![b'a'; 33 * 1024 * 1024]);
    let got = edited(&bench, change("b", "c")).await;
    assert_eq!(
        got,
        "read_error: f is larger than 33554432 bytes. Change it with a program, through bash."
    );
}

#[tokio::test]
async fn a_cancelled_edit_writes_nothing() {
    let bench = Bench::new();
    bench.put("f", "a");
    let cx = bench.context("edit_file");
    cx.cancel.cancel();
    let got = crate::testing::run(&EditFile, change("a", "b"), cx).await;
    assert_eq!(got.err().map(|e| e.code), Some("interrupted"));
    assert_eq!(bench.get("f"), b"a");
}

#[tokio::test]
async fn what_cannot_be_made_is_known_before_anybody_is_asked() {
    use crate::tool::Tool as _;
    use ostler_guard::{Policy, Rule, Rules};
    let bench = Bench::new();
    bench.put("f", "a\nb\n");
    let objection = async |args: Value, policy: Policy| {
        let call = EditFile.read(&args).unwrap();
        let cx = bench.context_under("edit_file", policy);
        call.objection(cx).await.map(|error| error.code)
    };
    for (args, expect) in [
        (change("b", "c"), None),
        (change("zzz", "c"), Some("old_not_found")),
        (change("b", "b"), Some("invalid_input")),
        (
            json!({"path": "gone", "old": "a", "new": "b"}),
            Some("path_error"),
        ),
    ] {
        let got = objection(args.clone(), Policy::default()).await;
        assert_eq!(got, expect, "{args}");
    }
    // What a file holds that has to be asked for is not told by an error either.
    let asked = Policy {
        rules: Rules {
            ask: vec![Rule::parse("Read(f)", "x:1").unwrap()],
            ..Rules::default()
        },
        ..Policy::default()
    };
    assert_eq!(objection(change("zzz", "c"), asked).await, None);
    assert_eq!(bench.get("f"), b"a\nb\n");
}
