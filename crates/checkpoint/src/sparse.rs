//! Files with holes. What they hold is read and kept, in pieces with their places; the holes cost nothing. Content is kept
//! like this where it is longer or shorter in the store than the file it belongs to.

use super::tree::Hash;
use sha2::{Digest, Sha256};
use std::fs::{File, Metadata};
use std::io;

const MAGIC: &[u8; 8] = b"ostlerS1";
/// A piece, at a multiple of its size. One of zeros alone is a hole, so that the same content is always kept the same.
pub const PIECE: u64 = 1 << 16;
/// Number of a piece.
const NUMBER: usize = 4;

/// Whether so much of a file is holes that they are passed over.
#[cfg(unix)]
pub fn has_holes(meta: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    const BLOCK: u64 = 512;
    meta.size() > PIECE && meta.blocks().saturating_mul(BLOCK) <= meta.size() - PIECE
}

#[cfg(not(unix))]
pub fn has_holes(_meta: &Metadata) -> bool {
    false
}

/// What stands before the pieces.
pub fn head(size: u64) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.extend(size.to_le_bytes());
    head
}

/// What stands behind them: something where the length would be that of the file.
pub fn tail(size: u64, written: u64) -> &'static [u8] {
    if size == written { &[0] } else { &[] }
}

/// The pieces of a file that are no holes, in order, each as it is kept.
#[cfg(unix)]
pub fn pieces(
    file: &File,
    size: u64,
    to: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    use rustix::fs::{SeekFrom, seek};
    use std::os::unix::fs::FileExt;
    let mut at = 0;
    let mut piece = Vec::new();
    while at < size {
        let next = match seek(file, SeekFrom::Data(at)) {
            Ok(next) => next / PIECE * PIECE,
            // Nothing but a hole from here on.
            Err(rustix::io::Errno::NXIO) => return Ok(()),
            // It cannot tell where its holes are.
            Err(rustix::io::Errno::INVAL) => at,
            Err(error) => return Err(error.into()),
        };
        at = at.max(next);
        let Some(len) = size.checked_sub(at).filter(|left| *left > 0) else {
            return Ok(());
        };
        let number = u32::try_from(at / PIECE).map_err(io::Error::other)?;
        piece.clear();
        piece.extend(number.to_le_bytes());
        piece.resize(NUMBER + usize::try_from(len.min(PIECE)).unwrap_or(0), 0);
        let content = piece.get_mut(NUMBER..).unwrap_or_default();
        file.read_exact_at(content, at)?;
        if content.iter().any(|byte| *byte != 0) {
            to(&piece)?;
        }
        at += PIECE;
    }
    Ok(())
}

#[cfg(not(unix))]
pub fn pieces(
    _file: &File,
    _size: u64,
    _to: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The hash under which a file with holes is kept.
pub fn hash_of(file: &File, size: u64) -> io::Result<Hash> {
    let head = head(size);
    let mut digest = Sha256::new();
    let mut written = head.len() as u64;
    digest.update(head);
    pieces(file, size, &mut |piece| {
        digest.update(piece);
        written += piece.len() as u64;
        Ok(())
    })?;
    digest.update(tail(size, written));
    Ok(digest.finalize().into())
}

/// Turns what was kept into the file again, as it comes.
pub struct Unpack<'a> {
    size: u64,
    /// Writes at a place.
    put: &'a mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    /// Bytes of the head or of a number that have come.
    head: Vec<u8>,
    is_begun: bool,
    /// Where the piece that comes goes on, and how much of it is to come.
    at: u64,
    left: u64,
}

impl<'a> Unpack<'a> {
    pub fn new(size: u64, put: &'a mut dyn FnMut(u64, &[u8]) -> io::Result<()>) -> Self {
        Self {
            size,
            put,
            head: Vec::new(),
            is_begun: false,
            at: 0,
            left: 0,
        }
    }

    pub fn add(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let most = match self.left {
                0 if self.is_begun => NUMBER - self.head.len(),
                0 => MAGIC.len() + size_of::<u64>() - self.head.len(),
                left => usize::try_from(left).unwrap_or(usize::MAX),
            };
            let (now, rest) = bytes.split_at(most.min(bytes.len()));
            bytes = rest;
            if self.left > 0 {
                (self.put)(self.at, now)?;
                self.at += now.len() as u64;
                self.left -= now.len() as u64;
                continue;
            }
            self.head.extend_from_slice(now);
            if now.len() == most {
                self.take_head()?;
            }
        }
        Ok(())
    }

    fn take_head(&mut self) -> io::Result<()> {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let taken = std::mem::take(&mut self.head);
        if !self.is_begun {
            self.is_begun = true;
            return match taken == head(self.size) {
                true => Ok(()),
                false => Err(damaged()),
            };
        }
        let number = <[u8; NUMBER]>::try_from(taken).map_err(|_| damaged())?;
        self.at = u64::from(u32::from_le_bytes(number)) * PIECE;
        let left = self.size.checked_sub(self.at).filter(|left| *left > 0);
        self.left = left.ok_or_else(damaged)?.min(PIECE);
        Ok(())
    }
}
