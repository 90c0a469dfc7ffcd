//! `/handoff`: a document for a fresh session, in a file beside the work. The session goes on as it was.

use super::Work;
use crate::handoff::{Handoff, Improved, ROLE};
use crate::inbox::Stopped;
use crate::log;
use crate::session::Session;
use ostler_wire::{Body, View, Word};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Documents of one session.
const MAX_FILES: usize = 100;

pub fn handoff<'a>(session: &'a mut Session, goal: &'a str) -> Work<'a> {
    Box::pin(async move { prepared(session, goal).await.unwrap_or_else(View::Error) })
}

async fn prepared(session: &mut Session, goal: &str) -> Result<View, String> {
    let language = session.options.language;
    let (desk, inbox) = (&mut session.desk, &mut session.inbox);
    if goal.is_empty() {
        return Err(language.say(Word::HandoffUsage).into());
    }
    let entries = desk.log.source().entries_after(None);
    let entries = log::branch(entries.into_iter().map(Arc::unwrap_or_clone).collect());
    if !entries.iter().any(|e| matches!(e.body, Body::Message(_))) {
        return Err(language.say(Word::NothingSaid).into());
    }
    let draft = Handoff::draft(&entries, goal, &desk.scope.root.display().to_string());
    let model = desk.conversation.model.clone();
    let cancel = inbox.turn();
    desk.progress(ROLE, language.say(Word::HandingOff));
    let improved = inbox
        .attend(draft.improved(&model, &entries, &cancel))
        .await;
    desk.progress(ROLE, "");
    let stopped = || View::Text(language.say(Word::HandoffStopped).into());
    let Improved {
        handoff,
        fault,
        usage,
    } = match improved {
        Ok(improved) => improved,
        Err(Stopped) => return Ok(stopped()),
    };
    if let Some(usage) = usage {
        let committed = desk.commit(vec![Body::Usage(usage.clone())]);
        desk.book(&usage);
        committed.map_err(|e| e.to_string())?;
    }
    if cancel.is_cancelled() {
        return Ok(stopped());
    }
    let document = desk.feed.redactor().text(handoff.render());
    let id = desk
        .account
        .session
        .get(..8)
        .unwrap_or(&desk.account.session);
    let (path, written) = write(&desk.scope.root, &format!("handoff-{id}"), &document);
    let shown = desk.scope.shown(&path);
    written.map_err(|error| format!("{shown}: {error}"))?;
    let mut text = format!("{document}\n");
    if let Some(why) = fault {
        text.push_str(&format!(
            "{}\n\n",
            language.fill(Word::HandoffDraft, &[&why])
        ));
    }
    text.push_str(&language.fill(Word::HandoffDone, &[&shown, &shown]));
    Ok(View::Text(text))
}

/// A file of this name that was not there before.
fn write(folder: &Path, name: &str, text: &str) -> (PathBuf, io::Result<()>) {
    let mut number = 1;
    loop {
        let more = match number {
            1 => String::new(),
            n => format!("-{n}"),
        };
        let path = folder.join(format!("{name}{more}.md"));
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path);
        match file {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MAX_FILES => {
                number += 1;
            }
            file => {
                return (
                    path,
                    file.and_then(|mut file| file.write_all(text.as_bytes())),
                );
            }
        }
    }
}
