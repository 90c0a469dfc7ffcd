//! `notebook_edit`: the three modes and their errors.

use super::*;
use crate::seen::Seen;
use crate::testing::Bench;
use serde_json::json;

const BOOK: &str = r#"{"cells": [{"cell_type": "code", "id": "a", "execution_count": 3, "outputs": [{}], "source": "1"}], "nbformat": 4, "big": 12345678901234567890123}"#;

async fn edited(bench: &Bench, args: Value) -> String {
    let mut args = args;
    args["path"] = "n.ipynb".into();
    match bench.run(&NotebookEdit, args).await {
        Ok(done) => NotebookEdit::render(&done.data).text,
        Err(e) => format!("{}: {}", e.code, e.message),
    }
}

#[tokio::test]
async fn cells_change_and_the_rest_stays() {
    let bench = Bench::new();
    let path = bench.put("n.ipynb", BOOK);
    let args = json!({"path": "n.ipynb", "cell": 0, "mode": "replace", "source": "2"});
    let got = bench.envelope(&NotebookEdit, args).await;
    let after = BOOK.replace(
        r#""execution_count": 3, "outputs": [{}], "source": "1""#,
        r#""execution_count": null, "outputs": [], "source": "2""#,
    );
    let data = json!({"path": path, "hash": Seen::hash(after.as_bytes()), "cell": 0, "cells": 1, "done": "replaced"});
    assert_eq!(got, json!({"ok": true, "data": data}));
    assert_eq!(bench.get("n.ipynb"), after.as_bytes());
    for (args, expect) in [
        (
            json!({"cell": "a", "new_source": "x", "cell_type": "markdown"}),
            "Cell 0 replaced; 1 cells now.",
        ),
        (
            json!({"mode": "insert", "source": "y"}),
            "Cell 1 inserted; 2 cells now.",
        ),
        (
            json!({"cell": "0", "mode": "delete"}),
            "Cell 0 deleted; 1 cells now.",
        ),
    ] {
        assert_eq!(edited(&bench, args).await, expect);
    }
    assert!(
        bench
            .get("n.ipynb")
            .ends_with(br#""nbformat": 4, "big": 12345678901234567890123}"#)
    );
}

#[tokio::test]
async fn errors_say_what_is_wrong() {
    let bench = Bench::new();
    for (content, args, expect) in [
        (
            BOOK,
            json!({"cell": 4, "source": ""}),
            "cell_not_found: n.ipynb: there is no cell `4`; the notebook has 1 cells, counted from 0.",
        ),
        (
            BOOK,
            json!({"cell": 0}),
            "invalid_input: `source` is missing.",
        ),
        (
            "{}",
            json!({"cell": 0, "source": ""}),
            "read_error: n.ipynb: it is not a notebook (missing field `cells` at line 1 column 2).",
        ),
        (
            BOOK,
            json!({"cell": 0, "source": "", "mode": "burn"}),
            "invalid_input: Invalid arguments for notebook_edit: unknown variant `burn`, expected one of `replace`, `insert`, `delete`.",
        ),
    ] {
        bench.put("n.ipynb", content);
        bench.seen.forget(&bench.path("n.ipynb"));
        assert_eq!(edited(&bench, args).await, expect);
        assert_eq!(bench.get("n.ipynb"), content.as_bytes());
    }
}
