//! The responses protocol (`POST /responses`), used without server-side state: everything goes back in `input`.

mod decode;
mod encode;

use super::{Codec, Decoder, Mark};
use crate::{Msg, Params, Prefix, Target};

pub struct Responses;

impl Codec for Responses {
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

/// What replay blobs hold: the rest of an item.
const ITEM: &str = "item";
/// Fields of items that are ours to write, or that name what the server would have stored.
const MESSAGE_FIELDS: [&str; 5] = ["id", "type", "role", "status", "content"];
const CALL_FIELDS: [&str; 6] = ["id", "type", "call_id", "name", "arguments", "status"];
/// A reasoning item goes back whole, apart from these: without state an id points nowhere, and a status is the server's to give.
const REASONING_FIELDS: [&str; 2] = ["id", "status"];
