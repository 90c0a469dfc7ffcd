//! The prompts that a person sent before, in a file for each project: for the terminal UI and for plain lines.

use crate::boot::Boot;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Prompts that are read in.
const MAX_HISTORY: usize = 1_000;
/// Bytes at the end of the file of prompts that are read in.
const MAX_HISTORY_BYTES: u64 = 1 << 20;

/// Those of one project.
pub struct Prompts {
    folder: PathBuf,
    /// Nothing is to be written.
    forgets: bool,
}

/// Where prompts and drafts of a project are kept.
pub fn folder(boot: &Boot) -> PathBuf {
    let project = ostler_engine::store::project_name(&boot.places.root);
    boot.places.home.join("cache").join("prompts").join(project)
}

impl Prompts {
    pub fn new(folder: PathBuf, forgets: bool) -> Self {
        Self { folder, forgets }
    }

    pub fn of(boot: &Boot) -> Self {
        Self::new(folder(boot), boot.global.no_save)
    }

    pub fn file(&self) -> PathBuf {
        self.folder.join("prompts.jsonl")
    }

    /// Oldest first. A damaged line is left out.
    pub fn all(&self) -> Vec<String> {
        let Ok(text) = read_end(&self.file(), MAX_HISTORY_BYTES) else {
            return Vec::new();
        };
        let mut all: Vec<String> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let skip = all.len().saturating_sub(MAX_HISTORY);
        all.split_off(skip)
    }

    /// Keeps a prompt for the next time.
    pub fn add(&self, text: &str) -> io::Result<()> {
        if self.forgets || text.trim().is_empty() {
            return Ok(());
        }
        ostler_host::private_dir(&self.folder)?;
        let mut line = serde_json::to_string(text)?;
        line.push('\n');
        let mut file = ostler_host::private_options()
            .create(true)
            .append(true)
            .open(self.file())?;
        file.write_all(line.as_bytes())
    }
}

/// The end of a text file, from the start of a line.
pub fn read_end(path: &Path, most: u64) -> io::Result<String> {
    use std::io::{Seek as _, SeekFrom};
    let mut file = fs::File::open(path)?;
    let len = file.metadata()?.len();
    let skipped = len.saturating_sub(most);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match (skipped, text.split_once('\n')) {
        (1.., Some((_, rest))) => rest.to_owned(),
        (_, Some(_) | None) => text,
    })
}
