//! Finding the text an edit means and replacing it: exactly, then up to line endings, blanks at the ends of lines, and
//! indentation. Pure.
//! Whatever lies outside of the replaced ranges stays as it was, byte for byte.

use super::{blanks, indent, placed};
use std::borrow::Cow;
use std::ops::Range;

/// Line numbers listed when a count is wrong.
const MAX_LISTED: usize = 10;

#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    pub old: &'a str,
    pub new: &'a str,
    /// How often `old` must occur.
    pub expected: usize,
}

/// How the place was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    Exact,
    LineEndings,
    TrailingBlanks,
    Indentation,
}

impl Match {
    pub fn name(self) -> &'static str {
        match self {
            Match::Exact => "exact",
            Match::LineEndings => "line-endings",
            Match::TrailingBlanks => "trailing-blanks",
            Match::Indentation => "indentation",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    pub content: String,
    pub replacements: usize,
    pub found: Match,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    NotFound,
    /// It occurs, but not as often as expected; the first lines where it does.
    Count {
        found: usize,
        lines: Vec<usize>,
    },
    /// It occurs as often as expected, but also at a place that overlaps one of these: which one is meant?
    Overlap {
        lines: [usize; 2],
    },
    /// It begins within the indentation of this line, and the further lines of `new` could be meant with or without that.
    Unclear {
        line: usize,
    },
}

pub fn replace(content: &str, edit: Replacement<'_>) -> Result<Replaced, Miss> {
    let exact: Vec<_> = content
        .match_indices(edit.old)
        .map(|(at, found)| at..at + found.len())
        .filter(|range| !splits_crlf(content, range))
        .collect();
    if !exact.is_empty() {
        if exact.len() == edit.expected
            && let Some(lines) = overlap(content, &exact, edit)
        {
            return Err(Miss::Overlap { lines });
        }
        let new = |range: &Range<usize>| {
            placed::indent_like_place(
                content,
                range,
                edit.old,
                adopt_endings(content, range, edit),
            )
        };
        return finish(content, &exact, edit.expected, Match::Exact, new);
    }
    let loose = up_to_line_endings(content, edit.old);
    if !loose.is_empty() {
        let plain = normalise(edit.new);
        if loose.len() == edit.expected
            && let Some(lines) = loose_overlap(content, edit)
        {
            return Err(Miss::Overlap { lines });
        }
        let new = |range: &Range<usize>| {
            let new = Cow::from(plain.replace('\n', ending_at(content, range)));
            placed::indent_like_place(content, range, edit.old, new)
        };
        return finish(content, &loose, edit.expected, Match::LineEndings, new);
    }
    if edit.expected != 1 {
        return Err(Miss::NotFound);
    }
    if let Some((range, new)) = at_unfinished_end(content, edit) {
        return finish(content, &[range], 1, Match::LineEndings, |_| {
            Some(Cow::from(new.as_str()))
        });
    }
    if let Some((range, new)) = blanks::find(content, edit.old, edit.new) {
        let new = new.replace('\n', ending_at(content, &range));
        return finish(content, &[range], 1, Match::TrailingBlanks, |range| {
            placed::indent_like_place(content, range, edit.old, Cow::from(new.as_str()))
        });
    }
    let (range, new) = indent::find(content, edit.old, edit.new).ok_or(Miss::NotFound)?;
    let new = new.replace('\n', ending_at(content, &range));
    finish(content, &[range], 1, Match::Indentation, |_| {
        Some(Cow::from(new.as_str()))
    })
}

/// The line number, from 1, of a byte position.
pub fn line_of(content: &str, at: usize) -> usize {
    let before = content.as_bytes().get(..at).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() + 1
}

/// Text with LF for every CRLF.
pub fn normalise(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") {
        Cow::from(text.replace("\r\n", "\n"))
    } else {
        Cow::from(text)
    }
}

fn finish<'n>(
    content: &str,
    ranges: &[Range<usize>],
    expected: usize,
    found: Match,
    new: impl Fn(&Range<usize>) -> Option<Cow<'n, str>>,
) -> Result<Replaced, Miss> {
    if ranges.len() != expected {
        let lines = ranges
            .iter()
            .take(MAX_LISTED)
            .map(|r| line_of(content, r.start))
            .collect();
        return Err(Miss::Count {
            found: ranges.len(),
            lines,
        });
    }
    let mut out = String::with_capacity(content.len());
    let mut last = 0;
    for range in ranges {
        out.push_str(content.get(last..range.start).unwrap_or_default());
        let line = || line_of(content, range.start);
        out.push_str(&new(range).ok_or_else(|| Miss::Unclear { line: line() })?);
        last = range.end;
    }
    out.push_str(content.get(last..).unwrap_or_default());
    Ok(Replaced {
        content: out,
        replacements: ranges.len(),
        found,
    })
}

