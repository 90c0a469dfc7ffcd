//! The session's outgoing events: one bounded ring that every subscriber reads at its own pace.

use crate::redact::{Redactor, Stream};
use ostler_wire::{Ask, Delta, Entry, Event, View};
use std::sync::Arc;
use tokio::sync::broadcast;

/// Events a subscriber may lag behind before it has to catch up from the log.
const RING: usize = 1024;

#[derive(Clone)]
pub struct Feed {
    ring: broadcast::Sender<Event>,
    redactor: Redactor,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            ring: broadcast::Sender::new(RING),
            redactor: Redactor::default(),
        }
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

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// For text that is shown in pieces.
    pub fn stream(&self) -> Stream {
        self.redactor.stream()
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.ring.subscribe()
    }

    /// An entry that is on disk.
    pub fn entry(&self, entry: Arc<Entry>) {
        self.send(Event::Entry(entry));
    }

    /// Pieces of a text come from a `stream`; what is whole is cleaned here.
    pub fn delta(&self, mut delta: Delta) {
        let clean = |text: &mut String| *text = self.redactor.text(std::mem::take(text));
        match &mut delta {
            Delta::Retry { reason: text, .. }
            | Delta::Progress { text, .. }
            | Delta::Unrecorded { message: text }
            | Delta::View {
                view: View::Text(text) | View::Error(text) | View::Diff(text),
                ..
            } => clean(text),
            Delta::View {
                view: View::Table { rows, .. },
                ..
            } => rows.iter_mut().flatten().for_each(clean),
            Delta::View {
                view: View::List(list),
                ..
            } => {
                clean(&mut list.title);
                clean(&mut list.empty);
                for item in &mut list.items {
                    clean(&mut item.label);
                    clean(&mut item.detail);
                }
            }
            Delta::Tasks { tasks } => tasks.iter_mut().for_each(|task| clean(&mut task.prompt)),
            // A deed is of texts that were cleaned when they were stored.
            Delta::View {
                view: View::Do(_), ..
            }
            | Delta::AssistantDelta { .. }
            | Delta::ReasoningDelta { .. }
            | Delta::ToolStarted { .. }
            | Delta::ToolOutput { .. }
            | Delta::Budget { .. }
            | Delta::Standing { .. } => {}
        }
        self.send(Event::Delta(delta));
    }

    pub fn ask(&self, ask: Arc<Ask>) {
        self.send(Event::Ask(ask));
    }

    fn send(&self, event: Event) {
        // No subscriber is not a fault: entries are on disk, deltas may be dropped, asks are sent again on attach.
        let _ = self.ring.send(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asks::Pending;
    use crate::log::{Backlog, Log};
    use ostler_wire::{AskKind, Body, Notice, Subscription};

    /// A session's outside: what is appended is shown.
    struct Stage {
        log: Log,
        feed: Feed,
        asks: Pending,
    }

    impl Stage {
        fn new() -> Self {
            Self {
                log: Log::memory(),
                feed: Feed::default(),
                asks: Pending::default(),
            }
        }

        fn attach(&self, last: Option<u64>) -> Subscription {
            let backlog = Backlog {
                source: self.log.source(),
                asks: self.asks.clone(),
            };
            Subscription::after(last, self.feed.subscribe(), Arc::new(backlog))
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
            self.asks.add(ask.clone());
            self.feed.ask(ask);
        }
    }

    /// The numbers of the entries and the ids of the asks that are there to be read.
    fn seen(subscription: &mut Subscription) -> (Vec<u64>, Vec<String>) {
        let (mut entries, mut asks) = (Vec::new(), Vec::new());
        while let Some(event) = subscription.try_next() {
            match event {
                Event::Entry(entry) => entries.push(entry.entry),
                Event::Ask(ask) => asks.push(ask.ask.clone()),
                Event::Delta(_) => {}
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
                if let Some(Event::Entry(entry)) = slow.try_next() {
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
        stage.asks.remove("a1");
        stage.ask("a2");
        assert_eq!(seen(&mut slow).1, ["a2"]);
    }

    #[test]
    fn events_wait_in_a_ring_of_bounded_size() {
        let mut stage = Stage::new();
        let idle = stage.feed.subscribe();
        stage.play(10_000);
        assert_eq!(stage.feed.ring.len(), RING);
        drop(idle);
    }
}
