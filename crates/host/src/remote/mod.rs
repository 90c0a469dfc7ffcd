//! Another place behind a link: `Remote` is a host whose operations are carried out by a helper at the other end of two
//! streams of bytes, `serve` is that helper, which does them by the code of this machine. `keeper` is the helper that waits
//! when its connection breaks, `line` our end of such a connection.

mod carrier;
mod codec;
mod frame;
mod guards;
mod hello;
#[cfg(unix)]
mod keeper;
mod line;
mod link;
mod message;
mod program;
mod running;
mod saves;
mod serve;
mod spool;
mod types;

#[cfg(unix)]
pub use keeper::{Streams, keep, relay};
pub use link::{Remote, Unreached};
pub use message::{PROTOCOL, PlaceFacts};
pub use program::{Dial, Dialed, OverProgram};
pub use serve::serve;
