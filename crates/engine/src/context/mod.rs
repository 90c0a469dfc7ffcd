//! What a request to the model consists of and costs: the log folded into a conversation, the transcript that is sent, the
//! answer that is streamed back, and the documents that are made of a log.

pub mod account;
pub mod audit;
pub mod conversation;
pub mod cost;
pub mod digest;
pub mod export;
pub mod fold;
pub mod handoff;
pub mod sample;
pub mod side_request;
pub mod transcript;
pub mod window;
