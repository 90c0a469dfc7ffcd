//! A client of a session that runs in another process, over any stream of bytes: `serve` is the side of the process that
//! owns the session, `attach` the side of the one that shows it. How the stream comes about is up to the caller.

mod client;
mod frame;
mod owner;

pub use client::{AttachError, attach};
pub use frame::{PROTOCOL, Refusal};
pub use owner::{Attach, serve};
