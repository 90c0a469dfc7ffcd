//! One request to the model: sent, streamed, retried before anything was visible. What to do with the answer is the turn's business.

use crate::clients::feed::Feed;
use bytes::Bytes;
use ostler_llm::{Answer, Assembler, Chunk, Error, MAX_RETRY_AFTER, Model, TokenUsage, backoff};
use ostler_store::redact::Stream;
use ostler_wire::{Delta, Language, Why, Word};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Sendings of one request, the first included.
const MAX_TRIES: u32 = 5;

/// How a request ended.
pub enum Sampled {
    Whole(Answer),
    /// The stream broke after something had been shown; this is what had come.
    Cut(Answer, Error),
    /// The person stopped it; this is what had come.
    Interrupted(Answer),
    /// No other try would help; this is what had come, perhaps nothing.
    Failed(Answer, Error),
}

impl Sampled {
    fn answer_mut(&mut self) -> &mut Answer {
        match self {
            Sampled::Whole(answer)
            | Sampled::Cut(answer, _)
            | Sampled::Interrupted(answer)
            | Sampled::Failed(answer, _) => answer,
        }
    }
}

/// How often the request of a failed sample was sent, where that is why it failed.
pub fn tries_of(error: &Error) -> Option<u32> {
    match error {
        Error::Retryable { after, .. } if after.is_none_or(|after| after <= MAX_RETRY_AFTER) => {
            Some(MAX_TRIES)
        }
        Error::Retryable { .. }
        | Error::Overflow { .. }
        | Error::Replay { .. }
        | Error::Auth { .. }
        | Error::LoginRequired { .. }
        | Error::InvalidResponse { .. }
        | Error::Garbled { .. }
        | Error::Fatal { .. } => None,
    }
}

pub async fn sample(
    model: &Model,
    body: Vec<Bytes>,
    feed: &Feed,
    language: Language,
    cancel: &CancellationToken,
) -> Sampled {
    let mut wasted = TokenUsage::default();
    let mut sampled = tries(model, body, feed, language, cancel, &mut wasted).await;
    sampled.answer_mut().wasted = wasted;
    sampled
}

async fn tries(
    model: &Model,
    body: Vec<Bytes>,
    feed: &Feed,
    language: Language,
    cancel: &CancellationToken,
    wasted: &mut TokenUsage,
) -> Sampled {
    let mut tries = 1;
    loop {
        let mut assembler = Assembler::default();
        let mut live = Live::new(feed);
        let attempt = stream(model, body.clone(), &mut live, cancel, &mut assembler);
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            result = attempt => Some(result),
        };
        live.end();
        let error = match ended {
            None => return Sampled::Interrupted(assembler.finish()),
            Some(Ok(())) => return Sampled::Whole(assembler.finish()),
            Some(Err(error)) => error,
        };
        let (after, message, status) = match &error {
            Error::Retryable {
                after,
                message,
                status,
            } => (*after, message, *status),
            Error::Garbled { message } => (None, message, None),
            Error::Overflow { .. }
            | Error::Replay { .. }
            | Error::Auth { .. }
            | Error::LoginRequired { .. }
            | Error::InvalidResponse { .. }
            | Error::Fatal { .. } => return Sampled::Failed(assembler.finish(), error),
        };
        if assembler.is_visible() {
            return Sampled::Cut(assembler.finish(), error);
        }
        *wasted = wasted.plus(assembler.finish().usage);
        if let Some(patience) = after.filter(|after| *after > MAX_RETRY_AFTER) {
            let message = Why::ours(Word::LlmPatience, [message.clone(), spoken(patience)]);
            let error = Error::Retryable {
                message,
                status,
                after: Some(patience),
            };
            return Sampled::Failed(Answer::default(), error);
        }
        if tries >= MAX_TRIES {
            return Sampled::Failed(Answer::default(), error);
        }
        let wait = backoff(tries - 1, after, jitter());
        feed.delta(Delta::Retry {
            after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            attempt: tries,
            of: MAX_TRIES,
            reason: message.say(language),
        });
        tokio::select! {
            () = cancel.cancelled() => return Sampled::Interrupted(Answer::default()),
            () = tokio::time::sleep(wait) => {}
        }
        tries += 1;
    }
}

async fn stream(
    model: &Model,
    body: Vec<Bytes>,
    live: &mut Live<'_>,
    cancel: &CancellationToken,
    assembler: &mut Assembler,
) -> Result<(), Error> {
    let mut reply = model.call(body, cancel).await?;
    let mut chunks = Vec::new();
    loop {
        let more = reply.next(&mut chunks).await;
        live.show(&chunks);
        for chunk in chunks.drain(..) {
            assembler.push(chunk);
        }
        if !more? {
            return Ok(());
        }
    }
}

/// Shows an answer as it comes. Text and reasoning that arrived together go out together.
struct Live<'a> {
    feed: &'a Feed,
    text: Stream,
    reasoning: Stream,
}

impl<'a> Live<'a> {
    fn new(feed: &'a Feed) -> Self {
        Self {
            feed,
            text: feed.stream(),
            reasoning: feed.stream(),
        }
    }

    fn show(&mut self, chunks: &[Chunk]) {
        let (mut text, mut reasoning) = (String::new(), String::new());
        for chunk in chunks {
            match chunk {
                Chunk::Text(more) => {
                    reasoning.push_str(&self.reasoning.finish_text());
                    self.send_reasoning(&mut reasoning);
                    text.push_str(&self.text.push_text(more));
                }
                Chunk::Reasoning(more) => {
                    text.push_str(&self.text.finish_text());
                    self.send_text(&mut text);
                    reasoning.push_str(&self.reasoning.push_text(more));
                }
                Chunk::EndText { .. }
                | Chunk::EndReasoning { .. }
                | Chunk::Call { .. }
                | Chunk::Usage(_)
                | Chunk::Stop(_) => {}
            }
        }
        self.send_reasoning(&mut reasoning);
        self.send_text(&mut text);
    }

    /// Nothing more comes.
    fn end(mut self) {
        let (mut text, mut reasoning) = (self.text.finish_text(), self.reasoning.finish_text());
        self.send_reasoning(&mut reasoning);
        self.send_text(&mut text);
    }

    fn send_text(&self, text: &mut String) {
        if !text.is_empty() {
            self.feed.delta(Delta::AssistantDelta {
                text: std::mem::take(text),
            });
        }
    }

    fn send_reasoning(&self, text: &mut String) {
        if !text.is_empty() {
            self.feed.delta(Delta::ReasoningDelta {
                text: std::mem::take(text),
            });
        }
    }
}

/// A long time in the words of a person.
fn spoken(time: Duration) -> Why {
    let number = |number: u64| Why::from(number.to_string());
    let minutes = time.as_secs().div_ceil(60);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => Why::ours(Word::LlmMinutes, [number(minutes)]),
        (hours, 0) => Why::ours(Word::LlmHours, [number(hours)]),
        (hours, minutes) => Why::ours(Word::LlmHoursMinutes, [number(hours), number(minutes)]),
    }
}

/// A number in 0..1 that differs between processes and tries.
fn jitter() -> f64 {
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .subsec_nanos();
    f64::from(nanos % 1000) / 1000.0
}
