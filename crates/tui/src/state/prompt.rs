//! From the composer to the session: what a sent text means, and the menus while it is typed.

use super::{Effect, MAX_WAITING, State};
use crate::key::{Code, Key};
use crate::layer::{Menu, MenuEntry, MenuKind};
use crate::surroundings::FoundPicture;
use crate::text;
use ostler_wire::{
    Completion, CompletionItem, CompletionKind, CompletionRequest, Delivery, Image, MAX_PICTURE,
    Op, Outcome, Word, command_of,
};
use std::time::Instant;

/// How the names of pictures end.
const PICTURES: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];
/// Of the name of a picture that is shown.
const NAME_COLUMNS: usize = 30;
/// Commands that stand first in the menu.
const USUAL: [&str; 10] = [
    "help",
    "model",
    "plan",
    "resume",
    "rewind",
    "compact",
    "new",
    "diff",
    "permissions",
    "status",
];
/// Longest path that is looked at.
const MAX_PATH: usize = 4096;

impl State {
    /// Something was typed: the draft is to be kept, a menu may open or close.
    pub(super) fn typed(&mut self, now: Instant) {
        self.moment.draft_changed.get_or_insert(now);
        self.follow_menu();
    }

    pub(super) fn submit(&mut self, delivery: Delivery, now: Instant) {
        let sent = self.editor.take();
        self.menu = None;
        self.keep_draft();
        if sent.text.trim().is_empty() && sent.images.is_empty() {
            return;
        }
        let shown = sent.shown.trim_end().to_owned();
        // The address that a login ends at has a secret in it.
        if !shown.starts_with("/login ") {
            self.effects.push(Effect::KeepSent(shown));
        }
        // The session says what it means; a prompt is seen to wait at once.
        let is_prompt = !sent.images.is_empty() || command_of(&sent.text).is_none();
        if is_prompt {
            if self.work.waiting.len() < MAX_WAITING {
                self.work.waiting.push_back((sent.text.clone(), delivery));
            }
            // The wait begins when the person sends, not when the engine answers.
            self.work.since.get_or_insert(now);
        }
        let text = match is_prompt {
            true => sent.text,
            false => sent.text.trim_end().to_owned(),
        };
        self.effects.push(Effect::Send(Op::Say {
            text,
            delivery,
            images: sent.images,
        }));
    }

    /// A command that a key stands for: nobody has to read its answer.
    pub(super) fn quiet_command(&mut self, line: String) {
        self.work.expect_quiet(&line);
        self.effects.push(Effect::Send(Op::Command { line }));
    }

    /// Prompts that wait for the running turn; the one that began it is about to appear.
    pub(super) fn waiting_prompts(&self) -> Vec<&(String, Delivery)> {
        let own = usize::from(self.transcript.is_idle() && self.work.at.is_none());
        self.work.waiting.iter().skip(own).collect()
    }

    /// Up in an empty composer takes the last prompt that waits back into it.
    pub(super) fn edit_queued(&mut self, key: Key) -> bool {
        let is_up = key.code == Code::Up && !key.ctrl && !key.alt && !key.shift;
        let is_free = self.editor.is_empty() && self.menu.is_none();
        if !(is_up && is_free) || self.waiting_prompts().is_empty() {
            return false;
        }
        self.work.waiting.pop_back();
        self.effects.push(Effect::Send(Op::Command {
            line: "queue edit".into(),
        }));
        true
    }

    /// A prompt that failed before anything was answered is put back, to be sent again.
    pub(super) fn put_back_failed(&mut self, outcome: Outcome, now: Instant) {
        let prompt = self.work.unanswered.take();
        let Some(prompt) = prompt.filter(|_| outcome == Outcome::Error && self.editor.is_empty())
        else {
            return;
        };
        self.editor.set_text(&prompt);
        self.typed(now);
        self.remark(self.settings.language.say(Word::PromptIsBack), now);
    }

