//! Reads a file of git's settings exactly as git does: what git would not read is nothing here either.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As git names it: section and name in small letters, between them the subsection as it is written.
    pub key: String,
    pub value: Option<String>,
    /// Where it stands in the text.
    pub span: std::ops::Range<usize>,
}

impl Setting {
    /// Section, subsection and name.
    pub fn parts(&self) -> Option<(&str, Option<&str>, &str)> {
        let (section, rest) = self.key.split_once('.')?;
        Some(match rest.rsplit_once('.') {
            Some((subsection, name)) => (section, Some(subsection), name),
            None => (section, None, rest),
        })
    }

    pub fn is(&self, known: &str) -> bool {
        let Some((section, subsection, name)) = self.parts() else {
            return false;
        };
        let parts: Vec<&str> = known.split('.').collect();
        match (parts.as_slice(), subsection) {
            ([known, last], None) => section == *known && name == *last,
            ([known, "*", last], Some(_)) => section == *known && name == *last,
            _ => false,
        }
    }

    pub fn is_one_of(&self, known: &[&str]) -> bool {
        known.iter().any(|known| self.is(known))
    }

    pub fn subsection(&self) -> Option<&str> {
        self.parts().and_then(|(_, subsection, _)| subsection)
    }

    pub fn pair(&self) -> (&str, Option<&str>) {
        (&self.key, self.value.as_deref())
    }

    /// The name of a remote is a word, perhaps with folders; that of a submodule is a path.
    pub fn has_plain_name(&self) -> bool {
        let name = self.parts().and_then(|(_, subsection, _)| subsection);
        name.is_some_and(|name| {
            let is_plain = |c: char| c.is_alphanumeric() || "._-/+@ ".contains(c);
            let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
            name.chars().all(is_plain) && !name.starts_with('-') && name.split('/').all(is_part)
        })
    }

    /// As a section of its own.
    pub fn written(&self) -> Option<String> {
        let (section, subsection, name) = self.parts()?;
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let head = match subsection {
            Some(sub) if sub.contains('\n') => return None,
            Some(sub) => format!("[{section} \"{}\"]", escaped(sub)),
            None => format!("[{section}]"),
        };
        let Some(value) = &self.value else {
            return Some(format!("{head}\n\t{name}\n"));
        };
        let is_plain =
            !value.contains(['"', '\\', '#', ';', '\n', '\t', '\u{8}']) && value.trim() == value;
        Some(match is_plain {
            true => format!("{head}\n\t{name} = {value}\n"),
            false => {
                let value = escaped(value).replace('\n', "\\n").replace('\t', "\\t");
                let value = value.replace('\u{8}', "\\b");
                format!("{head}\n\t{name} = \"{value}\"\n")
            }
        })
    }
}

/// Files that a file of settings includes, on whatever condition, as it names them. Git dies of what is no setting only when
/// it gets there, so what stands before that counts.
pub fn included(text: &[u8]) -> Vec<PathBuf> {
    let all = parse_bytes(text).into_iter();
    let includes =
        all.filter(|setting| setting.is("include.path") || setting.is("includeif.*.path"));
    let paths = includes.filter_map(|setting| bytes(&setting.value?));
    paths.map(|path| crate::raw::name(&path).into()).collect()
}

/// All settings of a file, or nothing where git would not read it.
pub fn parse(text: &[u8]) -> Option<Vec<Setting>> {
    let text = std::str::from_utf8(text).ok()?;
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.contains(is_odd) {
        return None;
    }
    let mut reader = Reader {
        text: text.as_bytes(),
        at: text.len() - text.trim_start_matches('\u{feff}').len(),
    };
    // Git passes over one mark at the start.
    if reader.at > '\u{feff}'.len_utf8() {
        return None;
    }
    let mut found = Vec::new();
    reader.settings(&mut found).map(|()| found)
}

