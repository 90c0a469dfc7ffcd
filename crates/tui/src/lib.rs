//! Shows a session on a terminal: a client in, bytes out. Knows `wire` and nothing of the engine; the person's files, the
//! clipboard and the editor are reached through [`Surroundings`](surroundings::Surroundings), which the binary gives.

pub mod burst;
pub mod canvas;
pub mod cell;
pub mod cells;
pub mod dialog;
pub mod diff;
pub mod editor;
pub mod errands;
pub mod fuzzy;
pub mod grid;
pub mod highlight;
pub mod key;
pub mod layer;
pub mod line;
pub mod links;
pub mod markdown;
pub mod questions;
pub mod rows;
pub mod run;
pub mod say;
pub mod screen;
pub mod state;
pub mod status;
pub mod surroundings;
pub mod terminal;
#[cfg(test)]
mod testing;
pub mod text;
pub mod theme;
pub mod transcript;
