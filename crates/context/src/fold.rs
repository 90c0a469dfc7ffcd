//! From the log to messages: one total function, fed entry by entry, that always leaves a valid conversation.
//! It is the only place that repairs histories. What of a folded past it is given, the compactions decide.

use ostler_llm::{AnswerPart, CallResult, Msg};
use ostler_tools::builtin::{self as tools, tool_search};
use ostler_wire::{
    Body, Caller, Image, Message, Origin, Part, Replay, Rewound, Role, ToolResult, ToolUse,
};
use std::collections::{HashMap, HashSet};

#[cfg(test)]
mod tests;

const INTERRUPTED_RESULT: &str =
    "Interrupted: this call has no result. It may or may not have run.";
const INTERRUPTED_NOTE: &str = "[The person interrupted the work here.]";
const CODE_REWOUND: &str = "[The person put files back to what they were at another moment. Read a file again before you rely on it.]";
const CONVERSATION_REWOUND: &str = "[The person took the conversation to this point. Files were left as they are and may differ from what is said above.]";
const LOST_START: &str = "[The start of this conversation is lost.]";
/// Stands where the person's turn is missing between two answers, or after the last one.
const GO_ON: &str = "[Go on.]";
/// The longest name of a call that every vendor takes.
const MAX_NAME: usize = 64;
/// The longest call id that every vendor takes from another one.
const MAX_ID: usize = 40;

/// Turns entries into messages for one origin. Messages come out as soon as nothing can be added to them.
pub struct Fold {
    origin: Origin,
    envelope: bool,
    replays: Replays,
    /// An answer whose `tool_use` lines may still follow.
    answer: Option<Answer>,
    /// Calls of the last answer, in order.
    calls: Vec<Call>,
    /// Ids that calls went out under.
    ids: HashSet<String>,
    /// Calls that were not the model's and have no result yet.
    others: HashMap<String, ToolUse>,
    last: Last,
}

#[derive(Default)]
struct Answer {
    parts: Vec<AnswerPart>,
    /// It came from the model that the messages are for.
    own: bool,
}

struct Call {
    /// As the log knows it.
    id: String,
    /// The tool that ran.
    tool: String,
    /// As the model is told.
    name: String,
    sent_id: String,
    result: Option<CallResult>,
}

/// What only the model itself can read of its earlier answers: whether there is any, or none is to be sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replays {
    None,
    Some,
    Off,
}

/// Who had the last word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nobody,
    Person,
    Model,
}

impl Fold {
    pub fn new(origin: Origin, envelope: bool) -> Self {
        Self {
            origin,
            envelope,
            replays: Replays::None,
            answer: None,
            calls: Vec::new(),
            ids: HashSet::new(),
            others: HashMap::new(),
            last: Last::Nobody,
        }
    }

    /// An empty one that goes by the same.
    pub fn anew(&self) -> Self {
        let replays = match self.replays {
            Replays::Off => Replays::Off,
            Replays::None | Replays::Some => Replays::None,
        };
        Self {
            replays,
            ..Self::new(self.origin.clone(), self.envelope)
        }
    }

    /// The same, but nothing that only the model can read is given back to it. None if there was nothing of the kind.
    pub fn without_replays(&self) -> Option<Self> {
        (self.replays == Replays::Some).then(|| Self {
            replays: Replays::Off,
            ..Self::new(self.origin.clone(), self.envelope)
        })
    }

    pub fn push(&mut self, body: &Body, out: &mut Vec<Msg>) {
        match body {
            Body::Message(message) => {
                self.close(out);
                self.message(message, out);
            }
            Body::ToolUse(call) if call.by.is_some() => {
                self.others.insert(call.id.clone(), call.clone());
            }
            Body::ToolUse(call) => self.call(call, out),
            Body::ToolResult(result) => match self.others.remove(&result.tool_use_id) {
                Some(call) => self.other(&call, result, out),
                None => {
                    self.end_answer(out);
                    self.result(result, out);
                }
            },
            Body::Interrupted(_) => {
                self.close(out);
                self.say(INTERRUPTED_NOTE.into(), Vec::new(), out);
            }
            Body::Rewind(rewind) => {
                let note = match rewind.what {
                    Rewound::Code => CODE_REWOUND,
                    Rewound::Conversation => CONVERSATION_REWOUND,
                    // What was said and what is there fit together.
                    Rewound::Both => return,
                };
                self.close(out);
                self.say(note.into(), Vec::new(), out);
            }
            Body::Meta(_)
            | Body::Usage(_)
            | Body::Settings(_)
            | Body::Mode(_)
            | Body::Approval(_)
            | Body::Todo(_)
            | Body::Child(_)
            | Body::Notice(_)
            | Body::Error(_)
            | Body::TurnEnd(_)
            | Body::Compaction(_)
            | Body::Checkpoint(_) => {}
        }
    }

