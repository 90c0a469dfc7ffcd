//! Compaction with a scripted model: nothing that the person said and nothing that was done is lost, whatever becomes of the
//! summary, and the prompt breaks where it was planned and nowhere else.

use crate::common::{Bench, Session, Shown};
use ostler_engine::cache;
use ostler_engine::ledger::Ledger;
use ostler_engine::window::{ContextSettings, Strategy};
use ostler_testkit::{Captured, Kind, Server, Step, Stop, Usage};
use ostler_wire::{
    AskKind, Body, Compaction, Deed, Delivery, DigestBy, Entry, Event, Op, Open, Outcome, View,
};
use serde_json::json;

const WINDOW: u64 = 100_000;
/// What the instruction to sum up has and nothing else.
const ASKED: &str = "The conversation is about to be folded";
const SUMMARY: &str = "## Goal\nGet all turns done.\n## Notes\nIt goes well.";

fn is_summary(request: &Captured) -> bool {
    request.last_user_text().contains(ASKED)
}

fn reporting(step: Step, tokens: u64) -> Step {
    step.usage(Usage {
        input: tokens,
        cached: 0,
        cache_write: 0,
        output: 10,
        reasoning: 0,
    })
}

fn filler(n: usize) -> String {
    format!("{n} is done. ").repeat(200)
}

fn compactions(entries: &[Entry]) -> Vec<Compaction> {
    let of = |e: &Entry| match &e.body {
        Body::Compaction(c) => Some(c.clone()),
        _ => None,
    };
    entries.iter().filter_map(of).collect()
}

fn notices(shown: &Shown) -> Vec<String> {
    let of = |e: &std::sync::Arc<Entry>| match &e.body {
        Body::Notice(n) => Some(n.text.clone()),
        _ => None,
    };
    shown.entries.iter().filter_map(of).collect()
}

/// Every turn runs a command of its own and talks a lot; every tenth reports a full window.
fn worker() -> Server {
    Server::answering(|request| {
        if is_summary(request) {
            return Step::answer().text(SUMMARY);
        }
        let text = request.last_user_text();
        let turn: usize = text
            .rsplit_once("turn ")
            .and_then(|(_, n)| n.split(':').next()?.parse().ok())
            .unwrap();
        let command = format!("echo run-{turn}; echo {turn} >>ran.txt");
        let ran = |(_, _, args): &(String, String, String)| args.contains(&format!("run-{turn};"));
        match request.tool_calls().iter().any(ran) {
            false => Step::answer().call("bash", json!({"command": command})),
            true => {
                let tokens = if turn % 10 == 9 { 85_000 } else { 10_000 };
                reporting(Step::answer().text(&filler(turn)), tokens)
            }
        }
    })
}

fn constraint(n: usize) -> String {
    format!(
        "Rule {n}: the value of key{n} is never above {} units.",
        n * 37
    )
}

fn breaks(entries: &[Entry]) -> Vec<String> {
    cache::unplanned_breaks(entries, ostler_wire::Language::English)
}

#[tokio::test]
async fn a_hundred_rules_and_commands_outlive_ten_folds() {
    let mut bench = Bench::with(Kind::Chat, worker());
    bench.window = WINDOW;
    let mut session = bench.open().await;
    for turn in 0..101 {
        let shown = session
            .run(&format!("turn {turn}: {}", constraint(turn)))
            .await;
        assert_eq!(shown.outcome(), Some(Outcome::Done), "{:?}", shown.error());
    }
    let entries = session.entries();
    let folds = compactions(&entries);
    assert_eq!(folds.len(), 10);
    assert!(
        folds
            .iter()
            .all(|c| c.by == DigestBy::Model && c.tokens_after < c.tokens_before)
    );
    let last = bench.server.requests().pop().unwrap();
    let prompt = String::from_utf8(last.prompt_bytes()).unwrap();
    for n in 0..101 {
        assert_eq!(prompt.matches(&constraint(n)).count(), 1, "rule {n}");
        assert!(prompt.contains(&format!("echo run-{n};")), "command {n}");
    }
    for (n, fold) in folds.iter().enumerate() {
        assert_eq!(prompt.matches("<digest>").count(), 10, "{n}");
        assert!(fold.digest.contains("Get all turns done."));
    }
    assert_eq!(bench.space.read("ran.txt").lines().count(), 101);
    let id = session.id();
    session.close().await;
    let before = bench.server.requests().len();
    let mut session = bench.resume(&id).await;
    session.run("turn 101: on").await;
    session.close().await;
    let first = bench.request(before).prompt_bytes();
    assert!(first.starts_with(&last.prompt_bytes()));
    assert_eq!(breaks(&bench.store().read(&id).unwrap().0), [""; 0]);
    // What the summaries cost is in the books.
    let lines = Ledger::new(bench.space.home()).lines().unwrap();
    assert_eq!(lines.iter().filter(|l| l.role == "compaction").count(), 10);
}