/// New lines get the endings of their place, unless the endings are what is changed.
fn adopt_endings<'n>(content: &str, range: &Range<usize>, edit: Replacement<'n>) -> Cow<'n, str> {
    let plain = normalise(edit.new);
    if edit.old.contains('\r') || plain == edit.old || !plain.contains('\n') {
        return Cow::from(edit.new);
    }
    match ending_at(content, range) {
        "\n" => plain,
        ending => Cow::from(plain.replace('\n', ending)),
    }
}

/// The line ending that holds at a place: the first within it, else the next one after it, else the last before it.
pub fn ending_at(content: &str, range: &Range<usize>) -> &'static str {
    let bytes = content.as_bytes();
    let from = bytes.get(range.start..).unwrap_or_default();
    let at = match memchr::memchr(b'\n', from) {
        Some(at) => Some(range.start + at),
        None => memchr::memrchr(b'\n', bytes.get(..range.start).unwrap_or_default()),
    };
    let before = at
        .and_then(|at| at.checked_sub(1))
        .and_then(|at| bytes.get(at));
    if before == Some(&b'\r') { "\r\n" } else { "\n" }
}

/// Whether one end of the range lies between a CR and its LF.
fn splits_crlf(content: &str, range: &Range<usize>) -> bool {
    let around = |at: usize| content.as_bytes().get(at.checked_sub(1)?..=at);
    [range.start, range.end]
        .into_iter()
        .any(|at| around(at) == Some(b"\r\n"))
}

fn up_to_line_endings(content: &str, old: &str) -> Vec<Range<usize>> {
    if !content.contains("\r\n") && !old.contains("\r\n") {
        return Vec::new();
    }
    let plain = normalise(content);
    let wanted = normalise(old);
    // Where, in `plain`, the LF of each CRLF stands.
    let mut shortened = Vec::new();
    for (before, (at, _)) in content.match_indices("\r\n").enumerate() {
        shortened.push(at - before);
    }
    let original = |at: usize| at + shortened.partition_point(|lf| *lf < at);
    plain
        .match_indices(wanted.as_ref())
        .map(|(at, found)| original(at)..original(at + found.len()))
        .collect()
}

/// The lines of the first match and of another one that begins inside it, if it matters which of them is replaced.
fn overlap(content: &str, ranges: &[Range<usize>], edit: Replacement<'_>) -> Option<[usize; 2]> {
    let Replacement { old, new, .. } = edit;
    // Counted from the end, are they the same places? Then there are no others to choose.
    let from_end = content.rmatch_indices(old).map(|(at, _)| at);
    if from_end.eq(ranges.iter().rev().map(|range| range.start)) {
        return None;
    }
    ranges.iter().find_map(|range| {
        let from = range.start + old.chars().next()?.len_utf8();
        let other = from + content.get(from..)?.find(old)?;
        if other >= range.end {
            return None;
        }
        let (skipped, rest) = (
            content.get(range.start..other)?,
            content.get(range.end..other + old.len())?,
        );
        let same = format!("{new}{rest}") == format!("{skipped}{new}");
        (!same).then(|| [range.start, other].map(|at| line_of(content, at)))
    })
}

/// The same where CRLF counts as LF; a line keeps its number.
fn loose_overlap(content: &str, edit: Replacement<'_>) -> Option<[usize; 2]> {
    let (plain, old, new) = (normalise(content), normalise(edit.old), normalise(edit.new));
    let ranges: Vec<_> = plain
        .match_indices(old.as_ref())
        .map(|(at, found)| at..at + found.len())
        .collect();
    let edit = Replacement {
        old: &old,
        new: &new,
        expected: edit.expected,
    };
    overlap(&plain, &ranges, edit)
}

/// `old` ends its last line, the file does not: the same place, and the file goes on without a final line ending.
fn at_unfinished_end(content: &str, edit: Replacement<'_>) -> Option<(Range<usize>, String)> {
    let wanted = normalise(edit.old);
    let wanted = wanted.strip_suffix('\n').filter(|w| !w.trim().is_empty())?;
    if !normalise(content).ends_with(wanted) {
        return None;
    }
    let start = content.len() - original_len(content, wanted);
    let new = normalise(edit.new);
    let new = new.strip_suffix('\n').unwrap_or(&new);
    let range = start..content.len();
    let new = new.replace('\n', ending_at(content, &range));
    Some((range, new))
}

/// How many bytes at the end of `content` are `wanted` when CRLF counts as LF.
fn original_len(content: &str, wanted: &str) -> usize {
    let mut bytes = content.bytes().rev().peekable();
    let mut len = 0;
    for byte in wanted.bytes().rev() {
        bytes.next();
        len += 1;
        if byte == b'\n' && bytes.peek() == Some(&b'\r') {
            bytes.next();
            len += 1;
        }
    }
    len
}

#[cfg(test)]
mod tests;
