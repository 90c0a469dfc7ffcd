//! A text in which some stretches stand for something longer: a paste, a picture, a mention. Such a chip is one unit, as a
//! grapheme is. The text is what is shown; [`Piece::expand`] is what is meant. Knows no caret.

use crate::text::visible;
use ostler_wire::Image;
use std::{ops::Range, sync::Arc};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    text: String,
    /// In the order of the text, apart from each other, none empty.
    chips: Vec<Chip>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chip {
    pub range: Range<usize>,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(Arc<str>),
    /// Its label stays in the text that is sent, so that the words around can point to it.
    Image(Arc<Image>),
}

impl Piece {
    /// Line breaks of any kind become one newline each; all else stays.
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: one_kind_of_break(text.into()),
            chips: Vec::new(),
        }
    }

    pub fn chip(label: &str, content: Content) -> Self {
        let label = match label {
            "" => "[]".to_owned(),
            label => visible(label.to_owned()),
        };
        let range = 0..label.len();
        Self {
            text: label,
            chips: vec![Chip { range, content }],
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn chips(&self) -> &[Chip] {
        &self.chips
    }

    pub fn len(&self) -> usize {
        self.text.len()
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Bytes that it keeps in memory.
    pub fn weight(&self) -> usize {
        let held = self.chips.iter().map(|chip| match &chip.content {
            Content::Text(text) => text.len(),
            Content::Image(image) => image.data.len(),
        });
        self.text.len() + held.sum::<usize>()
    }

    /// The text with every chip replaced by what it stands for.
    pub fn expand(&self) -> String {
        let mut out = String::with_capacity(self.weight());
        let mut from = 0;
        for chip in &self.chips {
            out.push_str(self.get(from..chip.range.start));
            match &chip.content {
                Content::Text(text) => out.push_str(text),
                Content::Image(_) => out.push_str(self.get(chip.range.clone())),
            }
            from = chip.range.end;
        }
        out.push_str(self.get(from..self.len()));
        out
    }

    /// Each picture once, in the order of the text.
    pub fn images(&self) -> Vec<Image> {
        let mut seen: Vec<&Arc<Image>> = Vec::new();
        for chip in &self.chips {
            if let Content::Image(image) = &chip.content
                && !seen.iter().any(|other| Arc::ptr_eq(other, image))
            {
                seen.push(image);
            }
        }
        seen.into_iter().map(|image| (**image).clone()).collect()
    }

    /// Without the chips that `drop` names, and without their labels.
    pub fn without(&self, drop: impl Fn(&Chip) -> bool) -> Self {
        let mut out = self.clone();
        for chip in self.chips.iter().rev().filter(|chip| drop(chip)) {
            out.splice(chip.range.clone(), &Self::default());
        }
        out
    }

    /// Text of a range, empty where there is none.
    pub fn get(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    pub fn slice(&self, range: Range<usize>) -> Self {
        let range = self.widen(range);
        let chips = self
            .chips
            .iter()
            .filter(|c| range.start <= c.range.start && c.range.end <= range.end)
            .map(|c| c.moved_back(range.start));
        Self {
            chips: chips.collect(),
            text: self.get(range.clone()).to_owned(),
        }
    }

    /// Puts `new` in the place of a range and gives what was there.
    pub fn splice(&mut self, range: Range<usize>, new: &Self) -> Self {
        let range = self.widen(range);
        let old = self.slice(range.clone());
        let first = self.chips.partition_point(|c| c.range.end <= range.start);
        let behind = self.chips.split_off(first);
        let moved_in = new.chips.iter().map(|c| c.moved_on(range.start));
        self.chips.extend(moved_in);
        let behind = behind.iter().filter(|c| c.range.start >= range.end);
        self.chips
            .extend(behind.map(|c| c.moved_back(range.end).moved_on(range.start + new.len())));
        self.text.replace_range(range, &new.text);
        old
    }

    pub fn push(&mut self, other: &Self) {
        self.splice(self.len()..self.len(), other);
    }

    /// The range with whole characters and whole chips, within the text. An empty one stays empty.
    pub fn widen(&self, range: Range<usize>) -> Range<usize> {
        let start = floor(&self.text, range.start);
        let within = |at| self.chip_over(at).map(|chip| chip.range.clone());
        let first = within(start).map_or(start, |chip| chip.start);
        if range.end <= range.start {
            return first..first;
        }
        let end = ceil(&self.text, range.end);
        first..within(end).map_or(end, |chip| chip.end)
    }

    pub fn chip_at(&self, at: usize) -> Option<&Chip> {
        let chip = self.chip_not_before(at)?;
        (chip.range.start == at).then_some(chip)
    }

    /// The chip that a place is inside of, not at an edge of.
    pub fn chip_over(&self, at: usize) -> Option<&Chip> {
        let chip = self.chip_not_before(at)?;
        (chip.range.start < at).then_some(chip)
    }

    fn chip_not_before(&self, at: usize) -> Option<&Chip> {
        let index = self.chips.partition_point(|c| c.range.end <= at);
        self.chips.get(index)
    }

    /// The stretch without chips in which a place is.
    fn stretch(&self, at: usize) -> Range<usize> {
        let index = self.chips.partition_point(|c| c.range.end <= at);
        let before = index.checked_sub(1).and_then(|i| self.chips.get(i));
        let start = before.map_or(0, |c| c.range.end);
        let end = self.chips.get(index).map_or(self.len(), |c| c.range.start);
        start..end.max(start)
    }

    /// The border after this one. The end stays the end.
    pub fn next(&self, at: usize) -> usize {
        if let Some(chip) = self.chip_not_before(at)
            && chip.range.start <= at
        {
            return chip.range.end;
        }
        let stretch = self.stretch(at);
        let text = self.get(stretch.clone());
        let from = ceil(text, at - stretch.start);
        let mut cursor = GraphemeCursor::new(from, text.len(), true);
        match cursor.next_boundary(text, 0) {
            Ok(Some(next)) => stretch.start + next,
            Ok(None) | Err(_) => stretch.end,
        }
    }

    pub fn prev(&self, at: usize) -> usize {
        let at = at.min(self.len());
        let index = self.chips.partition_point(|c| c.range.start < at);
        let before = index.checked_sub(1).and_then(|i| self.chips.get(i));
        let start = match before {
            Some(chip) if chip.range.end >= at => return chip.range.start,
            Some(chip) => chip.range.end,
            None => 0,
        };
        let text = self.get(start..self.stretch(at).end.max(at));
        let from = floor(text, at - start);
        let mut cursor = GraphemeCursor::new(from, text.len(), true);
        match cursor.prev_boundary(text, 0) {
            Ok(Some(prev)) => start + prev,
            Ok(None) | Err(_) => start,
        }
    }

    /// Whether a caret may stand here.
    pub fn is_border(&self, at: usize) -> bool {
        if at > self.len() || self.chip_over(at).is_some() || !self.text.is_char_boundary(at) {
            return false;
        }
        let stretch = self.stretch(at);
        let text = self.get(stretch.clone());
        match at.checked_sub(stretch.start) {
            Some(within) if within <= text.len() => GraphemeCursor::new(within, text.len(), true)
                .is_boundary(text, 0)
                .unwrap_or(true),
            Some(_) | None => true,
        }
    }

    /// This place, or the next one where a caret may stand.
    pub fn snap(&self, at: usize) -> usize {
        let at = ceil(&self.text, at);
        match self.is_border(at) {
            true => at,
            false => self.next(at),
        }
    }

    /// The line around a place, without its newline.
    pub fn line(&self, at: usize) -> Range<usize> {
        let at = floor(&self.text, at);
        let start = self.get(0..at).rfind('\n').map_or(0, |i| i + 1);
        let rest = self.get(at..self.len());
        start..rest.find('\n').map_or(self.len(), |i| at + i)
    }

    /// Every unit that begins in a range. A chip that the range cuts gives the part within.
    pub fn units(&self, range: Range<usize>) -> impl Iterator<Item = Unit<'_>> {
        let mut at = range.start;
        let mut stretch_end = at;
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            if at >= stretch_end {
                let chip = self.chip_not_before(at).map(|chip| chip.range.clone());
                let next = chip.unwrap_or(self.len()..self.len());
                if next.start <= at {
                    let text = self.get(at..next.end.min(range.end));
                    at += text.len();
                    let is_chip = true;
                    return Some(Unit {
                        text,
                        end: at,
                        is_chip,
                    })
                    .filter(|unit| !unit.text.is_empty());
                }
                stretch_end = next.start.min(range.end);
            }
            let text = first_grapheme(self.get(at..stretch_end));
            at += text.len();
            let is_chip = false;
            Some(Unit {
                text,
                end: at,
                is_chip,
            })
            .filter(|unit| !unit.text.is_empty())
        })
    }
}

