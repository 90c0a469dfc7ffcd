//! Ops in every order, with work under way and without.

use super::*;
use ostler_wire::{
    AskKind, Choice, Delivery, Escape, Event, OpSender, PermissionChoice, Posted, Silence,
};
use std::future::pending;

struct SessionState {
    inbox: Inbox,
    ops: OpSender,
    feed: Feed,
    events: tokio::sync::broadcast::Receiver<Posted>,
}

fn state() -> SessionState {
    let (ops, receiver) = mpsc::channel(1024);
    let feed = Feed::default();
    let attached = feed.attach();
    let register = feed.register().clone();
    let detach = Box::new(move || register.detach(attached.client));
    SessionState {
        events: attached.live,
        inbox: Inbox::new(receiver, feed.clone(), childless()),
        ops: OpSender::new(ops, attached.client, detach),
        feed,
    }
}

fn childless() -> Children {
    let open = |_| Err(ostler_wire::HubError("nobody is born here".into()));
    let jobs = Arc::new(ostler_tools::jobs::Jobs::new(
        ostler_store::artifacts::Artifacts::new("nowhere".into()),
    ));
    Children::new(
        Box::new(open),
        jobs,
        ostler_wire::Language::English,
        crate::agents::children::Slots::new(4),
    )
}

fn prompt(text: &str, delivery: Delivery) -> Op {
    Op::Prompt {
        text: text.into(),
        delivery,
        images: Vec::new(),
    }
}

fn from_nobody(op: Op) -> SentOp {
    SentOp {
        reply_to: ReplyTo::default(),
        op,
    }
}

fn question() -> Ask {
    Ask {
        kind: AskKind::Permission,
        subject: "bash: make".into(),
        ..Ask::default()
    }
}

fn yes(ask: &str) -> Op {
    Op::Answer {
        ask: ask.into(),
        choice: "once".into(),
        reason: None,
    }
}

async fn shown(next: Next) -> String {
    match next {
        Next::Prompt(p) => p.text,
        Next::Command(command) => format!("/{}", command.line),
        Next::Ended(ended) => format!("{} ended", ended.id),
        Next::Over => "over".into(),
    }
}

#[tokio::test]
async fn what_waits_comes_out_in_order_and_the_end_last() {
    let mut d = state();
    let ops = [
        prompt("first", Delivery::Queue),
        prompt("steer", Delivery::Steer),
        prompt("second", Delivery::Queue),
        Op::Command {
            line: "status".into(),
        },
        Op::Interrupt,
        Op::Close,
    ];
    for op in ops {
        d.ops.send(op).await.unwrap();
    }
    // All of them come in while something else is done.
    let work = async { tokio::task::yield_now().await };
    d.inbox.begin_turn();
    let _ = d
        .inbox
        .attend(async {
            work.await;
            pending::<()>().await
        })
        .await;
    let mut out = Vec::new();
    for _ in 0..5 {
        out.push(shown(d.inbox.next().await).await);
    }
    assert_eq!(out, ["/status", "steer", "first", "second", "over"]);
}

#[tokio::test]
async fn a_session_is_over_when_nobody_holds_it() {
    let SessionState { mut inbox, ops, .. } = state();
    ops.send(prompt("last", Delivery::Queue)).await.unwrap();
    drop(ops);
    assert_eq!(shown(inbox.next().await).await, "last");
    assert_eq!(shown(inbox.next().await).await, "over");
}

#[tokio::test]
async fn an_interrupt_stops_the_turn_it_meets_and_not_the_next() {
    let mut d = state();
    let first = d.inbox.begin_turn();
    d.ops.send(Op::Interrupt).await.unwrap();
    let stopped = first.clone();
    // Work that listens ends by itself.
    let ended = d
        .inbox
        .attend(async move { stopped.cancelled().await })
        .await;
    assert!(ended.is_ok() && first.is_cancelled());
    let second = d.inbox.begin_turn();
    assert!(!second.is_cancelled());
}

#[tokio::test]
async fn work_that_does_not_listen_is_dropped_soon() {
    let mut d = state();
    d.inbox.begin_turn();
    d.ops.send(Op::Interrupt).await.unwrap();
    let (held, dropped) = oneshot::channel::<()>();
    let deaf = async move {
        pending::<()>().await;
        drop(held);
    };
    assert!(d.inbox.attend(deaf).await.is_err());
    assert!(dropped.await.is_err());
    // The patience is spent once, however much deaf work there is.
    let overdue = d.inbox.overdue;
    assert!(d.inbox.attend(pending::<()>()).await.is_err());
    assert_eq!(d.inbox.overdue, overdue);
    assert!(overdue.is_some_and(|at| at <= Instant::now()));
}

