//! Colours for code, line by line: comments, strings, numbers, words of the language, functions and types, by a small
//! reader and a table of languages. It does not parse: what only a grammar knows stays plain. Grammars for a general
//! highlighter take 10 to 60 MB and a noticeable pause per language; this takes neither.

mod languages;

use crate::line::{Color, Line, Span, Style};
use crate::theme::{Look, Role, Theme};
use languages::{Form, LANGUAGES, Language};

/// Longer lines are shown plain.
pub const MAX_LINE_CHARS: usize = 2_000;
/// Lines of a block after which the rest is plain.
pub const MAX_LINES: usize = 5_000;

/// How a string is written.
#[derive(Clone, Copy, Debug)]
pub struct Quote {
    open: &'static str,
    close: &'static str,
    kind: QuoteKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteKind {
    /// Ends with its line.
    Line,
    /// Goes over lines.
    Many,
    /// Goes over lines, and a backslash is one.
    Raw,
    /// One character.
    Letter,
}

impl Quote {
    const fn of(open: &'static str, close: &'static str, kind: QuoteKind) -> Self {
        Self { open, close, kind }
    }
    const fn line(mark: &'static str) -> Self {
        Self::of(mark, mark, QuoteKind::Line)
    }
    const fn many(mark: &'static str) -> Self {
        Self::of(mark, mark, QuoteKind::Many)
    }
    const fn raw(open: &'static str, close: &'static str) -> Self {
        Self::of(open, close, QuoteKind::Raw)
    }
    const fn letter(mark: &'static str) -> Self {
        Self::of(mark, mark, QuoteKind::Letter)
    }
}

/// One block of code, line after line.
#[derive(Clone, Debug)]
pub struct Block {
    language: Option<&'static Language>,
    open: Open,
    lines: usize,
}

/// What the line before left open.
#[derive(Clone, Copy, Debug, Default)]
enum Open {
    #[default]
    Nothing,
    Comment(&'static str),
    String(Quote),
    Tag,
}

impl Block {
    /// `info` is what stands behind a fence: the language, then anything.
    pub fn new(info: &str) -> Self {
        let name = language(info);
        let knows = |l: &&Language| l.names.split(' ').any(|n| n == name);
        Self {
            language: LANGUAGES.iter().find(knows),
            open: Open::Nothing,
            lines: 0,
        }
    }

    /// A block in the language of a file's name.
    pub fn of_file(path: &str) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        Self::new(name.rsplit('.').next().unwrap_or(name))
    }

    /// The next line of the block, without its line break.
    pub fn line(&mut self, text: &str, theme: &Theme) -> Line {
        self.lines += 1;
        let is_long = text.len() > MAX_LINE_CHARS && text.chars().nth(MAX_LINE_CHARS).is_some();
        let language = match self.language {
            Some(language) if self.lines <= MAX_LINES && !is_long => language,
            Some(_) | None => return Line::plain(text),
        };
        // Before it is taken apart: a mark may belong to a letter of the token before.
        let text = crate::text::visible(text.to_owned());
        let mut reader = Reader {
            language,
            open: &mut self.open,
            text: &text,
            at: 0,
            theme,
            line: Line::default(),
            is_start: true,
        };
        reader.read();
        reader.line
    }
}

fn language(info: &str) -> String {
    let word = info
        .trim()
        .trim_start_matches(['{', '.'])
        .split([',', ' ', '\t', '{', '}', ':', ';'])
        .next()
        .unwrap_or_default();
    word.to_ascii_lowercase()
}

/// What a piece of code is, as far as we show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Other,
    Keyword,
    String,
    Comment,
    Number,
    Function,
    Type,
    Added,
    Removed,
}

