//! The session's outgoing events: one bounded ring that every client reads at its own pace, and how things stand for
//! a client that attaches later.

use ostler_store::redact::{Redactor, Stream};
use ostler_wire::{
    Ask, ClientId, Clients, Delta, DeltaSink, Entry, Event, Posted, Replies, Reply, ReplyTo,
    Snapshot, View,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{broadcast, watch};

/// Events a subscriber may lag behind before it has to catch up from the log.
const RING: usize = 1024;

#[derive(Clone)]
pub struct Feed {
    ring: broadcast::Sender<Posted>,
    register: ClientRegister,
    redactor: Redactor,
    /// What a model says is left out.
    hushed: bool,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            ring: broadcast::Sender::new(RING),
            register: ClientRegister::default(),
            redactor: Redactor::default(),
            hushed: false,
        }
    }
}

/// The clients of a session, and what one that attaches now is shown. It does not keep the ring open.
#[derive(Clone, Default)]
pub struct ClientRegister {
    shared: Arc<Mutex<Registered>>,
}

#[derive(Default)]
struct Registered {
    snapshot: Snapshot,
    clients: BTreeMap<ClientId, Replies>,
    last: u64,
    count: watch::Sender<usize>,
    /// The last entry that clients were shown or could read.
    head: watch::Sender<Option<u64>>,
    /// To tell clients when one of them leaves.
    ring: Option<broadcast::WeakSender<Posted>>,
}

/// A client that was just attached: everything after `snapshot` comes through `live`.
pub struct Attachment {
    pub client: ClientId,
    pub replies: Replies,
    pub live: broadcast::Receiver<Posted>,
    pub snapshot: Snapshot,
    /// The last entry before `live`.
    pub head: Option<u64>,
}

impl Registered {
    /// Clients have come or gone.
    fn update_clients(&mut self) {
        self.count.send_replace(self.clients.len());
        let ids = self.clients.keys().copied().collect();
        self.snapshot.clients = Clients {
            ids,
            ..Clients::default()
        };
        if let Some(ring) = self.ring.as_ref().and_then(broadcast::WeakSender::upgrade) {
            let delta = Delta::Clients(self.snapshot.clients.clone());
            // No client at all is not a fault.
            let _ = ring.send(Posted {
                to: None,
                event: Event::Delta(delta),
            });
        }
    }
}

impl ClientRegister {
    pub fn open_asks(&self) -> Vec<Arc<Ask>> {
        self.lock().snapshot.asks.clone()
    }

    pub fn detach(&self, client: ClientId) {
        let mut registered = self.lock();
        registered.clients.remove(&client);
        registered.update_clients();
    }

    /// The last entry, whenever that changes.
    pub fn head(&self) -> watch::Receiver<Option<u64>> {
        self.lock().head.subscribe()
    }

