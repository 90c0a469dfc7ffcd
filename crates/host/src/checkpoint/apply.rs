//! Changes files to what a checkpoint says, one path at a time: looks at it once more, then replaces it whole. A path
//! that is not as expected, or cannot be changed, is left and told; the others go on.

use super::Error;
use super::cache::Cache;
use super::pack::{Hash, Packs};
use super::tree::{Difference, Node, Rel};
use crate::raw;
use ostler_wire::{Why, Word};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
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
    root: &'a Path,
    packs: &'a mut Packs,
    /// The files as they were when they were saved a moment ago.
    marks: &'a Cache,
    /// Folders whose mode is set at the end.
    modes: BTreeMap<Rel, u32>,
    pub done: Done,
}

type Tried = Result<(), Why>;

impl<'a> Apply<'a> {
    pub fn new(root: &'a Path, packs: &'a mut Packs, marks: &'a Cache) -> Self {
        Self {
            root,
            packs,
            marks,
            modes: BTreeMap::new(),
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
        for change in changes {
            let tried = match failed.remove(change.path.as_slice()) {
                Some(why) => Err(why),
                None => self.put(change),
            };
            match tried {
                Ok(()) => self.done.changed.push(change.path.clone()),
                Err(why) => self.done.kept.push((change.path.clone(), why)),
            }
        }
        for (path, mode) in std::mem::take(&mut self.modes).into_iter().rev() {
            if let Err(e) = raw::set_mode(&self.absolute(&path), mode) {
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
        self.expect(&change.path, change.before.as_ref())?;
        self.open_up(&change.path).map_err(say)?;
        let path = self.absolute(&change.path);
        let removed = if before {
            fs::remove_dir(&path)
        } else {
            fs::remove_file(&path)
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
        self.expect(&change.path, replaced)?;
        self.open_up(&change.path).map_err(say)?;
        let path = self.absolute(&change.path);
        match after {
            Node::Dir { mode, .. } => {
                if replaced.is_none() {
                    fs::create_dir(&path).map_err(say)?;
                    raw::set_mode(&path, OWNER_ALL).map_err(say)?;
                }
                self.modes.insert(change.path.clone(), *mode);
                Ok(())
            }
            // Even for its mode alone: a mode set in place would reach other names of the same file.
            Node::File { mode, hash, .. } => self.write(&path, hash, *mode),
            Node::Link { target } => {
                let temp = temp_beside(&path);
                let target = PathBuf::from(raw::name(target));
                let made = raw::symlink(&target, &temp).and_then(|()| fs::rename(&temp, &path));
                tidy(made.map_err(say), &temp)
            }
        }
    }

    fn write(&mut self, path: &Path, hash: &Hash, mode: u32) -> Tried {
        let temp = temp_beside(path);
        let made = self.copy(&temp, hash).and_then(|file| {
            drop(file);
            raw::set_mode(&temp, mode).map_err(say)?;
            fs::rename(&temp, path).map_err(say)
        });
        tidy(made, &temp)
    }

    fn copy(&mut self, temp: &Path, hash: &Hash) -> Result<File, Why> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(temp)
            .map_err(say)?;
        let copied = self.packs.copy(hash, &mut |piece| file.write_all(piece));
        copied.map_err(|e: Error| Why::from(&e))?;
        Ok(file)
    }

    /// That the path is what it was when it was saved, and no link leads to it.
    fn expect(&self, rel: &[u8], node: Option<&Node>) -> Tried {
        let mut dir = self.root.to_owned();
        for end in rel
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'/')
            .map(|(i, _)| i)
        {
            dir = self.absolute(rel.get(..end).unwrap_or_default());
            if !fs::symlink_metadata(&dir).is_ok_and(|m| m.is_dir()) {
                let dir = dir.display().to_string();
                return Err(Why::ours(Word::HostNoFolder, [dir.into()]));
            }
        }
        drop(dir);
        let path = self.absolute(rel);
        let meta = match fs::symlink_metadata(&path) {
            Ok(meta) => Some(meta),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(say(e)),
        };
        let same = match (node, &meta) {
            (None, None) => true,
            (None, Some(_)) => return Err(Word::CpElse.into()),
            (Some(Node::Dir { .. }), Some(meta)) => meta.is_dir(),
            (Some(Node::Link { target }), Some(meta)) => {
                let now = fs::read_link(&path).map(|t| t.into_os_string().into_encoded_bytes());
                meta.is_symlink() && now.is_ok_and(|now| now == *target)
            }
            (Some(Node::File { mode, hash, size }), Some(meta)) => {
                let mark = raw::mark(meta);
                // A removed hard link of it changes the mark alone.
                let equal =
                    || mark.mode == *mode && mark.size == *size && content(&path) == Some(*hash);
                meta.is_file() && (self.mark(rel) == Some(mark) || equal())
            }
            (Some(_), None) => false,
        };
        if same {
            Ok(())
        } else {
            Err(Word::CpChangedNow.into())
        }
    }

    fn mark(&self, rel: &[u8]) -> Option<raw::Mark> {
        let (dir, name) = match rel.iter().rposition(|b| *b == b'/') {
            Some(at) => (rel.get(..at)?, rel.get(at + 1..)?),
            None => (&[][..], rel),
        };
        let names = &self.marks.dirs.get(dir)?.names;
        let at = names.binary_search_by(|k| (*k.name).cmp(name)).ok()?;
        names.get(at).map(|k| k.mark)
    }

    /// Lets us change names in the folder of a path; its own mode comes back at the end.
    fn open_up(&mut self, rel: &[u8]) -> io::Result<()> {
        let Some(end) = rel.iter().rposition(|b| *b == b'/') else {
            return Ok(());
        };
        let dir = rel.get(..end).unwrap_or_default().to_vec();
        let path = self.absolute(&dir);
        let mode = raw::mark(&fs::symlink_metadata(&path)?).mode;
        if cfg!(unix) && mode & OWNER_CHANGES != OWNER_CHANGES {
            raw::set_mode(&path, mode | OWNER_ALL)?;
            self.modes.entry(dir).or_insert(mode);
        }
        Ok(())
    }

    fn absolute(&self, rel: &[u8]) -> PathBuf {
        self.root.join(raw::name(rel))
    }
}

fn content(path: &Path) -> Option<Hash> {
    let mut file = raw::open(path).ok()?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; PIECE];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(digest.finalize().into()),
            count => digest.update(buffer.get(..count)?),
        }
    }
}

fn temp_beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(
        "{TEMP_BEGINS}{}-{number}{TEMP_ENDS}",
        std::process::id()
    ))
}

/// Whether a name is one that `temp_beside` gives.
pub fn is_temp(name: &[u8]) -> bool {
    let inner = name.strip_prefix(TEMP_BEGINS.as_bytes());
    inner
        .and_then(|rest| rest.strip_suffix(TEMP_ENDS.as_bytes()))
        .is_some_and(|inner| {
            !inner.is_empty() && inner.iter().all(|b| b.is_ascii_digit() || *b == b'-')
        })
}

fn tidy(made: Tried, temp: &Path) -> Tried {
    if made.is_err() {
        // The first failure is the one to tell.
        let _gone = fs::remove_file(temp);
    }
    made
}

fn say(error: io::Error) -> Why {
    (&error).into()
}
