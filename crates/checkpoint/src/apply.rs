//! Changes files to what a checkpoint says, one path at a time: looks at it once more, then replaces it whole. A path
//! that is not as expected, or cannot be changed, is left and told; the others go on.

use super::Error;
use super::cache::Cache;
use super::pack::Packs;
use super::sparse;
use super::tree::Hash;
use super::tree::{Difference, Node, Rel, quote, split};
use ostler_files::Kind;
use ostler_files::raw;
use ostler_files::{Dir, set_file_mode};
use ostler_wire::{Why, Word};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the owner needs to change names in a folder.
const OWNER_CHANGES: u32 = 0o300;
const OWNER_ALL: u32 = 0o700;
const PIECE: usize = 1 << 18;
const TEMP_BEGINS: &str = ".ostler-";
const TEMP_ENDS: &str = ".tmp";

#[derive(Default)]
pub struct Done {
    pub changed: Vec<Rel>,
    pub kept: Vec<(Rel, Why)>,
}

pub struct Apply<'a> {
    /// The folder that the paths are in, held open: nothing is reached by its path.
    root: &'a Dir,
    packs: &'a mut Packs,
    /// The files as they were when they were saved a moment ago.
    marks: &'a Cache,
    /// Folders whose mode is set at the end.
    modes: BTreeMap<Rel, u32>,
    /// The folder that was worked in last.
    last: Option<(Rel, Rc<Dir>)>,
    pub done: Done,
}

type Tried<T = ()> = Result<T, Why>;

impl<'a> Apply<'a> {
    pub fn new(root: &'a Dir, packs: &'a mut Packs, marks: &'a Cache) -> Self {
        Self {
            root,
            packs,
            marks,
            modes: BTreeMap::new(),
            last: None,
            done: Done::default(),
        }
    }

    /// `changes` in the order of their paths.
    pub fn run(&mut self, changes: &[Difference]) {
        let mut failed: BTreeMap<&[u8], Why> = BTreeMap::new();
        for change in changes.iter().rev() {
            if let Err(why) = self.clear(change) {
                failed.insert(&change.path, why);
            }
        }
        // A folder may have gone and come again.
        self.last = None;
        for change in changes {
            let is_there = change.before.is_none() && self.has_folder(change);
            let tried = match failed.remove(change.path.as_slice()) {
                Some(why) => Err(why),
                None => self.put(change),
            };
            match tried {
                Ok(()) if is_there => {}
                Ok(()) => self.done.changed.push(change.path.clone()),
                Err(why) => self.done.kept.push((change.path.clone(), why)),
            }
        }
        for (path, mode) in std::mem::take(&mut self.modes).into_iter().rev() {
            let set = self.root.enter(&path).and_then(|dir| dir.set_mode(mode));
            if let Err(e) = set {
                self.done.kept.push((path, say(e)));
            }
        }
    }

    /// Takes away what cannot be replaced in one step.
    fn clear(&mut self, change: &Difference) -> Tried {
        let is_folder = |node: &Option<Node>| matches!(node, Some(Node::Dir { .. }));
        let (before, after) = (is_folder(&change.before), is_folder(&change.after));
        if change.before.is_none() || (before && after) {
            return Ok(());
        }
        if change.after.is_some() && before == after {
            return Ok(());
        }
        let (dir, name) = self.expect(&change.path, change.before.as_ref())?;
        self.open_up(&change.path, &dir).map_err(say)?;
        let removed = if before {
            dir.remove_dir(name)
        } else {
            dir.remove_file(name)
        };
        match removed {
            // What lies in it was never ours to remove.
            Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty && change.after.is_none() => {
                Ok(())
            }
            Ok(()) => {
                self.modes.remove(&change.path);
                Ok(())
            }
            Err(e) => Err(say(e)),
        }
    }

    fn put(&mut self, change: &Difference) -> Tried {
        let Some(after) = &change.after else {
            return Ok(());
        };
        let replaced = match (&change.before, after) {
            (Some(Node::Dir { .. }), Node::Dir { .. }) => change.before.as_ref(),
            (Some(Node::Dir { .. }), _) | (_, Node::Dir { .. }) => None,
            (before, _) => before.as_ref(),
        };
        let is_there = replaced.is_none() && self.has_folder(change);
        let (dir, name) = match is_there {
            true => {
                let (folder, name) = split(&change.path);
                (self.folder(folder)?, name)
            }
            false => self.expect(&change.path, replaced)?,
        };
        self.open_up(&change.path, &dir).map_err(say)?;
        match after {
            Node::Dir { mode, .. } => {
                if replaced.is_none() && !is_there {
                    dir.make_dir(name).map_err(say)?;
                    let made = dir.enter(name).and_then(|made| made.set_mode(OWNER_ALL));
                    made.map_err(say)?;
                }
                self.modes.insert(change.path.clone(), *mode);
                Ok(())
            }
            // Even for its mode alone: a mode set in place would reach other names of the same file.
            Node::File { mode, hash, size } => self.write(&dir, name, (hash, *size), *mode),
            Node::Link { target } => {
                let temp = temp_name();
                let made = dir.make_link(&temp, target);
                let made = made.and_then(|()| dir.rename(&temp, name));
                tidy(made.map_err(say), &dir, &temp)
            }
        }
    }

    /// Whether a folder that is to come is there already: not all of the tree could be saved before.
    fn has_folder(&mut self, change: &Difference) -> bool {
        let (folder, name) = split(&change.path);
        let found = |dir: Rc<Dir>| dir.look(name).ok();
        matches!(change.after, Some(Node::Dir { .. }))
            && self
                .folder(folder)
                .ok()
                .and_then(found)
                .is_some_and(|found| found.kind == Kind::Directory)
    }

