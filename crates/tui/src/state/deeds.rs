//! What only a front end can do: carried out here, or handed to the loop as an effect.

use super::{Effect, State};
use crate::theme::{Look, Theme};
use ostler_wire::{Deed, Word};
use std::time::Instant;

impl State {
    pub(super) fn deed(&mut self, deed: Deed, now: Instant) {
        match deed {
            Deed::Open(open) => self.effects.push(Effect::Open(open)),
            Deed::Copy(text) => self.copy(text, now),
            Deed::Compose(text) if text.is_empty() => {}
            Deed::Compose(text) => {
                self.editor.set_text(&text);
                self.typed(now);
            }
            Deed::Theme(name) => self.set_theme(&name, now),
            Deed::Leave => self.effects.push(Effect::Leave),
        }
    }

    fn set_theme(&mut self, name: &str, now: Instant) {
        let language = self.settings.language;
        match Look::from_name(name) {
            Some(look) => self.theme = Theme::new(look).speaking(language),
            None => {
                let all = Look::ALL.map(Look::name).join(" ");
                self.remark(language.fill(Word::NoTheme, &[name, &all]), now);
            }
        }
    }

    fn copy(&mut self, text: String, now: Instant) {
        let word = match text.is_empty() {
            true => Word::NothingToCopy,
            false => Word::Copied,
        };
        if !text.is_empty() {
            self.effects.push(Effect::Copy(text));
        }
        self.remark(self.settings.language.say(word), now);
    }
}
