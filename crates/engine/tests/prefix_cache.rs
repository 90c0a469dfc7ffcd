//! The prompt cache, from the vendor's side: what every request shares with the one before, across turns, processes, models,
//! projects and machines.

use crate::common::Bench;
use ostler_engine::cache;
use ostler_testkit::{Captured, Kind, Server, Step};
use ostler_wire::{Body, Op, Open, Outcome, Usage};
use serde_json::json;

fn done() -> Step {
    Step::answer().text("Done.")
}

/// Answers with thoughts, words, parallel calls and errors for so many steps of a turn, then ends it.
fn busy(steps: usize) -> Server {
    Server::answering(move |request| match request.tool_calls().len() {
        calls if calls < 3 * steps => {
            Step::answer()
                .reasoning("Look first.")
                .text("Now. ")
                .calls([
                    ("read_file", json!({"path": "a.txt", "offset": calls})),
                    ("bash", json!({"command": format!("echo {calls}; exit 3")})),
                    (
                        "write_file",
                        json!({"path": "b.txt", "content": format!("größe {calls}\n")}),
                    ),
                ])
        }
        _ => done(),
    })
}

fn usages(bench: &Bench, id: &str) -> Vec<Usage> {
    let (entries, _) = bench.store().read(id).unwrap();
    entries
        .into_iter()
        .filter_map(|e| match e.body {
            Body::Usage(usage) => Some(usage),
            _ => None,
        })
        .collect()
}

fn unplanned(bench: &Bench, id: &str) -> Vec<String> {
    cache::unplanned_breaks(
        &bench.store().read(id).unwrap().0,
        ostler_wire::Language::English,
    )
}

// Invariant 3.
#[tokio::test]
async fn every_request_contains_the_one_before_it_as_its_beginning() {
    for kind in Kind::ALL {
        let bench = Bench::with(kind, busy(6));
        bench.space.write("a.txt", "one\ntwo\n".repeat(40));
        let mut session = bench.open().await;
        session.run("go").await;
        session.run("thanks").await;
        let id = session.id();
        session.close().await;
        // Another process goes on with the very same bytes.
        let mut session = bench.resume(&id).await;
        session.run("anything else?").await;
        session.close().await;

        let requests = bench.server.requests();
        assert_eq!(requests.len(), 9);
        let prompts: Vec<Vec<u8>> = requests.iter().map(Captured::prompt_bytes).collect();
        for (n, pair) in prompts.windows(2).enumerate() {
            assert!(
                pair[1].starts_with(&pair[0]),
                "{}: request {}",
                kind.name(),
                n + 1
            );
        }
        let usages = usages(&bench, &id);
        for pair in usages.windows(2) {
            assert_eq!(
                (pair[1].shared_bytes, &pair[1].broke),
                (pair[0].prompt_bytes, &None)
            );
        }
        assert_eq!(unplanned(&bench, &id), [""; 0]);
        // The vendor agrees: nearly all of the last prompt was cached.
        let last = usages.last().unwrap();
        assert!(
            last.cached * 10 > last.input * 8,
            "{}: {last:?}",
            kind.name()
        );
    }
}

/// System and tools as the vendor sees them first.
fn opening(request: &Captured) -> Vec<u8> {
    let mut body = request.body.clone();
    for key in ["messages", "input", "contents"] {
        if let Some(list) = body[key].as_array_mut() {
            list.retain(|message| matches!(message["role"].as_str(), Some("system" | "developer")));
        }
    }
    Captured::of(request.kind().unwrap(), body).prompt_bytes()
}

/// Opens a new session and gives back what its first request opened with.
async fn first_request(bench: &Bench) -> Captured {
    let before = bench.server.requests().len();
    let mut session = bench.open().await;
    session.run("go").await;
    session.close().await;
    bench.request(before)
}

