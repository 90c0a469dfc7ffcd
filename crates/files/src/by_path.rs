//! The same where the system does not say where a descriptor is: by path, looked at before and after the opening.

use super::border::{Border, Judgement};
use super::{cannot_read, check_path, describe, regular, resolve};
use crate::Kind;
use crate::error::{Error, Result};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is open, and where it really lies.
pub struct Opened {
    pub file: File,
    pub path: PathBuf,
}

pub fn open_file(path: &Path, border: &Border) -> Result<Opened> {
    check_path(path)?;
    let real = resolve::follow(path)?;
    admit(border, &real)?;
    let meta = std::fs::symlink_metadata(&real).map_err(|error| cannot_read(&real, error))?;
    regular(&describe(real.clone(), &meta))?;
    let file = File::open(&real).map_err(|error| cannot_read(&real, error))?;
    match resolve::follow(path)? == real {
        true => Ok(Opened { file, path: real }),
        false => Err(Error::Changed { path: real }),
    }
}

pub fn look(path: &Path, border: &Border) -> Result<Kind> {
    let stat = super::stat(path)?;
    admit(border, &stat.path)?;
    match stat.kind {
        Kind::Missing => Err(Error::NotFound { path: stat.path }),
        kind @ (Kind::File | Kind::Directory | Kind::Symlink | Kind::Other) => Ok(kind),
    }
}

/// Opens many files of a tree.
pub struct TreeReader {
    border: Arc<Border>,
}

impl TreeReader {
    pub fn new(border: Arc<Border>) -> Self {
        Self { border }
    }

    pub fn open(&mut self, path: &Path) -> Result<File> {
        open_file(path, &self.border).map(|opened| opened.file)
    }

    pub fn locate(&mut self, path: &Path) -> Result<PathBuf> {
        let real = resolve::follow_parent(path)?;
        let folder = real.parent().unwrap_or(&real);
        admit(&self.border, folder)?;
        match std::fs::symlink_metadata(&real) {
            Ok(_) => Ok(real),
            Err(error) => Err(cannot_read(&real, error)),
        }
    }
}

/// Lets pass what the border opens.
pub fn admit(border: &Border, real: &Path) -> Result<()> {
    let path = || real.to_path_buf();
    match border.judge(real) {
        Judgement::Inside | Judgement::Public => Ok(()),
        Judgement::Outside => Err(Error::Beyond { path: path() }),
        Judgement::Forbidden(rule) => Err(Error::Withheld { path: path(), rule }),
    }
}
