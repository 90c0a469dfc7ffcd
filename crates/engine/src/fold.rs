//! From the log to messages: one total function, fed entry by entry, that always leaves a valid conversation.
//! It is the only place that repairs histories.

use crate::tools;
use ostler_llm::{AnswerPart, CallResult, Msg};
use ostler_wire::{Body, Message, Origin, Part, Replay, Role, ToolResult, ToolUse};

const INTERRUPTED_RESULT: &str =
    "Interrupted: this call has no result. It may or may not have run.";
const INTERRUPTED_NOTE: &str = "[The person interrupted the work here.]";
const LOST_START: &str = "[The start of this conversation is lost.]";

/// Turns entries into messages for one origin. Messages come out as soon as nothing can be added to them.
pub struct Fold {
    origin: Origin,
    envelope: bool,
    /// An answer whose `tool_use` lines may still follow.
    answer: Option<Vec<AnswerPart>>,
    /// Calls of the last answer, in order, with their results so far.
    calls: Vec<(ToolUse, Option<CallResult>)>,
    started: bool,
}

impl Fold {
    pub fn new(origin: Origin, envelope: bool) -> Self {
        Self {
            origin,
            envelope,
            answer: None,
            calls: Vec::new(),
            started: false,
        }
    }

    pub fn push(&mut self, body: &Body, out: &mut Vec<Msg>) {
        match body {
            Body::Message(message) => {
                self.close(out);
                self.message(message, out);
            }
            Body::ToolUse(call) => self.call(call, out),
            Body::ToolResult(result) => {
                self.end_answer(out);
                self.result(result, out);
            }
            Body::Interrupted(_) => {
                self.close(out);
                self.emit(user(INTERRUPTED_NOTE), out);
            }
            Body::Meta(_)
            | Body::Usage(_)
            | Body::Settings(_)
            | Body::Mode(_)
            | Body::Approval(_)
            | Body::Todo(_)
            | Body::Notice(_)
            | Body::Error(_)
            | Body::TurnEnd(_) => {}
        }
    }

    /// Ends what is open, as a request must: a call without a result gets one that says so.
    pub fn close(&mut self, out: &mut Vec<Msg>) {
        self.end_answer(out);
        if self.calls.is_empty() {
            return;
        }
        let results = std::mem::take(&mut self.calls)
            .into_iter()
            .map(|(call, result)| {
                result.unwrap_or_else(|| CallResult {
                    id: call.id,
                    name: call.name,
                    text: INTERRUPTED_RESULT.into(),
                    images: Vec::new(),
                    ok: false,
                })
            })
            .collect();
        self.emit(Msg::Results { results }, out);
    }

    /// Calls that have no result yet.
    pub fn dangling(&self) -> impl Iterator<Item = &str> {
        self.calls
            .iter()
            .filter(|(_, result)| result.is_none())
            .map(|(call, _)| call.id.as_str())
    }

    fn message(&mut self, message: &Message, out: &mut Vec<Msg>) {
        match message.role {
            Role::User => {
                let text = match &message.context {
                    Some(context) => format!("{context}\n\n{}", message.text),
                    None => message.text.clone(),
                };
                let images = message.images.clone();
                if !text.is_empty() || !images.is_empty() {
                    self.emit(Msg::User { text, images }, out);
                }
            }
            Role::System => self.emit(user(&message.text), out),
            Role::Assistant if message.parts.is_empty() => {
                self.answer = Some(vec![AnswerPart::Text {
                    text: message.text.clone(),
                    replay: None,
                }]);
            }
            Role::Assistant => {
                self.answer = Some(message.parts.iter().map(|p| self.part(p)).collect());
            }
        }
    }

    fn part(&self, part: &Part) -> AnswerPart {
        let own = |replay: &Option<Replay>| {
            replay
                .as_ref()
                .filter(|r| r.origin == self.origin)
                .map(|r| r.data.clone())
        };
        match part {
            Part::Reasoning { text, replay } => AnswerPart::Reasoning {
                text: text.clone(),
                replay: own(replay),
            },
            Part::Text { text, replay } => AnswerPart::Text {
                text: text.clone(),
                replay: own(replay),
            },
            // Its `tool_use` line fills this in; a call whose line was lost is taken out again.
            Part::Call { id, replay } => AnswerPart::Call {
                id: id.clone(),
                name: String::new(),
                arguments: String::new(),
                replay: own(replay),
            },
        }
    }

    fn call(&mut self, call: &ToolUse, out: &mut Vec<Msg>) {
        if self.answer.is_none() {
            self.close(out);
        }
        let answer = self.answer.get_or_insert_default();
        if self.calls.iter().any(|(known, _)| known.id == call.id) {
            return;
        }
        let slot = answer.iter_mut().find_map(|part| match part {
            AnswerPart::Call {
                id,
                name,
                arguments,
                ..
            } if *id == call.id && name.is_empty() => Some((name, arguments)),
            AnswerPart::Call { .. } | AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } => {
                None
            }
        });
        match slot {
            Some((name, arguments)) => {
                *name = call.name.clone();
                *arguments = call.input.get().to_owned();
            }
            None => answer.push(AnswerPart::Call {
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: call.input.get().to_owned(),
                replay: None,
            }),
        }
        self.calls.push((call.clone(), None));
    }

    fn end_answer(&mut self, out: &mut Vec<Msg>) {
        let Some(mut parts) = self.answer.take() else {
            return;
        };
        parts.retain(|part| match part {
            AnswerPart::Call { name, .. } => !name.is_empty(),
            AnswerPart::Text { text, replay } | AnswerPart::Reasoning { text, replay } => {
                !text.is_empty() || replay.is_some()
            }
        });
        // Results go out in the order of the calls in the answer.
        let order: Vec<&str> = parts
            .iter()
            .filter_map(|part| match part {
                AnswerPart::Call { id, .. } => Some(id.as_str()),
                AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } => None,
            })
            .collect();
        self.calls
            .sort_by_key(|(call, _)| order.iter().position(|id| *id == call.id));
        if !parts.is_empty() {
            self.emit(Msg::Assistant { parts }, out);
        }
    }

    fn result(&mut self, result: &ToolResult, out: &mut Vec<Msg>) {
        let envelope = self.envelope;
        let Some((call, slot)) = self
            .calls
            .iter_mut()
            .find(|(call, slot)| call.id == result.tool_use_id && slot.is_none())
        else {
            return;
        };
        let rendered = tools::render(&call.name, &result.output, envelope);
        *slot = Some(CallResult {
            id: call.id.clone(),
            name: call.name.clone(),
            text: rendered.text,
            images: rendered.images,
            ok: result.ok,
        });
        if self.calls.iter().all(|(_, result)| result.is_some()) {
            self.close(out);
        }
    }

    fn emit(&mut self, message: Msg, out: &mut Vec<Msg>) {
        // Every protocol wants a conversation to open with the person.
        if !self.started && !matches!(message, Msg::User { .. }) {
            out.push(user(LOST_START));
        }
        self.started = true;
        out.push(message);
    }
}

fn user(text: &str) -> Msg {
    Msg::User {
        text: text.to_owned(),
        images: Vec::new(),
    }
}
