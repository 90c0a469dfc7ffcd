//! The originals of what was folded: one message a line, as the log has them, for whoever wants to look something up.

use ostler_wire::{Body, Entry};
use std::borrow::Borrow;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Characters of the session's id in the name.
const SHORT_ID: usize = 8;

/// The file for a fold of this session now.
pub fn path(home: &Path, session: &str) -> PathBuf {
    let now: String = crate::log::now()
        .chars()
        .filter(|c| !matches!(c, ':' | '.'))
        .collect();
    let id: String = session.chars().take(SHORT_ID).collect();
    home.join("archive").join(format!("{now}-{id}.jsonl"))
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
    match body {
        Body::Message(_) | Body::ToolUse(_) | Body::ToolResult(_) | Body::Interrupted(_) => true,
        Body::Meta(_)
        | Body::Usage(_)
        | Body::Settings(_)
        | Body::Mode(_)
        | Body::Approval(_)
        | Body::Todo(_)
        | Body::Notice(_)
        | Body::Error(_)
        | Body::TurnEnd(_)
        | Body::Compaction(_) => false,
    }
}
