//! What the system's account database says of the person who runs us. It reads no environment.

use std::path::PathBuf;

/// Most bytes of one entry of the database.
#[cfg(unix)]
const MAX_ENTRY: usize = 64 << 10;

/// The home of the account that runs us, by its number; `None` where it has no entry or no absolute home.
#[cfg(unix)]
#[expect(
    unsafe_code,
    reason = "the account database has no safe form in the libraries we use"
)]
pub fn account_home() -> Option<PathBuf> {
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

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
