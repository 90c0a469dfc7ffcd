//! The keyboard of this machine, as the terminal UI knows it.

use ostler_host::keyboard::{Keyboard, Typed};
use ostler_tui::surroundings;
use std::io;

pub struct Keys(Keyboard);

/// What is typed from now on, until it is dropped.
pub fn keyboard() -> io::Result<Keys> {
    Keyboard::open(io::stdin()).map(Keys)
}

impl surroundings::Keyboard for Keys {
    async fn next(&mut self) -> io::Result<surroundings::Typed> {
        Ok(match self.0.next().await? {
            Typed::Bytes(bytes) => surroundings::Typed::Bytes(bytes),
            Typed::Resized => surroundings::Typed::Resized,
            Typed::Over => surroundings::Typed::Over,
        })
    }
}
