//! A list that a command answered with: type to search, arrows to choose, Enter does the first action, Tab the next ones.

use super::Step;
use super::choices::{Field, label_columns, line, moved, padded};
use crate::canvas::Canvas;
use crate::diff::Diff;
use crate::key::{Code, Key};
use crate::line::{Line, Span};
use crate::say;
use crate::screen::Frame;
use crate::text;
use crate::theme::Role;
use ostler_wire::{Act, Deed, List, Word};

/// Items shown at a time.
const MAX_SHOWN: usize = 12;
/// Items of a list that is not worth a search.
const FEW: usize = 4;
/// Rows that a list of looks takes beside its sample.
const ROWS_WITHOUT_SAMPLE: usize = 12;
/// What a look is shown with.
const SAMPLE_FILE: &str = "sample.rs";
const SAMPLE_OLD: &str = include_str!("sample_old.txt");
const SAMPLE_NEW: &str = include_str!("sample_new.txt");

#[derive(Debug)]
pub struct Picker {
    list: List,
    search: Field,
    /// Indices of the items that fit, best first.
    fits: Vec<usize>,
    chosen: usize,
    action: usize,
}

impl Picker {
    pub fn new(list: List) -> Self {
        let marked = list.items.iter().position(|item| item.marked);
        let mut picker = Self {
            list,
            search: Field::default(),
            fits: Vec::new(),
            chosen: 0,
            action: 0,
        };
        picker.sift();
        picker.chosen = marked.unwrap_or(0);
        picker
    }

    fn sift(&mut self) {
        let words: Vec<String> = self
            .list
            .items
            .iter()
            .map(|item| format!("{} {}", item.label, item.detail))
            .collect();
        self.fits = crate::fuzzy::sift(&self.search.text, &words);
        (self.chosen, self.action) = (0, 0);
    }

    /// What looks further for the typed words: the last row.
    fn deeper(&self) -> Option<Act> {
        let words = self.search.text.trim();
        let command = self.list.search.as_ref()?;
        (!words.is_empty()).then(|| Act::Command(format!("{command} {words}")))
    }

    fn rows(&self) -> usize {
        self.fits.len() + usize::from(self.deeper().is_some())
    }

    /// The theme that the cursor is at, in a list of themes.
    pub fn theme(&self) -> Option<&str> {
        let item = self.list.items.get(*self.fits.get(self.chosen)?)?;
        match &item.actions.first()?.act {
            Act::Do(Deed::Theme(name)) => Some(name),
            Act::Do(_) | Act::Command(_) => None,
        }
    }

    pub fn key(&mut self, key: Key) -> Step {
        if let Some(chosen) = moved(self.chosen, self.rows(), key) {
            self.chosen = chosen;
            let item = self.fits.get(chosen).and_then(|n| self.list.items.get(*n));
            // Who has chosen an action means it for the row they go to.
            let actions = item.map_or(1, |item| item.actions.len());
            self.action = self.action.min(actions.saturating_sub(1));
            return Step::Stay;
        }
        let item = self
            .fits
            .get(self.chosen)
            .and_then(|n| self.list.items.get(*n));
        match key.code {
            Code::Esc => Step::Close,
            Code::Char('c') if key.ctrl => Step::Close,
            Code::PageDown => {
                self.chosen = (self.chosen + MAX_SHOWN).min(self.rows().saturating_sub(1));
                Step::Stay
            }
            Code::PageUp => {
                self.chosen = self.chosen.saturating_sub(MAX_SHOWN);
                Step::Stay
            }
            Code::Tab => {
                let len = item.map_or(1, |i| i.actions.len().max(1));
                self.action = (self.action + 1) % len;
                Step::Stay
            }
            Code::Enter => match item.and_then(|i| i.actions.get(self.action)) {
                Some(action) => Step::Act(action.act.clone()),
                None => match self.deeper().filter(|_| item.is_none()) {
                    Some(act) => Step::Act(act),
                    None => Step::Close,
                },
            },
            _ => {
                if self.search.key(key) {
                    self.sift();
                }
                Step::Stay
            }
        }
    }

    pub fn paste(&mut self, text: &str) {
        self.search.push(text);
        self.sift();
    }

