//! What of an entry readers and followers of a session ask for: how it is shown in a list, and who said it.

use crate::{Body, Compaction, ErrorEntry, Message, Notice, Role, ToolResult, ToolUse};

/// An entry as a reader of the session is shown it.
#[derive(Clone, Copy, Debug)]
pub enum ShownEntry<'a> {
    Message(&'a Message),
    Call(&'a ToolUse),
    Result(&'a ToolResult),
    Notice(&'a Notice),
    Error(&'a ErrorEntry),
    Interrupted,
    Digest(&'a Compaction),
}

impl Body {
    /// What the person said.
    pub fn prompt(&self) -> Option<&Message> {
        self.message().filter(|message| message.role == Role::User)
    }

    /// What the model said.
    pub fn answer(&self) -> Option<&Message> {
        self.message()
            .filter(|message| message.role == Role::Assistant)
    }

    /// What a reader of the session is shown of it; none of what is kept for the session itself.
    pub fn shown(&self) -> Option<ShownEntry<'_>> {
        match self {
            Body::Message(message) => Some(ShownEntry::Message(message)),
            Body::ToolUse(call) => Some(ShownEntry::Call(call)),
            Body::ToolResult(result) => Some(ShownEntry::Result(result)),
            Body::Notice(notice) => Some(ShownEntry::Notice(notice)),
            Body::Error(error) => Some(ShownEntry::Error(error)),
            Body::Interrupted(_) => Some(ShownEntry::Interrupted),
            Body::Compaction(compaction) => Some(ShownEntry::Digest(compaction)),
            Body::Meta(_)
            | Body::Usage(_)
            | Body::Settings(_)
            | Body::Mode(_)
            | Body::Approval(_)
            | Body::Todo(_)
            | Body::Child(_)
            | Body::TurnEnd(_)
            | Body::Checkpoint(_)
            | Body::Rewind(_) => None,
        }
    }
}
