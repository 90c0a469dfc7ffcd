//! What a front end sends to a session.

use crate::{CompletionRequest, Image, Language, Word, clip};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Numbers the clients of one session, in the order in which they attached.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct ClientId(pub u64);

/// Where the replies to an op go: the client that sent it, and the id that the client gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyTo {
    pub client: ClientId,
    pub op: Option<String>,
    /// The op is sent once more, because its client does not know whether it arrived.
    pub again: bool,
}

/// An op on its way to a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SentOp {
    pub reply_to: ReplyTo,
    pub op: Op,
}

/// An op as a line of JSON: its id, where there is one, stands beside its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// It is sent once more, because the client does not know whether it arrived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    #[serde(flatten)]
    pub op: Op,
}

impl From<Op> for OpLine {
    fn from(op: Op) -> Self {
        Self {
            id: None,
            again: false,
            op,
        }
    }
}

/// When a prompt that arrives during a turn takes effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// With the next step of the running turn.
    Steer,
    /// As the next turn.
    #[default]
    Queue,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// What a person typed, as it stands: a prompt, or a line with a meaning of its own (`command_of`).
    Say {
        text: String,
        #[serde(default)]
        delivery: Delivery,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    Prompt {
        text: String,
        #[serde(default)]
        delivery: Delivery,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
    },
    Answer {
        ask: String,
        choice: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Stops the running turn; a second one within two seconds kills what does not stop.
    Interrupt,
    /// A slash command without its slash. Its answer is a reply.
    Command { line: String },
    /// What can follow `@`. Its answer is a reply, also while a turn runs; of several by one client only the last counts.
    Complete(CompletionRequest),
    /// Ends the session once the running turn is over; tasks in the background are stopped.
    Close,
    /// Nothing comes any more: ends the session once all that was asked for is done, in the background, too.
    Finish,
}

/// Characters of a command that are shown when nobody knows what became of it.
const MAX_LOST_SHOWN: usize = 200;

impl Op {
    /// What the person is told when nobody knows what became of it.
    pub fn describe_lost(&self, language: Language) -> String {
        match self {
            Self::Command { line } => {
                let shown = match line.starts_with(['!', '#']) {
                    true => line.clone(),
                    false => format!("/{line}"),
                };
                let shown = clip(&shown, MAX_LOST_SHOWN);
                language.fill(Word::CommandLost, &[&shown])
            }
            Self::Answer { .. }
            | Self::Say { .. }
            | Self::Prompt { .. }
            | Self::Interrupt
            | Self::Complete(_)
            | Self::Close
            | Self::Finish => language.say(Word::AnswerLost).into(),
        }
    }

    /// A line that a person typed, without pictures.
    pub fn say(text: impl Into<String>, delivery: Delivery) -> Self {
        Self::Say {
            text: text.into(),
            delivery,
            images: Vec::new(),
        }
    }

    /// A typed text as the prompt or command that it is; any other op as it is.
    pub fn parsed(self) -> Self {
        match self {
            Self::Say {
                text,
                delivery,
                images,
            } => match command_of(&text).filter(|_| images.is_empty()) {
                Some(line) => Self::Command { line },
                None => Self::Prompt {
                    text,
                    delivery,
                    images,
                },
            },
            Self::Prompt { .. }
            | Self::Answer { .. }
            | Self::Interrupt
            | Self::Command { .. }
            | Self::Complete(_)
            | Self::Close
            | Self::Finish => self,
        }
    }
}

/// What a file that a front end attaches to a prompt begins with, after the words of the person. It points at nothing.
pub const ATTACHED: &str = "\n\n<resource uri=\"";

/// The command that a typed text is, without its slash: `/name …`, `!command`, `# note`, or a prompt for the background that
/// ends in ` &`. A path at the start of a sentence is no command.
pub fn command_of(text: &str) -> Option<String> {
    let text = text.trim_end();
    if let Some(line) = text.strip_prefix('/') {
        let name = line.split_whitespace().next()?;
        let is_name = line.starts_with(name) && !name.contains('/');
        return is_name.then(|| line.to_owned());
    }
    let is_shell = text.starts_with('!') && text.len() > 1;
    let is_note = text.starts_with("# ") && !text.contains('\n');
    if is_shell || is_note {
        return Some(text.to_owned());
    }
    let prompt = text.strip_suffix(" &")?.trim();
    (!prompt.is_empty()).then(|| format!("bg {prompt}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_texts_that_are_commands() {
        for (text, expect) in [
            ("/help", Some("help")),
            ("/help \n", Some("help")),
            ("/git:commit a b", Some("git:commit a b")),
            ("/etc/hosts what is it?", None),
            ("/ what", None),
            ("!ls &", Some("!ls &")),
            ("!", None),
            ("# note", Some("# note")),
            ("# a heading\nand text", None),
            ("#hash", None),
            ("do it &", Some("bg do it")),
            ("a & b", None),
            (" &", None),
            ("words", None),
        ] {
            assert_eq!(command_of(text).as_deref(), expect, "{text}");
            let said = Op::Say {
                text: text.into(),
                delivery: Delivery::Steer,
                images: Vec::new(),
            };
            let meant = match expect {
                Some(line) => Op::Command { line: line.into() },
                None => Op::Prompt {
                    text: text.into(),
                    delivery: Delivery::Steer,
                    images: Vec::new(),
                },
            };
            assert_eq!(said.parsed(), meant);
        }
    }
}
