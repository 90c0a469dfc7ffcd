//! What was sent before: walking through it, and looking in it for a few letters. Does no I/O: texts come in and go out as
//! values.

use super::piece::{Content, Piece};
use std::{collections::VecDeque, ops::Range};

const MAX_ENTRIES: usize = 1_000;
const MAX_BYTES: usize = 1 << 20;
/// An entry with more loses its pastes.
const MAX_ENTRY_BYTES: usize = 256 << 10;
const MAX_QUERY: usize = 200;

/// Newest last.
#[derive(Debug, Default)]
pub struct History {
    entries: VecDeque<Piece>,
    /// The last entry with all that the list does not keep, so that a failed prompt can be sent again.
    newest: Option<Piece>,
    bytes: usize,
    browsing: Option<Browsing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Older,
    Newer,
}

#[derive(Debug)]
struct Browsing {
    index: usize,
    draft: Piece,
}

impl History {
    pub fn new(texts: Vec<String>) -> Self {
        let mut history = Self::default();
        for text in texts {
            history.push(&Piece::plain(text));
        }
        history
    }

    /// For the next time: pastes written out.
    pub fn texts(&self) -> Vec<String> {
        self.entries.iter().map(Piece::expand).collect()
    }

    pub fn push(&mut self, piece: &Piece) {
        self.browsing = None;
        // Pictures are not kept for long, and a label without its picture would lie.
        let mut entry = piece.without(|chip| matches!(chip.content, Content::Image(_)));
        if entry.weight() > MAX_ENTRY_BYTES {
            entry = entry.without(|_| true);
        }
        if entry.text().trim().is_empty() || entry.weight() > MAX_ENTRY_BYTES {
            return;
        }
        self.newest = (entry != *piece).then(|| piece.clone());
        if self.entries.back() == Some(&entry) {
            return;
        }
        self.bytes += entry.weight();
        self.entries.push_back(entry);
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let oldest = self.entries.pop_front();
            self.bytes -= oldest.map_or(self.bytes, |entry| entry.weight());
        }
    }

    pub fn step(&mut self, step: Step, shown: &Piece) -> Option<Piece> {
        match step {
            Step::Older => self.older(shown),
            Step::Newer => self.newer(),
        }
    }

    /// The entry before the one shown; the draft is kept for the way back.
    fn older(&mut self, draft: &Piece) -> Option<Piece> {
        let index = match &self.browsing {
            Some(browsing) => browsing.index.checked_sub(1)?,
            None => self.entries.len().checked_sub(1)?,
        };
        let entry = self.get(index)?;
        match &mut self.browsing {
            Some(browsing) => browsing.index = index,
            None => {
                let draft = draft.clone();
                self.browsing = Some(Browsing { index, draft });
            }
        }
        Some(entry)
    }

    /// The entry after the one shown; after the last, the draft.
    fn newer(&mut self) -> Option<Piece> {
        let browsing = self.browsing.as_mut()?;
        browsing.index += 1;
        let index = browsing.index;
        self.get(index)
            .or_else(|| self.browsing.take().map(|browsing| browsing.draft))
    }

    fn get(&self, index: usize) -> Option<Piece> {
        let entry = self.entries.get(index)?;
        let whole = self.newest.as_ref();
        Some(match whole.filter(|_| index + 1 == self.entries.len()) {
            Some(whole) => whole.clone(),
            None => entry.clone(),
        })
    }

    pub fn is_browsing(&self) -> bool {
        self.browsing.is_some()
    }

    /// What is shown was changed, so it is the draft now.
    pub fn leave(&mut self) {
        self.browsing = None;
    }
}

/// Looking back for letters. Small letters match large ones.
#[derive(Debug, Default)]
pub struct Search {
    query: String,
    hit: Option<Hit>,
}

#[derive(Debug)]
pub struct Hit {
    pub piece: Piece,
    pub range: Range<usize>,
    index: usize,
}

impl Search {
    pub fn query(&self) -> &str {
        &self.query
    }

    pub fn hit(&self) -> Option<&Hit> {
        self.hit.as_ref()
    }

    pub fn into_hit(self) -> Option<Piece> {
        self.hit.map(|hit| hit.piece)
    }

