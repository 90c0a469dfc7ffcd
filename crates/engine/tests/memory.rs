//! Memory in a session: what is asked before something is kept, what a prompt brings to mind, and what becomes of it in the
//! log, after a resume, a rewind and a fold.

use crate::common::{Bench, Session, Shown};
use ostler_engine::HubSettings;
use ostler_engine::store::project_name;
use ostler_guard::{Mode, Posture};
use ostler_testkit::{Kind, Step};
use ostler_wire::{AskKind, Body, Delivery, Open, View};
use serde_json::json;
use std::path::PathBuf;

fn done() -> Step {
    Step::answer().text("Done.")
}

fn remember(name: &str, content: &str) -> Step {
    Step::answer().call("remember", json!({"name": name, "content": content}))
}

fn attended(options: &mut HubSettings) {
    options.run.interactive = true;
}

fn folder(bench: &Bench) -> PathBuf {
    let project = project_name(&bench.space.root().canonicalize().unwrap());
    bench.space.home().join("memory").join(project)
}

/// A fact as a person writes it down.
fn put(bench: &Bench, name: &str, text: &str) {
    std::fs::create_dir_all(folder(bench)).unwrap();
    std::fs::write(folder(bench).join(format!("{name}.md")), text).unwrap();
}

fn notices(shown: &Shown) -> Vec<String> {
    let text = |body: &Body| match body {
        Body::Notice(notice) => Some(notice.text.clone()),
        _ => None,
    };
    let notices = shown.entries.iter().filter_map(|e| text(&e.body));
    notices
        .filter(|text| !text.starts_with("No checkpoint"))
        .collect()
}

