//! One request to the model: sent, streamed, retried before anything was visible. What to do with the answer is the turn's business.

use crate::feed::Feed;
use bytes::Bytes;
use ostler_llm::{Answer, Assembler, Chunk, Error, Model, backoff};
use ostler_wire::Delta;
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

pub async fn sample(
    model: &Model,
    body: Vec<Bytes>,
    feed: &Feed,
    cancel: &CancellationToken,
) -> Sampled {
    let mut tries = 1;
    loop {
        let mut assembler = Assembler::default();
        let attempt = stream(model, body.clone(), feed, cancel, &mut assembler);
        let error = tokio::select! {
            biased;
            () = cancel.cancelled() => return Sampled::Interrupted(assembler.finish()),
            result = attempt => match result {
                Ok(()) => return Sampled::Whole(assembler.finish()),
                Err(error) => error,
            },
        };
        let Error::Retryable { after, message, .. } = &error else {
            return Sampled::Failed(assembler.finish(), error);
        };
        if assembler.is_visible() {
            return Sampled::Cut(assembler.finish(), error);
        }
        if tries >= MAX_TRIES {
            return Sampled::Failed(Answer::default(), error);
        }
        let wait = backoff(tries - 1, *after, jitter());
        feed.delta(Delta::Retry {
            after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            attempt: tries,
            reason: message.clone(),
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
    feed: &Feed,
    cancel: &CancellationToken,
    assembler: &mut Assembler,
) -> Result<(), Error> {
    let mut reply = model.call(body, cancel).await?;
    let mut chunks = Vec::new();
    loop {
        let more = reply.next(&mut chunks).await;
        show(&chunks, feed);
        for chunk in chunks.drain(..) {
            assembler.push(chunk);
        }
        if !more? {
            return Ok(());
        }
    }
}

/// Text and reasoning that arrived together go out together.
fn show(chunks: &[Chunk], feed: &Feed) {
    let (mut text, mut reasoning) = (String::new(), String::new());
    for chunk in chunks {
        match chunk {
            Chunk::Text(more) => {
                send_reasoning(&mut reasoning, feed);
                text.push_str(more);
            }
            Chunk::Reasoning(more) => {
                send_text(&mut text, feed);
                reasoning.push_str(more);
            }
            Chunk::EndText { .. }
            | Chunk::EndReasoning { .. }
            | Chunk::Call { .. }
            | Chunk::Usage(_)
            | Chunk::Stop(_) => {}
        }
    }
    send_reasoning(&mut reasoning, feed);
    send_text(&mut text, feed);
}

fn send_text(text: &mut String, feed: &Feed) {
    if !text.is_empty() {
        feed.delta(Delta::AssistantDelta {
            text: std::mem::take(text),
        });
    }
}

fn send_reasoning(text: &mut String, feed: &Feed) {
    if !text.is_empty() {
        feed.delta(Delta::ReasoningDelta {
            text: std::mem::take(text),
        });
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
