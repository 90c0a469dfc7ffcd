//! Reads JSON as weaker models write it and writes it down as JSON. It gives up where two readings are possible.

use std::fmt::Write;

/// Deeper nesting is refused; the strict parser after us has a like limit.
const MAX_DEPTH: usize = 100;

/// Whether the text has to be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The model stopped by itself: what is missing was forgotten, not lost.
    Whole,
    /// A limit or a broken connection stopped it: what is missing is unknown.
    Cut,
}

/// Something that had to be mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fix {
    Empty,
    Fence,
    Wrapped,
    Encoded,
    Repeats,
    Extra,
    Around,
    Braces,
    Comments,
    Comma,
    NoComma,
    Signs,
    Numbers,
    Quotes,
    Smart,
    Keys,
    Words,
    Breaks,
    Escapes,
    Unclosed,
    Twice,
}

impl Fix {
    pub(super) fn words(self) -> &'static str {
        match self {
            Fix::Empty => "no arguments",
            Fix::Fence => "a code fence",
            Fix::Wrapped => "a list around the object",
            Fix::Encoded => "JSON inside a string",
            Fix::Repeats => "the object repeated",
            Fix::Extra => "marks after the object",
            Fix::Around => "text around the object",
            Fix::Braces => "missing outer braces",
            Fix::Comments => "comments",
            Fix::Comma => "a trailing comma",
            Fix::NoComma => "a missing comma",
            Fix::Signs => "other signs for a colon or a comma",
            Fix::Numbers => "a number in another notation",
            Fix::Quotes => "single quotes",
            Fix::Smart => "typographic quotes",
            Fix::Keys => "keys without quotes",
            Fix::Words => "True, False, None or the like",
            Fix::Breaks => "raw line breaks in a string",
            Fix::Escapes => "unknown escapes",
            Fix::Unclosed => "missing closing marks",
            Fix::Twice => "a name twice",
        }
    }
}

/// A value that was read at the start of a text.
pub(super) struct Read {
    /// Strict JSON.
    pub json: String,
    /// Bytes of the input that it took.
    pub used: usize,
    pub fixes: Vec<Fix>,
}

/// Why it was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The text ends where something must follow.
    Ends,
    /// What is wrong, and the byte where.
    At(usize, String),
}

