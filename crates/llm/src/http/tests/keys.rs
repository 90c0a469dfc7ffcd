//! Keys that come from a source: asked before each request, and once more when one is refused.

use super::*;
use crate::{Key, KeyFuture, KeySource};
use ostler_wire::{Why, Word};
use std::sync::Mutex;

/// Hands out `first`, then for each refusal the next of `others`.
struct Script {
    first: Result<&'static str, Error>,
    others: Mutex<Vec<Result<Option<&'static str>, Error>>>,
    refused: Mutex<Vec<String>>,
}

impl KeySource for Script {
    fn current(&self) -> KeyFuture<'_, Secret> {
        let key = self.first.clone().map(token);
        Box::pin(async move { key })
    }

    fn refused<'a>(&'a self, key: &'a Secret) -> KeyFuture<'a, Option<Secret>> {
        self.refused.lock().unwrap().push(key.reveal().to_owned());
        let next = self.others.lock().unwrap().pop().unwrap_or(Ok(None));
        Box::pin(async move { next.map(|key| key.map(token)) })
    }

    fn remedy(&self) -> Why {
        "Knock again".into()
    }

    fn name(&self) -> String {
        "a script".into()
    }
}

fn token(value: &str) -> Secret {
    Secret::bearer(value).from_source("a script")
}

fn login_required() -> Error {
    Error::LoginRequired {
        message: "knock first".into(),
    }
}

/// What came of a request, which keys were refused, and how often the server was asked.
async fn check(
    auth: Auth,
    first: Result<&'static str, Error>,
    other: Result<Option<&'static str>, Error>,
) -> (Result<String, Error>, Vec<String>, usize) {
    let server = Server::new(|conn| {
        while let Some((head, _)) = conn.request() {
            let good = head.contains("authorization: bearer good-token");
            _ = conn.say.send(head);
            conn.send(&match good {
                true => format!("{SSE_HEAD}{}", chunked("data: in\n\ndata: [DONE]\n\n")),
                false => plain(
                    "401 Unauthorized",
                    "",
                    r#"{"error":{"message":"no old-token here"}}"#,
                ),
            });
        }
    });
    let source = Arc::new(Script {
        first,
        others: Mutex::new(vec![other]),
        refused: Mutex::default(),
    });
    let mut target = target(&server.base_url);
    target.key = Some(Key::Source(source.clone()));
    let kind = Kind { auth, ..kind() };
    let body = vec![Bytes::from_static(b"{}")];
    let sent = transport()
        .send(&target, &kind, body, &CancellationToken::new())
        .await;
    let asked = server.said.try_iter().inspect(|head| {
        assert!(!head.contains("x-key"), "{head}");
    });
    let asked = asked.count();
    let refused = source.refused.lock().unwrap().clone();
    (sent.map(|_| "in".to_owned()), refused, asked)
}

#[tokio::test]
async fn a_refused_key_is_replaced_once() {
    let auth = |text: &str| {
        Err(Error::Auth {
            message: Why::ours(
                Word::LlmAuth,
                [
                    "acme".into(),
                    Why::ours(Word::LlmBadKeyFrom, ["a script".into()]),
                    "401".into(),
                    Why::ours(Word::LlmSaid, [text.into()]),
                    "Knock again".into(),
                ],
            ),
        })
    };
    let own = || vec!["old-token".to_owned()];
    let old = || Ok("old-token");
    for place in [Auth::Bearer, Auth::Header("x-key".into())] {
        let found = check(place.clone(), Ok("good-token"), Ok(None)).await;
        assert_eq!(found, (Ok("in".into()), vec![], 1));
        let found = check(place.clone(), old(), Ok(Some("good-token"))).await;
        assert_eq!(found, (Ok("in".into()), own(), 2));
        // A second refusal is final, and no token is shown.
        let found = check(place.clone(), old(), Ok(Some("bad-token"))).await;
        assert_eq!(found, (auth("no old-token here"), own(), 2));
        let found = check(place.clone(), old(), Ok(None)).await;
        assert_eq!(found, (auth("no [redacted] here"), own(), 1));
        let found = check(place.clone(), old(), Err(login_required())).await;
        assert_eq!(found, (Err(login_required()), own(), 1));
        let found = check(place, Err(login_required()), Ok(None)).await;
        assert_eq!(found, (Err(login_required()), vec![], 0));
    }
}
