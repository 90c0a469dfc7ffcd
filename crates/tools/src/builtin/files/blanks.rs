//! Finding lines that differ from the wanted ones by blanks at their ends only. The place must be the only one. Pure.

use super::replace::normalise;
use std::ops::Range;

/// A line of the file, and where its text begins and ends.
#[derive(Clone, Copy)]
struct Line<'a> {
    start: usize,
    /// Without blanks at its end.
    text: &'a str,
    /// Before the line ending.
    text_end: usize,
    /// After it.
    end: usize,
}

/// The only place where `old` stands when blanks at the ends of lines count for nothing, and what of `new` (with LF) takes
/// its place. Lines that both begin or end with are left as they are in the file.
pub fn find(content: &str, old: &str, new: &str) -> Option<(Range<usize>, String)> {
    let (old, new) = (normalise(old), normalise(new));
    let wanted: Vec<&str> = old.split_inclusive('\n').collect();
    let anchor = wanted.iter().position(|line| !line.trim().is_empty())?;
    let anchor_text = without_blanks(wanted.get(anchor)?);
    let file: Vec<Line<'_>> = lines(content).collect();
    let mut only = None;
    for (at, line) in file.iter().enumerate().skip(anchor) {
        if !line.text.ends_with(anchor_text) {
            continue;
        }
        let Some(window) = file.get(at - anchor..at - anchor + wanted.len()) else {
            continue;
        };
        if let Some(lead) = lead_before(&wanted, window)
            && only.replace((window, lead)).is_some()
        {
            return None;
        }
    }
    let (window, lead) = only?;
    let replaced: Vec<&str> = new.split_inclusive('\n').collect();
    let same = |(one, other): &(&&str, &&str)| one == other;
    let head = wanted.iter().zip(&replaced).take_while(same).count();
    let room = wanted.len().min(replaced.len()) - head;
    let ends = wanted.iter().rev().zip(replaced.iter().rev());
    let tail = ends.take(room).take_while(same).count();
    let changed = window.get(head..window.len() - tail)?;
    let start = match (head, window.get(head)) {
        (0, Some(first)) => first.start + lead,
        (_, Some(line)) => line.start,
        (_, None) => window.last()?.end,
    };
    let end = match (tail, changed.last()) {
        (_, None) => start,
        (0, Some(last)) => end_of(last, wanted.last()?),
        (_, Some(last)) => last.end,
    };
    let text = replaced.get(head..replaced.len() - tail)?.concat();
    Some((start..end, text))
}

/// How many bytes of indentation stand before the first line, if the lines are the wanted ones.
fn lead_before(wanted: &[&str], window: &[Line<'_>]) -> Option<usize> {
    let mut pairs = wanted.iter().zip(window);
    let (first, line) = pairs.next()?;
    let lead = line.text.strip_suffix(without_blanks(first))?;
    let is_place = lead.trim().is_empty() && (lead.is_empty() || !first.trim().is_empty());
    let are_same = pairs.all(|(wanted, line)| without_blanks(wanted) == line.text);
    (is_place && are_same).then_some(lead.len())
}

/// Where the last wanted line ends in the file: its blanks are left where none were sent.
fn end_of(line: &Line<'_>, wanted: &str) -> usize {
    if wanted.ends_with('\n') {
        return line.end;
    }
    match without_blanks(wanted).len() < wanted.len() {
        true => line.text_end,
        false => line.start + line.text.len(),
    }
}

fn lines(content: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    content.split_inclusive('\n').map(move |raw| {
        let plain = raw.strip_suffix('\n').unwrap_or(raw);
        let plain = plain.strip_suffix('\r').unwrap_or(plain);
        let line = Line {
            start,
            text: without_blanks(plain),
            text_end: start + plain.len(),
            end: start + raw.len(),
        };
        start = line.end;
        line
    })
}

fn without_blanks(line: &str) -> &str {
    line.trim_end_matches([' ', '\t', '\n'])
}
