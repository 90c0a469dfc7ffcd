//! Changes as rows: numbered lines, what went and what came, and within a changed line the words that differ. Reads unified
//! diffs and compares two texts. Pure.

use crate::highlight;
use crate::line::{Line, Span, Style};
use crate::rows;
use crate::say;
use crate::theme::{Change, Role, Theme};
use ostler_wire::Word;
use similar::{ChangeTag, TextDiff};
use std::ops::Range;
use std::time::Duration;
use unicode_segmentation::UnicodeSegmentation;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Bytes of either text that are compared.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// After this much work the comparison gets coarser instead of longer.
const PATIENCE: Duration = Duration::from_millis(100);
/// Lines kept of a diff; more are counted.
const MAX_LINES: usize = 20_000;
/// Bytes kept of a line.
const MAX_LINE: usize = 8 * 1024;
/// Words of a line up to which its changed ones are looked for.
const MAX_WORDS: usize = 400;
/// Lines that differ by more are simply another line.
const MIN_RATIO: f32 = 0.4;

/// A unified diff, whole.
pub fn rows(unified: &str, columns: usize, theme: &Theme) -> Vec<Line> {
    Diff::unified(unified).rows(columns, theme, MAX_LINES)
}

/// The same with every character of its lines: what a person is to approve. Its size was bounded by who asks.
pub fn whole_rows(unified: &str, path: &str, columns: usize, theme: &Theme) -> Vec<Line> {
    let diff = Diff::read(unified, usize::MAX).of_file(path);
    diff.rows(columns, theme, MAX_LINES)
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    lines: Vec<Entry>,
    /// The file that the first lines are of, for their colours.
    path: String,
    /// Lines that were not kept, here or by whoever wrote the diff.
    left_out: usize,
    pub added: usize,
    pub removed: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    /// Texts that are too large for it.
    NotCompared,
    /// Lines between two hunks.
    Skipped,
    /// The name of a file, or a remark.
    Note(String),
    Line {
        kind: Kind,
        number: usize,
        text: String,
        /// Bytes of the text that differ from the line it replaces.
        words: Vec<Range<usize>>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Same,
    Added,
    Removed,
}

impl Diff {
    /// Reads a unified diff, with or without names of files.
    pub fn unified(text: &str) -> Self {
        Self::read(text, MAX_LINE)
    }

    fn read(text: &str, max_line: usize) -> Self {
        let mut reader = Reader {
            max_line,
            ..Reader::default()
        };
        for line in text.lines() {
            reader.line(line);
        }
        reader.diff.with_words()
    }

    pub fn between(old: &str, new: &str) -> Self {
        let mut diff = Self::default();
        if old.len() > MAX_TEXT || new.len() > MAX_TEXT {
            diff.lines.push(Entry::NotCompared);
            return diff;
        }
        let compared = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
        for (at, group) in compared.grouped_ops(CONTEXT).iter().enumerate() {
            if at > 0 {
                diff.add(Entry::Skipped);
            }
            for change in group.iter().flat_map(|op| compared.iter_changes(op)) {
                let (kind, index) = match change.tag() {
                    ChangeTag::Equal => (Kind::Same, change.new_index()),
                    ChangeTag::Insert => (Kind::Added, change.new_index()),
                    ChangeTag::Delete => (Kind::Removed, change.old_index()),
                };
                let text = change.value().trim_end_matches(['\n', '\r']);
                let text = rows::bounded(text, MAX_LINE);
                diff.push(kind, index.unwrap_or_default() + 1, &text);
            }
        }
        diff.with_words()
    }

    /// The same, of a file with this name.
    pub fn of_file(self, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ..self
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.left_out == 0
    }

    /// At most `max_lines` lines of it, then how many more there are.
    pub fn rows(&self, columns: usize, theme: &Theme, max_lines: usize) -> Vec<Line> {
        let shown = self.lines.iter().take(max_lines);
        let numbers = shown.clone().map(|line| match line {
            Entry::Line { number, .. } => *number,
            Entry::Skipped | Entry::Note(_) | Entry::NotCompared => 0,
        });
        let gutter = numbers.max().unwrap_or_default().to_string().len();
        let faint = theme.style(Role::Faint);
        let mut out = Vec::new();
        // What was and what is are two texts: a comment that begins in the one does not go on in the other.
        let block = |path: &str| {
            [
                highlight::Block::of_file(path),
                highlight::Block::of_file(path),
            ]
        };
        let [mut before, mut after] = block(&self.path);
        for line in shown {
            if let Entry::Note(name) = line {
                [before, after] = block(name);
            }
            match line {
                Entry::Skipped => out.push(Line::new(format!("{:>gutter$}", "⋯"), faint)),
                Entry::Note(text) => out.extend(rows::prose(text, faint, columns)),
                Entry::NotCompared => {
                    let said = theme.language.say(Word::NotCompared);
                    out.extend(rows::prose(said, faint, columns));
                }
                Entry::Line {
                    kind,
                    number,
                    text,
                    words,
                } => {
                    let ground = kind.ground(theme, false);
                    let first: Line = [
                        Span::new(format!("{number:>gutter$} "), faint),
                        Span::new(kind.sign(), ground.with(kind.style(theme))),
                    ]
                    .into_iter()
                    .collect();
                    let width = first.width();
                    let code = match kind {
                        Kind::Removed => before.line(text, theme),
                        Kind::Added => after.line(text, theme),
                        Kind::Same => {
                            before.line(text, theme);
                            after.line(text, theme)
                        }
                    };
                    let line = match kind.change() {
                        None => code,
                        Some(_) => marked(*kind, text, words, &code, theme),
                    };
                    let folded = rows::fold(&line, columns.saturating_sub(width));
                    out.extend(rows::indent(folded, &first, &rows::spaces(width)));
                }
            }
        }
        let more = self
            .lines
            .len()
            .saturating_sub(max_lines)
            .saturating_add(self.left_out);
        if more > 0 {
            out.push(Line::new(say::more_lines(theme.language, more), faint));
        }
        out
    }

    fn push(&mut self, kind: Kind, number: usize, text: &str) {
        match kind {
            Kind::Same => {}
            Kind::Added => self.added += 1,
            Kind::Removed => self.removed += 1,
        }
        self.add(Entry::Line {
            kind,
            number,
            text: text.to_owned(),
            words: Vec::new(),
        });
    }

    fn add(&mut self, entry: Entry) {
        match self.lines.len() < MAX_LINES {
            true => self.lines.push(entry),
            false => self.left_out = self.left_out.saturating_add(1),
        }
    }

    /// Finds lines that were changed rather than replaced: of removed lines followed by added ones, the first belongs to
    /// the first, and so on.
    fn with_words(mut self) -> Self {
        let kinds: Vec<Option<Kind>> = self.lines.iter().map(Entry::kind).collect();
        let run = |from: usize, kind: Kind| {
            let rest = kinds.get(from..).unwrap_or_default();
            rest.iter().take_while(|k| **k == Some(kind)).count()
        };
        let mut at = 0;
        while at < kinds.len() {
            let removed = run(at, Kind::Removed);
            let added = run(at + removed, Kind::Added);
            for pair in 0..removed.min(added) {
                self.compare(at + pair, at + removed + pair);
            }
            at += (removed + added).max(1);
        }
        self
    }

    fn compare(&mut self, old: usize, new: usize) {
        let Ok([old, new]) = self.lines.get_disjoint_mut([old, new]) else {
            return;
        };
        if let (
            Entry::Line {
                text: a, words: x, ..
            },
            Entry::Line {
                text: b, words: y, ..
            },
        ) = (old, new)
            && let Some((removed, added)) = changed_words(a, b)
        {
            (*x, *y) = (removed, added);
        }
    }
}

impl Entry {
    fn kind(&self) -> Option<Kind> {
        match self {
            Entry::Line { kind, .. } => Some(*kind),
            Entry::Skipped | Entry::Note(_) | Entry::NotCompared => None,
        }
    }
}

impl Kind {
    fn sign(self) -> &'static str {
        match self {
            Kind::Same => "  ",
            Kind::Added => "+ ",
            Kind::Removed => "- ",
        }
    }

    fn change(self) -> Option<Change> {
        match self {
            Kind::Same => None,
            Kind::Added => Some(Change::Added),
            Kind::Removed => Some(Change::Removed),
        }
    }

    fn ground(self, theme: &Theme, is_word: bool) -> Style {
        let bg = self
            .change()
            .and_then(|change| theme.ground(change, is_word));
        Style { bg, ..Style::PLAIN }
    }

    fn style(self, theme: &Theme) -> Style {
        match self {
            Kind::Same => Style::PLAIN,
            Kind::Added => theme.style(Role::Added),
            Kind::Removed => theme.style(Role::Removed),
        }
    }

    fn word_style(self, theme: &Theme) -> Style {
        match self {
            Kind::Same => Style::PLAIN,
            Kind::Added => theme.style(Role::AddedWord),
            Kind::Removed => theme.style(Role::RemovedWord),
        }
    }
}

