//! Saves of the tree around the work of a session. What cannot be saved is told once, and the work goes on. Which saves are
//! needed is decided in `checkpoints`.

use crate::SessionState;
use crate::inbox::{Inbox, Stopped};
use ostler_store::log::LogError;
use ostler_tools::SandboxReport;
use ostler_wire::{Access, Body, Delta, Notice, Word};
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
    if let Some(told) = mend_history(state).await {
        state.commit(vec![told])?;
    }
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

/// Brings back what commands that nobody approved, and that may still run, took of the history of the repository by other
/// means than git: a tree that is saved without it would hide that. What it was is for the person.
async fn mend_history(state: &SessionState) -> Option<Body> {
    let report = SandboxReport {
        changes: state.services.sandbox.share.look_at_history().await,
        ..SandboxReport::default()
    };
    let lines = report.lines();
    (!lines.is_empty()).then(|| {
        let text = lines.trim_end().to_owned();
        Body::Notice(Notice { text })
    })
}

/// Saves the tree if something may have changed since the last time. The entries are for whoever commits.
pub async fn after(state: &mut SessionState, inbox: &mut Inbox) -> Vec<Body> {
    let by_children = inbox.children.take_saved().into_iter();
    let mut bodies: Vec<Body> = by_children.map(Body::Checkpoint).collect();
    // What commands left running may have gone on.
    bodies.extend(mend_history(state).await);
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
