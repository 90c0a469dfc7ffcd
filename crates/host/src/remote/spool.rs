//! Output of a command that cannot be sent now, in its order: a little in memory, more in a file that has no name any more.

use super::codec::{decode, encode};
use super::message::Up;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of all commands of a helper that wait; commands wait when there are more.
pub const MAX_SPOOLED: u64 = 256 << 20;
/// Bytes of one command that wait in memory.
const IN_MEMORY: u64 = 256 << 10;
/// Tries for a name that is free.
const MAX_NAMES: u64 = 1000;

/// What all commands of a helper share.
#[derive(Clone, Default)]
pub struct SpoolPlace {
    /// None where nothing can be kept but in memory.
    pub folder: Option<PathBuf>,
    /// Bytes that wait.
    waiting: Arc<AtomicU64>,
}

impl SpoolPlace {
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            waiting: Arc::default(),
        }
    }
}

/// What waits of one command.
pub struct Spool {
    place: SpoolPlace,
    items: VecDeque<Item>,
    in_memory: u64,
    file: Option<SpoolFile>,
    /// Nothing more can be written.
    is_failed: bool,
}

enum Item {
    Here(Up, u64),
    /// So many bytes of the file.
    InFile(u64),
}

struct SpoolFile {
    file: File,
    written: u64,
    read: u64,
}

impl Spool {
    pub fn new(place: SpoolPlace) -> Self {
        Self {
            place,
            items: VecDeque::new(),
            in_memory: 0,
            file: None,
            is_failed: false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.is_failed || self.place.waiting.load(Ordering::Relaxed) >= MAX_SPOOLED
    }

    /// Takes it whatever there is; `is_full` says when to stop.
    pub fn push(&mut self, up: Up) {
        let bytes = encode(&up);
        let length = bytes.len() as u64;
        self.place.waiting.fetch_add(length, Ordering::Relaxed);
        let is_short = self.in_memory + length <= IN_MEMORY;
        if !is_short {
            match self.write(&bytes) {
                Ok(()) => return self.items.push_back(Item::InFile(length)),
                Err(_) => self.is_failed = true,
            }
        }
        self.in_memory += length;
        self.items.push_back(Item::Here(up, length));
    }

    /// What came first. An error when the file cannot be read.
    pub fn pop(&mut self) -> io::Result<Option<Up>> {
        let Some(item) = self.items.pop_front() else {
            return Ok(None);
        };
        let (up, length) = match item {
            Item::Here(up, length) => {
                self.in_memory -= length;
                (up, length)
            }
            Item::InFile(length) => (self.read(length)?, length),
        };
        self.place.waiting.fetch_sub(length, Ordering::Relaxed);
        if self.items.is_empty() {
            self.file = None;
            self.is_failed = false;
        }
        Ok(Some(up))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let kept = match &mut self.file {
            Some(kept) => kept,
            none => none.insert(SpoolFile {
                file: nameless(self.place.folder.as_deref())?,
                written: 0,
                read: 0,
            }),
        };
        kept.file.seek(SeekFrom::Start(kept.written))?;
        kept.file.write_all(bytes)?;
        kept.written += bytes.len() as u64;
        Ok(())
    }

    fn read(&mut self, length: u64) -> io::Result<Up> {
        let garbled = || io::Error::from(io::ErrorKind::InvalidData);
        let kept = self.file.as_mut().ok_or_else(garbled)?;
        kept.file.seek(SeekFrom::Start(kept.read))?;
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| garbled())?];
        kept.file.read_exact(&mut bytes)?;
        kept.read += length;
        decode(bytes.into()).map_err(|_| garbled())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let left = self.items.iter().map(|item| match item {
            Item::Here(_, length) | Item::InFile(length) => *length,
        });
        let left: u64 = left.sum();
        self.place.waiting.fetch_sub(left, Ordering::Relaxed);
    }
}

/// A file for this account alone that is gone when it is closed.
fn nameless(folder: Option<&Path>) -> io::Result<File> {
    let folder = folder.ok_or(io::ErrorKind::NotFound)?;
    for number in 0..MAX_NAMES {
        let path = folder.join(format!("{}-{number}.spool", std::process::id()));
        let mut options = ostler_files::private_options();
        match options.read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn output(number: usize) -> Up {
        Up::Stdout(Bytes::from(vec![number as u8; 10_000 + number]))
    }

    fn shown(up: Option<Up>) -> Option<(u8, usize)> {
        match up? {
            Up::Stdout(bytes) => Some((bytes[0], bytes.len())),
            _ => None,
        }
    }

    #[test]
    fn what_waits_comes_in_its_order_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = SpoolPlace::new(Some(folder.path().into()));
        let mut spool = Spool::new(place.clone());
        // Twice: a spool that was emptied begins anew.
        for _ in 0..2 {
            let mut next = 0;
            for number in 0..120 {
                spool.push(output(number));
                if number % 3 == 0 {
                    assert_eq!(
                        shown(spool.pop().unwrap()),
                        Some((next as u8, 10_000 + next))
                    );
                    next += 1;
                }
            }
            assert!(spool.file.is_some());
            for number in next..120 {
                assert_eq!(
                    shown(spool.pop().unwrap()),
                    Some((number as u8, 10_000 + number))
                );
            }
            assert!(spool.is_empty() && spool.pop().unwrap().is_none());
            assert_eq!(place.waiting.load(Ordering::Relaxed), 0);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn where_nothing_can_be_written_the_command_waits() {
        let mut spool = Spool::new(SpoolPlace::new(None));
        let mut count = 0;
        while !spool.is_full() {
            spool.push(output(0));
            count += 1;
        }
        assert!((20..40).contains(&count), "{count}");
        for _ in 0..count {
            assert!(spool.pop().unwrap().is_some());
        }
        assert!(!spool.is_full() && spool.is_empty());
    }

    #[test]
    fn what_is_dropped_makes_room() {
        let place = SpoolPlace::new(None);
        let mut spool = Spool::new(place.clone());
        spool.push(output(1));
        assert!(place.waiting.load(Ordering::Relaxed) > 0);
        drop(spool);
        assert_eq!(place.waiting.load(Ordering::Relaxed), 0);
    }
}
