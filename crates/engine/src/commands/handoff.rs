//! `/handoff`, and the handoff that a full window ends with: a document for a fresh session, in a file beside the work.

use super::{Work, tasks};
use crate::budget::Till;
use crate::log::LogError;
use ostler_confine::CommandPlace;
use ostler_context::handoff::{self, Handoff, Improved, ROLE};
use ostler_state::SessionState;
use ostler_state::inbox::{Inbox, Stopped};
use ostler_state::session::Session;
use ostler_wire::{Body, Deed, Entry, Open, View, Word};

pub fn handoff<'a>(session: &'a mut Session, goal: &'a str) -> Work<'a> {
    Box::pin(async move { prepared(session, goal).await.unwrap_or_else(View::Error) })
}

async fn prepared(session: &mut Session, goal: &str) -> Result<View, String> {
    let language = session.options.run.language;
    if goal.is_empty() {
        return Err(language.say(Word::HandoffUsage).into());
    }
    session.take_over().map_err(|e| e.say(language))?;
    let (state, inbox) = (&mut session.state, &mut session.inbox);
    let entries = state.log.branch();
    if !entries.iter().any(|e| matches!(e.body, Body::Message(_))) {
        return Err(language.say(Word::NothingSaid).into());
    }
    match made(state, inbox, &entries, goal)
        .await
        .map_err(|e| e.say(language))?
    {
        Made::Stopped => Ok(View::Text(language.say(Word::HandoffStopped).into())),
        Made::Unwritten(why) => Err(why),
        Made::Written { path, text } => {
            let done = language.fill(Word::HandoffDone, &[&path, &path]);
            Ok(View::Text(format!("{text}{done}")))
        }
    }
}

/// What a front end does when the person wants to go on in a fresh session. None if the person stopped it.
pub async fn hand_over(
    state: &mut SessionState,
    inbox: &mut Inbox,
) -> Result<Option<Vec<View>>, LogError> {
    let language = state.settings.language;
    let entries = state.log.branch();
    let goal = handoff::goal(&entries);
    Ok(match made(state, inbox, &entries, &goal).await? {
        Made::Stopped => None,
        Made::Unwritten(why) => Some(vec![View::Error(why)]),
        Made::Written { path, text } => Some(match tasks::refusal(inbox, language) {
            // What runs in the background belongs to this session.
            Some(refused) => {
                let done = language.fill(Word::HandoffDone, &[&path, &path]);
                vec![View::Text(format!("{text}{done}")), refused]
            }
            None => {
                let over = language.fill(Word::HandoffOver, &[&path]);
                let first = language.fill(Word::HandoffGoOn, &[&path]);
                vec![
                    View::Text(format!("{text}{over}")),
                    View::Do(Deed::Compose(first)),
                    View::Do(Deed::Open(Open::New)),
                ]
            }
        }),
    })
}

enum Made {
    Written {
        path: String,
        /// The document, and what is to be said about it.
        text: String,
    },
    Unwritten(String),
    Stopped,
}

async fn made(
    state: &mut SessionState,
    inbox: &mut Inbox,
    entries: &[Entry],
    goal: &str,
) -> Result<Made, LogError> {
    let language = state.settings.language;
    if state.services.sandbox.settings.place != CommandPlace::Here {
        return Ok(Made::Unwritten(language.say(Word::PlaceNoHandoff).into()));
    }
    let draft = Handoff::draft(entries, goal, &state.scope.root.display().to_string());
    let model = state.conversation.model.clone();
    let cancel = inbox.turn();
    state.progress(ROLE, language.say(Word::HandingOff));
    let feed = state.feed.hushed();
    let till = Till {
        budget: &state.account.budget,
        payer: state.account.payer_in(Some(ROLE)),
    };
    let improved = inbox
        .attend(draft.improved((&model, &feed, language), entries, &cancel, till))
        .await;
    state.progress(ROLE, "");
    let Improved {
        handoff,
        fault,
        usage,
        hold,
    } = match improved {
        Ok(improved) => improved,
        Err(Stopped) => return Ok(Made::Stopped),
    };
    if let Some(usage) = usage {
        let committed = state.commit(vec![Body::Usage(usage.clone())]);
        state.book(&usage);
        committed?;
    }
    drop(hold);
    if cancel.is_cancelled() {
        return Ok(Made::Stopped);
    }
    Ok(match handoff.write(state.handoff_place()) {
        Err(why) => Made::Unwritten(why),
        Ok((path, document)) => {
            let fault = fault.map(|why| language.fill(Word::HandoffDraft, &[&why]));
            let fault = fault.map_or_else(String::new, |fault| format!("{fault}\n\n"));
            Made::Written {
                path,
                text: format!("{document}\n{fault}"),
            }
        }
    })
}
