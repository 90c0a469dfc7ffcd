//! What is left of folded work in a prompt: which entries are folded, the facts that the log has of them, the text that
//! stands for them, and the archive of the originals.

pub mod archive;
mod facts;
mod past;
#[cfg(test)]
mod tests;
mod text;

pub use facts::{Facts, cut};
pub use past::{MAX_PINNED, NOTED, Parts, Plan, boundary, bytes_of, context_parts, copied};
pub use text::{Digest, MAX_DIGEST, Prose};
