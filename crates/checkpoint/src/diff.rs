//! A unified diff of a change: three lines of context, only the changed part compared, cut to what a log line can hold.

use ostler_wire::clip;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write;
use std::time::Duration;

const CONTEXT: usize = 3;
/// After this much work the diff gets coarser instead of longer.
const PATIENCE: Duration = Duration::from_millis(100);
/// Characters kept of a line.
const MAX_LINE: usize = 500;

/// The diff without file names and without any limit: what a person is to approve.
pub fn whole(old: &str, new: &str) -> String {
    compare(old, new, usize::MAX, usize::MAX)
}

/// The diff without file names, at most about `max_bytes` long; empty when nothing changed.
pub fn unified(old: &str, new: &str, max_bytes: usize) -> String {
    compare(old, new, max_bytes, MAX_LINE)
}

fn compare(old: &str, new: &str, max_bytes: usize, max_line: usize) -> String {
    if max_bytes == 0 && old != new {
        return "… left out\n".into();
    }
    let (start, old_end, new_end) = changed(old, new);
    let (Some(old_part), Some(new_part)) = (old.get(start..old_end), new.get(start..new_end))
    else {
        return String::new();
    };
    let before =
        memchr::memchr_iter(b'\n', old.as_bytes().get(..start).unwrap_or_default()).count();
    let old_lines: Vec<&str> = old_part.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new_part.split_inclusive('\n').collect();
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_slices(&old_lines, &new_lines);
    let mut out = String::new();
    let mut left_out = 0;
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        if out.len() < max_bytes {
            let old_range = hunk_range(before, first.old_range().start..last.old_range().end);
            let new_range = hunk_range(before, first.new_range().start..last.new_range().end);
            let _ = writeln!(out, "@@ -{old_range} +{new_range} @@");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            if out.len() >= max_bytes {
                left_out += 1;
                continue;
            }
            let line = change.value();
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let plain = line.strip_suffix('\n').unwrap_or(line);
            let _ = writeln!(out, "{sign}{}", clip(plain, max_line));
            if plain.len() == line.len() {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "… {left_out} more lines");
    }
    out
}

/// Line numbers of a hunk as diffs write them.
fn hunk_range(before: usize, lines: std::ops::Range<usize>) -> String {
    let start = before + lines.start;
    match lines.len() {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        len => format!("{},{len}", start + 1),
    }
}

/// The lines that differ with their context: a common start, and the end in either text.
fn changed(old: &str, new: &str) -> (usize, usize, usize) {
    let (a, b) = (old.as_bytes(), new.as_bytes());
    let same = common(a, b, Side::Start);
    if same == a.len() && same == b.len() {
        return (0, 0, 0);
    }
    let line_starts = memchr::memrchr_iter(b'\n', a.get(..same).unwrap_or_default());
    let start = line_starts.map(|at| at + 1).nth(CONTEXT).unwrap_or(0);
    let room = a.len().min(b.len()) - same;
    let tail = common(a, b, Side::End).min(room);
    // The common tail begins in some line; whole lines from there on are context.
    let end = a.len() - tail;
    let line_ends = memchr::memchr_iter(b'\n', a.get(end..).unwrap_or_default());
    let end = line_ends
        .map(|at| end + at + 1)
        .nth(CONTEXT)
        .unwrap_or(a.len());
    (start, end, b.len() - (a.len() - end))
}

#[derive(Clone, Copy)]
enum Side {
    Start,
    End,
}

impl Side {
    /// `len` bytes, `at` bytes away from this side.
    fn part(self, text: &[u8], at: usize, len: usize) -> Option<&[u8]> {
        match self {
            Side::Start => text.get(at..at + len),
            Side::End => text.get(text.len().checked_sub(at + len)?..text.len() - at),
        }
    }
}

/// How many bytes two texts share on one side. Whole blocks first: they compare fast.
fn common(a: &[u8], b: &[u8], side: Side) -> usize {
    let same = |at, len| {
        side.part(a, at, len)
            .is_some_and(|x| side.part(b, at, len) == Some(x))
    };
    let mut at = 0;
    for block in [64 * 1024, 256, 1] {
        while same(at, block) {
            at += block;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::unified;
    use std::fmt::Write;

    const MAX: usize = 16 * 1024;

    #[test]
    fn a_whole_diff_has_every_character() {
        let long = format!("fn main(){{}}{}evil()\n", " ".repeat(3_000));
        let many = "line\n".repeat(20_000) + "evil()\n";
        for new in [long, many] {
            let diff = super::whole("", &new);
            let added: String = diff
                .lines()
                .skip(1)
                .map(|l| format!("{}\n", &l[1..]))
                .collect();
            assert!(added == new && !unified("", &new, MAX).contains("evil()"));
        }
    }

    #[test]
    fn changes_are_shown_with_context() {
        let file: String = (1..=20).fold(String::new(), |mut s, n| {
            let _ = writeln!(s, "line {n}");
            s
        });
        let edited = file
            .replace("line 9\n", "nine\nand a half\n")
            .replace("line 20\n", "line 20");
        insta::assert_snapshot!(unified(&file, &edited, MAX), @r"
        @@ -6,7 +6,8 @@
         line 6
         line 7
         line 8
        -line 9
        +nine
        +and a half
         line 10
         line 11
         line 12
        @@ -17,4 +18,4 @@
         line 17
         line 18
         line 19
        -line 20
        +line 20
        \ No newline at end of file
        ");
        insta::assert_snapshot!(unified("", "a\n", MAX), @r"
        @@ -0,0 +1 @@
        +a
        ");
        insta::assert_snapshot!(unified("a\nb\n", "b\n", MAX), @r"
        @@ -1,2 +1 @@
        -a
         b
        ");
        assert_eq!(unified(&file, &file, MAX), "");
    }

    #[test]
    fn a_long_diff_is_cut() {
        let old = "a\n".repeat(5000);
        let new = "b\n".repeat(5000);
        let diff = unified(&old, &new, 1000);
        assert!(diff.len() < 1100, "{}", diff.len());
        assert!(
            diff.ends_with("… 9674 more lines\n"),
            "{}",
            &diff[diff.len() - 40..]
        );
        let line = unified(&"x".repeat(1_000_000), &"y".repeat(1_000_000), MAX);
        assert!(line.len() < 2000);
    }

    proptest::proptest! {
        /// What the diff says is true: applying it to the old text gives the new one.
        #[test]
        fn it_describes_the_change(old in "([ab]{0,2}\n){0,12}", new in "([ab]{0,2}\n){0,12}") {
            let diff = unified(&old, &new, MAX);
            proptest::prop_assert_eq!(apply(&old, &diff), new);
        }
    }

    fn apply(old: &str, diff: &str) -> String {
        let mut source = old.split_inclusive('\n');
        let mut out = String::new();
        let mut at = 0;
        for line in diff.lines() {
            if let Some(header) = line.strip_prefix("@@ -") {
                let range = header.split(' ').next().unwrap();
                let start: usize = range.split(',').next().unwrap().parse().unwrap();
                let skip = if range.ends_with(",0") {
                    start
                } else {
                    start - 1
                };
                while at < skip {
                    out.push_str(source.next().unwrap());
                    at += 1;
                }
                continue;
            }
            let (sign, text) = line.split_at(1);
            if sign != "+" {
                assert_eq!(source.next().unwrap(), format!("{text}\n"));
                at += 1;
            }
            if sign != "-" {
                out.push_str(text);
                out.push('\n');
            }
        }
        out.extend(source);
        out
    }
}
