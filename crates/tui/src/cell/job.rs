//! News of a background job.

use super::{Fold, lines};
use crate::line::{Line, Span};
use crate::theme::{Role, Theme};
use crate::{rows, say, text};

/// Bytes of a name or command that a row can show the beginning of.
const MAX_SHOWN: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: String,
    pub command: String,
    pub state: JobState,
    /// What it said last.
    pub tail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    Running,
    Exited(i64),
    Killed,
}

impl Job {
    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        let id = rows::head(&self.id, MAX_SHOWN);
        let (mark, role, what) = match self.state {
            JobState::Running => ("○ ", Role::Tool, say::job_runs(theme.language, id)),
            JobState::Exited(0) => ("● ", Role::Good, say::job_ended(theme.language, id, 0)),
            JobState::Exited(code) => ("✗ ", Role::Error, say::job_ended(theme.language, id, code)),
            JobState::Killed => ("⊘ ", Role::Warning, say::job_killed(theme.language, id)),
        };
        let command = rows::head(&self.command, MAX_SHOWN);
        let command = command.lines().next().unwrap_or_default();
        let title: Line = [
            Span::new(mark, theme.style(role)),
            Span::plain(what),
            Span::new(format!("  {command}"), theme.style(Role::Faint)),
        ]
        .into_iter()
        .collect();
        let mut out = vec![text::cut(&title, columns)];
        if fold == Fold::Open {
            out.extend(lines::all(&self.tail, theme.style(Role::Faint), columns));
        }
        out
    }
}
