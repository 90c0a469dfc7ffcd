//! What requests share: with the one before, with those of another process, and after something changed.

use super::*;
use crate::digest::boundary;
use crate::testing::{called, model, numbered, params, prefix, result, said, tool_use};
use ostler_store::cache;
use ostler_testkit::{Captured, Kind};
use ostler_wire::{Interrupted, Message, Notice, Origin, Outcome, Replay, Settings, Stop, TurnEnd};
use proptest::prelude::*;
use serde_json::json;

fn fresh(kind: Kind, name: &str) -> Conversation {
    Conversation::new(model(kind, name), prefix(), &params(), false)
}

/// A session as the turn loop drives it, without a model or a disk.
struct Run {
    kind: Kind,
    conversation: Conversation,
    log: Vec<Entry>,
    prompts: Vec<Vec<u8>>,
    calls: usize,
}

/// What the model answers, and what becomes of it.
#[derive(Clone, Debug)]
enum Answered {
    Text(&'static str),
    Calls(usize),
    Empty,
    /// Nothing but thoughts, which counts as empty.
    Thoughts,
    Cut,
    Interrupted,
    /// The request failed; there is nothing of it in the log.
    Failed,
    /// Before the next request, all but so many bytes of the work are folded.
    Folded(usize),
}

impl Run {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            conversation: fresh(kind, "mock-model"),
            log: Vec::new(),
            prompts: Vec::new(),
            calls: 0,
        }
    }

    fn commit(&mut self, bodies: Vec<Body>) {
        let from = self.log.len();
        let all = self.log.drain(..).map(|e| e.body).chain(bodies);
        self.log = numbered(all.collect::<Vec<_>>());
        for entry in &self.log[from..] {
            self.conversation.push(entry);
        }
    }

    fn request(&mut self) -> Sent {
        let (body, sent) = self.conversation.request();
        let request = Captured::of(self.kind, serde_json::from_slice(&body.concat()).unwrap());
        request.validate().unwrap();
        self.prompts.push(request.prompt_bytes());
        sent
    }

    fn origin(&self) -> Origin {
        self.conversation.model.target().origin.clone()
    }

    fn usage(&self, sent: &Sent) -> Body {
        let Origin { provider, model } = self.origin();
        Body::Usage(Usage {
            provider,
            model,
            prompt_bytes: sent.measure.bytes,
            prompt_hash: sent.measure.hash.clone(),
            shared_bytes: sent.shared,
            broke: sent.broke.clone(),
            ..Usage::default()
        })
    }

    fn message(&self, stop: Stop, parts: Vec<Part>) -> Body {
        let thought = Part::Reasoning {
            text: "hm".into(),
            replay: Some(Replay {
                origin: self.origin(),
                data: json!({"field": "reasoning_content", "block": {"signature": "s"},
                    "item": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
                    "part": {"thoughtSignature": "s"}})
                .into(),
            }),
        };
        let text = parts.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            Part::Reasoning { .. } | Part::Call { .. } => None,
        });
        Body::Message(Message {
            role: Role::Assistant,
            text: text.collect(),
            model: Some(self.origin()),
            stop: Some(stop),
            parts: std::iter::once(thought).chain(parts).collect(),
            ..Message::user("")
        })
    }

    fn prompt(&mut self, text: &str) {
        self.commit(vec![Body::Message(Message::user(text))]);
    }

    /// Folds as the session does.
    fn fold(&mut self, keep: usize) {
        let place = boundary(&self.log, self.log.len(), keep);
        let Some(through) = place.checked_sub(1) else {
            return;
        };
        let mut compaction = Compaction {
            through: through as u64,
            digest: format!("<digest>{through}</digest>"),
            ..Compaction::default()
        };
        let bodies: Vec<Body> = self.log.drain(..).map(|e| e.body).collect();
        let with = |compaction: &Compaction| {
            let fold = Body::Compaction(compaction.clone());
            let log = numbered(bodies.iter().cloned().chain([fold]));
            let mut new = self.conversation.anew();
            new.read(&log);
            (log, new)
        };
        compaction.shared_bytes = with(&compaction).1.shared_with(&self.conversation);
        let (log, new) = with(&compaction);
        (self.log, self.conversation) = (log, new);
        // What comes now continues nothing.
        self.prompts.clear();
    }

    fn step(&mut self, answered: &Answered) {
        if let Answered::Folded(keep) = answered {
            return self.fold(*keep);
        }
        let sent = self.request();
        let usage = self.usage(&sent);
        let note = || Body::Message(Message::note("[Again.]"));
        match answered {
            Answered::Text(text) => {
                let message = self.message(Stop::End, vec![said(text)]);
                let end = Body::TurnEnd(TurnEnd {
                    outcome: Outcome::Done,
                });
                self.commit(vec![message, usage, end]);
                self.prompt("and then?");
            }
            Answered::Calls(n) => {
                let ids: Vec<String> = (0..*n)
                    .map(|i| format!("call_{}", self.calls + i))
                    .collect();
                self.calls += n;
                let mut bodies =
                    vec![self.message(Stop::Calls, ids.iter().map(|id| called(id)).collect())];
                bodies.extend(ids.iter().map(|id| tool_use(id, "x", json!({"n": id}))));
                bodies.push(usage);
                self.commit(bodies);
                for id in ids {
                    self.commit(vec![result(&id, "done")]);
                }
            }
            Answered::Empty => self.commit(vec![usage, note()]),
            Answered::Thoughts => {
                let message = self.message(Stop::End, Vec::new());
                self.commit(vec![message, usage, note()]);
            }
            Answered::Cut => {
                let message = self.message(Stop::Cut, vec![said("Half an")]);
                self.commit(vec![
                    message,
                    usage,
                    Body::Notice(Notice { text: "cut".into() }),
                    note(),
                ]);
            }
            Answered::Interrupted => {
                let message = self.message(Stop::Interrupted, vec![said("Half an")]);
                let end = Body::TurnEnd(TurnEnd {
                    outcome: Outcome::Interrupted,
                });
                self.commit(vec![
                    message,
                    Body::Interrupted(Interrupted::default()),
                    end,
                ]);
                self.prompt("go on");
            }
            Answered::Failed => self.prompt("again"),
            Answered::Folded(_) => {}
        }
    }

    /// The same log in another process.
    fn resumed(&self, name: &str) -> Conversation {
        let mut conversation = fresh(self.kind, name);
        conversation.read(&self.log);
        conversation
    }

    fn last_usage(&self) -> Option<&Usage> {
        self.log.iter().rev().find_map(|e| match &e.body {
            Body::Usage(usage) => Some(usage),
            _ => None,
        })
    }
}