    /// Whether the key was for the menu.
    pub(super) fn menu_key(&mut self, key: Key, now: Instant) -> bool {
        let Some(menu) = &mut self.menu else {
            return false;
        };
        match key.code {
            Code::Esc => {
                self.dismissed = Some(self.editor.word_before_caret().1.to_owned());
                self.menu = None;
                true
            }
            Code::Tab if !key.shift => {
                self.complete(now);
                true
            }
            Code::Enter if !key.shift && !key.alt => {
                let whole = menu.kind == MenuKind::Commands;
                let (_, typed) = self.editor.word_before_caret();
                let exact = menu.chosen().is_some_and(|e| typed == e.insert.trim());
                if !exact {
                    self.complete(now);
                }
                // A command without arguments goes at once; a path is only put in.
                if whole || exact {
                    self.submit(Delivery::Steer, now);
                }
                true
            }
            _ => menu.moves(key),
        }
    }

    fn complete(&mut self, now: Instant) {
        let Some(menu) = self.menu.take() else { return };
        let Some(entry) = menu.chosen() else { return };
        let insert = match entry.goes_on {
            true => entry.insert.clone(),
            false => format!("{} ", entry.insert.trim_end()),
        };
        // The answer for what was typed last may still be on its way.
        let (word, _) = self.editor.word_before_caret();
        self.editor.replace_word(word, &insert);
        self.typed(now);
    }

    /// Opens, retypes or closes the menu by the word before the caret.
    pub(super) fn follow_menu(&mut self) {
        let (range, word) = self.editor.word_before_caret();
        let word = word.to_owned();
        if self
            .dismissed
            .as_deref()
            .is_some_and(|d| word.starts_with(d))
        {
            return;
        }
        self.dismissed = None;
        if let Some(name) = word.strip_prefix('/').filter(|_| range.start == 0) {
            return self.command_menu(range, name);
        }
        if let Some(path) = word.strip_prefix('@') {
            return self.file_menu(range, path);
        }
        self.menu = None;
    }

    /// Narrows the open menu at once, and asks the session what fits.
    fn file_menu(&mut self, range: std::ops::Range<usize>, path: &str) {
        let is_files = |menu: &&mut Menu| menu.kind == MenuKind::Files;
        // What is listed stays a list of its folder; what is searched for is narrowed as it is.
        let same = self.menu_folder() == Some(split_path(path).0) || self.is_searching_files();
        if let Some(menu) = self.menu.as_mut().filter(is_files).filter(|_| same) {
            menu.retype(range, path);
            if menu.is_empty() {
                self.menu = None;
            }
        }
        let request = CompletionRequest::of(path);
        self.effects.push(Effect::Send(Op::Complete(request)));
    }

    /// The open menu shows paths of several folders.
    fn is_searching_files(&self) -> bool {
        let menu = self.menu.as_ref().filter(|m| m.kind == MenuKind::Files);
        menu.is_some_and(Menu::is_search)
    }

    /// The folder whose names the open menu shows.
    fn menu_folder(&self) -> Option<&str> {
        let menu = self.menu.as_ref().filter(|m| m.kind == MenuKind::Files)?;
        let path = menu.first()?.insert.strip_prefix('@')?;
        Some(split_path(path.trim_end_matches('/')).0)
    }

