//! Whole outputs that were too long for the context, as files the model can read or grep by path.

use std::io;
use std::path::{Path, PathBuf};

/// The folder beside a session's log. Nothing is created before something is kept.
#[derive(Clone, Debug)]
pub struct Artifacts {
    dir: PathBuf,
}

impl Artifacts {
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A path for `name` in the folder, which exists afterwards. Anything but plain characters is replaced.
    pub fn path(&self, name: &str) -> io::Result<PathBuf> {
        ostler_host::private_dir(&self.dir)?;
        let plain: String = name
            .chars()
            .take(120)
            .map(|c| {
                if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        Ok(self.dir.join(plain.trim_start_matches('.')))
    }

    pub fn keep(&self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        let path = self.path(name)?;
        std::fs::write(&path, content)?;
        Ok(path)
    }
}
