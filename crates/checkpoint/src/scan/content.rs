//! Reading one file: twice where it is fresh, and again where it changed meanwhile.

use super::{Content, Halt, Look, Step, now};
use crate::Why;
use crate::pack::{Writer, hash};
use crate::sparse;
use crate::tree::Hash;
use ostler_files::Dir;
use ostler_files::raw;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};

/// Looks at a file that keeps changing before it is left out.
const MAX_TRIES: usize = 3;
/// A file this fresh is read twice: its mark may not tell that somebody is still writing.
const FRESH: i64 = 50_000_000;
/// Smaller files are read at once, larger ones piece by piece.
const AT_ONCE: u64 = 1 << 20;
const PIECE: usize = 1 << 18;

impl Look<'_> {
    /// Reads until nothing changed meanwhile.
    pub(super) fn settled(&mut self, place: (&Dir, &[u8])) -> Step<Content> {
        self.found.stats.read += 1;
        for _ in 0..MAX_TRIES {
            match self.read(place)? {
                Content::Moved => {}
                Content::Whole(mark, hash) if now() - mark.mtime.max(mark.ctime) < FRESH => {
                    let again = self.read(place)?;
                    if matches!(again, Content::Whole(m, h) if (m, h) == (mark, hash)) {
                        return Ok(again);
                    }
                }
                other => return Ok(other),
            }
        }
        Ok(Content::Moved)
    }

    fn read(&mut self, (held, name): (&Dir, &[u8])) -> Step<Content> {
        let opened = held
            .open_file(name)
            .and_then(|file| Ok((file.metadata()?, file)));
        let (meta, mut file) = match opened {
            Ok(opened) => opened,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Content::Gone),
            Err(e) => return Ok(Content::Failed(e)),
        };
        if !meta.is_file() {
            return Ok(Content::Special);
        }
        let mark = raw::mark(&meta);
        let read = if sparse::has_holes(&meta) {
            self.read_what_it_holds(&file, mark.size)?
        } else if mark.size <= AT_ONCE {
            self.read_at_once(&mut file, mark.size)?
        } else {
            self.read_in_pieces(&mut file, mark.size)?
        };
        Ok(match read {
            Err(e) => Content::Failed(e),
            Ok(Some(hash)) if file.metadata().is_ok_and(|m| raw::mark(&m) == mark) => {
                Content::Whole(mark, hash)
            }
            Ok(_) => Content::Moved,
        })
    }

    /// The hash, if there was as much as was said.
    fn read_at_once(&mut self, file: &mut File, size: u64) -> Step<io::Result<Option<Hash>>> {
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        if let Err(e) = file.take(AT_ONCE + 1).read_to_end(&mut bytes) {
            return Ok(Err(e));
        }
        if bytes.len() as u64 != size {
            return Ok(Ok(None));
        }
        let hash = hash(&bytes);
        self.sink.put(hash, &bytes)?;
        Ok(Ok(Some(hash)))
    }

    fn read_in_pieces(&mut self, file: &mut File, size: u64) -> Step<io::Result<Option<Hash>>> {
        let mut content = self.begin();
        let mut buffer = vec![0; PIECE];
        let failed = loop {
            match file.read(&mut buffer) {
                Ok(0) => break None,
                Err(e) => break Some(e),
                Ok(count) => {
                    let piece = buffer.get(..count).unwrap_or_default();
                    self.add(&mut content, piece)?;
                    if content.len > size {
                        break None;
                    }
                }
            }
        };
        let is_whole = failed.is_none() && content.len == size;
        let hash = self.end(content, is_whole)?;
        Ok(failed.map_or(Ok(hash), Err))
    }

    /// A file with holes.
    fn read_what_it_holds(&mut self, file: &File, size: u64) -> Step<io::Result<Option<Hash>>> {
        let mut content = self.begin();
        self.add(&mut content, &sparse::head(size))?;
        let mut halted = None;
        let read = sparse::pieces(file, size, &mut |piece| {
            self.add(&mut content, piece).map_err(|halt| {
                halted = Some(halt);
                io::Error::from(io::ErrorKind::Interrupted)
            })
        });
        if let Some(halt) = halted {
            return Err(halt);
        }
        let tail = sparse::tail(size, content.len);
        self.add(&mut content, tail)?;
        let hash = self.end(content, read.is_ok())?;
        Ok(match read {
            // It was cut short while it was read.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(e) => Err(e),
            Ok(()) => Ok(hash),
        })
    }

    fn begin(&self) -> Piecewise {
        Piecewise {
            digest: Sha256::new(),
            start: self.sink.writer.as_ref().map_or(0, Writer::bytes),
            len: 0,
        }
    }

    /// Forgets what came before where it cannot go on.
    fn add(&mut self, content: &mut Piecewise, piece: &[u8]) -> Step<()> {
        let mut halted = self.tick_clock().err();
        content.digest.update(piece);
        content.len += piece.len() as u64;
        let Some(writer) = &mut self.sink.writer else {
            return halted.map_or(Ok(()), Err);
        };
        if halted.is_none() && writer.bytes() + piece.len() as u64 > self.sink.room {
            halted = Some(Halt::Stop(Why::Quota));
        }
        match halted {
            None => Ok(writer.append(piece)?),
            Some(halt) => {
                writer.back_to(content.start)?;
                Err(halt)
            }
        }
    }

    fn end(&mut self, content: Piecewise, is_whole: bool) -> Step<Option<Hash>> {
        let hash: Hash = content.digest.finalize().into();
        let is_new = is_whole && !self.sink.has(&hash);
        if let Some(writer) = &mut self.sink.writer {
            match is_new {
                true => writer.close(hash, content.start),
                false => writer.back_to(content.start)?,
            }
        }
        Ok(is_whole.then_some(hash))
    }
}

/// Content on its way into the store.
struct Piecewise {
    digest: Sha256,
    /// Where it begins in the pack.
    start: u64,
    len: u64,
}