struct Reader<'a> {
    language: &'static Language,
    open: &'a mut Open,
    text: &'a str,
    at: usize,
    theme: &'a Theme,
    line: Line,
    /// A command may begin here.
    is_start: bool,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        if self.language.form == Form::Diff {
            return self.diff();
        }
        while self.at < self.text.len() {
            match std::mem::take(self.open) {
                Open::Nothing => self.next(),
                Open::Comment(close) => self.comment(close, 0),
                Open::String(quote) => self.string(quote, 0),
                Open::Tag => self.tag(),
            }
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Takes so many bytes as one token.
    fn put(&mut self, bytes: usize, token: Token) {
        let end = (self.at + bytes).min(self.text.len());
        if let Some(piece) = self.text.get(self.at..end)
            && !piece.is_empty()
        {
            let style = style(token, self.theme);
            self.line.push(Span::seen(piece, style));
            self.at = end;
        } else {
            // Cannot be, but a reader must get on.
            self.at = self.text.len();
        }
    }

    fn next(&mut self) {
        let rest = self.rest();
        let language = self.language;
        let blocks = language.block_comments.iter();
        if let Some((open, close)) = blocks.copied().find(|(open, _)| rest.starts_with(open)) {
            return self.comment(close, open.len());
        }
        if self.is_line_comment() {
            return self.put(rest.len(), Token::Comment);
        }
        if language.form == Form::Markup {
            return self.markup();
        }
        let quotes = language.quotes.iter().copied();
        if let Some(quote) = quotes
            .into_iter()
            .find(|quote| rest.starts_with(quote.open))
        {
            return self.string(quote, quote.open.len());
        }
        let Some(first) = rest.chars().next() else {
            return;
        };
        if first.is_ascii_digit() {
            return self.put(number(rest), Token::Number);
        }
        let starts_command = first == '$' || (self.is_start && matches!(first, '.' | '/' | '~'));
        if is_word(first) || (language.form == Form::Shell && starts_command) {
            return self.word();
        }
        if !first.is_whitespace() && first != '=' {
            // Behind these another command begins.
            self.is_start = matches!(first, '|' | '&' | ';' | '(' | '`' | '$');
        }
        self.put(first.len_utf8(), Token::Other);
    }

    fn is_line_comment(&self) -> bool {
        let rest = self.rest();
        let before = self.text.get(..self.at).unwrap_or_default();
        self.language.line_comments.iter().any(|mark| {
            // `$#`, `a#b` and `http://` are none.
            let stands_free =
                before.is_empty() || before.ends_with([' ', '\t', '(', '{', ';', ')', '}', ',']);
            rest.starts_with(mark) && (stands_free || (mark.len() > 1 && !before.ends_with(':')))
        })
    }

    fn comment(&mut self, close: &'static str, opened: usize) {
        let body = self.rest().get(opened..).unwrap_or_default();
        match body.find(close) {
            Some(end) => self.put(opened + end + close.len(), Token::Comment),
            None => {
                self.put(opened + body.len(), Token::Comment);
                *self.open = Open::Comment(close);
            }
        }
    }

    fn string(&mut self, quote: Quote, opened: usize) {
        let body = self.rest().get(opened..).unwrap_or_default();
        let end = ending(body, quote);
        let token = match self.language.form {
            // A string before a colon is a name.
            Form::Keys if end.is_some_and(|end| is_key(body.get(end..))) => Token::Type,
            Form::Keys | Form::Code | Form::AnyCase | Form::Shell | Form::Markup | Form::Diff => {
                Token::String
            }
        };
        self.is_start &= self.is_value();
        match (end, quote.kind) {
            (Some(end), _) => self.put(opened + end, token),
            (None, QuoteKind::Letter) => self.put(opened.max(1), Token::Other),
            (None, QuoteKind::Line) => self.put(opened + body.len(), token),
            (None, QuoteKind::Many | QuoteKind::Raw) => {
                self.put(opened + body.len(), token);
                *self.open = Open::String(quote);
            }
        }
    }

    fn word(&mut self) {
        let rest = self.rest();
        let mut len = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        if rest.starts_with('$') {
            len = 1 + rest
                .get(1..)
                .and_then(|r| r.find(|c: char| !is_word(c)))
                .unwrap_or(rest.len() - 1);
        }
        let dashed = |c: char| !(is_word(c) || matches!(c, '-' | '.' | '/'));
        if matches!(self.language.form, Form::Keys | Form::Shell) && !rest.starts_with('$') {
            len = rest.find(dashed).unwrap_or(rest.len());
        }
        let (word, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
        let token = self.kind(word, after);
        if self.language.form == Form::Shell {
            // A command can stand behind a prompt, a variable that is set and some keywords.
            let leads = matches!(
                word,
                "$" | "do" | "elif" | "else" | "eval" | "exec" | "if" | "then" | "until" | "while"
            );
            self.is_start &= leads || after.starts_with('=') || self.is_value();
        }
        self.put(len.max(1), token);
    }

    /// Behind `name=`.
    fn is_value(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default();
        before.ends_with('=')
    }

    fn kind(&self, word: &str, after: &str) -> Token {
        let Language {
            keywords,
            types,
            form,
            ..
        } = self.language;
        let has = |words: &str| match form {
            Form::AnyCase => words.split(' ').any(|w| w.eq_ignore_ascii_case(word)),
            Form::Code | Form::Keys | Form::Shell | Form::Markup | Form::Diff => {
                words.split(' ').any(|w| w == word)
            }
        };
        if has(keywords) {
            return Token::Keyword;
        }
        if has(types) {
            return match word {
                "true" | "false" | "null" | "nil" | "None" | "True" | "False" | "undefined" => {
                    Token::Number
                }
                _ => Token::Type,
            };
        }
        match form {
            Form::Shell if word == "$" => Token::Other,
            Form::Shell if word.starts_with('$') => Token::Type,
            Form::Shell if self.is_start && !after.starts_with('=') && !self.is_value() => {
                Token::Function
            }
            Form::Keys if is_key(Some(after)) => Token::Type,
            Form::Code
                if after.starts_with('(') || after.starts_with("!(") || after.starts_with("![") =>
            {
                Token::Function
            }
            Form::Code if word.starts_with(|c: char| c.is_uppercase()) => Token::Type,
            Form::Code | Form::AnyCase | Form::Keys | Form::Shell | Form::Markup | Form::Diff => {
                Token::Other
            }
        }
    }

    fn markup(&mut self) {
        let rest = self.rest();
        if !rest.starts_with('<') {
            return self.put(rest.find('<').unwrap_or(rest.len()), Token::Other);
        }
        let inner = rest.get(1..).unwrap_or_default();
        let name = inner
            .find(|c: char| c.is_whitespace() || matches!(c, '>' | '<'))
            .unwrap_or(inner.len());
        self.put(1 + name, Token::Keyword);
        *self.open = Open::Tag;
    }

    /// Within a tag, behind its name.
    fn tag(&mut self) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return;
        };
        if first == '>' {
            return self.put(1, Token::Keyword);
        }
        *self.open = Open::Tag;
        let quotes = self.language.quotes.iter();
        if let Some(quote) = quotes.copied().find(|quote| rest.starts_with(quote.open)) {
            self.string(quote, quote.open.len());
        } else if is_word(first) {
            let len = rest.find(|c: char| !(is_word(c) || matches!(c, '-' | ':' | '.')));
            self.put(len.unwrap_or(rest.len()), Token::Type);
        } else {
            self.put(first.len_utf8(), Token::Other);
        }
    }

    fn diff(&mut self) {
        let token = match self.text.chars().next() {
            Some('+') => Token::Added,
            Some('-') => Token::Removed,
            Some('@') => Token::Keyword,
            Some(_) | None => Token::Other,
        };
        self.put(self.text.len(), token);
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_key(after: Option<&str>) -> bool {
    after.is_some_and(|after| after.trim_start().starts_with([':', '=']))
}

/// Bytes of a number: `12_000`, `0xff`, `1.5e-3`, `10px`.
fn number(text: &str) -> usize {
    let mut end = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_fraction = c == '.' && chars.peek().is_some_and(char::is_ascii_digit);
        if !(is_word(c) || is_fraction) {
            break;
        }
        end += c.len_utf8();
    }
    end
}