    /// How many clients there are, whenever that changes.
    pub fn count(&self) -> watch::Receiver<usize> {
        self.lock().count.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Registered> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feed {
    /// Nothing of these secrets gets out.
    pub fn redacting(redactor: Redactor) -> Self {
        Self {
            redactor,
            ..Self::default()
        }
    }

    /// The same for a request beside the conversation: what comes of it is not shown, that it is tried again is.
    pub fn hushed(&self) -> Self {
        Self {
            hushed: true,
            ..self.clone()
        }
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// For text that is shown in pieces.
    pub fn stream(&self) -> Stream {
        self.redactor.stream()
    }

    pub fn register(&self) -> &ClientRegister {
        &self.register
    }

    /// A new client. No event falls between its snapshot and what it receives.
    pub fn attach(&self) -> Attachment {
        let mut registered = self.register.lock();
        registered.last += 1;
        let client = ClientId(registered.last);
        let replies = Replies::default();
        registered.ring.get_or_insert_with(|| self.ring.downgrade());
        registered.clients.insert(client, replies.clone());
        registered.update_clients();
        let head = *registered.head.borrow();
        Attachment {
            client,
            replies,
            live: self.ring.subscribe(),
            snapshot: registered.snapshot.clone(),
            head,
        }
    }

    /// The log has entries already.
    pub fn begin_after(&self, head: Option<u64>) {
        self.register.lock().head.send_replace(head);
    }

    /// How things stand, for clients that attach from now on.
    pub fn update_snapshot(&self, change: impl FnOnce(&mut Snapshot)) {
        change(&mut self.register.lock().snapshot);
    }

    /// An entry that is on disk.
    pub fn entry(&self, entry: Arc<Entry>) {
        self.send(Event::Entry(entry));
    }

    /// The way here for tools and jobs.
    pub fn sink(&self) -> DeltaSink {
        let feed = self.clone();
        DeltaSink::new(move |delta| feed.delta(delta))
    }

    /// Pieces of a text come from a `stream`; what is whole is cleaned here.
    pub fn delta(&self, mut delta: Delta) {
        let is_said = matches!(
            delta,
            Delta::AssistantDelta { .. } | Delta::ReasoningDelta { .. }
        );
        if self.hushed && is_said {
            return;
        }
        let clean = |text: &mut String| *text = self.redactor.text(std::mem::take(text));
        match &mut delta {
            Delta::Retry { reason: text, .. }
            | Delta::Progress { text, .. }
            | Delta::Unrecorded { message: text }
            | Delta::AskClosed {
                answer: Some(text), ..
            } => clean(text),
            Delta::Announcement { view } => clean_view(&self.redactor, view),
            Delta::Tasks { tasks } => tasks.iter_mut().for_each(|task| clean(&mut task.prompt)),
            Delta::Queue { prompts } => prompts.iter_mut().for_each(|p| clean(&mut p.text)),
            Delta::AssistantDelta { .. }
            | Delta::ReasoningDelta { .. }
            | Delta::ToolStarted { .. }
            | Delta::ToolOutput { .. }
            | Delta::Budget { .. }
            | Delta::Mode { .. }
            | Delta::AskClosed { answer: None, .. }
            | Delta::Clients(_)
            | Delta::Idle
            | Delta::OpArrived { .. }
            | Delta::OpDone { .. }
            | Delta::Jobs { .. } => {}
        }
        self.send(Event::Delta(delta));
    }

    pub fn ask(&self, ask: Arc<Ask>) {
        self.send(Event::Ask(ask));
    }

    /// Every client is shown this.
    pub fn announce(&self, view: View) {
        self.delta(Delta::Announcement {
            view: Box::new(view),
        });
    }

    /// The last reply to an op.
    pub fn reply(&self, to: &ReplyTo, command: &str, view: View) {
        self.send_reply(to, command, view, More::No);
    }

    /// A reply that others to the same op follow.
    pub fn reply_so_far(&self, to: &ReplyTo, command: &str, view: View) {
        self.send_reply(to, command, view, More::Yes);
    }

    fn send_reply(&self, to: &ReplyTo, command: &str, mut view: View, more: More) {
        clean_view(&self.redactor, &mut view);
        let reply = Arc::new(Reply {
            op: to.op.clone(),
            command: command.to_owned(),
            view,
            more: more == More::Yes,
        });
        let registered = self.register.lock();
        let Some(replies) = registered.clients.get(&to.client) else {
            return;
        };
        // A client that reads none of its replies is disconnected; its subscription ends by itself.
        let _disconnected = !replies.add(reply.clone());
        let _ = self.ring.send(Posted {
            to: Some(to.client),
            event: Event::Reply(reply),
        });
    }

    /// Tells a client that the command of its op was carried out.
    pub fn finish_op(&self, to: &ReplyTo) {
        if let Some(op) = to.op.clone() {
            let event = Event::Delta(Delta::OpDone { op });
            // No subscriber is not a fault.
            let _ = self.ring.send(Posted {
                to: Some(to.client),
                event,
            });
        }
    }

    fn send(&self, event: Event) {
        let mut registered = self.register.lock();
        registered.snapshot.follow(&event);
        if let Event::Entry(entry) = &event {
            registered.head.send_replace(Some(entry.entry));
        }
        // No subscriber is not a fault: entries are on disk, deltas may be dropped, asks are sent again on attach.
        let _ = self.ring.send(Posted { to: None, event });
    }
}

/// Takes secrets out of what a front end is to show. A deed is of texts that were cleaned when they were stored.
pub fn clean_view(redactor: &Redactor, view: &mut View) {
    let clean = |text: &mut String| *text = redactor.text(std::mem::take(text));
    view.texts_mut().into_iter().for_each(clean);
    for value in view.values_mut() {
        let cleaned = redactor.json(&value.to_string());
        if let Some(cleaned) = cleaned.and_then(|text| serde_json::from_str(&text).ok()) {
            *value = cleaned;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::backlog::Backlog;
    use futures_util::FutureExt as _;
    use ostler_store::log::Log;
    use ostler_wire::{AskKind, Body, Notice, Subscription};

    /// A session's outside: what is appended is shown.
    struct Stage {
        log: Log,
        feed: Feed,
    }

    impl Stage {
        fn new() -> Self {
            Self {
                log: Log::memory(),
                feed: Feed::default(),
            }
        }

        fn attach(&self, last: Option<u64>) -> Subscription {
            let backlog = Backlog {
                source: self.log.source(),
                register: self.feed.register().clone(),
            };
            let Attachment {
                client,
                replies,
                live,
                ..
            } = self.feed.attach();
            Subscription::of_ring(last, live, (client, replies), Arc::new(backlog)).catching_up()
        }

        fn play(&mut self, entries: usize) {
            for _ in 0..entries {
                let body = Body::Notice(Notice { text: "n".into() });
                for entry in self.log.append(vec![body]).unwrap() {
                    self.feed.entry(entry);
                }
                self.feed.delta(Delta::AssistantDelta { text: "d".into() });
            }
        }

        fn ask(&self, id: &str) {
            let ask = Arc::new(Ask {
                ask: id.into(),
                kind: AskKind::Question,
                subject: "Which?".into(),
                free_text: true,
                ..Ask::default()
            });
            self.feed.ask(ask);
        }
    }

    /// The numbers of the entries and the ids of the asks that are there to be read.
    fn seen(subscription: &mut Subscription) -> (Vec<u64>, Vec<String>) {
        let (mut entries, mut asks) = (Vec::new(), Vec::new());
        while let Some(Some(event)) = subscription.next().now_or_never() {
            match event {
                Event::Entry(entry) => entries.push(entry.entry),
                Event::Ask(ask) => asks.push(ask.ask.clone()),
                Event::Delta(_) | Event::Reply(_) => {}
            }
        }
        (entries, asks)
    }

    fn numbers(range: std::ops::Range<u64>) -> Vec<u64> {
        range.collect()
    }

    #[test]
    fn a_subscriber_that_lags_sees_every_entry_once() {
        let mut stage = Stage::new();
        let (mut slow, mut quick) = (stage.attach(None), stage.attach(None));
        let mut quick_saw = Vec::new();
        for _ in 0..30 {
            stage.play(100);
            quick_saw.extend(seen(&mut quick).0);
        }
        assert_eq!(quick_saw, numbers(0..3000));
        assert_eq!(seen(&mut slow).0, numbers(0..3000));
        stage.play(5);
        assert_eq!(
            (seen(&mut slow).0, seen(&mut quick).0),
            (numbers(3000..3005), numbers(3000..3005))
        );
    }

    #[test]
    fn a_subscriber_that_lags_while_it_reads_sees_every_entry_once() {
        let mut stage = Stage::new();
        let mut slow = stage.attach(None);
        let mut saw = Vec::new();
        for _ in 0..20 {
            stage.play(400);
            for _ in 0..37 {
                if let Some(Some(Event::Entry(entry))) = slow.next().now_or_never() {
                    saw.push(entry.entry);
                }
            }
        }
        saw.extend(seen(&mut slow).0);
        assert_eq!(saw, numbers(0..8000));
    }

    #[test]
    fn who_attaches_late_goes_on_where_they_were() {
        let mut stage = Stage::new();
        stage.play(10);
        stage.ask("a1");
        let (mut new, mut back) = (stage.attach(None), stage.attach(Some(6)));
        stage.play(2);
        let ask = vec!["a1".to_owned()];
        assert_eq!(seen(&mut new), (numbers(0..12), ask.clone()));
        assert_eq!(seen(&mut back), (numbers(7..12), ask));
    }

    #[test]
    fn an_ask_is_not_repeated_to_who_has_it() {
        let mut stage = Stage::new();
        let mut slow = stage.attach(None);
        stage.play(2000);
        stage.ask("a1");
        assert_eq!(seen(&mut slow).1, ["a1"]);
        stage.play(2000);
        assert_eq!(seen(&mut slow).1, [""; 0]);
        stage.feed.delta(Delta::AskClosed {
            ask: "a1".into(),
            by: None,
            answer: None,
        });
        stage.ask("a2");
        assert_eq!(seen(&mut slow).1, ["a2"]);
    }

    #[test]
    fn a_reply_reaches_its_client_whatever_the_ring_dropped_and_nobody_else() {
        let mut stage = Stage::new();
        let (mut mine, mut theirs) = (stage.attach(None), stage.attach(None));
        let to = ReplyTo {
            client: ClientId(1),
            op: Some("7".into()),
            ..ReplyTo::default()
        };
        let replies = |subscription: &mut Subscription| {
            let mut found = Vec::new();
            while let Some(Some(event)) = subscription.next().now_or_never() {
                if let Event::Reply(reply) = event {
                    found.push((reply.op.clone(), reply.view.clone()));
                }
            }
            found
        };
        stage.feed.reply(&to, "x", View::Text("one".into()));
        // More than the ring holds.
        stage.play(2000);
        stage.feed.reply(&to, "x", View::Text("two".into()));
        let expect = ["one", "two"].map(|text| (Some("7".to_owned()), View::Text(text.into())));
        assert_eq!(replies(&mut mine), expect);
        assert_eq!(replies(&mut mine), []);
        assert_eq!(replies(&mut theirs), []);
    }

    #[test]
    fn a_client_that_reads_no_reply_is_disconnected() {
        let stage = Stage::new();
        let (mut idle, mut other) = (stage.attach(None), stage.attach(None));
        let to = ReplyTo {
            client: ClientId(1),
            op: None,
            ..ReplyTo::default()
        };
        for _ in 0..1000 {
            stage.feed.reply(&to, "x", View::Text("again".into()));
        }
        stage.ask("a1");
        assert_eq!(idle.next().now_or_never(), Some(None));
        assert_eq!(seen(&mut other).1, ["a1"]);
    }

    #[test]
    fn a_client_that_attaches_in_the_middle_knows_how_things_stand() {
        let mut stage = Stage::new();
        stage.play(3);
        stage
            .feed
            .delta(Delta::ReasoningDelta { text: "hm".into() });
        stage.feed.delta(Delta::ToolStarted {
            id: "c1".into(),
            name: "bash".into(),
        });
        stage.feed.delta(Delta::ToolOutput {
            id: "c1".into(),
            name: "bash".into(),
            chunk: "out".into(),
        });
        stage.feed.delta(Delta::Jobs {
            running: vec!["j1".into()],
        });
        stage.ask("a1");
        let attached = stage.feed.attach();
        stage.feed.delta(Delta::AssistantDelta { text: "e".into() });
        let snapshot = attached.snapshot;
        assert_eq!(snapshot.answer, "ddd");
        assert_eq!(snapshot.reasoning, "hm");
        assert_eq!(snapshot.running[0].tail, "out");
        assert_eq!(snapshot.jobs, ["j1"]);
        assert_eq!(snapshot.asks[0].ask, "a1");
        assert_eq!(attached.live.len(), 1);
    }

    #[test]
    fn events_wait_in_a_ring_of_bounded_size() {
        let mut stage = Stage::new();
        let idle = stage.feed.attach();
        stage.play(10_000);
        assert_eq!(stage.feed.ring.len(), RING);
        drop(idle);
    }
}