/// A session of two turns that ran a command with much output each.
async fn worked(bench: &Bench) -> Session {
    let mut session = bench.open().await;
    for turn in 0..2 {
        let shown = session
            .run(&format!("turn {turn}: {}", constraint(turn)))
            .await;
        assert_eq!(shown.outcome(), Some(Outcome::Done));
    }
    session
}

#[tokio::test]
async fn another_process_goes_on_byte_for_byte_and_so_does_a_fork() {
    for kind in Kind::ALL {
        let mut bench = Bench::with(kind, worker());
        bench.window = WINDOW;
        let mut session = worked(&bench).await;
        let view = session.command("compact the rules").await;
        assert!(
            matches!(&view, View::Text(text) if text.starts_with("Compacted. ")),
            "{view:?}"
        );
        session.run("turn 2: more").await;
        let id = session.id();
        session.close().await;
        let before = bench.server.requests().pop().unwrap();

        for which in [Open::Resume(id.clone()), Open::Fork(id.clone())] {
            let forked = matches!(which, Open::Fork(_));
            let mut session = bench.open_with(which, |_| {}).await;
            assert_eq!(
                session.run("turn 3: on").await.outcome(),
                Some(Outcome::Done)
            );
            let at = bench.server.requests().len();
            // It is the first request of that turn, not its last.
            let first = bench.request(at - 2);
            assert!(
                first.prompt_bytes().starts_with(&before.prompt_bytes()),
                "{} {forked}",
                kind.name()
            );
            let own = session.id();
            session.close().await;
            let (entries, _) = bench.store().read(&own).unwrap();
            assert_eq!(breaks(&entries), [""; 0], "{}", kind.name());
            let causes = cache::requests(&entries)
                .into_iter()
                .filter_map(|r| r.broke);
            let causes: Vec<String> = causes.map(|b| b.cause).collect();
            assert_eq!(causes, ["compaction"], "{} {forked}", kind.name());
            if forked {
                continue;
            }
            let fold = compactions(&entries).pop().unwrap();
            assert_eq!(fold.focus.as_deref(), Some("the rules"));
            let summary = bench
                .server
                .requests()
                .into_iter()
                .find(is_summary)
                .unwrap();
            assert!(summary.last_user_text().contains("the rules"));
            let archive = fold.archive.unwrap();
            let text = std::fs::read_to_string(&archive).unwrap();
            assert!(
                text.contains(&constraint(0)) && text.contains("run-0"),
                "{text}"
            );
            let mode = std::os::unix::fs::PermissionsExt::mode(
                &std::fs::metadata(&archive).unwrap().permissions(),
            );
            assert_eq!(mode & 0o777, 0o600);
        }
        bench.server.forgive();
    }
}

#[tokio::test]
async fn a_fold_that_no_request_followed_is_told_by_the_next_process() {
    let bench = Bench::with(Kind::Messages, worker());
    let mut session = worked(&bench).await;
    session.command("compact").await;
    let id = session.id();
    session.close().await;
    let mut session = bench.resume(&id).await;
    session.run("turn 2: on").await;
    session.close().await;
    let (entries, _) = bench.store().read(&id).unwrap();
    assert_eq!(breaks(&entries), [""; 0]);
    let fold = compactions(&entries).pop().unwrap();
    let broke = cache::requests(&entries)
        .into_iter()
        .find_map(|r| r.broke)
        .unwrap();
    assert_eq!(
        (broke.cause.as_str(), broke.at),
        ("compaction", fold.shared_bytes)
    );
    // System, tools and the first message of the person come again as they were.
    assert!(fold.shared_bytes > 1_000);
}

