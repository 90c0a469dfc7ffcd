//! A client of a session that runs in another process, over any stream of bytes: `serve` is the side of the process that
//! owns the session, `attach` the side of the one that shows it, `follow` keeps a client going when the owner changes. How
//! the stream comes about is up to the caller. `Server` is the same over HTTP, for a session of `ostler serve`.

mod client;
mod follow;
mod frame;
mod http;
mod owner;

pub use client::{AttachError, attach};
pub use follow::{Lost, Reopen, follow};
pub use frame::{PROTOCOL, Refusal};
pub use http::{Opened, Server, ServerError};
pub use owner::{Attach, serve};
