//! Making room: the oldest checkpoints go until the rest fits, then packs with much that nobody needs are written anew.
//! The newest checkpoint always stays.

use super::cache::Cache;
use super::pack::{Packs, Place, Writer};
use super::record::History;
use super::tree::Hash;
use super::tree::{self, Node};
use super::{Checkpoints, Error, Record, Result, record};
use ostler_wire::Word;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::io;

/// Checkpoints of a project; older ones go.
const MAX_CHECKPOINTS: usize = 2_000;
/// Packs that are looked through for one content; more are made into one.
const MAX_PACKS: usize = 128;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Checkpoints that are gone.
    pub removed: Vec<u64>,
    pub bytes_before: u64,
    pub bytes_after: u64,
}

impl Checkpoints {
    /// Makes the store fit into so many bytes, as far as the newest checkpoint lets it.
    pub fn gc(&self, quota: u64) -> Result<Collected> {
        let _lock = self.lock()?;
        self.collect(quota)
    }

    /// Whether it freed anything.
    pub(super) fn make_room(&self, quota: u64) -> Result<bool> {
        let collected = self.collect(quota)?;
        Ok(collected.bytes_after < collected.bytes_before)
    }

    /// Whether there are so many packs or checkpoints that looking through them takes time.
    pub(super) fn is_crowded(&self) -> Result<bool> {
        let packs = Packs::open(&self.packs_dir())?;
        Ok(packs.list.len() > MAX_PACKS || record::ids(&self.dir)?.len() > MAX_CHECKPOINTS)
    }

    pub(super) fn collect(&self, quota: u64) -> Result<Collected> {
        let mut packs = Packs::open(&self.packs_dir())?;
        let bytes_before = packs.bytes();
        let mut live = Live::default();
        let mut removed = Vec::new();
        let (mut count, mut full) = (0, false);
        for id in record::ids(&self.dir)?.into_iter().rev() {
            // One that cannot be read cannot be restored; it stays to be seen.
            let Ok(record) = record::read(&self.dir, id) else {
                continue;
            };
            full |= count >= MAX_CHECKPOINTS;
            if !full {
                let added = live.add(&mut packs, &record);
                full = count > 0 && live.bytes > quota;
                if full {
                    live.take_back(&mut packs, added);
                }
            }
            if full {
                removed.push(id);
            }
            count += 1;
        }
        for id in &removed {
            let path = record::path(&self.dir, *id);
            let gone = self.disk.remove(&path);
            gone.map_err(|e| Error::io(Word::CpRemove, &path, e))?;
        }
        self.drop_unneeded_caches(&live.hashes);
        let kept = self.rewrite(&mut packs, &live.hashes)?;
        Ok(Collected {
            removed,
            bytes_before,
            bytes_after: kept,
        })
    }

    /// A cache that vouches for content on its way out would lie.
    fn drop_unneeded_caches(&self, live: &HashSet<Hash>) {
        for path in self.cache_paths() {
            let packs = Packs::open(&self.packs_dir())
                .map(|p| p.list)
                .unwrap_or_default();
            let cache = Cache::load(&path, &packs);
            let holds = cache.dirs.values().all(|dir| {
                let own = dir.tree == Hash::default() || live.contains(&dir.tree);
                own && dir
                    .names
                    .iter()
                    .all(|k| k.kind == b'l' || live.contains(&k.hash))
            });
            if !holds {
                let _slower = self.disk.remove(&path);
            }
        }
    }

    /// Writes the live content of half-dead packs into a new one, then removes them. The bytes that are left.
    fn rewrite(&self, packs: &mut Packs, live: &HashSet<Hash>) -> Result<u64> {
        let mut needed: HashMap<u64, (u64, Vec<Hash>)> = HashMap::new();
        for (hash, Place { pack, len, .. }) in packs.index() {
            if live.contains(hash) {
                let (bytes, hashes) = needed.entry(*pack).or_default();
                *bytes += len;
                hashes.push(*hash);
            }
        }
        let crowded = packs.list.len() > MAX_PACKS;
        let old: Vec<(u64, u64)> = packs
            .list
            .iter()
            .filter(|(pack, bytes)| {
                let used = needed.get(pack).map_or(0, |(used, _)| *used);
                crowded || used < bytes / 2
            })
            .copied()
            .collect();
        let mut writer = Writer::new(packs, &self.disk);
        for (pack, _) in &old {
            let (_, mut hashes) = needed.remove(pack).unwrap_or_default();
            hashes.sort_unstable();
            for hash in hashes {
                carry(packs, &mut writer, hash)?;
            }
        }
        let mut list: Vec<(u64, u64)> = packs
            .list
            .iter()
            .filter(|p| !old.contains(p))
            .copied()
            .collect();
        list.extend(writer.finish()?);
        for (cache, path) in self.cache_paths().map(|path| {
            let cache = Cache::load(&path, &packs.list);
            (cache, path)
        }) {
            if !cache.dirs.is_empty() {
                self.save_caches(&list, &mut [(&mut { cache }, path)]);
            }
        }
        for (pack, _) in &old {
            let path = packs.path(*pack);
            let gone = self.disk.remove(&path);
            gone.map_err(|e| Error::io(Word::CpRemove, &path, e))?;
        }
        Ok(list.iter().map(|(_, bytes)| bytes).sum())
    }
}

/// Copies content into the pack in the making. What is damaged is lost already and stays behind.
fn carry(packs: &mut Packs, writer: &mut Writer, hash: Hash) -> Result<()> {
    let start = writer.bytes();
    let mut failed = None;
    let copied = packs.copy(&hash, &mut |piece| {
        writer.append(piece).map_err(|e| {
            failed = Some(e);
            io::Error::other("the pack cannot be written")
        })
    });
    match (failed, copied) {
        (Some(error), _) => Err(error),
        (None, Err(_)) => writer.back_to(start),
        (None, Ok(())) => {
            writer.close(hash, start);
            Ok(())
        }
    }
}

/// What the checkpoints that stay need.
#[derive(Default)]
struct Live {
    hashes: HashSet<Hash>,
    bytes: u64,
}

impl Live {
    /// The hashes that only this one needs.
    fn add(&mut self, packs: &mut Packs, record: &Record) -> Vec<Hash> {
        let history = record.history.as_ref();
        let tops = [
            record.tree_hash().ok(),
            record.git_hash().ok().flatten(),
            history.and_then(History::files_hash),
            history.and_then(History::objects_hash),
        ];
        let mut todo: Vec<Hash> = tops.into_iter().flatten().collect();
        let mut added = Vec::new();
        while let Some(hash) = todo.pop() {
            if !self.insert(packs, hash) {
                continue;
            }
            added.push(hash);
            let folder = packs.read(&hash).ok().and_then(|b| tree::decode(&b));
            for (_, node) in folder.unwrap_or_default() {
                match node {
                    Node::Dir { hash, .. } => todo.push(hash),
                    Node::File { hash, .. } => {
                        if self.insert(packs, hash) {
                            added.push(hash);
                        }
                    }
                    Node::Link { .. } => {}
                }
            }
        }
        added
    }

    fn insert(&mut self, packs: &mut Packs, hash: Hash) -> bool {
        let is_new = self.hashes.insert(hash);
        if is_new {
            self.bytes += packs.find(&hash).map_or(0, |p| p.len);
        }
        is_new
    }

    fn take_back(&mut self, packs: &mut Packs, hashes: Vec<Hash>) {
        for hash in hashes {
            self.hashes.remove(&hash);
            self.bytes -= packs.find(&hash).map_or(0, |p| p.len);
        }
    }
}
