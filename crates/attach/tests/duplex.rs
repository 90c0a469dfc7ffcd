//! Both sides over a pipe in memory, with a session that is only a ring and a list of entries.

use ostler_attach::{Attach, AttachError, PROTOCOL, Refusal, attach, serve};
use ostler_wire::{
    Ask, Body, BoxFuture, Client, ClientId, Delta, Entry, EntrySource, Event, HubError, Notice, Op,
    OpLine, OpSender, Posted, Replies, Reply, ReplyTo, SentOp, Snapshot, Subscription, View,
};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{broadcast, mpsc};

const VERSION: &str = "1.2.3";
const ME: ClientId = ClientId(7);

#[derive(Clone)]
struct FakeSession {
    ring: broadcast::Sender<Posted>,
    ops: mpsc::Sender<SentOp>,
    log: Log,
    replies: Replies,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Arc<Entry>>>>);

impl EntrySource for Log {
    fn entries_after(&self, last: Option<u64>) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        let all = self.0.lock().unwrap().clone();
        let new = all
            .into_iter()
            .filter(move |e| last.is_none_or(|last| e.entry > last));
        Box::pin(std::future::ready(new.collect()))
    }

    fn branch(&self) -> BoxFuture<'_, Vec<Arc<Entry>>> {
        self.entries_after(None)
    }

    fn pending_asks(&self) -> BoxFuture<'_, Vec<Arc<Ask>>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

impl Attach for FakeSession {
    fn attach(
        &self,
        session: String,
        after: Option<u64>,
    ) -> BoxFuture<'_, Result<Client, HubError>> {
        let found = "0123-live".starts_with(&session);
        Box::pin(async move {
            if !found {
                return Err(HubError(format!("no session {session}")));
            }
            let events = Subscription::of_ring(
                after,
                self.ring.subscribe(),
                (ME, self.replies.clone()),
                Arc::new(self.log.clone()),
            );
            Ok(Client {
                session_id: "0123-live".into(),
                notes: Vec::new(),
                snapshot: Snapshot {
                    model: "a/b".into(),
                    answer: "half of".into(),
                    ..Snapshot::default()
                },
                ops: OpSender::new(self.ops.clone(), ME, Box::new(|| {})),
                events: events.catching_up(),
            })
        })
    }

    fn now(&self) -> String {
        "2026-01-01T00:00:00Z".into()
    }
}

impl FakeSession {
    fn new() -> (Self, mpsc::Receiver<SentOp>) {
        let (ops, received) = mpsc::channel(8);
        let session = Self {
            ring: broadcast::Sender::new(64),
            ops,
            log: Log::default(),
            replies: Replies::default(),
        };
        (session, received)
    }

    fn entry(&self, number: u64) -> Arc<Entry> {
        let entry = Arc::new(Entry {
            entry: number,
            parent: number.checked_sub(1),
            ts: "2026-01-01T00:00:00Z".into(),
            body: Body::Notice(Notice {
                text: format!("notice {number}"),
            }),
        });
        self.log.0.lock().unwrap().push(entry.clone());
        entry
    }

    fn post(&self, event: Event) {
        let _ = self.ring.send(Posted { to: None, event });
    }

    async fn connect(&self, id: &str, after: Option<u64>) -> Result<Client, AttachError> {
        let (ours, theirs) = tokio::io::duplex(256);
        let owner = self.clone();
        tokio::spawn(async move { serve(theirs, VERSION, &owner).await });
        attach(ours, VERSION, id, after).await
    }
}

