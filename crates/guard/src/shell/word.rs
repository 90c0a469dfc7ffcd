//! One word of shell text: quote removal, escapes, tilde, braces, variables whose value is known. Its own reading of the
//! characters, so that a word the grammar cut differently from a shell is noticed. It runs and opens nothing.

use std::collections::HashMap;
use std::ops::Range;

/// Words that one brace pattern may become.
const MAX_BRACES: usize = 64;

/// Variables whose value follows from the text itself. `None`: assigned, value unknown.
pub type Vars = HashMap<String, Option<Value>>;

/// What a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub text: String,
    /// One file name that fits the pattern in `text`.
    pub wild: bool,
    /// Any number of them, one a line.
    pub many: bool,
    /// There is no blank in it, whatever it is.
    pub single: bool,
}

impl Value {
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            wild: false,
            many: false,
            single: false,
        }
    }

    /// One word that stands for what is printed.
    pub fn like(text: impl Into<String>) -> Self {
        Self {
            wild: true,
            single: true,
            ..Self::plain(text)
        }
    }
}

/// A word as the command will see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// With the raw text in place of what is not known.
    pub text: String,
    pub known: bool,
    /// A pattern that becomes file names.
    pub glob: bool,
    /// Written in a way that shells read differently, or that hides what it is.
    pub odd: bool,
    /// An unquoted unknown value: any number of words.
    pub many: bool,
    /// One file name that fits the pattern in `text`.
    pub wild: bool,
    /// One of several that braces stand for; some shells leave them as they are.
    pub brace: bool,
    /// With `*` in place of what is not known.
    pub shape: Option<String>,
}

impl Word {
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            known: true,
            ..Self::default()
        }
    }

    pub fn unknown(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            many: true,
            ..Self::default()
        }
    }

    /// Exactly this text, whatever the shell.
    pub fn is_sure(&self) -> bool {
        self.known && !self.glob && !self.odd && !self.brace && !self.wild
    }

    /// Where the file names it becomes may start with a dash.
    pub fn may_be_option(&self) -> bool {
        self.text.starts_with('-')
            || !self.known
                && !self
                    .text
                    .starts_with(|c: char| c.is_alphanumeric() || "./".contains(c))
            || (self.glob || self.wild) && self.text.starts_with(['*', '?', '['])
    }
}

/// Not one word of a shell.
#[derive(Debug)]
pub struct NotAWord;

/// What a word is read with.
pub struct Reading<'a> {
    pub src: &'a str,
    /// Substitutions and expansions that the grammar found, with the value where it follows from the text.
    pub opaque: &'a [(Range<usize>, Option<Value>)],
    pub vars: &'a Vars,
    pub home: Option<&'a str>,
    /// The folder, where only one is possible.
    pub cwd: Option<&'a str>,
}

#[derive(Clone, Copy)]
struct Ch {
    c: char,
    quoted: bool,
    /// Stands for something unknown; `c` is then a piece of the raw text.
    unknown: bool,
}

struct Lexed {
    chars: Vec<Ch>,
    odd: bool,
    many: bool,
    wild: bool,
}

/// The words that the text in `span` becomes; more than one only by braces.
pub fn read(reading: &Reading<'_>, span: Range<usize>) -> Result<Vec<Word>, NotAWord> {
    let lexed = lex(reading, span)?;
    let mut all = Vec::new();
    let whole = braces(&lexed.chars, &mut all);
    if !whole {
        let raw: String = lexed.chars.iter().map(|c| c.c).collect();
        return Ok(vec![Word::unknown(raw)]);
    }
    let brace = all.len() > 1;
    Ok(all
        .into_iter()
        .map(|chars| Word {
            brace,
            ..finish(reading, &chars, &lexed)
        })
        .collect())
}

fn shape(chars: &[Ch]) -> Option<String> {
    if chars.iter().all(|c| !c.unknown) {
        return None;
    }
    let mut out = String::new();
    for ch in chars {
        match ch.unknown {
            true if out.ends_with('*') => {}
            true => out.push('*'),
            false if ch.c == '*' && out.ends_with('*') => {}
            false => out.push(ch.c),
        }
    }
    Some(out)
}

