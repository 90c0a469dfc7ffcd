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
    Comma,
    Quotes,
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
            Fix::Comma => "a trailing comma",
            Fix::Quotes => "single quotes",
            Fix::Keys => "keys without quotes",
            Fix::Words => "True, False or None",
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
    ended: Ended,
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

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
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
            Some(quote @ ('"' | '\'')) => self.string(quote),
            Some('-' | '0'..='9') => self.number(),
            Some(_) => self.word(),
        }
    }

    fn nested(&mut self, close: char) -> Result<(), Trouble> {
        if self.depth == MAX_DEPTH {
            return self.wrong("it is nested too deeply");
        }
        self.depth += 1;
        self.out.push(if close == '}' { '{' } else { '[' });
        self.at += 1;
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
        Ok(())
    }

    fn after(&mut self, close: char) -> Result<After, Trouble> {
        match self.peek() {
            Some(',') => {
                self.at += 1;
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
            Some(quote @ ('"' | '\'')) => self.string(quote)?,
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
            Some(':') => {
                self.at += 1;
                self.out.push(':');
                Ok(())
            }
            Some(_) => self.wrong("there should be `:` after a name"),
        }
    }

    fn number(&mut self) -> Result<(), Trouble> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        let number = rest.get(..end).unwrap_or("");
        // Where the text ends, more digits may have been lost.
        if end == rest.len() {
            return Err(Trouble::Ends);
        }
        if serde_json::from_str::<serde_json::Number>(number).is_err() {
            return self.wrong(format!("`{number}` is not a number"));
        }
        self.out.push_str(number);
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
            "true" | "True" => "true",
            "false" | "False" => "false",
            "null" | "None" => "null",
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
        if quote == '\'' {
            self.fix(Fix::Quotes);
        }
        let start = self.at;
        // Apostrophes in a string between double quotes: those that are escaped, and those that are not.
        let (mut escaped, mut bare) = (false, false);
        self.at += 1;
        self.out.push('"');
        loop {
            let rest = self.rest();
            let plain = rest
                .find(|c: char| c == '"' || c == '\'' || c == '\\' || c < ' ')
                .unwrap_or(rest.len());
            self.out.push_str(rest.get(..plain).unwrap_or(""));
            self.at += plain;
            // Nobody knows what an open string would have said, so it is never closed.
            let Some(c) = rest.get(plain..).and_then(|rest| rest.chars().next()) else {
                return Err(Trouble::Ends);
            };
            if c == quote {
                self.at += 1;
                break;
            }
            match c {
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
        // A quote that nothing follows which could follow a string stands inside one.
        match self.peek() {
            // The apostrophe may be one of the text.
            None if quote == '\'' && self.depth > 0 => Err(Trouble::Ends),
            None | Some(',' | '}' | ']' | ':') => Ok(()),
            Some(_) if self.depth == 0 => Ok(()),
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
