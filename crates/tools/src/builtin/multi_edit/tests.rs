//! `multi_edit`: in order, all or none.

use super::*;
use crate::seen::Seen;
use crate::testing::Bench;
use serde_json::json;

async fn edited(bench: &Bench, edits: Value) -> String {
    match bench
        .run(&MultiEdit, json!({"path": "f", "edits": edits}))
        .await
    {
        Ok(done) => MultiEdit::render(&done.data).text,
        Err(e) => format!("{}: {}", e.code, e.message),
    }
}

#[tokio::test]
async fn each_edit_sees_the_one_before() {
    let bench = Bench::new();
    let path = bench.put("f", "a\nb\n");
    let edits = json!([
        {"old": "a", "new": "b"},
        {"old_string": "b", "new_string": "c", "expected_replacements": 2},
    ]);
    let got = bench
        .envelope(&MultiEdit, json!({"path": "f", "edits": edits}))
        .await;
    let data = json!({
        "path": path,
        "hash": Seen::hash(b"c\nc\n"),
        "edits": [
            {"replacements": 1, "match": "exact", "diff": "@@ -1,2 +1,2 @@\n-a\n b\n+b\n"},
            {"replacements": 2, "match": "exact", "diff": "@@ -1,2 +1,2 @@\n-b\n-b\n+c\n+c\n"},
        ],
    });
    assert_eq!(got, json!({"ok": true, "data": data}));
    assert_eq!(bench.get("f"), b"c\nc\n");
}

#[tokio::test]
async fn all_or_nothing() {
    let bench = Bench::new();
    bench.put("f", "one\ntwo\n");
    for (edits, expect) in [
        (
            json!([{"old": "one", "new": "1"}, {"old": "@@", "new": ""}]),
            "old_not_found: edits[1]: `old` is not in f, nor anything like it. Read the file again. No edit was made.",
        ),
        (
            json!([{"old": "one", "new": "1"}, {"old": "", "new": "x"}]),
            "invalid_input: edits[1]: `old` is empty. To make a file or replace all of it use write_file. No edit was made.",
        ),
        (
            json!([]),
            "invalid_input: Give 1 to 500 edits; there are 0.",
        ),
        (
            json!([{"old": "o", "new": "0"}]),
            "replacement_count_mismatch: edits[0]: `old` occurs 2 times in f (lines 1, 2), expected 1. Add lines around it to `old`, or set expected_replacements. No edit was made.",
        ),
    ] {
        assert_eq!(edited(&bench, edits).await, expect);
        assert_eq!(bench.get("f"), b"one\ntwo\n");
    }
    assert_eq!(
        edited(
            &bench,
            json!([{"old": "one", "new": "1"}, {"old": "two", "new": "2"}])
        )
        .await,
        "2 edits done."
    );
}

#[tokio::test]
async fn diffs_of_many_edits_are_bounded_together() {
    let bench = Bench::new();
    let text: String = (0..500)
        .map(|n| format!("<{n}>{}\n", "x".repeat(300)))
        .collect();
    bench.put("f", &text);
    let edits: Vec<Value> = (0..500)
        .map(|n| json!({"old": format!("<{n}>"), "new": format!("[{n}]")}))
        .collect();
    let data = bench
        .run(&MultiEdit, json!({"path": "f", "edits": edits}))
        .await
        .unwrap()
        .data;
    assert!(
        data.to_string().len() < 100_000,
        "{}",
        data.to_string().len()
    );
    assert_eq!(
        bench.get("f"),
        text.replace('<', "[").replace('>', "]").as_bytes()
    );
}
