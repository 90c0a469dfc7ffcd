//! The same where the system has no descriptors of folders: by path, each part looked at right before.

use crate::Kind;
use crate::raw::{self, Mark};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

#[derive(Debug)]
pub struct Dir {
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub kind: Kind,
    pub mark: Mark,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub bytes: Vec<u8>,
    pub kind: Option<Kind>,
}

impl Dir {
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut at = PathBuf::new();
        for part in path.components() {
            at.push(part);
            if matches!(part, Component::Normal(_)) && !fs::symlink_metadata(&at)?.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        Ok(Self { path: at })
    }

    pub fn enter(&self, below: &[u8]) -> io::Result<Self> {
        let mut path = self.path.clone();
        for name in below.split(|b| *b == b'/').filter(|name| !name.is_empty()) {
            path = Self { path }.at(name)?;
            if !fs::symlink_metadata(&path)?.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        Ok(Self { path })
    }

    pub fn enter_or_make(&self, below: &[u8]) -> io::Result<Self> {
        let mut dir = self.enter(b"")?;
        for name in below.split(|b| *b == b'/').filter(|name| !name.is_empty()) {
            if dir.look(name).is_err() {
                dir.make_dir(name)?;
            }
            dir = dir.enter(name)?;
        }
        Ok(dir)
    }

    pub fn names(&self) -> io::Result<Vec<Name>> {
        let entry = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            Ok(Name {
                bytes: entry.file_name().as_encoded_bytes().to_vec(),
                kind: entry.file_type().ok().map(super::kind),
            })
        };
        fs::read_dir(&self.path)?.map(entry).collect()
    }

    pub fn look(&self, name: &[u8]) -> io::Result<Found> {
        Ok(describe(&fs::symlink_metadata(self.at(name)?)?))
    }

    pub fn look_at_itself(&self) -> io::Result<Found> {
        Ok(describe(&fs::symlink_metadata(&self.path)?))
    }

    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        let target = fs::read_link(self.at(name)?)?;
        Ok(target.into_os_string().into_encoded_bytes())
    }

    pub fn open_file(&self, name: &[u8]) -> io::Result<File> {
        super::open_to_read(&self.at(name)?)
    }

    /// The bytes of a regular file that is not longer than this.
    pub fn read_file(&self, name: &[u8], most: u64) -> Option<Vec<u8>> {
        let file = self.open_file(name).ok()?;
        file.metadata().ok().filter(Metadata::is_file)?;
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= most).then_some(bytes)
    }

    pub fn create_file(&self, name: &[u8]) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).open(self.at(name)?)
    }

    pub fn make_dir(&self, name: &[u8]) -> io::Result<()> {
        fs::create_dir(self.at(name)?)
    }

    pub fn make_link(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        raw::symlink(Path::new(&raw::name(target)), &self.at(name)?)
    }

    pub fn rename(&self, name: &[u8], to: &[u8]) -> io::Result<()> {
        fs::rename(self.at(name)?, self.at(to)?)
    }

    pub fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        fs::remove_file(self.at(name)?)
    }

    pub fn remove_dir(&self, name: &[u8]) -> io::Result<()> {
        fs::remove_dir(self.at(name)?)
    }

    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        raw::set_mode(&self.path, mode)
    }

    fn at(&self, name: &[u8]) -> io::Result<PathBuf> {
        match name.is_empty() || name.contains(&b'/') || name == b".." || name == b"." {
            true => Err(io::ErrorKind::InvalidInput.into()),
            false => Ok(self.path.join(raw::name(name))),
        }
    }
}

pub fn set_file_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

pub fn open_plain(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        Dir::open(folder)?;
    }
    super::open_to_read(path)
}

fn describe(meta: &Metadata) -> Found {
    Found {
        kind: super::kind(meta.file_type()),
        mark: raw::mark(meta),
    }
}
