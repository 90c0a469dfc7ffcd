//! Reads one file of text, and says what is wrong with it.

use crate::diagnose::{Report, decode, file_report};
use crate::text::phrase;
use ostler_files::{Border, Error};
use ostler_sandbox::read_unchanged;
use ostler_wire::{Why, Word};
use std::path::Path;

/// Nobody writes a longer configuration by hand.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Reads a file that may not be there. Anything but a readable text file is an error.
pub fn read_text(path: &Path, name: &str) -> Result<Option<String>, Box<Report>> {
    let report = |title: Why, help: Why| Box::new(file_report(name, title, help));
    let irregular = |what: Word| {
        let title = phrase(Word::CfgShouldFile, &[&Why::from(what)]);
        report(title, Why::from(Word::CfgMoveAway))
    };
    // Pipes and devices, which may never end, are not opened.
    let read = match read_unchanged(path, MAX_FILE_BYTES, &Border::none()) {
        Err(Error::NotFound { .. } | Error::NotDirectory { .. }) => return Ok(None),
        Err(Error::Path { source, .. }) if absent(&source) => return Ok(None),
        read => read,
    };
    let read = read.map_err(|error| match error {
        Error::Path { source, .. } => {
            let title = phrase(Word::CfgUnread, &[&source]);
            report(title, Why::from(Word::CfgCheckFile))
        }
        Error::IsDirectory { .. } => irregular(Word::CfgDirectory),
        Error::NotRegular { .. } => irregular(Word::CfgIrregular),
        Error::Read { source, .. } | Error::Forbidden { source, .. } => {
            let title = phrase(Word::CfgUnread, &[&source]);
            report(title, Why::from(Word::CfgCheckRights))
        }
        error => {
            let title = phrase(Word::CfgUnread, &[&Why::from(&error)]);
            report(title, Why::from(Word::CfgCheckRights))
        }
    })?;
    if read.truncated {
        let size = read.stat.len.max(MAX_FILE_BYTES + 1);
        let title = phrase(Word::CfgTooLarge, &[&size, &MAX_FILE_BYTES]);
        return Err(report(title, Why::from(Word::CfgMoveText)));
    }
    decode(name, read.bytes.into()).map(Some)
}

fn absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}