    pub fn frame(&self, canvas: &Canvas) -> Frame {
        let (shown, column) = self.search.shown(canvas.columns.saturating_sub(4));
        let mut top = canvas.line(format!("{} ", self.list.title), Role::Heading);
        top = text::cut(&top, canvas.columns / 2);
        let caret = (
            0,
            (top.width() + column).min(canvas.columns.saturating_sub(1)),
        );
        top.push(Span::plain(shown));
        let mut rows = vec![top];
        let labels = self.list.items.iter().map(|item| item.label.as_str());
        let columns = label_columns(labels, canvas);
        let has_mark = self.list.items.iter().any(|item| item.marked);
        let room = MAX_SHOWN.min(canvas.rows.saturating_sub(5)).max(1);
        let from = self.chosen.saturating_sub(room.saturating_sub(1));
        for (n, item) in self
            .fits
            .iter()
            .enumerate()
            .skip(from)
            .take(room)
            .filter_map(|(n, i)| Some((n, self.list.items.get(*i)?)))
        {
            let mark = match (item.marked, has_mark) {
                (true, _) => "● ",
                (false, true) => "  ",
                (false, false) => "",
            };
            let label = match item.detail.is_empty() {
                true => item.label.clone(),
                false => padded(&item.label, columns),
            };
            let label = format!("{mark}{label}");
            let line = line(canvas, n == self.chosen, &label, &item.detail);
            rows.push(text::cut(&line, canvas.columns));
        }
        if self.fits.is_empty() && self.deeper().is_none() {
            let said = match self.list.items.is_empty() && !self.list.empty.is_empty() {
                true => self.list.empty.as_str(),
                false => canvas.say(Word::NothingFits),
            };
            rows.push(canvas.line(said, Role::Faint));
        } else if self.fits.len() > from + room {
            let left = self.fits.len() - from - room;
            rows.push(canvas.line(say::more_rows(canvas.theme.language, left), Role::Faint));
        }
        if self.deeper().is_some() {
            let is_chosen = self.chosen == self.fits.len();
            rows.push(line(canvas, is_chosen, canvas.say(Word::LookDeeper), ""));
        }
        // A look is chosen by what it does to text and changes.
        if self.theme().is_some() {
            rows.extend(sample(canvas));
        }
        rows.push(self.keys(canvas));
        Frame {
            rows,
            caret: Some(caret),
        }
    }

    fn keys(&self, canvas: &Canvas) -> Line {
        let item = self
            .fits
            .get(self.chosen)
            .and_then(|n| self.list.items.get(*n));
        // A few that are all seen need no search.
        let is_short = self.list.items.len() <= FEW && self.list.search.is_none();
        let word = match is_short && self.search.text.is_empty() {
            true => Word::FewKeys,
            false => Word::PickKeys,
        };
        let mut line = canvas.line(canvas.say(word), Role::Faint);
        let actions = item.map_or(&[][..], |i| &i.actions);
        if actions.len() > 1 {
            line = canvas.line("enter ", Role::Faint);
            for (n, action) in actions.iter().enumerate() {
                if n > 0 {
                    line.push(canvas.span(" | ", Role::Faint));
                }
                line.push(match n == self.action {
                    true => canvas.span(format!("[{}]", action.label), Role::Accent),
                    false => canvas.span(action.label.clone(), Role::Faint),
                });
            }
            line.push(canvas.span(format!(" · {}", canvas.say(Word::ActionKeys)), Role::Faint));
        }
        text::cut(&line, canvas.columns)
    }
}

/// A little of everything, in the look that the cursor is at.
fn sample(canvas: &Canvas) -> Vec<Line> {
    let text = canvas.say(Word::ThemeSample);
    let mut rows = vec![Line::default()];
    rows.extend(crate::markdown::render(text, canvas.columns, &canvas.theme));
    let change = Diff::between(SAMPLE_OLD, SAMPLE_NEW).of_file(SAMPLE_FILE);
    rows.extend(change.rows(canvas.columns, &canvas.theme, MAX_SHOWN));
    rows.truncate(canvas.rows.saturating_sub(ROWS_WITHOUT_SAMPLE));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plain;
    use crate::theme::{Look, Theme};
    use ostler_wire::Language;

    #[test]
    fn a_list_of_looks_shows_what_each_does() {
        let picker = Picker::new(Look::list(Look::Dark, Language::English));
        let rows = |look: Look, rows: usize| {
            let canvas = Canvas {
                columns: 60,
                rows,
                theme: Theme::new(look),
            };
            picker.frame(&canvas).rows
        };
        let shown = plain(&rows(Look::Dark, 30));
        assert!(
            shown.contains("3 +     net - net * percent / 100"),
            "{shown}"
        );
        assert_ne!(rows(Look::Dark, 30), rows(Look::Light, 30));
        assert!(!plain(&rows(Look::Dark, 10)).contains("percent"));
    }
}
