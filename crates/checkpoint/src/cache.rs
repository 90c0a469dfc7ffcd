//! What the last look at the tree found: the mark and hash of every file, so that the next look reads only what changed.
//! Disposable: without it everything is read once more. It vouches only for content in packs that are still there.

use super::disk::Disk;
use super::tree::Hash;
use super::tree::{Reader, Rel, chunk};
use ostler_files::raw::Mark;
use std::collections::HashMap;
use std::io;
use std::path::Path;

const MAGIC: &[u8; 8] = b"ostlerC1";
/// A cache file larger than this is not read.
const MAX_BYTES: u64 = 1 << 31;
/// A file this fresh when it was read may change again without a new mark: some clocks tick every two seconds.
const SETTLED: i64 = 2_000_000_000;

/// How a name was found, and so whether it would be found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No ignore rule speaks against it.
    Rules = 0,
    /// It was asked for by name, or is tracked.
    Wanted = 1,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub name: Box<[u8]>,
    pub kind: u8,
    pub reason: Reason,
    pub mark: Mark,
    pub hash: Hash,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDir {
    /// Fingerprint of the ignore rules that held there.
    pub rules: u64,
    pub tree: Hash,
    /// By name, in order.
    pub names: Vec<Known>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    /// When the look began, in nanoseconds since 1970.
    pub started: i64,
    /// Number and bytes of the packs it vouches for.
    pub packs: Vec<(u64, u64)>,
    pub dirs: HashMap<Rel, KnownDir>,
}

impl Cache {
    /// Empty when there is none, it is damaged, or a pack is missing.
    pub fn load(path: &Path, packs: &[(u64, u64)]) -> Self {
        let small = std::fs::metadata(path).is_ok_and(|m| m.len() <= MAX_BYTES);
        let bytes = small.then(|| std::fs::read(path).ok()).flatten();
        let cache = bytes.and_then(|bytes| decode(&bytes)).unwrap_or_default();
        if cache.packs.iter().all(|pack| packs.contains(pack)) {
            cache
        } else {
            Self::default()
        }
    }

    pub fn save(&self, path: &Path, disk: &Disk) -> io::Result<()> {
        disk.put(path, &encode(self))
    }

    /// Whether the mark shows that the content is still what was hashed.
    pub fn vouches(&self, known: &Known, mark: &Mark) -> bool {
        known.mark == *mark && mark.mtime.max(mark.ctime).saturating_add(SETTLED) < self.started
    }
}

fn encode(cache: &Cache) -> Vec<u8> {
    let names: usize = cache.dirs.values().map(|d| d.names.len()).sum();
    let mut out = Vec::with_capacity(64 + names * 112 + cache.dirs.len() * 96);
    out.extend(MAGIC);
    out.extend(cache.started.to_le_bytes());
    out.extend((cache.packs.len() as u64).to_le_bytes());
    for (pack, bytes) in &cache.packs {
        out.extend(pack.to_le_bytes());
        out.extend(bytes.to_le_bytes());
    }
    out.extend((cache.dirs.len() as u64).to_le_bytes());
    for (path, dir) in &cache.dirs {
        chunk(&mut out, path);
        out.extend(dir.rules.to_le_bytes());
        out.extend(dir.tree);
        out.extend((dir.names.len() as u64).to_le_bytes());
        for known in &dir.names {
            chunk(&mut out, &known.name);
            out.extend([known.kind, known.reason as u8]);
            out.extend(known.mark.size.to_le_bytes());
            out.extend(known.mark.mtime.to_le_bytes());
            out.extend(known.mark.ctime.to_le_bytes());
            out.extend(known.mark.inode.to_le_bytes());
            out.extend(known.mark.mode.to_le_bytes());
            out.extend(known.hash);
        }
    }
    // The end says that nothing is missing: a cache cut short must not be believed.
    out.extend(MAGIC);
    out
}

fn decode(bytes: &[u8]) -> Option<Cache> {
    let mut read = Reader {
        bytes: bytes.strip_prefix(MAGIC)?.strip_suffix(MAGIC)?,
    };
    let mut cache = Cache {
        started: read.i64()?,
        ..Cache::default()
    };
    for _ in 0..read.u64()? {
        cache.packs.push((read.u64()?, read.u64()?));
    }
    for _ in 0..read.u64()? {
        let path = read.chunk()?.to_vec();
        let (rules, tree) = (read.u64()?, read.hash()?);
        let mut names = Vec::new();
        for _ in 0..read.u64()? {
            names.push(known(&mut read)?);
        }
        cache.dirs.insert(path, KnownDir { rules, tree, names });
    }
    read.bytes.is_empty().then_some(cache)
}

fn known(read: &mut Reader<'_>) -> Option<Known> {
    let name = read.chunk()?.into();
    let (kind, reason) = match read.take(2)? {
        [kind, 0] => (*kind, Reason::Rules),
        [kind, 1] => (*kind, Reason::Wanted),
        _ => return None,
    };
    Some(Known {
        name,
        kind,
        reason,
        mark: Mark {
            size: read.u64()?,
            mtime: read.i64()?,
            ctime: read.i64()?,
            inode: read.u64()?,
            mode: read.u32()?,
        },
        hash: read.hash()?,
    })
}
