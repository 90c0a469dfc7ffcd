//! What a question shows: all that a yes grants. What is too long for one is not asked about.

use crate::common::Bench;
use ostler_engine::HubSettings;
use ostler_guard::Mode;
use ostler_testkit::{Kind, Step};
use ostler_wire::{Body, MAX_ASK_LINES, Open, PreviewFormat};
use serde_json::{Value, json};

fn call(name: &str, args: Value) -> Step {
    Step::answer().call(name, args)
}

fn done() -> Step {
    Step::answer().text("Done.")
}

fn attended(options: &mut HubSettings) {
    options.run.interactive = true;
}

#[tokio::test]
async fn the_question_about_a_change_has_every_character_of_it() {
    let hidden = format!("fn main(){{}}{}evil()", " ".repeat(3_000));
    let long = "x".repeat(40_000) + "evil()";
    let many = "fine\n".repeat(1_900) + "evil()\n";
    for (tool, args) in [
        (
            "edit_file",
            json!({"path": "a.rs", "old": "fn main(){}", "new": hidden}),
        ),
        (
            "multi_edit",
            json!({"path": "a.rs", "edits": [{"old": "fn main(){}", "new": hidden}]}),
        ),
        ("write_file", json!({"path": "a.rs", "content": hidden})),
        ("write_file", json!({"path": "new.rs", "content": long})),
        ("write_file", json!({"path": "new.rs", "content": many})),
        (
            "remember",
            json!({"name": "n", "content": long.get(35_000..)}),
        ),
        (
            "fetch_url",
            json!({"url": format!("https://example.com/{}", "x".repeat(900) + "evil()" + &"y".repeat(900))}),
        ),
        // No diff can be made: the file is too large to be compared.
        (
            "edit_file",
            json!({"path": "large.txt", "old": "end", "new": hidden}),
        ),
        (
            "notebook_edit",
            json!({"path": "n.ipynb", "cell": 0, "source": hidden}),
        ),
    ] {
        let bench = Bench::new(Kind::Chat, [call(tool, args.clone()), done()]);
        bench.space.write("a.rs", "fn main(){}\n");
        bench
            .space
            .write("large.txt", &("line\n".repeat(300_000) + "end\n"));
        bench.space.write("n.ipynb", r#"{"cells":[{"cell_type":"code","source":["a"],"metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#);
        let mut session = bench.open_with(Open::New, attended).await;
        let shown = session.answered(&[("deny", None)]).await;
        let ask = &shown.asks[0];
        let text = format!(
            "{}{}",
            ask.subject,
            ask.preview.as_deref().unwrap_or_default()
        );
        assert!(text.contains("evil()"), "{tool} {:?}", ask.preview_format);
        session.close().await;
    }
}

#[tokio::test]
async fn what_no_question_can_show_is_not_asked_about() {
    let long = "a\n".repeat(MAX_ASK_LINES + 1);
    let wide = "x".repeat(200_000);
    for step in [
        call("write_file", json!({"path": "n.sh", "content": long})),
        call("write_file", json!({"path": "n.sh", "content": wide})),
        call(
            "bash",
            json!({"command": format!("touch a\n{}", "true\n".repeat(MAX_ASK_LINES))}),
        ),
    ] {
        let bench = Bench::new(Kind::Chat, [step, done()]);
        let mut session = bench.open_with(Open::New, attended).await;
        let shown = session.answered(&[]).await;
        assert_eq!(shown.codes(), ["too_long_to_ask"]);
        let is_said =
            |body: &Body| matches!(body, Body::Notice(n) if n.text.contains("smaller steps"));
        assert!(shown.entries.iter().any(|entry| is_said(&entry.body)));
        assert!(!bench.space.exists("n.sh") && !bench.space.exists("a"));
        session.close().await;
    }
}

#[tokio::test]
async fn a_plan_that_no_question_can_show_is_not_approved() {
    let plan = "1. step\n".repeat(MAX_ASK_LINES + 1);
    let bench = Bench::new(
        Kind::Chat,
        [call("exit_plan_mode", json!({"plan": plan})), done()],
    );
    let planning = |options: &mut HubSettings| {
        attended(options);
        options.permissions.mode = Some(Mode::Plan);
    };
    let mut session = bench.open_with(Open::New, planning).await;
    let shown = session.answered(&[]).await;
    assert_eq!(shown.codes(), ["too_long_to_ask"]);
    session.close().await;
}

#[tokio::test]
async fn a_diff_is_one_where_it_can_be_made() {
    let edit = json!({"path": "a.rs", "old": "one", "new": "two"});
    let bench = Bench::new(Kind::Chat, [call("edit_file", edit), done()]);
    bench.space.write("a.rs", "one\n");
    let mut session = bench.open_with(Open::New, attended).await;
    let shown = session.answered(&[("deny", None)]).await;
    assert_eq!(shown.asks[0].preview_format, PreviewFormat::Diff);
    session.close().await;
}

#[tokio::test]
async fn a_write_through_a_link_shows_where_it_leads_and_offers_no_idle_rule() {
    let write = json!({"path": "docs/x", "content": "a"});
    let bench = Bench::new(Kind::Chat, [call("write_file", write), done()]);
    let elsewhere = tempfile::tempdir().unwrap();
    let real = elsewhere.path().canonicalize().unwrap();
    std::os::unix::fs::symlink(&real, bench.space.root().join("docs")).unwrap();
    let mut session = bench.open_with(Open::New, attended).await;
    let shown = session.answered(&[("deny", None)]).await;
    let ask = &shown.asks[0];
    assert!(
        ask.subject.contains(&real.join("x").display().to_string()),
        "{}",
        ask.subject
    );
    let ids: Vec<&str> = ask.options.iter().map(|o| o.id.as_str()).collect();
    assert!(
        !ids.contains(&"always") && !ids.contains(&"always_project"),
        "{ids:?}"
    );
    session.close().await;
}
