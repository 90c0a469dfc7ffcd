//! A client whose session changes hands: two owners that are only channels, one after the other.

use ostler_attach::{Lost, Reopen, follow};
use ostler_wire::{
    Ask, Body, BoxFuture, Client, ClientId, Clients, CompletionRequest, Delivery, Delta, Entry,
    EntrySource, Event, HubError, Message, Op, OpLine, OpSender, Reply, SentOp, Snapshot,
    Subscription, View,
};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// What an owner is seen doing.
struct Owner {
    events: mpsc::Sender<Event>,
    ops: mpsc::Receiver<SentOp>,
}

#[derive(Default)]
struct Log(Arc<Mutex<Vec<Arc<Entry>>>>);

impl EntrySource for Log {
    fn entries_after(&self, last: Option<u64>) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        let is_later = |entry: &&Arc<Entry>| last.is_none_or(|last| entry.entry > last);
        let later = self
            .0
            .lock()
            .unwrap()
            .iter()
            .filter(is_later)
            .cloned()
            .collect();
        Box::pin(std::future::ready(later))
    }

    fn branch(&self) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        self.entries_after(None)
    }

    fn pending_asks(&self) -> BoxFuture<'_, Vec<Arc<Ask>>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

fn owner(rank: Option<u64>, log: Log) -> (Owner, Client) {
    let (events, received) = mpsc::channel(64);
    let (ops, sent) = mpsc::channel(64);
    let snapshot = Snapshot {
        clients: Clients {
            ids: vec![ClientId(1), ClientId(2)],
            rank,
            silent: false,
        },
        ..Snapshot::default()
    };
    let client = Client {
        session_id: "s1".into(),
        notes: Vec::new(),
        snapshot,
        ops: OpSender::new(ops, ClientId(2), Box::new(|| {})),
        events: Subscription::of_pipe(None, received, Arc::new(log)),
    };
    (Owner { events, ops: sent }, client)
}

struct Next {
    client: Mutex<Option<Client>>,
    lost: Mutex<Option<Lost>>,
}

impl Reopen for Next {
    fn reopen(&self, lost: Lost) -> BoxFuture<'_, Result<Client, HubError>> {
        *self.lost.lock().unwrap() = Some(lost);
        let next = self.client.lock().unwrap().take();
        let next = next.ok_or_else(|| HubError("no owner is left".into()));
        Box::pin(std::future::ready(next))
    }

    fn describe(&self, _: &Client) -> String {
        "another owner".into()
    }

    fn describe_silence(&self, clients: &Clients) -> String {
        format!("silent: {}", clients.silent)
    }

    fn refuse(&self, line: &OpLine) -> Option<String> {
        line.refuse(ostler_wire::Language::English)
    }

    fn describe_lost(&self, op: &Op) -> String {
        format!("lost: {op:?}")
    }
}

fn said(number: u64, text: &str, op: Option<String>) -> Arc<Entry> {
    Arc::new(Entry {
        entry: number,
        parent: number.checked_sub(1),
        ts: "2026-01-01T00:00:00Z".into(),
        body: Body::Message(Message {
            op,
            ..Message::user(text)
        }),
    })
}

fn prompt(text: &str) -> Op {
    Op::Prompt {
        text: text.into(),
        delivery: Delivery::Queue,
        images: Vec::new(),
    }
}

fn next(client: Option<Client>) -> Arc<Next> {
    Arc::new(Next {
        client: Mutex::new(client),
        lost: Mutex::default(),
    })
}

fn command(line: &str) -> Op {
    Op::Command { line: line.into() }
}

fn arrived(op: &Option<String>) -> Event {
    let op = op.clone().expect("an id");
    Event::Delta(Delta::OpArrived { op })
}