fn finish(reading: &Reading<'_>, chars: &[Ch], lexed: &Lexed) -> Word {
    let mut word = Word {
        known: chars.iter().all(|c| !c.unknown),
        glob: chars
            .iter()
            .any(|c| !c.quoted && !c.unknown && "*?[".contains(c.c)),
        odd: lexed.odd || chars.iter().any(|c| is_hiding(c.c)),
        many: lexed.many,
        wild: lexed.wild,
        brace: false,
        shape: shape(chars),
        text: chars.iter().map(|c| c.c).collect(),
    };
    let is_tilde = |i: usize| chars.get(i).is_some_and(|c| c.c == '~' && !c.quoted);
    if is_tilde(0) {
        let rest = word.text.get(1..).unwrap_or_default();
        match reading.home {
            Some(home) if rest.is_empty() || rest.starts_with('/') => {
                word.text = format!("{home}{rest}");
            }
            Some(_) | None => word.known = false,
        }
    }
    let later = |i: usize| is_tilde(i) && chars.get(i - 1).is_some_and(|c| "=:".contains(c.c));
    if (1..chars.len()).any(later) {
        word.odd = true;
    }
    word
}

/// Control characters, invisible ones, and those that turn the reading direction.
pub fn is_hiding(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}')
        || (c.is_whitespace() && !c.is_ascii())
}

fn lex(reading: &Reading<'_>, span: Range<usize>) -> Result<Lexed, NotAWord> {
    let mut out = Lexed {
        chars: Vec::new(),
        odd: false,
        many: false,
        wild: false,
    };
    let mut at = span.start;
    while at < span.end {
        let c = char_at(reading.src, at)?;
        let next = at + c.len_utf8();
        at = match c {
            '\'' => single(reading, next, &mut out)?,
            '"' => double(reading, next, &mut out)?,
            '\\' => {
                let escaped = char_at(reading.src, next)?;
                if escaped != '\n' {
                    out.push(escaped, true);
                }
                next + escaped.len_utf8()
            }
            '$' | '`' => dollar(reading, at, false, &mut out)?,
            '<' | '>' => out.opaque(reading, at, false).ok_or(NotAWord)?,
            ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '\0' => return Err(NotAWord),
            _ => {
                out.push(c, false);
                next
            }
        };
    }
    if at == span.end {
        Ok(out)
    } else {
        Err(NotAWord)
    }
}

impl Lexed {
    fn push(&mut self, c: char, quoted: bool) {
        self.chars.push(Ch {
            c,
            quoted,
            unknown: false,
        });
    }

    fn push_unknown(&mut self, raw: &str, quoted: bool) {
        self.chars.extend(raw.chars().map(|c| Ch {
            c,
            quoted: true,
            unknown: true,
        }));
        self.many |= !quoted;
    }

    /// A known value; unquoted it may still be cut or become file names.
    fn push_value(&mut self, raw: &str, value: Option<&Value>, quoted: bool) {
        match value {
            Some(Value { many: true, .. }) if quoted => self.push_unknown(raw, quoted),
            // Names of files, which blanks in them cut; none of them is a pattern again.
            Some(Value {
                text,
                many,
                wild,
                single,
            }) if (*many || *wild && !quoted && !single) && !text.contains(char::is_whitespace) => {
                text.chars().for_each(|c| self.push(c, true));
                self.many = true;
                self.wild = true;
            }
            Some(Value { text, wild, .. })
                if quoted || !text.contains(|c: char| c.is_whitespace() || "*?[\\".contains(c)) =>
            {
                text.chars().for_each(|c| self.push(c, true));
                self.many |= !quoted && text.is_empty();
                self.wild |= wild;
            }
            Some(_) | None => self.push_unknown(raw, quoted),
        }
    }