#[tokio::test]
async fn sessions_projects_and_machines_share_all_but_the_projects_own_words() {
    for kind in Kind::ALL {
        let here = Bench::new(kind, [done(), done(), done()]);
        let there = Bench::new(kind, [done(), done()]);
        let first = opening(&first_request(&here).await);
        assert_eq!(opening(&first_request(&here).await), first);
        assert_eq!(
            opening(&first_request(&there).await),
            first,
            "{}",
            kind.name()
        );

        // With instructions of its own, a project differs from those on, and in nothing before.
        here.space.write("AGENTS.md", "Use tabs.");
        there.space.write("AGENTS.md", "Mind the gap.");
        let plain = here.request(0).system_text();
        let (one, two) = (first_request(&here).await, first_request(&there).await);
        let own = |words: &str| format!("{plain}\n\n# Project Context\n\n## AGENTS.md\n\n{words}");
        assert_eq!(one.system_text(), own("Use tabs."));
        assert_eq!(two.system_text(), own("Mind the gap."));
        assert_eq!(one.body["tools"], two.body["tools"]);
    }
}

#[tokio::test]
async fn nothing_of_this_machine_or_day_is_in_the_prefix() {
    let bench = Bench::new(Kind::Messages, [done()]);
    let mut session = bench.open().await;
    session.run("go").await;
    let request = bench.request(0);
    let prefix = String::from_utf8(opening(&request)).unwrap();
    let today = request.last_user_text();
    let root = bench.space.root().display().to_string();
    assert!(today.contains(&root), "{today}");
    let base = bench
        .space
        .user_home()
        .parent()
        .unwrap()
        .display()
        .to_string();
    for volatile in [root.as_str(), &base, std::env::consts::ARCH, "202"] {
        assert!(!prefix.contains(volatile), "{volatile} is in {prefix}");
    }
}

#[tokio::test]
async fn a_resumed_session_keeps_its_prefix_whatever_has_changed_since() {
    let bench = Bench::new(Kind::Messages, [done(), done(), done()]);
    bench.space.write("AGENTS.md", "Use tabs.");
    let mut session = bench.open().await;
    session.run("go").await;
    let id = session.id();
    session.close().await;
    bench.space.write("AGENTS.md", "Use spaces.");
    let change = |options: &mut ostler_engine::HubSettings| {
        options.toolbox.filter = vec!["!grep".into()];
        options.run.operator = vec!["Be kind.".into()];
    };
    let mut session = bench.open_with(Open::Resume(id.clone()), change).await;
    session.run("on").await;
    session.close().await;
    assert_eq!(opening(&bench.request(0)), opening(&bench.request(1)));
    assert_eq!(unplanned(&bench, &id), [""; 0]);
    // A new session has the new words.
    let mut session = bench.open_with(Open::New, change).await;
    session.run("go").await;
    let system = bench.request(2).system_text();
    assert!(
        system.contains("Use spaces.") && system.contains("Be kind."),
        "{system}"
    );
}

#[tokio::test]
async fn a_session_that_began_with_every_tool_goes_on_with_them() {
    for kind in [Kind::Chat, Kind::Gemini] {
        let calls = Step::answer().calls([("time", json!({}))]);
        let bench = Bench::new(kind, [done(), calls, done(), done(), done()]);
        let whole = |options: &mut ostler_engine::HubSettings| {
            options.toolbox.filter = vec!["!tool_search".into()];
        };
        let mut session = bench.open_with(Open::New, whole).await;
        session.run("go").await;
        let id = session.id();
        session.close().await;
        let mut session = bench.resume(&id).await;
        session.run("on").await;
        session.close().await;
        let names = bench.request(0).tool_names();
        assert!(names.contains(&"time".to_owned()) && !names.contains(&"tool_search".to_owned()));
        for n in [1, 2] {
            assert_eq!(opening(&bench.request(0)), opening(&bench.request(n)));
        }
        let (_, time, failed) = bench.request(2).tool_results().remove(0);
        assert!(time.contains("epoch") && !failed, "{time}");
        assert_eq!(unplanned(&bench, &id), [""; 0]);
        // And one that began with the short list keeps that, whatever is asked for later.
        let mut session = bench.open().await;
        session.run("go").await;
        let id = session.id();
        session.close().await;
        let mut session = bench.open_with(Open::Resume(id.clone()), whole).await;
        session.run("on").await;
        session.close().await;
        assert_eq!(opening(&bench.request(3)), opening(&bench.request(4)));
        assert_ne!(opening(&bench.request(0)), opening(&bench.request(3)));
        assert_eq!(unplanned(&bench, &id), [""; 0]);
    }
}

