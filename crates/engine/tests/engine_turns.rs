//! Turns from the first prompt to the last entry, against a scripted model: what is asked, run, stored and shown, and what
//! becomes of it when somebody interferes.

use crate::common::{Bench, Session, settle};
use ostler_engine::cache;
use ostler_guard::{Containment, Fallback, Headless, Policy, Posture, Rule, Rules};
use ostler_testkit::{Kind, Place, Server, Step, Stop, Trouble};
use ostler_wire::{Body, Delivery, Delta, Event, Message, Op, Open, Outcome, Part, Role};
use serde_json::json;
use std::io::Write as _;

fn done() -> Step {
    Step::answer().text("Done.")
}

fn bash(command: &str) -> Step {
    Step::answer().call("bash", json!({"command": command}))
}

fn rules(list: &[&str]) -> Vec<Rule> {
    list.iter()
        .map(|r| Rule::parse(r, "test:1").unwrap())
        .collect()
}

#[tokio::test]
async fn a_turn_asks_calls_and_asks_again_until_nothing_is_called() {
    for kind in Kind::ALL {
        let steps = [
            Step::answer()
                .reasoning("Look first.")
                .text("Reading. ")
                .calls([
                    ("read_file", json!({"path": "a.txt"})),
                    ("bash", json!({"command": "echo from the shell"})),
                ]),
            Step::answer().call("write_file", json!({"path": "b.txt", "content": "new\n"})),
            done(),
        ];
        let bench = Bench::new(kind, steps);
        bench.space.write("a.txt", "from the file\n");
        let mut session = bench.open().await;
        let shown = session.run("go").await;
        assert_eq!(shown.outcome(), Some(Outcome::Done), "{shown:?}");
        assert_eq!(
            shown.types(),
            [
                "meta",
                "settings",
                "message",
                "message",
                "tool_use",
                "tool_use",
                "usage",
                "tool_result",
                "tool_result",
                "message",
                "tool_use",
                "usage",
                "checkpoint",
                "tool_result",
                "message",
                "usage",
                "checkpoint",
                "turn_end",
            ]
        );
        assert_eq!(shown.text(), "Reading. Done.");
        assert_eq!(bench.space.read("b.txt"), "new\n");
        let results: Vec<String> = bench
            .request(1)
            .tool_results()
            .into_iter()
            .map(|(_, text, _)| text)
            .collect();
        assert!(
            results[0].contains("from the file") && results[1].contains("from the shell"),
            "{results:?}"
        );
        // The file holds what was shown, and the list knows the session.
        let stored = session.entries();
        assert!(stored.iter().eq(shown.entries.iter().map(|e| &**e)));
        let list = bench.store().list().unwrap();
        assert_eq!((list[0].title.as_str(), list[0].turns), ("go", 1));
        bench.server.assert_done();
        session.close().await;
    }
}

// Invariant 1.
#[tokio::test]
async fn nothing_is_shown_that_is_not_on_disk() {
    let steps = [
        bash("echo hi"),
        Step::answer().calls([
            ("time", json!({})),
            (
                "todo",
                json!({"items": [{"text": "a", "state": "pending"}]}),
            ),
        ]),
        done(),
    ];
    let bench = Bench::new(Kind::Chat, steps);
    let mut session = bench.open().await;
    session.prompt("go", Delivery::Queue).await;
    let mut seen = 0;
    session
        .watch(async |session, event| {
            if let Event::Entry(entry) = event {
                let line = entry.to_line().unwrap() + "\n";
                let file = String::from_utf8(session.bytes()).unwrap();
                assert!(file.contains(&line), "{line} is not in\n{file}");
                seen += 1;
            }
        })
        .await;
    assert!(seen > 10);
}

// Invariant 2.
#[tokio::test]
async fn the_log_is_only_appended() {
    let stalled = Step::answer()
        .text("One two three four")
        .stall(Place::Text(2));
    let bench = Bench::new(
        Kind::Messages,
        [
            bash("echo hi"),
            stalled,
            done(),
            bash("false"),
            done(),
            done(),
        ],
    );
    let mut session = bench.open().await;
    let mut before = Vec::new();
    let mut grow = |now: Vec<u8>| {
        assert!(
            now.starts_with(&before),
            "{}",
            String::from_utf8_lossy(&now)
        );
        let grew = now.len() > before.len();
        before = now;
        grew
    };
    // A turn that is interrupted, one that is not, a model switch, and another process.
    session.prompt("go", Delivery::Queue).await;
    session
        .watch(async |session, event| {
            grow(session.bytes());
            if let Event::Delta(Delta::AssistantDelta { .. }) = event {
                session.send(Op::Interrupt).await;
            }
        })
        .await;
    session.run("again").await;
    assert!(grow(session.bytes()));
    session
        .send(Op::Command {
            line: "model mock/another".into(),
        })
        .await;
    session.run("and again").await;
    assert!(grow(session.bytes()));
    let id = session.id();
    session.close().await;
    let mut session = bench.resume(&id).await;
    assert!(!grow(session.bytes()), "opening alone writes nothing");
    session.run("once more").await;
    assert!(grow(session.bytes()));
    bench.server.assert_done();
}

