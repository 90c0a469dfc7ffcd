//! `Op::Complete`: answered at once to its sender alone, by the rules as they are now.

use crate::common::{Bench, Session};
use ostler_testkit::{Kind, Step};
use ostler_wire::{Completion, CompletionRequest, Delivery, Event, Hub as _, Op, OpLine, View};
use serde_json::json;

fn bench(steps: impl IntoIterator<Item = Step>) -> Bench {
    let bench = Bench::new(Kind::Chat, steps);
    for file in ["src/main.rs", "src/lib.rs", "keys/one.pem"] {
        bench.space.write(file, "");
    }
    bench
}

async fn ask(session: &Session, id: &str, text: &str) {
    let line = OpLine {
        id: Some(id.into()),
        again: false,
        op: Op::Complete(CompletionRequest::of(text)),
    };
    session.client.ops.send_line(line).await.unwrap();
}

/// The next answer, with the id of its op.
async fn answer(session: &mut Session) -> (Option<String>, Completion) {
    loop {
        if let Event::Reply(reply) = session.next().await
            && let View::Completion(completion) = &reply.view
        {
            return (reply.op.clone(), completion.clone());
        }
    }
}

fn inserts(completion: &Completion) -> Vec<&str> {
    let items = completion.items.iter();
    items.map(|item| item.insert.as_str()).collect()
}

#[tokio::test]
async fn names_come_while_a_turn_runs_and_commands_wait() {
    let bench = bench([
        Step::answer().call("bash", json!({"command": "sleep 30"})),
        Step::answer().text("Done."),
    ]);
    let mut session = bench.open().await;
    session.prompt("go", Delivery::Queue).await;
    bench.asked(1).await;
    session
        .send(Op::Command {
            line: "compact".into(),
        })
        .await;
    ask(&session, "7", "src/").await;
    let (op, found) = answer(&mut session).await;
    assert_eq!(op.as_deref(), Some("7"));
    assert_eq!(inserts(&found), ["src/lib.rs", "src/main.rs"]);
    session.send(Op::Interrupt).await;
    session.finish().await;
    session.close().await;
}

#[tokio::test]
async fn every_request_gets_one_answer_and_the_last_one_has_the_names() {
    let bench = bench([]);
    let mut session = bench.open().await;
    for (id, text) in [("1", "s"), ("2", "sr"), ("3", "src"), ("4", "src/m")] {
        ask(&session, id, text).await;
    }
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(answer(&mut session).await);
    }
    answers.sort_by_key(|(op, _)| op.clone());
    let ids: Vec<_> = answers.iter().filter_map(|(op, _)| op.as_deref()).collect();
    assert_eq!(ids, ["1", "2", "3", "4"]);
    for (_, found) in &answers {
        assert_eq!(found.superseded, found.items.is_empty(), "{found:?}");
    }
    let (_, last) = answers.pop().unwrap();
    assert_eq!(inserts(&last), ["src/main.rs"]);
    session.close().await;
}

#[tokio::test]
async fn a_rule_of_the_session_hides_names_from_then_on() {
    let bench = bench([]);
    let mut session = bench.open().await;
    ask(&session, "1", "keys/").await;
    assert_eq!(inserts(&answer(&mut session).await.1), ["keys/one.pem"]);
    session.command("permissions deny Read(keys)").await;
    for text in ["keys/", "keys"] {
        ask(&session, "2", text).await;
        assert_eq!(answer(&mut session).await.1.items, [], "{text}");
    }
    session.command("permissions remove Read(keys)").await;
    ask(&session, "3", "keys/").await;
    assert_eq!(inserts(&answer(&mut session).await.1), ["keys/one.pem"]);
    session.close().await;
}

#[tokio::test]
async fn only_the_client_that_asked_is_answered_and_the_end_waits_for_it() {
    let bench = bench([]);
    let session = bench.open().await;
    ask(&session, "1", "src/m").await;
    session.send(Op::Finish).await;
    let mut events = session.client.events;
    let mut answers = 0;
    while let Some(event) = events.next().await {
        answers += usize::from(matches!(event, Event::Reply(_)));
    }
    assert_eq!(answers, 1);
}

#[tokio::test]
async fn a_hub_completes_without_a_session() {
    let bench = bench([]);
    let hub = bench.hub(|options| {
        let rule = ostler_guard::Rule::parse("Read(keys)", "x:1").unwrap();
        options.permissions.policy.rules.deny.push(rule);
    });
    let complete = async |text: &str| {
        let found = hub.complete(&CompletionRequest::of(text)).await;
        inserts(&found).join(" ")
    };
    assert_eq!(complete("").await, "src/");
    assert_eq!(complete("src/l").await, "src/lib.rs");
    assert_eq!(complete("keys/").await, "");
    assert_eq!(complete("../").await, "");
}
