//! The lines of a plugin that offers models: our own request and our own chunks as JSON, one a line. The only protocol here
//! that is nobody's but ours.

mod decode;
mod encode;

use super::{Codec, Decoder, Mark};
use crate::{Msg, Params, Prefix, Target};

pub struct Lines;

impl Codec for Lines {
    fn open(&self, target: &Target, prefix: &Prefix, _: &Params, out: &mut Vec<u8>) -> bool {
        encode::open(target, prefix, out);
        false
    }

    fn message(&self, _: &Target, message: &Msg, _: Mark, out: &mut Vec<u8>) {
        encode::message(message, out);
    }

    fn close(&self, _: &Target, params: &Params, out: &mut Vec<u8>) {
        encode::close(params, out);
    }

    fn decoder(&self, _: &Target) -> Box<dyn Decoder> {
        Box::new(decode::Reader::default())
    }
}