#[tokio::test]
async fn what_the_owner_has_not_confirmed_goes_to_the_next_one_and_nothing_twice() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (mut old, client) = owner(Some(1), Log::default());
    let (mut new, successor) = owner(None, Log(log.clone()));
    let reopen = next(Some(successor));
    let mut front = follow(client, reopen.clone());
    let answer = Op::Answer {
        ask: "a1".into(),
        choice: "once".into(),
        reason: None,
    };
    let sent = [
        Op::Interrupt,
        prompt("same"),
        prompt("same"),
        prompt("same"),
        command("!once"),
        command("status"),
        answer,
        Op::Interrupt,
    ];
    let mut ids = Vec::new();
    for op in sent {
        front.ops.send(op).await.unwrap();
        ids.push(old.ops.recv().await.unwrap().reply_to.op);
    }
    // The owner took the second one in, and was gone before it could say so.
    *log.lock().unwrap() = vec![said(1, "same", ids[2].clone())];
    let first = Event::Entry(said(0, "same", ids[1].clone()));
    for event in [first, arrived(&ids[3]), arrived(&ids[4])] {
        old.events.send(event).await.unwrap();
    }
    drop(old);
    let expected = [
        (prompt("same"), 3),
        (command("status"), 5),
        (Op::Interrupt, 7),
    ];
    for (op, at) in expected {
        let again = new.ops.recv().await.unwrap();
        assert_eq!((again.op, &again.reply_to.op), (op, &ids[at]));
        assert!(again.reply_to.again);
    }
    for entry in [said(1, "same", None), said(2, "same", ids[3].clone())] {
        new.events.send(Event::Entry(entry)).await.unwrap();
    }
    let mut entries = Vec::new();
    while entries.len() < 3 {
        match front.events.next().await.unwrap() {
            Event::Entry(entry) => entries.push(entry.entry),
            Event::Delta(delta) => assert_ne!(delta, Delta::Idle),
            Event::Ask(_) | Event::Reply(_) => {}
        }
    }
    assert_eq!(entries, [0, 1, 2]);
    let lost = Lost {
        session: "s1".into(),
        after: Some(0),
        rank: 1,
        mode: Default::default(),
    };
    assert_eq!(reopen.lost.lock().unwrap().take(), Some(lost));
    assert!(new.ops.try_recv().is_err());
}

/// What the front end is told of ops that have no outcome.
async fn lost(front: &mut Client, until: &str) -> Vec<(Option<String>, String)> {
    let mut lost = Vec::new();
    loop {
        match front.events.next().await.unwrap() {
            Event::Reply(reply) => match &reply.view {
                View::Error(text) => lost.push((reply.op.clone(), text.clone())),
                View::Text(text) if text == until => return lost,
                other => panic!("{other:?}"),
            },
            Event::Delta(_) | Event::Entry(_) | Event::Ask(_) => {}
        }
    }
}

#[tokio::test]
async fn a_command_that_went_down_with_its_owner_is_reported_to_its_sender() {
    let (mut old, client) = owner(Some(0), Log::default());
    let (mut new, successor) = owner(Some(0), Log::default());
    let mut front = follow(client, next(Some(successor)));
    let mut ids = Vec::new();
    for (id, line) in [("1", "one"), ("2", "two"), ("3", "three"), ("4", "four")] {
        let line = OpLine {
            id: Some(id.into()),
            again: false,
            op: command(line),
        };
        front.ops.send_line(line).await.unwrap();
        ids.push(old.ops.recv().await.unwrap().reply_to.op);
    }
    // The first is answered, the second done, the third under way, and the fourth has not arrived.
    for id in ids.iter().take(3) {
        old.events.send(arrived(id)).await.unwrap();
    }
    let reply = |op: &Option<String>, text: &str, more: bool| {
        Event::Reply(Arc::new(Reply {
            op: op.clone(),
            command: String::new(),
            view: View::Text(text.into()),
            more,
        }))
    };
    old.events
        .send(reply(&ids[0], "done", false))
        .await
        .unwrap();
    let op = ids[1].clone().unwrap();
    old.events
        .send(Event::Delta(Delta::OpDone { op }))
        .await
        .unwrap();
    assert_eq!(lost(&mut front, "done").await, []);
    drop(old);
    let again = new.ops.recv().await.unwrap();
    assert_eq!(again.op, command("four"));
    new.events
        .send(reply(&ids[3], "the end", false))
        .await
        .unwrap();
    let three = (
        Some("3".to_owned()),
        format!("lost: {:?}", command("three")),
    );
    assert_eq!(lost(&mut front, "the end").await, [three]);
}

#[tokio::test]
async fn an_answer_is_sent_again_to_whoever_has_the_question_else_the_person_is_told() {
    for has_question in [true, false] {
        let (mut old, client) = owner(Some(0), Log::default());
        let (mut new, mut successor) = owner(Some(0), Log::default());
        let open = Arc::new(Ask {
            ask: "a1-x".into(),
            ..Ask::default()
        });
        successor
            .snapshot
            .asks
            .extend(has_question.then(|| open.clone()));
        let mut front = follow(client, next(Some(successor)));
        let answered = Op::Answer {
            ask: "a0-x".into(),
            choice: "once".into(),
            reason: None,
        };
        let answer = open.answer("once", None);
        for op in [&answered, &answer] {
            front.ops.send(op.clone()).await.unwrap();
            old.ops.recv().await.unwrap();
        }
        let closed = Event::Delta(Delta::AskClosed {
            ask: "a0-x".into(),
            by: Some(ClientId(2)),
            answer: None,
        });
        let first = Event::Ask(Arc::new(Ask {
            ask: "a0-x".into(),
            ..Ask::default()
        }));
        for event in [first, closed] {
            old.events.send(event.clone()).await.unwrap();
            assert_eq!(front.events.next().await, Some(event));
        }
        drop(old);
        let end = Event::Reply(Arc::new(Reply {
            op: None,
            command: String::new(),
            view: View::Text("the end".into()),
            more: false,
        }));
        new.events.send(end).await.unwrap();
        let told = lost(&mut front, "the end").await;
        let expect = (None, format!("lost: {answer:?}"));
        assert_eq!(told, Vec::from_iter((!has_question).then_some(expect)));
        let sent = new.ops.try_recv().ok().map(|sent| sent.op);
        assert_eq!(sent, has_question.then_some(answer));
    }
}