/// Bytes up to and with the end of a string.
fn ending(body: &str, quote: Quote) -> Option<usize> {
    if quote.kind == QuoteKind::Letter {
        let mut chars = body.char_indices();
        let (_, first) = chars.next()?;
        let skips = if first == '\\' { 1 } else { 0 };
        let rest = chars.skip(skips).take(if skips == 1 { 10 } else { 1 });
        let mut found = rest.filter(|(_, c)| quote.close.starts_with(*c));
        return found.next().map(|(at, c)| at + c.len_utf8());
    }
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' && quote.kind != QuoteKind::Raw {
            escaped = true;
        } else if body
            .get(at..)
            .is_some_and(|rest| rest.starts_with(quote.close))
        {
            return Some(at + quote.close.len());
        }
    }
    None
}

fn style(token: Token, theme: &Theme) -> Style {
    let (ansi, dark, light) = match token {
        Token::Other => return Style::PLAIN,
        Token::Added => return theme.style(Role::Added),
        Token::Removed => return theme.style(Role::Removed),
        Token::Keyword => (5, [0xc8, 0xa2, 0xf0], [0x6a, 0x2f, 0xa0]),
        Token::String => (2, [0x9c, 0xcf, 0x8a], [0x2f, 0x6f, 0x1f]),
        Token::Comment => (8, [0x80, 0x86, 0x90], [0x70, 0x76, 0x80]),
        Token::Number => (3, [0xe8, 0xb0, 0x78], [0x9a, 0x50, 0x00]),
        Token::Function => (4, [0x7a, 0xb4, 0xf5], [0x1a, 0x4f, 0xb8]),
        Token::Type => (6, [0x70, 0xc8, 0xc8], [0x0b, 0x6a, 0x7d]),
    };
    let rgb = |[r, g, b]: [u8; 3]| Some(Color::Rgb(r, g, b));
    let fg = match theme.look {
        Look::Ansi => Some(Color::Ansi(ansi)),
        Look::Dark => rgb(dark),
        Look::Light => rgb(light),
        Look::Mono => None,
    };
    Style {
        fg,
        bold: theme.look == Look::Mono && token == Token::Keyword,
        dim: theme.look == Look::Mono && token == Token::Comment,
        italic: token == Token::Comment,
        ..Style::PLAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens as letters under the text: `k` keyword, `s` string, `c` comment, `n` number, `f` function, `t` type.
    fn letters(info: &str, code: &str) -> String {
        let mut block = Block::new(info);
        let theme = Theme::new(Look::Ansi);
        let mut out = String::new();
        for line in code.lines() {
            for span in block.line(line, &theme).spans {
                let letter = match span.style.fg {
                    None => ' ',
                    Some(Color::Ansi(5)) => 'k',
                    Some(Color::Ansi(2)) => 's',
                    Some(Color::Ansi(8)) => 'c',
                    Some(Color::Ansi(3)) => 'n',
                    Some(Color::Ansi(4)) => 'f',
                    Some(Color::Ansi(6)) => 't',
                    Some(_) => '-',
                };
                let shown = span.text().chars();
                out.extend(shown.map(|c| if c == ' ' { ' ' } else { letter }));
            }
            out.push('\n');
        }
        out.lines()
            .map(|l| l.trim_end().to_owned() + "\n")
            .collect()
    }

    #[test]
    fn tokens_have_their_colours_across_lines() {
        for (info, code, expect) in [
            (
                "rust",
                "/* a\nb */ let x: u8 = 12; // c\nprintln!(\"s{}\", f('x', &'a Vec));",
                "cc c\nc cc kkk    tt   nn  cc c\nfffffff  sssss  f sss      ttt\n",
            ),
            (
                "python",
                "def f(x): # c\n  \"\"\"a\n  b\"\"\"\n  return 1.5",
                "kkk f     c c\n  ssss\n  ssss\n  kkkkkk nnn\n",
            ),
            (
                "ts",
                "const x = `a\n${b}` + f(true)",
                "kkkkk     ss\nsssss   f nnnn\n",
            ),
            (
                "bash",
                "FOO=1 cargo test | grep -v \"$x\" # c",
                "    n fffff        ffff    ssss c c\n",
            ),
            (
                "sh",
                "$ FOO=bar ./run.sh && for f in x; do ls; done",
                "          ffffffff    kkk   kk    kk ff  kkkk\n",
            ),
            ("json", "{\"a\": [1, true, \"b\"]}", " ttt   n  nnnn  sss\n"),
            ("yaml", "key: \"v\" # c\n- b: 1", "ttt  sss c c\n  t  n\n"),
            ("sql", "SELECT a FROM b -- c", "kkkkkk   kkkk   cc c\n"),
            ("html", "<a b='c'>d</a><!-- x", "kk t sssk kkkkcccc c\n"),
            ("diff", "-a\n b", "--\n\n"),
            ("go", "url := \"http://x\" // y", "       ssssssssss cc c\n"),
            ("nonsense", "let x", "\n"),
        ] {
            let got = letters(info, code);
            assert_eq!(got, expect, "{info}:\n{code}\n{got}");
        }
    }

    #[test]
    fn languages_are_known_by_many_names() {
        for name in [
            "rust",
            "rs",
            "python",
            "py",
            "js",
            "jsx",
            "ts",
            "tsx",
            "typescript",
            "go",
            "c",
            "c++",
            "c#",
            "java",
            "sh",
            "bash",
            "shell",
            "console",
            "json",
            "jsonc",
            "toml",
            "yaml",
            "html",
            "css",
            "sql",
            "diff",
            "dockerfile",
            "kotlin",
            "swift",
            "ruby",
            "php",
            "lua",
            "zig",
            "make",
            "xml",
            "Rust,ignore",
            "{.python}",
        ] {
            assert!(Block::new(name).language.is_some(), "{name}");
        }
        assert!(Block::new("").language.is_none());
        assert!(Block::of_file("/a/b/Dockerfile").language.is_some());
        assert!(Block::of_file("a/b.test.rs").language.is_some());
    }

    #[test]
    fn too_much_is_plain() {
        let mut block = Block::new("rust");
        let long = "let ".repeat(MAX_LINE_CHARS);
        assert_eq!(block.line(&long, &Theme::default()), Line::plain(long));
        for _ in 0..MAX_LINES {
            block.line("", &Theme::default());
        }
        assert_eq!(block.line("let x = 1;", &Theme::default()).spans.len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost(lines in proptest::collection::vec(".{0,60}|[a-z'\"/*#<>$`\\\\=:{-} ]{0,40}", 0..8), which in 0..LANGUAGES.len()) {
            let name = LANGUAGES[which].names.split(' ').next().unwrap();
            let mut block = Block::new(name);
            for line in lines {
                let shown = block.line(&line, &Theme::default());
                proptest::prop_assert_eq!(shown.text(), Line::plain(line).text());
            }
        }
    }
}
