//! The account that runs us: its home by the system's database, and what it may read that others may not. It reads no
//! environment.

use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::OnceLock;

/// Entries of a folder that are looked at for files closed to others.
#[cfg(unix)]
const MAX_LOOKED_AT: usize = 10_000;

/// Most bytes of one entry of the database.
#[cfg(unix)]
const MAX_ENTRY: usize = 64 << 10;

/// The home of the account that runs us, by its number; `None` where it has no entry or no absolute home. It is looked up once.
#[cfg(unix)]
pub fn account_home() -> Option<PathBuf> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    HOME.get_or_init(look_up_home).clone()
}

#[cfg(unix)]
#[expect(
    unsafe_code,
    reason = "the account database has no safe form in the libraries we use"
)]
fn look_up_home() -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt;
    let uid = rustix::process::geteuid().as_raw();
    let mut buffer = vec![0_u8; MAX_ENTRY];
    let mut found = std::ptr::null_mut();
    // SAFETY: an all-zero `passwd` is a valid value of it.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    // SAFETY: entry, buffer and result live as long as the call, and the buffer has the length that is given.
    let failed = unsafe {
        libc::getpwuid_r(
            uid,
            &raw mut entry,
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            &raw mut found,
        )
    };
    if failed != 0 || found.is_null() || entry.pw_dir.is_null() {
        return None;
    }
    // SAFETY: the call filled the entry, whose strings lie in the buffer and end with a zero.
    let home = unsafe { CStr::from_ptr(entry.pw_dir) };
    let home = PathBuf::from(OsStr::from_bytes(home.to_bytes()));
    home.is_absolute().then_some(home)
}

#[cfg(not(unix))]
pub fn account_home() -> Option<PathBuf> {
    None
}

/// The files and folders below a folder that are not readable for everybody, if we are the account that may read them all
/// the same; at most `most`. Links are not followed. The walk is bounded.
#[cfg(unix)]
pub fn closed_to_others(folder: &Path, most: usize) -> Vec<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    closed_below(folder, most)
}

#[cfg(not(unix))]
pub fn closed_to_others(_folder: &Path, _most: usize) -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(unix)]
fn closed_below(folder: &Path, most: usize) -> Vec<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    let mut looked_at = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked_at += 1;
            if found.len() >= most || looked_at > MAX_LOOKED_AT {
                return found;
            }
            let Ok(meta) = entry.metadata() else { continue };
            let mode = meta.permissions().mode();
            match (meta.is_dir(), meta.is_file()) {
                (true, _) if mode & 0o005 == 0o005 => open.push(entry.path()),
                (false, true) if mode & 0o004 != 0 => {}
                (true, _) | (_, true) => found.push(entry.path()),
                (false, false) => {}
            }
        }
    }
    found
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_closed_to_others_is_found_at_its_top() {
        use std::fs;
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        for (name, mode) in [
            ("open/plain", 0o644),
            ("open/key", 0o600),
            ("open/group", 0o640),
            ("shut/in", 0o644),
        ] {
            fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
            fs::write(top.join(name), "").unwrap();
            fs::set_permissions(top.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(top.join("open"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(top.join("shut"), fs::Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", top.join("link")).unwrap();
        let mut found = closed_below(top, 10);
        found.sort();
        let names = ["open/group", "open/key", "shut"];
        assert_eq!(found, names.map(|name| top.join(name)));
        assert_eq!(closed_below(top, 1).len(), 1);
    }

    #[test]
    fn the_home_is_that_of_the_account() {
        let uid = rustix::process::geteuid().as_raw().to_string();
        let table = std::fs::read_to_string("/etc/passwd").unwrap();
        let entry = table
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields.get(2) == Some(&uid.as_str()));
        let Some(home) = entry.and_then(|fields| fields.get(5).copied()) else {
            use std::io::Write as _;
            let _ = writeln!(
                std::io::stderr(),
                "skipped: this account is not in /etc/passwd"
            );
            return;
        };
        assert_eq!(account_home(), Some(PathBuf::from(home)));
    }
}
