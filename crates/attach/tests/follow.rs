//! A client whose session changes hands: two owners that are only channels, one after the other.

use ostler_attach::{Lost, Reopen, follow};
use ostler_wire::{
    Ask, Body, BoxFuture, Client, ClientId, Clients, Delivery, Delta, Entry, EntrySource, Event,
    HubError, Message, Op, OpSender, QueuedPrompt, SentOp, Snapshot, Subscription,
};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// What an owner is seen doing.
struct Owner {
    events: mpsc::Sender<Event>,
    ops: mpsc::Receiver<SentOp>,
}

#[derive(Default)]
struct Log(Vec<Arc<Entry>>);

impl EntrySource for Log {
    fn entries_after(&self, last: Option<u64>) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        let is_later = |entry: &&Arc<Entry>| last.is_none_or(|last| entry.entry > last);
        let later = self.0.iter().filter(is_later).cloned().collect();
        Box::pin(std::future::ready(later))
    }

    fn branch(&self) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        self.entries_after(None)
    }

    fn pending_asks(&self) -> BoxFuture<'_, Vec<Arc<Ask>>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

fn owner(rank: Option<u64>, log: Vec<Arc<Entry>>) -> (Owner, Client) {
    let (events, received) = mpsc::channel(64);
    let (ops, sent) = mpsc::channel(64);
    let snapshot = Snapshot {
        clients: Clients {
            ids: vec![ClientId(1), ClientId(2)],
            rank,
        },
        ..Snapshot::default()
    };
    let client = Client {
        session_id: "s1".into(),
        notes: Vec::new(),
        snapshot,
        ops: OpSender::new(ops, ClientId(2), Box::new(|| {})),
        events: Subscription::of_pipe(None, received, Arc::new(Log(log))),
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
}

fn said(number: u64, text: &str) -> Arc<Entry> {
    Arc::new(Entry {
        entry: number,
        parent: number.checked_sub(1),
        ts: "2026-01-01T00:00:00Z".into(),
        body: Body::Message(Message::user(text)),
    })
}

fn prompt(text: &str) -> Op {
    Op::Prompt {
        text: text.into(),
        delivery: Delivery::Queue,
        images: Vec::new(),
    }
}

fn queue(texts: &[&str]) -> Event {
    let queued = |text: &&str| QueuedPrompt {
        text: (*text).into(),
        delivery: Delivery::Queue,
    };
    Event::Delta(Delta::Queue {
        prompts: texts.iter().map(queued).collect(),
    })
}

fn next(client: Option<Client>) -> Arc<Next> {
    Arc::new(Next {
        client: Mutex::new(client),
        lost: Mutex::default(),
    })
}

#[tokio::test]
async fn waiting_prompts_go_to_the_next_owner_and_none_twice() {
    let (mut old, client) = owner(Some(1), Vec::new());
    // The old owner took this one in, and was gone before it could say so.
    let (mut new, successor) = owner(None, vec![said(1, "taken in")]);
    let reopen = next(Some(successor));
    let mut front = follow(client, reopen.clone());
    for text in ["first", "taken in", "waits", "nobody knows"] {
        front.ops.send(prompt(text)).await.unwrap();
        old.ops.recv().await.unwrap();
    }
    old.events
        .send(Event::Entry(said(0, "first")))
        .await
        .unwrap();
    old.events
        .send(queue(&["taken in", "waits"]))
        .await
        .unwrap();
    drop(old);
    assert_eq!(new.ops.recv().await.unwrap().op, prompt("waits"));
    new.events
        .send(Event::Entry(said(1, "taken in")))
        .await
        .unwrap();
    new.events
        .send(Event::Entry(said(2, "waits")))
        .await
        .unwrap();
    let mut entries = Vec::new();
    while entries.len() < 3 {
        match front.events.next().await.unwrap() {
            Event::Entry(entry) => entries.push(entry.entry),
            Event::Delta(_) | Event::Ask(_) | Event::Reply(_) => {}
        }
    }
    assert_eq!(entries, [0, 1, 2]);
    let lost = Lost {
        session: "s1".into(),
        after: Some(0),
        rank: 1,
    };
    assert_eq!(reopen.lost.lock().unwrap().take(), Some(lost));
    assert!(new.ops.try_recv().is_err());
}

#[tokio::test]
async fn questions_of_an_owner_that_is_gone_are_withdrawn() {
    let (old, client) = owner(Some(0), Vec::new());
    let (new, successor) = owner(None, Vec::new());
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
    };
    assert_eq!(front.events.next().await, Some(Event::Delta(closed)));
    // The new owner counts from the start.
    new.events.send(ask("a1")).await.unwrap();
    while front.events.next().await.unwrap() != ask("a1") {}
}

#[tokio::test]
async fn closing_leaves_a_session_elsewhere_alone_and_ends_an_own_one() {
    for (rank, is_ended) in [(Some(1), false), (None, true)] {
        let (mut old, client) = owner(rank, Vec::new());
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
    let (old, client) = owner(Some(1), Vec::new());
    let mut front = follow(client, next(None));
    drop(old);
    let said = front.events.next().await.unwrap();
    assert!(format!("{said:?}").contains("no owner is left"), "{said:?}");
    assert_eq!(front.events.next().await, None);
}
