//! Where commands cannot be confined, nothing is compared afterwards either: the same names, which find nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Nothing is remembered here.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Watch;

#[cfg(not(unix))]
#[derive(Debug)]
pub struct Change {
    pub path: PathBuf,
    pub undone: io::Result<()>,
    pub refused: Vec<String>,
}

/// Where a copy is put.
#[cfg(not(unix))]
pub struct CopyPlace {
    pub folder: PathBuf,
    pub seen: PathBuf,
    pub link: PathBuf,
}

/// No command has a copy of settings here.
#[cfg(not(unix))]
#[derive(Debug)]
pub enum SettingsCopy {}

/// What became of the changes.
#[cfg(not(unix))]
#[derive(Debug, Default)]
pub struct TakenOver {
    pub refused: Vec<String>,
    pub text: Vec<u8>,
}

#[cfg(not(unix))]
impl SettingsCopy {
    pub fn make(_file: &Path, _place: CopyPlace) -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub fn file(&self) -> &Path {
        match *self {}
    }

    pub fn linked(&self) -> super::LinkedFile {
        match *self {}
    }

    pub fn take_over(&self) -> io::Result<TakenOver> {
        match *self {}
    }
}

#[cfg(not(unix))]
impl Watch {
    pub fn new(_roots: &[PathBuf]) -> Self {
        Self
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    pub fn add(&mut self, _roots: &[PathBuf]) {}

    pub fn renew(&mut self, _more: &[PathBuf]) {}

    pub fn changed(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    pub fn undo(&mut self) -> Vec<Change> {
        Vec::new()
    }
}

/// No repository is looked at here.
#[derive(Debug)]
pub struct Repositories;

#[derive(Debug)]
pub struct Tampered {
    pub path: PathBuf,
    pub refused: Vec<String>,
}

impl Repositories {
    pub fn new(_root: &Path) -> Self {
        Self
    }

    pub fn in_git_folder(_folder: &Path) -> Self {
        Self
    }

    pub fn check(&mut self, _since: SystemTime) -> Vec<Tampered> {
        Vec::new()
    }

    pub fn mend(&self, _tampered: &Tampered) -> io::Result<()> {
        Ok(())
    }
}
