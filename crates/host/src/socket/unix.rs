//! Unix sockets, also below folders whose path is longer than the address of a socket may be.

use rustix::fs::{AtFlags, Mode, OFlags, chmodat, statat, unlinkat};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};

pub type Connection = UnixStream;

/// The longest path that fits into the address of a socket everywhere.
const MAX_ADDRESS: usize = 100;
/// Ancestors of a process that are looked at.
const MAX_ANCESTORS: usize = 256;
/// Looks at them, while processes come and go.
const MAX_LOOKS: usize = 4;

/// Device and inode of a file.
type FileNumber = (rustix::fs::Dev, u64);

/// A socket that listens. Dropping it removes its file, unless another process has replaced that.
pub struct Listener {
    listener: UnixListener,
    folder: OwnedFd,
    name: String,
    file: Option<FileNumber>,
}

/// Listens under this name in the folder, which is made if it is missing. A file that lies there already is replaced: the
/// caller has made sure that no process listens there.
pub fn listen(folder: &Path, name: &str) -> io::Result<Listener> {
    ostler_files::private_dir(folder)?;
    ostler_files::tighten(folder)?;
    let handle = open_private(folder)?;
    match unlinkat(&handle, name, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let listener = UnixListener::bind(address(folder, &handle, name))?;
    // The folder keeps others out already.
    chmodat(&handle, name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    let file = file_at(&handle, name);
    Ok(Listener {
        listener,
        folder: handle,
        name: name.to_owned(),
        file,
    })
}

/// Connects to the socket with this name in the folder.
pub async fn connect(folder: &Path, name: &str) -> io::Result<Connection> {
    let handle = open_private(folder)?;
    let stream = UnixStream::connect(address(folder, &handle, name)).await?;
    match stream.peer_cred()?.uid() == own_uid() {
        true => Ok(stream),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

impl Listener {
    /// The next connection of a process that may have one.
    pub async fn accept(&self) -> io::Result<Connection> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let Ok(peer) = stream.peer_cred() else {
                continue;
            };
            // A process that is not seen from here, in a container for example, has no number.
            let known = peer.pid().filter(|pid| *pid > 0);
            if peer.uid() == own_uid() && known.is_some_and(may_connect) {
                return Ok(stream);
            }
        }
    }
}

impl Listener {
    /// The next connection of a process that this one has started, or that those have.
    pub async fn accept_started(&self) -> io::Result<Connection> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let own = i32::try_from(std::process::id()).unwrap_or(0);
            let Ok(peer) = stream.peer_cred() else {
                continue;
            };
            let known = peer.pid().filter(|pid| *pid > 0);
            let is_below = |pid: i32| match ancestors(pid) {
                Some(above) => above.contains(&own),
                None => !cfg!(target_os = "linux"),
            };
            if peer.uid() == own_uid() && known.is_some_and(is_below) {
                return Ok(stream);
            }
        }
    }

    /// The next connection of a process of this person that this one did not start, nor those that it started.
    pub async fn accept_own(&self) -> io::Result<Connection> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let own = i32::try_from(std::process::id()).unwrap_or(0);
            let Ok(peer) = stream.peer_cred() else {
                continue;
            };
            let known = peer.pid().filter(|pid| *pid > 0);
            let is_below = |pid: i32| ancestors(pid).is_some_and(|above| above.contains(&own));
            if peer.uid() == own_uid() && !known.is_some_and(is_below) {
                return Ok(stream);
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.file.is_some() && self.file == file_at(&self.folder, &self.name) {
            // A file that stays is replaced by the next listener.
            let _ = unlinkat(&self.folder, self.name.as_str(), AtFlags::empty());
        }
    }
}

