//! Splits text that carries its reasoning between tags, delta by delta.

use crate::ThinkTags;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

pub(super) enum Piece {
    Text(String),
    Reasoning(String),
}

pub(super) struct Tags {
    state: State,
    /// The end of the text so far, as long as it may be the beginning of a tag.
    held: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only white space so far, and the opening tag may come. With `true` its absence means reasoning all the same.
    Start(bool),
    Inside,
    /// The closing tag has just come: white space after it is not part of the text.
    Closed,
    Outside,
}

impl Tags {
    pub(super) fn new(mode: ThinkTags) -> Self {
        let state = match mode {
            ThinkTags::Off => State::Outside,
            ThinkTags::Tagged => State::Start(false),
            ThinkTags::Implied => State::Start(true),
        };
        Self {
            state,
            held: String::new(),
        }
    }

    /// True when no tag can come any more: all that follows is text.
    pub(super) fn are_over(&self) -> bool {
        self.state == State::Outside
    }

    pub(super) fn push(&mut self, more: String, mut emit: impl FnMut(Piece)) {
        if self.are_over() {
            return emit(Piece::Text(more));
        }
        self.held.push_str(&more);
        loop {
            let before = (self.state, self.held.len());
            self.step(&mut emit);
            if self.held.is_empty() || before == (self.state, self.held.len()) {
                return;
            }
        }
    }

    /// Gives out what was held back in case it was a tag.
    pub(super) fn end(&mut self, mut emit: impl FnMut(Piece)) {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        match self.state {
            State::Inside | State::Start(true) => emit(Piece::Reasoning(held)),
            State::Start(false) | State::Closed | State::Outside => emit(Piece::Text(held)),
        }
    }

    fn step(&mut self, emit: &mut impl FnMut(Piece)) {
        match self.state {
            State::Start(implied) => {
                let start = self.held.trim_start();
                if let Some(rest) = start.strip_prefix(OPEN) {
                    self.held = rest.to_owned();
                    self.state = State::Inside;
                } else if !OPEN.starts_with(start) {
                    self.state = if implied {
                        State::Inside
                    } else {
                        State::Outside
                    };
                }
            }
            State::Inside => {
                if let Some((reasoning, rest)) = self.held.split_once(CLOSE) {
                    if !reasoning.is_empty() {
                        emit(Piece::Reasoning(reasoning.to_owned()));
                    }
                    self.held = rest.to_owned();
                    self.state = State::Closed;
                } else {
                    let keep = (1..CLOSE.len())
                        .rev()
                        .find(|n| self.held.ends_with(&CLOSE[..*n]));
                    let rest = self.held.split_off(self.held.len() - keep.unwrap_or(0));
                    let reasoning = std::mem::replace(&mut self.held, rest);
                    if !reasoning.is_empty() {
                        emit(Piece::Reasoning(reasoning));
                    }
                }
            }
            State::Closed => {
                self.held = self.held.trim_start().to_owned();
                if !self.held.is_empty() {
                    self.state = State::Outside;
                }
            }
            State::Outside => emit(Piece::Text(std::mem::take(&mut self.held))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(mode: ThinkTags, deltas: &[&str]) -> (String, String) {
        let (mut reasoning, mut text) = (String::new(), String::new());
        let mut tags = Tags::new(mode);
        let mut emit = |piece| match piece {
            Piece::Reasoning(more) => reasoning += &more,
            Piece::Text(more) => text += &more,
        };
        for delta in deltas {
            tags.push((*delta).to_owned(), &mut emit);
        }
        tags.end(&mut emit);
        (reasoning, text)
    }

    #[test]
    fn tags_are_found_however_the_text_is_cut() {
        use ThinkTags::*;
        for (mode, whole, reasoning, text) in [
            (Tagged, "<think>a < b</think>\n\nyes", "a < b", "yes"),
            (Tagged, "\n<think>\nhm</think>", "\nhm", ""),
            (
                Tagged,
                "no <think>tags</think>",
                "",
                "no <think>tags</think>",
            ),
            (Tagged, "<thin ice", "", "<thin ice"),
            (
                Tagged,
                "<think>never closed </thi",
                "never closed </thi",
                "",
            ),
            (Tagged, "<think></think>", "", ""),
            (Tagged, "  ", "", "  "),
            (Implied, "hm</think> yes </think>", "hm", "yes </think>"),
            (Implied, "<think>hm</think>yes", "hm", "yes"),
            (Off, "<think>hm</think>", "", "<think>hm</think>"),
        ] {
            let expect = (reasoning.to_owned(), text.to_owned());
            assert_eq!(split(mode, &[whole]), expect, "{whole}");
            let letters: Vec<String> = whole.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(split(mode, &letters), expect, "{whole} by letters");
        }
    }
}