fn any_step() -> impl Strategy<Value = Answered> {
    prop_oneof![
        3 => prop::sample::select(vec!["Done.", "Größe 😀"]).prop_map(Answered::Text),
        4 => (1usize..4).prop_map(Answered::Calls),
        1 => Just(Answered::Empty),
        1 => Just(Answered::Thoughts),
        1 => Just(Answered::Cut),
        1 => Just(Answered::Interrupted),
        1 => Just(Answered::Failed),
        1 => prop::sample::select(vec![0, 50, 400]).prop_map(Answered::Folded),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn fold_is_prefix_stable_and_another_process_continues_it(steps in prop::collection::vec(any_step(), 1..16)) {
        for kind in Kind::ALL {
            let mut run = Run::new(kind);
            run.prompt("hello");
            steps.iter().for_each(|step| run.step(step));
            let live = run.request();
            for pair in run.prompts.windows(2) {
                prop_assert!(pair[1].starts_with(&pair[0]), "{}: {}\n{}", kind.name(),
                    String::from_utf8_lossy(&pair[0]), String::from_utf8_lossy(&pair[1]));
            }
            prop_assert_eq!(cache::unplanned_breaks(&run.log, ostler_wire::Language::English), Vec::<String>::new());

            let mut resumed = run.resumed("mock-model");
            let (body, sent) = resumed.request();
            let request = Captured::of(kind, serde_json::from_slice(&body.concat()).unwrap());
            prop_assert_eq!(&request.prompt_bytes(), run.prompts.last().unwrap());
            prop_assert_eq!(&sent.broke, &live.broke);
            if live.broke.is_none() {
                prop_assert_eq!(sent.shared, run.last_usage().map_or(0, |u| u.prompt_bytes));
            }
        }
    }
}

#[test]
fn a_request_records_what_it_shares_with_the_one_before() {
    let mut run = Run::new(Kind::Messages);
    run.prompt("hello");
    run.step(&Answered::Calls(2));
    run.step(&Answered::Text("Done."));
    let third = run.request();
    let usages: Vec<&Usage> = run
        .log
        .iter()
        .filter_map(|e| match &e.body {
            Body::Usage(usage) => Some(usage),
            _ => None,
        })
        .collect();
    assert_eq!(usages[0].shared_bytes, 0);
    assert_eq!(usages[1].shared_bytes, usages[0].prompt_bytes);
    assert_eq!(third.shared, usages[1].prompt_bytes);
    assert!(third.measure.bytes > usages[1].prompt_bytes);
}

fn switched(old: &Run, name: &str) -> Conversation {
    let mut new = fresh(old.kind, name);
    new.read(&old.log);
    new.replaces(&old.conversation, "model");
    new
}

#[test]
fn a_model_switch_is_one_break() {
    for kind in Kind::ALL {
        let mut run = Run::new(kind);
        run.prompt("hello");
        run.step(&Answered::Calls(1));
        run.step(&Answered::Text("Done."));
        let lost = run.last_usage().unwrap().prompt_bytes / 4;
        run.conversation = switched(&run, "another");
        run.step(&Answered::Calls(1));
        let broke = run.last_usage().unwrap().broke.clone().unwrap();
        assert_eq!(
            (broke.cause.as_str(), broke.at, broke.lost_tokens),
            ("model", 0, lost)
        );
        run.step(&Answered::Text("Done."));
        assert_eq!(run.last_usage().unwrap().broke, None);
        assert_eq!(
            cache::unplanned_breaks(&run.log, ostler_wire::Language::English),
            Vec::<String>::new()
        );

        // Resumed with the second model all is shared; with the first, what it had seen itself.
        let (_, sent) = run.resumed("another").request();
        assert_eq!(
            (sent.broke, sent.shared),
            (None, run.last_usage().unwrap().prompt_bytes)
        );
        let (_, sent) = run.resumed("mock-model").request();
        assert_eq!(sent.broke.map(|b| b.cause).as_deref(), Some("model"));
        assert_eq!(sent.shared / 4, lost);
    }
}

#[test]
fn a_switch_there_and_back_or_before_any_request_breaks_nothing() {
    let mut run = Run::new(Kind::Chat);
    run.conversation = switched(&run, "another");
    run.prompt("hello");
    run.step(&Answered::Text("Done."));
    assert_eq!(run.last_usage().unwrap().broke, None);
    run.conversation = switched(&run, "mock-model");
    run.conversation = switched(&run, "another");
    let sent = run.request();
    assert_eq!(
        (sent.broke, sent.shared),
        (None, run.last_usage().unwrap().prompt_bytes)
    );
}

#[test]
fn a_changed_rendering_is_a_break_where_it_changed() {
    let mut run = Run::new(Kind::Responses);
    run.prompt("hello");
    run.step(&Answered::Calls(1));
    run.step(&Answered::Calls(1));
    run.step(&Answered::Calls(1));
    let requests = cache::requests(&run.log);
    // The second call's result reads differently now.
    let changed = run
        .log
        .iter_mut()
        .filter(|e| matches!(e.body, Body::ToolResult(_)))
        .nth(1)
        .unwrap();
    changed.body = result("call_1", "rendered in another way");
    let changed = changed.entry;
    let (_, sent) = run.resumed("mock-model").request();
    let broke = sent.broke.unwrap();
    // Up to the second request, which came before that result, it is all the same.
    assert_eq!(
        (broke.cause.as_str(), broke.at),
        ("rendering", requests[1].prompt_bytes)
    );
    assert_eq!(sent.shared, requests[1].prompt_bytes);
    assert_eq!(broke.owner, format!("entry {changed}"));
}

#[test]
fn a_changed_prefix_breaks_at_the_start() {
    let mut run = Run::new(Kind::Gemini);
    run.prompt("hello");
    run.step(&Answered::Text("Done."));
    let other = Prefix {
        system: "Be long.".into(),
        ..prefix()
    };
    let mut resumed = Conversation::new(model(Kind::Gemini, "mock-model"), other, &params(), false);
    resumed.read(&run.log);
    let (_, sent) = resumed.request();
    let broke = sent.broke.unwrap();
    assert_eq!(
        (broke.at, broke.owner.as_str(), sent.shared),
        (0, "prefix", 0)
    );
}

#[test]
fn settings_and_notices_change_nothing_in_the_prompt() {
    let mut run = Run::new(Kind::Chat);
    run.prompt("hello");
    run.step(&Answered::Text("Done."));
    let before = run.conversation.bytes();
    run.commit(vec![
        Body::Settings(Settings {
            title: Some("t".into()),
            ..Settings::default()
        }),
        Body::Notice(Notice { text: "n".into() }),
    ]);
    assert_eq!(run.conversation.bytes(), before);
}

#[test]
fn an_answer_is_empty_until_it_says_or_calls_something() {
    let check = |parts: Vec<Part>, expect: bool| {
        let mut run = Run::new(Kind::Chat);
        run.prompt("hello");
        run.request();
        assert!(run.conversation.last_answer_is_empty());
        let message = run.message(Stop::End, parts);
        run.commit(vec![message]);
        assert_eq!(run.conversation.last_answer_is_empty(), expect);
    };
    check(vec![], true);
    check(vec![said(" \n")], true);
    check(vec![said("Done.")], false);
    check(vec![called("a")], false);
}

#[test]
fn calls_without_results_are_named_until_they_have_one() {
    let mut run = Run::new(Kind::Chat);
    run.prompt("hello");
    run.request();
    let message = run.message(Stop::Calls, vec![called("a"), called("b")]);
    run.commit(vec![
        message,
        tool_use("a", "x", json!({})),
        tool_use("b", "x", json!({})),
    ]);
    assert_eq!(run.conversation.dangling(), ["a", "b"]);
    run.commit(vec![result("b", "r")]);
    assert_eq!(run.conversation.dangling(), ["a"]);
    run.commit(vec![result("a", "r")]);
    assert_eq!(run.conversation.dangling(), [""; 0]);
}