#[tokio::test]
async fn a_client_elsewhere_sees_and_says_what_one_here_would() {
    let (session, mut received) = FakeSession::new();
    for number in 0..3 {
        session.entry(number);
    }
    let mut client = session.connect("0123", Some(0)).await.unwrap();
    assert_eq!(client.session_id, "0123-live");
    assert_eq!(client.snapshot.answer, "half of");
    let mut seen = Vec::new();
    for _ in 0..2 {
        if let Some(Event::Entry(entry)) = client.events.next().await {
            seen.push(entry.entry);
        }
    }
    assert_eq!(seen, [1, 2]);
    let ask = Arc::new(Ask {
        ask: "a1".into(),
        subject: "Which?".into(),
        ..Ask::default()
    });
    let reply = Arc::new(Reply {
        op: Some("7".into()),
        command: "status".into(),
        view: View::Text("fine".into()),
        more: false,
    });
    let delta = Event::Delta(Delta::AssistantDelta {
        text: "the rest".into(),
    });
    let entry = Event::Entry(session.entry(3));
    let events = [delta, Event::Ask(ask), entry, Event::Reply(reply.clone())];
    session.replies.add(reply);
    for event in &events {
        session.post(event.clone());
    }
    for event in &events {
        assert_eq!(client.events.next().await.as_ref(), Some(event));
    }
    let line = OpLine {
        id: Some("8".into()),
        again: true,
        op: Op::Command {
            line: "status".into(),
        },
    };
    client.ops.send_line(line.clone()).await.unwrap();
    let expect = SentOp {
        reply_to: ReplyTo {
            client: ME,
            op: line.id,
            again: true,
        },
        op: line.op,
    };
    assert_eq!(received.recv().await, Some(expect));
    let arrived = Event::Delta(Delta::OpArrived { op: "8".into() });
    assert_eq!(client.events.next().await, Some(arrived));
    let past: Vec<u64> = client
        .events
        .past(2)
        .await
        .iter()
        .map(|e| e.entry)
        .collect();
    assert_eq!(past, [2, 3]);
    // Closing is not the client's to do: it only leaves.
    client.ops.send(Op::Close).await.unwrap();
    assert_eq!(client.events.next().await, None);
    assert!(received.try_recv().is_err());
}

#[tokio::test]
async fn what_cannot_be_attached_to_is_refused_in_words() {
    let (session, _received) = FakeSession::new();
    let refused = session.connect("9999", None).await;
    let Err(AttachError::Refused(Refusal::NoSession { message })) = refused else {
        panic!("attached");
    };
    assert_eq!(message, "no session 9999");
    let (mut ours, theirs) = tokio::io::duplex(4096);
    let owner = session.clone();
    let served = tokio::spawn(async move { serve(theirs, VERSION, &owner).await });
    let hello = r#"{"attach":{"protocol":99,"version":"9","session":"0123"}}"#;
    ours.write_all(format!("{hello}\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    ours.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.contains(&format!("\"protocol\":{PROTOCOL}")) && answer.contains(VERSION),
        "{answer}"
    );
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn nonsense_ends_the_connection_and_nothing_else() {
    let (session, mut received) = FakeSession::new();
    for line in ["", "{}", "[1]", "GET / HTTP/1.1"] {
        let (mut ours, theirs) = tokio::io::duplex(4096);
        let owner = session.clone();
        let served = tokio::spawn(async move { serve(theirs, VERSION, &owner).await });
        ours.write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
        assert!(served.await.unwrap().is_err(), "{line}");
    }
    assert!(received.try_recv().is_err());
}

#[tokio::test]
async fn a_greeting_of_another_version_is_told_which_one_answers() {
    let (session, _received) = FakeSession::new();
    for line in [
        "{\"attach\":{\"protocol\":2}}",
        "{\"attach\":{\"protocol\":99,\"version\":\"1.2.3\",\"session\":\"0123\"}}",
        "{\"attach\":{\"protocol\":2,\"version\":\"9.9.9\",\"session\":\"0123\"}}",
    ] {
        let (mut ours, theirs) = tokio::io::duplex(4096);
        let owner = session.clone();
        let served = tokio::spawn(async move { serve(theirs, VERSION, &owner).await });
        ours.write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
        served.await.unwrap().unwrap();
        let mut told = String::new();
        ours.read_to_string(&mut told).await.unwrap();
        assert!(told.contains("\"version\":\"1.2.3\""), "{line}: {told}");
    }
}
