//! Saves of the tree around the work of a session. What cannot be saved is told once, and the work goes on. Which saves are
//! needed is decided in `checkpoints`.

use crate::checkpoint::{HistoryNames, Mended};
use crate::inbox::{Inbox, Stopped};
use crate::log::LogError;
use crate::state::SessionState;
use ostler_wire::{Access, Body, Delta, Notice, Word};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a save may take before the person is told what is waited for.
const QUIET: Duration = Duration::from_millis(400);
/// How long the end of a turn that was stopped waits for it.
const LINGER: Duration = Duration::from_millis(300);

/// Saves what a call is about to change, if nothing has saved it yet. A call that only reads waits for nothing.
pub async fn before(
    state: &mut SessionState,
    inbox: &mut Inbox,
    (id, tool): (&str, &str),
    accesses: &[Access],
) -> Result<Result<(), Stopped>, LogError> {
    let Some(job) = state.services.checkpoints.before(accesses) else {
        return Ok(Ok(()));
    };
    let feed = state.feed.clone();
    let delta = Delta::Progress {
        id: id.to_owned(),
        name: tool.to_owned(),
        text: state.settings.language.say(Word::SavesFirst).into(),
    };
    let mut work = tokio::task::spawn_blocking(move || job.run());
    let waiting = async {
        let soon = tokio::time::timeout(QUIET, &mut work).await;
        match soon {
            Ok(done) => done,
            Err(_) => {
                feed.delta(delta);
                work.await
            }
        }
    };
    let done = match inbox.attend(waiting).await {
        Ok(done) => done,
        Err(Stopped) => return Ok(Err(Stopped)),
    };
    // It fails only when the runtime ends.
    if let Ok(done) = done {
        let bodies = state
            .services
            .checkpoints
            .took(done, state.settings.language);
        if !bodies.is_empty() {
            state.commit(bodies)?;
        }
    }
    Ok(Ok(()))
}

/// To be called right before a command that nobody approved: remembers what keeps the history of the repository.
pub async fn watch_history(state: &mut SessionState) {
    let Some(place) = state.services.checkpoints.place() else {
        return;
    };
    let before = state.services.checkpoints.take_history();
    let look = move || HistoryNames::look(&place.root, before.as_ref());
    let names = tokio::task::spawn_blocking(look).await.ok().flatten();
    state.services.checkpoints.know_history(names);
}

/// Brings back what such a command took of the history by other means than git, and says what.
pub async fn mend_history(state: &mut SessionState) -> Mended {
    let checkpoints = &mut state.services.checkpoints;
    let (Some(place), Some(before)) = (checkpoints.place(), checkpoints.take_history()) else {
        return Mended::default();
    };
    let mend = move || {
        let Some(now) = HistoryNames::look(&place.root, Some(&before)) else {
            return (Mended::default(), Some(before));
        };
        let mended = place
            .open()
            .and_then(|store| store.mend_history(&before, &now));
        // What came back counts as there.
        (mended.unwrap_or_default(), Some(before))
    };
    // It fails only when the runtime ends.
    let (mended, names) = tokio::task::spawn_blocking(mend).await.unwrap_or_default();
    state.services.checkpoints.know_history(names);
    mended
}

/// The same in the result of the command.
pub fn tell_mended(mended: &Mended, data: &mut Value) {
    let back = mended.back.iter().map(|path| (path, true));
    let gone = mended.gone.iter().map(|path| (path, false));
    let changes = back.chain(gone);
    let changes = changes.map(|(path, undone)| json!({"path": path, "undone": undone}));
    let changes: Vec<Value> = changes.collect();
    match data.get_mut("protected").and_then(Value::as_array_mut) {
        _ if changes.is_empty() => {}
        Some(told) => told.extend(changes),
        None => data["protected"] = changes.into(),
    }
}

/// Saves the tree if something may have changed since the last time. The entries are for whoever commits.
pub async fn after(state: &mut SessionState, inbox: &mut Inbox) -> Vec<Body> {
    let by_children = inbox.children.take_saved().into_iter();
    let mut bodies: Vec<Body> = by_children.map(Body::Checkpoint).collect();
    // What commands left running may have gone on.
    let mut data = json!({});
    tell_mended(&mend_history(state).await, &mut data);
    let lines = ostler_tools::sandbox_report::lines(&data);
    bodies.extend(lines.map(|text| Body::Notice(Notice { text })));
    let _person_may_change_it_now = state.services.checkpoints.take_history();
    let Some(job) = state.services.checkpoints.after() else {
        return bodies;
    };
    let mut work = tokio::task::spawn_blocking(move || job.run());
    let done = match inbox.attend(&mut work).await {
        Ok(done) => done,
        // Whoever stops a turn often wants to take it back: that needs the tree as the turn left it.
        Err(Stopped) => match tokio::time::timeout(LINGER, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                state.services.checkpoints.pending = Some(work);
                return bodies;
            }
        },
    };
    // It fails only when the runtime ends.
    if let Ok(done) = done {
        bodies.extend(
            state
                .services
                .checkpoints
                .took(done, state.settings.language),
        );
    }
    bodies
}

/// Waits for a save that was not waited for, before anything else is said.
pub async fn settle(state: &mut SessionState) {
    let Some(work) = state.services.checkpoints.pending.take() else {
        return;
    };
    if let Ok(done) = work.await {
        let bodies = state
            .services
            .checkpoints
            .took(done, state.settings.language);
        // Without it the changes count as somebody else's.
        let _ = state.commit(bodies);
    }
}
