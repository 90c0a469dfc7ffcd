//! What is at and below protected paths, read from folders that are held open. No link is followed.

use ostler_files::raw::Mark;
use ostler_files::sight;
use ostler_files::{Dir, Found, Kind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Most files and folders below the protected paths.
pub const MAX_ENTRIES: usize = 4096;
/// Most bytes of one file, and of all.
pub const MAX_FILE: u64 = 1 << 20;
const MAX_TOTAL: u64 = 16 << 20;
/// Most folders that are held open at a time.
const MAX_OPEN: usize = 32;

/// Which file it is, and when it was last changed in any way.
pub type Stamp = [u64; 4];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Folder,
    Link(PathBuf),
    /// Too large to be remembered, or not to be read: that it is the same one, and unchanged, is all that is compared.
    Unread(Stamp),
    /// Devices, sockets, pipes: that they are there is all that is compared.
    Other,
}

/// What is there.
pub struct Seen {
    pub found: BTreeMap<PathBuf, Kept>,
    /// Folders that were not listed, or not wholly.
    pub cut: BTreeSet<PathBuf>,
}

/// What is at and below these paths, each with its real place. Each has room of its own, so that none takes it from the
/// others.
pub fn snapshot(roots: &[(PathBuf, PathBuf)]) -> Seen {
    let mut seen = Seen {
        found: BTreeMap::new(),
        cut: BTreeSet::new(),
    };
    let mut folders = Folders::default();
    for (root, at) in roots {
        let mut left = MAX_TOTAL;
        let mut count = 0;
        let mut open = vec![(root.clone(), at.clone())];
        while let Some((path, real)) = open.pop() {
            if count >= MAX_ENTRIES {
                let unseen = open.iter().map(|(path, _)| path).chain([&path]);
                seen.cut.extend(unseen.filter_map(|path| {
                    let parent = path.parent()?;
                    parent.starts_with(root).then(|| parent.to_owned())
                }));
                break;
            }
            count += 1;
            let Some(looked) = folders.look(&real, &mut left) else {
                continue;
            };
            if !looked.is_whole {
                seen.cut.insert(path.clone());
            }
            let names = looked
                .names
                .iter()
                .map(|name| ostler_files::raw::name(name));
            open.extend(names.map(|name| (path.join(&name), real.join(&name))));
            seen.found.insert(path, looked.kept);
        }
    }
    seen
}

/// What is at one place.
struct Looked {
    kept: Kept,
    /// The names in it, if it is a folder.
    names: Vec<Vec<u8>>,
    /// Whether these are all.
    is_whole: bool,
}

impl Looked {
    fn new(kept: Kept) -> Self {
        Self {
            kept,
            names: Vec::new(),
            is_whole: true,
        }
    }
}

/// Folders that a snapshot holds open: many protected names lie in one.
#[derive(Default)]
struct Folders {
    open: HashMap<PathBuf, Result<Dir, io::ErrorKind>>,
}

impl Folders {
    fn open(&mut self, folder: &Path) -> io::Result<&Dir> {
        if !self.open.contains_key(folder) {
            if self.open.len() == MAX_OPEN {
                self.open.clear();
            }
            let opened = Dir::open(folder).map_err(|error| error.kind());
            self.open.insert(folder.to_owned(), opened);
        }
        match self.open.get(folder) {
            Some(Ok(dir)) => Ok(dir),
            Some(Err(kind)) => Err((*kind).into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn find<'a>(&'a mut self, real: &'a Path) -> io::Result<(Found, &'a Dir, &'a [u8])> {
        let missing = || io::Error::from(io::ErrorKind::InvalidInput);
        let folder = real.parent().ok_or_else(missing)?;
        let name = real.file_name().ok_or_else(missing)?.as_bytes();
        let dir = self.open(folder)?;
        Ok((dir.look(name)?, dir, name))
    }

    /// What is at a real path, or nothing.
    fn look(&mut self, real: &Path, left: &mut u64) -> Option<Looked> {
        look(self.find(real), left)
    }
}

/// All of it is read from what was opened; what is too large or cannot be read is there all the same.
fn look(found: io::Result<(Found, &Dir, &[u8])>, left: &mut u64) -> Option<Looked> {
    let (found, dir, name) = match found {
        Ok(found) => found,
        Err(error) => {
            let is_gone = matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            );
            return (!is_gone).then(|| Looked::new(Kept::Unread(Stamp::default())));
        }
    };
    let unread = || Kept::Unread(stamp(&found.mark));
    Some(match found.kind {
        Kind::Symlink => Looked::new(match dir.read_link(name) {
            Ok(target) => Kept::Link(ostler_files::raw::name(&target).into()),
            Err(_) => unread(),
        }),
        Kind::Directory => {
            let names = dir.enter(name).and_then(|folder| folder.names());
            let is_whole = names.as_ref().is_ok_and(|names| names.len() < MAX_ENTRIES);
            let names = names.unwrap_or_default().into_iter();
            Looked {
                kept: Kept::Folder,
                names: names.take(MAX_ENTRIES).map(|name| name.bytes).collect(),
                is_whole,
            }
        }
        Kind::File => Looked::new(match dir.read_file(name, MAX_FILE.min(*left)) {
            Some(bytes) => {
                *left -= bytes.len() as u64;
                let mode = found.mark.mode;
                Kept::File { bytes, mode }
            }
            None => unread(),
        }),
        Kind::Other | Kind::Missing => Looked::new(Kept::Other),
    })
}

fn stamp(mark: &Mark) -> Stamp {
    let times = [mark.mtime, mark.ctime].map(i64::cast_unsigned);
    [mark.inode, mark.size, times[0], times[1]]
}

/// Where a path really is: its folders without links, as far as they exist.
pub fn place(path: &Path) -> PathBuf {
    let mut rest = vec![path.file_name()];
    for folder in path.ancestors().skip(1) {
        if let Ok(mut real) = sight::canonicalize(folder) {
            real.extend(rest.into_iter().rev().flatten());
            return real;
        }
        // A link that leads nowhere yet may lead somewhere later.
        if let Some(target) = sight::read_link(folder) {
            let mut led = folder.parent().unwrap_or(folder).join(target);
            led.extend(rest.into_iter().rev().flatten());
            return led;
        }
        rest.push(folder.file_name());
    }
    path.to_owned()
}

pub fn links_above(roots: &[PathBuf]) -> BTreeMap<PathBuf, PathBuf> {
    let above = roots.iter().flat_map(|root| root.ancestors().skip(1));
    let above: BTreeSet<&Path> = above.collect();
    let links = above.into_iter().filter_map(|path| {
        let target = sight::read_link(path)?;
        Some((path.to_owned(), target))
    });
    links.collect()
}
