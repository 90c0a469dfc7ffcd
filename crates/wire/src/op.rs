//! What a front end sends to a session.

use crate::Image;
use serde::{Deserialize, Serialize};

/// Numbers the clients of one session, in the order in which they attached.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ClientId(pub u64);

/// Where the replies to an op go: the client that sent it, and the id that the client gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyTo {
    pub client: ClientId,
    pub op: Option<String>,
}

/// An op on its way to a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SentOp {
    pub reply_to: ReplyTo,
    pub op: Op,
}

/// An op as a line of JSON: its id, where there is one, stands beside its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(flatten)]
    pub op: Op,
}

/// When a prompt that arrives during a turn takes effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// With the next step of the running turn.
    Steer,
    /// As the next turn.
    #[default]
    Queue,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
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
    /// Ends the session once the running turn is over; tasks in the background are stopped.
    Close,
    /// Nothing comes any more: ends the session once all that was asked for is done, in the background, too.
    Finish,
}
