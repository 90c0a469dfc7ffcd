//! Large files in pieces: the bytes pass by, their hash stays.

use super::{Fault, read};
use crate::tool::{Context, FileServices};
use bytes::Bytes;
use ostler_host::{Content, Span};
use sha2::{Digest, Sha256};
use std::path::Path;

const PIECE: u64 = 256 * 1024;
/// Files up to this size are read to their end, whatever the caller still needs.
pub const MAX_SCANNED: u64 = 256 * 1024 * 1024;

/// What the receiver of the pieces says after each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    More,
    Nothing,
}

/// Feeds the file, whose beginning is `head`, piece by piece. The hash is that of `Seen`, if the end was reached.
pub async fn scan(
    cx: &Context<FileServices>,
    path: &Path,
    head: &Content,
    mut feed: impl FnMut(&[u8]) -> Need,
) -> Result<Option<String>, Fault> {
    let mut hasher = Sha256::new();
    let mut offset = 0;
    let mut piece: Bytes = head.bytes.clone();
    let mut more = head.truncated;
    loop {
        let need = feed(&piece);
        hasher.update(&piece);
        offset += piece.len() as u64;
        if !more {
            let hash = hasher.finalize();
            return Ok(Some(crate::hex::short(&hash, 8)));
        }
        if need == Need::Nothing && head.stat.len > MAX_SCANNED {
            return Ok(None);
        }
        if cx.cancel.is_cancelled() {
            return Err(Fault::Interrupted);
        }
        let next = read(
            cx,
            path,
            Span {
                offset,
                max_bytes: PIECE,
            },
        )
        .await?;
        (piece, more) = (next.bytes, next.truncated);
    }
}