/// Follows the line numbers of a unified diff. Within a hunk its header says how many lines come, so that a removed line
/// `-- x` is not taken for the name of a file.
#[derive(Default)]
struct Reader {
    diff: Diff,
    old_name: String,
    old: usize,
    new: usize,
    old_left: usize,
    new_left: usize,
    /// Bytes kept of a line.
    max_line: usize,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if (self.old_left > 0 || self.new_left > 0) && self.body(line) {
            return;
        }
        if let Some((old, new)) = hunk(line) {
            let is_later = self.diff.lines.iter().any(|l| l.kind().is_some());
            let is_same_file = !matches!(self.diff.lines.last(), Some(Entry::Note(_)));
            if is_later && is_same_file {
                self.diff.add(Entry::Skipped);
            }
            (self.old, self.old_left) = old;
            (self.new, self.new_left) = new;
        } else if let Some(count) = left_out(line) {
            self.diff.left_out = self.diff.left_out.saturating_add(count);
            (self.old_left, self.new_left) = (0, 0);
        } else if let Some(name) = line.strip_prefix("--- ") {
            self.old_name = name.strip_prefix("a/").unwrap_or(name).to_owned();
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let name = match name {
                "/dev/null" => std::mem::take(&mut self.old_name),
                name => name.strip_prefix("b/").unwrap_or(name).to_owned(),
            };
            self.diff.add(Entry::Note(name));
        } else if !(line.is_empty() || line.starts_with("diff ") || line.starts_with("index ")) {
            self.diff.add(Entry::Note(line.to_owned()));
        }
    }

    /// A line of a hunk. False when it cannot be one.
    fn body(&mut self, line: &str) -> bool {
        let (sign, text) = match line.chars().next() {
            Some(sign) => (sign, line.get(sign.len_utf8()..).unwrap_or_default()),
            // Editors strip the space of an empty line.
            None => (' ', ""),
        };
        let (kind, number) = match sign {
            ' ' => (Kind::Same, self.new),
            '+' => (Kind::Added, self.new),
            '-' => (Kind::Removed, self.old),
            '\\' => {
                self.diff.add(Entry::Note(line.to_owned()));
                return true;
            }
            _ => return false,
        };
        if kind != Kind::Added {
            self.old = self.old.saturating_add(1);
            self.old_left = self.old_left.saturating_sub(1);
        }
        if kind != Kind::Removed {
            self.new = self.new.saturating_add(1);
            self.new_left = self.new_left.saturating_sub(1);
        }
        let text = rows::bounded(text, self.max_line);
        self.diff.push(kind, number, &text);
        true
    }
}