    /// Jumps over what the grammar found at this place.
    fn opaque(&mut self, reading: &Reading<'_>, at: usize, quoted: bool) -> Option<usize> {
        let (span, value) = reading.opaque.iter().find(|(span, _)| span.start == at)?;
        let raw = reading.src.get(span.clone())?;
        self.push_value(raw, value.as_ref(), quoted);
        Some(span.end)
    }
}

fn single(reading: &Reading<'_>, mut at: usize, out: &mut Lexed) -> Result<usize, NotAWord> {
    loop {
        let c = char_at(reading.src, at)?;
        at += c.len_utf8();
        if c == '\'' {
            // An empty quote still makes a word, and hides nothing else.
            return Ok(at);
        }
        out.push(c, true);
    }
}

fn double(reading: &Reading<'_>, mut at: usize, out: &mut Lexed) -> Result<usize, NotAWord> {
    loop {
        let c = char_at(reading.src, at)?;
        let next = at + c.len_utf8();
        at = match c {
            '"' => return Ok(next),
            '\\' => {
                let escaped = char_at(reading.src, next)?;
                match escaped {
                    '$' | '`' | '"' | '\\' => out.push(escaped, true),
                    '\n' => {}
                    _ => {
                        out.push('\\', true);
                        out.push(escaped, true);
                    }
                }
                next + escaped.len_utf8()
            }
            '$' | '`' => dollar(reading, at, true, out)?,
            _ => {
                out.push(c, true);
                next
            }
        };
    }
}

fn dollar(
    reading: &Reading<'_>,
    at: usize,
    quoted: bool,
    out: &mut Lexed,
) -> Result<usize, NotAWord> {
    let rest = reading.src.get(at + 1..).unwrap_or_default();
    if reading.src.get(at..).is_some_and(|s| s.starts_with('`')) {
        return out.opaque(reading, at, quoted).ok_or(NotAWord);
    }
    match rest.chars().next() {
        Some('\'') if !quoted => {
            out.odd = true;
            ansi(reading.src, at + 2, out)
        }
        Some('"') if !quoted => {
            out.odd = true;
            double(reading, at + 2, out)
        }
        Some('(' | '{' | '[' | '`') => out.opaque(reading, at, quoted).ok_or(NotAWord),
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {
            let name: &str = rest
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .next()
                .unwrap_or_default();
            let value = match reading.vars.get(name) {
                Some(value) => value.clone(),
                None if name == "HOME" => reading.home.map(Value::plain),
                None if name == "PWD" => reading.cwd.map(Value::plain),
                None => None,
            };
            let end = at + 1 + name.len();
            let raw = reading.src.get(at..end).unwrap_or_default();
            out.push_value(raw, value.as_ref(), quoted);
            Ok(end)
        }
        Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
            out.push_unknown(reading.src.get(at..at + 2).unwrap_or_default(), quoted);
            Ok(at + 2)
        }
        Some(_) | None => {
            out.push('$', true);
            Ok(at + 1)
        }
    }
}

/// `$'…'`, from behind its opening quote.
fn ansi(src: &str, mut at: usize, out: &mut Lexed) -> Result<usize, NotAWord> {
    loop {
        let c = char_at(src, at)?;
        at += c.len_utf8();
        match c {
            '\'' => return Ok(at),
            '\\' => {
                let e = char_at(src, at)?;
                at += e.len_utf8();
                let rest = src.get(at..).unwrap_or_default();
                let (decoded, used) = match e {
                    'n' => ('\n', 0),
                    't' => ('\t', 0),
                    'r' => ('\r', 0),
                    'a' => ('\u{7}', 0),
                    'b' => ('\u{8}', 0),
                    'e' | 'E' => ('\u{1b}', 0),
                    'f' => ('\u{c}', 0),
                    'v' => ('\u{b}', 0),
                    'x' => digits(rest, 16, 2)?,
                    'u' => digits(rest, 16, 4)?,
                    'U' => digits(rest, 16, 8)?,
                    '0'..='7' => {
                        let (decoded, used) = digits(src.get(at - 1..).unwrap_or_default(), 8, 3)?;
                        (decoded, used - 1)
                    }
                    'c' => return Err(NotAWord),
                    other => (other, 0),
                };
                out.push(decoded, true);
                at += used;
            }
            _ => out.push(c, true),
        }
    }
}