#[tokio::test]
async fn a_prefix_that_is_gone_is_told_and_its_break_recorded() {
    let bench = Bench::new(Kind::Chat, [done(), done()]);
    bench.space.write("AGENTS.md", "Use tabs.");
    let mut session = bench.open().await;
    session.run("go").await;
    let id = session.id();
    session.close().await;
    std::fs::remove_dir_all(bench.space.home().join("prefixes")).unwrap();
    bench.space.write("AGENTS.md", "Use spaces.");
    let mut session = bench.resume(&id).await;
    assert!(
        session
            .client
            .notes
            .iter()
            .any(|n| n.contains("stored system prompt")),
        "{:?}",
        session.client.notes
    );
    assert_eq!(session.run("on").await.outcome(), Some(Outcome::Done));
    let broke = usages(&bench, &id)[1].broke.clone().unwrap();
    assert_eq!((broke.at, broke.owner.as_str()), (0, "prefix"));
    assert_eq!(unplanned(&bench, &id).len(), 1);
}

#[tokio::test]
async fn a_switch_of_the_model_is_one_recorded_break() {
    for kind in Kind::ALL {
        let bench = Bench::with(kind, busy(2));
        let mut session = bench.open().await;
        session.run("go").await;
        session
            .send(Op::Command {
                line: "model mock/another".into(),
            })
            .await;
        session.run("thanks").await;
        session.run("bye").await;
        let id = session.id();
        session.close().await;
        // It is kept: the other process goes on with it, and breaks nothing.
        let mut session = bench.resume(&id).await;
        assert_eq!(session.client.snapshot.model, "mock/another");
        session.run("hello again").await;
        session.close().await;
        // And somebody may name another one for a run.
        let change = |options: &mut ostler_engine::HubSettings| {
            options.model.wanted = Some("mock/third".into())
        };
        let mut session = bench.open_with(Open::Resume(id.clone()), change).await;
        session.run("hello").await;
        session.close().await;
        let causes: Vec<Option<String>> = usages(&bench, &id)
            .into_iter()
            .map(|u| u.broke.map(|b| b.cause))
            .collect();
        let model = || Some("model".to_owned());
        assert_eq!(
            causes,
            [None, None, None, model(), None, None, model()],
            "{}",
            kind.name()
        );
        assert_eq!(unplanned(&bench, &id), [""; 0]);
    }
}

#[tokio::test]
async fn a_result_that_is_rendered_differently_is_found_out() {
    let bench = Bench::with(Kind::Messages, busy(3));
    bench.space.write("a.txt", "one\n");
    let mut session = bench.open().await;
    session.run("go").await;
    let id = session.id();
    session.close().await;
    // As if a later version rendered results in another way.
    let change = |options: &mut ostler_engine::HubSettings| options.tools.envelope = true;
    let mut session = bench.open_with(Open::Resume(id.clone()), change).await;
    session.run("thanks").await;
    let usages = usages(&bench, &id);
    let broke = usages.last().unwrap().broke.clone().unwrap();
    assert_eq!(
        (broke.cause.as_str(), broke.at),
        ("rendering", usages[0].prompt_bytes)
    );
    assert_eq!(unplanned(&bench, &id).len(), 1);
}

#[tokio::test]
async fn a_damaged_line_is_found_out_and_costs_no_more_than_what_follows_it() {
    let bench = Bench::with(Kind::Gemini, busy(3));
    let mut session = bench.open().await;
    session.run("go").await;
    let id = session.id();
    let log = session.log.clone();
    session.close().await;
    let text = bench.space.read(&log);
    let second = text
        .match_indices("\"type\":\"tool_result\"")
        .nth(4)
        .unwrap()
        .0;
    let mut bytes = text.into_bytes();
    bytes[second + 30] = 0xff;
    bench.space.write(&log, bytes);
    let mut session = bench.resume(&id).await;
    assert!(
        session
            .client
            .notes
            .iter()
            .any(|n| n.contains("unreadable line")),
        "{:?}",
        session.client.notes
    );
    assert_eq!(session.run("thanks").await.outcome(), Some(Outcome::Done));
    let usages = usages(&bench, &id);
    assert_eq!(usages.last().unwrap().shared_bytes, usages[1].prompt_bytes);
}
