//! A folder for the temporary files of one run: made late, for this person alone, locked while it is in use, and removed at
//! the end. What a run that was killed left behind is removed by a later one, never the folder of one that lives.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How the folders are called, before a word of their own.
const PREFIX: &str = "ostler-tmp-";
/// What commands see lies in a folder below, so that the lock is out of their reach.
const INNER: &str = "tmp";
/// Entries of the shared folder that are looked at for what was left behind.
const MAX_SWEPT: usize = 4096;

#[derive(Debug)]
pub struct Scratch {
    outer: PathBuf,
    lock: Mutex<Option<File>>,
}

impl Scratch {
    /// Nothing is made yet. `word` tells it from all others.
    pub fn plan(base: &Path, word: &str) -> Self {
        Self {
            outer: base.join(format!("{PREFIX}{word}")),
            lock: Mutex::new(None),
        }
    }

    /// Where the files go.
    pub fn folder(&self) -> PathBuf {
        self.outer.join(INNER)
    }

    /// Makes the folder if it is not there, and looks after what others left behind when it does so for the first time.
    pub fn make(&self) -> io::Result<()> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if fs::symlink_metadata(&self.outer).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
            *lock = None;
        }
        if lock.is_none() {
            if let Some(base) = self.outer.parent() {
                sweep(base);
            }
            make_private(&self.outer)?;
            let file = File::open(&self.outer)?;
            file.try_lock().map_err(io::Error::from)?;
            *lock = Some(file);
        }
        make_inner(&self.outer)
    }

    /// Removes the folder and all in it. A later `make` makes it anew.
    pub fn remove(&self) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.take().is_some() {
            remove_all(&self.outer);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes folders of this person that no living run has locked.
fn sweep(base: &Path) {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    for entry in entries.take(MAX_SWEPT) {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(PREFIX) || !is_own_folder(&entry.path()) {
            continue;
        }
        // Locked until it is gone, so that two who sweep do not meet.
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            remove_all(&entry.path());
        }
    }
}

/// A folder that is not there yet, for this person alone whatever the umask is.
fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// The folder that commands see. Where they can write to the one that holds it all, they can put links in the place of
/// both: neither is followed, so nothing is made elsewhere.
#[cfg(unix)]
fn make_inner(outer: &Path) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, fstat, mkdirat, openat};
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let own = rustix::process::geteuid().as_raw();
    let folder = open_real(outer)?;
    match mkdirat(&folder, INNER, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let inner = openat(&folder, INNER, flags, Mode::empty())?;
    match fstat(&folder)?.st_uid == own && fstat(&inner)?.st_uid == own {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

#[cfg(not(unix))]
fn make_inner(outer: &Path) -> io::Result<()> {
    super::private_dir(&outer.join(INNER))
}

#[cfg(target_os = "linux")]
fn open_real(path: &Path) -> io::Result<rustix::fd::OwnedFd> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(openat2(
        CWD,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    )?)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn open_real(path: &Path) -> io::Result<rustix::fd::OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

#[cfg(unix)]
fn is_own_folder(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == own)
}

#[cfg(not(unix))]
fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// Commands may leave folders that nobody can write to, such as those of Go's modules.
fn remove_all(path: &Path) {
    if fs::remove_dir_all(path).is_err() {
        open_folders(path);
        // What is left is found by a later run.
        let _ = fs::remove_dir_all(path);
    }
}

#[cfg(unix)]
fn open_folders(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        let is_folder = fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir());
        if !is_folder {
            continue;
        }
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(folders.map(|entry| entry.path()));
    }
}

#[cfg(not(unix))]
fn open_folders(_path: &Path) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn names(base: &Path) -> Vec<String> {
        let entries = fs::read_dir(base).unwrap().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn it_is_private_and_goes_with_its_run() {
        let base = tempfile::tempdir().unwrap();
        let scratch = Scratch::plan(base.path(), "a");
        assert_eq!(names(base.path()), [] as [&str; 0]);
        scratch.make().unwrap();
        scratch.make().unwrap();
        let outer = scratch.folder().parent().unwrap().to_owned();
        let mode = fs::metadata(&outer).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        // Folders without any right are no obstacle, and links lead nowhere.
        let closed = scratch.folder().join("x/y");
        fs::create_dir_all(&closed).unwrap();
        fs::write(closed.join("file"), "").unwrap();
        let kept = base.path().join("kept");
        fs::create_dir(&kept).unwrap();
        std::os::unix::fs::symlink(&kept, scratch.folder().join("link")).unwrap();
        for folder in [&closed, closed.parent().unwrap()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o0)).unwrap();
        }
        drop(scratch);
        assert_eq!(names(base.path()), ["kept"]);
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_a_living_one_is_not() {
        let base = tempfile::tempdir().unwrap();
        let living = Scratch::plan(base.path(), "living");
        living.make().unwrap();
        let killed = base.path().join("ostler-tmp-killed");
        fs::create_dir_all(killed.join("tmp/sub")).unwrap();
        fs::create_dir(base.path().join("other")).unwrap();
        std::os::unix::fs::symlink(
            base.path().join("other"),
            base.path().join("ostler-tmp-link"),
        )
        .unwrap();
        let next = Scratch::plan(base.path(), "next");
        next.make().unwrap();
        let expect = [
            "ostler-tmp-link",
            "ostler-tmp-living",
            "ostler-tmp-next",
            "other",
        ];
        assert_eq!(names(base.path()), expect);
    }

    /// Commands that may write to the folder that all share can rename this one.
    #[test]
    fn a_link_in_its_place_is_not_followed() {
        use std::os::unix::fs::symlink;
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let victim = base.join("victim");
        fs::create_dir(&victim).unwrap();
        for inner in [false, true] {
            let word = format!("{inner}");
            let scratch = Scratch::plan(&base, &word);
            scratch.make().unwrap();
            let outer = scratch.folder().parent().unwrap().to_owned();
            fs::rename(&outer, base.join(format!("away-{word}"))).unwrap();
            match inner {
                false => symlink(&victim, &outer).unwrap(),
                true => {
                    fs::create_dir(&outer).unwrap();
                    symlink(&victim, outer.join(INNER)).unwrap();
                }
            }
            assert!(scratch.make().is_err(), "{inner}");
            drop(scratch);
            assert_eq!(names(&victim), [] as [&str; 0], "{inner}");
        }
        // One that was removed is made again.
        let scratch = Scratch::plan(&base, "gone");
        scratch.make().unwrap();
        fs::remove_dir_all(scratch.folder().parent().unwrap()).unwrap();
        scratch.make().unwrap();
        assert!(scratch.folder().is_dir());
    }

    #[test]
    fn a_folder_of_that_name_is_not_taken_over() {
        let base = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/", base.path().join("ostler-tmp-a")).unwrap();
        assert!(Scratch::plan(base.path(), "a").make().is_err());
    }
}
