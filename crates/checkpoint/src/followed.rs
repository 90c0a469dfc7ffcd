//! What earlier checkpoints have and ignore rules leave out by now: it is saved as long as it is there. Otherwise a new line
//! in an ignore file, or one name less in the index, would take a file out of all that can be brought back. What those had
//! only because it was named, though ignored already, is no part of it.

use super::pack::Packs;
use super::tree::Hash;
use super::tree::{self, Folder, Node, Rel, join, split};
use super::{Covers, Record};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Which kinds of things had a name.
#[derive(Clone, Copy, Debug, Default)]
struct Kinds {
    folder: bool,
    other: bool,
}

/// A folder of an earlier tree.
#[derive(Clone)]
struct Earlier {
    hash: Hash,
    /// Paths that were ignored at the time.
    named: Rc<BTreeSet<Rel>>,
}

impl Earlier {
    fn is(&self, other: &Self) -> bool {
        self.hash == other.hash && Rc::ptr_eq(&self.named, &other.named)
    }
}

type Names = Rc<BTreeMap<Vec<u8>, Kinds>>;

/// The trees of earlier checkpoints. Folders are read when they are asked for.
#[derive(Default)]
pub struct Followed {
    trees: Vec<Earlier>,
    folders: HashMap<Rel, Rc<Vec<Earlier>>>,
    names: HashMap<Rel, Names>,
    read: HashMap<Hash, Rc<Folder>>,
}

impl Followed {
    pub fn new<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let none: Rc<BTreeSet<Rel>> = Rc::default();
        let mut trees: Vec<Earlier> = Vec::new();
        for record in records.into_iter().filter(|it| it.covers == Covers::Tree) {
            let Ok(hash) = record.tree_hash() else {
                continue;
            };
            let named: BTreeSet<Rel> = record.named_paths().into_iter().collect();
            let named = match named.is_empty() {
                true => none.clone(),
                false => Rc::new(named),
            };
            let tree = Earlier { hash, named };
            if !trees.iter().any(|known| known.is(&tree)) {
                trees.push(tree);
            }
        }
        Self {
            trees,
            ..Self::default()
        }
    }

    /// Whether a folder, or else a file or link, was at this path. A folder of which nothing is followed is none.
    pub fn has(&mut self, path: &[u8], is_folder: bool, packs: &mut Packs) -> bool {
        if self.trees.is_empty() {
            return false;
        }
        let (above, name) = split(path);
        let kinds = self.names_in(above, packs);
        let kinds = kinds.get(name).copied().unwrap_or_default();
        match is_folder {
            true => kinds.folder && !self.names_in(path, packs).is_empty(),
            false => kinds.other,
        }
    }

    /// The names that a folder had.
    pub fn names(&mut self, folder: &[u8], packs: &mut Packs) -> BTreeSet<Vec<u8>> {
        match self.trees.is_empty() {
            true => BTreeSet::new(),
            false => self.names_in(folder, packs).keys().cloned().collect(),
        }
    }

    fn names_in(&mut self, folder: &[u8], packs: &mut Packs) -> Names {
        if let Some(known) = self.names.get(folder) {
            return known.clone();
        }
        let mut found: BTreeMap<Vec<u8>, Kinds> = BTreeMap::new();
        for earlier in self.earlier(folder, packs).iter() {
            for (name, node) in self.read(&earlier.hash, packs).iter() {
                if earlier.named.contains(&below(folder, name)) {
                    continue;
                }
                let kinds = found.entry(name.clone()).or_default();
                match node {
                    Node::Dir { .. } => kinds.folder = true,
                    Node::File { .. } | Node::Link { .. } => kinds.other = true,
                }
            }
        }
        let found = Rc::new(found);
        self.names.insert(folder.to_owned(), found.clone());
        found
    }

    /// The different states of a folder.
    fn earlier(&mut self, folder: &[u8], packs: &mut Packs) -> Rc<Vec<Earlier>> {
        if folder.is_empty() {
            return Rc::new(self.trees.clone());
        }
        if let Some(known) = self.folders.get(folder) {
            return known.clone();
        }
        let (above, name) = split(folder);
        let mut found: Vec<Earlier> = Vec::new();
        for earlier in self.earlier(above, packs).iter() {
            let all = self.read(&earlier.hash, packs);
            let at = all.binary_search_by(|(one, _)| one.as_slice().cmp(name));
            let node = at.ok().and_then(|at| all.get(at));
            let Some((_, Node::Dir { hash, .. })) = node else {
                continue;
            };
            let inner = Earlier {
                hash: *hash,
                named: earlier.named.clone(),
            };
            if !earlier.named.contains(folder) && !found.iter().any(|known| known.is(&inner)) {
                found.push(inner);
            }
        }
        let found = Rc::new(found);
        self.folders.insert(folder.to_owned(), found.clone());
        found
    }

    /// What is damaged or was deleted has nothing.
    fn read(&mut self, hash: &Hash, packs: &mut Packs) -> Rc<Folder> {
        if let Some(known) = self.read.get(hash) {
            return known.clone();
        }
        let bytes = packs.read(hash).ok();
        let folder = bytes.and_then(|bytes| tree::decode(&bytes));
        let folder = Rc::new(folder.unwrap_or_default());
        self.read.insert(*hash, folder.clone());
        folder
    }
}

fn below(folder: &[u8], name: &[u8]) -> Rel {
    let mut path = folder.to_owned();
    join(&mut path, name);
    path
}
