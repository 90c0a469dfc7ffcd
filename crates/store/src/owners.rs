//! Which logs this person's Ostler wrote. Logs that lie in a project may have come with the repository; of those that we
//! make there the home has a record. What lies in the home itself is ours.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Below the home.
const FOLDER: &str = "own_sessions";

/// Tells the person's own logs from others.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// A file for each log that was written outside of the home; none where all logs lie in it.
    records: Option<PathBuf>,
}

impl Owners {
    pub fn new(sessions: &Path, home: &Path) -> Self {
        let is_ours = ostler_files::real_path(sessions).starts_with(ostler_files::real_path(home));
        Self {
            records: (!is_ours).then(|| home.join(FOLDER)),
        }
    }

    /// Remembers a log that was just made.
    pub fn record(&self, log: &Path, made: &Metadata) -> io::Result<()> {
        let Some(path) = self.path_of(log) else {
            return Ok(());
        };
        if let Some(folder) = path.parent() {
            ostler_files::private_dir(folder)?;
        }
        fs::write(path, identity(made))
    }

    /// Whether we made this log. One that was put in its place is another file.
    pub fn has(&self, log: &Path) -> bool {
        if self.records.is_none() {
            return true;
        }
        let recorded = self
            .path_of(log)
            .and_then(|path| fs::read_to_string(path).ok());
        let found = fs::symlink_metadata(log).ok();
        recorded.is_some_and(|recorded| found.is_some_and(|found| identity(&found) == recorded))
    }

    /// The record of a log, by its id.
    fn path_of(&self, log: &Path) -> Option<PathBuf> {
        Some(self.records.as_ref()?.join(log.file_stem()?))
    }
}

/// The same for the same file, whatever is written to it.
fn identity(meta: &Metadata) -> String {
    let inode = ostler_files::raw::mark(meta).inode;
    let since = meta.created().ok();
    let since = since.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let since = since.map_or(0, |since| since.as_nanos());
    format!("{inode} {since}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_in_a_project_is_ours_only_if_we_made_it() {
        let dir = tempfile::tempdir().unwrap();
        let (home, sessions) = (dir.path().join("home"), dir.path().join("work/sessions"));
        fs::create_dir_all(&sessions).unwrap();
        let owners = Owners::new(&sessions, &home);
        let log = sessions.join("aaaa.jsonl");
        fs::write(&log, "theirs").unwrap();
        assert!(!owners.has(&log));
        owners.record(&log, &fs::metadata(&log).unwrap()).unwrap();
        assert!(owners.has(&log));
        fs::write(&log, "ours, and more").unwrap();
        assert!(owners.has(&log), "it grows");
        let other = sessions.join("other");
        fs::write(&other, "theirs").unwrap();
        fs::rename(&other, &log).unwrap();
        assert!(!owners.has(&log), "another file took its place");
        let own = home.join("sessions");
        assert!(Owners::new(&own, &home).has(&own.join("bbbb.jsonl")));
    }
}