/// The folder, if it belongs to this person alone.
fn open_private(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = std::fs::File::from(rustix::fs::open(folder, flags, Mode::empty())?);
    let found = handle.metadata()?;
    let is_private = found.uid() == own_uid() && found.permissions().mode() & 0o077 == 0;
    match is_private {
        true => Ok(handle.into()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn address(folder: &Path, handle: &OwnedFd, name: &str) -> PathBuf {
    let path = folder.join(name);
    match path.as_os_str().len() <= MAX_ADDRESS {
        true => path,
        false => PathBuf::from(format!("/proc/self/fd/{}/{name}", handle.as_raw_fd())),
    }
}

fn file_at(folder: &OwnedFd, name: &str) -> Option<FileNumber> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((found.st_dev, found.st_ino))
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// What this process has started, and what those have started, may not connect: a command must not answer the question
/// that is asked about it. The same goes for processes below another Ostler that did not start this one, and for one that
/// nobody can say it of because it has ended: another process may have its end of the connection.
fn may_connect(pid: i32) -> bool {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let Some(below) = ancestors(pid) else {
        return !cfg!(target_os = "linux");
    };
    let above = ancestors(own).unwrap_or_default();
    !below
        .into_iter()
        .any(|ancestor| ancestor == own || (is_ostler(ancestor) && !above.contains(&ancestor)))
}

/// Whether this process runs below an Ostler, so that sessions of others refuse it.
pub fn is_inside_session() -> bool {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    ancestors(own)
        .unwrap_or_default()
        .into_iter()
        .any(is_ostler)
}

/// The parent of a process, its parent, and so on up to the first. `None` if that cannot be found out.
fn ancestors(pid: i32) -> Option<Vec<i32>> {
    // A process above may end between two looks; the next try finds the new parent.
    (0..MAX_LOOKS).find_map(|_| whole_line(pid))
}

fn whole_line(pid: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    let mut at = pid;
    while found.len() < MAX_ANCESTORS {
        match parent_of(at)? {
            parent @ 1.. => found.push(parent),
            _ => return Some(found),
        }
        at = *found.last()?;
    }
    None
}

fn parent_of(pid: i32) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn is_ostler(pid: i32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end() == "ostler"
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    }

    #[test]
    fn a_process_below_the_listener_is_refused() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let below = i32::try_from(child.id()).unwrap();
        let (own_may, below_may) = (may_connect(own), may_connect(below));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(own_may);
        assert!(!below_may);
        // Whose it was cannot be told any more.
        assert_eq!(may_connect(below), !cfg!(target_os = "linux"));
    }

    #[test]
    fn long_paths_and_stale_files() {
        let temp = tempfile::tempdir().unwrap();
        let long = temp.path().join("x".repeat(120)).join("y".repeat(120));
        for folder in [temp.path().join("live"), long] {
            runtime().block_on(async {
                let stale = listen(&folder, "s.sock").unwrap();
                // What a killed process leaves.
                std::mem::forget(stale);
                let listener = listen(&folder, "s.sock").unwrap();
                let (there, here) = tokio::join!(connect(&folder, "s.sock"), listener.accept());
                let (mut there, mut here) = (there.unwrap(), here.unwrap());
                there.write_all(b"word").await.unwrap();
                let mut word = [0; 4];
                here.read_exact(&mut word).await.unwrap();
                assert_eq!(&word, b"word");
                let mode = crate::mode_of(&folder).unwrap();
                assert_eq!(mode & 0o777, 0o700);
                drop(listener);
                assert!(!folder.join("s.sock").exists());
                let gone = connect(&folder, "s.sock").await;
                assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::NotFound);
            });
        }
    }

    #[test]
    fn a_replaced_file_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("live");
        runtime().block_on(async {
            let old = listen(&folder, "s.sock").unwrap();
            let new = listen(&folder, "s.sock").unwrap();
            drop(old);
            let (there, here) = tokio::join!(connect(&folder, "s.sock"), new.accept());
            assert!(there.is_ok() && here.is_ok());
        });
    }

    #[test]
    fn a_folder_that_others_may_enter_is_not_used() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("live");
        std::fs::create_dir(&folder).unwrap();
        runtime().block_on(async {
            let _listener = listen(&folder, "s.sock").unwrap();
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
            let refused = connect(&folder, "s.sock").await;
            let kind = refused.unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::PermissionDenied);
        });
    }
}
