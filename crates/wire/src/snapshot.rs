//! How a session stands: what a client that attaches in the middle needs to draw what the others see.

use crate::{Ask, Clients, CommandInfo, Delta, Entry, Mode, QueuedPrompt, Task};
use crate::{Body, Event, HERE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes of the output of a running call that are kept.
const MAX_TAIL: usize = 8 * 1024;
/// Running calls that are kept; an answer has fewer.
const MAX_RUNNING: usize = 64;

// tidy: plain data
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// `provider/model` that answers.
    pub model: String,
    pub mode: Mode,
    /// Where commands run, for people; none where that is the machine of the session as always.
    #[serde(default)]
    pub place: Option<String>,
    /// Tokens that the model can take; 0 = unknown.
    pub window: u64,
    /// What may follow a slash.
    pub commands: Vec<CommandInfo>,
    pub tasks: Vec<Task>,
    /// Background jobs, by id.
    pub jobs: Vec<String>,
    /// Per cent of the budget that is used most.
    pub budget: Option<u64>,
    pub asks: Vec<Arc<Ask>>,
    /// The answer so far, of a request that is under way.
    pub answer: String,
    pub reasoning: String,
    pub running: Vec<RunningCall>,
    pub retry: Option<RetryWait>,
    pub queue: Vec<QueuedPrompt>,
    /// A turn is under way.
    pub working: bool,
    /// The entry that began the last turn.
    #[serde(default)]
    pub turn: Option<u64>,
    #[serde(default)]
    pub clients: Clients,
}

/// A call that runs, with the end of what it has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunningCall {
    pub id: String,
    pub name: String,
    pub tail: String,
}

/// A request that is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetryWait {
    pub after_ms: u64,
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "crate::event::is_zero")]
    pub of: u32,
    pub reason: String,
}

impl Snapshot {
    /// Takes in what every client is shown. Its cost does not grow with the session.
    pub fn follow(&mut self, event: &Event) {
        match event {
            Event::Entry(entry) => self.follow_entry(entry),
            Event::Delta(delta) => self.follow_delta(delta),
            Event::Ask(ask) => {
                self.asks.retain(|known| known.ask != ask.ask);
                self.asks.push(ask.clone());
            }
            Event::Reply(_) => {}
        }
    }

    fn follow_entry(&mut self, entry: &Entry) {
        let body = &entry.body;
        if body.answer().is_some() {
            self.forget_partial();
        } else if body.prompt().is_some() {
            // A prompt that steers belongs to the turn that runs.
            if !self.working {
                self.turn = Some(entry.entry);
            }
            self.working = true;
        } else if let Body::ToolResult(result) = body {
            self.running.retain(|call| call.id != result.tool_use_id);
        } else if let Body::Mode(mode) = body {
            self.mode.clone_from(mode);
        } else if let Body::Settings(settings) = body {
            if let Some(model) = &settings.model {
                self.model.clone_from(model);
            }
            if let Some(host) = &settings.host {
                self.place = Some(host.clone()).filter(|host| host != HERE);
            }
        } else if let Body::Interrupted(_) | Body::Error(_) = body {
            self.forget_partial();
        } else if let Body::TurnEnd(_) = body {
            self.forget_partial();
            self.running.clear();
            self.working = false;
        }
    }

    fn follow_delta(&mut self, delta: &Delta) {
        match delta {
            Delta::AssistantDelta { text } => {
                self.retry = None;
                self.answer.push_str(text);
            }
            Delta::ReasoningDelta { text } => {
                self.retry = None;
                self.reasoning.push_str(text);
            }
            Delta::ToolStarted { id, name } => {
                if self.running.len() < MAX_RUNNING {
                    self.running.push(RunningCall {
                        id: id.clone(),
                        name: name.clone(),
                        tail: String::new(),
                    });
                }
            }
            Delta::ToolOutput { id, chunk, .. } => {
                if let Some(call) = self.running.iter_mut().find(|call| call.id == *id) {
                    call.tail.push_str(chunk);
                    keep_tail(&mut call.tail);
                }
            }
            Delta::Retry {
                after_ms,
                attempt,
                of,
                reason,
            } => {
                self.retry = Some(RetryWait {
                    after_ms: *after_ms,
                    attempt: *attempt,
                    of: *of,
                    reason: reason.clone(),
                });
            }
            Delta::Unrecorded { .. } | Delta::Idle => {
                self.forget_partial();
                self.running.clear();
                self.working = false;
            }
            Delta::Mode { mode } => self.mode.clone_from(&**mode),
            Delta::Budget { percent } => self.budget = Some(*percent),
            Delta::AskClosed { ask, .. } => self.asks.retain(|known| known.ask != *ask),
            Delta::Clients(clients) => self.clients.clone_from(clients),
            Delta::Queue { prompts } => self.queue.clone_from(prompts),
            Delta::Tasks { tasks } => self.tasks.clone_from(tasks),
            Delta::Jobs { running } => self.jobs.clone_from(running),
            Delta::Progress { .. }
            | Delta::Announcement { .. }
            | Delta::OpArrived { .. }
            | Delta::OpDone { .. } => {}
        }
    }

    /// What a client that has all entries up to the snapshot has to be told to stand where the others do. Asks are sent
    /// separately.
    pub fn to_deltas(&self) -> Vec<Delta> {
        let mut deltas = Vec::new();
        let texts = [&self.reasoning, &self.answer].map(|text| Some(text.clone()));
        let [reasoning, answer] = texts.map(|text| text.filter(|text| !text.is_empty()));
        deltas.extend(reasoning.map(|text| Delta::ReasoningDelta { text }));
        deltas.extend(answer.map(|text| Delta::AssistantDelta { text }));
        for call in &self.running {
            let (id, name) = (call.id.clone(), call.name.clone());
            deltas.push(Delta::ToolStarted {
                id: id.clone(),
                name: name.clone(),
            });
            if !call.tail.is_empty() {
                let chunk = call.tail.clone();
                deltas.push(Delta::ToolOutput { id, name, chunk });
            }
        }
        deltas.extend(self.retry.as_ref().map(|retry| Delta::Retry {
            after_ms: retry.after_ms,
            attempt: retry.attempt,
            of: retry.of,
            reason: retry.reason.clone(),
        }));
        let (tasks, running) = (self.tasks.clone(), self.jobs.clone());
        let prompts = self.queue.clone();
        deltas.extend((!tasks.is_empty()).then_some(Delta::Tasks { tasks }));
        deltas.extend((!running.is_empty()).then_some(Delta::Jobs { running }));
        deltas.extend((!prompts.is_empty()).then_some(Delta::Queue { prompts }));
        deltas.extend(self.budget.map(|percent| Delta::Budget { percent }));
        deltas.push(Delta::Clients(self.clients.clone()));
        deltas
    }

    fn forget_partial(&mut self) {
        self.answer.clear();
        self.reasoning.clear();
        self.retry = None;
    }
}

/// Cuts the front off in steps, so that a chatty call does not move its tail for each piece.
fn keep_tail(tail: &mut String) {
    if tail.len() <= 2 * MAX_TAIL {
        return;
    }
    let mut start = tail.len() - MAX_TAIL;
    while !tail.is_char_boundary(start) {
        start += 1;
    }
    tail.drain(..start);
}
