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

    pub fn changed(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    pub fn undo(&self) -> Vec<Change> {
        Vec::new()
    }
}

/// No repository is looked at here.
#[derive(Debug)]
pub struct Repositories;

#[derive(Debug)]
pub struct Tampered {
    pub path: PathBuf,
}

impl Repositories {
    pub fn new(_root: &Path) -> Self {
        Self
    }

    pub fn check(&mut self, _since: SystemTime) -> Vec<Tampered> {
        Vec::new()
    }

    pub fn mend(&self, _tampered: &Tampered) -> io::Result<()> {
        Ok(())
    }
}