#[tokio::test]
async fn steering_is_heard_at_the_next_step_and_queued_prompts_are_the_next_turn() {
    let wait = bash("until [ -e go ]; do sleep 0.01; done");
    let bench = Bench::new(Kind::Messages, [wait, done(), done()]);
    let mut session = bench.open().await;
    session.prompt("first", Delivery::Queue).await;
    let shown = session
        .watch(async |session, event| {
            if let Event::Delta(Delta::ToolStarted { .. }) = event {
                session.prompt("queued", Delivery::Queue).await;
                session.prompt("steered", Delivery::Steer).await;
                settle().await;
                bench.space.write("go", "");
            }
        })
        .await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    let next = session.finish().await;
    assert_eq!(next.outcome(), Some(Outcome::Done));
    let said: Vec<String> = (0..3).map(|n| bench.request(n).last_user_text()).collect();
    assert!(said[0].ends_with("first"), "{said:?}");
    assert_eq!(&said[1..], ["steered", "queued"]);
    // The facts of the day ride in the first prompt only.
    assert!(said[0].starts_with("<environment>"), "{said:?}");
    bench.server.assert_done();
}

#[tokio::test]
async fn steering_during_the_last_answer_makes_another_step() {
    let bench = Bench::new(
        Kind::Chat,
        [
            Step::answer()
                .text("One two three four five six")
                .pace(std::time::Duration::from_millis(5)),
            done(),
        ],
    );
    let mut session = bench.open().await;
    session.prompt("first", Delivery::Queue).await;
    let mut steered = false;
    let shown = session
        .watch(async |session, event| {
            if let (Event::Delta(Delta::AssistantDelta { .. }), false) = (event, steered) {
                steered = true;
                session.prompt("wait, also this", Delivery::Steer).await;
            }
        })
        .await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(bench.request(1).last_user_text(), "wait, also this");
}

/// Interrupts at the first delta that `when` picks; the turn ends as interrupted and the next one works.
async fn interrupted(
    steps: Vec<Step>,
    when: fn(&Delta) -> bool,
) -> (Bench, Session, crate::common::Shown) {
    let bench = Bench::new(Kind::Gemini, steps.into_iter().chain([done()]));
    let mut session = bench.open().await;
    session.prompt("go", Delivery::Queue).await;
    let shown = session
        .watch(async |session, event| {
            if let Event::Delta(delta) = event
                && when(delta)
            {
                session.send(Op::Interrupt).await;
            }
        })
        .await;
    assert_eq!(shown.outcome(), Some(Outcome::Interrupted), "{shown:?}");
    assert!(shown.types().contains(&"interrupted"));
    let next = session.run("go on").await;
    assert_eq!(next.outcome(), Some(Outcome::Done), "{next:?}");
    bench.server.assert_done();
    (bench, session, shown)
}

#[tokio::test]
async fn an_interrupted_stream_keeps_what_was_shown() {
    let stalled = Step::answer()
        .text("One two three four")
        .stall(Place::Text(2));
    let (bench, _, shown) = interrupted(
        vec![stalled],
        |d| matches!(d, Delta::AssistantDelta { text } if text.contains("two")),
    )
    .await;
    bench.server.wait_gone(0);
    let kept = shown.entries.iter().find_map(|e| match &e.body {
        Body::Message(Message {
            role: Role::Assistant,
            text,
            stop,
            ..
        }) => Some((text.clone(), *stop)),
        _ => None,
    });
    assert_eq!(
        kept,
        Some(("One two ".into(), Some(ostler_wire::Stop::Interrupted)))
    );
}

#[tokio::test]
async fn an_interrupted_command_has_a_result_that_says_so() {
    let (_, _, shown) = interrupted(vec![bash("echo started; sleep 600")], |d| {
        matches!(d, Delta::ToolOutput { .. })
    })
    .await;
    assert_eq!(shown.codes(), ["interrupted"]);
}

