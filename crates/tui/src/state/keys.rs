//! Keys that mean the same wherever the caret is, and the map of all keys that settings can change.

use crate::editor::{Action, Binding, KeyMap, KeyMapError};
use crate::key::Key;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Global {
    Stop,
    Interrupt,
    Queue,
    NextMode,
    Background,
    Help,
    Page,
    Editor,
    PasteImage,
    Redraw,
    Suspend,
}

// tidy: table
#[rustfmt::skip]
pub const GLOBALS: &[Binding<Global>] = &[
    Binding::new(Global::Stop, "stop", &["esc"], "stop the turn; first leaves a menu, a search or vim's insert mode; twice when idle rewinds"),
    Binding::new(Global::Interrupt, "interrupt", &["ctrl-c"], "stop the turn, else empty the composer, else leave when pressed twice"),
    Binding::new(Global::Queue, "queue", &["tab"], "while it works: send as the next turn"),
    Binding::new(Global::NextMode, "next_mode", &["shift-tab"], "approval: ask first, accept edits, auto; then plan mode, and back"),
    Binding::new(Global::Background, "background", &["ctrl-b"], "while a command runs: let it continue in the background"),
    Binding::new(Global::Help, "help", &["?"], "in an empty composer: show the keys"),
    Binding::new(Global::Page, "page", &["ctrl-t"], "page through everything, unfolded"),
    Binding::new(Global::Editor, "editor", &["ctrl-g"], "write in your own editor"),
    Binding::new(Global::PasteImage, "paste_image", &["ctrl-v"], "attach the picture on the clipboard"),
    Binding::new(Global::Redraw, "redraw", &["ctrl-l"], "clear the screen and redraw"),
    Binding::new(Global::Suspend, "suspend", &["ctrl-z"], "suspend; `fg` brings it back"),
];

impl Default for KeyMap<Global> {
    fn default() -> Self {
        Self::new(GLOBALS)
    }
}

/// All keys. One that is given to an action is taken from every other.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    pub composer: KeyMap<Action>,
    pub global: KeyMap<Global>,
}

impl Keys {
    pub fn bind(&mut self, action: &str, keys: &[impl AsRef<str>]) -> Result<(), KeyMapError> {
        let is_global = GLOBALS.iter().any(|row| row.name == action);
        match is_global {
            true => self.global.bind(action, keys)?,
            false => self.composer.bind(action, keys)?,
        }
        for key in keys.iter().filter_map(|key| Key::from_name(key.as_ref())) {
            match is_global {
                true => self.composer.free(key),
                false => self.global.free(key),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::editor::ACTIONS;

    #[test]
    fn a_key_does_one_thing() {
        let mut seen = std::collections::HashSet::new();
        let composer = ACTIONS.iter().map(|row| (row.name, row.keys));
        for (name, keys) in composer.chain(GLOBALS.iter().map(|row| (row.name, row.keys))) {
            assert!(seen.insert(format!("action {name}")), "{name}");
            for key in keys {
                let key = Key::from_name(key).unwrap();
                // It is the composer's while no command runs.
                let is_shared = key.name() == "ctrl-b";
                assert!(
                    seen.insert(key.name()) || is_shared,
                    "{name} {}",
                    key.name()
                );
            }
        }
        let key = |name| Key::from_name(name).unwrap();
        let mut keys = Keys::default();
        keys.bind("undo", &["ctrl-z"]).unwrap();
        assert_eq!(keys.global.get(key("ctrl-z")), None);
        assert_eq!(keys.composer.get(key("ctrl-z")), Some(Action::Undo));
        keys.bind("page", &["ctrl-r"]).unwrap();
        assert_eq!(keys.composer.get(key("ctrl-r")), None);
        assert_eq!(keys.global.get(key("ctrl-r")), Some(Global::Page));
        let error = keys.bind("fly", &["f1"]).unwrap_err().to_string();
        assert_eq!(error, "there is no action `fly` to bind keys to");
    }

    #[test]
    fn the_document_has_every_key() {
        let document = include_str!("../../../../docs/terminal.md");
        let row = |(name, keys, help): (&str, &[&str], &str)| {
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            format!("| `{name}` | {} | {help} |", keys.join(" "))
        };
        let globals = GLOBALS.iter().map(|row| (row.name, row.keys, row.help));
        let rows: Vec<String> = globals.chain(crate::editor::table()).map(row).collect();
        let shown: Vec<&str> = document
            .lines()
            .filter(|line| line.starts_with("| `") && line.matches('|').count() == 4)
            .take(rows.len())
            .collect();
        assert_eq!(shown, rows);
    }
}
