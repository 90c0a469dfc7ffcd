//! Models that a program offers: a request is a line, its answer comes in lines. How programs are started is not known
//! here; whoever makes the transport brings the way.

use crate::{Chunk, Decoder, Error, Frame, Target};
use bytes::Bytes;
use ostler_wire::{Why, Word};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The kind of models that are reached this way.
pub const KIND: &str = "plugin";

pub type PluginFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A way to the models of one program.
pub trait Plugin: Send + Sync + std::fmt::Debug {
    /// Sends a request, which ends with its line.
    fn send(&self, line: Vec<u8>) -> PluginFuture<'_, Box<dyn PluginLines>>;
}

/// An answer on its way. Dropping it ends whoever gives it.
pub trait PluginLines: Send {
    /// The next line. The end of the program is an error.
    fn next(&mut self) -> PluginFuture<'_, String>;

    /// The answer was whole: the program may have another request.
    fn finish(self: Box<Self>);
}

pub(crate) struct Answer {
    /// None when all of it came.
    lines: Option<Box<dyn PluginLines>>,
    cancel: CancellationToken,
    idle: Duration,
    /// When the next chunk must have come.
    until: Instant,
}

impl Answer {
    pub(crate) async fn new(
        plugin: Option<&Arc<dyn Plugin>>,
        target: &Target,
        body: Vec<Bytes>,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
        let plugin = plugin.ok_or_else(|| {
            let provider = target.origin.provider.as_str().into();
            Error::fatal(Why::ours(Word::LlmNoPlugin, [provider]))
        })?;
        let mut line = body.concat();
        line.push(b'\n');
        let lines = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Error::fatal(Word::LlmInterrupted)),
            lines = plugin.send(line) => lines?,
        };
        Ok(Self {
            lines: Some(lines),
            cancel: cancel.clone(),
            idle: target.timeouts.idle,
            until: Instant::now() + target.timeouts.first_token,
        })
    }

    /// What the next line brings. True while there is more.
    pub(crate) async fn next(
        &mut self,
        decoder: &mut dyn Decoder,
        out: &mut Vec<Chunk>,
    ) -> Result<bool, Error> {
        let Some(lines) = &mut self.lines else {
            return Ok(false);
        };
        let line = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Error::fatal(Word::LlmInterrupted)),
            line = lines.next() => line,
            () = tokio::time::sleep_until(self.until) => Err(Error::fatal(Word::LlmPluginSilent)),
        };
        let had = out.len();
        let frame = |line: String, decoder: &mut dyn Decoder, out: &mut Vec<Chunk>| {
            let data = line.as_str();
            decoder.frame(&Frame { event: "", data }, out)
        };
        let read = match line {
            Ok(line) => frame(line, decoder, out),
            Err(error) => Err(error),
        };
        if read.is_err() {
            self.lines = None;
            return read.map(|()| false);
        }
        // What is no part of the answer is no sign of life.
        if out.len() > had {
            self.until = Instant::now() + self.idle;
        }
        if decoder.is_done() {
            if let Some(lines) = self.lines.take() {
                lines.finish();
            }
            decoder.end(out)?;
            return Ok(false);
        }
        Ok(true)
    }
}