#[tokio::test]
async fn interrupted_readers_and_the_calls_behind_them_all_have_results() {
    let calls = ["sleep 600", "sleep 601", "sleep 602", "touch never"]
        .map(|c| ("bash", json!({"command": c})));
    let (bench, _, shown) = interrupted(vec![Step::answer().calls(calls)], |d| {
        matches!(d, Delta::ToolStarted { .. })
    })
    .await;
    assert_eq!(shown.codes(), ["interrupted"; 4]);
    assert!(!bench.space.exists("never"));
}

#[tokio::test]
async fn the_wait_before_a_retry_can_be_interrupted() {
    let (_, _, shown) = interrupted(vec![Step::rate_limited(60)], |d| {
        matches!(d, Delta::Retry { .. })
    })
    .await;
    let wait = shown.deltas.iter().find_map(|d| match d {
        Delta::Retry {
            after_ms, attempt, ..
        } => Some((*after_ms, *attempt)),
        _ => None,
    });
    assert_eq!(wait, Some((60_000, 1)));
}

#[tokio::test]
async fn a_prompt_that_waited_runs_after_the_interrupted_one() {
    let bench = Bench::new(Kind::Chat, [bash("echo on; sleep 600"), done()]);
    let mut session = bench.open().await;
    session.prompt("first", Delivery::Queue).await;
    session.prompt("second", Delivery::Queue).await;
    session
        .watch(async |session, event| {
            if let Event::Delta(Delta::ToolOutput { .. }) = event {
                session.send(Op::Interrupt).await;
            }
        })
        .await;
    assert_eq!(session.finish().await.outcome(), Some(Outcome::Done));
    assert_eq!(bench.request(1).last_user_text(), "second");
}

async fn asked(
    steps: Vec<Step>,
    answers: &[(&str, Option<&str>)],
) -> (Bench, crate::common::Shown) {
    let bench = Bench::new(Kind::Messages, steps.into_iter().chain([done()]));
    let mut session = bench
        .open_with(Open::New, |options| options.run.interactive = true)
        .await;
    let shown = session.answered(answers).await;
    session.close().await;
    (bench, shown)
}

#[tokio::test]
async fn an_ask_names_the_call_and_its_answer_is_kept() {
    let (bench, shown) = asked(vec![bash("touch made")], &[("once", None)]).await;
    assert!(bench.space.exists("made"));
    assert_eq!(shown.asks[0].subject, "bash: touch made");
    let options: Vec<&str> = shown.asks[0]
        .options
        .iter()
        .map(|c| c.id.as_str())
        .collect();
    assert_eq!(options, ["once", "session", "deny"]);
    assert_eq!(
        (shown.approvals(), shown.codes()),
        (vec!["once".to_owned()], vec!["ok".to_owned()])
    );
}

#[tokio::test]
async fn a_refusal_reaches_the_model_with_its_reason() {
    let steps = vec![bash("touch made"), bash("touch made")];
    let (bench, shown) = asked(steps, &[("deny", Some("not today")), ("deny", None)]).await;
    assert!(!bench.space.exists("made"));
    assert_eq!(shown.codes(), ["denied", "denied"]);
    let (_, text, failed) = bench.request(1).tool_results().remove(0);
    assert!(failed && text.contains("not today"), "{text}");
}

#[tokio::test]
async fn an_answer_that_nobody_knows_is_no_permission() {
    let (bench, shown) = asked(vec![bash("touch made")], &[("sure, why not", None)]).await;
    assert!(!bench.space.exists("made"));
    assert_eq!(shown.codes(), ["denied"]);
}

#[tokio::test]
async fn a_grant_for_the_session_covers_its_scope_and_no_more() {
    let write =
        |name: &str| Step::answer().call("write_file", json!({"path": name, "content": "x"}));
    let steps = vec![
        write("a"),
        // All editing was granted, but no command.
        write("b"),
        bash("touch c"),
        // The same command again, then another.
        bash("touch c"),
        bash("touch d"),
    ];
    let (bench, shown) = asked(
        steps,
        &[("session", None), ("session", None), ("deny", None)],
    )
    .await;
    assert_eq!(shown.codes(), ["ok", "ok", "ok", "ok", "denied"]);
    assert!(bench.space.exists("b") && bench.space.exists("c") && !bench.space.exists("d"));
}

#[tokio::test]
async fn an_interrupted_ask_ends_the_turn() {
    let bench = Bench::new(Kind::Chat, [bash("touch made"), done()]);
    let mut session = bench
        .open_with(Open::New, |options| options.run.interactive = true)
        .await;
    session.prompt("go", Delivery::Queue).await;
    let shown = session
        .watch(async |session, event| {
            if let Event::Ask(_) = event {
                session.send(Op::Interrupt).await;
            }
        })
        .await;
    assert_eq!(
        (shown.outcome(), shown.codes()),
        (Some(Outcome::Interrupted), vec!["interrupted".to_owned()])
    );
    assert_eq!(session.run("on").await.outcome(), Some(Outcome::Done));
}

