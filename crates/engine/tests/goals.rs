//! Goals against a scripted model: when the next turn begins, what ends it, what the log says, and every change of mode.

use crate::common::{Bench, Session, Shown};
use ostler_guard::Mode;
use ostler_testkit::{Kind, Step, Usage};
use ostler_wire::{Body, Delivery, Event, GoalState, Op, Open, Outcome, Role, View};
use serde_json::json;

fn text(text: &str) -> Step {
    Step::answer().text(text)
}

fn writes(n: usize) -> Step {
    Step::answer().call(
        "write_file",
        json!({"path": format!("f{n}"), "content": "x"}),
    )
}

/// Everything until the goal has ended; as many turns as that takes. Each begins or ends by saying how the goal stands.
async fn to_the_end(session: &mut Session) -> Vec<Shown> {
    let mut turns = Vec::new();
    loop {
        let turn = session.finish().await;
        let goes_on = goal(&turn) == Some(GoalState::Active);
        turns.push(turn);
        assert!(turns.len() < 80, "it does not end");
        if !goes_on {
            return turns;
        }
    }
}

/// The last state of the goal that a turn wrote down.
fn goal(shown: &Shown) -> Option<GoalState> {
    let of = |body: &Body| match body {
        Body::Mode(mode) => Some(mode.goal.as_ref()?.state),
        _ => None,
    };
    shown.entries.iter().rev().find_map(|e| of(&e.body))
}

fn notices(shown: &Shown) -> Vec<String> {
    let of = |body: &Body| match body {
        Body::Notice(notice) => Some(notice.text.clone()),
        _ => None,
    };
    shown.entries.iter().filter_map(|e| of(&e.body)).collect()
}

async fn start(session: &mut Session, line: &str) {
    let View::Text(text) = session.command(line).await else {
        panic!("{line} was not taken");
    };
    assert!(text.contains("goal starts"), "{text}");
}

