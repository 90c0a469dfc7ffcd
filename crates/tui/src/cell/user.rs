//! What the person said. Long texts, which were mostly pasted, are folded; pictures are named.

use super::{Fold, lines};
use crate::line::Line;
use crate::rows::{self, spaces};
use crate::say;
use crate::theme::{Role, Theme};
use ostler_wire::{Message, Word};

/// Lines of a message that the transcript shows: its beginning and its end, where what was asked about a paste mostly stands.
const FOLDED: usize = 20;
const BEGINNING: usize = 8;
const END: usize = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// As it is to be shown: a front end may have put names where something was pasted.
    pub text: String,
    /// The command that it stands for: all that the transcript shows.
    pub typed: Option<String>,
    /// Names of pictures.
    pub images: Vec<String>,
    /// What rode along, which only the open form shows.
    pub context: Option<String>,
}

impl From<&Message> for User {
    fn from(message: &Message) -> Self {
        let images = message.images.iter().map(|image| {
            // Four characters of base64 are three bytes.
            let bytes = image.data.len() as u64 / 4 * 3;
            format!("{}, {}", image.media_type, say::size(bytes))
        });
        Self {
            text: message.text.clone(),
            typed: message.typed.clone(),
            images: images.collect(),
            context: message.context.clone(),
        }
    }
}

impl User {
    /// A slash command.
    pub fn command(line: &str) -> Self {
        Self {
            text: format!("/{line}"),
            ..Self::default()
        }
    }

    pub fn rows(&self, columns: usize, theme: &Theme, fold: Fold) -> Vec<Line> {
        let style = theme.style(Role::User);
        let width = columns.saturating_sub(2);
        let count = match fold {
            Fold::Closed => FOLDED,
            Fold::Open => usize::MAX,
        };
        let text = match (fold, &self.typed) {
            (Fold::Closed, Some(typed)) => typed.clone(),
            (Fold::Open, Some(typed)) => format!("{typed}\n\n{}", self.text),
            (Fold::Closed | Fold::Open, None) => self.text.clone(),
        };
        let total = text.lines().count();
        let mut said = match total > count {
            true => lines::ends(&text, (BEGINNING, END), style, width, theme),
            false => lines::head(&text, count, style, width, theme),
        };
        for name in &self.images {
            said.extend(rows::prose(
                &say::image(theme.language, name),
                theme.style(Role::Accent),
                width,
            ));
        }
        let mut out = rows::indent(said, &Line::new("› ", style), &spaces(2));
        if let (Fold::Open, Some(context)) = (fold, &self.context) {
            let note = theme.language.say(Word::ContextSent);
            let size = say::size(context.len() as u64);
            let text = format!("{note} ({size})");
            out.push(lines::cut(&text, theme.style(Role::Faint), columns));
        }
        out
    }
}