/// The settings of a file in whatever coding, up to what git would not read. Each byte of keys and values is one character,
/// which `bytes` makes a byte again.
pub fn parse_bytes(text: &[u8]) -> Vec<Setting> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let text: String = text.iter().map(|byte| char::from(*byte)).collect();
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
    };
    let mut found = Vec::new();
    // What was read before the end counts.
    let _ = reader.settings(&mut found);
    found
}

/// The bytes of a value that `parse_bytes` read.
pub fn bytes(value: &str) -> Option<Vec<u8>> {
    let each = value.chars().map(|c| u8::try_from(c).ok());
    each.collect()
}

/// By which a file says that it is in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// The next character, as git reads it: the two that end a line elsewhere are one.
    fn next(&mut self) -> Option<u8> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        if byte == b'\r' && self.text.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return Some(b'\n');
        }
        Some(byte)
    }

    fn settings(&mut self, found: &mut Vec<Setting>) -> Option<()> {
        let mut base: Option<String> = None;
        loop {
            let start = self.at;
            let Some(byte) = self.next() else {
                return Some(());
            };
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b'#' | b';' => while self.next().is_some_and(|byte| byte != b'\n') {},
                b'[' => base = Some(self.section()?),
                first if first.is_ascii_alphabetic() => {
                    let (name, value) = self.setting(first)?;
                    found.push(Setting {
                        key: format!("{}.{name}", base.as_ref()?),
                        value,
                        span: start..self.at,
                    });
                }
                _ => return None,
            }
        }
    }

    /// After the bracket, up to its end.
    fn section(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.next()? {
                b']' => return (!name.is_empty() && !name.starts_with('.')).then_some(name),
                b' ' | b'\t' | b'\r' => return self.subsection(name),
                byte if is_key(byte) || byte == b'.' => {
                    name.push(char::from(byte).to_ascii_lowercase())
                }
                _ => return None,
            }
        }
    }

    fn subsection(&mut self, mut name: String) -> Option<String> {
        let mut byte = self.next()?;
        while matches!(byte, b' ' | b'\t' | b'\r') {
            byte = self.next()?;
        }
        if byte != b'"' || name.is_empty() || name.starts_with('.') {
            return None;
        }
        let mut sub = Vec::new();
        loop {
            match self.next()? {
                b'\n' => return None,
                b'"' => break,
                b'\\' => match self.next()? {
                    b'\n' => return None,
                    escaped => sub.push(escaped),
                },
                byte => sub.push(byte),
            }
        }
        name.push('.');
        name.push_str(&String::from_utf8(sub).ok()?);
        (self.next()? == b']').then_some(name)
    }

    fn setting(&mut self, first: u8) -> Option<(String, Option<String>)> {
        let mut name = String::from(char::from(first).to_ascii_lowercase());
        let mut byte = self.next();
        while let Some(key) = byte.filter(|byte| is_key(*byte)) {
            name.push(char::from(key).to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, Some(b' ' | b'\t')) {
            byte = self.next();
        }
        match byte {
            None | Some(b'\n') => Some((name, None)),
            Some(b'=') => Some((name, Some(self.value()?))),
            Some(_) => None,
        }
    }

    fn value(&mut self) -> Option<String> {
        let mut value: Vec<u8> = Vec::new();
        // Where spaces begin that may be the end.
        let mut trim = None;
        let mut quoted = false;
        loop {
            let byte = match self.next() {
                None | Some(b'\n') if quoted => return None,
                None | Some(b'\n') => break,
                Some(byte) => byte,
            };
            match byte {
                b' ' | b'\t' | b'\r' if !quoted => {
                    trim.get_or_insert(value.len());
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !quoted => {
                    while self.next().is_some_and(|byte| byte != b'\n') {}
                    break;
                }
                _ => trim = None,
            }
            match byte {
                b'\\' => match self.next()? {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'n' => value.push(b'\n'),
                    b'b' => value.push(8),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return None,
                },
                b'"' => quoted = !quoted,
                byte => value.push(byte),
            }
        }
        if let Some(trim) = trim {
            value.truncate(trim);
        }
        String::from_utf8(value).ok()
    }
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}