#[tokio::test]
async fn a_front_end_whose_turn_is_gone_with_its_owner_is_told_so() {
    let (old, client) = owner(Some(0), Log::default());
    let (_new, successor) = owner(None, Log::default());
    let mut front = follow(client, next(Some(successor)));
    drop(old);
    while front.events.next().await.unwrap() != Event::Delta(Delta::Idle) {}
}

#[tokio::test]
async fn questions_of_an_owner_that_is_gone_are_withdrawn() {
    let (old, client) = owner(Some(0), Log::default());
    let (new, successor) = owner(None, Log::default());
    let mut front = follow(client, next(Some(successor)));
    let ask = |id: &str| {
        Event::Ask(Arc::new(Ask {
            ask: id.into(),
            ..Ask::default()
        }))
    };
    old.events.send(ask("a1")).await.unwrap();
    assert_eq!(front.events.next().await, Some(ask("a1")));
    drop(old);
    let closed = Delta::AskClosed {
        ask: "a1".into(),
        by: None,
        answer: None,
    };
    assert_eq!(front.events.next().await, Some(Event::Delta(closed)));
    // The new owner counts from the start.
    new.events.send(ask("a1")).await.unwrap();
    while front.events.next().await.unwrap() != ask("a1") {}
}

#[tokio::test]
async fn closing_leaves_a_session_elsewhere_alone_and_ends_an_own_one() {
    for (rank, is_ended) in [(Some(1), false), (None, true)] {
        let (mut old, client) = owner(rank, Log::default());
        let mut front = follow(client, next(None));
        front.ops.send(Op::Close).await.unwrap();
        let sent = old.ops.recv().await.map(|sent| sent.op);
        assert_eq!(sent, is_ended.then_some(Op::Close));
        drop(old);
        assert_eq!(front.events.next().await, None);
    }
}

#[tokio::test]
async fn a_session_that_nobody_has_ends_with_the_reason() {
    let (old, client) = owner(Some(1), Log::default());
    let mut front = follow(client, next(None));
    drop(old);
    let said = front.events.next().await.unwrap();
    assert!(format!("{said:?}").contains("no owner is left"), "{said:?}");
    assert_eq!(front.events.next().await, None);
}

#[tokio::test]
async fn a_completion_is_not_sent_again_and_is_answered_all_the_same() {
    let (mut old, client) = owner(Some(0), Log::default());
    let (mut new, successor) = owner(Some(0), Log::default());
    let mut front = follow(client, next(Some(successor)));
    let request = CompletionRequest::of("src/");
    let line = OpLine {
        id: Some("7".into()),
        again: false,
        op: Op::Complete(request.clone()),
    };
    front.ops.send_line(line).await.unwrap();
    old.ops.recv().await.unwrap();
    drop(old);
    let unanswered = loop {
        if let Event::Reply(reply) = front.events.next().await.unwrap() {
            break reply;
        }
    };
    assert_eq!(unanswered.op.as_deref(), Some("7"));
    assert_eq!(unanswered.view, View::Completion(request.superseded()));
    front.ops.send(command("next")).await.unwrap();
    assert_eq!(new.ops.recv().await.unwrap().op, command("next"));
}

#[tokio::test]
async fn a_message_with_too_many_pictures_is_refused_and_the_connection_stays() {
    let (mut old, client) = owner(Some(0), Log::default());
    let mut front = follow(client, next(None));
    let picture = ostler_wire::Image {
        media_type: "image/png".into(),
        data: "A".repeat(ostler_wire::MAX_PICTURE_DATA),
    };
    let line = OpLine {
        id: Some("7".into()),
        again: false,
        op: Op::Prompt {
            text: "look".into(),
            delivery: Delivery::Queue,
            images: vec![picture; 3],
        },
    };
    front.ops.send_line(line).await.unwrap();
    let Some(Event::Reply(reply)) = front.events.next().await else {
        panic!("no reply");
    };
    let View::Error(why) = &reply.view else {
        panic!("{reply:?}");
    };
    assert_eq!(reply.op.as_deref(), Some("7"));
    assert!(why.contains("60 MiB together"), "{why}");
    front.ops.send(prompt("go on")).await.unwrap();
    assert_eq!(old.ops.recv().await.unwrap().op, prompt("go on"));
}