#[tokio::test]
async fn another_model_gets_the_same_fold() {
    for kind in Kind::ALL {
        let bench = Bench::with(kind, worker());
        let mut session = worked(&bench).await;
        session.command("compact").await;
        session.run("turn 2: more").await;
        session.command("model mock/another").await;
        assert_eq!(
            session.run("turn 3: on").await.outcome(),
            Some(Outcome::Done)
        );
        let last = bench.server.requests().pop().unwrap();
        let prompt = String::from_utf8(last.prompt_bytes()).unwrap();
        assert!(prompt.contains("<digest>") && prompt.contains(&constraint(0)));
        assert!(!prompt.contains(&filler(0)), "{}", kind.name());
        assert_eq!(breaks(&session.entries()), [""; 0]);
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_folded_and_sent_again() {
    for kind in Kind::ALL {
        let call = |n: usize| {
            let command = format!("echo run-{n}; printf 'x%.0s' $(seq 3000)");
            Step::answer().call("bash", json!({"command": command}))
        };
        let steps = [
            call(0),
            call(1),
            Step::overflow(),
            Step::answer().text(SUMMARY),
            call(2),
            Step::answer().text("Done."),
            Step::answer().text("Bye."),
        ];
        let bench = Bench::new(kind, steps);
        let mut session = bench.open().await;
        let prompt = format!("turn 0: {}", constraint(0));
        let shown = session.run(&prompt).await;
        assert_eq!(shown.outcome(), Some(Outcome::Done), "{:?}", shown.error());
        let folds = compactions(&session.entries());
        assert_eq!(folds.len(), 1, "{}", kind.name());
        assert!(
            folds[0].digest.contains("echo run-0;"),
            "{}",
            folds[0].digest
        );
        // What was too long is not sent again to be summed up.
        let (refused, summary, again) = (bench.request(2), bench.request(3), bench.request(4));
        assert!(is_summary(&summary));
        assert!(summary.prompt_bytes().len() < refused.prompt_bytes().len());
        assert!(again.prompt_bytes().len() < refused.prompt_bytes().len());
        let text = String::from_utf8(again.prompt_bytes()).unwrap();
        assert_eq!(text.matches(&constraint(0)).count(), 1);
        session.run("thanks").await;
        assert_eq!(breaks(&session.entries()), [""; 0]);
        bench.server.assert_done();
    }
}

#[tokio::test]
async fn what_cannot_be_made_to_fit_ends_the_turn() {
    let call = Step::answer().call("bash", json!({"command": "printf 'x%.0s' $(seq 9000)"}));
    let bench = Bench::new(
        Kind::Chat,
        [
            call,
            Step::overflow(),
            Step::overflow(),
            Step::overflow(),
            Step::answer().text("Done."),
        ],
    );
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    assert_eq!(shown.error().unwrap().0, "overflow");
    assert_eq!(compactions(&session.entries()).len(), 1);
    assert_eq!(session.run("again").await.outcome(), Some(Outcome::Done));
    bench.server.assert_done();
}

#[tokio::test]
async fn a_summary_that_fails_costs_its_prose_alone() {
    let cases = [
        ("empty", Step::answer()),
        (
            "refused in words",
            Step::answer().text("I am sorry, I cannot do that."),
        ),
        ("refused", Step::answer().text(SUMMARY).stop(Stop::Refused)),
        (
            "calls",
            Step::answer().call("bash", json!({"command": "touch called"})),
        ),
        (
            "an error",
            Step::status(400, r#"{"error": {"message": "no"}}"#),
        ),
        (
            "cut",
            Step::answer()
                .text(SUMMARY)
                .cut(ostler_testkit::Place::Text(2)),
        ),
    ];
    for (name, summary) in cases {
        let server = Server::answering(move |request| match is_summary(request) {
            true => summary.clone(),
            false => reporting(Step::answer().text(&filler(1)), 85_000),
        });
        let mut bench = Bench::with(Kind::Chat, server);
        bench.window = WINDOW;
        let mut session = bench.open().await;
        session.run("turn 0: one").await;
        session.run("turn 1: two").await;
        let shown = session.run("turn 2: three").await;
        assert_eq!(shown.outcome(), Some(Outcome::Done), "{name}");
        let fold = compactions(&session.entries()).pop().unwrap();
        assert_eq!(fold.by, DigestBy::Mechanical, "{name}");
        let said = notices(&shown);
        assert!(
            said.iter().any(|n| n.contains("made from the log alone")),
            "{name}: {said:?}"
        );
        assert!(!bench.space.exists("called"), "{name}");
        assert_eq!(breaks(&session.entries()), [""; 0], "{name}");
    }
}

#[tokio::test]
async fn an_interrupted_fold_leaves_everything_as_it_was() {
    let server = Server::answering(|request| match is_summary(request) {
        true => Step::stall_headers(),
        false => Step::answer().text(&filler(1)),
    });
    let bench = Bench::with(Kind::Chat, server);
    let mut session = bench.open().await;
    session.run("one").await;
    session.run("two").await;
    let before = session.bytes();
    session
        .send(Op::Command {
            line: "compact".into(),
        })
        .await;
    while !bench.server.requests().iter().any(is_summary) {
        crate::common::settle().await;
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    session.send(Op::Interrupt).await;
    let view = loop {
        if let Event::Reply(reply) = session.next().await {
            break reply.view.clone();
        }
    };
    assert_eq!(
        view,
        View::Text("Interrupted; nothing was compacted.".into())
    );
    assert_eq!(session.bytes(), before);
    assert!(!bench.space.home().join("archive").exists());
    session.run("three").await;
    let requests = bench.server.requests();
    let (second, third) = (&requests[1], requests.last().unwrap());
    assert!(third.prompt_bytes().starts_with(&second.prompt_bytes()));
}

#[tokio::test]
async fn a_turn_that_is_stopped_while_it_folds_can_be_sent_again() {
    let stalls = std::sync::atomic::AtomicBool::new(true);
    let server = Server::answering(move |request| match is_summary(request) {
        true if stalls.swap(false, std::sync::atomic::Ordering::SeqCst) => Step::stall_headers(),
        true => Step::answer().text(SUMMARY),
        false => reporting(Step::answer().text(&filler(1)), 85_000),
    });
    let mut bench = Bench::with(Kind::Chat, server);
    bench.window = WINDOW;
    let mut session = bench.open().await;
    session.run("one").await;
    session.prompt("two", Delivery::Queue).await;
    bench.asked(2).await;
    session.send(Op::Interrupt).await;
    let shown = session.finish().await;
    assert_eq!(shown.outcome(), Some(Outcome::Interrupted));
    assert!(compactions(&session.entries()).is_empty());
    let shown = session.run("three").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(compactions(&session.entries()).len(), 1);
    let last = bench.server.requests().pop().unwrap();
    let prompt = String::from_utf8(last.prompt_bytes()).unwrap();
    assert!(
        ["one", "two", "three"]
            .iter()
            .all(|said| prompt.contains(&format!("{said}\""))),
        "{prompt}"
    );
    assert_eq!(breaks(&session.entries()), [""; 0]);
}

#[tokio::test]
async fn a_fork_can_be_folded_before_anything_is_said_in_it() {
    let bench = Bench::with(Kind::Chat, worker());
    let session = worked(&bench).await;
    let id = session.id();
    let before = session.bytes();
    session.close().await;
    let mut fork = bench.open_with(Open::Fork(id.clone()), |_| {}).await;
    let view = fork.command("compact").await;
    assert!(
        matches!(&view, View::Text(text) if text.starts_with("Compacted. ")),
        "{view:?}"
    );
    fork.run("turn 2: on").await;
    let last = bench.server.requests().pop().unwrap();
    let prompt = String::from_utf8(last.prompt_bytes()).unwrap();
    assert!(
        prompt.contains("<digest>")
            && prompt.contains(&constraint(0))
            && !prompt.contains(&filler(0))
    );
    assert_eq!(breaks(&fork.entries()), [""; 0]);
    // The other one knows nothing of it.
    let session = bench.resume(&id).await;
    assert_eq!(session.bytes(), before);
}

#[tokio::test]
async fn folding_again_folds_what_is_left_and_no_more() {
    let bench = Bench::with(Kind::Chat, worker());
    let mut session = worked(&bench).await;
    let nothing = View::Text("There is nothing to compact yet.".into());
    let mut folds = 0;
    while session.command("compact").await != nothing {
        folds += 1;
        assert!(folds < 5);
    }
    let all = compactions(&session.entries());
    assert!(!all.is_empty());
    for fold in all {
        assert!(fold.answers + fold.calls > 0, "{fold:?}");
    }
    assert_eq!(
        session.run("turn 2: on").await.outcome(),
        Some(Outcome::Done)
    );
}

/// The second column of a view's row.
fn row(view: &View, name: &str) -> u64 {
    let table = match view {
        View::Table(table) => Some(table),
        View::Group(parts) => parts.iter().find_map(|part| match part {
            View::Table(table) => Some(table),
            _ => None,
        }),
        _ => None,
    };
    let rows = table.unwrap_or_else(|| panic!("{view:?}")).texts();
    let row = rows.iter().find(|row| row[0] == name);
    let number = row.and_then(|row| row[1].split(' ').next());
    number
        .and_then(|n| n.replace(',', "").parse().ok())
        .unwrap_or_else(|| panic!("{name}: {rows:?}"))
}

#[tokio::test]
async fn the_context_shows_what_is_pinned_and_what_a_fold_takes_out() {
    let mut bench = Bench::with(Kind::Chat, worker());
    bench.window = WINDOW;
    let mut session = worked(&bench).await;
    let before = session.command("context").await;
    let takes = row(&before, "freed by /compact");
    assert!(
        takes > 500 && row(&before, "kept when compacting") > 0,
        "{before:?}"
    );
    session.command("compact").await;
    let after = session.command("context").await;
    assert!(row(&after, "summaries") > 0);
    assert!(row(&after, "freed by /compact") < takes, "{after:?}");
    assert!(row(&after, "total") < row(&before, "total"), "{after:?}");
    // What the summary took is no part of the prompt, and is told apart.
    let cost = session.command("cost").await;
    assert_eq!(row(&cost, "mock/mock-model (compaction)"), 1, "{cost:?}");
}

#[tokio::test]
async fn a_handoff_is_written_beside_the_work() {
    let better = "## Starter prompt\nRead a.rs first.\n## Open tasks\n- Ship it\n";
    for (step, expect) in [
        (Step::answer().text(better), "Read a.rs first."),
        (Step::answer().text("I cannot."), "from the log alone"),
        (Step::status(400, "{}"), "from the log alone"),
    ] {
        let steps = [
            Step::answer().text("Hi."),
            step,
            Step::answer().text("Bye."),
        ];
        let bench = Bench::new(Kind::Messages, steps);
        let mut session = bench.open().await;
        let view = session.command("handoff ship").await;
        assert_eq!(view, View::Error("This session is still empty.".into()));
        session.run("Never touch lexer.rs.").await;
        assert!(matches!(session.command("handoff").await, View::Error(_)));
        let View::Text(text) = session.command("handoff Ship *it*").await else {
            panic!("no handoff");
        };
        assert!(text.contains(expect), "{text}");
        let name = format!("handoff-{}.md", &session.id()[..8]);
        assert!(matches!(
            session.command("export out.md").await,
            View::Text(_)
        ));
        for name in [name.as_str(), "out.md"] {
            use std::os::unix::fs::PermissionsExt as _;
            let meta = std::fs::metadata(bench.space.root().join(name)).unwrap();
            assert_eq!(meta.permissions().mode() & 0o777, 0o600, "{name}");
        }
        let written = bench.space.read(&name);
        assert!(
            written.contains("## Goal\n\nShip *it*\n") && text.contains(&name),
            "{text}"
        );
        // The conversation does not know of it.
        session.run("Bye.").await;
        let (first, last) = (bench.request(0), bench.request(2));
        assert!(last.prompt_bytes().starts_with(&first.prompt_bytes()));
        assert_eq!(breaks(&session.entries()), [""; 0]);
        bench.server.assert_done();
    }
}

#[tokio::test]
async fn a_disk_that_takes_no_archive_costs_the_archive_alone() {
    let bench = Bench::with(Kind::Chat, worker());
    bench
        .space
        .write(bench.space.home().join("archive"), "in the way");
    let mut session = worked(&bench).await;
    assert!(matches!(session.command("compact").await, View::Text(_)));
    let entries = session.entries();
    assert_eq!(compactions(&entries).pop().unwrap().archive, None);
    let told =
        |e: &Entry| matches!(&e.body, Body::Notice(n) if n.text.contains("still has everything"));
    assert!(entries.iter().any(told));
}

#[tokio::test]
async fn there_may_be_nothing_to_fold() {
    let bench = Bench::new(Kind::Chat, [Step::answer().text("Hi.")]);
    let mut session = bench.open().await;
    let nothing = View::Text("There is nothing to compact yet.".into());
    assert_eq!(session.command("compact").await, nothing);
    session.run("hi").await;
    assert_eq!(session.command("compact").await, nothing);
    bench.server.assert_done();
}

/// One turn in which every question gets this answer, and every call may run.
async fn deciding(session: &mut Session, prompt: &str, choice: &str) -> Shown {
    session.prompt(prompt, Delivery::Queue).await;
    session
        .watch(async |session, event| {
            if let Event::Ask(ask) = event {
                let choice = match ask.kind {
                    AskKind::Question => choice,
                    _ => "once",
                };
                session.send(Session::answer(ask, choice, None)).await;
            }
        })
        .await
}

/// Notices of a session whose turns report these tokens.
async fn told(strategy: Strategy, window: u64, reports: &'static [u64]) -> (Vec<String>, usize) {
    let server = Server::answering(|request| {
        if is_summary(request) {
            return Step::answer().text(SUMMARY);
        }
        let turn: usize = request
            .last_user_text()
            .rsplit(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        reporting(Step::answer().text(&filler(turn)), reports[turn])
    });
    let mut bench = Bench::with(Kind::Chat, server);
    bench.window = window;
    let change = move |options: &mut ostler_engine::HubSettings| {
        // Whoever can type commands is told of those.
        options.run.interactive = strategy == Strategy::Handoff;
        options.context = ContextSettings {
            strategy,
            ..ContextSettings::default()
        };
    };
    let mut session = bench.open_with(Open::New, change).await;
    let mut told = Vec::new();
    for turn in 0..reports.len() {
        let prompt = format!("do {turn}");
        told.extend(notices(&deciding(&mut session, &prompt, "go_on").await));
    }
    let folds = compactions(&session.entries()).len();
    (told, folds)
}

#[tokio::test]
async fn the_person_is_told_before_the_window_is_full() {
    const FULL: &[u64] = &[10, 69_000, 71_000, 72_000, 81_000, 10];
    const FEW: &[u64] = &[10, 5_000, 5_100];
    const MANY: &[u64] = &[10, 7_000, 7_100];
    let cases = [
        (Strategy::Compact, WINDOW, FULL, Some("71 % full"), 1),
        (
            Strategy::Warn,
            WINDOW,
            FULL,
            Some("It is not compacted automatically"),
            0,
        ),
        (Strategy::Handoff, WINDOW, FULL, Some("you are asked"), 0),
        // It counts as one of 8,192 tokens.
        (Strategy::Compact, 0, FEW, None, 0),
        (
            Strategy::Compact,
            0,
            MANY,
            Some("window of this model is not known"),
            0,
        ),
    ];
    for (strategy, window, reports, expect, folds) in cases {
        let (said, folded) = told(strategy, window, reports).await;
        assert_eq!(
            (said.len(), folded),
            (expect.iter().len(), folds),
            "{strategy:?}: {said:?}"
        );
        for (said, expect) in said.iter().zip(expect) {
            assert!(said.contains(expect), "{said}");
        }
    }
}

#[tokio::test]
async fn what_is_pinned_is_not_folded_to_death() {
    let server = Server::answering(|request| match is_summary(request) {
        true => Step::answer().text(SUMMARY),
        false => reporting(Step::answer().text(&filler(1)), 9_500),
    });
    let mut bench = Bench::with(Kind::Chat, server);
    bench.window = 10_000;
    let mut session = bench.open().await;
    let words = "Remember every word of this. ".repeat(240);
    let mut said = Vec::new();
    for _ in 0..5 {
        said.extend(notices(&session.run(&words).await));
    }
    let stuck: Vec<&String> = said
        .iter()
        .filter(|n| n.contains("compacting would not help"))
        .collect();
    assert_eq!(stuck.len(), 1, "{said:?}");
    assert!(stuck[0].contains("ostler handoff"));
}

const STEPS: usize = 40;

/// One turn of many steps, each with a command of its own and much output. It reports what the prompt weighs.
fn laborious() -> Server {
    let next = std::sync::atomic::AtomicUsize::new(0);
    Server::answering(move |request| {
        if is_summary(request) {
            return Step::answer().text(SUMMARY);
        }
        // What was run last is there to be read, whatever was folded.
        let n = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let results = request.tool_results();
        let last = results.last().map(|(_, text, _)| text.clone());
        if (1..=STEPS).contains(&n) {
            let before = format!("out-{}.", n - 1);
            assert!(last.is_some_and(|text| text.contains(&before)));
        }
        let tokens = match n < STEPS {
            true => request.prompt_bytes().len() as u64 / 4,
            // The turn after it is another matter.
            false => 1_000,
        };
        let command = format!("echo out-{n}.; echo {n} >>ran.txt; printf 'word %.0s' $(seq 1200)");
        let step = match n < STEPS {
            true => Step::answer().call("bash", json!({"command": command})),
            false => Step::answer().text("Done."),
        };
        reporting(step, tokens)
    })
}

#[tokio::test]
async fn a_long_turn_folds_between_its_steps_and_goes_on() {
    for kind in Kind::ALL {
        let mut bench = Bench::with(kind, laborious());
        bench.window = 30_000;
        let mut session = bench.open().await;
        let prompt = format!("go: {}", constraint(7));
        let shown = session.run(&prompt).await;
        assert_eq!(shown.outcome(), Some(Outcome::Done), "{:?}", shown.error());
        let entries = session.entries();
        let folds = compactions(&entries);
        assert!((2..8).contains(&folds.len()), "{}", folds.len());
        for fold in &folds {
            assert!(fold.tokens_after < fold.tokens_before / 2, "{fold:?}");
        }
        // Nothing was run twice and nothing left out; the mock itself refuses a result without its call.
        let ran: Vec<String> = (0..STEPS).map(|n| n.to_string()).collect();
        let file = bench.space.read("ran.txt");
        assert_eq!(file.lines().collect::<Vec<_>>(), ran);
        for request in bench.server.requests() {
            let text = String::from_utf8(request.prompt_bytes()).unwrap();
            assert_eq!(text.matches(&constraint(7)).count(), 1, "{}", kind.name());
            assert!(text.len() < 30_000 * 4, "{}", text.len());
        }
        let last = bench.server.requests().pop().unwrap();
        let text = String::from_utf8(last.prompt_bytes()).unwrap();
        for n in 0..STEPS {
            assert!(text.contains(&format!("echo out-{n}.")), "command {n}");
        }
        assert_eq!(breaks(&entries), [""; 0]);
        let id = session.id();
        session.close().await;
        let mut session = bench.resume(&id).await;
        session.run("and now?").await;
        let next = bench.server.requests().pop().unwrap();
        session.close().await;
        let (entries, _) = bench.store().read(&id).unwrap();
        // The prompt may have been full again by then.
        let folded_again = compactions(&entries).len() > folds.len();
        assert!(folded_again || next.prompt_bytes().starts_with(&last.prompt_bytes()));
        assert_eq!(breaks(&entries), [""; 0], "{}", kind.name());
    }
}

#[tokio::test]
async fn a_long_turn_is_folded_by_that_strategy_alone() {
    for strategy in [Strategy::Warn, Strategy::Handoff] {
        let mut bench = Bench::with(Kind::Chat, laborious());
        bench.window = 30_000;
        let change = move |options: &mut ostler_engine::HubSettings| {
            options.context.strategy = strategy;
        };
        let mut session = bench.open_with(Open::New, change).await;
        session.run("go").await;
        assert_eq!(compactions(&session.entries()).len(), 0);
    }
}

fn forbids(request: &Captured) -> bool {
    let text = request.body.to_string();
    text.contains(r#""tool_choice""#) || text.contains(r#""toolConfig""#)
}

/// Whether calls were forbidden in each request for a digest, what made the digest, and how many requests are in the books.
async fn digests(kind: Kind, server: Server) -> (Vec<bool>, DigestBy, usize) {
    let bench = Bench::with(kind, server);
    let mut session = worked(&bench).await;
    session.command("compact").await;
    let requests = bench.server.requests();
    assert!(requests.iter().all(|r| !r.tool_names().is_empty()));
    let asked = requests.iter().filter(|r| is_summary(r));
    let by = compactions(&session.entries()).pop().unwrap().by;
    let lines = Ledger::new(bench.space.home()).lines().unwrap();
    let booked = lines.iter().filter(|l| l.role == "compaction").count();
    bench.server.forgive();
    (asked.map(forbids).collect(), by, booked)
}

#[tokio::test]
async fn calls_are_forbidden_in_a_digest_where_that_keeps_the_cache() {
    let call = || Step::answer().call("bash", json!({"command": "touch called"}));
    for kind in Kind::ALL {
        let keeps = matches!(kind, Kind::Chat | Kind::Responses);
        assert_eq!(
            digests(kind, answering(|_| Step::answer().text(SUMMARY))).await,
            (vec![keeps], DigestBy::Model, 1)
        );
        // A model that goes on with the work instead is asked once more, and may not.
        let stubborn = answering(move |request| match forbids(request) {
            true => Step::answer().text(SUMMARY),
            false => call(),
        });
        let (asked, by, booked) = digests(kind, stubborn).await;
        let expect = if keeps { vec![true] } else { vec![false, true] };
        assert_eq!((asked.len(), by), (booked, DigestBy::Model));
        assert_eq!(asked, expect, "{}", kind.name());
        // One that never stops gets no third chance.
        let (asked, by, _) = digests(kind, answering(move |_| call())).await;
        assert_eq!((asked, by), (expect, DigestBy::Mechanical));
    }
}

#[tokio::test]
async fn an_endpoint_that_takes_no_tool_choice_is_asked_without() {
    for kind in [Kind::Chat, Kind::Responses] {
        let strict = answering(|request| match forbids(request) {
            true => Step::status(
                400,
                r#"{"error": {"message": "no such field: tool_choice"}}"#,
            ),
            false => Step::answer().text(SUMMARY),
        });
        let (asked, by, booked) = digests(kind, strict).await;
        assert_eq!((asked, by, booked), (vec![true, false], DigestBy::Model, 1));
    }
}

/// Works as ever, and answers what is asked for a digest like this.
fn answering(digest: impl Fn(&Captured) -> Step + Send + Sync + 'static) -> Server {
    Server::answering(move |request| match is_summary(request) {
        true => digest(request),
        false => Step::answer().text(&filler(1)),
    })
}

/// What the request for a handoff has and nothing else.
const HANDING_OVER: &str = "The goal of the next session:";

/// A model that says a window is nearly full, and one that writes handoffs.
fn nearly_full() -> Server {
    Server::answering(|request| {
        let text = request.last_user_text();
        match () {
            () if is_summary(request) => Step::answer().text(SUMMARY),
            () if text.contains(HANDING_OVER) => Step::answer()
                .text("## Starter prompt\nDo the rest.\n## Open tasks\n- [ ] the rest\n"),
            () => reporting(Step::answer().text(&filler(1)), 85_000),
        }
    })
}

fn asking(options: &mut ostler_engine::HubSettings) {
    options.run.interactive = true;
    options.context.strategy = Strategy::Handoff;
}

fn documents(bench: &Bench) -> Vec<String> {
    let files = std::fs::read_dir(bench.space.root()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("handoff-")).collect()
}

#[tokio::test]
async fn a_full_window_is_for_the_person_to_decide() {
    for (choice, folds, asked_again) in [("go_on", 0, 0), ("compact", 1, 1), ("nonsense", 0, 0)] {
        let mut bench = Bench::with(Kind::Chat, nearly_full());
        bench.window = WINDOW;
        let mut session = bench.open_with(Open::New, asking).await;
        assert_eq!(deciding(&mut session, "one", choice).await.asks.len(), 0);
        let shown = deciding(&mut session, "two", choice).await;
        let ask = &shown.asks[0];
        assert_eq!((shown.asks.len(), ask.options.len()), (1, 3));
        assert!(ask.subject.contains("85 % full"), "{}", ask.subject);
        assert_eq!(shown.outcome(), Some(Outcome::Done), "{choice}");
        assert_eq!(shown.text(), filler(1), "{choice}");
        assert_eq!(compactions(&session.entries()).len(), folds, "{choice}");
        let shown = deciding(&mut session, "three", "go_on").await;
        assert_eq!(shown.asks.len(), asked_again, "{choice}");
        assert_eq!(documents(&bench), [""; 0]);
    }
}

#[tokio::test]
async fn a_handoff_that_was_chosen_begins_another_session() {
    let mut bench = Bench::with(Kind::Chat, nearly_full());
    bench.window = WINDOW;
    let mut session = bench.open_with(Open::New, asking).await;
    session.run("one").await;
    // Stopped instead of answered: asked again.
    session.prompt("two", Delivery::Queue).await;
    let stopped = session
        .watch(async |session, event| {
            if let Event::Ask(_) = event {
                session.send(Op::Interrupt).await;
            }
        })
        .await;
    assert_eq!(stopped.outcome(), Some(Outcome::Interrupted));
    let before = bench.server.requests().len();
    let shown = deciding(&mut session, "Finish the parser.", "handoff").await;
    assert_eq!(
        (shown.asks.len(), shown.outcome()),
        (1, Some(Outcome::Done))
    );
    // One request, which wrote it; the work itself waits for the other session.
    let requests = bench.server.requests();
    assert_eq!(requests.len(), before + 1);
    assert!(
        requests
            .last()
            .unwrap()
            .last_user_text()
            .contains(HANDING_OVER)
    );
    let mut views = Vec::new();
    while views.len() < 3 {
        if let Event::Reply(reply) = session.next().await {
            views.push(reply.view.clone());
        }
    }
    let file = documents(&bench).pop().unwrap();
    let [View::Text(text), View::Do(compose), View::Do(open)] = &views[..] else {
        panic!("{views:?}");
    };
    let document = bench.space.read(&file);
    assert!(text.starts_with(&document) && text.contains(&format!("Written to {file}.")));
    assert!(
        document.contains("## Goal\n\nFinish the parser.\n"),
        "{document}"
    );
    assert!(document.contains("Do the rest.") && document.contains("- [ ] the rest"));
    assert_eq!(*compose, Deed::Compose(format!("Continue with @{file}")));
    assert_eq!(*open, Deed::Open(Open::New));
    // The session that was left can be gone on with.
    let shown = deciding(&mut session, "after all", "go_on").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(breaks(&session.entries()), [""; 0]);
}

#[tokio::test]
async fn a_long_turn_asks_in_its_middle() {
    let mut bench = Bench::with(Kind::Chat, laborious());
    bench.window = 30_000;
    let mut session = bench.open_with(Open::New, asking).await;
    let shown = deciding(&mut session, "go", "compact").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done), "{:?}", shown.error());
    let folds = compactions(&session.entries()).len();
    let questions = shown.asks.iter().filter(|a| a.kind == AskKind::Question);
    // A fold makes the window another one, which may be asked about again.
    assert!(folds >= 2 && folds == questions.count(), "{folds}");
    assert_eq!(bench.space.read("ran.txt").lines().count(), STEPS);
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_handoff_is_written() {
    let mut bench = Bench::with(Kind::Chat, nearly_full());
    bench.window = WINDOW;
    let change = |options: &mut ostler_engine::HubSettings| {
        options.context.strategy = Strategy::Handoff;
    };
    let mut session = bench.open_with(Open::New, change).await;
    let shown = session.run("Finish the parser.").await;
    assert_eq!(
        (shown.asks.len(), shown.outcome()),
        (0, Some(Outcome::Done))
    );
    let file = documents(&bench).pop().unwrap();
    let said = notices(&shown);
    assert!(
        said.len() == 1 && said[0].contains(&file) && said[0].contains("ostler handoff"),
        "{said:?}"
    );
    let document = bench.space.read(&file);
    assert!(
        document.contains("## Goal\n\nFinish the parser.\n"),
        "{document}"
    );
    assert!(!document.contains("was not finished"), "{document}");
    // From the log alone: it costs nothing that nobody asked for. And once.
    session.run("more").await;
    assert_eq!(
        (bench.server.requests().len(), documents(&bench).len()),
        (2, 1)
    );
}

#[tokio::test]
async fn what_was_taken_back_fills_the_window_no_more() {
    for strategy in [Strategy::Compact, Strategy::Handoff] {
        let mut bench = Bench::with(Kind::Chat, nearly_full());
        bench.window = WINDOW;
        let change = move |options: &mut ostler_engine::HubSettings| {
            asking(options);
            options.context.strategy = strategy;
        };
        let mut session = bench.open_with(Open::New, change).await;
        session.run("one").await;
        session.command("rewind 1 conversation").await;
        let left = |e: &Entry| match &e.body {
            Body::Rewind(rewind) => rewind.tokens,
            _ => None,
        };
        let left = session.entries().iter().find_map(left).unwrap();
        assert!(left < WINDOW / 10, "{left}");
        let shown = deciding(&mut session, "another", "compact").await;
        assert_eq!(shown.asks.len(), 0, "{strategy:?}");
        assert_eq!(compactions(&session.entries()).len(), 0, "{strategy:?}");
        let said = notices(&shown);
        assert!(!said.iter().any(|n| n.contains("would save")), "{said:?}");
    }
}
