//! Finding lines that differ from the wanted ones by indentation only, and giving the new lines the indentation of the
//! place. A match must be unique and its difference the same on every line. Pure.

use super::placed::keeps_step;
use super::replace::normalise;
use std::ops::Range;

/// Columns of a tab tried where tabs and spaces have to be compared, after the one the texts themselves suggest.
const TAB_WIDTHS: [usize; 4] = [4, 2, 8, 3];

/// The only place where `old` stands when indentation is ignored, and `new` (with LF) indented like it.
pub fn find(content: &str, old: &str, new: &str) -> Option<(Range<usize>, String)> {
    let (old, new) = (normalise(old), normalise(new));
    let wanted: Vec<Line<'_>> = lines(&old).collect();
    let anchor = wanted.iter().position(|line| !line.body.is_empty())?;
    let anchor_body = wanted.get(anchor)?.body;
    let file: Vec<Line<'_>> = lines(content).collect();
    let mut only = None;
    for (at, line) in file.iter().enumerate().skip(anchor) {
        if line.body != anchor_body {
            continue;
        }
        let first = at - anchor;
        let Some(window) = file.get(first..first + wanted.len()) else {
            continue;
        };
        let Some(shift) = Shift::between(&wanted, window, &new) else {
            continue;
        };
        if only.replace((window, shift)).is_some() {
            return None;
        }
    }
    let (window, shift) = only?;
    let (first, last) = (window.first()?, window.last()?);
    let end = if old.ends_with('\n') {
        last.end
    } else {
        last.text_end
    };
    let new = shift.apply(&new)?;
    keeps_step(content, &new).then_some((first.start..end, new))
}

#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    start: usize,
    /// Spaces and tabs before the body.
    indent: &'a str,
    /// Without blanks at its end; empty for a line of white space only.
    body: &'a str,
    /// Before the line ending.
    text_end: usize,
    /// After it.
    end: usize,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |raw| {
        let plain = raw.strip_suffix('\n').unwrap_or(raw);
        let plain = plain.strip_suffix('\r').unwrap_or(plain);
        let (indent, body) = split(plain);
        let body = body.trim_end_matches([' ', '\t']);
        let line = Line {
            start,
            indent,
            body,
            text_end: start + plain.len(),
            end: start + raw.len(),
        };
        start = line.end;
        line
    })
}

fn split(line: &str) -> (&str, &str) {
    let body = line.trim_start_matches([' ', '\t']);
    if body.trim().is_empty() {
        return ("", "");
    }
    (line.strip_suffix(body).unwrap_or_default(), body)
}

/// How the indentation of the wanted lines becomes that of the file.
#[derive(Clone)]
enum Shift {
    Add(String),
    Remove(String),
    /// Between tabs and spaces.
    Columns {
        known: Vec<(String, String)>,
        tab: usize,
        by: isize,
        tabs: bool,
    },
}

impl Shift {
    fn between(wanted: &[Line<'_>], window: &[Line<'_>], new: &str) -> Option<Self> {
        if wanted.iter().zip(window).any(|(a, b)| a.body != b.body) {
            return None;
        }
        let pairs: Vec<(&str, &str)> = wanted
            .iter()
            .zip(window)
            .filter(|(line, _)| !line.body.is_empty())
            .map(|(a, b)| (a.indent, b.indent))
            .collect();
        let given: Vec<&str> = pairs
            .iter()
            .map(|(given, _)| *given)
            .chain(
                lines(new)
                    .filter(|line| !line.body.is_empty())
                    .map(|line| line.indent),
            )
            .collect();
        let file = |c| pairs.iter().any(|(_, there)| there.contains(c));
        let ours = |c| given.iter().any(|indent| indent.contains(c));
        let foreign =
            (file('\t') && !file(' ') && ours(' ')) || (file(' ') && !file('\t') && ours('\t'));
        let columns = || Self::columns(&pairs, &given);
        if foreign {
            columns()
        } else {
            Self::prefix(&pairs).or_else(columns)
        }
    }

