//! The lines of a file that look most like a text which was not found in it, so that the next try can copy them. Pure,
//! and bounded for files of any size.

use crate::cut::clip;
use similar::TextDiff;

/// How far into a file is looked.
const MAX_LINES: usize = 50_000;
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Lines compared closely, best guesses first.
const CANDIDATES: usize = 8;
/// Characters of a line that are compared closely.
const COMPARED: usize = 200;
/// Likeness below which a line is no help.
const MIN_RATIO: f32 = 0.5;
/// What is shown.
const SHOWN_LINES: usize = 8;
const SHOWN_CHARS: usize = 160;

/// Lines with their numbers, ready to show; empty when nothing is alike.
pub fn lines(content: &str, wanted: &str) -> String {
    let wanted_lines: Vec<&str> = wanted.lines().collect();
    // The most telling line of the wanted text leads the search.
    let Some((lead_at, lead)) = wanted_lines
        .iter()
        .enumerate()
        .map(|(at, line)| (at, line.trim()))
        .max_by_key(|(at, line)| (line.len().min(COMPARED), std::cmp::Reverse(*at)))
        .filter(|(_, line)| !line.is_empty())
    else {
        return String::new();
    };
    let Some(best) = closest(content, lead) else {
        return String::new();
    };
    let first = best.saturating_sub(lead_at.min(SHOWN_LINES / 2));
    let count = wanted_lines.len().clamp(1, SHOWN_LINES);
    let mut shown = String::new();
    for (at, line) in content.lines().enumerate().skip(first).take(count) {
        shown.push_str(&format!("\n{}: {}", at + 1, clip(line, SHOWN_CHARS)));
    }
    shown
}

/// Where the lines of a text stand when blanks count for nothing: how many such places there are, and the lines of the
/// first one, ready to show.
pub fn only_blanks(content: &str, wanted: &str) -> Option<String> {
    let squeezed = |line: &str| -> String { line.chars().filter(|c| !c.is_whitespace()).collect() };
    let wanted: Vec<String> = wanted.trim().lines().map(squeezed).collect();
    let lead = wanted.first().filter(|line| !line.is_empty())?;
    if content.len() > MAX_BYTES {
        return None;
    }
    let lines: Vec<&str> = content.lines().take(MAX_LINES).collect();
    let is_place = |window: &[&str]| {
        let mut pairs = window.iter().zip(&wanted);
        pairs.all(|(line, wanted)| squeezed(line) == *wanted)
    };
    let mut places = lines
        .windows(wanted.len())
        .enumerate()
        .filter(|(_, window)| window.first().is_some_and(|line| squeezed(line) == *lead))
        .filter(|(_, window)| is_place(window));
    let (at, window) = places.next()?;
    let mut told = match places.count() {
        0 => format!(", from line {} on:", at + 1),
        more => format!(
            ", at {} places, the first from line {} on:",
            more + 1,
            at + 1
        ),
    };
    for (n, line) in window.iter().enumerate().take(SHOWN_LINES) {
        told.push_str(&format!("\n{}: {}", at + n + 1, clip(line, SHOWN_CHARS)));
    }
    Some(told)
}

/// The index of the line most like `lead`.
fn closest(content: &str, lead: &str) -> Option<usize> {
    let lead_grams = Grams::of(lead);
    let mut best: Vec<(u32, usize, &str)> = Vec::with_capacity(CANDIDATES + 1);
    let mut bytes = 0;
    for (at, line) in content.lines().take(MAX_LINES).enumerate() {
        bytes += line.len();
        if bytes > MAX_BYTES {
            break;
        }
        let score = lead_grams.likeness(&Grams::of(line.trim()));
        if score > 0
            && best
                .last()
                .is_none_or(|worst| best.len() < CANDIDATES || score > worst.0)
        {
            let place = best.partition_point(|other| other.0 >= score);
            best.insert(place, (score, at, line));
            best.truncate(CANDIDATES);
        }
    }
    let lead = head(lead);
    best.into_iter()
        .map(|(_, at, line)| (TextDiff::from_chars(lead, head(line.trim())).ratio(), at))
        .filter(|(ratio, _)| *ratio >= MIN_RATIO)
        .fold(None, |best: Option<(f32, usize)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            Some(_) | None => Some(next),
        })
        .map(|(_, at)| at)
}

fn head(line: &str) -> &str {
    let end = line
        .char_indices()
        .nth(COMPARED)
        .map_or(line.len(), |(end, _)| end);
    line.get(..end).unwrap_or(line)
}

/// Which pairs of neighbouring bytes a line has, hashed into a small set.
struct Grams([u64; 4]);

impl Grams {
    fn of(line: &str) -> Self {
        let mut set = [0u64; 4];
        let bytes = line.as_bytes();
        let bytes = bytes.get(..COMPARED * 2).unwrap_or(bytes);
        for (a, b) in bytes.iter().zip(bytes.iter().skip(1)) {
            let hash = (u32::from(*a) * 251 + u32::from(*b)).wrapping_mul(0x9E37_79B1) >> 24;
            if let Some(word) = set.get_mut(hash as usize / 64) {
                *word |= 1 << (hash % 64);
            }
        }
        Self(set)
    }

    /// Per mille of all pairs that both have.
    fn likeness(&self, other: &Self) -> u32 {
        let count = |join: fn(u64, u64) -> u64| -> u32 {
            self.0
                .iter()
                .zip(&other.0)
                .map(|(a, b)| join(*a, *b).count_ones())
                .sum()
        };
        count(|a, b| a & b) * 1000 / count(|a, b| a | b).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn the_likeliest_lines_are_shown() {
        let file = "fn main() {\n    let total = sum(&items);\n    println!(\"{total}\");\n}\n\nfn other() {}\n";
        for (wanted, expect) in [
            (
                "let total = sum(items);",
                "\n2:     let total = sum(&items);",
            ),
            (
                "fn main() {\n    let totals = sum(&items);\n",
                "\n1: fn main() {\n2:     let total = sum(&items);",
            ),
            ("nothing like it ===== 12345", ""),
            ("   \n", ""),
            ("", ""),
        ] {
            assert_eq!(lines(file, wanted), expect, "{wanted:?}");
        }
    }

    #[test]
    fn long_lines_are_clipped() {
        let file = format!("needle {}", "x".repeat(10_000));
        let shown = lines(&file, &format!("needle {}", "x".repeat(300)));
        assert_eq!(shown, format!("\n1: needle {}…", "x".repeat(153)));
    }
}