    /// What a folded past still says comes before everything else.
    pub fn kept(&mut self, text: String, images: Vec<Image>, out: &mut Vec<Msg>) {
        self.say(text, images, out);
    }

    /// Ends what is open, as a request must: a call without a result gets one that says so, and the model is not last.
    pub fn ready(&mut self, out: &mut Vec<Msg>) {
        self.close(out);
        self.hand_over(out);
    }

    /// Calls that have no result yet.
    pub fn dangling(&self) -> impl Iterator<Item = &str> {
        self.calls
            .iter()
            .filter(|call| call.result.is_none())
            .map(|call| call.id.as_str())
    }

    /// Whether an answer or its results are still being gathered.
    pub fn is_open(&self) -> bool {
        self.answer.is_some() || !self.calls.is_empty()
    }

    fn close(&mut self, out: &mut Vec<Msg>) {
        self.end_answer(out);
        if self.calls.is_empty() {
            return;
        }
        let results = std::mem::take(&mut self.calls)
            .into_iter()
            .map(|call| {
                call.result.unwrap_or_else(|| CallResult {
                    id: call.sent_id,
                    name: call.name,
                    text: INTERRUPTED_RESULT.into(),
                    images: Vec::new(),
                    ok: false,
                })
            })
            .collect();
        self.last = Last::Person;
        out.push(Msg::Results { results });
    }

    fn message(&mut self, message: &Message, out: &mut Vec<Msg>) {
        match message.role {
            Role::User => {
                let text = match &message.context {
                    Some(context) => format!("{context}\n\n{}", message.text),
                    None => message.text.clone(),
                };
                self.say(text, message.images.clone(), out);
            }
            Role::System => self.say(message.text.clone(), Vec::new(), out),
            Role::Assistant => {
                let parts = match message.parts.as_slice() {
                    [] => vec![AnswerPart::Text {
                        text: message.text.clone(),
                        replay: None,
                    }],
                    parts => parts.iter().map(|p| self.part(p)).collect(),
                };
                self.answer = Some(Answer {
                    parts,
                    own: message.model.as_ref() == Some(&self.origin),
                });
            }
        }
    }

