//! From entries and deltas to updates of the protocol. What is streamed as deltas is not sent once more by its entry, unless
//! some of it was lost.

use crate::calls::{self, Call};
use crate::protocol::schema as s;
use crate::terminal::Shown;
use ostler_wire::{
    Body, Caller, Compaction, Delta, Entry, Image, Message, Notice, Part, Role, TodoState, ToolUse,
    Usage, View,
};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use tokio::sync::mpsc;

/// Bytes of the output of a running call that are shown, at least; twice that at most.
const MAX_TAIL: usize = 8 * 1024;
/// Bytes of an answer that are remembered to tell what of its entry is new.
const MAX_REMEMBERED: usize = 4 << 20;
/// Terminals of calls that are not known yet.
const MAX_EARLY: usize = 64;

/// What the editor can show beyond the basics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shows {
    pub notices: bool,
    pub compaction: bool,
}

/// The updates of one session.
pub struct Updates {
    root: PathBuf,
    shows: Shows,
    calls: HashMap<String, Call>,
    /// Terminals in which calls run; closed where the editor has none.
    pub terminals: mpsc::Receiver<Shown>,
    /// Those of calls that are not known yet.
    early: HashMap<String, s::TerminalId>,
    /// Calls with output that was not sent yet.
    fresh: BTreeSet<String>,
    /// What was streamed of the answer and the thought that are under way.
    answer: Streamed,
    thought: Streamed,
    /// Tokens that the model can take; 0 = unknown.
    pub window: u64,
    cost: Option<f64>,
}

#[derive(Default)]
struct Streamed {
    text: String,
    /// More was streamed than is remembered.
    is_long: bool,
}

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was there before: everything of it is news for the editor.
    Past,
    /// The editor's own prompt, which it shows itself.
    Own,
    Live,
}

impl Updates {
    pub fn new(root: PathBuf, shows: Shows, window: u64) -> Self {
        Self {
            root,
            shows,
            calls: HashMap::new(),
            terminals: mpsc::channel(1).1,
            early: HashMap::new(),
            fresh: BTreeSet::new(),
            answer: Streamed::default(),
            thought: Streamed::default(),
            window,
            cost: None,
        }
    }

    pub fn root(&self) -> &PathBuf {
        &self.root
    }

    pub fn call(&self, id: &str) -> Option<&Call> {
        self.calls.get(id)
    }

    /// What an entry of the past has cost; it is shown with the next request.
    pub fn note_past(&mut self, entry: &Entry) {
        if let Body::Usage(usage) = &entry.body {
            self.add_cost(usage);
        }
    }

    pub fn entry(&mut self, entry: &Entry, origin: Origin) -> Vec<s::SessionUpdate> {
        match &entry.body {
            Body::Message(message) => self.message(message, origin),
            Body::ToolUse(call) => self.started(call),
            Body::ToolResult(result) => {
                self.fresh.remove(&result.tool_use_id);
                let fields = match self.calls.remove(&result.tool_use_id) {
                    Some(call) => call.ended(result, &self.root),
                    None => return Vec::new(),
                };
                vec![update(&result.tool_use_id, fields)]
            }
            Body::Usage(usage) => self.usage(usage).into_iter().collect(),
            Body::Todo(todo) => {
                let entries = todo.items.iter().map(|item| {
                    let status = match item.state {
                        TodoState::Pending => s::PlanEntryStatus::Pending,
                        TodoState::InProgress => s::PlanEntryStatus::InProgress,
                        TodoState::Done => s::PlanEntryStatus::Completed,
                    };
                    let text = item.text.clone();
                    s::PlanEntry::new(text, s::PlanEntryPriority::Medium, status)
                });
                vec![s::SessionUpdate::Plan(s::Plan::new(entries.collect()))]
            }
            Body::Notice(Notice { text }) => vec![self.notice(text, s::NoticeSeverity::Info)],
            Body::Error(error) => match origin {
                Origin::Past => vec![self.notice(&error.message, s::NoticeSeverity::Error)],
                // The answer to the prompt says it.
                Origin::Own | Origin::Live => Vec::new(),
            },
            Body::Settings(settings) => {
                let title = settings.title.clone();
                let title = title.map(|title| s::SessionInfoUpdate::new().title(title));
                title
                    .map(s::SessionUpdate::SessionInfoUpdate)
                    .into_iter()
                    .collect()
            }
            Body::Compaction(compaction) => self.compaction(entry.entry, compaction),
            Body::TurnEnd(_) | Body::Interrupted(_) => self.over(),
            Body::Meta(_)
            | Body::Child(_)
            | Body::Mode(_)
            | Body::Approval(_)
            | Body::Checkpoint(_)
            | Body::Rewind(_) => Vec::new(),
        }
    }

