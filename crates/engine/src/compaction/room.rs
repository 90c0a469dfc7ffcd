//! Room for the next request: when the window is nearly full, whether it is folded or the person is asked, and what the
//! person is told at the end of a turn.

use super::{Occasion, first, handoff_command, notice, when_full};
use crate::dispatch::{Offered, Sending, ask_to_send, offer};
use crate::log::LogError;
use ostler_context::handoff::{self, Handoff, HandoffPlace};
use ostler_context::window::{ContextSettings, Strategy};
use ostler_state::SessionState;
use ostler_state::inbox::Inbox;
use ostler_wire::{Body, Entry, Language, Outcome, TurnEnd, Word};
use tokio_util::sync::CancellationToken;

/// How full the window is when the person is told, and when nothing will fold it.
const WARN_AT: f64 = 0.7;
const WARN_LATE: f64 = 0.8;
/// The window that is assumed for a warning when nobody knows the real one.
const ASSUMED_WINDOW: u64 = 8_192;

/// When a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The first of a turn.
    Turn,
    /// Between two steps of one.
    Step,
}

/// What became of it.
pub(crate) enum Room {
    /// There is as much of it as there can be.
    Made,
    /// The person wants to go on in a fresh session.
    Handoff,
    /// The person stopped the turn instead of an answer.
    Stopped,
}

/// Looks whether the window is nearly full before a request is sent. Then it folds, or asks what to do.
pub(crate) async fn make_room(
    state: &mut SessionState,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    moment: Moment,
) -> Result<Room, LogError> {
    let occasion = match moment {
        Moment::Turn => Occasion::Due,
        Moment::Step => Occasion::Midway,
    };
    let (tokens, window) = (state.tokens(), state.conversation.window());
    if moment == Moment::Turn && state.settings.folding.gauge.agreed {
        return Ok(Room::Made);
    }
    if !is_full(tokens, window, state.settings.folding.settings.ratio) {
        return Ok(Room::Made);
    }
    if first::is_unanswered(&state.log.branch()) {
        // The provider counts exactly; what it refuses is told with its size.
        if !state.settings.interactive || tokens <= window {
            return Ok(Room::Made);
        }
        let size = first::describe(state);
        let sending = ask_to_send(inbox, size, state.settings.language).await;
        return Ok(sending.into());
    }
    match state.settings.folding.settings.strategy {
        Strategy::Compact => when_full(state, inbox, cancel, occasion).await?,
        Strategy::Handoff if state.settings.interactive && !state.settings.folding.gauge.asked => {
            let language = state.settings.language;
            let how = how_full((tokens, window), language.say(Word::OfferHow), language);
            let offered = offer(inbox, how, language).await;
            // Whoever stops it instead is asked again.
            state.settings.folding.gauge.asked = !matches!(offered, Offered::Stopped);
            match offered {
                Offered::Handoff => return Ok(Room::Handoff),
                Offered::Stopped => return Ok(Room::Stopped),
                Offered::Fold => when_full(state, inbox, cancel, occasion).await?,
                Offered::GoOn => {}
            }
        }
        Strategy::Handoff | Strategy::Warn => {}
    }
    Ok(Room::Made)
}

impl From<Sending> for Room {
    fn from(sending: Sending) -> Self {
        match sending {
            Sending::Send => Self::Made,
            Sending::Stop => Self::Stopped,
        }
    }
}

/// `ratio`: the share of the window at which it counts as full.
fn is_full(tokens: u64, window: u64, ratio: f64) -> bool {
    window > 0 && tokens as f64 >= ratio * window as f64
}

/// How full the window is, and what follows from it.
fn how_full((tokens, window): (u64, u64), then: &str, language: Language) -> String {
    let window = window.max(1);
    // As the status line counts it.
    let full = tokens * 100 / window;
    let [full, tokens, window] = [full, tokens, window].map(|n| n.to_string());
    let words = [full.as_str(), &tokens, &window, then];
    language.fill(Word::WindowFull, &words)
}

/// What the person should know about the window at the end of a turn, once.
pub(crate) fn warning(state: &mut SessionState, outcome: Outcome) -> Option<Body> {
    let ContextSettings {
        strategy, ratio, ..
    } = state.settings.folding.settings;
    let (tokens, known) = (state.tokens(), state.conversation.window());
    let folds = strategy == Strategy::Compact && known > 0;
    let window = if known > 0 { known } else { ASSUMED_WINDOW };
    let limit = match (folds, strategy) {
        (true, _) => WARN_AT,
        (false, Strategy::Handoff) if known > 0 => ratio,
        (false, Strategy::Handoff | Strategy::Compact | Strategy::Warn) => WARN_LATE,
    };
    let share = tokens as f64 / window as f64;
    let gauge = state.settings.folding.gauge;
    if share < limit || gauge.warned || gauge.asked {
        return None;
    }
    state.settings.folding.gauge.warned = true;
    let language = state.settings.language;
    let anew = handoff_command(&state.settings, &state.account);
    if known == 0 {
        let tokens = tokens.to_string();
        return Some(notice(
            language.fill(Word::WindowUnknown, &[&tokens, &anew]),
        ));
    }
    let then = match strategy {
        Strategy::Compact if share >= ratio => language.say(Word::WindowFoldsNext).to_owned(),
        Strategy::Compact => {
            let ratio = format!("{:.0}", ratio * 100.0);
            language.fill(Word::WindowFoldsAt, &[&ratio])
        }
        Strategy::Handoff if state.settings.interactive => language.say(Word::WindowAsks).into(),
        // Nobody is there to be asked, and the log tells what a fresh session needs.
        Strategy::Handoff => {
            match write_handoff(state.log.branch(), state.handoff_place(), outcome) {
                Ok(path) => language.fill(Word::WindowHandedOff, &[&path, &anew]),
                Err(why) => language.fill(Word::WindowHandoff, &[&why, &anew]),
            }
        }
        Strategy::Warn => language.fill(Word::WindowOnlyWarns, &[&anew]),
    };
    Some(notice(how_full((tokens, known), &then, language)))
}

/// Writes a handoff from the log alone, at the end of a turn. The name of the file.
fn write_handoff(
    mut entries: Vec<Entry>,
    place: HandoffPlace<'_>,
    outcome: Outcome,
) -> Result<String, String> {
    // The log says so in a moment.
    entries.push(Entry {
        entry: u64::MAX,
        parent: None,
        ts: String::new(),
        body: Body::TurnEnd(TurnEnd { outcome }),
    });
    let root = place.scope.root.display().to_string();
    let draft = Handoff::draft(&entries, &handoff::goal(&entries), &root);
    draft.write(place).map(|(shown, _)| shown)
}
