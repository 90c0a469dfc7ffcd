//! Reading one file: twice where it is fresh, and again where it changed meanwhile.

use super::{Content, Halt, Look, Step, now};
use crate::Why;
use crate::pack::{Writer, hash};
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
        let read = if mark.size <= AT_ONCE {
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
        let start = self.sink.writer.as_ref().map_or(0, Writer::bytes);
        let mut digest = Sha256::new();
        let mut buffer = vec![0; PIECE];
        let mut total = 0;
        let failed = loop {
            if let Err(halt) = self.tick_clock() {
                if let Some(writer) = &mut self.sink.writer {
                    writer.back_to(start)?;
                }
                return Err(halt);
            }
            match file.read(&mut buffer) {
                Ok(0) => break None,
                Err(e) => break Some(e),
                Ok(count) => {
                    let piece = buffer.get(..count).unwrap_or_default();
                    digest.update(piece);
                    total += count as u64;
                    if total > size {
                        break None;
                    }
                    if let Some(writer) = &mut self.sink.writer {
                        if writer.bytes() + count as u64 > self.sink.room {
                            return Err(Halt::Stop(Why::Quota));
                        }
                        writer.append(piece)?;
                    }
                }
            }
        };
        let hash: Hash = digest.finalize().into();
        let whole = failed.is_none() && total == size;
        let fresh = whole && !self.sink.has(&hash);
        if let Some(writer) = &mut self.sink.writer {
            if fresh {
                writer.close(hash, start);
            } else {
                writer.back_to(start)?;
            }
        }
        match failed {
            Some(e) => Ok(Err(e)),
            None => Ok(Ok(whole.then_some(hash))),
        }
    }
}
