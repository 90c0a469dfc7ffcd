//! The originals of what was folded: one message a line, as the log has them, for whoever wants to look something up.

use ostler_wire::{Body, Entry};
use std::borrow::Borrow;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file for a fold of this session now.
pub fn path(home: &Path, session: &str) -> PathBuf {
    let now: String = crate::log::now()
        .chars()
        .filter(|c| !matches!(c, ':' | '.'))
        .collect();
    folder(home).join(format!("{now}{}", ending(session)))
}

/// Removes what was kept of a session that is deleted.
pub fn forget(home: &Path, session: &str) {
    let Ok(files) = std::fs::read_dir(folder(home)) else {
        return;
    };
    let ending = ending(session);
    for file in files.flatten() {
        let name = file.file_name();
        if !session.is_empty() && name.to_string_lossy().ends_with(&ending) {
            // One that stays is of no use to anybody, and of no harm.
            let _ = std::fs::remove_file(file.path());
        }
    }
}

fn folder(home: &Path) -> PathBuf {
    home.join("archive")
}

fn ending(session: &str) -> String {
    format!("-{session}.jsonl")
}

/// Writes what is a message, a call or a result. Only the person may read it.
pub fn write<E: Borrow<Entry>>(path: &Path, entries: &[E]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        ostler_host::private_dir(dir)?;
    }
    let mut text = String::new();
    for entry in entries {
        let entry: &Entry = entry.borrow();
        if is_message(&entry.body) {
            text.push_str(&entry.to_line()?);
            text.push('\n');
        }
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    if let Err(error) = written {
        // Half of it would look like all of it.
        if error.kind() != io::ErrorKind::AlreadyExists {
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    Ok(())
}

fn is_message(body: &Body) -> bool {
    matches!(
        body,
        Body::Message(_) | Body::ToolUse(_) | Body::ToolResult(_) | Body::Interrupted(_)
    )
}