async fn mode(session: &mut Session) -> String {
    match session.command("mode").await {
        View::Text(text) => text.trim_start_matches("Mode: ").to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn it_goes_on_until_it_is_done() {
    let bench = Bench::new(
        Kind::Chat,
        [
            text("Begun.\nGOAL: working: the rest"),
            writes(1),
            text("More.\nGOAL: working: the last bit"),
            text("Checked.\n**GOAL: done**"),
            text("hello"),
        ],
    );
    let mut session = bench.open().await;
    start(&mut session, "goal make it fast").await;
    let turns = to_the_end(&mut session).await;
    assert_eq!(turns.len(), 3);
    assert_eq!(goal(turns.last().unwrap()), Some(GoalState::Done));
    assert_eq!(mode(&mut session).await, "normal");
    // The first turn has the person's words; the others are notes of ours, and all of them name the goal.
    let first = bench.request(0).last_user_text();
    assert!(
        first.contains("<goal>") && first.ends_with("make it fast"),
        "{first}"
    );
    for n in [1, 3] {
        let said = bench.request(n).last_user_text();
        assert!(
            said.contains("[Goal, turn") && said.contains("make it fast"),
            "{said}"
        );
    }
    let users = session
        .entries()
        .iter()
        .filter(|e| e.body.message().is_some_and(|m| m.role == Role::User))
        .count();
    assert_eq!(users, 1);
    // No prefix changed, and each prompt goes on where the one before ended.
    for n in 1..4 {
        let (before, after) = (
            bench.request(n - 1).prompt_bytes(),
            bench.request(n).prompt_bytes(),
        );
        assert!(after.starts_with(&before), "request {n}");
    }
    session.run("hi").await;
    let said = bench.request(4).last_user_text();
    assert!(
        said.contains("normal: the goal is over") && said.ends_with("hi"),
        "{said}"
    );
}

#[tokio::test]
async fn the_same_block_in_other_words_ends_it_at_three() {
    let blocks = [
        "GOAL: blocked: the API key is missing",
        "GOAL: blocked: I was not given any credentials",
        "GOAL: blocked: cannot log in",
    ];
    let bench = Bench::new(
        Kind::Chat,
        blocks
            .map(text)
            .into_iter()
            .chain([text("Thanks.\nGOAL: done")]),
    );
    let mut session = bench.open().await;
    start(&mut session, "goal deploy").await;
    let turns = to_the_end(&mut session).await;
    assert_eq!(turns.len(), 3);
    let last = turns.last().unwrap();
    assert_eq!(goal(last), Some(GoalState::Blocked));
    assert!(
        notices(last).iter().any(|n| n.contains("cannot log in")),
        "{last:?}"
    );
    assert_eq!(mode(&mut session).await, "goal");
    // It waits; the person's next words go on with it, with a fresh audit.
    session.prompt("the key is in .env", Delivery::Queue).await;
    let turns = to_the_end(&mut session).await;
    assert_eq!(goal(turns.last().unwrap()), Some(GoalState::Done));
    assert!(bench.request(3).last_user_text().contains("<goal>"));
}

#[tokio::test]
async fn fifty_turns_are_the_most() {
    let steps: Vec<Step> = (0..60)
        .flat_map(|n| [writes(n), text(&format!("step {n}\nGOAL: working"))])
        .collect();
    let bench = Bench::new(Kind::Chat, steps);
    let mut session = bench
        .open_with(Open::New, |options| options.checkpoints = None)
        .await;
    start(&mut session, "goal --simple go on").await;
    let turns = to_the_end(&mut session).await;
    assert_eq!(turns.len(), 51);
    assert_eq!(goal(turns.last().unwrap()), Some(GoalState::Limit));
}

#[tokio::test]
async fn a_stop_makes_it_wait_and_a_resumed_session_shows_it() {
    let bench = Bench::new(
        Kind::Chat,
        [
            text("GOAL: working: a"),
            Step::answer().call("bash", json!({"command": "sleep 600"})),
            text("GOAL: done"),
        ],
    );
    let mut session = bench.open().await;
    start(&mut session, "goal reach it").await;
    session.finish().await;
    let stopped = session
        .watch(async |session, event| {
            if let Event::Delta(ostler_wire::Delta::ToolStarted { .. }) = event {
                session.send(Op::Interrupt).await;
            }
        })
        .await;
    assert_eq!(stopped.outcome(), Some(Outcome::Interrupted));
    assert_eq!(goal(&stopped), Some(GoalState::Stopped));
    let id = session.id();
    session.close().await;
    let mut session = bench.resume(&id).await;
    assert_eq!(session.client.snapshot.mode.mode, "goal");
    let shown = session.client.snapshot.mode.goal.clone().unwrap();
    assert_eq!(
        (shown.objective.as_str(), shown.state, shown.turn),
        ("reach it", GoalState::Stopped, 1)
    );
    let View::Text(said) = session.command("goal").await else {
        panic!("no text");
    };
    assert!(said.contains("reach it"), "{said}");
    // Nothing began by itself.
    assert_eq!(bench.server.requests().len(), 2);
    session.prompt("go on", Delivery::Queue).await;
    let turns = to_the_end(&mut session).await;
    assert_eq!(goal(turns.last().unwrap()), Some(GoalState::Done));
}

#[tokio::test]
async fn a_turn_that_fails_makes_it_wait() {
    let bench = Bench::new(
        Kind::Chat,
        [text("GOAL: working: a"), Step::status(400, "{}")],
    );
    let mut session = bench.open().await;
    start(&mut session, "goal reach it").await;
    let turns = to_the_end(&mut session).await;
    assert_eq!(turns.last().unwrap().outcome(), Some(Outcome::Error));
    assert_eq!(goal(turns.last().unwrap()), Some(GoalState::Failed));
}

#[tokio::test]
async fn a_long_goal_has_its_folder_and_touches_nothing_else() {
    let bench = Bench::new(Kind::Chat, [text("GOAL: done"), text("GOAL: done")]);
    let mut session = bench.open().await;
    start(&mut session, "goal --research Make the parser 2x faster").await;
    to_the_end(&mut session).await;
    let folder = bench.space.root().join(".ostler/autoresearch");
    let entries = || -> Vec<String> {
        let entries = std::fs::read_dir(&folder).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        names.collect()
    };
    let mut names = entries();
    names.sort();
    assert_eq!((names.len(), names[0].as_str()), (2, ".gitignore"));
    let name = names.remove(1);
    assert!(name.ends_with("-make-the-parser-2x-faster"), "{name}");
    let mut files: Vec<String> = std::fs::read_dir(folder.join(&name))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(
        files,
        [
            "directions.md",
            "findings.md",
            "log.md",
            "progress.md",
            "spec.md"
        ]
    );
    let spec = std::fs::read_to_string(folder.join(&name).join("spec.md")).unwrap();
    assert!(spec.contains("Make the parser 2x faster"));
    assert!(
        bench
            .request(0)
            .last_user_text()
            .contains(&format!(".ostler/autoresearch/{name}"))
    );
    // A simple one has none.
    start(
        &mut session,
        "goal --simple research and optimize for 8 hours",
    )
    .await;
    to_the_end(&mut session).await;
    assert_eq!(entries().len(), 2);
}

/// From each mode by each way to the next; a goal lives in goal mode only, and approval stays as it is.
#[tokio::test]
async fn every_change_of_mode() {
    for (from, by, to, has_goal) in [
        ("normal", "mode plan", "plan", false),
        ("normal", "mode goal", "goal", false),
        ("normal", "mode next", "plan", false),
        ("normal", "mode normal", "normal", false),
        ("normal", "plan", "plan", false),
        ("normal", "goal clear", "normal", false),
        ("plan", "mode normal", "normal", false),
        ("plan", "mode goal", "goal", false),
        ("plan", "mode next", "normal", false),
        ("plan", "plan", "plan", false),
        ("plan", "goal clear", "plan", false),
        ("goal", "mode normal", "normal", false),
        ("goal", "mode plan", "plan", false),
        ("goal", "mode goal", "goal", true),
        ("goal", "mode next", "normal", false),
        ("goal", "plan", "plan", false),
        ("goal", "goal clear", "normal", false),
    ] {
        let bench = Bench::new(Kind::Chat, [Step::status(400, "{}")]);
        let mut session = bench
            .open_with(Open::New, |o| o.run.interactive = true)
            .await;
        session.command("approve 10m").await;
        let before = session.command("approve").await;
        match from {
            "goal" => {
                start(&mut session, "goal --simple reach it").await;
                session.finish().await;
            }
            from => drop(session.command(&format!("mode {from}")).await),
        }
        session.command(by).await;
        assert_eq!(mode(&mut session).await, to, "{from} {by}");
        let View::Text(said) = session.command("goal").await else {
            panic!("no text");
        };
        assert_eq!(said.contains("reach it"), has_goal, "{from} {by}: {said}");
        let View::Text(after) = session.command("approve").await else {
            panic!("no text");
        };
        assert!(
            matches!(&before, View::Text(before) if before[..14] == after[..14]),
            "{before:?} {after}"
        );
    }
}

#[tokio::test]
async fn in_goal_mode_the_first_prompt_is_the_goal() {
    let bench = Bench::new(Kind::Chat, [text("GOAL: working: x"), text("GOAL: done")]);
    let mut session = bench
        .open_with(Open::New, |o| o.permissions.mode = Some(Mode::Goal))
        .await;
    session.prompt("reach it", Delivery::Queue).await;
    let turns = to_the_end(&mut session).await;
    assert_eq!(
        (turns.len(), goal(turns.last().unwrap())),
        (2, Some(GoalState::Done))
    );
}

#[tokio::test]
async fn clearing_it_during_a_turn_ends_it_with_that_turn() {
    let bench = Bench::new(
        Kind::Chat,
        [
            Step::answer().call("bash", json!({"command": "sleep 0.2"})),
            text("GOAL: working: x"),
        ],
    );
    let mut session = bench.open().await;
    start(&mut session, "goal reach it").await;
    let shown = session
        .watch(async |session, event| {
            if let Event::Delta(ostler_wire::Delta::ToolStarted { .. }) = event {
                session
                    .send(Op::Command {
                        line: "goal clear".into(),
                    })
                    .await;
            }
        })
        .await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(mode(&mut session).await, "normal");
    assert_eq!(bench.server.requests().len(), 2);
}

/// A prompt that sounds like a goal is one only when the person says so; a weak one is not even asked about.
#[tokio::test]
async fn a_strong_prompt_asks_and_a_weak_one_does_not() {
    let strong = "for 8 hours run 20 iterations on the cache";
    for (prompt, answer, asked, is_goal) in [
        (strong, "once", true, true),
        (strong, "deny", true, false),
        (
            "optimize, research and verify this, long term",
            "",
            false,
            false,
        ),
    ] {
        let bench = Bench::new(Kind::Chat, [text("GOAL: done")]);
        let mut session = bench
            .open_with(Open::New, |o| o.run.interactive = true)
            .await;
        session.prompt(prompt, Delivery::Queue).await;
        let shown = session
            .watch(async |session, event| {
                if let Event::Ask(ask) = event {
                    session.send(Session::answer(ask, answer, None)).await;
                }
            })
            .await;
        assert_eq!(!shown.asks.is_empty(), asked, "{prompt}");
        assert_eq!(
            goal(&shown) == Some(GoalState::Done),
            is_goal,
            "{prompt} {answer}"
        );
        assert_eq!(bench.space.exists(".ostler/autoresearch"), is_goal);
    }
    // Whoever stops there wants neither; the model reads nothing of it.
    let bench = Bench::new(Kind::Chat, [text("hi")]);
    let mut session = bench
        .open_with(Open::New, |o| o.run.interactive = true)
        .await;
    session.prompt(strong, Delivery::Queue).await;
    let shown = session
        .watch(async |session, event| {
            if let Event::Ask(_) = event {
                session.send(Op::Interrupt).await;
            }
        })
        .await;
    assert_eq!(shown.outcome(), Some(Outcome::Interrupted));
    assert!(bench.server.requests().is_empty());
    session.run("hello").await;
    let said = bench.request(0).last_user_text();
    assert!(
        said.contains("<environment>") && !said.contains("iterations"),
        "{said}"
    );
    // Nobody to ask: an ordinary prompt.
    let bench = Bench::new(Kind::Chat, [text("hi")]);
    let shown = bench.open().await.run(strong).await;
    assert_eq!(goal(&shown), None);
}

/// What a goal did in its earlier turns can be folded, although the person said nothing since.
#[tokio::test]
async fn a_full_window_is_folded_between_its_turns() {
    let full = Usage {
        input: 17_500,
        output: 100,
        ..Usage::default()
    };
    let mut bench = Bench::new(
        Kind::Chat,
        [
            Step::answer().call("bash", json!({"command": "seq 1 9000"})),
            Step::answer().call("bash", json!({"command": "seq 1 9000"})),
            text("Half of it.\nGOAL: working: the rest").usage(full),
            text("## Goal\nreach it"),
            text("GOAL: done"),
        ],
    );
    bench.window = 20_000;
    let mut session = bench.open().await;
    start(&mut session, "goal reach it").await;
    let turns = to_the_end(&mut session).await;
    assert_eq!(goal(turns.last().unwrap()), Some(GoalState::Done));
    let folded = session
        .entries()
        .iter()
        .any(|e| matches!(e.body, Body::Compaction(_)));
    assert!(folded, "{:?}", turns.last().unwrap().types());
    let said = bench.request(4).last_user_text();
    assert!(said.contains("[Goal, turn 1"), "{said}");
    let prompt = String::from_utf8(bench.request(4).prompt_bytes()).unwrap();
    assert!(prompt.contains("<goal>"));
}

/// A report of the end is held against its own list of steps, once.
#[tokio::test]
async fn done_with_open_steps_is_asked_about_once() {
    let list = |test: &str| {
        let items = json!([
            {"text": "write it", "state": "done"},
            {"text": "test it", "state": test},
        ]);
        ("todo", json!({"items": items}))
    };
    let prove = (
        "complete_step",
        json!({"step": "test it", "evidence": "12 passed"}),
    );
    for (more, turns) in [
        (Some(Step::answer().calls([prove])), 2),
        // It says so again: the list was forgotten, not the work.
        (None, 2),
    ] {
        let steps = [Step::answer().calls([list("pending")]), text("GOAL: done")];
        let steps = steps.into_iter().chain(more).chain([text("GOAL: done")]);
        let bench = Bench::new(Kind::Chat, steps);
        let mut session = bench.open().await;
        start(&mut session, "goal reach it").await;
        let shown = to_the_end(&mut session).await;
        assert_eq!(shown.len(), turns);
        assert_eq!(goal(shown.last().unwrap()), Some(GoalState::Done));
        let said = notices(&shown[0]).join("\n");
        assert!(
            said.contains("steps of its own list are open: test it."),
            "{said}"
        );
        let asked = bench.request(2).last_user_text();
        assert!(asked.contains("are open: test it. "), "{asked}");
    }
}

/// Work of others is work.
#[tokio::test]
async fn what_a_child_did_is_no_standstill() {
    let send = || Step::answer().call("task", json!({"prompt": "a bit more"}));
    let steps: Vec<Step> = (0..4)
        .flat_map(|_| [send(), text("A bit."), text("On it.")])
        .chain([text("GOAL: done")])
        .collect();
    let bench = Bench::new(Kind::Chat, steps);
    let mut session = bench
        .open_with(Open::New, |o| {
            o.permissions.policy.posture = ostler_guard::Posture::Yolo;
        })
        .await;
    start(&mut session, "goal reach it").await;
    let turns = to_the_end(&mut session).await;
    assert_eq!(
        (turns.len(), goal(turns.last().unwrap())),
        (5, Some(GoalState::Done))
    );
}

/// Its folder is in nobody's way in git, and its files can be listed and searched all the same.
#[tokio::test]
async fn the_folder_of_a_goal_is_not_in_git_unless_the_person_wants_it() {
    let mut bench = Bench::new(Kind::Chat, ["GOAL: done", "GOAL: done"].map(text));
    let root = bench.space.root().to_owned();
    let git = |args: &[&str]| {
        let out = std::process::Command::new("git")
            .args(args)
            .current_dir(&root)
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    git(&["init", "-q"]);
    let mut session = bench.open().await;
    start(&mut session, "goal --research Make it fast").await;
    to_the_end(&mut session).await;
    assert_eq!(git(&["status", "--porcelain", "-uall"]), "");
    // Whoever takes the file away is not overruled by the next goal.
    std::fs::remove_file(root.join(".ostler/autoresearch/.gitignore")).unwrap();
    start(&mut session, "goal --research Make it small").await;
    to_the_end(&mut session).await;
    let seen = git(&["status", "--porcelain", "-uall"]);
    assert_eq!(seen.lines().count(), 10, "{seen}");
    std::fs::write(root.join(".ostler/autoresearch/.gitignore"), "/*\n").unwrap();
    let name = std::fs::read_dir(root.join(".ostler/autoresearch"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .find(|name| name.ends_with("fast"))
        .unwrap();
    session.close().await;
    let folder = format!(".ostler/autoresearch/{name}");
    bench.server = ostler_testkit::Server::start([
        Step::answer().calls([
            ("ls", json!({"path": folder})),
            ("glob", json!({"pattern": "*.md", "path": folder})),
            (
                "grep",
                json!({"pattern": "Make", "path": folder, "mode": "files"}),
            ),
        ]),
        text("ok"),
    ]);
    let mut session = bench.open().await;
    session.run("look").await;
    for (_, found, _) in bench.request(1).tool_results() {
        assert!(found.contains("spec.md"), "{found}");
    }
}