pub(super) fn read(text: &str, ended: Ended) -> Result<Read, Trouble> {
    let mut reader = Reader {
        text,
        at: 0,
        out: String::new(),
        fixes: Vec::new(),
        depth: 0,
        in_object: false,
        ended,
    };
    reader.value()?;
    Ok(Read {
        json: reader.out,
        used: reader.at,
        fixes: reader.fixes,
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    out: String,
    fixes: Vec<Fix>,
    depth: usize,
    /// The innermost bracket that is open is a brace.
    in_object: bool,
    ended: Ended,
}

/// A mark that some systems put before a text.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// A name that is longer is none of a parameter.
const MAX_NAME: usize = 64;

/// The mark that ends a string, by the one that begins it.
fn end_of_quote(c: char) -> Option<char> {
    Some(match c {
        '"' | '\'' | '`' => c,
        '“' | '”' => '”',
        '„' => '“',
        '‘' | '’' => '’',
        _ => return None,
    })
}

/// What follows a comment. One without an end is none: what it hides may be meant.
fn without_comment(text: &str) -> Option<&str> {
    if text.starts_with("//") || text.starts_with('#') {
        return text.split_once('\n').map(|(_, after)| after);
    }
    let (_, after) = text.strip_prefix("/*")?.split_once("*/")?;
    Some(after)
}

/// Whether a text begins with a name in quotes and a colon.
pub(super) fn begins_with_name(text: &str) -> bool {
    let Some(quote @ ('"' | '“')) = text.chars().next() else {
        return false;
    };
    let end = end_of_quote(quote).unwrap_or(quote);
    let inside = text.get(quote.len_utf8()..).unwrap_or("");
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let length: usize = inside
        .chars()
        .take(MAX_NAME)
        .take_while(|c| is_name(*c))
        .map(char::len_utf8)
        .sum();
    let after = inside.get(length..).unwrap_or("");
    let after = after.strip_prefix(end).map(str::trim_start);
    length > 0 && after.is_some_and(|after| after.starts_with([':', '：']))
}

/// `+4`, `4.`, `.5` and `1_000` as JSON has them.
fn plain_number(text: &str) -> String {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let digits = digits.strip_suffix('.').unwrap_or(digits).replace('_', "");
    match digits.starts_with('.') {
        true => format!("0{digits}"),
        false => digits,
    }
}

/// What stands after an item of a list or an object.
enum After {
    Next,
    Closed,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Passes over blanks, and over comments where values and names are.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let text = rest.trim_start_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK);
            self.at += rest.len() - text.len();
            let Some(after) = without_comment(text) else {
                return;
            };
            self.fix(Fix::Comments);
            self.at += text.len() - after.len();
        }
    }

    /// Whether a name in double or typographic quotes follows, with its colon.
    fn is_at_name(&self) -> bool {
        begins_with_name(self.rest())
    }

    /// The next character that is not blank.
    fn peek(&mut self) -> Option<char> {
        self.skip_blanks();
        self.rest().chars().next()
    }

    fn fix(&mut self, fix: Fix) {
        if !self.fixes.contains(&fix) {
            self.fixes.push(fix);
        }
    }

    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, Trouble> {
        Err(Trouble::At(self.at, what.into()))
    }

    fn value(&mut self) -> Result<(), Trouble> {
        match self.peek() {
            None => Err(Trouble::Ends),
            Some('{') => self.nested('}'),
            Some('[') => self.nested(']'),
            Some('-' | '+' | '.' | '0'..='9') => self.number(),
            Some(c) if end_of_quote(c).is_some() => self.string(c),
            Some(_) => self.word(),
        }
    }

    fn nested(&mut self, close: char) -> Result<(), Trouble> {
        if self.depth == MAX_DEPTH {
            return self.wrong("it is nested too deeply");
        }
        self.depth += 1;
        let outside = std::mem::replace(&mut self.in_object, close == '}');
        self.out.push(if close == '}' { '{' } else { '[' });
        self.at += 1;
        self.skip_spare_commas();
        if self.peek() == Some(close) {
            self.at += 1;
        } else {
            loop {
                if close == '}' {
                    self.key()?;
                }
                self.value()?;
                match self.after(close)? {
                    After::Next => self.out.push(','),
                    After::Closed => break,
                }
            }
        }
        self.out.push(close);
        self.depth -= 1;
        self.in_object = outside;
        Ok(())
    }

    /// A comma too many between fields says nothing; in a list an item may be missing there.
    fn skip_spare_commas(&mut self) {
        while self.in_object && self.peek() == Some(',') {
            self.fix(Fix::Comma);
            self.at += 1;
        }
    }

    fn after(&mut self, close: char) -> Result<After, Trouble> {
        match self.peek() {
            Some(sign @ (',' | '，' | ';')) => {
                if sign != ',' {
                    self.fix(Fix::Signs);
                }
                self.at += sign.len_utf8();
                self.skip_spare_commas();
                if self.peek() == Some(close) {
                    self.fix(Fix::Comma);
                    self.at += 1;
                    return Ok(After::Closed);
                }
                Ok(After::Next)
            }
            Some(c) if c == close => {
                self.at += 1;
                Ok(After::Closed)
            }
            Some(_) if close == '}' && self.is_at_name() => {
                self.fix(Fix::NoComma);
                Ok(After::Next)
            }
            Some('{') if close == ']' && self.out.ends_with('}') => {
                self.fix(Fix::NoComma);
                Ok(After::Next)
            }
            // A list was closed twice.
            Some(']') if close == '}' && self.out.ends_with(']') => {
                self.fix(Fix::Extra);
                self.at += 1;
                self.after(close)
            }
            // A list that is open may lack items.
            None if self.ended == Ended::Whole && close == '}' => {
                self.fix(Fix::Unclosed);
                Ok(After::Closed)
            }
            None => Err(Trouble::Ends),
            Some(c) => self.wrong(format!(
                "there should be `,` or `{close}` but there is `{c}`"
            )),
        }
    }

    fn key(&mut self) -> Result<(), Trouble> {
        match self.peek() {
            None => return Err(Trouble::Ends),
            Some(c) if end_of_quote(c).is_some() => self.string(c)?,
            // A string as Python writes it.
            Some('u') if self.rest().starts_with("u'") || self.rest().starts_with("u\"") => {
                self.at += 1;
                return self.key();
            }
            Some(_) => {
                let rest = self.rest();
                let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let name = rest.get(..end).unwrap_or("");
                if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
                    return self.wrong("there should be a name in double quotes");
                }
                self.fix(Fix::Keys);
                self.at += end;
                _ = write!(self.out, "\"{name}\"");
            }
        }
        match self.peek() {
            None => Err(Trouble::Ends),
            Some(sign @ (':' | '：' | '=')) => {
                if sign != ':' {
                    self.fix(Fix::Signs);
                }
                self.at += sign.len_utf8();
                if sign == '=' && self.rest().starts_with('>') {
                    self.at += 1;
                }
                self.out.push(':');
                Ok(())
            }
            Some(_) => self.wrong("there should be `:` after a name"),
        }
    }

    fn number(&mut self) -> Result<(), Trouble> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | '_' | 'e' | 'E'))
            .unwrap_or(rest.len());
        let number = rest.get(..end).unwrap_or("");
        // Where the text ends, more digits may have been lost.
        if end == rest.len() {
            return Err(Trouble::Ends);
        }
        let is_number = |text: &str| serde_json::from_str::<serde_json::Number>(text).is_ok();
        if is_number(number) {
            self.out.push_str(number);
            self.at += end;
            return Ok(());
        }
        let plain = plain_number(number);
        if !is_number(&plain) {
            return self.wrong(format!("`{number}` is not a number"));
        }
        self.fix(Fix::Numbers);
        self.out.push_str(&plain);
        self.at += end;
        Ok(())
    }

    fn word(&mut self) -> Result<(), Trouble> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or("");
        let json = match word {
            "true" | "True" | "TRUE" => "true",
            "false" | "False" | "FALSE" => "false",
            "null" | "None" | "NULL" | "Null" | "nil" | "undefined" => "null",
            "u" if rest
                .get(end..)
                .is_some_and(|after| after.starts_with(['\'', '"'])) =>
            {
                self.at += end;
                return self.value();
            }
            "" => return self.wrong("there should be a value"),
            _ if end == rest.len() => return Err(Trouble::Ends),
            _ => return self.wrong(format!("`{word}` should be in double quotes")),
        };
        if json != word {
            self.fix(Fix::Words);
        }
        self.out.push_str(json);
        self.at += end;
        Ok(())
    }

    fn string(&mut self, quote: char) -> Result<(), Trouble> {
        let end = end_of_quote(quote).unwrap_or(quote);
        match quote {
            '"' => {}
            '\'' => self.fix(Fix::Quotes),
            _ => self.fix(Fix::Smart),
        }
        let start = self.at;
        // Apostrophes in a string between double quotes: those that are escaped, and those that are not.
        let (mut escaped, mut bare) = (false, false);
        self.at += quote.len_utf8();
        self.out.push('"');
        loop {
            let rest = self.rest();
            let plain = rest
                .find(|c: char| c == end || matches!(c, '"' | '\'' | '\\') || c < ' ')
                .unwrap_or(rest.len());
            self.out.push_str(rest.get(..plain).unwrap_or(""));
            self.at += plain;
            // Nobody knows what an open string would have said, so it is never closed.
            let Some(c) = rest.get(plain..).and_then(|rest| rest.chars().next()) else {
                return Err(Trouble::Ends);
            };
            if c == end {
                self.at += end.len_utf8();
                break;
            }
            match c {
                '\\' if quote == '`' => {
                    return self.wrong("there is a backslash in a string between backticks");
                }
                '\\' => {
                    escaped |= self.rest().starts_with("\\'");
                    self.escape()?;
                }
                '"' => {
                    self.out.push_str("\\\"");
                    self.at += 1;
                }
                '\'' => {
                    bare = true;
                    self.out.push('\'');
                    self.at += 1;
                }
                _ => {
                    self.fix(Fix::Breaks);
                    self.control(c);
                    self.at += 1;
                }
            }
        }
        self.out.push('"');
        if quote == '"' && escaped && bare {
            self.at = start;
            return self.wrong(
                "a string has both `'` and `\\'`, so the backslash may be meant; write `\\\\'` for it",
            );
        }
        if quote == '`'
            && self
                .text
                .get(start..self.at)
                .is_some_and(|s| s.contains("${"))
        {
            self.at = start;
            return self.wrong("a string between backticks has `${` in it");
        }
        // A quote that nothing follows which could follow a string stands inside one.
        let closed = self.at;
        match self.peek() {
            // The apostrophe may be one of the text.
            None if matches!(end, '\'' | '’') && self.depth > 0 => Err(Trouble::Ends),
            None | Some(',' | '}' | ']' | ':' | '，' | '：' | ';' | '=') => Ok(()),
            Some(_) if self.depth == 0 => Ok(()),
            // With a blank between them two strings are two.
            Some(_) if self.in_object && closed < self.at && self.is_at_name() => Ok(()),
            Some(_) => self.wrong("a quote inside a string is not escaped, or a comma is missing"),
        }
    }

    fn control(&mut self, c: char) {
        match c {
            '\n' => self.out.push_str("\\n"),
            '\r' => self.out.push_str("\\r"),
            '\t' => self.out.push_str("\\t"),
            c => _ = write!(self.out, "\\u{:04x}", u32::from(c)),
        }
    }

    fn escape(&mut self) -> Result<(), Trouble> {
        let rest = self.rest();
        let Some(c) = rest.chars().nth(1) else {
            return Err(Trouble::Ends);
        };
        match c {
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => {
                self.out.push('\\');
                self.out.push(c);
            }
            'u' => {
                let code = rest.get(..6).unwrap_or("");
                if rest.len() < 6 {
                    return Err(Trouble::Ends);
                }
                if code.len() < 6 || !code.bytes().skip(2).all(|b| b.is_ascii_hexdigit()) {
                    return self.wrong("`\\u` must be followed by four hexadecimal digits");
                }
                self.out.push_str(code);
                self.at += 6;
                return Ok(());
            }
            '\'' => {
                self.fix(Fix::Escapes);
                self.out.push('\'');
            }
            '\n' | '\r' => return self.wrong("a line of a string ends in a backslash"),
            // Shells and templates escape these, so the backslash may be meant for them or for JSON.
            '$' | '`' => {
                return self.wrong(format!(
                    "`\\{c}` can mean two things: write `{c}`, or `\\\\{c}` when the backslash is meant"
                ));
            }
            // No such escape exists, so the backslash can only have meant itself.
            c => {
                self.fix(Fix::Escapes);
                self.out.push_str("\\\\");
                self.out.push(c);
            }
        }
        self.at += 1 + c.len_utf8();
        Ok(())
    }
}