/// `@@ -start,count +start,count @@`
fn hunk(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some((range(old)?, range(new)?))
}

/// How many lines a diff says it leaves out: `… 12 more lines`.
fn left_out(line: &str) -> Option<usize> {
    let words = line.strip_prefix("… ")?;
    words.strip_suffix(" more lines")?.parse().ok()
}

type Words = (Vec<Range<usize>>, Vec<Range<usize>>);

fn changed_words(old: &str, new: &str) -> Option<Words> {
    let words = |text| -> Option<Vec<&str>> {
        let words: Vec<&str> = str::split_word_bounds(text).take(MAX_WORDS + 1).collect();
        (words.len() <= MAX_WORDS).then_some(words)
    };
    let (old, new) = (words(old)?, words(new)?);
    let diff = TextDiff::from_slices(&old, &new);
    if diff.ratio() < MIN_RATIO {
        return None;
    }
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let (mut old_at, mut new_at) = (0, 0);
    for change in diff.iter_all_changes() {
        let len = change.value().len();
        match change.tag() {
            ChangeTag::Equal => {
                old_at += len;
                new_at += len;
            }
            ChangeTag::Delete => {
                extend(&mut removed, old_at..old_at + len);
                old_at += len;
            }
            ChangeTag::Insert => {
                extend(&mut added, new_at..new_at + len);
                new_at += len;
            }
        }
    }
    Some((removed, added))
}

