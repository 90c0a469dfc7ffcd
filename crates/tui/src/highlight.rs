//! Colours for code: a language's grammar says what a piece of text is, a look of ours says how that is shown. The grammars
//! are large; nobody waits for them. Until [`load`] has run somewhere in the background, code is plain.

use crate::line::{Color, Line, Span, Style};
use crate::theme::{Look, Role, Theme};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// Longer lines are shown plain.
pub const MAX_LINE_CHARS: usize = 2_000;
/// Lines of a block after which the rest is plain.
pub const MAX_LINES: usize = 5_000;
/// Lines of an open block that are read again once the grammars are there.
const MAX_BACKLOG: usize = 200;

static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();
static WANTED: AtomicBool = AtomicBool::new(false);

/// Loads the grammars, which takes a while: call it from a thread that may wait.
pub fn load() {
    SYNTAXES.get_or_init(two_face::syntax::extra_newlines);
}

pub fn ready() -> bool {
    SYNTAXES.get().is_some()
}

/// Whether code was shown plain for want of the grammars since this was last asked. Then it is time to [`load`].
pub fn take_wanted() -> bool {
    WANTED.swap(false, Ordering::Relaxed) && !ready()
}

/// One block of code, line after line.
#[derive(Clone, Debug)]
pub struct Block {
    state: State,
    lines: usize,
}

#[derive(Clone, Debug)]
enum State {
    Plain,
    /// The grammars are not loaded; these lines were shown meanwhile.
    Waiting {
        language: String,
        seen: Vec<String>,
    },
    Reading(Box<(ParseState, ScopeStack)>),
}

impl Block {
    /// `info` is what stands behind a fence: the language, then anything.
    pub fn new(info: &str) -> Self {
        let language = language(info);
        let state = if language.is_empty() {
            State::Plain
        } else if let Some(set) = SYNTAXES.get() {
            start(set, &language)
        } else {
            WANTED.store(true, Ordering::Relaxed);
            State::Waiting {
                language,
                seen: Vec::new(),
            }
        };
        Self { state, lines: 0 }
    }

    /// A block in the language of a file's name.
    pub fn of_file(path: &str) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        Self::new(name.rsplit('.').next().unwrap_or(name))
    }

    /// The next line of the block, without its line break.
    pub fn line(&mut self, text: &str, theme: &Theme) -> Line {
        self.lines += 1;
        if self.lines > MAX_LINES {
            self.state = State::Plain;
        }
        self.catch_up();
        if text.len() > MAX_LINE_CHARS && text.chars().nth(MAX_LINE_CHARS).is_some() {
            return Line::plain(text);
        }
        match &mut self.state {
            State::Plain => Line::plain(text),
            State::Waiting { seen, .. } => {
                seen.push(text.to_owned());
                if seen.len() > MAX_BACKLOG {
                    self.state = State::Plain;
                }
                Line::plain(text)
            }
            State::Reading(reading) => match SYNTAXES
                .get()
                .and_then(|set| read(set, reading, text, theme))
            {
                Some(line) => line,
                None => {
                    self.state = State::Plain;
                    Line::plain(text)
                }
            },
        }
    }

    fn catch_up(&mut self) {
        let (State::Waiting { language, seen }, Some(set)) = (&self.state, SYNTAXES.get()) else {
            return;
        };
        let mut state = start(set, language);
        for line in seen {
            if let State::Reading(reading) = &mut state
                && read(set, reading, line, &Theme::default()).is_none()
            {
                state = State::Plain;
            }
        }
        self.state = state;
    }
}

fn start(set: &SyntaxSet, language: &str) -> State {
    match find(set, language) {
        Some(syntax) => State::Reading(Box::new((ParseState::new(syntax), ScopeStack::new()))),
        None => State::Plain,
    }
}

fn find<'a>(set: &'a SyntaxSet, language: &str) -> Option<&'a SyntaxReference> {
    let known = ALIASES.iter().find(|(name, _)| *name == language);
    set.find_syntax_by_token(known.map_or(language, |(_, token)| token))
}

/// Names that people write and the grammars do not know.
const ALIASES: &[(&str, &str)] = &[
    ("c#", "cs"),
    ("c++", "cpp"),
    ("console", "sh"),
    ("docker", "dockerfile"),
    ("golang", "go"),
    ("json5", "json"),
    ("jsonc", "json"),
    ("jsonl", "json"),
    ("jsx", "js"),
    ("mjs", "js"),
    ("node", "js"),
    ("objective-c", "m"),
    ("py3", "py"),
    ("python3", "py"),
    ("shell", "sh"),
    ("shell-session", "sh"),
    ("text", ""),
    ("zsh", "sh"),
];

fn language(info: &str) -> String {
    let word = info
        .trim()
        .trim_start_matches(['{', '.'])
        .split([',', ' ', '\t', '{', '}', ':', ';'])
        .next()
        .unwrap_or_default();
    word.to_ascii_lowercase()
}

