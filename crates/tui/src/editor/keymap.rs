//! Which key does what: one table of actions with their names, usual keys and help, from which settings and documents are
//! made. A map can be built from any such table.

use crate::key::{Code, Key};
use std::collections::HashMap;

/// A row of a table of actions.
#[derive(Clone, Copy, Debug)]
pub struct Binding<A: 'static> {
    pub action: A,
    /// In settings.
    pub name: &'static str,
    pub keys: &'static [&'static str],
    pub help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Submit,
    Newline,
    CharLeft,
    CharRight,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    Up,
    Down,
    EraseLeft,
    EraseRight,
    EraseOrLeave,
    KillWordLeft,
    KillSpacedLeft,
    KillWordRight,
    KillLineEnd,
    KillLineStart,
    Yank,
    YankOlder,
    Undo,
    Redo,
    HistoryOlder,
    HistoryNewer,
    HistorySearch,
}

/// The actions of the composer as documents show them: name, usual keys, help.
pub fn table() -> Vec<(&'static str, &'static [&'static str], &'static str)> {
    let rows = ACTIONS.iter();
    rows.map(|row| (row.name, row.keys, row.help)).collect()
}

impl<A> Binding<A> {
    pub const fn new(
        action: A,
        name: &'static str,
        keys: &'static [&'static str],
        help: &'static str,
    ) -> Self
    where
        A: Copy,
    {
        Self {
            action,
            name,
            keys,
            help,
        }
    }
}

/// Many terminals send `ctrl-_` and `ctrl-/` as the byte that is read as `ctrl-7`.
// tidy: table
#[rustfmt::skip]
pub const ACTIONS: &[Binding<Action>] = &[
    Binding::new(Action::Submit, "submit", &["enter"], "send; after a backslash a new line"),
    Binding::new(Action::Newline, "newline", &["shift-enter", "alt-enter", "ctrl-j"], "begin a new line"),
    Binding::new(Action::CharLeft, "char_left", &["left", "ctrl-b"], "one character back"),
    Binding::new(Action::CharRight, "char_right", &["right", "ctrl-f"], "one character on"),
    Binding::new(Action::WordLeft, "word_left", &["alt-b", "ctrl-left", "alt-left"], "one word back"),
    Binding::new(Action::WordRight, "word_right", &["alt-f", "ctrl-right", "alt-right"], "one word on"),
    Binding::new(Action::LineStart, "line_start", &["ctrl-a", "home"], "to the start of the line"),
    Binding::new(Action::LineEnd, "line_end", &["ctrl-e", "end"], "to the end of the line"),
    Binding::new(Action::TextStart, "text_start", &["ctrl-home", "alt-<"], "to the start of the text"),
    Binding::new(Action::TextEnd, "text_end", &["ctrl-end", "alt->"], "to the end of the text"),
    Binding::new(Action::Up, "up", &["up"], "one row up; from the first row to the entry before"),
    Binding::new(Action::Down, "down", &["down"], "one row down; from the last row to the entry after"),
    Binding::new(Action::EraseLeft, "erase_left", &["backspace", "ctrl-h", "shift-backspace"], "erase the character before"),
    Binding::new(Action::EraseRight, "erase_right", &["delete"], "erase the character after"),
    Binding::new(Action::EraseOrLeave, "erase_or_leave", &["ctrl-d"], "erase the character after; leave if there is no text"),
    Binding::new(Action::KillWordLeft, "kill_word_left", &["alt-backspace", "ctrl-backspace"], "cut the word before"),
    Binding::new(Action::KillSpacedLeft, "kill_spaced_left", &["ctrl-w"], "cut back to a space"),
    Binding::new(Action::KillWordRight, "kill_word_right", &["alt-d", "alt-delete", "ctrl-delete"], "cut the word after"),
    Binding::new(Action::KillLineEnd, "kill_line_end", &["ctrl-k"], "cut to the end of the line"),
    Binding::new(Action::KillLineStart, "kill_line_start", &["ctrl-u"], "cut to the start of the line"),
    Binding::new(Action::Yank, "yank", &["ctrl-y"], "put back what was cut"),
    Binding::new(Action::YankOlder, "yank_older", &["alt-y"], "after that, what was cut before it instead"),
    Binding::new(Action::Undo, "undo", &["ctrl-_", "ctrl-/", "ctrl-7"], "take the last change back"),
    Binding::new(Action::Redo, "redo", &["alt-_"], "do it again"),
    Binding::new(Action::HistoryOlder, "history_older", &["ctrl-p"], "the entry before"),
    Binding::new(Action::HistoryNewer, "history_newer", &["ctrl-n"], "the entry after"),
    Binding::new(Action::HistorySearch, "history_search", &["ctrl-r"], "search the entries; again for older ones"),
];