async fn text(session: &mut Session, line: &str) -> String {
    match session.command(line).await {
        View::Text(text) => text,
        View::Report(report) => report.text,
        View::Error(text) => format!("error: {text}"),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn every_change_is_asked_with_what_it_would_be() {
    let bench = Bench::new(Kind::Chat, [remember("Port", "It is 7741."), done()]);
    let mut session = bench
        .open_with(Open::New, |options| {
            attended(options);
            options.permissions.policy.posture = Posture::Yolo;
        })
        .await;
    let shown = session.answered(&[("once", None)]).await;
    let ask = &shown.asks[0];
    assert_eq!(
        (ask.kind, ask.subject.as_str(), ask.tool.as_deref()),
        (AskKind::Permission, "remember: Port", Some("remember"))
    );
    assert_eq!(
        ask.preview.as_deref(),
        Some("@@ -0,0 +1,3 @@\n+Port (project, project)\n+\n+It is 7741.\n")
    );
    let kept = std::fs::read_to_string(folder(&bench).join("port.md")).unwrap();
    assert!(
        kept.contains("name: Port\n") && kept.ends_with("\nIt is 7741.\n"),
        "{kept}"
    );
    session.close().await;
}

#[tokio::test]
async fn a_call_that_cannot_succeed_bothers_nobody() {
    let forget = |args| Step::answer().call("forget", args);
    let steps = [
        Step::answer().call("remember", json!({"name": "no words"})),
        Step::answer().call(
            "remember",
            json!({"id": "ports", "revision": "9-x", "content": "x"}),
        ),
        forget(json!({"id": "ports", "revision": "9-x"})),
        forget(json!({"id": "nothere", "revision": "1-x"})),
        done(),
    ];
    let bench = Bench::new(Kind::Chat, steps);
    put(&bench, "ports", "The gateway is 7741.");
    let mut session = bench.open_with(Open::New, attended).await;
    let shown = session.answered(&[]).await;
    assert_eq!(
        shown.codes(),
        ["invalid_input", "stale", "stale", "not_found"]
    );
    session.close().await;
}

#[tokio::test]
async fn nothing_changes_while_planning_or_with_nobody_there() {
    for (interactive, mode, code) in [
        (true, Some(Mode::Plan), "plan_mode"),
        (false, Some(Mode::Plan), "plan_mode"),
        (false, None, "blocked"),
    ] {
        let look = Step::answer().call("memory", json!({}));
        let forget = Step::answer().call("forget", json!({"id": "ports", "revision": "1-x"}));
        let bench = Bench::new(Kind::Chat, [remember("A", "b"), forget, look, done()]);
        put(&bench, "ports", "The gateway is 7741.");
        let mut session = bench
            .open_with(Open::New, |options| {
                options.run.interactive = interactive;
                options.permissions.mode = mode;
                options.permissions.policy.posture = Posture::Yolo;
            })
            .await;
        let shown = session.run("go").await;
        assert_eq!(shown.codes(), [code, code, "ok"]);
        if code == "blocked" {
            let said = shown.results()[0]["error"]["message"].to_string();
            assert!(said.contains("needs the person's yes each time"), "{said}");
        }
        let files = std::fs::read_dir(folder(&bench)).unwrap().count();
        assert_eq!(files, 1);
        session.close().await;
    }
}

#[tokio::test]
async fn a_prompt_brings_a_fact_with_it_once_and_again_after_a_change() {
    let bench = Bench::new(Kind::Chat, [done(), done(), done(), done(), done()]);
    put(&bench, "ports", "The payment gateway is 7741.");
    let mut session = bench.open().await;
    let shown = session.run("continue").await;
    assert_eq!(notices(&shown), [""; 0]);
    assert!(!bench.request(0).last_user_text().contains("<memory>"));
    assert_eq!(
        text(&mut session, "memory recall").await,
        "Nothing was recalled for your last prompt: it has only common words."
    );
    let shown = session.run("where does the gateway listen?").await;
    assert_eq!(
        notices(&shown),
        ["Recalled: ports (/memory recall says why)"]
    );
    let said = bench.request(1).last_user_text();
    let (notes, words) = said.split_once("</memory>\n\n").unwrap();
    assert!(
        notes.contains("comes first.\n- [ports 1-") && notes.contains("7741"),
        "{said}"
    );
    assert_eq!(words, "where does the gateway listen?");
    let View::Table(table) = session.command("memory recall").await else {
        panic!("no table");
    };
    let rows = table.texts();
    assert_eq!(
        (
            rows[0][0].as_str(),
            rows[0][1].as_str(),
            rows[0][3].as_str()
        ),
        ("ports ports", "added", "gateway")
    );
    // The log has it, so a resumed session sends the same bytes and knows what it was told.
    let id = session.id();
    session.close().await;
    let mut session = bench.resume(&id).await;
    let shown = session.run("is the gateway up?").await;
    assert_eq!(notices(&shown), [""; 0]);
    let (before, now) = (bench.request(1), bench.request(2));
    assert!(
        now.raw.starts_with(common_prefix(&before.raw)),
        "the prompt broke"
    );
    assert!(!now.last_user_text().contains("<memory>"));
    put(&bench, "ports", "The payment gateway is 7742.");
    session.run("and the gateway now?").await;
    assert!(bench.request(3).last_user_text().contains("7742"));
    session.close().await;
    // Switched off, nothing is told.
    let mut session = bench
        .open_with(Open::New, |options| options.run.recall = false)
        .await;
    session.run("the gateway?").await;
    assert!(!bench.request(4).last_user_text().contains("<memory>"));
    assert_eq!(
        text(&mut session, "memory recall").await,
        "Recall is off. Turn it on: ostler config memory on"
    );
    session.close().await;
}

/// Of a request up to the end of its messages, which the next one goes on from.
fn common_prefix(raw: &[u8]) -> &[u8] {
    let text = std::str::from_utf8(raw).unwrap();
    let end = text.find("where does the gateway listen?").unwrap();
    &raw[..end]
}

#[tokio::test]
async fn nonsense_is_said_once_and_harms_nothing() {
    let bench = Bench::new(Kind::Chat, [done(), done()]);
    put(&bench, "cut", "---\nname: gateway\n");
    put(&bench, "ports", "The payment gateway is 7741.");
    std::fs::write(folder(&bench).join("noise.md"), [0xff, 0xfe, 0, 1]).unwrap();
    let mut session = bench.open().await;
    let shown = session.run("the gateway?").await;
    let said = notices(&shown);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].ends_with("cut.md was left out of memory: its front matter has no end; close it with a line of ---."), "{said:?}");
    assert!(
        said[1].ends_with("noise.md was left out of memory: it is not text."),
        "{said:?}"
    );
    assert_eq!(notices(&session.run("ok").await), [""; 0]);
    assert!(
        text(&mut session, "memory files")
            .await
            .contains("noise.md")
    );
    session.close().await;
}

