//! A Rust file as the rules see it: its text, the same without comments and literals, its tokens, and which lines are
//! tests or tables. A scanner for counting, not a parser.

use std::ops::Range;

/// A comment line above an item that is a long list and nothing else.
const TABLE: &str = "// tidy: table";

pub struct Source {
    /// Below the root, with `/`.
    pub path: String,
    pub text: String,
    /// `text` with comments blanked out.
    pub uncommented: String,
    tokens: Vec<Range<usize>>,
    /// Where each line begins.
    lines: Vec<usize>,
    /// Byte ranges.
    tests: Vec<Range<usize>>,
    tables: Vec<Range<usize>>,
    /// Modules in files of their own that are compiled for tests only.
    pub test_modules: Vec<String>,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let (uncommented, code) = masked(text);
        let mut source = Self {
            path: path.to_owned(),
            tokens: tokens(&code),
            lines: std::iter::once(0)
                .chain(text.match_indices('\n').map(|(at, _)| at + 1))
                .collect(),
            text: text.to_owned(),
            uncommented,
            tests: Vec::new(),
            tables: Vec::new(),
            test_modules: Vec::new(),
        };
        source.find_tests();
        source.find_tables();
        source
    }

    /// Counted from 1.
    pub fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at)
    }

    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// The text of a token; empty beyond the last.
    pub fn word(&self, token: usize) -> &str {
        self.tokens
            .get(token)
            .map_or("", |range| &self.text[range.clone()])
    }

    /// Whether the tokens from `token` on are these.
    pub fn reads(&self, token: usize, words: &[&str]) -> bool {
        words
            .iter()
            .enumerate()
            .all(|(i, word)| self.word(token + i) == *word)
    }

    pub fn at(&self, token: usize) -> usize {
        self.tokens
            .get(token)
            .map_or(self.text.len(), |range| range.start)
    }

    pub fn is_test(&self, at: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&at))
    }

    pub fn is_table(&self, at: usize) -> bool {
        self.tables.iter().any(|range| range.contains(&at))
    }

    /// Lines that are neither tests nor tables.
    pub fn production_lines(&self) -> usize {
        let starts = self.lines.iter().filter(|at| **at < self.text.len());
        starts
            .filter(|at| !self.is_test(**at) && !self.is_table(**at))
            .count()
    }

    /// Production lines that hold code: no comment alone, no blank.
    pub fn code_lines(&self) -> usize {
        self.filled_lines(|at| !self.is_test(at) && !self.is_table(at))
    }

    /// Lines of tables that hold something.
    pub fn table_lines(&self) -> usize {
        self.filled_lines(|at| !self.is_test(at) && self.is_table(at))
    }

    fn filled_lines(&self, counts: impl Fn(usize) -> bool) -> usize {
        let starts = self.lines.iter().copied();
        let filled = |at: &usize| {
            let rest = self.uncommented.get(*at..).unwrap_or_default();
            !rest.lines().next().unwrap_or_default().trim().is_empty()
        };
        starts.filter(|at| counts(*at)).filter(filled).count()
    }

    /// The structs of production code, with the number of their fields.
    pub fn structs(&self) -> Vec<(usize, &str)> {
        let mut out = Vec::new();
        for token in 0..self.tokens() {
            if self.word(token) != "struct" || self.is_test(self.at(token)) {
                continue;
            }
            let open = self.body(token);
            if self.word(open) == "{" {
                out.push((self.fields(open), self.word(token + 1)));
            }
        }
        out
    }

    /// Fields between the brace at `open` and its end.
    fn fields(&self, open: usize) -> usize {
        let close = self.closing(open);
        let (mut at, mut count) = (open + 1, 0);
        while at < close {
            match self.word(at) {
                "(" | "[" | "{" => at = self.closing(at),
                ":" if self.word(at + 1) == ":" => at += 1,
                ":" => count += 1,
                _ => {}
            }
            at += 1;
        }
        count
    }

    /// The token that closes the bracket at `open`.
    pub fn closing(&self, open: usize) -> usize {
        let mut depth = 0;
        for token in open..self.tokens() {
            match self.word(token) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return token;
            }
        }
        self.tokens()
    }

    /// The first `{` or `;` from `token` on that is not inside brackets.
    pub fn body(&self, token: usize) -> usize {
        let mut at = token;
        while at < self.tokens() {
            match self.word(at) {
                "(" | "[" => at = self.closing(at),
                "{" | ";" => return at,
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// The comments, attributes and documentation right above the line of a token.
    pub fn above(&self, token: usize) -> &str {
        let line = self.line_of(self.at(token)) - 1;
        let mut first = line;
        while first > 0 {
            let before = self.line(first - 1).trim();
            if !(before.starts_with("//") || before.starts_with('#')) {
                break;
            }
            first -= 1;
        }
        &self.text[self.lines[first]..self.lines[line]]
    }

    /// Counted from 0, without its end.
    fn line(&self, number: usize) -> &str {
        let start = self.lines[number];
        let end = self
            .lines
            .get(number + 1)
            .map_or(self.text.len(), |e| e - 1);
        &self.text[start..end]
    }

    fn find_tests(&mut self) {
        for token in 0..self.tokens() {
            if !self.reads(token, &["#", "[", "cfg", "("]) {
                continue;
            }
            let close = self.closing(token + 1);
            let words: Vec<&str> = (token..close).map(|t| self.word(t)).collect();
            if !words.contains(&"test") || words.contains(&"not") {
                continue;
            }
            let mut item = close + 1;
            while self.reads(item, &["#", "["]) {
                item = self.closing(item + 1) + 1;
            }
            if self.reads(item, &["mod"]) && self.word(item + 2) == ";" {
                self.test_modules.push(self.word(item + 1).to_owned());
            }
            self.tests.push(self.at(token)..self.item_end(item));
        }
    }

    fn find_tables(&mut self) {
        let marks: Vec<usize> = self
            .lines
            .iter()
            .copied()
            .filter(|at| self.text[*at..].trim_start_matches(' ').starts_with(TABLE))
            .collect();
        for mark in marks {
            let mut item = self.tokens.partition_point(|range| range.start < mark);
            while self.reads(item, &["#", "["]) {
                item = self.closing(item + 1) + 1;
            }
            self.tables.push(mark..self.item_end(item));
        }
    }

    /// Where an item that begins at this token ends.
    fn item_end(&self, token: usize) -> usize {
        let body = self.body(token);
        let last = if self.word(body) == "{" {
            self.closing(body)
        } else {
            body
        };
        self.at(last + 1).min(self.at(last) + 1)
    }
}

/// The text without comments, and the text without comments and literals. Both keep every line and offset.
fn masked(text: &str) -> (String, String) {
    let mut uncommented = text.as_bytes().to_vec();
    let mut code = uncommented.clone();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (length, is_comment) = match comment(rest) {
            Some(length) => (length, true),
            None => match literal(text, at) {
                Some(length) => (length, false),
                None => {
                    at += rest.chars().next().map_or(1, char::len_utf8);
                    continue;
                }
            },
        };
        blank(&mut code, at..at + length);
        if is_comment {
            blank(&mut uncommented, at..at + length);
        }
        at += length;
    }
    let lossless = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (lossless(uncommented), lossless(code))
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    for byte in &mut bytes[range] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// How long the comment is that this text begins with.
fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let (mut at, mut depth) = (2, 1);
    while depth > 0 {
        let next = rest[at..].find(['*', '/'])?;
        at += next;
        match rest.get(at..at + 2) {
            Some("/*") => (at, depth) = (at + 2, depth + 1),
            Some("*/") => (at, depth) = (at + 2, depth - 1),
            Some(_) => at += 1,
            None => return Some(rest.len()),
        }
    }
    Some(at)
}

/// How long the string or character is that stands at `at`.
fn literal(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let before = text[..at].chars().next_back();
    let follows_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let first = rest.chars().next()?;
    if first == '"' {
        return Some(quoted(rest, '"'));
    }
    if first == '\'' {
        let inner = rest[1..].chars().next()?;
        let is_char = inner == '\\' || rest[1 + inner.len_utf8()..].starts_with('\'');
        return is_char.then(|| quoted(rest, '\''));
    }
    if follows_word {
        return None;
    }
    let raw = ["r", "br", "cr"]
        .into_iter()
        .find_map(|p| rest.strip_prefix(p))?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    if !raw[hashes..].starts_with('"') {
        return None;
    }
    let opening = rest.len() - raw.len() + hashes + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = rest[opening..].find(&close)?;
    Some(opening + end + close.len())
}

/// The length of a literal between two of the same quotes, with escapes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match (escaped, c) {
            (true, _) => escaped = false,
            (false, '\\') => escaped = true,
            (false, c) if c == quote => return at + 1,
            (false, _) => {}
        }
    }
    rest.len()
}