    pub fn delta(&mut self, delta: &Delta) -> Vec<s::SessionUpdate> {
        match delta {
            Delta::AssistantDelta { text } => {
                self.answer.add(text);
                vec![s::SessionUpdate::AgentMessageChunk(chunk(text.as_str()))]
            }
            Delta::ReasoningDelta { text } => {
                self.thought.add(text);
                vec![thought(text)]
            }
            Delta::ToolStarted { id, .. } => match self.calls.contains_key(id) {
                true => vec![update(
                    id,
                    s::ToolCallUpdateFields::new().status(s::ToolCallStatus::InProgress),
                )],
                false => Vec::new(),
            },
            Delta::ToolOutput { id, chunk, .. } => {
                // A terminal shows its own output.
                let shown = self.calls.get_mut(id);
                if let Some(call) = shown.filter(|call| call.terminal.is_none()) {
                    call.tail.push_str(chunk);
                    keep_tail(&mut call.tail);
                    self.fresh.insert(id.clone());
                }
                Vec::new()
            }
            Delta::Progress { id, text, .. } => match self.calls.contains_key(id) {
                true => vec![update(id, calls::output(text))],
                false => Vec::new(),
            },
            Delta::Retry { reason, .. } => vec![self.notice(reason, s::NoticeSeverity::Warning)],
            Delta::Announcement { view } => self.view(view).into_iter().collect(),
            Delta::Unrecorded { .. } | Delta::Idle => self.over(),
            Delta::Mode { .. }
            | Delta::Budget { .. }
            | Delta::AskClosed { .. }
            | Delta::OpArrived { .. }
            | Delta::OpDone { .. }
            | Delta::Clients(_)
            | Delta::Queue { .. }
            | Delta::Tasks { .. }
            | Delta::Jobs { .. } => Vec::new(),
        }
    }

    /// The output that came since the last time, one update for each call.
    pub fn outputs(&mut self) -> Vec<s::SessionUpdate> {
        let fresh = std::mem::take(&mut self.fresh);
        let calls = &self.calls;
        let shown = fresh.iter().filter_map(|id| {
            let call = calls.get(id)?;
            Some(update(id, calls::output(&call.tail)))
        });
        shown.collect()
    }

    /// Waits for a call that runs in a terminal of the editor.
    pub async fn next_terminal(&mut self) -> Option<Vec<s::SessionUpdate>> {
        let Shown { call, terminal } = self.terminals.recv().await?;
        Some(self.terminal(&call, terminal))
    }

    fn terminal(&mut self, call: &str, terminal: s::TerminalId) -> Vec<s::SessionUpdate> {
        let Some(known) = self.calls.get_mut(call) else {
            if self.early.len() < MAX_EARLY {
                self.early.insert(call.to_owned(), terminal);
            }
            return Vec::new();
        };
        let fields = s::ToolCallUpdateFields::new()
            .status(s::ToolCallStatus::InProgress)
            .content(calls::in_terminal(&terminal));
        known.terminal = Some(terminal);
        vec![update(call, fields)]
    }

    /// What the person should know.
    pub fn notice(&self, text: &str, severity: s::NoticeSeverity) -> s::SessionUpdate {
        match self.shows.notices {
            true => s::SessionUpdate::Notice(s::Notice::new(severity, text)),
            false => thought(&format!("{}\n\n", text.trim_end())),
        }
    }

    /// What everybody is told.
    fn view(&self, view: &View) -> Option<s::SessionUpdate> {
        let text = view.plain(None);
        let severity = match view.is_failure() {
            true => s::NoticeSeverity::Error,
            false => s::NoticeSeverity::Info,
        };
        (!text.trim().is_empty()).then(|| self.notice(&text, severity))
    }

    fn message(&mut self, message: &Message, origin: Origin) -> Vec<s::SessionUpdate> {
        match (message.role, origin) {
            (Role::User, Origin::Own) | (Role::System, _) => Vec::new(),
            (Role::User, Origin::Past | Origin::Live) => {
                let text = s::SessionUpdate::UserMessageChunk(chunk(message.shown()));
                let images = message.images.iter().map(|image| {
                    s::SessionUpdate::UserMessageChunk(s::ContentChunk::new(picture(image)))
                });
                std::iter::once(text).chain(images).collect()
            }
            (Role::Assistant, _) => self.answer(message),
        }
    }

    fn answer(&mut self, message: &Message) -> Vec<s::SessionUpdate> {
        let whole = |wanted: fn(&Part) -> Option<&str>| -> String {
            message.parts.iter().filter_map(wanted).collect()
        };
        let thoughts = whole(|part| match part {
            Part::Reasoning { text, .. } => Some(text),
            Part::Text { .. } | Part::Call { .. } => None,
        });
        let said = whole(|part| match part {
            Part::Text { text, .. } => Some(text),
            Part::Reasoning { .. } | Part::Call { .. } => None,
        });
        // An answer without parts is its text.
        let said = match message.parts.is_empty() {
            true => message.text.clone(),
            false => said,
        };
        let mut out = Vec::new();
        out.extend(self.thought.rest(&thoughts).map(|text| thought(&text)));
        let rest = self.answer.rest(&said);
        out.extend(rest.map(|text| s::SessionUpdate::AgentMessageChunk(chunk(text))));
        out
    }

