//! `delete_range`: anchors, what is deleted, what stays.

use super::*;
use crate::seen::Seen;
use crate::testing::Bench;
use serde_json::json;

fn check(content: &str, start: &str, end: &str, expect: Result<(&str, usize), (&str, &str)>) {
    let got = delete(content, start, end);
    let got = got
        .as_ref()
        .map(|(text, lines)| (text.as_str(), *lines))
        .map_err(|e| (e.code, e.message.as_str()));
    assert_eq!(got, expect, "{content:?} {start:?} {end:?}");
}

#[test]
fn lines_between_anchors_go() {
    for (content, start, end, expect) in [
        ("a\nb\nc\nd\n", "b", "c", ("a\nd\n", 2)),
        ("a\nb\nc\nd\n", "b\n", "c\r\n", ("a\nd\n", 2)),
        ("a\nb\nc\n", "a", "c", ("", 3)),
        ("a\nb\nc\n", "b", "b", ("a\nc\n", 1)),
        // White space counts only where it has to.
        ("  a\n\ta {\n  }\n", "\ta {", "}", ("  a\n", 2)),
        ("a\n  a\n", "a", "a", ("  a\n", 1)),
        // Line endings and their absence at the end stay.
        ("a\r\nb\r\nc", "b", "c", ("a", 2)),
        ("a\r\nb\nc\r\nd\r\n", "b", "c", ("a\r\nd\r\n", 2)),
        ("a\nb", "a", "b", ("", 2)),
    ] {
        check(content, start, end, Ok(expect));
    }
}

#[test]
fn anchors_must_match_one_line() {
    for (content, start, end, code, message) in [
        (
            "a\nb\na\n",
            "a",
            "b",
            "anchor_not_unique",
            "start_anchor matches 2 lines (1, 3); it must match one. Choose another line, or use edit_file.",
        ),
        (
            " a\nb\n\ta\n",
            "a",
            "b",
            "anchor_not_unique",
            "start_anchor matches 2 lines (1, 3); it must match one. Choose another line, or use edit_file.",
        ),
        (
            "alpha\nbeta\n",
            "alpha",
            "beta()",
            "anchor_not_found",
            "No line is end_anchor. Nearest:\n2: beta",
        ),
        (
            "alpha\nbeta\n",
            "@@@",
            "beta",
            "anchor_not_found",
            "No line is start_anchor.",
        ),
        (
            "a\nb\n",
            "b",
            "a",
            "invalid_input",
            "start_anchor is on line 2, after end_anchor on line 1. Swap them.",
        ),
        (
            "a\nb\n",
            "",
            "a",
            "invalid_input",
            "start_anchor must be the text of one line that is not blank.",
        ),
        (
            "a\nb\n",
            "a",
            "a\nb",
            "invalid_input",
            "end_anchor must be the text of one line that is not blank.",
        ),
        ("", "a", "b", "anchor_not_found", "No line is start_anchor."),
    ] {
        check(content, start, end, Err((code, message)));
    }
}

#[tokio::test]
async fn the_file_is_changed() {
    let bench = Bench::new();
    let path = bench.put("f", b"\xEF\xBB\xBFone\r\ntwo\r\nthree\r\n");
    let args = json!({"path": "f", "start_anchor": "two", "end_anchor": "three"});
    let got = bench.envelope(&DeleteRange, args).await;
    let after = b"\xEF\xBB\xBFone\r\n";
    let diff = "@@ -1,3 +1 @@\n one\r\n-two\r\n-three\r\n";
    let data = json!({"path": path, "hash": Seen::hash(after), "lines": 2, "diff": diff});
    assert_eq!(DeleteRange::render(&data).text, "Deleted 2 lines.");
    assert_eq!(got, json!({"ok": true, "data": data}));
    assert_eq!(bench.get("f"), after);
}
