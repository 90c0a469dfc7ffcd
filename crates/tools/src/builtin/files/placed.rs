//! The indentation of new lines at a place that begins within the indentation of its line: the text that was looked for has
//! less of it than the file. Pure.

use std::borrow::Cow;
use std::ops::Range;

/// Deeper steps are not those of a file.
const MAX_STEP: usize = 8;
/// Ends of a line after which a deeper one follows.
const OPENERS: [&str; 8] = [":", "{", "(", "[", "=>", "->", " then", " do"];

/// `new` as it has to stand there. `None` where its further lines could be meant with the indentation of the place or
/// without it.
pub fn indent_like_place<'n>(
    content: &str,
    range: &Range<usize>,
    old: &str,
    new: Cow<'n, str>,
) -> Option<Cow<'n, str>> {
    let before = content.get(..range.start).unwrap_or_default();
    let lead = before.rsplit('\n').next().unwrap_or_default();
    let is_blank = |line: &str| line.trim().is_empty();
    let is_within = !lead.is_empty() && lead.chars().all(|c| matches!(c, ' ' | '\t'));
    let further: Vec<&str> = new
        .split('\n')
        .skip(1)
        .filter(|line| !is_blank(line))
        .collect();
    // Further lines of `old` stand in the file as they were sent, so those of `new` are sent in the same way.
    let shows_indent = old.lines().skip(1).any(|line| !is_blank(line));
    if !is_within || further.is_empty() || shows_indent {
        return Some(new);
    }
    if old.starts_with([' ', '\t']) {
        let new = shifted(&new, lead);
        return keeps_step(content, &format!("{lead}{new}")).then_some(Cow::from(new));
    }
    // Without any indentation: the further lines have that of the file, or begin at none.
    let first = new.lines().next().unwrap_or_default().trim_end();
    let opens = OPENERS.iter().any(|opener| first.ends_with(opener));
    let is_whole = further.iter().all(|line| line.starts_with(lead));
    let goes_deeper = further
        .first()
        .is_some_and(|line| indent_of(line).len() > lead.len());
    (is_whole && (!opens || goes_deeper)).then_some(new)
}

/// Whether the lines that go deeper do so by steps of the file. An author who reckons with other steps cannot be followed by
/// moving the lines.
pub fn keeps_step(content: &str, text: &str) -> bool {
    let mut counts = [0; MAX_STEP + 1];
    for step in steps(content) {
        if let Some(count) = counts.get_mut(step) {
            *count += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let usual = counts.iter().position(|count| *count == most);
    match usual.filter(|_| most > 0) {
        Some(usual) => steps(text).all(|step| step % usual == 0),
        None => true,
    }
}

/// How many spaces lines go deeper after one that opens a block.
fn steps(text: &str) -> impl Iterator<Item = usize> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    lines().zip(lines().skip(1)).filter_map(|(line, next)| {
        let [above, below] = [line, next].map(indent_of);
        let opens = OPENERS.iter().any(|end| line.trim_end().ends_with(end));
        let has_tabs = below.contains('\t');
        let step = below.len().checked_sub(above.len())?;
        (opens && !has_tabs && step > 0).then_some(step)
    })
}

/// All lines but the first, and but blank ones, with more before them.
fn shifted(new: &str, lead: &str) -> String {
    let mut out = String::with_capacity(new.len() * 2);
    for (n, line) in new.split_inclusive('\n').enumerate() {
        if n > 0 && !line.trim().is_empty() {
            out.push_str(lead);
        }
        out.push_str(line);
    }
    out
}

fn indent_of(line: &str) -> &str {
    let body = line.trim_start_matches([' ', '\t']);
    line.strip_suffix(body).unwrap_or_default()
}