#[tokio::test]
async fn a_second_interrupt_is_not_waited_for() {
    let mut d = state();
    d.inbox.begin_turn();
    d.inbox.take(from_nobody(Op::Interrupt));
    let patient = d.inbox.overdue.unwrap();
    d.inbox.take(from_nobody(Op::Interrupt));
    assert!(d.inbox.overdue.unwrap() < patient);
    assert!(d.inbox.attend(pending::<()>()).await.is_err());
}

#[tokio::test]
async fn an_ask_is_shown_kept_and_answered() {
    let mut d = state();
    d.inbox.begin_turn();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let (ops, register) = (d.ops.clone(), d.feed.register().clone());
        let mut events = d.events.resubscribe();
        let person = tokio::spawn(async move {
            let Ok(Posted {
                event: Event::Ask(ask),
                ..
            }) = events.recv().await
            else {
                panic!("no ask")
            };
            assert_eq!(register.open_asks(), std::slice::from_ref(&ask));
            // An answer to something else is not taken for this one.
            ops.send(yes("a99")).await.unwrap();
            ops.send(yes(&ask.ask)).await.unwrap();
            ask.ask.clone()
        });
        let answer = d.inbox.ask(question()).await.unwrap();
        assert_eq!(answer.choice, "once");
        ids.push(person.await.unwrap());
        assert!(d.feed.register().open_asks().is_empty());
    }
    ids.dedup();
    assert_eq!(ids.len(), 2);
}

#[tokio::test]
async fn an_old_answer_does_not_meet_the_question_of_another_process() {
    let (mut first, mut second) = (state(), state());
    let old = first.inbox.put_ask(question()).unwrap().id;
    let mut asked = second.inbox.put_ask(question()).unwrap();
    second.inbox.take(from_nobody(yes(&old)));
    assert!(asked.receiver.try_recv().is_err());
    second.inbox.take(from_nobody(yes(&asked.id)));
    assert_eq!(asked.answered().await.unwrap().choice, "once");
}

#[tokio::test]
async fn what_was_not_offered_counts_as_no_answer() {
    let choice = |id: PermissionChoice| Choice::permission(id, id.id());
    for (sent, taken) in [("once", "once"), ("always", "deny"), ("yes", "deny")] {
        let mut d = state();
        let ask = Ask {
            options: vec![
                choice(PermissionChoice::Once),
                choice(PermissionChoice::Deny),
            ],
            silence: Silence::refuses(PermissionChoice::Deny.id()),
            ..question()
        };
        let mut asked = d.inbox.put_ask(ask).unwrap();
        let answer = Op::Answer {
            ask: asked.id.clone(),
            choice: sent.into(),
            reason: None,
        };
        d.inbox.take(from_nobody(answer));
        assert_eq!(asked.answered().await.unwrap().choice, taken, "{sent}");
    }
}

/// Its client lost the connection and does not know whether it arrived.
#[tokio::test]
async fn an_answer_that_is_sent_again_is_not_refused() {
    let mut d = state();
    let mut asked = d.inbox.put_ask(question()).unwrap();
    let send = |client: u64, again: bool| SentOp {
        reply_to: ReplyTo {
            client: ostler_wire::ClientId(client),
            op: Some("7".into()),
            again,
        },
        op: yes(&asked.id),
    };
    let (first, second) = (send(1, false), send(9, true));
    d.inbox.take(first);
    d.inbox.take(second);
    assert_eq!(asked.answered().await.unwrap().choice, "once");
    while let Ok(Posted { event, .. }) = d.events.try_recv() {
        assert!(!matches!(event, Event::Reply(_)), "{event:?}");
    }
}

/// Escape says no to a prompt in the background; a sub-agent of the turn is stopped with the turn.
#[test]
fn what_escape_does_depends_on_who_asks() {
    for (from, expect) in [
        ("t1", Escape::Answer),
        ("t1 › t1 builder", Escape::Answer),
        ("t1 builder", Escape::StopTurn),
        ("t1 builder › t2 explore", Escape::StopTurn),
    ] {
        let ask = Ask {
            from: Some(from.into()),
            ..question()
        };
        assert_eq!(escape(&ask), expect, "{from}");
    }
}

