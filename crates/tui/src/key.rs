//! Keys and other input as the rest knows them, so that the library that reads the terminal can change. A key has a name
//! (`ctrl-r`, `shift-tab`, `a`), which settings and tests use.

/// What comes in from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Key(Key),
    /// The terminal says that the key is still down.
    Repeat(Key),
    /// The key is down no longer. Only some terminals tell.
    Release(Key),
    Paste(String),
    Resize {
        columns: u16,
        rows: u16,
    },
    FocusGained,
    FocusLost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: Code,
    pub ctrl: bool,
    pub alt: bool,
    /// Only where the character does not say it already.
    pub shift: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    Char(char),
    Enter,
    Tab,
    Backspace,
    Delete,
    Esc,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    Insert,
    F(u8),
}

impl Key {
    pub const fn plain(code: Code) -> Self {
        Self {
            code,
            ctrl: false,
            alt: false,
            shift: false,
        }
    }

    pub const fn ctrl(c: char) -> Self {
        Self {
            ctrl: true,
            ..Self::plain(Code::Char(c))
        }
    }

    /// The key of a name: `ctrl-alt-x`, `shift-enter`, `f5`, `space`, `-`.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut key = Self::plain(Code::Esc);
        let mut rest = name;
        loop {
            let (modifier, after) = match rest.split_once('-') {
                Some((modifier, after)) if !modifier.is_empty() && !after.is_empty() => {
                    (modifier, after)
                }
                Some(_) | None => break,
            };
            match modifier.to_ascii_lowercase().as_str() {
                "ctrl" | "c" => key.ctrl = true,
                "alt" | "meta" | "m" => key.alt = true,
                "shift" | "s" => key.shift = true,
                _ => return None,
            }
            rest = after;
        }
        let mut chars = rest.chars();
        key.code = match (chars.next(), chars.next()) {
            (Some(c), None) => Code::Char(c),
            (Some('f' | 'F'), Some('0'..='9')) => Code::F(rest.get(1..)?.parse().ok()?),
            _ => NAMES
                .iter()
                .find(|(n, _)| n.eq_ignore_ascii_case(rest))
                .map(|(_, code)| *code)?,
        };
        Some(key)
    }

    pub fn name(&self) -> String {
        let mut out = String::new();
        for (on, word) in [
            (self.ctrl, "ctrl-"),
            (self.alt, "alt-"),
            (self.shift, "shift-"),
        ] {
            if on {
                out.push_str(word);
            }
        }
        let named = NAMES.iter().find(|(_, code)| *code == self.code);
        match (named, self.code) {
            (Some((name, _)), _) => out.push_str(name),
            (None, Code::Char(c)) => out.push(c),
            (None, Code::F(n)) => out.push_str(&format!("f{n}")),
            (None, _) => {}
        }
        out
    }
}

const NAMES: &[(&str, Code)] = &[
    ("enter", Code::Enter),
    ("tab", Code::Tab),
    ("backspace", Code::Backspace),
    ("delete", Code::Delete),
    ("esc", Code::Esc),
    ("up", Code::Up),
    ("down", Code::Down),
    ("left", Code::Left),
    ("right", Code::Right),
    ("home", Code::Home),
    ("end", Code::End),
    ("pageup", Code::PageUp),
    ("pagedown", Code::PageDown),
    ("insert", Code::Insert),
    ("space", Code::Char(' ')),
];

/// Keys of a test: characters stand for themselves, `<name>` for a named one, `<lt>` for `<`.
pub fn keys(text: &str) -> Vec<Key> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let named = rest
            .strip_prefix('<')
            .and_then(|r| r.split_once('>'))
            .and_then(|(name, after)| match name {
                "lt" => Some((Key::plain(Code::Char('<')), after)),
                _ => Key::from_name(name).map(|key| (key, after)),
            });
        match named {
            Some((key, after)) => {
                out.push(key);
                rest = after;
            }
            None => {
                out.push(match c {
                    '\n' => Key::plain(Code::Enter),
                    c => Key::plain(Code::Char(c)),
                });
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in [
            "ctrl-r",
            "shift-tab",
            "alt-enter",
            "a",
            "ctrl-alt-x",
            "f12",
            "space",
            "-",
            "ctrl--",
        ] {
            let key = Key::from_name(name).unwrap();
            assert_eq!(key.name(), name);
        }
        for name in ["", "hyper-x", "ctrl-", "nokey", "f"] {
            let got = Key::from_name(name);
            assert!(
                got.is_none_or(|k| name == "f" && k.code == Code::Char('f')),
                "{name}"
            );
        }
    }

    #[test]
    fn tests_write_keys_as_text() {
        let names: Vec<String> = keys("a<ctrl-r><lt>é<enter>")
            .iter()
            .map(Key::name)
            .collect();
        assert_eq!(names, ["a", "ctrl-r", "<", "é", "enter"]);
    }
}
