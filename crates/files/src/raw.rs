//! Files as a copy of a whole tree sees them: names as bytes, marks that tell a change, modes and links. It follows no
//! link and decides nothing; what a system lacks reads as zero and is left alone when set.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::path::Path;

/// What changes when a file does. Equal marks mean equal content unless the clock was too coarse to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    pub size: u64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    pub ctime: i64,
    pub inode: u64,
    pub mode: u32,
}

#[cfg(unix)]
pub fn mark(meta: &Metadata) -> Mark {
    use std::os::unix::fs::MetadataExt;
    let nanos = |s: i64, n: i64| s.saturating_mul(1_000_000_000).saturating_add(n);
    Mark {
        size: meta.size(),
        mtime: nanos(meta.mtime(), meta.mtime_nsec()),
        ctime: nanos(meta.ctime(), meta.ctime_nsec()),
        inode: meta.ino(),
        mode: meta.mode() & 0o7777,
    }
}

#[cfg(not(unix))]
pub fn mark(meta: &Metadata) -> Mark {
    let since = meta
        .modified()
        .ok()
        .and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    let mtime = since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX));
    Mark {
        size: meta.len(),
        mtime,
        ctime: mtime,
        ..Mark::default()
    }
}

/// A name from the bytes that `as_encoded_bytes` gave.
#[cfg(unix)]
pub fn name(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).to_owned()
}

#[cfg(not(unix))]
pub fn name(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(unix)]
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub fn symlink(target: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(not(unix))]
pub fn symlink(_target: &Path, _at: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
