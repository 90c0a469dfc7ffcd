//! Changing files where there are no directory handles: by path, with the check made just before.

use super::resolve::{follow, follow_parent};
use super::{cannot_write, confine, stat};
use crate::error::{Error, Result};
use crate::{Kind, RenameOptions, Renamed, WriteOptions, Written};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn mode(_meta: &Metadata) -> Option<u32> {
    None
}

pub fn open_to_read(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Whether a file may be written, and which: nothing is changed.
pub fn may_write(path: &Path, options: &WriteOptions) -> Result<Written> {
    let target = follow(path)?;
    confine(&target, &options.roots)?;
    let old = stat(&target)?;
    let created = match old.kind {
        Kind::File => false,
        Kind::Missing => true,
        Kind::Directory => return Err(Error::IsDirectory { path: target }),
        Kind::Symlink => return Err(Error::Changed { path: target }),
        Kind::Other => return Err(Error::NotRegular { path: target }),
    };
    Ok(Written {
        path: target,
        created,
    })
}

pub fn write(path: &Path, bytes: &[u8], options: &WriteOptions) -> Result<Written> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let target = may_write(path, options)?.path;
    let folder = make_parent(&target, options.create_parents)?;
    let old = stat(&target)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temp = folder.join(format!(".ostler-{}-{number}.tmp", std::process::id()));
    let written = fs::write(&temp, bytes)
        .and_then(|()| match old.kind {
            Kind::File => fs::set_permissions(&temp, fs::metadata(&target)?.permissions()),
            Kind::Missing | Kind::Directory | Kind::Symlink | Kind::Other => Ok(()),
        })
        .and_then(|()| fs::rename(&temp, &target));
    if let Err(error) = written {
        // The first failure is the one to tell.
        let _gone = fs::remove_file(&temp);
        return Err(cannot_write(&target, error));
    }
    Ok(Written {
        path: target,
        created: old.kind == Kind::Missing,
    })
}

pub fn rename(from: &Path, to: &Path, options: &RenameOptions) -> Result<Renamed> {
    let (from, to) = (follow_parent(from)?, follow_parent(to)?);
    confine(&from, &options.roots)?;
    confine(&to, &options.roots)?;
    if fs::symlink_metadata(&from).is_err() {
        return Err(Error::NotFound { path: from });
    }
    make_parent(&to, options.create_parents)?;
    let overwrote = fs::symlink_metadata(&to).is_ok();
    if overwrote && !options.overwrite {
        return Err(Error::Exists { path: to });
    }
    fs::rename(&from, &to).map_err(|error| cannot_write(&to, error))?;
    Ok(Renamed {
        from,
        to,
        overwrote,
    })
}

fn make_parent(target: &Path, create: bool) -> Result<PathBuf> {
    let Some(parent) = target.parent() else {
        return Err(Error::IsDirectory {
            path: target.to_path_buf(),
        });
    };
    if create {
        fs::create_dir_all(parent).map_err(|source| Error::MakeDirectory {
            path: parent.to_path_buf(),
            source,
        })?;
    } else if !parent.is_dir() {
        return Err(Error::NotFound {
            path: parent.to_path_buf(),
        });
    }
    Ok(parent.to_path_buf())
}