/// A grapheme or a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit<'a> {
    pub text: &'a str,
    pub end: usize,
    pub is_chip: bool,
}

impl Unit<'_> {
    pub fn start(&self) -> usize {
        self.end - self.text.len()
    }
}

impl Chip {
    fn moved_on(&self, by: usize) -> Self {
        Self {
            range: self.range.start + by..self.range.end + by,
            content: self.content.clone(),
        }
    }

    fn moved_back(&self, by: usize) -> Self {
        Self {
            range: self.range.start - by..self.range.end - by,
            content: self.content.clone(),
        }
    }
}

fn first_grapheme(text: &str) -> &str {
    match text.as_bytes() {
        // Nothing joins two of these, as there is no carriage return. Most texts are made of them.
        [a, b, ..] if a.is_ascii() && b.is_ascii() => text.get(..1).unwrap_or_default(),
        _ => text.graphemes(true).next().unwrap_or_default(),
    }
}

fn one_kind_of_break(text: String) -> String {
    let mut parts = text.split('\r');
    let first = parts.next().unwrap_or_default();
    if first.len() == text.len() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    out.push_str(first);
    for part in parts {
        out.push('\n');
        out.push_str(part.strip_prefix('\n').unwrap_or(part));
    }
    out
}

fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|i| text.is_char_boundary(*i))
        .unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (at..text.len())
        .find(|i| text.is_char_boundary(*i))
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chip(label: &str, text: &str) -> Piece {
        Piece::chip(label, Content::Text(text.into()))
    }

    /// `{label=text}` is a chip.
    fn piece(pattern: &str) -> Piece {
        let mut out = Piece::default();
        for part in pattern.split_inclusive('}') {
            let (plain, rest) = part.split_once('{').unwrap_or((part, ""));
            out.push(&Piece::plain(plain));
            if let Some((label, text)) = rest.trim_end_matches('}').split_once('=') {
                out.push(&chip(label, text));
            }
        }
        out
    }

    #[test]
    fn chips_move_with_the_text_and_expand() {
        for (start, range, new, shown, whole) in [
            ("ab", 1..1, "x", "axb", "axb"),
            ("a{P=long}b", 0..0, "x", "xaPb", "xalongb"),
            ("a{P=long}b", 1..1, "x", "axPb", "axlongb"),
            ("a{P=long}b", 2..2, "x", "aPxb", "alongxb"),
            ("a{P=long}b", 1..2, "", "ab", "ab"),
            ("a{PPP=long}b", 2..2, "x", "axPPPb", "axlongb"),
            ("a{PPP=long}b", 2..3, "x", "axb", "axb"),
            ("{P=one}{Q=two}", 1..1, "{R=three}", "PRQ", "onethreetwo"),
            ("{P=one}{Q=two}", 0..1, "é", "éQ", "étwo"),
            ("é", 1..1, "x", "xé", "xé"),
            ("ab", 7..9, "x", "abx", "abx"),
        ] {
            let mut got = piece(start);
            got.splice(range.clone(), &piece(new));
            let name = format!("{start} {range:?} {new}");
            assert_eq!(
                (got.text(), got.expand().as_str()),
                (shown, whole),
                "{name}"
            );
        }
    }

    #[test]
    fn units_are_graphemes_and_chips() {
        let text = piece("e\u{301}{LL=x}\u{301}👩‍👩‍👧\n中");
        let mut forth = vec![0];
        while let Some(at) = forth.last().filter(|at| **at < text.len()) {
            forth.push(text.next(*at));
        }
        let mut back = vec![text.len()];
        while let Some(at) = back.last().filter(|at| **at > 0) {
            back.push(text.prev(*at));
        }
        back.reverse();
        assert_eq!(forth, back);
        let units: Vec<&str> = text.units(0..text.len()).map(|u| u.text).collect();
        assert_eq!(units, ["e\u{301}", "LL", "\u{301}", "👩‍👩‍👧", "\n", "中"]);
        let borders: Vec<usize> = (0..=text.len()).filter(|at| text.is_border(*at)).collect();
        assert_eq!(borders, forth);
    }

    #[test]
    fn breaks_are_of_one_kind() {
        assert_eq!(Piece::plain("a\r\nb\rc\n\u{1b}").text(), "a\nb\nc\n\u{1b}");
    }
}