#[tokio::test]
async fn questions_of_the_model_are_answered_or_called_assumptions() {
    let question = Step::answer().call(
        "ask",
        json!({"question": "Which?", "choices": ["red", "blue"]}),
    );
    let (bench, shown) = asked(vec![question.clone()], &[("blue", None)]).await;
    assert_eq!(shown.asks[0].subject, "Which?");
    assert!(bench.request(1).tool_results()[0].1.contains("blue"));

    let bench = Bench::new(Kind::Messages, [question, done()]);
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    assert!(shown.asks.is_empty());
    assert!(
        bench.request(1).tool_results()[0]
            .1
            .contains("Nobody is attached")
    );
}

/// Without anybody to ask: which of these calls run under a policy.
async fn headless(policy: Policy, steps: Vec<Step>) -> (Bench, crate::common::Shown) {
    let bench = Bench::new(Kind::Chat, steps.into_iter().chain([done()]));
    bench.space.write("secret.txt", "key");
    let mut session = bench
        .open_with(Open::New, |options| {
            options.permissions.policy = policy.clone()
        })
        .await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    session.close().await;
    (bench, shown)
}

#[tokio::test]
async fn without_anybody_to_ask_the_policy_decides() {
    let steps = || vec![bash("touch made"), bash("ls")];
    for (headless_, containment, code) in [
        (Headless::Sandbox, Containment::Sandbox, "ok"),
        (Headless::Sandbox, Containment::Waived, "ok"),
        (Headless::Sandbox, Containment::Missing, "blocked"),
        (Headless::Allow, Containment::Missing, "ok"),
    ] {
        let policy = Policy {
            headless: headless_,
            containment,
            ..Policy::default()
        };
        let (bench, shown) = headless(policy, steps()).await;
        assert_eq!(shown.codes(), [code, "ok"], "{headless_:?} {containment:?}");
        assert_eq!(bench.space.exists("made"), code == "ok");
        let told: String = shown
            .entries
            .iter()
            .filter_map(|entry| {
                let Body::Notice(notice) = &entry.body else {
                    return None;
                };
                Some(notice.text.as_str())
            })
            .collect();
        assert_eq!(
            told.contains("--allow 'Bash(touch made)'"),
            code != "ok",
            "{told}"
        );
    }

    let deny = Policy {
        headless: Headless::Deny,
        ..Policy::default()
    };
    let (bench, shown) = headless(deny, steps()).await;
    assert_eq!(
        (shown.codes(), shown.approvals()),
        (
            vec!["blocked".to_owned(), "ok".into()],
            vec!["deny".to_owned()]
        )
    );
    assert!(!bench.space.exists("made"));

    let fallback = Policy {
        fallback: Fallback::Deny,
        ..Policy::default()
    };
    let (_, shown) = headless(fallback, steps()).await;
    assert_eq!(shown.codes(), ["blocked", "ok"]);
}

#[tokio::test]
async fn deny_rules_bind_whoever_else_allows_it() {
    let policy = Policy {
        rules: Rules {
            deny: rules(&["Bash(rm:*)", "Read(secret.txt)"]),
            allow: rules(&["Bash"]),
            ..Rules::default()
        },
        posture: Posture::Yolo,
        ..Policy::default()
    };
    let steps = vec![
        bash("rm secret.txt"),
        bash("true && rm -f secret.txt"),
        Step::answer().call("read_file", json!({"path": "secret.txt"})),
        bash("cat secret.txt"),
        bash("echo fine"),
    ];
    let (bench, shown) = headless(policy, steps).await;
    assert_eq!(
        shown.codes(),
        ["blocked", "blocked", "blocked", "blocked", "ok"]
    );
    assert!(bench.space.exists("secret.txt"));
    let text = &bench.request(1).tool_results()[0].1;
    assert!(text.contains("Bash(rm:*)"), "{text}");
}

#[tokio::test]
async fn bad_calls_are_results_and_the_turn_goes_on() {
    let steps = [
        Step::answer().call("no_such_tool", json!({})),
        Step::answer().raw_call("bash", "[1, 2]"),
        Step::answer().call("read_file", json!({"no": "path"})),
        done(),
    ];
    let bench = Bench::new(Kind::Responses, steps);
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(
        shown.codes(),
        ["unknown_tool", "invalid_input", "invalid_input"]
    );
}

