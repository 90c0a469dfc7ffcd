//! A copy of a repository's settings for one command. The command sees a link to it in place of the file, so that git can
//! lock and replace it; afterwards what is harmless of its changes is written into the file itself, under git's own lock. So
//! nobody else's git ever reads what a command wrote before it was judged. The file is written in place and never replaced:
//! a name beside it would be in reach of what a command left running, and mounts end with the file that they cover.

use super::LinkedFile;
use super::gitconfig::merge_onto;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most bytes of settings that are copied.
const MAX_SETTINGS: u64 = 256 << 10;
const NAME: &str = "config";
/// By which git keeps others from writing.
const LOCK: &str = ".lock";
/// How often the lock is tried for, and how long is waited between.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(5);

/// Where a copy is put.
pub struct CopyPlace {
    /// A folder that is not there yet, in reach of the command.
    pub folder: PathBuf,
    /// The same as the command sees it.
    pub seen: PathBuf,
    /// For the link, out of reach of the command.
    pub link: PathBuf,
}

#[derive(Debug)]
pub struct SettingsCopy {
    file: PathBuf,
    folder: PathBuf,
    link: PathBuf,
    base: Vec<u8>,
}

/// What became of the changes.
#[derive(Debug, Default)]
pub struct TakenOver {
    /// What was not taken over.
    pub refused: Vec<String>,
    /// The copy as the command left it.
    pub text: Vec<u8>,
}

impl SettingsCopy {
    /// Nothing for what is no plain file of ordinary size.
    pub fn make(file: &Path, place: CopyPlace) -> io::Result<Option<Self>> {
        let meta = match fs::symlink_metadata(file) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !meta.is_file() || meta.len() > MAX_SETTINGS {
            return Ok(None);
        }
        let base = ostler_files::read_whole(file, MAX_SETTINGS)?;
        let CopyPlace { folder, seen, link } = place;
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        // From here on it is removed with this.
        let copy = Self {
            file: fs::canonicalize(file)?,
            folder,
            link,
            base,
        };
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        options.mode(meta.mode() & 0o777);
        let mut written = options.open(copy.folder.join(NAME))?;
        written.write_all(&copy.base)?;
        symlink(seen.join(NAME), &copy.link)?;
        Ok(Some(copy))
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    pub fn linked(&self) -> LinkedFile {
        LinkedFile {
            file: self.file.clone(),
            link: self.link.clone(),
        }
    }

    /// Writes what is harmless of the changes to the file. To be called when the command has ended. Blocks.
    pub fn take_over(&self) -> io::Result<TakenOver> {
        let copies = open_folder(&self.folder)?;
        // Without a copy there is no change.
        let Some(text) = read(&copies, NAME.as_ref())? else {
            return Ok(TakenOver::default());
        };
        if text == self.base {
            return Ok(TakenOver::default());
        }
        let parent = self.file.parent().unwrap_or(Path::new("/"));
        let name = self.file.file_name().unwrap_or_default();
        let folder = open_folder(parent)?;
        let _lock = Lock::take(&folder, name)?;
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::openat(&folder, name, flags, Mode::empty())?);
        // Another name may be in reach of a command.
        if file.metadata()?.nlink() != 1 {
            return Err(io::Error::other("the settings have another name"));
        }
        let current = read_all(&file)?;
        let merged = merge_onto(&self.base, &text, &current);
        if merged.text != current {
            write_in_place(&file, &current, &merged.text)?;
        }
        Ok(TakenOver {
            refused: merged.refused,
            text,
        })
    }
}

