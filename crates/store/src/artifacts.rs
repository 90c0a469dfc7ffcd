//! Whole outputs that were too long for the context, as files the model can read or grep by path.

use crate::redact::{Redactor, Stream};
use std::io;
use std::path::{Path, PathBuf};

/// The folder beside a session's log. Nothing is created before something is kept.
#[derive(Clone)]
pub struct Artifacts {
    dir: PathBuf,
    redactor: Redactor,
}

impl Artifacts {
    pub fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            redactor: Redactor::default(),
        }
    }

    /// Keeps these secrets out of what is kept.
    pub fn redacting(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// What keeps the secrets of the session out of a text.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// What is written into a file of the folder goes through one of these.
    pub fn stream(&self) -> Stream {
        self.redactor.stream()
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A path for `name` in the folder, which exists afterwards. Anything but plain characters is replaced.
    pub fn path(&self, name: &str) -> io::Result<PathBuf> {
        ostler_files::private_dir(&self.dir)?;
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
        let mut stream = self.stream();
        let mut clean = stream.push(content).into_owned();
        clean.extend(stream.finish());
        let mut options = ostler_files::private_options();
        let options = options.write(true).create(true).truncate(true);
        io::Write::write_all(&mut options.open(&path)?, &clean)?;
        Ok(path)
    }
}
