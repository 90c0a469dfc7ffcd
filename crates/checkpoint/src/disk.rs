//! Every change to the store goes through here, one step at a time, so that tests can end the process or fill the disk
//! at any of them. It knows no format.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default)]
pub struct Disk {
    #[cfg(test)]
    pub fault: Option<std::sync::Arc<Fault>>,
}

/// What happens once so many steps were made.
#[cfg(test)]
#[derive(Debug)]
pub struct Fault {
    pub left: std::sync::atomic::AtomicI64,
    pub kind: FaultKind,
}

#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Nothing is done any more, not even tidying up.
    Killed,
    /// Writing fails, removing works.
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Write,
    Remove,
}

impl Disk {
    pub fn create(&self, path: &Path) -> io::Result<File> {
        self.step(Step::Write)?;
        let mut options = ostler_files::private_options();
        options.write(true).create(true).truncate(true).open(path)
    }

    pub fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.step(Step::Write) {
            // What a kill or a full disk leaves is half of it.
            let _half = file.write_all(bytes.get(..bytes.len() / 2).unwrap_or_default());
            return Err(error);
        }
        file.write_all(bytes)
    }

    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(Step::Write)?;
        fs::rename(from, to)
    }

    pub fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(Step::Remove)?;
        fs::remove_file(path)
    }

    /// Makes files and folders survive a power loss, where the system can.
    pub fn settle(paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            let _best_effort = File::open(path).and_then(|file| file.sync_all());
        }
    }

    /// A whole file, there at once or not at all.
    pub fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temp = path.with_extension(super::TEMP);
        let written = self
            .create(&temp)
            .and_then(|mut file| self.write(&mut file, bytes))
            .and_then(|()| self.rename(&temp, path));
        if written.is_err() {
            // The first failure is the one to tell.
            let _gone = self.remove(&temp);
        }
        written
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests count the steps")]
    fn step(&self, _step: Step) -> io::Result<()> {
        Ok(())
    }

    #[cfg(test)]
    fn step(&self, step: Step) -> io::Result<()> {
        use std::sync::atomic::Ordering;
        let Some(fault) = &self.fault else {
            return Ok(());
        };
        let over = fault.left.fetch_sub(1, Ordering::Relaxed) <= 0;
        match (over, fault.kind, step) {
            (false, _, _) | (true, FaultKind::Full, Step::Remove) => Ok(()),
            (true, FaultKind::Full, Step::Write) => Err(io::ErrorKind::StorageFull.into()),
            (true, FaultKind::Killed, _) => Err(io::Error::other("killed")),
        }
    }
}
