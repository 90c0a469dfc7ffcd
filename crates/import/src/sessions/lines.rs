//! The lines of a log as JSON, read one by one. A line that is none is counted and passed over.

use ostler_wire::{Why, Word};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Take};
use std::path::Path;

/// Bytes of one line.
const MAX_LINE: u64 = 64 << 20;

pub enum Lines {
    File {
        reader: BufReader<Take<File>>,
        unread: usize,
        /// The file goes on behind what is read: its last line may be half of one.
        is_part: bool,
    },
    Values {
        values: std::vec::IntoIter<Value>,
        unread: usize,
    },
}

impl Lines {
    /// At most this many bytes of a regular file.
    pub fn open(path: &Path, most: u64) -> Result<Self, Why> {
        let file = open(path)?;
        let len = file.metadata().map_err(|e| Why::from(&e))?.len();
        Ok(Self::File {
            reader: BufReader::with_capacity(1 << 16, file.take(most)),
            unread: 0,
            is_part: len > most,
        })
    }

    pub fn of(values: Vec<Value>, unread: usize) -> Self {
        Self::Values {
            values: values.into_iter(),
            unread,
        }
    }

    /// Lines that could not be read.
    pub fn unread(&self) -> usize {
        match self {
            Self::File { unread, .. } | Self::Values { unread, .. } => *unread,
        }
    }
}

/// Opens a regular file; a pipe or device is none.
pub fn open(path: &Path) -> Result<File, Why> {
    let file = ostler_files::open_without_waiting(path).map_err(|e| Why::from(&e))?;
    match file.metadata().map_err(|e| Why::from(&e))?.is_file() {
        true => Ok(file),
        false => Err(Word::CfgIrregular.into()),
    }
}

impl Iterator for Lines {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let (reader, unread, is_part) = match self {
            Self::Values { values, .. } => return values.next(),
            Self::File {
                reader,
                unread,
                is_part,
            } => (reader, unread, *is_part),
        };
        loop {
            let mut line = Vec::new();
            let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
            if !read.is_ok_and(|count| count > 0) {
                return None;
            }
            let is_whole = line.ends_with(b"\n");
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(value) => return Some(value),
                // A document over several lines is one value.
                Err(_) if line.trim_ascii() == b"{" || line.trim_ascii() == b"[" => {
                    let mut rest = Vec::new();
                    // What cannot be read is no document either.
                    let _ = reader.by_ref().take(MAX_LINE).read_to_end(&mut rest);
                    line.extend(rest);
                    match serde_json::from_slice(&line) {
                        Ok(value) => return Some(value),
                        Err(_) => *unread += 1,
                    }
                }
                Err(_) if is_part && !is_whole => {}
                Err(_) => *unread += 1,
            }
        }
    }
}
