//! One model as the engine sees it: a codec and a way to send. Which way (a server, a plugin, the demo's script) is decided here.
//! Nothing is retried here; `backoff` says how long to wait before that.

use crate::http::{Progress, Response, Transport};
use crate::kinds::{self, Kind};
use crate::{Chunk, Codec, Decoder, Error, Target, demo, plugin};
use bytes::Bytes;
use ostler_wire::{Why, Word};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const FIRST_BACKOFF: Duration = Duration::from_millis(150);
const BACKOFF_FACTOR: u32 = 4;
const MAX_BACKOFF: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Model {
    target: Arc<Target>,
    kind: &'static Kind,
    transport: Arc<Transport>,
}

/// See [`Model::forbidding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidding {
    Free,
    BreaksCache,
    /// The endpoint takes no such field.
    Refused,
}

/// An answer on its way.
pub struct Reply {
    source: Source,
    decoder: Box<dyn Decoder>,
}

enum Source {
    Http(Box<Response>),
    Demo(demo::Playback),
    Plugin(plugin::Answer),
}

impl Model {
    pub fn new(target: Arc<Target>, transport: Arc<Transport>) -> Result<Self, Error> {
        let Some(kind) = kinds::kind(&target.kind) else {
            let known: Vec<&str> = kinds::kinds().iter().map(|k| k.name.as_str()).collect();
            let provider = target.origin.provider.as_str().into();
            let values = [
                provider,
                target.kind.as_str().into(),
                known.join(", ").into(),
            ];
            return Err(Error::fatal(Why::ours(Word::LlmNoKind, values)));
        };
        Ok(Self {
            target,
            kind,
            transport,
        })
    }

    /// The model as a person would name it.
    pub fn reference(&self) -> String {
        let Target { origin, effort, .. } = &*self.target;
        let variant = effort.map_or_else(String::new, |effort| format!("@{}", effort.name()));
        format!("{}/{}{variant}", origin.provider, origin.model)
    }

    pub fn target(&self) -> &Arc<Target> {
        &self.target
    }

    pub fn codec(&self) -> &'static dyn Codec {
        self.kind.codec()
    }

    /// What it costs to forbid calls in a request whose prompt is cached.
    pub fn forbidding(&self) -> Forbidding {
        let quirks = &self.target.quirks;
        match (quirks.tool_choice, quirks.cache_marks) {
            (false, _) => Forbidding::Refused,
            // Marks are for models of a protocol that breaks, too.
            (true, marks) if marks || self.kind.choice_breaks_cache => Forbidding::BreaksCache,
            (true, _) => Forbidding::Free,
        }
    }

    /// Sends a body that this model's codec wrote.
    pub async fn call(&self, body: Vec<Bytes>, cancel: &CancellationToken) -> Result<Reply, Error> {
        let source = if self.kind.name == demo::KIND {
            Source::Demo(demo::Playback::new(&body, cancel))
        } else if self.kind.name == plugin::KIND {
            let way = self.transport.plugin(&self.target.origin.provider);
            Source::Plugin(plugin::Answer::new(way, &self.target, body, cancel).await?)
        } else {
            let answer = self.transport.send(&self.target, self.kind, body, cancel);
            Source::Http(Box::new(answer.await?))
        };
        Ok(Reply {
            source,
            decoder: self.codec().decoder(&self.target),
        })
    }
}

impl Reply {
    /// Waits for more of the answer and appends all of it that has arrived. True while there is more to come.
    /// After an error, or false, it must not be called again; what was read before an error is in `out`.
    pub async fn next(&mut self, out: &mut Vec<Chunk>) -> Result<bool, Error> {
        match &mut self.source {
            Source::Http(response) => match response.next(&mut *self.decoder, out).await? {
                Progress::More => Ok(true),
                Progress::Done => Ok(false),
            },
            Source::Demo(playback) => playback.next(&mut *self.decoder, out).await,
            Source::Plugin(answer) => answer.next(&mut *self.decoder, out).await,
        }
    }
}

/// The wait before retry number `attempt` (from 0). What the server asked for is kept to exactly;
/// otherwise it grows by a factor, and `jitter` (0 to 1) spreads clients over the second half of it.
pub fn backoff(attempt: u32, after: Option<Duration>, jitter: f64) -> Duration {
    if let Some(after) = after {
        return after;
    }
    let full = BACKOFF_FACTOR
        .checked_pow(attempt)
        .and_then(|factor| FIRST_BACKOFF.checked_mul(factor))
        .map_or(MAX_BACKOFF, |wait| wait.min(MAX_BACKOFF));
    let jitter = if jitter.is_finite() {
        jitter.clamp(0.0, 1.0)
    } else {
        1.0
    };
    full.mul_f64(0.5 + jitter / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_are_spread() {
        let ms = |attempt, jitter| backoff(attempt, None, jitter).as_millis();
        let table: Vec<_> = (0..6).map(|n| (ms(n, 0.0), ms(n, 1.0))).collect();
        assert_eq!(
            table,
            [
                (75, 150),
                (300, 600),
                (1_200, 2_400),
                (4_800, 9_600),
                (15_000, 30_000),
                (15_000, 30_000)
            ]
        );
        assert_eq!(ms(u32::MAX, 1.0), 30_000);
        for odd in [-1.0, 2.0, f64::NAN, f64::INFINITY] {
            assert!((75..=150).contains(&ms(0, odd)), "{odd}");
        }
        let asked = Duration::from_secs(47);
        assert_eq!(backoff(9, Some(asked), 0.3), asked);
        assert_eq!(backoff(0, Some(Duration::ZERO), 0.3), Duration::ZERO);
    }

    #[test]
    fn forbidding_calls_costs_what_the_rows_say() {
        for (kind, quirks, expect) in [
            ("openai", "", Forbidding::Free),
            ("openai-responses", "", Forbidding::Free),
            ("openai", "cache_marks = true", Forbidding::BreaksCache),
            ("anthropic", "", Forbidding::BreaksCache),
            ("gemini", "", Forbidding::BreaksCache),
            ("openai", "tool_choice = false", Forbidding::Refused),
            ("anthropic", "tool_choice = false", Forbidding::Refused),
        ] {
            let target = Target {
                quirks: toml::from_str(quirks).unwrap(),
                ..Target::new(
                    ostler_wire::Origin {
                        provider: "p".into(),
                        model: "m".into(),
                    },
                    kind,
                    "http://127.0.0.1:9",
                )
            };
            let transport = Arc::new(Transport::new(crate::TransportOptions::default()));
            let model = Model::new(Arc::new(target), transport).unwrap();
            assert_eq!(model.forbidding(), expect, "{kind} {quirks}");
        }
    }
}
