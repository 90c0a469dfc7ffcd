//! What a tool declares about itself, once. Rules, roles, plan mode, hooks, compaction and the titles of every front end
//! follow from it.

use crate::{Json, Word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What names of servers' tools begin with: `mcp__<server>__<tool>`.
pub const SERVER_TOOL_PREFIX: &str = "mcp__";

/// Whether a tool of that name belongs to an MCP server.
pub fn is_server_tool(name: &str) -> bool {
    name.starts_with(SERVER_TOOL_PREFIX)
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Json,
}

/// What a tool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// It reads files of the project.
    Read,
    /// It changes files of the project.
    Edit,
    /// It runs commands or steers running ones.
    Run,
    /// It reaches the network.
    Net,
    /// It has a sub-agent do the work.
    Delegate,
    /// It looks into what is kept over sessions, or changes it.
    Memory,
    /// It speaks with the person or keeps the session's own lists.
    Talk,
    /// A tool of a server or plugin, whose kind is unknown.
    Other,
}

/// What a call does, as the person reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallVerb {
    Ask,
    Complete,
    Delegate,
    Edit,
    Fetch,
    Find,
    Forget,
    List,
    Move,
    Plan,
    Read,
    Recall,
    Remember,
    Run,
    Search,
    SearchHistory,
    SearchTools,
    SearchWeb,
    Send,
    Stop,
    Type,
    UseSkill,
    Wait,
    Watch,
    Write,
}

impl CallVerb {
    /// The word for a call that is over, or for one that is not.
    pub fn word(self, is_over: bool) -> Word {
        let (over, before) = match self {
            Self::Ask => (Word::VerbAsked, Word::VerbAsking),
            Self::Complete => (Word::VerbCompleted, Word::VerbCompleting),
            Self::Delegate => (Word::VerbDelegated, Word::VerbDelegating),
            Self::Edit => (Word::VerbEdited, Word::VerbEditing),
            Self::Fetch => (Word::VerbFetched, Word::VerbFetching),
            Self::Find => (Word::VerbFound, Word::VerbFinding),
            Self::Forget => (Word::VerbForgot, Word::VerbForgetting),
            Self::List => (Word::VerbListed, Word::VerbListing),
            Self::Move => (Word::VerbMoved, Word::VerbMoving),
            Self::Plan => (Word::VerbPlanned, Word::VerbPlanning),
            Self::Read => (Word::VerbRead, Word::VerbReading),
            Self::Recall => (Word::VerbRecalled, Word::VerbRecalling),
            Self::Remember => (Word::VerbRemembered, Word::VerbRemembering),
            Self::Run => (Word::VerbRan, Word::VerbRunning),
            Self::Search => (Word::VerbSearched, Word::VerbSearching),
            Self::SearchHistory => (Word::VerbSearchedHistory, Word::VerbSearchingHistory),
            Self::SearchTools => (Word::VerbSearchedTools, Word::VerbSearchingTools),
            Self::SearchWeb => (Word::VerbSearchedWeb, Word::VerbSearchingWeb),
            Self::Send => (Word::VerbSent, Word::VerbSending),
            Self::Stop => (Word::VerbStopped, Word::VerbStopping),
            Self::Type => (Word::VerbTyped, Word::VerbTyping),
            Self::UseSkill => (Word::VerbUsedSkill, Word::VerbUsingSkill),
            Self::Wait => (Word::VerbWaited, Word::VerbWaiting),
            Self::Watch => (Word::VerbWatched, Word::VerbWatching),
            Self::Write => (Word::VerbWrote, Word::VerbWriting),
        };
        match is_over {
            true => over,
            false => before,
        }
    }

    /// Calls in a row that only look something up are shown as one.
    pub fn looks_up(self) -> bool {
        match self {
            Self::Find | Self::List | Self::Read | Self::Search => true,
            Self::Ask
            | Self::Complete
            | Self::Delegate
            | Self::Edit
            | Self::Fetch
            | Self::Forget
            | Self::Move
            | Self::Plan
            | Self::Recall
            | Self::Remember
            | Self::Run
            | Self::SearchHistory
            | Self::SearchTools
            | Self::SearchWeb
            | Self::Send
            | Self::Stop
            | Self::Type
            | Self::UseSkill
            | Self::Wait
            | Self::Watch
            | Self::Write => false,
        }
    }
}

/// What is worth keeping of a call when a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolFact {
    /// Nothing: doing it again is no harm.
    Nothing,
    /// The file of its `path` was read.
    FileRead,
    /// The file of its `path` was changed.
    FileChanged,
    /// `source_path` is now `destination_path`.
    FileMoved,
    /// The call and how it ended.
    Call,
}

/// How the data of a tool's result is laid out, so that front ends can show it without knowing the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultForm {
    /// Text in `text` or `content`, or data that is shown as it is.
    #[default]
    Text,
    /// Nothing that the title does not say.
    Nothing,
    /// `stdout`, `stderr`, `exit_code`, and `job` where it goes on.
    Command,
    /// The `content` of the file `path`, or its `image`.
    File,
    /// The `diff` of a file, or of each of several `edits`.
    Edit,
    /// A file that was `created` or replaced by the argument `content`.
    WholeFile,
    /// The `cell` of a notebook that was set to the argument `source`.
    Cell,
    /// Lines that were found, as `matches` and their `count`.
    Matches,
    /// Files that were found, as `paths` and their `total`.
    Paths,
    /// What is in a folder, as `entries`.
    Entries,
    /// `results` with `title`, `url` and `snippet`.
    WebResults,
    /// The `content` of a web page with its `title` and `status`.
    Page,
    /// The person's `answer`.
    Answer,
    /// The time as `utc`.
    Time,
    /// `facts` of the memory.
    Facts,
    /// One `fact` of the memory that was changed.
    Fact,
    /// What a sub-agent reports, and its `worktree`.
    Report,
    /// An entry of its own shows what came of it, so the call is not shown when it went well.
    Entry,
    /// The person's `decision` about the Markdown in the argument `plan`.
    Plan,
}