    /// One more letter: the hit stays if it still matches.
    pub fn push(&mut self, history: &History, letters: &str) {
        // What has not the first letters has not them all.
        let is_hopeless = self.hit.is_none() && !self.query.is_empty();
        let room = MAX_QUERY.saturating_sub(self.query.chars().count());
        let letters = letters.chars().filter(|c| !c.is_control());
        self.query.extend(letters.take(room));
        if !is_hopeless {
            let from = self.hit.as_ref().map(|hit| hit.index + 1);
            self.hit = self.find(history, from, None);
        }
    }

    /// One letter less, from the newest entry again. Whether there was one.
    pub fn pop(&mut self, history: &History) -> bool {
        let had = self.query.pop().is_some();
        self.hit = self.find(history, None, None);
        had
    }

    /// An older entry with another text, if there is one.
    pub fn older(&mut self, history: &History) -> bool {
        let Some(now) = &self.hit else {
            return false;
        };
        let found = self.find(history, Some(now.index), Some(now.piece.text()));
        let is_found = found.is_some();
        self.hit = found.or(self.hit.take());
        is_found
    }

    fn find(&self, history: &History, before: Option<usize>, not: Option<&str>) -> Option<Hit> {
        if self.query.is_empty() {
            return None;
        }
        let before = before.unwrap_or(usize::MAX);
        let entries = history.entries.iter().enumerate().take(before).rev();
        entries
            .filter(|(_, piece)| not != Some(piece.text()))
            .find_map(|(index, piece)| {
                let range = find(piece.text(), &self.query)?;
                let piece = piece.clone();
                Some(Hit {
                    piece,
                    range,
                    index,
                })
            })
    }
}

fn find(text: &str, query: &str) -> Option<Range<usize>> {
    if query.chars().any(char::is_uppercase) {
        return text.find(query).map(|at| at..at + query.len());
    }
    let first = query.chars().next();
    let starts = text
        .char_indices()
        .filter(|(_, c)| first.is_none_or(|first| is_small(first, *c)));
    starts.map(|(at, _)| at).find_map(|at| {
        let mut chars = text.get(at..)?.chars();
        let mut is_next = |small| chars.next().is_some_and(|c| is_small(small, c));
        let is_all = query.chars().all(&mut is_next);
        is_all.then(|| at..text.len() - chars.as_str().len())
    })
}

/// Whether `small` is the small letter of `c`, or `c` itself.
fn is_small(small: char, c: char) -> bool {
    c == small
        || match c.is_ascii() {
            true => c.to_ascii_lowercase() == small,
            false => c.is_uppercase() && c.to_lowercase().eq([small]),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn texts(history: &History) -> Vec<String> {
        history.texts()
    }

    #[test]
    fn it_is_bounded_and_says_nothing_twice() {
        let mut history = History::new(["a", "a", "b", " ", "a"].map(String::from).to_vec());
        assert_eq!(texts(&history), ["a", "b", "a"]);
        for i in 0..2_000 {
            history.push(&Piece::plain(i.to_string()));
        }
        assert_eq!(history.entries.len(), MAX_ENTRIES);
        assert_eq!(texts(&history).last().map(String::as_str), Some("1999"));
        for i in 0..20 {
            history.push(&Piece::plain(format!("{i}").repeat(100_000)));
        }
        assert!(history.bytes <= MAX_BYTES && history.entries.len() > 3);
    }

    #[test]
    fn what_is_too_large_is_left_out() {
        let mut history = History::default();
        let mut piece = Piece::plain("look at ");
        piece.push(&Piece::chip(
            "[big]",
            Content::Text("x".repeat(MAX_BYTES).into()),
        ));
        history.push(&piece);
        let image = ostler_wire::Image {
            media_type: "image/png".into(),
            data: String::new(),
        };
        let mut piece = Piece::plain("and ");
        piece.push(&Piece::chip("[image]", Content::Image(Arc::new(image))));
        history.push(&piece);
        let mut piece = Piece::plain("small ");
        piece.push(&Piece::chip("[chip]", Content::Text("paste".into())));
        history.push(&piece);
        assert_eq!(texts(&history), ["look at ", "and ", "small paste"]);
    }

    #[test]
    fn letters_are_found_whatever_their_size() {
        for (text, query, expect) in [
            ("Fix The build", "the", Some(4..7)),
            ("Fix The build", "The", Some(4..7)),
            ("fix the build", "The", None),
            ("ÄRGER", "ärg", Some(0..4)),
            ("x", "", Some(0..0)),
        ] {
            assert_eq!(find(text, query), expect, "{text} {query}");
        }
    }
}
