//! `!cmd` and `# note`: lines that are no slash commands, and that the model reads with its next request.

use super::reply;
use crate::dispatch::own;
use crate::log::LogError;
use ostler_confine::CommandPlace;
use ostler_context::digest::NOTED;
use ostler_host::{Border, Error};
use ostler_sources::instructions;
use ostler_state::SessionState;
use ostler_state::inbox::{CommandLine, Inbox};
use ostler_wire::{Body, Message, Say, View, Word};
use std::io::{self, Write as _};
use std::path::Path;

/// Bytes of a file that a note is added to.
const MAX_NOTES_FILE: u64 = 16 << 20;
/// Characters of one note.
const MAX_NOTE: usize = 4_000;

pub fn is_said(line: &str) -> bool {
    line.starts_with('!') || line.starts_with("# ")
}

/// Runs those that came in during the turn.
pub async fn heed(state: &mut SessionState, inbox: &mut Inbox) -> Result<(), LogError> {
    for command in inbox.commands(is_said) {
        say(state, inbox, &command).await?;
        state.feed.finish_op(&command.reply_to);
    }
    Ok(())
}

pub async fn say(
    state: &mut SessionState,
    inbox: &mut Inbox,
    said: &CommandLine,
) -> Result<(), LogError> {
    let line = said.line.as_str();
    if let Some(command) = line.strip_prefix('!') {
        let cancel = inbox.turn();
        return own::own(state, inbox, command.trim(), &cancel).await;
    }
    let text = line.trim_start_matches('#').trim();
    let view = note(state, inbox, text).await?;
    reply(&state.feed, said, view);
    Ok(())
}

async fn note(state: &mut SessionState, inbox: &mut Inbox, text: &str) -> Result<View, LogError> {
    let language = state.settings.language;
    let text: String = text.chars().take(MAX_NOTE).collect();
    if state.services.sandbox.settings.place != CommandPlace::Here {
        return Ok(View::Error(language.say(Word::PlaceNoNote).into()));
    }
    let path = instructions::file_of(&state.scope.root);
    let file = state.scope.shown(&path);
    if text.is_empty() || !state.settings.interactive {
        return Ok(View::Error(language.say(Word::NoteNot).into()));
    }
    let real = ostler_host::real_path(&path);
    if !real.starts_with(ostler_host::real_path(&state.scope.root)) {
        let names = [file.as_str(), &real.display().to_string()];
        return Ok(View::Error(language.fill(Word::LeadsOut, &names)));
    }
    let subject = language.fill(Word::NoteAsk, &[&file, &text]);
    let (yes, no) = (language.say(Word::NoteYes), language.say(Word::NoteNo));
    if !own::confirmed(inbox, subject, yes, no).await {
        return Ok(View::Text(language.say(Word::NoteNot).into()));
    }
    if let Err(error) = append(&path, &text) {
        let why = error.say(language);
        return Ok(View::Error(language.fill(Word::NoteFailed, &[&file, &why])));
    }
    // The prompt of this session has the file as it was, and stays as it is.
    let note = format!("{NOTED}{file}: {text}]");
    state.commit(vec![Body::Message(Message::note(note))])?;
    Ok(View::Text(language.fill(Word::NoteDone, &[&file])))
}

/// A line of its own at the end.
fn append(path: &Path, text: &str) -> io::Result<()> {
    // The project may have a pipe or a device there, which must not be opened.
    let old = match ostler_host::read_bounded(path, MAX_NOTES_FILE, &Border::none()) {
        Ok(old) if old.truncated => return Err(io::ErrorKind::FileTooLarge.into()),
        Ok(old) => old.bytes,
        Err(Error::NotFound { .. }) => Default::default(),
        Err(error) => return Err(io::Error::other(error.to_string())),
    };
    let before = match old.last() {
        None | Some(b'\n') => "",
        Some(_) => "\n",
    };
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    file.write_all(format!("{before}- {text}\n").as_bytes())
}
