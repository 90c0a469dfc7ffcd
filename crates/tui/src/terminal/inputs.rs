//! Input out of what a keyboard gives: waits a moment for the rest of what begins like a longer sequence.

use super::parse::Parser;
use crate::key::Input;
use crate::surroundings::{Keyboard, Typed};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// How long an Esc waits for the rest of a longer sequence.
const ESC_WAITS: Duration = Duration::from_millis(20);

pub struct Inputs<K> {
    keyboard: K,
    parser: Parser,
    ready: VecDeque<Input>,
}

impl<K: Keyboard> Inputs<K> {
    pub fn new(keyboard: K) -> Self {
        Self {
            keyboard,
            parser: Parser::default(),
            ready: VecDeque::new(),
        }
    }

    /// Everything that came at once; nothing when the terminal is gone. Nothing is lost when this is dropped.
    pub async fn next(&mut self) -> io::Result<Vec<Input>> {
        loop {
            if !self.ready.is_empty() {
                return Ok(self.ready.drain(..).collect());
            }
            let is_waiting = self.parser.is_waiting();
            let esc = async {
                match is_waiting {
                    true => tokio::time::sleep(ESC_WAITS).await,
                    false => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                typed = self.keyboard.next() => match typed? {
                    Typed::Bytes(bytes) => self.ready.extend(self.parser.feed(&bytes)),
                    Typed::Resized => {
                        let (columns, rows) = super::size();
                        self.ready.push_back(Input::Resize { columns, rows });
                    }
                    Typed::Over => return Ok(Vec::new()),
                },
                () = esc => self.ready.extend(self.parser.flush()),
            }
        }
    }
}
