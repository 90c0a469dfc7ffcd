//! The vocabulary of Ostler: what the engine, the front ends, the log and the replay file all speak.
//! Nothing here touches a file, a socket or a terminal.

mod access;
mod ask;
mod blanks;
mod child;
mod client;
mod clip;
mod completion;
mod decision;
mod door;
mod duration;
mod entry;
mod event;
pub mod hex;
mod json;
mod message;
mod op;
mod open;
mod pictures;
mod questions;
mod secret;
mod settings;
mod shown;
mod snapshot;
pub mod sse;
mod subscription;
mod tool;
mod tricky;
mod view;
mod why;
mod words;

pub use access::{Access, Mark, Segment};
pub use ask::{
    Ask, AskAnswer, AskKind, Choice, Escape, MAX_ASK_BYTES, MAX_ASK_LINES, PermissionChoice,
    PlanChoice, PreviewFormat, Silence, Takes, TextUse,
};
pub use blanks::count_blanks;
pub use child::{Child, ChildOf, ChildOutcome};
pub use client::{Client, Hub, HubError, OpPermit, OpSender, SessionClosed, SessionInfo};
pub use clip::clip;
pub use completion::{
    Completion, CompletionItem, CompletionKind, CompletionRequest, MAX_COMPLETIONS,
};
pub use decision::Decision;
pub use door::{Card, Carried, Door, Guest};
pub use duration::{LONGEST_DURATION, parse_duration, seconds_of};
pub use entry::{
    Approval, Body, Break, Caller, Checkpoint, Compaction, DigestBy, Entry, EntryError, ErrorEntry,
    ForkedFrom, Goal, GoalState, Interrupted, Meta, Mode, Notice, Outcome, Rewind, Rewound, Saved,
    Todo, TodoItem, TodoState, ToolResult, ToolUse, TurnEnd, Usage, When,
};
pub use event::{Clients, Delta, DeltaSink, Doing, Event, QueuedPrompt, Reply, Task};
pub use json::Json;
pub use message::{Image, Message, Origin, Part, Replay, Role, Stop};
pub use op::{ATTACHED, ClientId, Delivery, Op, OpLine, ReplyTo, SentOp, command_of};
pub use open::Open;
pub use pictures::{
    MAX_OP_LINE, MAX_PICTURE, MAX_PICTURE_DATA, MAX_PICTURES_DATA, refuse_pictures,
};
pub use questions::Questions;
pub use secret::{REDACTED, Secret};
pub use settings::{HERE, Settings};
pub use shown::ShownEntry;
pub use snapshot::{RetryWait, RunningCall, Snapshot};
pub use subscription::{BoxFuture, EntrySource, Posted, Replies, Subscription};
pub use tool::{
    CallTitle, CallVerb, ResultForm, SERVER_TOOL_PREFIX, ToolDeclaration, ToolFact, ToolKind,
    ToolMaker, ToolMark, ToolSpec, is_server_tool,
};
pub use tricky::{
    Marked, escape_json, is_plain, marked, marked_piece, printable, printable_block,
    printable_piece, untricked,
};
pub use view::{
    Act, Action, Cell, Column, ColumnKind, CommandGroup, CommandInfo, Deed, Frame, Item, List,
    Report, Row, Table, View, cut_to_width, fit_columns, format_age, format_cost, format_share,
    format_size, one_line, pad_to_width, short_id, visible, widest_cells,
};
pub use why::{Say, Why};
pub use words::{AnyWord, Language, Word, thousands};

/// Version of the log's line format. Changes to it are additive; a reader skips types it does not know.
pub const SCHEMA_VERSION: u32 = 1;
