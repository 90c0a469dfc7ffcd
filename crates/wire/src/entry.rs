//! An entry: one line of the session log, on disk before anyone sees it.

use crate::child::{Child, ChildOf};
use crate::{CallTitle, Json, Message, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line of the log. `entry` counts from 0 in file order and is the stream position; `parent` is the entry it follows.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
pub struct Entry {
    pub entry: u64,
    pub parent: Option<u64>,
    /// RFC 3339, UTC.
    pub ts: String,
    #[schemars(flatten)]
    pub body: Body,
}

/// Every type of line this version knows.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(tag = "type", rename_all = "snake_case")]
pub enum Body {
    Meta(Meta),
    Message(Message),
    ToolUse(ToolUse),
    ToolResult(ToolResult),
    Usage(Usage),
    Settings(Settings),
    Mode(Mode),
    Approval(Approval),
    Todo(Todo),
    Notice(Notice),
    Error(ErrorEntry),
    Interrupted(Interrupted),
    TurnEnd(TurnEnd),
    Compaction(Compaction),
    Checkpoint(Checkpoint),
    Rewind(Rewind),
    Child(Child),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meta {
    pub schema_version: u32,
    #[serde(default)]
    pub session_id: String,
    #[serde(default)]
    pub root: String,
    #[serde(default)]
    pub host: String,
    /// Hash of the frozen prefix (system prompt and tool schemas) in the prefix store.
    #[serde(default)]
    pub prefix: String,
    /// Version of the rendering of tool results that this session's prompts use.
    #[serde(default)]
    pub rendering: u32,
    /// The program's version.
    #[serde(default)]
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_of: Option<ChildOf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkedFrom {
    pub session: String,
    pub entry: u64,
    /// Entries after the first that are copies: what they cost was paid in the other session.
    #[serde(default)]
    pub copied: u64,
    /// How many of these come from a log that the person's own Ostler did not write, the first ones. What they say was
    /// approved or said does not count as the person's.
    #[serde(default, skip_serializing_if = "is_none_foreign")]
    pub foreign: u64,
}

fn is_none_foreign(foreign: &u64) -> bool {
    *foreign == 0
}

/// Who asked for a call, when it was not the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// `!cmd`: the model reads it with the next request, as the person's words.
    Person,
    /// A piece of a Markdown command, whose text has the output.
    Template,
}

/// Somebody asked for a call: the model, unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolUse {
    pub id: String,
    pub name: String,
    pub input: Json,
    /// What had to be mended in the call, or why it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Caller>,
    /// The tool that the model called to have this one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// How the call is shown; front ends show the arguments of one that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<CallTitle>,
}

/// The call finished. `output` is the envelope of the tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    pub tool_use_id: String,
    pub output: Json,
    pub ok: bool,
    #[serde(default)]
    pub duration_ms: u64,
}

/// What one request cost, and how much of the prompt before it shared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    #[serde(default)]
    pub provider: String,
    #[serde(default)]
    pub model: String,
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
    /// USD; absent when the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Bytes of this prompt (system, tools, messages).
    #[serde(default)]
    pub prompt_bytes: u64,
    /// Bytes at its start that the request before also had.
    #[serde(default)]
    pub shared_bytes: u64,
    /// Hash of the prompt's bytes, so that another process can prove it continues them.
    #[serde(default)]
    pub prompt_hash: String,
    #[serde(default, rename = "break", skip_serializing_if = "Option::is_none")]
    pub broke: Option<Break>,
    /// What the request was for, when it was not a step of the turn (`compaction`). Its prompt is nobody's beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// Where a prompt stopped being a continuation of the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Break {
    /// First differing byte.
    pub at: u64,
    /// What lies there: `system`, `tools`, or the entry of a message.
    pub owner: String,
    /// Why, when it was planned (`model`, `prefix`, `rewind`, …).
    pub cause: String,
    /// Tokens of the old prompt that have to be read again, by bytes.
    pub lost_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mode {
    pub mode: String,
    pub posture: String,
    /// What is worked towards; also once, when that ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// Rules that the person added for the session and that tighten. Whoever takes the session over keeps to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<String>,
    /// The person made the posture stricter than the one that the session was started in. Whoever opens it again keeps to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tightened: bool,
    /// What holds commands: `on`, `online` with the whole network, or `off`. Whoever takes the session over holds them no
    /// less; where nothing is said, that is `on`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sandbox: String,
    /// Folders besides the project that commands and file tools may change. Whoever takes the session over has no others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
}