#[tokio::test]
async fn an_ask_ends_with_the_turn_or_with_the_last_one_who_could_answer() {
    let mut d = state();
    d.inbox.begin_turn();
    d.ops.send(Op::Interrupt).await.unwrap();
    assert!(d.inbox.ask(question()).await.is_err());

    d.inbox.begin_turn();
    d.ops.send(Op::Close).await.unwrap();
    assert!(d.inbox.ask(question()).await.is_err());
    // And so does one that comes up after that.
    assert!(d.inbox.ask(question()).await.is_err());
    assert!(d.feed.register().open_asks().is_empty());
}

#[tokio::test]
async fn queues_are_bounded() {
    let mut d = state();
    for _ in 0..MAX_WAITING + 3 {
        d.ops.send(prompt("q", Delivery::Queue)).await.unwrap();
        d.ops.send(prompt("s", Delivery::Steer)).await.unwrap();
        d.ops.send(Op::Command { line: "c".into() }).await.unwrap();
        while let Ok(op) = d.inbox.ops.try_recv() {
            d.inbox.take(op);
        }
    }
    assert_eq!(d.inbox.steering().len(), MAX_WAITING);
    assert_eq!(
        (d.inbox.prompts.queue.len(), d.inbox.commands.len()),
        (MAX_WAITING, MAX_WAITING)
    );
    // Whoever sent too many is told, once for each.
    let mut told = 0;
    while let Ok(posted) = d.events.try_recv() {
        if let Event::Reply(reply) = &posted.event {
            assert!(
                matches!(&reply.view, View::Error(text) if text.contains("dropped")),
                "{reply:?}"
            );
            told += 1;
        }
    }
    assert_eq!(told, 9);
}

#[tokio::test]
async fn an_answer_that_comes_second_is_told_so() {
    let mut d = state();
    let other = d.feed.attach();
    d.inbox.begin_turn();
    let mut asked = d.inbox.put_ask(question()).unwrap();
    let second = SentOp {
        reply_to: ReplyTo {
            client: other.client,
            op: Some("7".into()),
            again: false,
        },
        op: yes(&asked.id),
    };
    d.inbox.take(SentOp {
        reply_to: ReplyTo {
            client: d.ops.client(),
            op: None,
            again: false,
        },
        op: yes(&asked.id),
    });
    d.inbox.take(second);
    assert_eq!(asked.answered().await.unwrap().choice, "once");
    let mut seen = Vec::new();
    while let Ok(Posted { to, event }) = d.events.try_recv() {
        match event {
            Event::Ask(ask) => seen.push(format!("ask {}", ask.ask)),
            Event::Delta(Delta::AskClosed { ask, by, answer }) => {
                seen.push(format!("closed {ask} {by:?} {answer:?}"));
            }
            Event::Reply(reply) => seen.push(format!("reply {to:?} {:?}", reply.op)),
            Event::Delta(_) | Event::Entry(_) => {}
        }
    }
    assert_eq!(
        seen,
        [
            format!("ask {}", asked.id),
            format!("closed {} Some(ClientId(1)) Some(\"once\")", asked.id),
            "reply Some(ClientId(2)) Some(\"7\")".to_owned()
        ]
    );
}

#[tokio::test]
async fn a_prompt_with_too_large_pictures_is_refused_with_a_reason() {
    let mut d = state();
    let picture = ostler_wire::Image {
        media_type: "image/png".into(),
        data: "A".repeat(ostler_wire::MAX_PICTURE_DATA + 1),
    };
    let large = Op::Prompt {
        text: "look".into(),
        delivery: Delivery::Queue,
        images: vec![picture],
    };
    d.ops.send(large).await.unwrap();
    d.ops.send(prompt("next", Delivery::Queue)).await.unwrap();
    assert_eq!(shown(d.inbox.next().await).await, "next");
    let mut told = Vec::new();
    while let Ok(posted) = d.events.try_recv() {
        if let Event::Reply(reply) = &posted.event {
            told.push(reply.view.clone());
        }
    }
    let [View::Error(why)] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(why.contains("Picture 1 is larger than 20 MiB"), "{why}");
}
