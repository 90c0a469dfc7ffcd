//! What a session is shown as: one cell per thing that happened, each of which gives its rows for a width, a look and a
//! fold. Cells hold what came over the wire and nothing of the screen; they do no I/O.

mod approval;
mod assistant;
mod error;
mod folded;
mod image;
mod job;
mod lines;
mod notice;
mod reasoning;
mod retry;
#[cfg(test)]
mod tests;
mod todo;
mod tool;
mod turn;
mod user;

pub use approval::Approved;
pub use assistant::Assistant;
pub use error::Failure;
pub use folded::Folded;
pub use image::Picture;
pub use job::{Job, JobState};
pub use notice::{Notice, Tone};
pub use reasoning::Reasoning;
pub use retry::Retry;
pub use todo::TodoList;
pub use tool::{Lookups, State as ToolState, Summary, Tail, Tool};
pub use turn::Turn;
pub use user::User;

use crate::line::Line;
use crate::rows::MIN_COLUMNS;
use crate::say;
use crate::theme::{Role, Theme};
use ostler_wire::{Body, Language, Part, Role as Speaker};

/// Rows of one cell that is shown whole; the rest is counted.
pub const MAX_OPEN_ROWS: usize = 5_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// As the transcript shows it.
    Closed,
    /// With everything, as the pager shows it.
    Open,
}

#[derive(Clone, Debug)]
pub enum Cell {
    User(User),
    Assistant(Assistant),
    Reasoning(Reasoning),
    Tool(Box<Tool>),
    Lookups(Lookups),
    Todo(TodoList),
    Notice(Notice),
    Failure(Failure),
    Retry(Retry),
    Turn(Turn),
    Approved(Approved),
    Job(Job),
    Picture(Picture),
    Folded(Folded),
}

impl Cell {
    /// What an entry of the log is shown as. A tool's result belongs to the cell of its call, and usage to that of its
    /// turn, so they have none of their own.
    pub fn of(body: &Body, to: Language) -> Vec<Self> {
        match body {
            Body::Message(message) => match message.role {
                Speaker::User => vec![Self::User(User::from(message))],
                Speaker::System => Vec::new(),
                Speaker::Assistant => {
                    let thought = message.parts.iter().filter_map(|part| match part {
                        Part::Reasoning { text, .. } if !text.trim().is_empty() => {
                            Some(Self::Reasoning(Reasoning::thought(text.clone(), None)))
                        }
                        Part::Reasoning { .. } | Part::Text { .. } | Part::Call { .. } => None,
                    });
                    let said = Assistant::from(message);
                    thought
                        .chain((!said.is_empty()).then_some(Self::Assistant(said)))
                        .collect()
                }
            },
            Body::ToolUse(call) => vec![Self::Tool(Box::new(Tool::new(call)))],
            Body::Approval(approval) => vec![Self::Approved(approval.clone().into())],
            Body::Todo(todo) => vec![Self::Todo(todo.clone().into())],
            Body::Notice(notice) => vec![Self::Notice(Notice::new(&notice.text))],
            Body::Error(error) => vec![Self::Failure(error.clone().into())],
            Body::Interrupted(_) => vec![Self::Notice(Notice::interrupted(to))],
            Body::Settings(settings) => Notice::settings(settings, to).map(Self::Notice).collect(),
            Body::Mode(mode) => Notice::mode(mode, to)
                .map(Self::Notice)
                .into_iter()
                .collect(),
            Body::TurnEnd(end) => Notice::outcome(end.outcome, to)
                .map(Self::Notice)
                .into_iter()
                .collect(),
            Body::Compaction(compaction) => vec![Self::Folded(compaction.clone().into())],
            Body::Meta(_)
            | Body::ToolResult(_)
            | Body::Usage(_)
            | Body::Child(_)
            | Body::Checkpoint(_)
            | Body::Rewind(_) => Vec::new(),
        }
    }

    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        let columns = columns.max(MIN_COLUMNS);
        let mut rows = match self {
            Self::User(cell) => cell.rows(columns, theme, fold),
            Self::Assistant(cell) => cell.rows(columns, theme, fold),
            Self::Reasoning(cell) => cell.rows(columns, theme, fold),
            Self::Tool(cell) => cell.rows(columns, theme, fold),
            Self::Lookups(cell) => cell.rows(columns, theme, fold),
            Self::Todo(cell) => cell.rows(columns, theme, fold),
            Self::Notice(cell) => cell.rows(columns, theme, fold),
            Self::Failure(cell) => cell.rows(columns, theme, fold),
            Self::Retry(cell) => cell.rows(columns, theme, fold),
            Self::Turn(cell) => cell.rows(columns, theme, fold),
            Self::Approved(cell) => cell.rows(columns, theme, fold),
            Self::Job(cell) => cell.rows(columns, theme, fold),
            Self::Picture(cell) => cell.rows(columns, theme, fold),
            Self::Folded(cell) => cell.rows(columns, theme, fold),
        };
        // What the model says is bounded by its blocks and printed as it comes; here it is only looked at.
        if let Some(more @ 1..) = rows.len().checked_sub(MAX_OPEN_ROWS) {
            rows.truncate(MAX_OPEN_ROWS);
            rows.push(Line::new(
                say::more_lines(theme.language, more),
                theme.style(Role::Faint),
            ));
        }
        rows
    }
}