impl Drop for SettingsCopy {
    fn drop(&mut self) {
        // What cannot be removed goes with the folder of the run.
        let _ = fs::remove_file(&self.link);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Git's lock of one file, taken off when it is dropped. Nothing is ever written to it.
struct Lock<'a> {
    folder: &'a OwnedFd,
    name: PathBuf,
}

impl<'a> Lock<'a> {
    fn take(folder: &'a OwnedFd, name: &OsStr) -> io::Result<Self> {
        let mut lock = name.to_owned();
        lock.push(LOCK);
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut tries = 0;
        loop {
            match rustix::fs::openat(folder, &lock, flags, Mode::from_raw_mode(0o600)) {
                Ok(_) => {
                    return Ok(Self {
                        folder,
                        name: lock.into(),
                    });
                }
                Err(rustix::io::Errno::EXIST) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}

/// One write, so that whoever reads meanwhile reads a whole file: a shorter text ends in empty lines until it is cut.
fn write_in_place(file: &File, old: &[u8], new: &[u8]) -> io::Result<()> {
    let mut padded = new.to_owned();
    padded.resize(old.len().max(new.len()), b'\n');
    let written = file
        .write_all_at(&padded, 0)
        .and_then(|()| file.set_len(new.len() as u64));
    if written.is_err() {
        // A full disk: what was there has its place already.
        file.write_all_at(old, 0)?;
        file.set_len(old.len() as u64)?;
    }
    written?;
    file.sync_data()
}

fn open_folder(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, folder, flags, Mode::empty())?)
}

/// The bytes of a plain file, never of what a link leads to; an error for what is too long or no file.
fn read(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    read_all(&file).map(Some)
}

fn read_all(file: &File) -> io::Result<Vec<u8>> {
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MAX_SETTINGS {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_SETTINGS).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "[core]\n\tbare = false\n";
    const GOOD: &str = "[core]\n\tbare = false\n[user]\n\tname = A\n";

    /// What the file is after a command did this to its copy.
    fn after(act: impl FnOnce(&Path, &Path)) -> (String, io::Result<TakenOver>) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let file = top.join("config");
        fs::write(&file, BEFORE).unwrap();
        let place = CopyPlace {
            folder: top.join("copy"),
            seen: top.join("copy"),
            link: top.join("link"),
        };
        let copy = SettingsCopy::make(&file, place).unwrap().unwrap();
        let which = fs::metadata(&file).unwrap().ino();
        assert_eq!(fs::read_to_string(top.join("link")).unwrap(), BEFORE);
        act(&top.join("copy/config"), &file);
        let taken = copy.take_over();
        drop(copy);
        assert_eq!(fs::metadata(&file).unwrap().ino(), which, "replaced");
        let mut left: Vec<_> = fs::read_dir(&top)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.retain(|name| name != "config.lock" && name != "secret" && name != "name");
        assert_eq!(left, ["config"]);
        (fs::read_to_string(&file).unwrap(), taken)
    }

    #[test]
    fn changes_come_to_the_file_after_they_were_judged() {
        let (text, taken) = after(|_, _| {});
        assert_eq!((text.as_str(), taken.unwrap().refused), (BEFORE, vec![]));
        let (text, taken) = after(|copy, _| fs::write(copy, GOOD).unwrap());
        assert_eq!((text.as_str(), taken.unwrap().refused), (GOOD, vec![]));
        let evil = format!("{GOOD}[core]\n\tpager = x\n");
        let (text, taken) = after(|copy, _| fs::write(copy, &evil).unwrap());
        assert_eq!(
            (text.as_str(), taken.unwrap().refused),
            (GOOD, vec!["core.pager".into()])
        );
        // Shorter than before.
        let (text, taken) = after(|copy, _| fs::write(copy, "[core]\n").unwrap());
        assert_eq!(
            (text.as_str(), taken.unwrap().refused),
            ("[core]\n", vec![])
        );
        let (text, _) = after(|copy, file| {
            fs::write(copy, GOOD).unwrap();
            fs::write(file, format!("{BEFORE}[alias]\n\tx = theirs\n")).unwrap();
        });
        assert_eq!(
            text,
            format!("{BEFORE}[alias]\n\tx = theirs\n[user]\n\tname = A\n")
        );
    }

    #[test]
    fn a_copy_leads_nowhere_else() {
        let (text, taken) = after(|copy, _| fs::remove_file(copy).unwrap());
        assert_eq!((text.as_str(), taken.is_ok()), (BEFORE, true));
        let (text, taken) = after(|copy, _| {
            fs::remove_file(copy).unwrap();
            fs::write(copy.with_file_name("../secret"), GOOD).unwrap();
            symlink("../secret", copy).unwrap();
        });
        assert_eq!((text.as_str(), taken.is_err()), (BEFORE, true));
        let (text, taken) = after(|copy, file| {
            fs::write(copy, GOOD).unwrap();
            fs::write(file.with_file_name("config.lock"), "").unwrap();
        });
        assert_eq!((text.as_str(), taken.is_err()), (BEFORE, true));
        let (text, taken) = after(|copy, file| {
            fs::write(copy, GOOD).unwrap();
            fs::hard_link(file, file.with_file_name("name")).unwrap();
        });
        assert_eq!((text.as_str(), taken.is_err()), (BEFORE, true));
    }
}