#[tokio::test]
async fn readers_run_together_and_their_results_keep_the_order_of_the_calls() {
    let calls = [
        ("bash", json!({"command": "cat a.fifo"})),
        ("bash", json!({"command": "cat b.fifo"})),
    ];
    let bench = Bench::new(Kind::Chat, [Step::answer().calls(calls), done()]);
    let fifos = ["a.fifo", "b.fifo"].map(|name| bench.space.root().join(name));
    bench.space.run("mkfifo").args(&fifos).output().ok();
    let [a, b] = fifos;
    // Opening waits for the reader: were the calls run one by one, the second would never be there.
    let writer = std::thread::spawn(move || {
        let mut second = std::fs::File::options().write(true).open(b).unwrap();
        second.write_all(b"second").unwrap();
        drop(second);
        std::fs::File::options()
            .write(true)
            .open(a)
            .unwrap()
            .write_all(b"first")
            .unwrap();
    });
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    writer.join().unwrap();
    let outputs: Vec<_> = shown
        .results()
        .iter()
        .map(|r| r["data"]["stdout"].clone())
        .collect();
    assert_eq!(outputs, ["first", "second"]);
}

#[tokio::test]
async fn writers_run_alone() {
    let alone = json!({"command": "mkdir busy && sleep 0.05 && rmdir busy"});
    let calls = (0..4).map(|_| ("bash", alone.clone()));
    let bench = Bench::new(Kind::Chat, [Step::answer().calls(calls), done()]);
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    let codes: Vec<_> = shown
        .results()
        .iter()
        .map(|r| r["data"]["exit_code"].clone())
        .collect();
    assert_eq!(codes, [0, 0, 0, 0]);
}

#[tokio::test]
async fn a_model_in_a_circle_is_told_and_then_stopped() {
    let bench = Bench::with(Kind::Messages, Server::answering(|_| bash("echo same")));
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Error));
    assert_eq!(shown.error().unwrap().0, "repeated_calls");
    assert_eq!(shown.codes().len(), 4);
    assert!(
        bench
            .request(3)
            .last_user_text()
            .contains("same call three times")
    );
}

#[tokio::test]
async fn a_write_between_breaks_the_circle() {
    let look = || bash("cat log");
    let write = |n: u32| {
        Step::answer().call(
            "write_file",
            json!({"path": "other", "content": n.to_string()}),
        )
    };
    let steps = [
        look(),
        look(),
        write(1),
        look(),
        look(),
        write(2),
        look(),
        done(),
    ];
    let bench = Bench::new(Kind::Chat, steps);
    bench.space.write("log", "same");
    let mut session = bench.open().await;
    assert_eq!(session.run("go").await.outcome(), Some(Outcome::Done));
}

#[tokio::test]
async fn max_steps_is_an_outcome_of_its_own() {
    let bench = Bench::new(Kind::Chat, [bash("echo 1"), bash("echo 2"), done()]);
    let mut session = bench
        .open_with(Open::New, |options| options.run.max_steps = 2)
        .await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::MaxSteps));
    assert_eq!(shown.error().unwrap().0, "max_steps");
    assert_eq!(shown.codes(), ["ok", "ok"]);
    // The limit is the turn's, not the session's.
    assert_eq!(session.run("go on").await.outcome(), Some(Outcome::Done));
}

