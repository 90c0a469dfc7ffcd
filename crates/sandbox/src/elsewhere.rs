//! Where commands cannot be confined, nothing is compared afterwards either: the same names, which find nothing.

#[cfg(not(unix))]
use std::collections::BTreeSet;
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

    pub fn take_over(&mut self, _other: &Self) {}

    pub fn retain(&mut self, _wanted: &[PathBuf]) {}

    pub fn add(&mut self, _roots: &[PathBuf]) {}

    pub fn renew(&mut self, _more: &[PathBuf]) {}

    pub fn accept(&mut self, _path: &Path) {}

    pub fn is_unchanged(&self) -> bool {
        true
    }

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

    pub fn with_home(self, _home: Option<PathBuf>) -> Self {
        self
    }

    pub fn with_folders_of_commands(self, _folders: &[PathBuf]) -> Self {
        self
    }

    pub fn root(&self) -> &Path {
        Path::new("")
    }

    pub fn read(&self, _path: &Path, _most: u64) -> Option<Vec<u8>> {
        None
    }

    pub fn check(&mut self, _since: SystemTime) -> Vec<Tampered> {
        Vec::new()
    }

    pub fn check_upper(&mut self, _since: SystemTime) -> (Vec<Tampered>, bool) {
        (Vec::new(), false)
    }

    pub fn missed(&self) -> &std::collections::BTreeSet<PathBuf> {
        const NONE: &std::collections::BTreeSet<PathBuf> = &std::collections::BTreeSet::new();
        NONE
    }

    pub fn mend(&self, _tampered: &Tampered) -> io::Result<()> {
        Ok(())
    }
}

/// Nothing is written down here, so files are read as they are.
#[cfg(not(unix))]
pub fn read_unchanged(
    path: &Path,
    most: u64,
    border: &ostler_files::Border,
) -> crate::Result<ostler_files::Content> {
    ostler_files::read_bounded(path, most, border)
}

#[cfg(not(unix))]
pub fn set_records(_folders: Vec<PathBuf>) {}

/// Commands are not known here, and none is kept from beginning.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Pause;

#[cfg(not(unix))]
impl Pause {
    pub fn begin() -> Option<Self> {
        Some(Self)
    }
}

/// Nothing is written down here.
#[cfg(not(unix))]
#[derive(Clone, Debug)]
pub struct Records;

#[cfg(not(unix))]
#[derive(Debug)]
pub enum Record {}

#[cfg(not(unix))]
#[derive(Debug)]
pub struct PutBack {
    pub path: PathBuf,
    pub kept: Option<PathBuf>,
    pub done: bool,
}

#[cfg(not(unix))]
#[derive(Debug)]
pub struct Written {
    pub tree: PathBuf,
    pub since: SystemTime,
    pub watch: Watch,
}

#[cfg(not(unix))]
#[derive(Debug, Default)]
pub struct Others {
    pub live: Vec<Written>,
    pub dead: Vec<(Written, Leftover)>,
}

#[cfg(not(unix))]
#[derive(Debug)]
pub enum Leftover {}

#[cfg(not(unix))]
#[derive(Debug)]
pub struct Turn;

#[cfg(not(unix))]
impl Records {
    pub fn new(_folder: PathBuf) -> Self {
        Self
    }

    pub fn has_leftovers(&self, _tree: &Path) -> bool {
        false
    }

    pub fn put_back(&self, _tree: &Path) -> Vec<PutBack> {
        Vec::new()
    }

    pub fn turn(&self) -> io::Result<Turn> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn others(&self, _tree: &Path, _own: &BTreeSet<PathBuf>, _turn: &Turn) -> Others {
        Others::default()
    }

    pub fn write(
        &self,
        _tree: &Path,
        _since: SystemTime,
        _watch: &Watch,
        _turn: &Turn,
    ) -> io::Result<Record> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(not(unix))]
impl Record {
    pub fn path(&self) -> &Path {
        match *self {}
    }

    pub fn update(&self, _tree: &Path, _since: SystemTime, _watch: &Watch) -> io::Result<()> {
        match *self {}
    }

    pub fn leave(&self) {
        match *self {}
    }
}

#[cfg(not(unix))]
impl Leftover {
    pub fn remove(self) {
        match self {}
    }
}
