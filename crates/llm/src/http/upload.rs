//! A request body made of shared blocks, with its exact length, that tells when it was last asked for bytes.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

pub(super) struct Upload {
    parts: std::vec::IntoIter<Bytes>,
    left: u64,
    progress: Arc<Progress>,
}

/// How far a request has come. Bytes of a body are asked for only once there is a connection.
#[derive(Debug)]
pub(super) struct Progress {
    start: Instant,
    /// Milliseconds from `start` to the last request for bytes, plus one; 0 before the first.
    asked: AtomicU64,
    connected: Notify,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            asked: AtomicU64::new(0),
            connected: Notify::new(),
        }
    }

    /// Returns once there is a connection.
    pub(super) async fn connected(&self) {
        self.connected.notified().await;
    }

    /// When the last part was taken, or `None` while there is no connection.
    pub(super) fn last_sent(&self) -> Option<Instant> {
        let asked = self.asked.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.start + Duration::from_millis(asked))
    }

    pub(super) fn start(&self) -> Instant {
        self.start
    }

    fn note(&self) {
        let passed = self.start.elapsed().as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX - 1);
        if self.asked.swap(passed + 1, Ordering::Relaxed) == 0 {
            self.connected.notify_one();
        }
    }
}

impl Upload {
    pub(super) fn new(parts: Vec<Bytes>, progress: Arc<Progress>) -> Self {
        let left = parts.iter().map(|part| part.len() as u64).sum();
        Self {
            parts: parts.into_iter(),
            left,
            progress,
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.progress.note();
        let next = self.parts.find(|part| !part.is_empty());
        if let Some(part) = &next {
            self.left = self.left.saturating_sub(part.len() as u64);
        }
        Poll::Ready(next.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