fn digits(text: &str, radix: u32, max: usize) -> Result<(char, usize), NotAWord> {
    let used = text
        .chars()
        .take(max)
        .take_while(|c| c.is_digit(radix))
        .count();
    let value = text
        .get(..used)
        .and_then(|t| u32::from_str_radix(t, radix).ok())
        .and_then(char::from_u32)
        .filter(|c| *c != '\0');
    value.map(|c| (c, used)).ok_or(NotAWord)
}

fn char_at(src: &str, at: usize) -> Result<char, NotAWord> {
    src.get(at..).and_then(|s| s.chars().next()).ok_or(NotAWord)
}

/// All words that a brace pattern stands for; false when there are too many or a sequence is not understood.
fn braces(chars: &[Ch], out: &mut Vec<Vec<Ch>>) -> bool {
    if out.len() >= MAX_BRACES {
        return false;
    }
    let is = |i: usize, c: char| chars.get(i).is_some_and(|ch| ch.c == c && !ch.quoted);
    for open in (0..chars.len()).filter(|i| is(*i, '{')) {
        let mut depth = 0usize;
        let mut cuts = vec![open];
        for i in open + 1..chars.len() {
            if is(i, '{') {
                depth += 1;
            } else if is(i, ',') && depth == 0 {
                cuts.push(i);
            } else if is(i, '}') && depth > 0 {
                depth -= 1;
            } else if is(i, '}') {
                cuts.push(i);
                break;
            }
        }
        let Some(close) = cuts.last().copied().filter(|i| *i > open && is(*i, '}')) else {
            continue;
        };
        let inner: String = chars
            .get(open + 1..close)
            .unwrap_or_default()
            .iter()
            .map(|c| c.c)
            .collect();
        if cuts.len() == 2 {
            if inner.contains("..") {
                return false;
            }
            continue;
        }
        return cuts.windows(2).all(|pair| {
            let [from, to] = pair else { return false };
            let middle = chars.get(from + 1..*to).unwrap_or_default();
            let mut one = chars.get(..open).unwrap_or_default().to_vec();
            one.extend_from_slice(middle);
            one.extend_from_slice(chars.get(close + 1..).unwrap_or_default());
            braces(&one, out)
        });
    }
    out.push(chars.to_vec());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(src: &str, expect: &[&str]) {
        let vars = Vars::from([("V".to_owned(), Some(Value::plain("val")))]);
        let reading = Reading {
            src,
            opaque: &[],
            vars: &vars,
            home: Some("/home/me"),
            cwd: None,
        };
        let got: Vec<String> = read(&reading, 0..src.len())
            .map(|words| words.into_iter().map(|w| w.text).collect())
            .unwrap_or_else(|NotAWord| vec!["not a word".into()]);
        assert_eq!(got, expect, "{src}");
    }

    #[test]
    fn words_lose_their_quotes() {
        check("rm", &["rm"]);
        check(r"\rm", &["rm"]);
        check("r''m", &["rm"]);
        check("\"r\"m", &["rm"]);
        check(r"$'\x72m'", &["rm"]);
        check(r"$'\162\u006d'", &["rm"]);
        check("'a b'\"c d\"", &["a bc d"]);
        check(r#""a\"b\$c\d""#, &[r#"a"b$c\d"#]);
        check("~/x", &["/home/me/x"]);
        check("'~/x'", &["~/x"]);
        check("$HOME/x", &["/home/me/x"]);
        check("$V.txt", &["val.txt"]);
        check("'$V'", &["$V"]);
        check("a{b,c{d,e}}f", &["abf", "acdf", "acef"]);
        check("{}", &["{}"]);
        check("a{b}c", &["a{b}c"]);
        check("{1..3}", &["{1..3}"]);
        check("a b", &["not a word"]);
        check("a;b", &["not a word"]);
        check("'open", &["not a word"]);
        check("$(x)", &["not a word"]);
    }
}