#[derive(Clone, Debug)]
pub struct KeyMap<A: 'static> {
    table: &'static [Binding<A>],
    keys: HashMap<Key, A>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyMapError {
    #[error("there is no action `{0}` to bind keys to")]
    Action(String),
    #[error(
        "`{key}` is no key, for `{action}`: write it like `ctrl-r`, `alt-enter`, `shift-tab` or `f5`"
    )]
    Key { action: String, key: String },
    #[error("`{key}` writes a letter and cannot be bound to `{action}`: add `ctrl-` or `alt-`")]
    Letter { action: String, key: String },
}

impl Default for KeyMap<Action> {
    fn default() -> Self {
        Self::new(ACTIONS)
    }
}

impl<A: Copy + PartialEq> KeyMap<A> {
    pub fn new(table: &'static [Binding<A>]) -> Self {
        let named = table.iter().flat_map(|row| {
            let keys = row.keys.iter().filter_map(|name| Key::from_name(name));
            keys.map(|key| (key, row.action))
        });
        Self {
            table,
            keys: named.collect(),
        }
    }

    /// Gives an action these keys and no others. A key that had another action loses it.
    pub fn bind(&mut self, name: &str, keys: &[impl AsRef<str>]) -> Result<(), KeyMapError> {
        let row = self.table.iter().find(|row| row.name == name);
        let action = row
            .ok_or_else(|| KeyMapError::Action(name.to_owned()))?
            .action;
        let mut new = Vec::new();
        for key in keys {
            let (action, key) = (name.to_owned(), key.as_ref().to_owned());
            match Key::from_name(&key) {
                None => return Err(KeyMapError::Key { action, key }),
                Some(found) if is_letter(&found) => {
                    return Err(KeyMapError::Letter { action, key });
                }
                Some(found) => new.push(found),
            }
        }
        self.keys.retain(|_, bound| *bound != action);
        self.keys.extend(new.into_iter().map(|key| (key, action)));
        Ok(())
    }

    /// The key has no action any more.
    pub fn free(&mut self, key: Key) {
        self.keys.remove(&key);
    }

    pub fn get(&self, key: Key) -> Option<A> {
        self.keys.get(&key).copied()
    }

    /// Names of the keys that an action has now.
    pub fn keys(&self, action: A) -> Vec<String> {
        let bound = self.keys.iter().filter(|(_, bound)| **bound == action);
        let mut names: Vec<String> = bound.map(|(key, _)| key.name()).collect();
        names.sort();
        names
    }
}

/// Whether a key writes itself into a text.
pub fn is_letter(key: &Key) -> bool {
    matches!(key.code, Code::Char(_)) && !key.ctrl && !key.alt
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_table_is_sound() {
        let mut names = HashSet::new();
        let mut keys = HashSet::new();
        for row in ACTIONS {
            assert!(names.insert(row.name), "{}", row.name);
            for key in row.keys {
                let key = Key::from_name(key).unwrap();
                assert!(!is_letter(&key) && keys.insert(key), "{}", key.name());
            }
        }
        for free in [
            "ctrl-t",
            "ctrl-z",
            "ctrl-c",
            "ctrl-g",
            "ctrl-l",
            "tab",
            "shift-tab",
            "esc",
        ] {
            assert!(!keys.contains(&Key::from_name(free).unwrap()), "{free}");
        }
    }

    #[test]
    fn keys_can_be_bound() {
        let mut map = KeyMap::default();
        let key = |name| Key::from_name(name).unwrap();
        map.bind("undo", &["ctrl-x", "ctrl-y"]).unwrap();
        assert_eq!(map.keys(Action::Undo), ["ctrl-x", "ctrl-y"]);
        assert_eq!(map.get(key("ctrl-_")), None);
        assert_eq!(map.keys(Action::Yank), Vec::<String>::new());
        map.bind("submit", &[] as &[&str]).unwrap();
        assert_eq!(map.get(key("enter")), None);
        for (name, keys, expect) in [
            ("fly", "ctrl-x", "there is no action `fly` to bind keys to"),
            (
                "undo",
                "hyper-x",
                "`hyper-x` is no key, for `undo`: write it like `ctrl-r`, `alt-enter`, `shift-tab` or `f5`",
            ),
            (
                "undo",
                "x",
                "`x` writes a letter and cannot be bound to `undo`: add `ctrl-` or `alt-`",
            ),
        ] {
            assert_eq!(map.bind(name, &[keys]).unwrap_err().to_string(), expect);
        }
        assert_eq!(map.keys(Action::Undo), ["ctrl-x", "ctrl-y"]);
    }
}
