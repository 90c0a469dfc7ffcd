//! `/diff`: what the session changed, as a whole, by what the person said, or since then.

use super::Work;
use crate::checkpoint::{Error, Point as Moment};
use crate::points::Points;
use ostler_confine::checkpoints::{self, Place};
use ostler_state::session::Session;
use ostler_wire::{Language, Saved, View, Word};
use std::sync::Arc;

/// Bytes of a diff that are shown.
const MAX_DIFF: usize = 256 * 1024;

pub fn diff<'a>(session: &'a mut Session, words: &'a str) -> Work<'a> {
    Box::pin(run(session, words))
}

async fn run(session: &mut Session, words: &str) -> View {
    let language = session.options.run.language;
    if let Err(error) = session.take_over() {
        return View::Error(error.say(language));
    }
    let points = Points::of(&session.branch());
    let (from, to) = match words.trim() {
        "" => (points.tree_at(1).cloned(), None),
        // Since that prompt, not only by it.
        since if since.ends_with("..") => {
            let number = since.trim_end_matches("..").parse().ok();
            let Some(number) = number.filter(|n| points.get(*n).is_some()) else {
                return View::Error(language.fill(Word::RewindNoPoint, &[words.trim()]));
            };
            (points.tree_at(number).cloned(), None)
        }
        number => {
            let number = number.parse().ok().filter(|n| points.get(*n).is_some());
            let Some(number) = number else {
                return View::Error(language.fill(Word::RewindNoPoint, &[words.trim()]));
            };
            let before = points.get(number).and_then(|point| point.before.clone());
            (before, points.left_by(number).cloned())
        }
    };
    let place = session.state.services.checkpoints.place();
    let (Some(from), Some(place)) = (from, place) else {
        return View::Text(language.say(Word::NothingChanged).into());
    };
    let work = tokio::task::spawn_blocking(move || unified(&place, &from, to.as_ref(), language));
    match session.inbox.attend(work).await {
        Ok(Ok(Ok(text))) if text.is_empty() => {
            View::Text(language.say(Word::NothingChanged).into())
        }
        Ok(Ok(Ok(text))) => View::Diff(text),
        Ok(Ok(Err(error))) => View::Error(checkpoints::reason(&error, language)),
        Ok(Err(_)) | Err(_) => View::Error(language.say(Word::WasInterrupted).into()),
    }
}

fn unified(
    place: &Arc<Place>,
    from: &Saved,
    to: Option<&Saved>,
    language: Language,
) -> Result<String, Error> {
    let store = place.open()?;
    let from = checkpoints::find(&store, from)?.id;
    let to = match to {
        Some(to) => Moment::At(checkpoints::find(&store, to)?.id),
        None => Moment::Now,
    };
    store.unified(from, to, MAX_DIFF, language)
}