/// A goal and how it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    pub objective: String,
    pub state: GoalState,
    /// Turns that began by themselves, of how many at most.
    #[serde(default)]
    pub turn: u32,
    #[serde(default)]
    pub most: u32,
    /// Where the state of a long one is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Why it does not go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalState {
    /// When its turn ends, the next one begins.
    Active,
    Done,
    /// The same stood in its way too often.
    Blocked,
    /// By the person.
    Stopped,
    /// Too many turns.
    Limit,
    /// A turn ended with an error.
    Failed,
}

/// What was decided about a call that was not simply allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    pub tool_use_id: String,
    pub decision: crate::Decision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rule that was saved, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    pub items: Vec<TodoItem>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoItem {
    pub text: String,
    pub state: TodoState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    Pending,
    InProgress,
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorEntry {
    pub kind: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interrupted {
    pub role: String,
    pub text: String,
}

impl Default for Interrupted {
    fn default() -> Self {
        Self {
            role: "system".into(),
            text: "Interrupted".into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Interrupted,
    Error,
    MaxSteps,
    EmptyResponse,
    Refusal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEnd {
    pub outcome: Outcome,
}

/// Older work was folded: a digest stands in its place from now on. The entries themselves stay where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// The last entry that is folded.
    pub through: u64,
    /// What stands for it.
    pub digest: String,
    pub by: DigestBy,
    /// What the person wanted it to look after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// The file that holds the originals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// How much work that was.
    #[serde(default)]
    pub answers: u64,
    #[serde(default)]
    pub calls: u64,
    /// What the prompt weighed, and weighs now.
    #[serde(default)]
    pub tokens_before: u64,
    #[serde(default)]
    pub tokens_after: u64,
    /// Bytes at the start of the prompt that stay as they were.
    #[serde(default)]
    pub shared_bytes: u64,
}

/// Who wrote a digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DigestBy {
    /// The session's model, with the facts that the log gives.
    Model,
    /// The log alone.
    #[default]
    Mechanical,
}

/// A saved tree. The id counts in a project's store; the hash tells it from what another store has under the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Saved {
    pub id: u64,
    /// The beginning of the tree's hash.
    pub tree: String,
    /// As people call the place that has it, if that is another than this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// The tree was saved, for what the person said last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    #[serde(flatten)]
    pub saved: Saved,
    pub when: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Before the first change.
    Before,
    /// Only the ignored files that a later call was about to change.
    Also,
    /// After the last change.
    After,
}

/// Work was taken back: this entry follows the one before it, and what was said since is on a branch that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rewind {
    pub what: Rewound,
    /// The last entry of the branch that ended. A copy in another log has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The tree as it was before, if files were put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Saved>,
    /// The tree as the session last saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Saved>,
    /// The tree as this left it, where the session has not seen all of it: one file was put back beside files of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Saved>,
    /// How many tokens the conversation has from here on, if it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// What was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rewound {
    Code,
    Conversation,
    Both,
}

/// Why a line is not an entry of ours.
#[derive(Debug)]
pub enum EntryError {
    /// Valid, but of a type (or with a value) that this version does not know.
    Unknown {
        entry: u64,
        parent: Option<u64>,
    },
    Broken(serde_json::Error),
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    r#type: std::borrow::Cow<'a, str>,
    entry: Option<u64>,
    parent: Option<u64>,
    #[serde(default)]
    ts: String,
}

impl<'a> Head<'a> {
    /// Reads the head of a line as `to_line` writes it, without a look at the rest. A line that was garbled further on
    /// still fails when its body is read.
    fn quick(line: &'a str) -> Option<Self> {
        let (kind, rest) = line.strip_prefix(r#"{"type":""#)?.split_once('"')?;
        let (entry, rest) = rest.strip_prefix(r#","entry":"#)?.split_once(',')?;
        let (parent, rest) = rest.strip_prefix(r#""parent":"#)?.split_once(',')?;
        let (ts, _) = rest.strip_prefix(r#""ts":""#)?.split_once('"')?;
        let parent = match parent {
            "null" => None,
            number => Some(number.parse().ok()?),
        };
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
        (plain(kind) && plain(ts)).then_some(())?;
        Some(Self {
            r#type: kind.into(),
            entry: Some(entry.parse().ok()?),
            parent,
            ts: ts.to_owned(),
        })
    }
}

impl Entry {
    /// The log line, without its line break.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        let body = match &self.body {
            Body::Meta(b) => serde_json::to_string(b),
            Body::Message(b) => serde_json::to_string(b),
            Body::ToolUse(b) => serde_json::to_string(b),
            Body::ToolResult(b) => serde_json::to_string(b),
            Body::Usage(b) => serde_json::to_string(b),
            Body::Settings(b) => serde_json::to_string(b),
            Body::Mode(b) => serde_json::to_string(b),
            Body::Approval(b) => serde_json::to_string(b),
            Body::Todo(b) => serde_json::to_string(b),
            Body::Notice(b) => serde_json::to_string(b),
            Body::Error(b) => serde_json::to_string(b),
            Body::Interrupted(b) => serde_json::to_string(b),
            Body::TurnEnd(b) => serde_json::to_string(b),
            Body::Compaction(b) => serde_json::to_string(b),
            Body::Checkpoint(b) => serde_json::to_string(b),
            Body::Rewind(b) => serde_json::to_string(b),
            Body::Child(b) => serde_json::to_string(b),
        }?;
        let parent = self
            .parent
            .map_or_else(|| "null".to_owned(), |p| p.to_string());
        let rest = body.strip_prefix('{').unwrap_or("}");
        let comma = if rest == "}" { "" } else { "," };
        Ok(format!(
            r#"{{"type":"{}","entry":{},"parent":{parent},"ts":"{}"{comma}{rest}"#,
            self.body.name(),
            self.entry,
            self.ts,
        ))
    }

    /// Reads a line. `at` stands in for the number of a line that carries none (logs of older tools).
    pub fn from_line(line: &str, at: u64) -> Result<Self, EntryError> {
        let head = match Head::quick(line) {
            Some(head) => head,
            None => serde_json::from_str(line).map_err(EntryError::Broken)?,
        };
        let entry = head.entry.unwrap_or(at);
        let parent = head.parent.or_else(|| match head.entry {
            Some(_) => None,
            None => entry.checked_sub(1),
        });
        // A line that is no JSON at all is damage; one that does not fit its type comes from another version.
        let unknown = |e: serde_json::Error| match e.classify() {
            serde_json::error::Category::Data => not_ours(line, entry, parent),
            serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof
            | serde_json::error::Category::Io => EntryError::Broken(e),
        };
        let body = match head.r#type.as_ref() {
            "meta" => Body::Meta(serde_json::from_str(line).map_err(unknown)?),
            "message" => Body::Message(serde_json::from_str(line).map_err(unknown)?),
            "tool_use" => Body::ToolUse(serde_json::from_str(line).map_err(unknown)?),
            "tool_result" => Body::ToolResult(serde_json::from_str(line).map_err(unknown)?),
            "usage" => Body::Usage(serde_json::from_str(line).map_err(unknown)?),
            "settings" => Body::Settings(serde_json::from_str(line).map_err(unknown)?),
            "mode" => Body::Mode(serde_json::from_str(line).map_err(unknown)?),
            "approval" => Body::Approval(serde_json::from_str(line).map_err(unknown)?),
            "todo" => Body::Todo(serde_json::from_str(line).map_err(unknown)?),
            "notice" => Body::Notice(serde_json::from_str(line).map_err(unknown)?),
            "error" => Body::Error(serde_json::from_str(line).map_err(unknown)?),
            "interrupted" => Body::Interrupted(serde_json::from_str(line).map_err(unknown)?),
            "turn_end" => Body::TurnEnd(serde_json::from_str(line).map_err(unknown)?),
            "compaction" => Body::Compaction(serde_json::from_str(line).map_err(unknown)?),
            "checkpoint" => Body::Checkpoint(serde_json::from_str(line).map_err(unknown)?),
            "rewind" => Body::Rewind(serde_json::from_str(line).map_err(unknown)?),
            "child" => Body::Child(serde_json::from_str(line).map_err(unknown)?),
            _ => return Err(not_ours(line, entry, parent)),
        };
        Ok(Self {
            entry,
            parent,
            ts: head.ts,
            body,
        })
    }
}

/// Why a line that fits none of our types is not ours.
fn not_ours(line: &str, entry: u64, parent: Option<u64>) -> EntryError {
    match serde_json::from_str::<serde::de::IgnoredAny>(line) {
        Ok(_) => EntryError::Unknown { entry, parent },
        Err(e) => EntryError::Broken(e),
    }
}

impl Body {
    pub fn name(&self) -> &'static str {
        match self {
            Body::Meta(_) => "meta",
            Body::Message(_) => "message",
            Body::ToolUse(_) => "tool_use",
            Body::ToolResult(_) => "tool_result",
            Body::Usage(_) => "usage",
            Body::Settings(_) => "settings",
            Body::Mode(_) => "mode",
            Body::Approval(_) => "approval",
            Body::Todo(_) => "todo",
            Body::Notice(_) => "notice",
            Body::Error(_) => "error",
            Body::Interrupted(_) => "interrupted",
            Body::TurnEnd(_) => "turn_end",
            Body::Compaction(_) => "compaction",
            Body::Checkpoint(_) => "checkpoint",
            Body::Rewind(_) => "rewind",
            Body::Child(_) => "child",
        }
    }

    pub fn message(&self) -> Option<&Message> {
        if let Body::Message(message) = self {
            Some(message)
        } else {
            None
        }
    }

    /// Where the session works from this entry on, if it says so: the place, and the root there.
    pub fn place(&self) -> Option<(&str, &str)> {
        if let Body::Meta(meta) = self {
            (!meta.host.is_empty()).then_some((meta.host.as_str(), meta.root.as_str()))
        } else if let Body::Settings(settings) = self {
            let root = settings.root.as_deref().unwrap_or_default();
            settings.host.as_deref().map(|host| (host, root))
        } else {
            None
        }
    }

    pub fn meta(&self) -> Option<&Meta> {
        if let Body::Meta(meta) = self {
            Some(meta)
        } else {
            None
        }
    }

    pub fn usage(&self) -> Option<&Usage> {
        if let Body::Usage(usage) = self {
            Some(usage)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(entry: u64, parent: Option<u64>) -> Entry {
        Entry {
            entry,
            parent,
            ts: "2026-11-15T10:20:04.704Z".into(),
            body: Body::Notice(Notice {
                text: "a \"quoted\"\nline \u{1b}".into(),
            }),
        }
    }

    #[test]
    fn lines_round_trip() {
        for entry in [notice(0, None), notice(7, Some(3))] {
            let line = entry.to_line().unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(Entry::from_line(&line, 99).unwrap(), entry);
            // The order of the fields does not matter.
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            let mut fields: Vec<_> = value.as_object().unwrap().clone().into_iter().collect();
            fields.reverse();
            let turned: serde_json::Map<_, _> = fields.into_iter().collect();
            let line = serde_json::Value::Object(turned).to_string();
            assert_eq!(Entry::from_line(&line, 99).unwrap(), entry);
        }
    }

    #[test]
    fn older_lines_have_no_numbers() {
        let line = r#"{"type":"message","role":"user","text":"hi","ts":"2025-12-17T03:21:09Z"}"#;
        let entry = Entry::from_line(line, 4).unwrap();
        assert_eq!((entry.entry, entry.parent), (4, Some(3)));
    }

    #[test]
    fn what_is_not_ours_is_told_from_what_is_broken() {
        let unknown =
            |line: &str| matches!(Entry::from_line(line, 0), Err(EntryError::Unknown { .. }));
        let broken = |line: &str| matches!(Entry::from_line(line, 0), Err(EntryError::Broken(_)));
        assert!(unknown(
            r#"{"type":"hologram","entry":3,"parent":2,"ts":"x","size":1}"#
        ));
        assert!(unknown(
            r#"{"type":"turn_end","entry":3,"parent":2,"ts":"x","outcome":"ascended"}"#
        ));
        for line in [
            r#"{"type":"hologram","entry":3,"parent":2,"ts":"x","si"#,
            r#"{"type":"notice","entry":3,"parent":2,"ts":"x","text":"cut"#,
            r#"{"type":"notice","entry":3,"parent":2,"ts":"x","text":2garbled"}"#,
            "{",
            "null",
            "",
        ] {
            assert!(broken(line), "{line}");
        }
    }
}
