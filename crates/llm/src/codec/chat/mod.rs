//! The chat protocol (`POST /chat/completions`), which most endpoints speak with an accent: their differences are quirks.

mod calls;
mod decode;
mod encode;
mod tags;

use super::{Codec, Decoder, Mark};
use crate::{Msg, Params, Prefix, Target};

pub struct Chat;

impl Codec for Chat {
    fn open(&self, target: &Target, prefix: &Prefix, _: &Params, out: &mut Vec<u8>) -> bool {
        encode::open(target, prefix, out)
    }

    fn message(&self, target: &Target, message: &Msg, mark: Mark, out: &mut Vec<u8>) {
        encode::message(target, message, mark, out);
    }

    fn close(&self, target: &Target, params: &Params, out: &mut Vec<u8>) {
        encode::close(target, params, out);
    }

    fn decoder(&self, target: &Target) -> Box<dyn Decoder> {
        Box::new(decode::Reader::new(target))
    }
}

/// Where servers put reasoning beside the text. A replay blob names the one it came in.
const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];
/// Reasoning as a list of typed pieces, some of them encrypted; goes back verbatim.
const DETAILS: &str = "reasoning_details";
/// Fields of a message that are ours to write, or that are refused when they come back.
const MESSAGE_FIELDS: [&str; 12] = [
    "role",
    "content",
    "name",
    "refusal",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "audio",
    "annotations",
    "logprobs",
    DETAILS,
    "token_ids",
];
/// What replay blobs hold the rest of.
const MESSAGE: &str = "message";
const CALL: &str = "call";
const CALL_FIELDS: [&str; 8] = [
    "index",
    "id",
    "type",
    "function",
    "custom",
    "name",
    "arguments",
    "parameters",
];
