//! Tells those who look at a session at another place that the link there is cut, and that it is back.

use ostler_context::clients::feed::Feed;
use ostler_state::session::Link;
use ostler_wire::{Delta, Language, View, Word, printable};
use std::convert::Infallible;
use tokio::sync::watch;

/// For as long as the session runs, of the link that it has at the time.
pub async fn tell(
    mut links: watch::Receiver<Option<Link>>,
    feed: Feed,
    language: Language,
) -> Infallible {
    loop {
        let link = links.borrow_and_update().clone();
        tokio::select! {
            Ok(()) = links.changed() => {}
            never = tell_of(link, &feed, language) => match never {},
        }
    }
}

async fn tell_of(link: Option<Link>, feed: &Feed, language: Language) -> Infallible {
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
        let (moves, links) = watch::channel(None);
        let telling = tokio::spawn(tell(links, feed, Language::English));
        // It is that of the place where the session is by then.
        moves.send_replace(Some(("ssh box".into(), link)));
        tokio::task::yield_now().await;
        for (state, expect) in [
            (
                Some("it was closed".to_owned()),
                "The connection to ssh box is lost (it was closed). Reconnecting; what runs there continues.",
            ),
            (None, "The connection to ssh box is back."),
        ] {
            says.send_replace(state);
            let told = format!("{:?}", live.recv().await.unwrap().event);
            assert!(told.contains(expect), "{told}");
        }
        telling.abort();
    }
}
