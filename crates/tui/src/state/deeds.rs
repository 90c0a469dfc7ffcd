//! What only a front end can do: colours, the clipboard, another session, and leaving, once it is known what that stops.

use super::{Effect, State};
use crate::layer::{Layer, Picker};
use crate::theme::Look;
use ostler_wire::{Deed, Word};
use std::time::{Duration, Instant};

/// How long a first Ctrl-C or Esc waits for the second.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);
/// How long it stands there what leaving would stop, and leaving again means it.
const WARNING: Duration = Duration::from_secs(10);

impl State {
    pub(super) fn deed(&mut self, deed: Deed, now: Instant) {
        match deed {
            Deed::Open(open) => self.effects.push(Effect::Open(open)),
            Deed::Copy(text) => self.copy(text, now),
            Deed::Compose(text) if text.is_empty() => {}
            Deed::Compose(text) => {
                // What was written meanwhile stays, after it.
                let text = match self.editor.draft() {
                    Some(draft) => format!("{text}\n{draft}"),
                    None => text,
                };
                self.editor.set_text(&text);
                self.typed(now);
            }
            Deed::Theme(name) => self.set_theme(&name, now),
            Deed::Leave => self.leave(now),
        }
    }

    /// A list of themes shows the one that the cursor is at, and puts the old one back when it is left.
    pub(super) fn preview_theme(&mut self) {
        let shown = match self.layers.last() {
            Some(Layer::Picker(picker)) => picker.theme(),
            Some(Layer::Ask(_) | Layer::Pager(_)) | None => None,
        };
        let look = shown.and_then(Look::from_name);
        match (look, self.moment.theme_before) {
            (Some(look), before) => {
                self.moment.theme_before = before.or(Some(self.theme.look));
                self.theme.look = look;
            }
            (None, Some(before)) => {
                self.moment.theme_before = None;
                if !std::mem::take(&mut self.moment.theme_chosen) {
                    self.theme.look = before;
                }
            }
            (None, None) => self.moment.theme_chosen = false,
        }
    }

    fn set_theme(&mut self, name: &str, now: Instant) {
        let language = self.settings.language;
        match Look::from_name(name) {
            Some(look) => {
                self.theme.look = look;
                self.moment.theme_chosen = true;
            }
            None if name.is_empty() => {
                self.moment.theme_chosen = false;
                let looks = Look::list(self.theme.look, language);
                self.layers.push(Layer::Picker(Picker::new(looks)));
            }
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

    /// The second one in a row goes back, where there is nothing to stop and nothing is written.
    pub(super) fn esc_again(&mut self, is_free: bool, escaped: bool, now: Instant) {
        if !is_free || !self.editor.is_empty() {
            return;
        }
        match escaped {
            true => self.command("rewind".into()),
            false => self.moment.escaped = Some(now + LEAVE_WITHIN),
        }
    }

    pub(super) fn ctrl_c(&mut self, leaving: bool, now: Instant) {
        if self.is_working() {
            self.stop();
        } else if !self.editor.is_empty() {
            self.editor.set_text("");
            self.typed(now);
        } else if leaving {
            self.effects.push(Effect::Leave);
        } else {
            self.moment.leaving = Some(now + LEAVE_WITHIN);
        }
    }

    /// Leaves a session whose process does not answer, when it is asked for twice.
    pub(super) fn leave_silent(&mut self, leaving: bool, now: Instant) {
        match leaving {
            true => self.effects.push(Effect::Leave),
            false => self.moment.leaving = Some(now + LEAVE_WITHIN),
        }
    }

    /// Leaves; where that stops something, when it is asked for again.
    pub(super) fn leave(&mut self, now: Instant) {
        let running = self.running();
        let warned = self.moment.warned.take();
        let knows = warned
            .is_some_and(|(ids, until)| until > now && running.iter().all(|id| ids.contains(id)));
        if running.is_empty() || knows {
            return self.effects.push(Effect::Leave);
        }
        let until = now + WARNING;
        let text = self
            .settings
            .language
            .fill(Word::LeaveStops, &[&running.join(", ")]);
        self.moment.remark = Some((text, until));
        self.moment.warned = Some((running, until));
    }

    /// What leaving would stop has stopped by itself.
    pub(super) fn unwarn(&mut self) {
        if self.moment.warned.is_some() && self.running().is_empty() {
            self.moment.warned = None;
            self.moment.remark = None;
        }
    }

    /// What goes on in the background and ends with us.
    pub(super) fn running(&self) -> Vec<String> {
        if self.status.clients.is_remote() {
            return Vec::new();
        }
        let jobs = self.status.jobs.iter().cloned();
        self.work.background.ids().chain(jobs).collect()
    }
}