impl ResultForm {
    fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

/// What else holds for a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolMark {
    /// Not in the list that the model gets; `tool_search` finds it.
    Deferred,
    /// It touches nothing, yet runs beside no other call: it builds on what the call before left.
    Alone,
    /// It is withheld from sessions and roles that may only read.
    NotForReaders,
    /// It is about the conversation with the person, so no sub-agent has it.
    NotForChildren,
    /// It gives the shell something to run.
    RunsCommands,
    /// Equal calls in a row are no circle: it waits for something.
    Waits,
    /// The same call twice in one answer is one: models repeat themselves, and twice would be no more or do damage.
    OncePerAnswer,
    /// What it is called with is shown to nobody but the person.
    Private,
    /// The prompt lists the roles that it can be called with.
    TakesRoles,
    /// The prompt lists the skills that it can be called with.
    TakesSkills,
    /// It is for roles that other agents play; sessions without such roles do not have it.
    NeedsBackends,
    /// It is for sessions whose commands run in a pane that the person shares; others do not have it.
    NeedsPane,
    /// It replaces a whole file, so neither its call nor its result tells what was there before.
    ReplacesWhole,
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolMaker {
    Builtin,
    /// A server or plugin; `says_read_only` is its own word.
    Other {
        says_read_only: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDeclaration {
    pub name: Cow<'static, str>,
    pub kind: ToolKind,
    pub maker: ToolMaker,
    /// Names that other agents have for the same tool; a call may use them.
    pub aliases: &'static [&'static str],
    /// What hooks written for other agents call it.
    pub common_name: Option<&'static str>,
    pub fact: ToolFact,
    pub marks: &'static [ToolMark],
    /// How the person is asked whether a call may run, where the tool's name alone does not do.
    pub question: Option<Word>,
    /// What the person reads in the place of its name; tools of others are shown by name.
    pub verb: Option<CallVerb>,
    pub result: ResultForm,
    /// A line of the system prompt for sessions that have the tool.
    pub advice: Option<&'static str>,
}

impl ToolDeclaration {
    pub const fn new(name: &'static str, kind: ToolKind) -> Self {
        Self {
            name: Cow::Borrowed(name),
            kind,
            maker: ToolMaker::Builtin,
            aliases: &[],
            common_name: None,
            fact: match kind {
                ToolKind::Read | ToolKind::Talk => ToolFact::Nothing,
                ToolKind::Edit => ToolFact::FileChanged,
                ToolKind::Run
                | ToolKind::Net
                | ToolKind::Delegate
                | ToolKind::Memory
                | ToolKind::Other => ToolFact::Call,
            },
            marks: &[],
            question: match kind {
                ToolKind::Read => Some(Word::WantsToRead),
                ToolKind::Edit => Some(Word::WantsToEdit),
                ToolKind::Run
                | ToolKind::Net
                | ToolKind::Delegate
                | ToolKind::Memory
                | ToolKind::Talk
                | ToolKind::Other => None,
            },
            verb: match kind {
                ToolKind::Read => Some(CallVerb::Read),
                ToolKind::Edit => Some(CallVerb::Edit),
                ToolKind::Run => Some(CallVerb::Run),
                ToolKind::Net => Some(CallVerb::Fetch),
                ToolKind::Delegate => Some(CallVerb::Delegate),
                ToolKind::Memory | ToolKind::Talk | ToolKind::Other => None,
            },
            result: ResultForm::Text,
            advice: None,
        }
    }

    /// A tool of a server or plugin.
    pub fn of_other(name: String, says_read_only: bool) -> Self {
        Self {
            name: Cow::Owned(name),
            maker: ToolMaker::Other { says_read_only },
            ..Self::new("", ToolKind::Other)
        }
    }

    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub const fn common_name(mut self, name: &'static str) -> Self {
        self.common_name = Some(name);
        self
    }

    pub const fn fact(mut self, fact: ToolFact) -> Self {
        self.fact = fact;
        self
    }

    pub const fn marks(mut self, marks: &'static [ToolMark]) -> Self {
        self.marks = marks;
        self
    }

    pub const fn question(mut self, question: Word) -> Self {
        self.question = Some(question);
        self
    }

    pub const fn verb(mut self, verb: CallVerb) -> Self {
        self.verb = Some(verb);
        self
    }

    pub const fn result(mut self, form: ResultForm) -> Self {
        self.result = form;
        self
    }

    pub const fn advice(mut self, line: &'static str) -> Self {
        self.advice = Some(line);
        self
    }

    pub fn has(&self, mark: ToolMark) -> bool {
        self.marks.contains(&mark)
    }

    /// Whether this is one of its names, in any case of letters.
    pub fn is_called(&self, name: &str) -> bool {
        std::iter::once(self.name.as_ref())
            .chain(self.aliases.iter().copied())
            .any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Whether a session that may only read can do without it.
    pub fn is_withheld_from_readers(&self) -> bool {
        self.kind == ToolKind::Edit || self.has(ToolMark::NotForReaders)
    }
}

/// A call as front ends show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallTitle {
    pub kind: ToolKind,
    /// What the call does; the tool's name says it where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<CallVerb>,
    /// What the call is about, in one line; empty where the name says it all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// The argument that holds what `subject` shows only the beginning of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Cow<'static, str>>,
    /// How the result will be laid out.
    #[serde(default, skip_serializing_if = "ResultForm::is_text")]
    pub result: ResultForm,
}
