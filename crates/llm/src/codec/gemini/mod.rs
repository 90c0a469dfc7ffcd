//! The gemini protocol (`POST …:streamGenerateContent`): contents made of parts, any of which may be signed.

mod decode;
mod encode;

use super::{Codec, Decoder, Mark};
use crate::{Msg, Params, Prefix, Target};

pub struct Gemini;

impl Codec for Gemini {
    fn open(&self, target: &Target, prefix: &Prefix, _: &Params, out: &mut Vec<u8>) -> bool {
        encode::open(target, prefix, out)
    }

    fn message(&self, target: &Target, message: &Msg, _: Mark, out: &mut Vec<u8>) {
        encode::message(target, message, out);
    }

    fn close(&self, target: &Target, params: &Params, out: &mut Vec<u8>) {
        encode::close(target, params, out);
    }

    fn decoder(&self, _: &Target) -> Box<dyn Decoder> {
        Box::new(decode::Reader::default())
    }
}

/// Proof of the reasoning behind a part. It goes back on the very part it came with.
const SIGNATURE: &str = "thoughtSignature";
/// What replay blobs hold: the rest of a part.
const PART: &str = "part";
/// Fields of a part that are ours to write.
const PART_FIELDS: [&str; 5] = [
    "text",
    "thought",
    "functionCall",
    "functionResponse",
    "inlineData",
];
