//! Another place behind a link: `Remote` is a host whose operations are carried out by a helper at the other end of two
//! streams of bytes, `serve` is that helper, which does them by the code of this machine.

mod codec;
mod frame;
mod link;
mod message;
mod program;
mod running;
mod serve;
mod types;

pub use link::{Remote, Unreached};
pub use message::{PROTOCOL, PlaceFacts};
pub use program::OverProgram;
pub use serve::serve;
