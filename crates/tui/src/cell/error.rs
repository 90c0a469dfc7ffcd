//! Something failed: what, why, and in the open form everything that is known.

use super::{Fold, lines};
use crate::line::{Line, Span};
use crate::rows::{self, spaces};
use crate::say;
use crate::text;
use crate::theme::{Role, Theme};
use ostler_wire::{ErrorEntry, Json};

/// Lines of the message that the transcript shows.
const FOLDED: usize = 12;

#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub kind: String,
    pub message: String,
    pub details: Option<Json>,
}

impl From<ErrorEntry> for Failure {
    fn from(error: ErrorEntry) -> Self {
        Self {
            kind: error.kind,
            message: error.message,
            details: error.details,
        }
    }
}

impl Failure {
    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        let style = theme.style(Role::Error);
        let known = self
            .details
            .as_ref()
            .map(Json::to_value)
            .unwrap_or_default();
        let title: Line = [
            Span::new("✗ ", style),
            Span::new(
                say::error_head(theme.language, &self.kind, &known),
                theme.style(Role::Strong).with(style),
            ),
        ]
        .into_iter()
        .collect();
        let count = match fold {
            Fold::Closed => FOLDED,
            Fold::Open => usize::MAX,
        };
        let message = lines::head(
            &self.message,
            count,
            style,
            columns.saturating_sub(2),
            theme,
        );
        let mut out = vec![text::cut(&title, columns)];
        out.extend(rows::indent(message, &spaces(2), &spaces(2)));
        if let (Fold::Open, Some(details)) = (fold, &self.details) {
            let pretty = serde_json::to_string_pretty(&details.to_value()).unwrap_or_default();
            out.extend(lines::all(&pretty, theme.style(Role::Faint), columns));
        }
        out
    }
}