    fn prefix(pairs: &[(&str, &str)]) -> Option<Self> {
        let (given, there) = pairs.first()?;
        if let Some(more) = there.strip_suffix(given) {
            let all = pairs
                .iter()
                .all(|(given, there)| there.strip_prefix(more) == Some(given));
            return all.then(|| Shift::Add(more.into()));
        }
        let less = given.strip_suffix(there)?;
        let all = pairs
            .iter()
            .all(|(given, there)| given.strip_prefix(less) == Some(there));
        all.then(|| Shift::Remove(less.into()))
    }

    fn columns(pairs: &[(&str, &str)], given: &[&str]) -> Option<Self> {
        let suggested = step(
            given
                .iter()
                .copied()
                .chain(pairs.iter().map(|(_, there)| *there)),
        );
        let found: Vec<Self> = suggested
            .into_iter()
            .chain(TAB_WIDTHS)
            .filter_map(|tab| {
                let mut offsets = pairs
                    .iter()
                    .map(|(given, there)| width(there, tab) - width(given, tab));
                let by = offsets.next()?;
                offsets.all(|other| other == by).then(|| Shift::Columns {
                    known: pairs
                        .iter()
                        .map(|(a, b)| ((*a).into(), (*b).into()))
                        .collect(),
                    tab,
                    by,
                    tabs: pairs.iter().any(|(_, there)| there.contains('\t')),
                })
            })
            .collect();
        // Where the widths agree as they are, nothing has to be moved.
        let is_kept = |shift: &&Self| matches!(shift, Shift::Columns { by: 0, .. });
        let is_clean = |shift: &&Self| given.iter().all(|indent| shift.reaches(indent));
        let kept = found.iter().filter(is_kept).find(is_clean);
        kept.or_else(|| found.iter().find(is_clean)).cloned()
    }

    /// Whether an indentation becomes one of whole steps, and none of nothing.
    fn reaches(&self, indent: &str) -> bool {
        let Shift::Columns {
            known,
            tab,
            by,
            tabs,
        } = self
        else {
            return true;
        };
        let is_known = known.iter().any(|(given, _)| given == indent);
        let columns = width(indent, *tab) + by;
        is_known
            || indent.is_empty() && columns == 0
            || columns > 0 && (!tabs || columns % *tab as isize == 0)
    }

    fn apply(&self, new: &str) -> Option<String> {
        let mut out = String::with_capacity(new.len() * 2);
        for raw in new.split_inclusive('\n') {
            let (indent, body) = split(raw);
            if body.is_empty() {
                out.push_str(raw);
                continue;
            }
            match self {
                Shift::Add(more) => out.extend([more, indent]),
                Shift::Remove(less) => out.push_str(indent.strip_prefix(less.as_str())?),
                Shift::Columns {
                    known,
                    tab,
                    by,
                    tabs,
                } => match known.iter().find(|(given, _)| given == indent) {
                    Some((_, there)) => out.push_str(there),
                    None => {
                        let columns = usize::try_from(width(indent, *tab) + by).ok()?;
                        // What was indented stays so.
                        if columns == 0 && !indent.is_empty() {
                            return None;
                        }
                        let (whole, rest) = if *tabs {
                            (columns / tab, columns % tab)
                        } else {
                            (0, columns)
                        };
                        out.extend(std::iter::repeat_n('\t', whole));
                        out.extend(std::iter::repeat_n(' ', rest));
                    }
                },
            }
            out.push_str(body);
        }
        Some(out)
    }
}

/// The smallest step between two indentations made of spaces: what one level means to the author.
fn step<'a>(indents: impl Iterator<Item = &'a str>) -> Option<usize> {
    let mut widths: Vec<usize> = indents
        .filter(|i| !i.contains('\t'))
        .map(str::len)
        .collect();
    widths.sort_unstable();
    widths.dedup();
    let steps = widths.iter().zip(widths.iter().skip(1)).map(|(a, b)| b - a);
    steps.min().filter(|step| (2..=8).contains(step))
}

fn width(indent: &str, tab: usize) -> isize {
    let columns: usize = indent
        .chars()
        .map(|c| if c == '\t' { tab } else { 1 })
        .sum();
    isize::try_from(columns).unwrap_or(isize::MAX)
}