fn extend(ranges: &mut Vec<Range<usize>>, next: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == next.start => last.end = next.end,
        Some(_) | None => ranges.push(next),
    }
}

/// A changed line, with the words in it that changed. A ground tells added from removed, so the letters can have the colours
/// of code; without one the colour of the letters tells.
fn marked(kind: Kind, text: &str, words: &[Range<usize>], code: &Line, theme: &Theme) -> Line {
    let ground = kind.ground(theme, false);
    if ground == Style::PLAIN {
        return emphasised(text, words, kind.style(theme), kind.word_style(theme));
    }
    let on_word = kind.ground(theme, true).with(BOLD);
    on_top(code, &emphasised(text, words, ground, on_word))
}

fn emphasised(text: &str, words: &[Range<usize>], style: Style, word_style: Style) -> Line {
    let mut line = Line::default();
    let mut from = 0;
    let mut put = |range: Range<usize>, style: Style| {
        if let Some(piece) = text.get(range)
            && !piece.is_empty()
        {
            line.push(Span::new(piece, style));
        }
    };
    for word in words {
        put(from..word.start, style);
        put(word.clone(), word_style);
        from = word.end;
    }
    put(from..text.len(), style);
    line
}

const BOLD: Style = Style {
    bold: true,
    ..Style::PLAIN
};

