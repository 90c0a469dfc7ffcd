//! Whether every shell reads a text alike. `sh` may be dash, bash, busybox, ksh or zsh: a construct that one of them
//! takes for something else makes the text unsure, and the other reading is analysed besides. It runs nothing.

use std::ops::Range;

/// Nested substitutions that are followed.
const MAX_DEPTH: usize = 24;

/// Which shells may read a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Any shell that may stand behind the name `sh`.
    #[default]
    Any,
    Bash,
}

/// What a scan of a text found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Shells disagree on what the text means.
    pub differs: bool,
    /// The text as a shell without extensions reads it, where that is another one.
    pub other: Option<String>,
}

pub fn scan(src: &str, dialect: Dialect) -> Reading {
    if dialect == Dialect::Bash {
        return Reading::default();
    }
    let mut scan = Scan::new(src.as_bytes(), 0);
    scan.code(None);
    let edits = std::mem::take(&mut scan.edits);
    Reading {
        differs: scan.differs,
        other: apply(src, edits),
    }
}

/// Cuts a text at blanks that stand in no quotes and no substitution.
pub fn blank_cut(src: &str, within: Range<usize>) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut quote, mut depth, mut escaped) = (None, 0_usize, false);
    let mut start = None;
    let text = src.get(within.clone()).unwrap_or_default();
    for (i, c) in text.char_indices() {
        let at = within.start + i;
        let blank = matches!(c, ' ' | '\t' | '\n') && quote.is_none() && depth == 0 && !escaped;
        match (blank, start) {
            (true, Some(from)) => {
                out.push(from..at);
                start = None;
            }
            (false, None) => start = Some(at),
            (true, None) | (false, Some(_)) => {}
        }
        if std::mem::take(&mut escaped) {
            continue;
        }
        match c {
            '\\' if quote != Some('\'') => escaped = true,
            '\'' | '"' if quote.is_none() && depth == 0 => quote = Some(c),
            _ if quote == Some(c) && depth == 0 => quote = None,
            '(' if quote != Some('\'') => depth += 1,
            ')' if quote != Some('\'') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    out.extend(start.map(|from| from..within.end));
    out
}

fn apply(src: &str, mut edits: Vec<(Range<usize>, &'static str)>) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::new();
    let mut at = 0;
    for (range, text) in edits {
        out.push_str(src.get(at..range.start)?);
        out.push_str(text);
        at = range.end;
    }
    out.push_str(src.get(at..)?);
    Some(out)
}

/// Words after which a command begins.
const KEYWORDS: &[&[u8]] = &[
    b"if", b"then", b"elif", b"else", b"while", b"until", b"do", b"!", b"in", b"{", b"time",
];

struct Heredoc {
    delimiter: Vec<u8>,
    quoted: bool,
    tabs: bool,
}

struct Scan<'s> {
    src: &'s [u8],
    at: usize,
    depth: usize,
    differs: bool,
    edits: Vec<(Range<usize>, &'static str)>,
    heredocs: Vec<Heredoc>,
}

impl<'s> Scan<'s> {
    fn new(src: &'s [u8], depth: usize) -> Self {
        Self {
            src,
            at: 0,
            depth,
            differs: depth > MAX_DEPTH,
            edits: Vec::new(),
            heredocs: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.src.get(self.at + ahead).copied().unwrap_or_default()
    }

    fn starts(&self, text: &[u8]) -> bool {
        self.src
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(text))
    }

    /// Marks the construct at this place, which is `length` bytes long and is `other` to a shell without extensions.
    fn mark(&mut self, length: usize, other: &'static str) {
        self.differs = true;
        self.edits.push((self.at..self.at + length, other));
    }

    /// Commands, up to an unmatched `)` where one is due. `open` is that bracket.
    fn code(&mut self, open: Option<u8>) {
        if self.depth > MAX_DEPTH {
            self.differs = true;
            self.at = self.src.len();
            return;
        }
        self.depth += 1;
        // The word so far, where it has neither quotes nor expansions.
        let mut word: Vec<u8> = Vec::new();
        let mut in_word = false;
        let mut after_word = false;
        while self.at < self.src.len() {
            let c = self.peek(0);
            if !in_word && c == b'#' {
                while self.at < self.src.len() && self.peek(0) != b'\n' {
                    self.at += 1;
                }
                continue;
            }
            if matches!(
                c,
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
            ) {
                if in_word {
                    self.word_ends(&word, open);
                    after_word = !KEYWORDS.contains(&word.as_slice());
                }
                let glued = in_word;
                in_word = false;
                match c {
                    b')' if open.is_some() => {
                        self.at += 1;
                        self.depth -= 1;
                        self.differs |= !self.heredocs.is_empty();
                        return;
                    }
                    b'(' => {
                        self.differs |= glued || after_word || self.peek(1) == b'(';
                        self.differs |= !self.heredocs.is_empty();
                        self.at += 1;
                        self.code(Some(b'('));
                        after_word = false;
                    }
                    b' ' | b'\t' => self.at += 1,
                    b'<' | b'>' => {
                        self.redirection();
                        after_word = false;
                    }
                    b'\n' => {
                        self.at += 1;
                        self.bodies();
                        after_word = false;
                    }
                    _ => {
                        self.operator();
                        after_word = false;
                    }
                }
                word.clear();
                continue;
            }
            in_word = true;
            self.in_word(c, &mut word);
        }
        if in_word {
            self.word_ends(&word, open);
        }
        self.differs |= open.is_some() || !self.heredocs.is_empty();
        self.depth -= 1;
    }

    /// One character of a word, or a quote or expansion as a whole: with one of these it is no keyword.
    fn in_word(&mut self, c: u8, word: &mut Vec<u8>) {
        match c {
            b'\\' => {
                // A line that goes on is no part of a word.
                if self.peek(1) != b'\n' {
                    word.push(0);
                }
                self.at += 2;
                return;
            }
            b'\'' => self.single(),
            b'"' => {
                self.at += 1;
                self.double(Some(b'"'));
            }
            b'`' => self.backquote(false),
            b'$' => self.dollar(false),
            _ => {
                word.push(c);
                self.at += 1;
                return;
            }
        }
        word.push(0);
    }

    /// Words that are syntax in some shells and plain in others.
    fn word_ends(&mut self, word: &[u8], open: Option<u8>) {
        match word {
            b"[[" | b"]]" => {
                let end = self.at;
                self.at = end - 2;
                self.mark(2, "  ");
                self.at = end;
            }
            // A bracket of a pattern would be taken for the end of the substitution.
            b"case" => self.differs |= open.is_some(),
            b"function" | b"select" | b"coproc" | b"let" => self.differs = true,
            _ => {}
        }
    }

    fn operator(&mut self) {
        if self.starts(b"&>") {
            self.mark(1, "& ");
            self.at += 1;
        } else if self.starts(b"|&") || self.starts(b";&") || self.starts(b";;&") {
            self.differs = true;
            self.at += 2;
        } else {
            self.at += 1;
        }
    }

    fn redirection(&mut self) {
        if self.starts(b"<<<") {
            self.differs = true;
            self.at += 3;
        } else if self.starts(b"<<") {
            self.at += 2;
            self.heredoc();
        } else if self.starts(b"<(") || self.starts(b">(") {
            self.differs |= !self.heredocs.is_empty();
            self.at += 2;
            self.code(Some(b'('));
        } else if self.starts(b">&") || self.starts(b"<&") {
            self.at += 2;
            self.differs |= !(self.peek(0).is_ascii_digit() || self.peek(0) == b'-');
        } else {
            self.at += 1;
        }
    }

    fn heredoc(&mut self) {
        let tabs = self.peek(0) == b'-';
        self.at += usize::from(tabs);
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        let mut raw = Vec::new();
        while self.at < self.src.len() && !b" \t\n;&|()<>".contains(&self.peek(0)) {
            raw.push(self.peek(0));
            self.at += 1;
        }
        let quote = raw.first().copied().filter(|c| b"'\"".contains(c));
        let delimiter: Vec<u8> = match quote {
            Some(quote) if raw.len() > 2 && raw.last() == Some(&quote) => {
                raw.get(1..raw.len() - 1).unwrap_or_default().to_vec()
            }
            Some(_) | None => raw,
        };
        let plain = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
        self.differs |= delimiter.is_empty() || !delimiter.iter().all(plain);
        self.heredocs.push(Heredoc {
            delimiter,
            quoted: quote.is_some(),
            tabs,
        });
    }

    /// The texts of the here-documents that were announced on the line before.
    fn bodies(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let start = self.at;
            let mut end = None;
            while self.at < self.src.len() {
                let line_at = self.at;
                while self.at < self.src.len() && self.peek(0) != b'\n' {
                    self.at += 1;
                }
                let mut line = self.src.get(line_at..self.at).unwrap_or_default();
                while heredoc.tabs && line.first() == Some(&b'\t') {
                    line = line.get(1..).unwrap_or_default();
                }
                self.at += 1;
                if line == heredoc.delimiter {
                    end = Some(line_at);
                    break;
                }
            }
            self.at = self.at.min(self.src.len());
            let Some(end) = end else {
                self.differs = true;
                return;
            };
            if !heredoc.quoted {
                let body = self.src.get(start..end).unwrap_or_default();
                let mut inner = Scan::new(body, self.depth + 1);
                inner.double(None);
                self.differs |= inner.differs;
            }
        }
    }

    fn single(&mut self) {
        self.at += 1;
        while self.at < self.src.len() && self.peek(0) != b'\'' {
            self.at += 1;
        }
        self.differs |= self.at >= self.src.len();
        self.at += 1;
    }

    /// Inside of double quotes, or of a here-document, which ends with its text.
    fn double(&mut self, end: Option<u8>) {
        while self.at < self.src.len() {
            match self.peek(0) {
                c if Some(c) == end => {
                    self.at += 1;
                    return;
                }
                b'\\' => self.at += 2,
                b'`' => self.backquote(true),
                b'$' => self.dollar(true),
                _ => self.at += 1,
            }
        }
        self.differs |= end.is_some();
    }

    fn backquote(&mut self, quoted: bool) {
        self.at += 1;
        let start = self.at;
        while self.at < self.src.len() && self.peek(0) != b'`' {
            self.at += 1;
        }
        let inner = self.src.get(start..self.at).unwrap_or_default();
        self.differs |= self.at >= self.src.len() || inner.contains(&b'\\');
        self.differs |= quoted && inner.iter().any(|c| b"'\"".contains(c));
        self.at += 1;
        let mut scan = Scan::new(inner, self.depth + 1);
        scan.code(None);
        self.differs |= scan.differs;
    }

    fn dollar(&mut self, quoted: bool) {
        match self.peek(1) {
            b'\'' | b'"' if !quoted => {
                self.mark(1, "\\$");
                self.at += 1;
            }
            b'[' => {
                self.differs = true;
                self.at += 2;
            }
            b'(' if self.peek(2) == b'(' => self.arithmetic(),
            b'(' => {
                self.differs |= !self.heredocs.is_empty();
                self.at += 2;
                let pending = std::mem::take(&mut self.heredocs);
                self.code(Some(b'('));
                self.heredocs = pending;
            }
            b'{' => {
                self.at += 2;
                self.parameter();
            }
            _ => self.at += 1,
        }
    }

    /// `$((…))` of numbers, names and operators that every shell has. Its end is where the brackets say.
    fn arithmetic(&mut self) {
        self.at += 3;
        let mut open = 2usize;
        while self.at < self.src.len() && open > 0 {
            let c = self.peek(0);
            match c {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            let plain = c.is_ascii_alphanumeric() || b"_ \t+-*/%()<>=!&|?:$".contains(&c);
            self.differs |= !plain;
            self.at += 1;
        }
        self.differs |= open > 0;
    }

    /// `${…}`, from behind its bracket: a name, its length, or one of the operators of POSIX and a plain word.
    fn parameter(&mut self) {
        if self.peek(0) == b'#' && self.peek(1) != b'}' {
            self.at += 1;
        }
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' {
            self.at += 1;
        }
        if self.at == start {
            self.differs |= !b"@*#?$!-".contains(&self.peek(0));
            self.at += 1;
        }
        if self.peek(0) == b':' {
            self.at += 1;
            self.differs |= !b"-+?=".contains(&self.peek(0));
        } else {
            self.differs |= !b"}-+?=%#".contains(&self.peek(0));
        }
        while self.at < self.src.len() {
            match self.peek(0) {
                b'}' => {
                    self.at += 1;
                    return;
                }
                b'\'' | b'"' | b'\\' | b'`' | b'{' | b'\n' => {
                    self.differs = true;
                    self.at += 1;
                }
                b'$' => self.dollar(true),
                _ => self.at += 1,
            }
        }
        self.differs = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_every_shell_reads_alike() {
        for text in [
            "ls -la",
            "ls > a 2>&1",
            "ls 2>/dev/null >&2",
            "(ls; pwd) | wc",
            "if [ -f a ]; then ls; fi",
            "for f in a b; do echo \"$f\"; done",
            "case $x in a) ls;; (b) pwd;; esac",
            "echo \"$(ls \"$(pwd)\")\" `ls`",
            "echo ${x} ${x:-y} ${x%.*} ${#x} $((x + 1)) $1 $?",
            "cat <<E\n$x ${x}\nE\nls",
            "cat <<'E'\n${x@P} $'\nE",
            "cat <<-E\n\ta\n\tE",
            "echo '$'\"'\" # $'x",
            "echo \"$\" \"a$'b'\"",
            "diff <(sort a) <(sort b)",
            "! ls; while ls; do break; done",
            "grep 'a[[:space:]]' x",
            "echo a\\\nb",
            "find . \\( -name a \\) -print",
        ] {
            assert_eq!(scan(text, Dialect::Any), Reading::default(), "{text}");
        }
    }

    #[test]
    fn texts_that_shells_read_differently() {
        for (text, other) in [
            ("ls &>/dev/null rm x", Some("ls & >/dev/null rm x")),
            ("ls &>>x", Some("ls & >>x")),
            ("[[ a || rm ]]", Some("   a || rm   ")),
            ("x=$'\\'; rm x; : \\''", Some("x=\\$'\\'; rm x; : \\''")),
            ("echo $\"x\"", Some("echo \\$\"x\"")),
            ("ls |& cat", None),
            ("cat <<< x", None),
            ("ls >& x", None),
            ("((x = 1))", None),
            ("echo $[1+1]", None),
            ("echo ${x@P} ", None),
            ("echo ${x:1}", None),
            ("echo ${!x}", None),
            ("echo ${x//a/b}", None),
            ("echo ${x:-'a'}", None),
            ("echo ${ ls; }", None),
            ("cat <<E\n${x@P}\nE", None),
            ("cat <<E\nx", None),
            ("cat <<E\n$((a[0]))\nE", None),
            ("ls *(e:ls:)", None),
            ("a=(b c)", None),
            ("f () { ls; }", None),
            ("function f { ls; }", None),
            ("case a in a) ls;& b) ls;; esac", None),
            ("echo $(case a in a) ls;; esac)", None),
            ("echo \"`echo \"x\"`\"", None),
            ("echo 'open", None),
        ] {
            let got = scan(text, Dialect::Any);
            assert!(got.differs, "{text}");
            assert_eq!(got.other.as_deref(), other, "{text}");
            assert_eq!(scan(text, Dialect::Bash), Reading::default());
        }
    }
}
