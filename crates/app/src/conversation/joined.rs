//! A prompt for a session that another process runs: it waits there for its turn, and only that turn is shown.

use super::{Err, Out};
use crate::boot::Boot;
use crate::print::Printer;
use anyhow::Context as _;
use ostler_host::signals::{Signals, Stop};
use ostler_wire::{Body, Client, Delta, Event, Language, Op, OpLine, View, Word};
use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

/// What came of waiting for the turn of a prompt.
pub enum Began {
    /// The turn begins with this event.
    Turn(Box<Event>),
    Stopped(Stop),
}

/// Sends a prompt and waits until its turn begins.
pub async fn begin(
    client: &mut Client,
    printer: &mut Printer<Out, Err>,
    signals: &mut Signals,
    prompt: Op,
    language: Language,
) -> anyhow::Result<Began> {
    let id = new_id();
    let line = OpLine {
        id: Some(id.clone()),
        again: false,
        op: prompt,
    };
    let sent = client.ops.send_line(line).await;
    sent.context(language.say(Word::SessionEnded))?;
    loop {
        let event = tokio::select! {
            event = client.events.next() => event,
            stop = signals.next() => return Ok(Began::Stopped(stop)),
        };
        match event {
            None => anyhow::bail!(language.say(Word::EndedBadly)),
            Some(Event::Entry(entry)) if is_prompt(&entry.body, &id) => {
                return Ok(Began::Turn(Box::new(Event::Entry(entry))));
            }
            Some(Event::Reply(reply)) if reply.op.as_ref() == Some(&id) => {
                if let View::Error(why) = &reply.view {
                    anyhow::bail!(why.clone());
                }
            }
            Some(Event::Delta(Delta::Announcement { view })) => {
                if let View::Text(text) = *view {
                    printer.remark(&text)?;
                    printer.flush()?;
                }
            }
            Some(Event::Entry(_) | Event::Delta(_) | Event::Ask(_) | Event::Reply(_)) => {}
        }
    }
}

fn is_prompt(body: &Body, id: &str) -> bool {
    matches!(body, Body::Message(message) if message.op.as_deref() == Some(id))
}

/// An id for an op that no other client uses.
pub fn new_id() -> String {
    let random = RandomState::new().hash_one(std::process::id());
    format!("exec-{random:016x}")
}

/// The ops of a client whose outcome is still to come.
#[derive(Default)]
pub struct Outstanding {
    ids: HashSet<String>,
    /// A turn that one of them began is under way.
    pub is_running: bool,
}

impl Outstanding {
    /// Gives an op an id, if it has none, and remembers those that have an outcome.
    pub fn send(&mut self, line: OpLine) -> OpLine {
        let has_outcome = match &line.op {
            Op::Prompt { .. } | Op::Say { .. } | Op::Command { .. } | Op::Complete(_) => true,
            Op::Answer { .. } | Op::Interrupt | Op::Close | Op::Finish => false,
        };
        let id = line.id.unwrap_or_else(new_id);
        if has_outcome {
            self.ids.insert(id.clone());
        }
        OpLine {
            id: Some(id),
            ..line
        }
    }

    /// What an event says about them.
    pub fn follow(&mut self, event: &Event) {
        match event {
            Event::Entry(entry) => {
                if let Body::Message(message) = &entry.body {
                    let is_own = message.op.as_ref().is_some_and(|op| self.ids.remove(op));
                    self.is_running |= is_own;
                } else if let Body::TurnEnd(_) = &entry.body {
                    self.is_running = false;
                }
            }
            Event::Reply(reply) if !reply.more => {
                if let Some(op) = &reply.op {
                    self.ids.remove(op);
                }
            }
            Event::Delta(Delta::OpDone { op }) => {
                self.ids.remove(op);
            }
            Event::Delta(Delta::Idle) => self.is_running = false,
            Event::Delta(_) | Event::Ask(_) | Event::Reply(_) => {}
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && !self.is_running
    }
}

/// Flags that say how a session works. They have no effect on one that another process runs.
pub fn idle_flags(boot: &Boot) -> Vec<&'static str> {
    let global = &boot.global;
    let given = [
        ("--model", global.model.is_some()),
        ("--provider", global.provider.is_some()),
        ("--backend", global.backend.is_some()),
        ("--effort", global.effort.is_some()),
        ("--system-prompt", global.system_prompt.is_some()),
        ("--mode", global.mode.is_some()),
        ("--permission-mode", global.permission_mode.is_some()),
        ("--yolo", global.yolo),
        ("--allowed-tools", !global.allowed_tools.is_empty()),
        ("--allow", !global.allow.is_empty()),
        ("--no-sandbox", global.no_sandbox),
        ("--require-mcp", global.require_mcp),
        ("--max-steps", global.max_steps.is_some()),
        ("--budget", global.budget.is_some()),
        ("--config", global.config.is_some()),
        ("--add-dir", !global.add_dir.is_empty()),
    ];
    let given = given.into_iter().filter(|(_, is_given)| *is_given);
    given.map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::{Entry, Message, Outcome, Reply, TurnEnd};
    use std::sync::Arc;

    fn entry(body: Body) -> Event {
        Event::Entry(Arc::new(Entry {
            entry: 0,
            parent: None,
            ts: String::new(),
            body,
        }))
    }

    fn said(op: &str) -> Event {
        entry(Body::Message(Message {
            op: Some(op.into()),
            ..Message::user("words")
        }))
    }

    #[test]
    fn a_client_is_through_when_each_of_its_ops_has_an_outcome() {
        let mut own = Outstanding::default();
        let command = |line: &str| OpLine::from(Op::Command { line: line.into() });
        let first = own.send(command("one")).id.unwrap();
        let second = own.send(command("two")).id.unwrap();
        own.send(Op::Interrupt.into());
        assert_ne!(first, second);
        // The turn of another client is not waited for.
        own.follow(&said("of another"));
        assert!(!own.is_running);
        own.follow(&said(&first));
        assert!(own.is_running);
        own.follow(&entry(Body::TurnEnd(TurnEnd {
            outcome: Outcome::Done,
        })));
        assert!(!own.is_empty() && !own.is_running);
        let reply = |more: bool| {
            Event::Reply(Arc::new(Reply {
                op: Some(second.clone()),
                command: String::new(),
                view: View::Text(String::new()),
                more,
            }))
        };
        own.follow(&reply(true));
        assert!(!own.is_empty());
        own.follow(&reply(false));
        assert!(own.is_empty());
    }
}