/// The letters of code in its colours, each on the ground that it has in the other line. Both have the same text, but for
/// what was made visible.
fn on_top(code: &Line, grounds: &Line) -> Line {
    if code.text() != grounds.text() {
        return grounds.clone();
    }
    let mut line = Line::default();
    let mut spans = grounds.spans.iter();
    let mut ground = spans.next();
    let mut used = 0;
    for span in &code.spans {
        let mut rest = span.text();
        while !rest.is_empty() {
            let Some(under) = ground else { break };
            let left = under.text().len() - used;
            let Some((piece, after)) = rest.split_at_checked(left.min(rest.len())) else {
                return grounds.clone();
            };
            line.push(Span::seen(piece, under.style.with(span.style)));
            used += piece.len();
            rest = after;
            if used >= under.text().len() {
                (ground, used) = (spans.next(), 0);
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{marked, plain};
    use crate::theme::Look;
    use insta::assert_snapshot;

    const MONO: Theme = Theme::new(Look::Mono);

    #[test]
    fn words_that_differ_stand_out() {
        let diff = Diff::unified(
            "@@ -9,4 +9,5 @@ fn x()\n a\n-let total = count(items);\n+let total = sum(items, 0);\n c\n+d\n e\n@@ -40 +41 @@\n--- x\n+++ y\n",
        );
        assert_eq!((diff.added, diff.removed), (3, 2));
        assert_snapshot!(marked(&diff.rows(80, &MONO, 100)), @r#"
        ⟨d| 9 ⟩  a
        ⟨d|10 ⟩- let total = ⟨bu|count⟩(items);
        ⟨d|10 ⟩+ let total = ⟨bu|sum⟩(items⟨bu|, 0⟩);
        ⟨d|11 ⟩  c
        ⟨d|12 ⟩+ d
        ⟨d|13 ⟩  e
        ⟨d| ⋯⟩
        ⟨d|40 ⟩- -- x
        ⟨d|41 ⟩+ ++ y
        "#);
    }

    #[test]
    fn changed_rows_have_a_ground_and_the_colours_of_code() {
        let diff = Diff::unified("@@ -1 +1 @@\n-let a = 1; // one\n+let a = 2; // one\n");
        let rows = diff.of_file("x.rs").rows(80, &Theme::new(Look::Dark), 100);
        assert_snapshot!(marked(&rows), @r#"
        ⟨d|1 ⟩⟨#f07a7aon#33181b|- ⟩⟨#c8a2f0on#33181b|let⟩⟨on#33181b| a = ⟩⟨b#e8b078on#70282e|1⟩⟨on#33181b|; ⟩⟨i#808690on#33181b|// one⟩
        ⟨d|1 ⟩⟨#8fd17aon#162a1a|+ ⟩⟨#c8a2f0on#162a1a|let⟩⟨on#162a1a| a = ⟩⟨b#e8b078on#245a30|2⟩⟨on#162a1a|; ⟩⟨i#808690on#162a1a|// one⟩
        "#);
        let rows = Diff::unified("@@ -1 +1 @@\n-let a = 1;\n+let a = 2;\n").of_file("x.rs");
        assert_snapshot!(marked(&rows.rows(80, &Theme::default(), 100)), @r#"
        ⟨d|1 ⟩⟨1|- let a = ⟩⟨bu1|1⟩⟨1|;⟩
        ⟨d|1 ⟩⟨2|+ let a = ⟩⟨bu2|2⟩⟨2|;⟩
        "#);
    }

    #[test]
    fn files_notes_and_what_was_left_out() {
        let diff = Diff::unified(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,9 @@\n a\n+b\n\\ No newline at end of file\n… 120 more lines\n",
        );
        assert_snapshot!(plain(&diff.rows(40, &MONO, 100)), @r#"
        x
        1   a
        2 + b
        \ No newline at end of file
        … 120 more lines
        "#);
        assert_snapshot!(plain(&diff.rows(40, &MONO, 2)), @r#"
        x
        1   a
        … 122 more lines
        "#);
    }

    #[test]
    fn a_line_that_is_to_be_approved_is_whole() {
        let long = "x".repeat(3 * MAX_LINE);
        let rows = whole_rows(
            &format!("@@ -0,0 +1 @@\n+{long}evil()\n"),
            "x.rs",
            80,
            &MONO,
        );
        let text: String = rows
            .iter()
            .map(|row| row.text().trim_end().to_owned())
            .collect();
        assert!(text.ends_with("evil()"), "{}", &text[text.len() - 80..]);
    }

    #[test]
    fn long_lines_fold_under_themselves() {
        let diff = Diff::between("", &format!("{}\n\u{1b}[2J\tx\n", "abcde ".repeat(5)));
        assert_snapshot!(plain(&diff.rows(20, &MONO, 100)), @r#"
        1 + abcde abcde abcd
            e abcde abcde 
        2 + ␛[2J    x
        "#);
    }

    #[test]
    fn texts_are_compared() {
        let old: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let new = old
            .replace("line 4\n", "line four\n")
            .replace("line 25\n", "");
        assert_snapshot!(marked(&Diff::between(&old, &new).rows(80, &MONO, 100)), @r#"
        ⟨d| 1 ⟩  line 1
        ⟨d| 2 ⟩  line 2
        ⟨d| 3 ⟩  line 3
        ⟨d| 4 ⟩- line ⟨bu|4⟩
        ⟨d| 4 ⟩+ line ⟨bu|four⟩
        ⟨d| 5 ⟩  line 5
        ⟨d| 6 ⟩  line 6
        ⟨d| 7 ⟩  line 7
        ⟨d| ⋯⟩
        ⟨d|22 ⟩  line 22
        ⟨d|23 ⟩  line 23
        ⟨d|24 ⟩  line 24
        ⟨d|25 ⟩- line 25
        ⟨d|25 ⟩  line 26
        ⟨d|26 ⟩  line 27
        ⟨d|27 ⟩  line 28
        "#);
        assert!(Diff::between("a", "a").is_empty());
        assert!(!Diff::between("a", &"b".repeat(MAX_TEXT + 1)).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_diff(text in "([-+ @\\\\…]{0,3}[a-z0-9, @+-]{0,9}\n){0,20}", columns in 20_usize..60) {
            for row in Diff::unified(&text).rows(columns, &MONO, 50) {
                proptest::prop_assert!(row.width() <= columns);
            }
        }

        #[test]
        fn what_we_compare_reads_the_same_as_unified(
            old in proptest::collection::vec("[a-c]{1,3}", 0..30),
            new in proptest::collection::vec("[a-c]{1,3}", 0..30),
        ) {
            let text = |lines: &[String]| lines.iter().map(|l| format!("{l}\n")).collect::<String>();
            let (old, new) = (text(&old), text(&new));
            let unified = TextDiff::from_lines(&old, &new).unified_diff().to_string();
            proptest::prop_assert_eq!(Diff::unified(&unified), Diff::between(&old, &new));
        }
    }
}
