//! Tells those who look at a session at another place that the link there is cut, and that it is back.

use ostler_context::clients::feed::Feed;
use ostler_wire::{Delta, Language, View, Word, printable};
use std::convert::Infallible;
use tokio::sync::watch;

/// The name of a place, and why the link to it is cut.
pub type Link = (String, watch::Receiver<Option<String>>);

/// For as long as the session runs.
pub async fn tell(link: Option<Link>, feed: Feed, language: Language) -> Infallible {
    if let Some((name, mut state)) = link {
        while state.changed().await.is_ok() {
            let why = state.borrow_and_update().clone();
            let text = match why {
                Some(why) => language.fill(Word::PlaceCut, &[&name, &printable(&why)]),
                None => language.fill(Word::PlaceBack, &[&name]),
            };
            let view = Box::new(View::Text(text));
            feed.delta(Delta::Announcement { view });
        }
    }
    std::future::pending().await
}

/// Until the work is done.
pub async fn beside(news: impl Future<Output = Infallible>, work: impl Future<Output = ()>) {
    tokio::select! {
        () = work => {}
        never = news => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cut_is_told_and_its_end() {
        let (says, link) = watch::channel(None);
        let feed = Feed::default();
        let mut live = feed.attach().live;
        let telling = tokio::spawn(tell(
            Some(("ssh box".into(), link)),
            feed,
            Language::English,
        ));
        for (state, expect) in [
            (
                Some("it was closed".to_owned()),
                "The link to ssh box is cut (it was closed).",
            ),
            (None, "The link to ssh box is back."),
        ] {
            says.send_replace(state);
            let told = format!("{:?}", live.recv().await.unwrap().event);
            assert!(told.contains(expect), "{told}");
        }
        telling.abort();
    }
}
