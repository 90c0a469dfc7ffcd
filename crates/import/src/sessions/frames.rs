//! Frames: a mark, two lengths, and an event in zstd, whose payload is base64. Only finished messages count.

use super::lines::{Lines, open};
use super::{Context, chat, path_of};
use crate::conversation::Builder;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ostler_wire::{Why, Word};
use serde_json::Value;
use std::io::Read as _;
use std::path::{Path, PathBuf};

const MARK: &[u8] = b"RX4F";
/// Mark, and the length of what follows with and without compression.
const HEAD: usize = 12;
/// Bytes of one frame without compression.
const MAX_FRAME: u64 = 64 << 20;
/// The form of the log that is known.
const CODEC: &str = "reasonix.session.linear/v4";

/// The events of a log.
pub fn lines(path: &Path, most: u64) -> Result<Lines, Why> {
    let mut bytes = Vec::new();
    let file = open(path)?;
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(|e| Why::from(&e))?;
    let (mut values, mut unread) = (Vec::new(), 0);
    let mut rest = bytes.as_slice();
    while let Some((head, behind)) = rest.split_at_checked(HEAD) {
        let length = head.get(4..8).and_then(|four| four.try_into().ok());
        let length = u32::from_be_bytes(length.unwrap_or_default()) as usize;
        if !head.starts_with(MARK) {
            return match values.is_empty() {
                true => Err(Word::ImportUnknownForm.into()),
                false => Ok(Lines::of(values, unread + 1)),
            };
        }
        // The last frame may be half of one.
        let Some((packed, behind)) = behind.split_at_checked(length) else {
            break;
        };
        rest = behind;
        match event(packed) {
            Some(value) => values.push(value),
            None => unread += 1,
        }
    }
    let other = values
        .iter()
        .find_map(|value| value["codec"].as_str().filter(|codec| *codec != CODEC));
    match other {
        Some(codec) => Err(Why::ours(Word::ImportUnknownVersion, [codec.into()])),
        None => Ok(Lines::of(values, unread)),
    }
}

fn event(packed: &[u8]) -> Option<Value> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
    let mut text = Vec::new();
    decoder.take(MAX_FRAME).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

pub fn read(lines: &mut Lines, context: &Context<'_>, builder: &mut Builder) {
    let folder = context.path.parent();
    if let Some(name) = folder.and_then(Path::file_name) {
        builder.conversation.id = name.to_string_lossy().into_owned();
    }
    for line in lines {
        let event = &line["event"];
        let payload = event["payload"].as_str().unwrap_or_default();
        let Some(payload) = STANDARD
            .decode(payload)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
        else {
            continue;
        };
        if event["kind"] == "message/complete" {
            let message = &payload["message"];
            if builder.conversation.root.is_none() {
                builder.conversation.root = root(message);
            }
            chat::message(message, context, builder);
        }
    }
}

/// The folder stands in what the agent tells the model at the start.
fn root(message: &Value) -> Option<PathBuf> {
    let text = message["content"].as_str()?;
    let marks = [
        "Current workspace: ",
        "Workspace: ",
        "workspace: ",
        "Working directory: ",
        "cwd: ",
        "root: ",
    ];
    let mut lines = text.lines().map(|line| line.trim_start_matches(['-', ' ']));
    lines.find_map(|line| {
        let named = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
        path_of(&Value::String(
            named.trim().trim_matches(['`', '"']).to_owned(),
        ))
    })
}
