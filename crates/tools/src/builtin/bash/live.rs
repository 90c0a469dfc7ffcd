//! Live output of a running command: gathered into few pieces, and a flood shown in part only. The result has it all.

use crate::cut::char_end;
use crate::tool::{CommandServices, Context};
use std::time::Duration;
use tokio::time::Instant;

const INTERVAL: Duration = Duration::from_millis(50);
const PIECE: usize = 4096;
/// Shown as fast as it comes; after that one piece per interval.
const FREE: usize = 256 * 1024;

pub struct Live {
    cx: Context<CommandServices>,
    waiting: Vec<u8>,
    due: Option<Instant>,
    shown: usize,
}

impl Live {
    pub fn new(cx: Context<CommandServices>) -> Self {
        Self {
            cx,
            waiting: Vec::new(),
            due: None,
            shown: 0,
        }
    }

    /// When the next `flush` should be.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.shown < FREE && self.waiting.len() >= PIECE {
            self.flush();
        } else if !self.waiting.is_empty() && self.due.is_none() {
            self.due = Some(Instant::now() + INTERVAL);
        }
        if self.waiting.len() > PIECE {
            self.waiting.drain(..self.waiting.len() - PIECE);
        }
    }

    pub fn flush(&mut self) {
        self.due = None;
        let end = char_end(&self.waiting);
        let rest = self.waiting.split_off(end);
        if !self.waiting.is_empty() {
            self.shown += self.waiting.len();
            self.cx.show(&String::from_utf8_lossy(&self.waiting));
        }
        self.waiting = rest;
    }
}