/// Words, `::`, `=>` and single characters.
fn tokens(code: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = code[at..].chars().next() {
        let rest = &code[at..];
        let length = if c.is_alphanumeric() || c == '_' {
            rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(rest.len())
        } else if rest.starts_with("::") || rest.starts_with("=>") {
            2
        } else {
            c.len_utf8()
        };
        if !c.is_whitespace() {
            out.push(at..at + length);
        }
        at += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_seen() {
        for (text, uncommented, code) in [
            ("a // b\nc", "a     \nc", "a     \nc"),
            (
                "a /* b /* c */ d */ e",
                "a                   e",
                "a                   e",
            ),
            ("f(\"// no\", 'x')", "f(\"// no\", 'x')", "f(       ,    )"),
            (r#"r"\" + x"#, r#"r"\" + x"#, "     + x"),
            (
                "br##\"a\"# b\"## c",
                "br##\"a\"# b\"## c",
                "              c",
            ),
            (
                "&'a str, '\\'' '\"' b",
                "&'a str, '\\'' '\"' b",
                "&'a str,          b",
            ),
            ("r#type r", "r#type r", "r#type r"),
            ("\"ž\" ž", "\"ž\" ž", "     ž"),
            ("\"a\\\"b\" c", "\"a\\\"b\" c", "       c"),
        ] {
            assert_eq!(masked(text), (uncommented.into(), code.into()), "{text}");
        }
    }

    #[test]
    fn tests_and_tables_do_not_count() {
        let text = "\
//! A file.
fn one() {}
// tidy: table
#[rustfmt::skip]
static LIST: &[&str] = &[
    \"a\",
];
#[cfg(all(test, unix))]
mod tests {
    fn two() {}
}
#[cfg(test)]
mod elsewhere;
#[cfg(not(test))]
fn three() {}
";
        let source = Source::new("a.rs", text);
        assert_eq!(source.production_lines(), 4);
        assert_eq!(source.test_modules, ["elsewhere"]);
        assert!(source.is_test(text.find("two").unwrap()));
        assert!(!source.is_test(text.find("three").unwrap()));
    }
}