#[tokio::test]
async fn an_empty_answer_is_asked_again_once() {
    for kind in Kind::ALL {
        let thought = Step::answer().reasoning("hm");
        let bench = Bench::new(kind, [Step::answer(), done(), thought, Step::answer()]);
        let mut session = bench.open().await;
        let shown = session.run("go").await;
        assert_eq!(shown.outcome(), Some(Outcome::Done), "{shown:?}");
        assert!(bench.request(1).last_user_text().contains("empty"));
        let shown = session.run("again").await;
        assert_eq!(shown.outcome(), Some(Outcome::EmptyResponse), "{shown:?}");
        assert_eq!(shown.error().unwrap().0, "empty_response");
        bench.server.assert_done();
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_continued_once() {
    let half = || Step::answer().text("Half an ans").cut(Place::Text(2));
    let bench = Bench::new(Kind::Messages, [half(), done(), half(), half()]);
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    assert_eq!(
        (shown.outcome(), shown.text()),
        (Some(Outcome::Done), "Half an Done.".to_owned())
    );
    assert!(shown.types().contains(&"notice"));
    assert!(
        bench
            .request(1)
            .last_user_text()
            .contains("connection broke")
    );
    let shown = session.run("again").await;
    assert_eq!(
        (shown.outcome(), shown.error().unwrap().0),
        (Some(Outcome::Error), "retryable".to_owned())
    );
    bench.server.assert_done();
}

#[tokio::test]
async fn what_was_not_visible_is_tried_again_without_a_trace() {
    let call = bash("echo hi").cut(Place::Call);
    let steps = [
        Step::refuse(Trouble::Internal),
        Step::hang_up(),
        call,
        bash("echo hi"),
        done(),
    ];
    let bench = Bench::new(Kind::Chat, steps);
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    assert_eq!(
        (shown.outcome(), shown.codes()),
        (Some(Outcome::Done), vec!["ok".to_owned()])
    );
    let retries = shown
        .deltas
        .iter()
        .filter(|d| matches!(d, Delta::Retry { .. }))
        .count();
    assert_eq!(retries, 3);
    assert!(!shown.types().contains(&"notice"));
    bench.server.assert_done();
}

#[tokio::test]
async fn what_a_vendor_refuses_ends_the_turn_and_not_the_session() {
    for (trouble, kind) in [
        (Trouble::BadKey, "auth"),
        (Trouble::NoModel, "fatal"),
        (Trouble::Overflow, "overflow"),
    ] {
        let bench = Bench::new(Kind::Messages, [Step::refuse(trouble), done()]);
        let mut session = bench.open().await;
        let shown = session.run("go").await;
        assert_eq!(shown.outcome(), Some(Outcome::Error));
        assert_eq!(shown.error().unwrap().0, kind);
        assert_eq!(session.run("again").await.outcome(), Some(Outcome::Done));
    }
    let bench = Bench::new(
        Kind::Messages,
        [Step::answer().text("No.").stop(Stop::Refused), done()],
    );
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    assert_eq!(
        (shown.outcome(), shown.error().unwrap().0),
        (Some(Outcome::Refusal), "refusal".to_owned())
    );
    assert_eq!(session.run("again").await.outcome(), Some(Outcome::Done));
}

#[tokio::test]
async fn an_answer_that_ran_out_of_room_says_so() {
    let bench = Bench::new(
        Kind::Chat,
        [Step::answer().text("And then").stop(Stop::Length)],
    );
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert!(shown.types().contains(&"notice"));
}

#[tokio::test]
async fn calls_of_a_cut_answer_are_never_run() {
    let step = Step::answer()
        .text("Now. ")
        .call("bash", json!({"command": "touch made"}))
        .cut(Place::Tail);
    let bench = Bench::new(Kind::Chat, [step, done()]);
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done), "{shown:?}");
    assert!(!bench.space.exists("made"));
}

