//! A folder as bytes: its names in order with what they are. Folders are kept by the hash of these bytes, so equal
//! trees have equal hashes and are stored once.

use super::{Error, Result};
use std::collections::BTreeMap;

/// Under which a content is kept.
pub type Hash = [u8; 32];

/// Folders in folders that are walked; deeper ones are left out.
pub const MAX_DEPTH: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    File { mode: u32, size: u64, hash: Hash },
    Dir { mode: u32, hash: Hash },
    Link { target: Vec<u8> },
}

/// The names of one folder.
pub type Folder = Vec<(Vec<u8>, Node)>;

/// A path below the root, its parts joined by `/`.
pub type Rel = Vec<u8>;

/// What is at a path in one tree and in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub path: Rel,
    pub before: Option<Node>,
    pub after: Option<Node>,
}

pub fn encode(folder: &[(Vec<u8>, Node)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(folder.len() * 64);
    for (name, node) in folder {
        let kind = match node {
            Node::File { .. } => b'f',
            Node::Dir { .. } => b'd',
            Node::Link { .. } => b'l',
        };
        out.push(kind);
        chunk(&mut out, name);
        match node {
            Node::File { mode, size, hash } => {
                out.extend(mode.to_le_bytes());
                out.extend(size.to_le_bytes());
                out.extend(hash);
            }
            Node::Dir { mode, hash } => {
                out.extend(mode.to_le_bytes());
                out.extend(hash);
            }
            Node::Link { target } => chunk(&mut out, target),
        }
    }
    out
}

pub fn decode(bytes: &[u8]) -> Option<Folder> {
    let mut read = Reader { bytes };
    let mut folder = Vec::new();
    while !read.bytes.is_empty() {
        let kind = read.take(1)?.first().copied()?;
        let name = read.chunk()?.to_vec();
        let node = match kind {
            b'f' => Node::File {
                mode: read.u32()?,
                size: read.u64()?,
                hash: read.hash()?,
            },
            b'd' => Node::Dir {
                mode: read.u32()?,
                hash: read.hash()?,
            },
            b'l' => Node::Link {
                target: read.chunk()?.to_vec(),
            },
            _ => return None,
        };
        // A name that leads elsewhere is no name; a damaged store must not write outside the root.
        if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
            return None;
        }
        folder.push((name, node));
    }
    Some(folder)
}

/// Bytes with their length before them.
pub fn chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(bytes);
}

/// Reads what was written in order; `None` where it ends too soon.
pub struct Reader<'a> {
    pub bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(head)
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub fn i64(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub fn hash(&mut self) -> Option<Hash> {
        self.take(32)?.try_into().ok()
    }

    pub fn chunk(&mut self) -> Option<&'a [u8]> {
        let count = self.u32()?;
        self.take(usize::try_from(count).ok()?)
    }
}

/// All that differs, folders before what is in them. `load` gives the bytes of a folder.
pub fn diff(
    before: Option<&Hash>,
    after: Option<&Hash>,
    load: &mut dyn FnMut(&Hash) -> Result<Vec<u8>>,
) -> Result<Vec<Difference>> {
    let mut out = Vec::new();
    compare(&mut Vec::new(), 0, (before, after), load, &mut out)?;
    Ok(out)
}

fn compare(
    at: &mut Rel,
    depth: usize,
    (before, after): (Option<&Hash>, Option<&Hash>),
    load: &mut dyn FnMut(&Hash) -> Result<Vec<u8>>,
    out: &mut Vec<Difference>,
) -> Result<()> {
    if before == after || depth > MAX_DEPTH {
        return Ok(());
    }
    let mut both: BTreeMap<Vec<u8>, (Option<Node>, Option<Node>)> = BTreeMap::new();
    for (name, node) in folder(before, load)? {
        both.entry(name).or_default().0 = Some(node);
    }
    for (name, node) in folder(after, load)? {
        both.entry(name).or_default().1 = Some(node);
    }
    for (name, (before, after)) in both {
        if before == after {
            continue;
        }
        let length = at.len();
        join(at, &name);
        let below = (hash_of(before.as_ref()), hash_of(after.as_ref()));
        // Two folders that differ only in what is in them are the same folder.
        if !same_itself(before.as_ref(), after.as_ref()) {
            out.push(Difference {
                path: at.clone(),
                before,
                after,
            });
        }
        compare(
            at,
            depth + 1,
            (below.0.as_ref(), below.1.as_ref()),
            load,
            out,
        )?;
        at.truncate(length);
    }
    Ok(())
}

fn folder(hash: Option<&Hash>, load: &mut dyn FnMut(&Hash) -> Result<Vec<u8>>) -> Result<Folder> {
    let Some(hash) = hash else {
        return Ok(Vec::new());
    };
    decode(&load(hash)?)
        .ok_or_else(|| Error::Damaged(format!("folder {}", ostler_wire::hex::short(hash, 6))))
}

fn hash_of(node: Option<&Node>) -> Option<Hash> {
    match node {
        Some(Node::Dir { hash, .. }) => Some(*hash),
        Some(Node::File { .. } | Node::Link { .. }) | None => None,
    }
}

fn same_itself(before: Option<&Node>, after: Option<&Node>) -> bool {
    match (before, after) {
        (Some(Node::Dir { mode: a, .. }), Some(Node::Dir { mode: b, .. })) => a == b,
        (before, after) => before == after,
    }
}

pub fn join(at: &mut Rel, name: &[u8]) {
    if !at.is_empty() {
        at.push(b'/');
    }
    at.extend_from_slice(name);
}

/// The folder of a path and the name in it.
pub fn split(rel: &[u8]) -> (&[u8], &[u8]) {
    match rel.iter().rposition(|b| *b == b'/') {
        Some(at) => {
            let name = rel.get(at + 1..).unwrap_or_default();
            (rel.get(..at).unwrap_or_default(), name)
        }
        None => (&[], rel),
    }
}

/// Whether `path` is `top` or below it. The empty path is above all.
pub fn is_within(path: &[u8], top: &[u8]) -> bool {
    top.is_empty()
        || path
            .strip_prefix(top)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// A path in text, such that it can be read back: what is not UTF-8 becomes `\xNN`.
pub fn quote(path: &[u8]) -> String {
    let mut out = String::new();
    for piece in path.utf8_chunks() {
        out.push_str(&piece.valid().replace('\\', "\\\\"));
        for byte in piece.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

pub fn unquote(text: &str) -> Rel {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let (byte, skip) = match (first, after) {
            (b'\\', [b'x', high, low, ..]) => {
                let digits = [*high, *low];
                let byte = std::str::from_utf8(&digits)
                    .ok()
                    .and_then(|d| u8::from_str_radix(d, 16).ok());
                (byte.unwrap_or(b'?'), 3)
            }
            (b'\\', [b'\\', ..]) => (b'\\', 1),
            (byte, _) => (*byte, 0),
        };
        out.push(byte);
        rest = after.get(skip..).unwrap_or_default();
    }
    out
}