    fn part(&mut self, part: &Part) -> AnswerPart {
        let mut own = |replay: &Option<Replay>| {
            let own = replay.as_ref().filter(|r| r.origin == self.origin)?;
            if self.replays == Replays::Off {
                return None;
            }
            self.replays = Replays::Some;
            Some(own.data.clone())
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
        if self.calls.iter().any(|known| known.id == call.id) {
            return;
        }
        let mut answer = self.answer.take().unwrap_or_default();
        let announced = answer.parts.iter().any(
            |part| matches!(part, AnswerPart::Call { id, name, .. } if *id == call.id && name.is_empty()),
        );
        let sent_id = self.sendable(&call.id, answer.own && announced);
        let (sent_name, input) = match &call.via {
            Some(via) => (
                sendable_name(via),
                tool_search::outer(&call.name, &call.input),
            ),
            None => (sendable_name(&call.name), call.input.get().to_owned()),
        };
        let slot = answer.parts.iter_mut().find_map(|part| match part {
            AnswerPart::Call {
                id,
                name,
                arguments,
                ..
            } if *id == call.id && name.is_empty() => Some((id, name, arguments)),
            AnswerPart::Call { .. } | AnswerPart::Text { .. } | AnswerPart::Reasoning { .. } => {
                None
            }
        });
        match slot {
            Some((id, name, arguments)) => {
                id.clone_from(&sent_id);
                sent_name.clone_into(name);
                *arguments = input;
            }
            None => answer.parts.push(AnswerPart::Call {
                id: sent_id.clone(),
                name: sent_name.clone(),
                arguments: input,
                replay: None,
            }),
        }
        self.calls.push(Call {
            id: call.id.clone(),
            tool: sendable_name(&call.name),
            name: sent_name,
            sent_id,
            result: None,
        });
        self.answer = Some(answer);
    }

    /// The id under which a call goes out: the model's own as it was, another's in a form that every vendor takes, none twice.
    fn sendable(&mut self, id: &str, own: bool) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let fits = own || (id.len() <= MAX_ID && id.chars().all(is_plain));
        let base = match (id.is_empty(), fits) {
            (true, _) => "call".to_owned(),
            (false, true) => id.to_owned(),
            (false, false) => {
                let plain = id.chars().map(|c| if is_plain(c) { c } else { '_' });
                plain.take(MAX_ID / 2).collect()
            }
        };
        let mut sent = base.clone();
        let mut n = self.ids.len();
        while !self.ids.insert(sent.clone()) {
            n += 1;
            let short: String = base.chars().take(MAX_ID / 2).collect();
            sent = format!("{short}_{n}");
        }
        sent
    }

    fn end_answer(&mut self, out: &mut Vec<Msg>) {
        let Some(Answer { mut parts, .. }) = self.answer.take() else {
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
            .sort_by_key(|call| order.iter().position(|id| *id == call.sent_id));
        if !parts.is_empty() {
            self.hand_over(out);
            self.last = Last::Model;
            out.push(Msg::Assistant { parts });
        }
    }

    fn result(&mut self, result: &ToolResult, out: &mut Vec<Msg>) {
        let envelope = self.envelope;
        let Some(call) = self
            .calls
            .iter_mut()
            .find(|call| call.id == result.tool_use_id && call.result.is_none())
        else {
            return;
        };
        let rendered = tools::render(&call.tool, &result.output, envelope);
        call.result = Some(CallResult {
            id: call.sent_id.clone(),
            name: call.name.clone(),
            text: rendered.text,
            images: rendered.images,
            ok: result.ok,
        });
        if self.calls.iter().all(|call| call.result.is_some()) {
            self.close(out);
        }
    }

    /// A call that was not the model's. What the person ran is told as their words; a template tells its own.
    fn other(&mut self, call: &ToolUse, result: &ToolResult, out: &mut Vec<Msg>) {
        match call.by {
            Some(Caller::Person) => {}
            Some(Caller::Template) | None => return,
        }
        self.close(out);
        let input = call.input.to_value();
        let command = input
            .get("command")
            .and_then(|c| c.as_str())
            .unwrap_or_default();
        let rendered = tools::render(&call.name, &result.output, false);
        let said = format!("$ {command}\n{}", rendered.text.trim_end());
        // Output that contains the closing word must not end its block.
        let said = said.replace("</ran>", "<\\/ran>");
        self.say(
            format!("I ran this myself:\n<ran>\n{said}\n</ran>"),
            rendered.images,
            out,
        );
    }

    /// The person's words, or ours in their place. Blank ones would be refused.
    fn say(&mut self, text: String, images: Vec<Image>, out: &mut Vec<Msg>) {
        if !text.trim().is_empty() || !images.is_empty() {
            self.last = Last::Person;
            out.push(Msg::User { text, images });
        }
    }

    /// The model speaks next: every protocol wants the person before it.
    fn hand_over(&mut self, out: &mut Vec<Msg>) {
        match self.last {
            Last::Person => {}
            Last::Nobody => self.say(LOST_START.into(), Vec::new(), out),
            Last::Model => self.say(GO_ON.into(), Vec::new(), out),
        }
    }
}

/// A call's name in a form that every vendor takes: models call tools that do not exist, by names that are none.
fn sendable_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let starts_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts_plain && name.len() <= MAX_NAME && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let mark = if starts_plain { "" } else { "_" };
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '_' });
    mark.chars().chain(plain).take(MAX_NAME).collect()
}
