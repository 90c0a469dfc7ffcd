//! The messages protocol (`POST /v1/messages`): typed blocks, signed thinking, explicit cache breakpoints.

mod decode;
mod encode;

use super::{Codec, Decoder, Mark};
use crate::{Msg, Params, Prefix, Target};

pub struct Messages;

impl Codec for Messages {
    fn open(&self, target: &Target, prefix: &Prefix, _: &Params, out: &mut Vec<u8>) -> bool {
        encode::open(target, prefix, out)
    }

    fn message(&self, target: &Target, message: &Msg, mark: Mark, out: &mut Vec<u8>) {
        encode::message(target, message, mark, out);
    }

    fn close(&self, target: &Target, params: &Params, out: &mut Vec<u8>) {
        encode::close(target, params, out);
    }

    fn decoder(&self, _: &Target) -> Box<dyn Decoder> {
        Box::new(decode::Reader::default())
    }
}

/// What replay blobs hold: the rest of a block. Of thinking that is its signature above all; of thinking that only its
/// origin can read it is everything, type included.
const BLOCK: &str = "block";
/// Fields of blocks that are ours to write.
const TEXT_FIELDS: [&str; 4] = ["type", "text", "cache_control", "citations"];
const THINKING_FIELDS: [&str; 3] = ["type", "thinking", "cache_control"];
const CALL_FIELDS: [&str; 5] = ["type", "id", "name", "input", "cache_control"];