#[tokio::test]
async fn who_falls_behind_by_more_than_the_ring_misses_no_entry() {
    // More events than the ring holds: 3 for each call.
    let step = |n: usize| {
        let calls = (0..64).map(|i| ("glob", json!({"pattern": format!("{n}-{i}")})));
        Step::answer().calls(calls)
    };
    let bench = Bench::new(Kind::Chat, (0..6).map(step).chain([done()]));
    let mut session = bench.open().await;
    session.prompt("go", Delivery::Queue).await;
    // Nothing is read until all of it has happened and the session is gone.
    session.send(Op::Close).await;
    session.client.ops.closed().await;
    let shown = session.finish().await;
    let numbers: Vec<u64> = shown.entries.iter().map(|e| e.entry).collect();
    let all: Vec<u64> = session.entries().iter().map(|e| e.entry).collect();
    assert_eq!(numbers, all);
    assert_eq!(shown.codes(), ["ok"; 384]);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_is_told_and_the_session_goes_on() {
    let bench = Bench::new(Kind::Chat, [bash("echo hi"), done()]);
    // A file where the folder of sessions should be.
    let sessions = bench
        .space
        .write(bench.space.home().join("sessions"), "in the way");
    let mut session = bench.open().await;
    let shown = session.run("lost").await;
    assert_eq!(shown.types(), [""; 0]);
    let told = shown.deltas.iter().find_map(|d| match d {
        Delta::Unrecorded { message } => Some(message.as_str()),
        _ => None,
    });
    assert!(told.unwrap().contains("cannot be created"), "{told:?}");
    assert_eq!(bench.server.requests().len(), 0);
    std::fs::remove_file(sessions).unwrap();
    let shown = session.run("kept").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(&shown.types()[..3], ["meta", "settings", "message"]);
    let first = bench.request(0).last_user_text();
    assert!(
        first.starts_with("<environment>") && first.ends_with("kept"),
        "{first}"
    );
}

#[tokio::test]
async fn a_session_that_is_not_saved_leaves_no_file() {
    let bench = Bench::new(Kind::Chat, [bash("echo hi"), done(), done()]);
    let mut session = bench
        .open_with(Open::New, |options| options.run.save = false)
        .await;
    assert_eq!(session.run("go").await.outcome(), Some(Outcome::Done));
    session
        .send(Op::Command {
            line: "model mock/another".into(),
        })
        .await;
    assert_eq!(session.run("on").await.outcome(), Some(Outcome::Done));
    session.close().await;
    assert!(!bench.space.home().exists());
    // The other model was told all of it.
    assert_eq!(bench.request(2).tool_results().len(), 1);
}

#[tokio::test]
async fn jobs_end_with_the_session() {
    let step = Step::answer().call(
        "bash",
        json!({"command": "echo pid $$; exec sleep 600", "wait": "1s"}),
    );
    let bench = Bench::new(Kind::Chat, [step, done()]);
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    let result = shown.results().remove(0);
    let stdout = result["data"]["stdout"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"));
    let pid = stdout.trim().strip_prefix("pid ").unwrap().to_owned();
    let lives = |pid: &str| {
        bench
            .space
            .run("sh")
            .args(["-c", &format!("kill -0 {pid}")])
            .output()
            .code
            == Some(0)
    };
    assert!(lives(&pid), "{result}");
    session.close().await;
    assert!(!lives(&pid));
}

#[tokio::test]
async fn a_file_that_changed_between_processes_is_not_overwritten_unseen() {
    let write = || Step::answer().call("write_file", json!({"path": "a.txt", "content": "mine\n"}));
    let steps = [
        Step::answer().call("read_file", json!({"path": "a.txt"})),
        done(),
        write(),
        done(),
        write(),
        done(),
    ];
    let bench = Bench::new(Kind::Chat, steps);
    bench.space.write("a.txt", "one\n");
    let mut session = bench.open().await;
    session.run("read it").await;
    let id = session.id();
    session.close().await;

    // What was read then is still known now.
    bench.space.write("a.txt", "somebody else's\n");
    let mut session = bench.resume(&id).await;
    assert_eq!(session.run("write it").await.codes(), ["stale"]);
    bench.space.write("a.txt", "one\n");
    assert_eq!(session.run("write it").await.codes(), ["ok"]);
    assert_eq!(bench.space.read("a.txt"), "mine\n");
}

#[tokio::test]
async fn calls_that_a_crash_left_open_are_closed_by_the_next_prompt() {
    let bench = Bench::new(Kind::Messages, [done()]);
    let mut session = bench.open().await;
    let id = session.id();
    drop(session);
    let log = bench.store().path_of(&id);
    let lines = [
        json!({"type": "meta", "schema_version": 1, "entry": 0, "parent": null, "ts": ""}),
        json!({"type": "message", "entry": 1, "parent": 0, "ts": "", "role": "user", "text": "go"}),
        json!({"type": "message", "entry": 2, "parent": 1, "ts": "", "role": "assistant", "text": "",
            "parts": [{"call": {"id": "a"}}, {"call": {"id": "b"}}]}),
        json!({"type": "tool_use", "entry": 3, "parent": 2, "ts": "", "id": "a", "name": "bash", "input": {}}),
        json!({"type": "tool_use", "entry": 4, "parent": 3, "ts": "", "id": "b", "name": "bash", "input": {}}),
    ];
    bench
        .space
        .write(&log, lines.map(|l| l.to_string() + "\n").concat());
    session = bench.resume(&id).await;
    let shown = session.run("well?").await;
    assert_eq!(shown.codes(), ["interrupted", "interrupted"]);
    let told: Vec<bool> = bench
        .request(0)
        .tool_results()
        .into_iter()
        .map(|(_, text, _)| text.contains("may or may not have run"))
        .collect();
    assert_eq!(told, [true, true]);
}

#[tokio::test]
async fn a_fork_is_a_copy_of_the_branch_in_a_log_of_its_own() {
    let bench = Bench::new(Kind::Messages, [bash("echo hi"), done(), done(), done()]);
    let mut first = bench.open().await;
    first.run("go").await;
    let (id, before) = (first.id(), first.bytes());
    // The original may be open.
    let mut fork = bench.open_with(Open::Fork(id.clone()), |_| {}).await;
    assert_ne!(fork.id(), id);
    let shown = fork.run("on the fork").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    assert_eq!(first.bytes(), before);
    let copied = fork.entries();
    let Body::Meta(meta) = &copied[0].body else {
        panic!("{:?}", copied[0])
    };
    let from = meta.forked_from.as_ref().unwrap();
    let last = first.entries().last().unwrap().entry;
    assert_eq!((from.session.as_str(), from.entry), (id.as_str(), last));
    let original = first.entries();
    assert!(
        copied[1..]
            .iter()
            .map(|e| &e.body)
            .take(original.len() - 1)
            .eq(original[1..].iter().map(|e| &e.body))
    );
    // It continues the same prompt, and goes its own way from here.
    let (old, new) = (
        bench.request(1).prompt_bytes(),
        bench.request(2).prompt_bytes(),
    );
    assert!(new.starts_with(&old));
    assert_eq!(
        cache::unplanned_breaks(&copied, ostler_wire::Language::English),
        [""; 0]
    );
    first.run("on the trunk").await;
    assert_eq!(bench.request(3).tool_results().len(), 1);
    assert!(!String::from_utf8_lossy(&bench.request(3).raw).contains("on the fork"));
}

#[tokio::test]
async fn one_session_is_open_once() {
    let bench = Bench::new(Kind::Chat, [done()]);
    let mut session = bench.open().await;
    session.run("go").await;
    let Err(refused) = bench.try_open(Open::Resume(session.id()), |_| {}).await else {
        panic!("opened twice")
    };
    assert!(
        refused.contains("open in another process") && refused.contains("--fork"),
        "{refused}"
    );
}

// Invariant 8.
#[tokio::test]
async fn nothing_unbounded_enters_the_context() {
    let shell = bash("yes 0123456789 | head -c 30000000");
    let read = Step::answer().call("read_file", json!({"path": "big.txt"}));
    let grep = Step::answer().call("grep", json!({"pattern": "line"}));
    let bench = Bench::new(Kind::Chat, [shell, read, grep, done()]);
    let lines: String = (0..200_000)
        .map(|n| format!("line {n} of a long file\n"))
        .collect();
    bench.space.write("big.txt", lines);
    let mut session = bench.open().await;
    let shown = session.run("go").await;
    assert_eq!(shown.outcome(), Some(Outcome::Done));
    for (name, text) in bench
        .request(3)
        .tool_results()
        .into_iter()
        .map(|(id, text, _)| (id, text))
    {
        assert!(
            (1_000..200_000).contains(&text.len()),
            "{name}: {} bytes",
            text.len()
        );
    }
    assert!(
        session.bytes().len() < 1_000_000,
        "{}",
        session.bytes().len()
    );
}

/// Every Rust file of a crate, without its tests.
fn sources(name: &str) -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .with_file_name(name)
        .join("src");
    let mut folders = vec![root];
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" && name != "testing.rs" {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text
                    .split("#[cfg(test)]\nmod tests {")
                    .next()
                    .unwrap_or_default();
                out.push((path.display().to_string(), code.to_owned()));
            }
        }
    }
    assert!(!out.is_empty());
    out
}