/// The line in colours, or nothing when the grammar fails on it.
fn read(
    set: &SyntaxSet,
    (state, stack): &mut (ParseState, ScopeStack),
    text: &str,
    theme: &Theme,
) -> Option<Line> {
    let whole = format!("{text}\n");
    let changes = state.parse_line(&whole, set).ok()?;
    let mut line = Line::default();
    let mut from = 0;
    let mut put = |range: std::ops::Range<usize>, stack: &ScopeStack| {
        if let Some(piece) = text.get(range.start..range.end.min(text.len()))
            && !piece.is_empty()
        {
            line.push(Span::new(piece, style(token(stack), theme)));
        }
    };
    for (at, change) in changes {
        if at > from {
            put(from..at, stack);
            from = at;
        }
        stack.apply(&change).ok()?;
    }
    put(from..text.len(), stack);
    Some(line)
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

/// Beginnings of scopes. Of those that fit a scope the longest counts.
const SCOPES: &[(&str, Token)] = &[
    ("comment", Token::Comment),
    ("constant", Token::Number),
    ("constant.character.escape", Token::Number),
    ("entity.name.class", Token::Type),
    ("entity.name.enum", Token::Type),
    ("entity.name.function", Token::Function),
    ("entity.name.section", Token::Keyword),
    ("entity.name.struct", Token::Type),
    ("entity.name.tag", Token::Keyword),
    ("entity.name.trait", Token::Type),
    ("entity.name.type", Token::Type),
    ("entity.other.attribute-name", Token::Type),
    ("entity.other.inherited-class", Token::Type),
    ("keyword", Token::Keyword),
    ("keyword.operator", Token::Other),
    ("keyword.operator.logical.python", Token::Keyword),
    ("keyword.operator.word", Token::Keyword),
    ("markup.deleted", Token::Removed),
    ("markup.heading", Token::Keyword),
    ("markup.inserted", Token::Added),
    ("meta.mapping.key", Token::Type),
    ("meta.string.interpolated", Token::Other),
    ("source.embedded", Token::Other),
    ("storage", Token::Keyword),
    ("string", Token::String),
    ("support.class", Token::Type),
    ("support.function", Token::Function),
    ("support.macro", Token::Function),
    ("support.type", Token::Type),
    ("variable.function", Token::Function),
    ("variable.language", Token::Keyword),
];

fn token(stack: &ScopeStack) -> Token {
    static TABLE: OnceLock<Vec<(Scope, Token)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let scope = |(name, token): &(&str, Token)| Some((Scope::new(name).ok()?, *token));
        SCOPES.iter().filter_map(scope).collect()
    });
    let of = |scope: &Scope| {
        table
            .iter()
            .filter(|(start, _)| start.is_prefix_of(*scope))
            .max_by_key(|(start, _)| start.len())
    };
    // The innermost scope that says something.
    let found = stack.as_slice().iter().rev().find_map(of);
    found.map_or(Token::Other, |(_, token)| *token)
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

    fn tokens(info: &str, code: &str) -> Vec<(String, Style)> {
        load();
        let mut block = Block::new(info);
        let lines = code.lines().map(|l| block.line(l, &Theme::default()));
        lines
            .flat_map(|l| l.spans)
            .map(|s| (s.text().trim().to_owned(), s.style))
            .filter(|(text, _)| !text.is_empty())
            .collect()
    }

    #[test]
    fn languages_are_known_by_many_names() {
        load();
        let set = SYNTAXES.get().unwrap();
        for name in [
            "rust",
            "rs",
            "python",
            "py",
            "py3",
            "js",
            "jsx",
            "ts",
            "tsx",
            "typescript",
            "go",
            "golang",
            "c",
            "c++",
            "cpp",
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
            "yml",
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
            "markdown",
        ] {
            assert!(find(set, name).is_some(), "{name}");
        }
        for (info, expect) in [
            ("Rust,ignore", "rust"),
            ("{.python}", "python"),
            ("js title=\"x\"", "js"),
            ("", ""),
        ] {
            assert_eq!(language(info), expect);
        }
    }

    #[test]
    fn tokens_have_their_colours_across_lines() {
        let got = tokens("rust", "/* a\nb */ let x: u8 = 12; // c\nf(\"s\")");
        let look = |token| style(token, &Theme::default());
        for (text, token) in [
            ("/* a", Token::Comment),
            ("b */", Token::Comment),
            ("let", Token::Keyword),
            ("12", Token::Number),
            ("// c", Token::Comment),
            ("f", Token::Function),
            ("\"s\"", Token::String),
        ] {
            assert!(
                got.contains(&(text.to_owned(), look(token))),
                "{text} in {got:?}"
            );
        }
    }

    #[test]
    fn nothing_is_lost_and_too_much_is_plain() {
        let long = "let ".repeat(MAX_LINE_CHARS);
        load();
        let mut block = Block::new("rust");
        let line = block.line(&long, &Theme::default());
        assert_eq!((line.spans.len(), line.text() == long), (1, true));
        for _ in 0..MAX_LINES {
            block.line("", &Theme::default());
        }
        assert_eq!(block.line("let x = 1;", &Theme::default()).spans.len(), 1);
        assert_eq!(
            tokens("nonsense", "let x"),
            [("let x".to_owned(), Style::PLAIN)]
        );
    }

    #[test]
    fn escapes_in_code_are_shown() {
        load();
        let line = Block::new("rust").line("\"\u{1b}[31m\" // \u{202e}", &Theme::default());
        assert_eq!(line.text(), "\"␛[31m\" // \u{fffd}");
    }
}
