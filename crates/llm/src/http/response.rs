//! An answer as it arrives: bytes become frames, frames become chunks, on the clocks for the first token and for silence.

use super::fault::{Clock, Place};
use super::{cancelled, content_type};
use crate::{Chunk, Decoder, Error, Timeouts};
use bytes::Bytes;
use futures_util::FutureExt;
use ostler_wire::Word;
use ostler_wire::sse::Sse;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The most bytes of an answer that is not streamed.
pub const MAX_WHOLE_BYTES: usize = 64 * 1024 * 1024;
/// What is decoded in one go before the caller gets a turn.
const BATCH_BYTES: usize = 64 * 1024;
/// So many frames with data are tokens, even when the decoder still gathers them into one call.
const FRAMES_OF_A_TOKEN: usize = 8;
/// What is read after the end of an answer to keep the connection.
const DRAIN_BYTES: usize = 64 * 1024;
const DRAIN_TIME: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    More,
    Done,
}

pub struct Response {
    /// Gone once the answer is over or failed, which closes its connection unless it was read to the end.
    answer: Option<reqwest::Response>,
    shape: Shape,
    place: Place,
    timeouts: Timeouts,
    started: Instant,
    cancel: CancellationToken,
    closing: CancellationToken,
    data_frames: usize,
    has_token: bool,
}

enum Shape {
    /// Too little has come to tell; the head of the body.
    Unknown(Vec<u8>),
    Events(Sse),
    Whole(Vec<u8>),
}

impl Response {
    pub(super) fn new(
        answer: reqwest::Response,
        place: Place,
        timeouts: Timeouts,
        started: Instant,
        cancel: CancellationToken,
        closing: CancellationToken,
    ) -> Self {
        let shape = if content_type(&answer).starts_with("text/event-stream") {
            Shape::Events(Sse::default())
        } else {
            Shape::Unknown(Vec::new())
        };
        Self {
            answer: Some(answer),
            shape,
            place,
            timeouts,
            started,
            cancel,
            closing,
            data_frames: 0,
            has_token: false,
        }
    }

    /// Waits for bytes, then decodes everything that has arrived. `out` may stay empty (a sign of life, half a frame).
    /// What was decoded before an error is in `out`.
    pub async fn next(
        &mut self,
        decoder: &mut dyn Decoder,
        out: &mut Vec<Chunk>,
    ) -> Result<Progress, Error> {
        let from = out.len();
        let result = self.step(decoder, out).await;
        self.has_token |= out.iter().skip(from).any(is_token);
        match result {
            Ok(Progress::More) => {}
            Ok(Progress::Done) | Err(_) => self.answer = None,
        }
        result.map_err(|error| self.place.redact(error))
    }

    async fn step(
        &mut self,
        decoder: &mut dyn Decoder,
        out: &mut Vec<Chunk>,
    ) -> Result<Progress, Error> {
        let mut arrived = self.wait().await;
        let mut read = 0;
        loop {
            match arrived {
                Ok(Some(bytes)) => {
                    read += bytes.len();
                    self.feed(&bytes, decoder, out)?;
                    if decoder.is_done() {
                        self.drain().await;
                        return Ok(Progress::Done);
                    }
                }
                Ok(None) => return self.end(decoder, out),
                Err(error) => return self.broken(error, decoder, out),
            }
            if read >= BATCH_BYTES {
                return Ok(Progress::More);
            }
            match self.arrived().await {
                Some(next) => arrived = next,
                None => return Ok(Progress::More),
            }
        }
    }

    async fn wait(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(answer) = &mut self.answer else {
            return Ok(None);
        };
        let (clock, limit, deadline) = if self.has_token {
            let idle = self.timeouts.idle;
            (Clock::Idle, idle, Instant::now() + idle)
        } else {
            let first = self.timeouts.first_token;
            (Clock::FirstToken, first, self.started + first)
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(cancelled()),
            bytes = answer.chunk() => bytes.map_err(|error| self.place.transport(&error)),
            () = tokio::time::sleep_until(deadline) => Err(self.place.timeout(clock, limit)),
        }
    }

    /// What is there without waiting. The connection gets one turn to pass on what it has read.
    async fn arrived(&mut self) -> Option<Result<Option<Bytes>, Error>> {
        let answer = self.answer.as_mut()?;
        let mut now = answer.chunk().now_or_never();
        if now.is_none() {
            tokio::task::yield_now().await;
            now = answer.chunk().now_or_never();
        }
        now.map(|bytes| bytes.map_err(|error| self.place.transport(&error)))
    }