    fn write(&mut self, dir: &Dir, name: &[u8], content: (&Hash, u64), mode: u32) -> Tried {
        let temp = temp_name();
        let made = self.copy(dir, &temp, content).and_then(|file| {
            set_file_mode(&file, mode).map_err(say)?;
            drop(file);
            dir.rename(&temp, name).map_err(say)
        });
        tidy(made, dir, &temp)
    }

    fn copy(&mut self, dir: &Dir, temp: &[u8], content: (&Hash, u64)) -> Result<File, Why> {
        let (hash, size) = content;
        let mut file = dir.create_file(temp).map_err(say)?;
        let mut end = 0;
        let copied = self.packs.copy_file(hash, size, &mut |at, piece| {
            if at != end {
                file.seek(SeekFrom::Start(at))?;
            }
            end = at + piece.len() as u64;
            file.write_all(piece)
        });
        if end != size {
            file.set_len(size).map_err(say)?;
        }
        copied.map_err(|e: Error| Why::from(&e))?;
        Ok(file)
    }

    /// The folder of a path and its name there, if it is what it was when it was saved and no link leads to it.
    fn expect<'r>(&mut self, rel: &'r [u8], node: Option<&Node>) -> Tried<(Rc<Dir>, &'r [u8])> {
        let (folder, name) = split(rel);
        let dir = self.folder(folder)?;
        let found = match dir.look(name) {
            Ok(found) => Some(found),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(say(e)),
        };
        let same = match (node, found) {
            (None, None) => true,
            (None, Some(_)) => return Err(Word::CpElse.into()),
            (Some(Node::Dir { .. }), Some(found)) => found.kind == Kind::Directory,
            (Some(Node::Link { target }), Some(found)) => {
                let now = || dir.read_link(name);
                found.kind == Kind::Symlink && now().is_ok_and(|now| now == *target)
            }
            (Some(Node::File { mode, hash, size }), Some(found)) => {
                let mark = found.mark;
                // A removed hard link of it changes the mark alone.
                let equal = || {
                    let is_like = mark.mode == *mode && mark.size == *size;
                    is_like && content(&dir, name) == Some(*hash)
                };
                found.kind == Kind::File && (self.mark(rel) == Some(mark) || equal())
            }
            (Some(_), None) => false,
        };
        match same {
            true => Ok((dir, name)),
            false => Err(Word::CpChangedNow.into()),
        }
    }

    /// A folder below the root that no link leads to.
    fn folder(&mut self, rel: &[u8]) -> Tried<Rc<Dir>> {
        if let Some((_, dir)) = self.last.as_ref().filter(|(last, _)| last == rel) {
            return Ok(dir.clone());
        }
        let dir = self.root.enter(rel).map_err(|e| match e.kind() {
            io::ErrorKind::PermissionDenied => say(e),
            _ => Why::ours(Word::HostNoFolder, [quote(rel).into()]),
        })?;
        let dir = Rc::new(dir);
        self.last = Some((rel.to_vec(), dir.clone()));
        Ok(dir)
    }

    fn mark(&self, rel: &[u8]) -> Option<raw::Mark> {
        let (dir, name) = split(rel);
        let names = &self.marks.dirs.get(dir)?.names;
        let at = names.binary_search_by(|k| (*k.name).cmp(name)).ok()?;
        names.get(at).map(|k| k.mark)
    }

    /// Lets us change names in the folder of a path; its own mode comes back at the end.
    fn open_up(&mut self, rel: &[u8], dir: &Dir) -> io::Result<()> {
        let (folder, _) = split(rel);
        if folder.is_empty() {
            return Ok(());
        }
        let mode = dir.look_at_itself()?.mark.mode;
        if cfg!(unix) && mode & OWNER_CHANGES != OWNER_CHANGES {
            dir.set_mode(mode | OWNER_ALL)?;
            self.modes.entry(folder.to_vec()).or_insert(mode);
        }
        Ok(())
    }
}

fn content(dir: &Dir, name: &[u8]) -> Option<Hash> {
    let mut file = dir.open_file(name).ok()?;
    let meta = file.metadata().ok()?;
    if sparse::has_holes(&meta) {
        return sparse::hash_of(&file, meta.len()).ok();
    }
    let mut digest = Sha256::new();
    let mut buffer = vec![0; PIECE];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(digest.finalize().into()),
            count => digest.update(buffer.get(..count)?),
        }
    }
}

fn temp_name() -> Vec<u8> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{TEMP_BEGINS}{}-{number}{TEMP_ENDS}", std::process::id()).into_bytes()
}

/// Whether a name is one that `temp_name` gives.
pub fn is_temp(name: &[u8]) -> bool {
    let inner = name.strip_prefix(TEMP_BEGINS.as_bytes());
    inner
        .and_then(|rest| rest.strip_suffix(TEMP_ENDS.as_bytes()))
        .is_some_and(|inner| {
            !inner.is_empty() && inner.iter().all(|b| b.is_ascii_digit() || *b == b'-')
        })
}

fn tidy(made: Tried, dir: &Dir, temp: &[u8]) -> Tried {
    if made.is_err() {
        // The first failure is the one to tell.
        let _gone = dir.remove_file(temp);
    }
    made
}

fn say(error: io::Error) -> Why {
    (&error).into()
}
