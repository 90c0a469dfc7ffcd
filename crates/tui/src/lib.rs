//! Shows a session on a terminal: a client in, bytes out. Knows `wire` and nothing of the engine; the person's files, the
//! clipboard and the editor are reached through [`Surroundings`](surroundings::Surroundings), which the binary gives.

pub mod cell;
pub mod diff;
pub mod highlight;
pub mod key;
pub mod line;
pub mod markdown;
pub mod rows;
pub mod say;
#[cfg(test)]
mod testing;
pub mod text;
pub mod theme;