    fn feed(
        &mut self,
        bytes: &[u8],
        decoder: &mut dyn Decoder,
        out: &mut Vec<Chunk>,
    ) -> Result<(), Error> {
        match &mut self.shape {
            Shape::Events(sse) => {
                let mut failed = None;
                let pushed = sse.push(bytes, &mut |frame| {
                    if failed.is_none() && !decoder.is_done() {
                        self.data_frames += usize::from(frame.event != "ping");
                        failed = decoder.frame(&frame, out).err();
                    }
                });
                self.has_token |= self.data_frames >= FRAMES_OF_A_TOKEN;
                match failed {
                    Some(error) => Err(error),
                    None => Ok(pushed.map(drop)?),
                }
            }
            Shape::Whole(body) => {
                self.has_token = true;
                if body.len() + bytes.len() > MAX_WHOLE_BYTES {
                    return Err(self.place.too_large(MAX_WHOLE_BYTES));
                }
                body.extend_from_slice(bytes);
                Ok(())
            }
            Shape::Unknown(head) => {
                head.extend_from_slice(bytes);
                let head = std::mem::take(head);
                match guess(&head) {
                    // Blanks keep a connection alive; they are not kept.
                    Guess::Wait if head.trim_ascii().is_empty() => return Ok(()),
                    Guess::Wait => {
                        self.shape = Shape::Unknown(head);
                        return Ok(());
                    }
                    Guess::Events => self.shape = Shape::Events(Sse::default()),
                    Guess::Json => self.shape = Shape::Whole(Vec::new()),
                    Guess::Neither => {
                        return Err(self.place.not_an_answer(Word::LlmSomething, &head));
                    }
                }
                self.feed(&head, decoder, out)
            }
        }
    }

    /// The server has closed the body as it should.
    fn end(&mut self, decoder: &mut dyn Decoder, out: &mut Vec<Chunk>) -> Result<Progress, Error> {
        match &mut self.shape {
            Shape::Events(sse) => {
                let mut result = Ok(());
                sse.finish(&mut |frame| {
                    // Half a frame is a cut, not a fault of the frame.
                    if serde_json::from_str::<serde::de::IgnoredAny>(frame.data).is_ok()
                        || !frame.data.trim_start().starts_with('{')
                    {
                        result = decoder.frame(&frame, out);
                    }
                })?;
                result?;
                decoder.end(out)?;
            }
            Shape::Whole(body) => {
                let body = std::mem::take(body);
                decoder.whole(&String::from_utf8_lossy(&body), out)?;
            }
            Shape::Unknown(head) if head.trim_ascii().is_empty() => return Err(self.place.cut()),
            Shape::Unknown(head) => return Err(self.place.not_an_answer(Word::LlmSomething, head)),
        }
        Ok(Progress::Done)
    }

    /// The connection broke, a clock ran out, or the caller cancelled. An answer that was complete but for its last line stands.
    fn broken(
        &mut self,
        error: Error,
        decoder: &mut dyn Decoder,
        out: &mut Vec<Chunk>,
    ) -> Result<Progress, Error> {
        let is_stream = matches!(self.shape, Shape::Events(_));
        if is_stream && !self.cancel.is_cancelled() && decoder.end(out).is_ok() {
            return Ok(Progress::Done);
        }
        Err(error)
    }

    /// Reads the rest of the body, which is its end mark as a rule, so that the connection can be used again.
    async fn drain(&mut self) {
        for _ in 0..2 {
            match self.arrived().await {
                Some(Ok(Some(_))) => {}
                Some(Ok(None) | Err(_)) => return,
                None => break,
            }
        }
        let Some(mut answer) = self.answer.take() else {
            return;
        };
        let closing = self.closing.clone();
        drop(tokio::spawn(async move {
            let rest = async {
                let mut read = 0;
                while let Ok(Some(bytes)) = answer.chunk().await {
                    read += bytes.len();
                    if read > DRAIN_BYTES {
                        break;
                    }
                }
            };
            tokio::select! {
                () = closing.cancelled() => {}
                _ = tokio::time::timeout(DRAIN_TIME, rest) => {}
            }
        }));
    }
}

fn is_token(chunk: &Chunk) -> bool {
    match chunk {
        Chunk::Text(_)
        | Chunk::Reasoning(_)
        | Chunk::EndText { .. }
        | Chunk::EndReasoning { .. }
        | Chunk::Call { .. }
        | Chunk::Stop(_) => true,
        Chunk::Usage(_) => false,
    }
}

enum Guess {
    Wait,
    Events,
    Json,
    Neither,
}

/// Servers name the type of their answers wrongly, or not at all; the first characters tell.
fn guess(head: &[u8]) -> Guess {
    const FIELDS: [&[u8]; 5] = [b"data", b"event", b"retry", b"id", b":"];
    let body = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let body = body.trim_ascii_start();
    if body.starts_with(b"{") || body.starts_with(b"[") {
        Guess::Json
    } else if FIELDS.iter().any(|field| body.starts_with(field)) {
        Guess::Events
    } else if FIELDS.iter().any(|field| field.starts_with(body)) {
        Guess::Wait
    } else {
        Guess::Neither
    }
}