#[tokio::test]
async fn the_panel_lists_shows_archives_and_restores() {
    let bench = Bench::new(Kind::Chat, []);
    put(&bench, "ports", "# Ports\nThe gateway is 7741.");
    put(
        &bench,
        "team",
        "---\nname: Team\ntype: user\nupdated: 2026-11-15T10:00:00Z\n---\nAnn.",
    );
    let mut session = bench.open().await;
    let labels = |view: View| match view.menu() {
        Some(list) => {
            let mut labels: Vec<String> = list.items.into_iter().map(|i| i.label).collect();
            labels.sort();
            labels
        }
        None => panic!("{view:?}"),
    };
    assert_eq!(labels(session.command("memory").await), ["Team", "ports"]);
    assert_eq!(
        labels(session.command("memory search gateway").await),
        ["ports"]
    );
    let shown = text(&mut session, "memory show team").await;
    assert!(
        shown.starts_with("team 1-") && shown.contains("\nTeam (user, project)\n"),
        "{shown}"
    );
    let path = text(&mut session, "memory edit ports").await;
    assert!(path.contains("ports.md\n"), "{path}");
    let gone = text(&mut session, "memory archive ports").await;
    assert_eq!(gone, "Archived: ports (ports)");
    assert_eq!(labels(session.command("memory").await), ["Team"]);
    assert_eq!(labels(session.command("memory archived").await), ["ports"]);
    assert_eq!(
        text(&mut session, "memory restore ports").await,
        "Restored: ports (ports)"
    );
    assert_eq!(labels(session.command("memory").await), ["Team", "ports"]);
    for line in [
        "memory show",
        "memory show nothere",
        "memory dance",
        "memory archive",
    ] {
        assert!(
            text(&mut session, line).await.starts_with("error: "),
            "{line}"
        );
    }
    session.close().await;
}

#[tokio::test]
async fn notes_are_folded_and_come_back_when_they_matter() {
    let work = || Step::answer().call("bash", json!({"command": "seq 1 5000"}));
    let steps = [work(), done(), work(), done(), done(), done()];
    let bench = Bench::new(Kind::Chat, steps);
    put(&bench, "ports", "The payment gateway is 7741.");
    let mut session = bench.open().await;
    session.run("mind the gateway timeouts").await;
    assert!(bench.request(0).last_user_text().contains("7741"));
    session.run("count again").await;
    let folded = session.command("compact").await;
    session.run("what about the gateway?").await;
    let last = bench.server.requests().pop().unwrap();
    let raw = String::from_utf8(last.raw.to_vec()).unwrap();
    assert!(
        raw.contains("mind the gateway timeouts"),
        "{folded:?} {raw}"
    );
    assert!(
        last.last_user_text().contains("<memory>"),
        "{folded:?} {raw}"
    );
    assert_eq!(raw.matches("<memory>").count(), 1, "{folded:?} {raw}");
    session.close().await;
}

#[tokio::test]
async fn words_that_steer_bring_facts_and_files_along() {
    let wait = json!({"command": "until [ -e go ]; do sleep 0.01; done"});
    let bench = Bench::new(Kind::Chat, [Step::answer().call("bash", wait), done()]);
    put(&bench, "ports", "The payment gateway is 7741.");
    bench.space.write("plan.txt", "the plan");
    let mut session = bench.open().await;
    session.prompt("go", Delivery::Queue).await;
    bench.asked(1).await;
    session
        .prompt("mind the gateway, see @plan.txt", Delivery::Steer)
        .await;
    bench.space.write("go", "");
    session.finish().await;
    let said = bench.request(1).last_user_text();
    assert!(said.contains("7741") && said.contains("the plan"), "{said}");
    session.close().await;
}

#[tokio::test]
async fn what_the_model_wrote_down_itself_is_not_told() {
    let bench = Bench::new(
        Kind::Chat,
        [remember("Gateway", "It is 7741."), done(), done()],
    );
    let mut session = bench.open_with(Open::New, attended).await;
    session.answered(&[("once", None)]).await;
    session.run("the gateway?").await;
    assert!(!bench.request(2).last_user_text().contains("<memory>"));
    session.close().await;
    let mut session = bench.open().await;
    bench.server.push(done());
    session.run("the gateway?").await;
    assert!(bench.request(3).last_user_text().contains("<memory>"));
    session.close().await;
}