    fn started(&mut self, call: &ToolUse) -> Vec<s::SessionUpdate> {
        // The output of a command is a part of the text that its command stands for.
        if call.by == Some(Caller::Template) {
            return Vec::new();
        }
        let known = Call::of(call);
        let shown = known.started(&call.id, &self.root);
        self.calls.insert(call.id.clone(), known);
        let mut out = vec![s::SessionUpdate::ToolCall(shown)];
        if let Some(terminal) = self.early.remove(&call.id) {
            out.extend(self.terminal(&call.id, terminal));
        }
        out
    }

    fn usage(&mut self, usage: &Usage) -> Option<s::SessionUpdate> {
        self.add_cost(usage);
        // What was asked beside the conversation says nothing about its size.
        if usage.role.is_some() || self.window == 0 {
            return None;
        }
        let used = usage.input.saturating_add(usage.output);
        let cost = self.cost.map(|amount| s::Cost::new(amount, "USD"));
        let update = s::UsageUpdate::new(used, self.window).cost(cost);
        Some(s::SessionUpdate::UsageUpdate(update))
    }

    fn add_cost(&mut self, usage: &Usage) {
        self.cost = match (self.cost, usage.cost) {
            (Some(sum), Some(more)) => Some(sum + more),
            (sum, more) => sum.or(more),
        };
    }

    fn compaction(&self, entry: u64, compaction: &Compaction) -> Vec<s::SessionUpdate> {
        if !self.shows.compaction {
            return Vec::new();
        }
        let digest = vec![s::ContentBlock::from(compaction.digest.as_str())];
        let id = format!("entry-{entry}");
        let update = s::CompactionUpdate::new(id, s::CompactionStatus::Completed);
        vec![s::SessionUpdate::CompactionUpdate(update.summary(digest))]
    }

    /// The turn is over: what has no result gets none.
    fn over(&mut self) -> Vec<s::SessionUpdate> {
        self.answer = Streamed::default();
        self.thought = Streamed::default();
        self.fresh.clear();
        self.early.clear();
        let left = self.calls.drain().map(|(id, _)| {
            update(
                &id,
                s::ToolCallUpdateFields::new().status(s::ToolCallStatus::Failed),
            )
        });
        left.collect()
    }
}

impl Streamed {
    fn add(&mut self, text: &str) {
        match self.text.len() + text.len() > MAX_REMEMBERED {
            true => self.is_long = true,
            false => self.text.push_str(text),
        }
    }

    /// What of the whole text was not streamed. Where something in the middle was lost, the whole comes once more.
    fn rest(&mut self, whole: &str) -> Option<String> {
        let Self { text, is_long } = std::mem::take(self);
        if is_long {
            return None;
        }
        let rest = match whole.strip_prefix(text.as_str()) {
            Some(rest) => rest.to_owned(),
            None if text.trim() == whole.trim() => return None,
            None => format!("\n\n{whole}"),
        };
        (!rest.is_empty()).then_some(rest)
    }
}

fn update(id: &str, fields: s::ToolCallUpdateFields) -> s::SessionUpdate {
    s::SessionUpdate::ToolCallUpdate(s::ToolCallUpdate::new(id.to_owned(), fields))
}

pub fn chunk(text: impl Into<String>) -> s::ContentChunk {
    s::ContentChunk::new(s::ContentBlock::from(text.into()))
}

fn thought(text: &str) -> s::SessionUpdate {
    s::SessionUpdate::AgentThoughtChunk(chunk(text))
}

fn picture(image: &Image) -> s::ContentBlock {
    let Image { media_type, data } = image.clone();
    s::ContentBlock::Image(s::ImageContent::new(data, media_type))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_brings_what_was_not_streamed() {
        for (streamed, whole, expect) in [
            ("", "all", Some("all")),
            ("al", "all", Some("l")),
            ("all", "all", None),
            ("al\n", "al", None),
            ("a l", "all", Some("\n\nall")),
        ] {
            let mut known = Streamed::default();
            known.add(streamed);
            assert_eq!(known.rest(whole).as_deref(), expect, "{streamed:?}");
        }
    }

    #[test]
    fn a_tail_is_cut_at_characters() {
        let mut tail = "é".repeat(MAX_TAIL + 1);
        keep_tail(&mut tail);
        assert!(tail.len() <= MAX_TAIL && tail.chars().all(|c| c == 'é'));
    }
}