// Invariant 5.
#[test]
fn tools_never_ask_only_dispatch_does() {
    for (path, code) in sources("tools") {
        for way in ["feed.ask", "wire::Ask", "Event::Ask"] {
            assert!(!code.contains(way), "{path} uses {way}");
        }
    }
    let mut asking = 0;
    for (path, code) in sources("engine") {
        if code.contains("inbox.ask(") {
            asking += 1;
            assert!(path.contains("/src/dispatch/"), "{path} asks");
        }
    }
    assert!(asking > 0);
}

// Invariant 6.
#[test]
fn no_vendor_name_is_in_the_engine() {
    let names: Vec<String> = ostler_llm::builtin_providers()
        .iter()
        .map(|p| p.name.to_lowercase())
        .collect();
    assert!(names.len() >= 5);
    let crates = ["sources", "context", "confine", "state", "engine", "tools"];
    for (path, code) in crates.into_iter().flat_map(sources) {
        // The name of a file of instructions that several agents read.
        let code = code.to_lowercase().replace("gemini.md", "");
        for name in &names {
            assert!(!code.contains(name.as_str()), "{path} speaks of {name}");
        }
    }
}

#[tokio::test]
async fn replay_blobs_come_back_and_only_to_their_model() {
    // The server refuses a blob that was altered or that another model made.
    for kind in Kind::ALL {
        let think = || {
            Step::answer()
                .reasoning("Look first.")
                .text("Now. ")
                .call("time", json!({}))
        };
        let bench = Bench::new(kind, [think(), done(), done(), think(), done()]);
        let mut session = bench.open().await;
        session.run("go").await;
        let kept = session.entries().into_iter().any(|e| match e.body {
            Body::Message(m) => m.parts.iter().any(|part| match part {
                Part::Reasoning { replay, .. }
                | Part::Text { replay, .. }
                | Part::Call { replay, .. } => replay.is_some(),
            }),
            _ => false,
        });
        assert!(kept, "{}", kind.name());
        session
            .send(Op::Command {
                line: "model mock/another".into(),
            })
            .await;
        session.run("again").await;
        session
            .send(Op::Command {
                line: "model mock/mock-model".into(),
            })
            .await;
        session.run("and back").await;
        bench.server.assert_done();
    }
}