    /// What fits behind `@` has arrived; it may be too late.
    pub(super) fn completed(&mut self, completion: &Completion) {
        let (range, word) = self.editor.word_before_caret();
        let is_wanted = word.strip_prefix('@') == Some(completion.text.as_str());
        if !is_wanted || completion.superseded || self.dismissed.is_some() {
            return;
        }
        let word = completion.text.split(':').next().unwrap_or_default();
        let entry = |item: &CompletionItem| MenuEntry {
            // Letters are compared with what was typed, which is the name and not what stands for it.
            name: match item.kind {
                CompletionKind::Session | CompletionKind::Symbol if !item.is_folder => {
                    format!("{word}:{}", item.label)
                }
                CompletionKind::Session
                | CompletionKind::Symbol
                | CompletionKind::Resource
                | CompletionKind::File
                | CompletionKind::Folder
                | CompletionKind::Link => item.insert.clone(),
            },
            label: item.label.clone(),
            detail: item.detail.clone(),
            insert: format!("@{}", item.insert),
            goes_on: item.is_folder,
        };
        let entries = completion.items.iter().map(entry).collect();
        // They came in their order, and all of them fit.
        let mut menu = Menu::of_answer(range, entries);
        if let Some(old) = &self.menu {
            menu.keep_choice(old);
        }
        self.menu = (!menu.is_empty()).then_some(menu);
    }

    fn command_menu(&mut self, range: std::ops::Range<usize>, name: &str) {
        if let Some(menu) = self.menu.as_mut().filter(|m| m.kind == MenuKind::Commands) {
            menu.retype(range, name);
        } else {
            let entry = |command: &ostler_wire::CommandInfo| MenuEntry {
                name: command.name.clone(),
                label: format!("/{}", command.name),
                detail: match command.arguments.is_empty() {
                    true => command.help.clone(),
                    false => format!("{}  {}", command.help, command.arguments),
                },
                insert: format!("/{}", command.name),
                goes_on: false,
            };
            let mut entries: Vec<MenuEntry> = self.commands.iter().map(entry).collect();
            // The usual ones first, the rest by name.
            let usual = |entry: &MenuEntry| {
                let place = USUAL.iter().position(|name| *name == entry.name);
                place.unwrap_or(USUAL.len())
            };
            entries.sort_by_key(usual);
            self.menu = Some(Menu::new(MenuKind::Commands, range, entries, name));
        }
        if self.menu.as_ref().is_some_and(Menu::is_empty) {
            self.menu = None;
        }
    }
}

impl State {
    /// A picture on the clipboard, if there is one.
    pub fn image(&mut self, found: FoundPicture, now: Instant) {
        match found {
            FoundPicture::Found(image) => self.attach(image, "", now),
            FoundPicture::None => self.remark(self.settings.language.say(Word::NoImage), now),
            FoundPicture::TooLarge => self.refuse_picture(now),
        }
    }

    /// What a pasted path leads to has been looked up. Without a picture it is only a text.
    pub fn picture(&mut self, pasted: String, found: FoundPicture, now: Instant) {
        match found {
            FoundPicture::Found(image) => {
                let name = pasted.trim().trim_end_matches(['"', '\'']);
                let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
                self.attach(image, &text::cut_text(name, NAME_COLUMNS), now);
            }
            FoundPicture::None => {
                let outcome = self.editor.paste(pasted);
                self.outcome(outcome, now);
            }
            FoundPicture::TooLarge => {
                let outcome = self.editor.paste(pasted);
                self.outcome(outcome, now);
                self.refuse_picture(now);
            }
        }
    }

    fn attach(&mut self, image: Image, label: &str, now: Instant) {
        let outcome = self.editor.attach_image(image, label);
        self.outcome(outcome, now);
    }

    fn refuse_picture(&mut self, now: Instant) {
        let most = (MAX_PICTURE >> 20).to_string();
        let why = Word::PictureNotTaken;
        self.remark(self.settings.language.fill(why, &[&most]), now);
    }
}

/// A folder with its slash, and what was typed of a name in it.
fn split_path(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |at| at + 1))
}

/// A pasted text that may be the path of a picture.
pub fn is_picture(pasted: &str) -> bool {
    let path = pasted.trim().trim_end_matches(['"', '\'']);
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    path.len() <= MAX_PATH
        && !path.contains('\n')
        && ending.is_some_and(|e| PICTURES.iter().any(|p| e.eq_ignore_ascii_case(p)))
}
