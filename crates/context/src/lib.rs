//! What a request to the model consists of and costs: the log folded into a conversation, the transcript that is sent, the
//! answer that is streamed back and made storable, what clients are sent of it, and the documents that are made of a log. It
//! runs no tool.

pub mod accept;
pub mod account;
pub mod audit;
pub mod clients;
pub mod conversation;
pub mod cost;
pub mod digest;
pub mod export;
pub mod fold;
pub mod goal;
pub mod handoff;
pub mod interfaces;
pub mod sample;
pub mod side_request;
#[cfg(test)]
mod testing;
pub mod transcript;
pub mod window;
