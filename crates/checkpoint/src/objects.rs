//! Reads objects of a git repository from its files: single ones, and those in packs with their deltas. Git is not run, and
//! nothing of the repository's settings is looked at. Objects that another repository lends are not found.

use super::git::open_regular;
use flate2::read::ZlibDecoder;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of one object; a larger one counts as not there.
const MAX_OBJECT: u64 = 256 << 20;
/// Deltas on deltas.
const MAX_CHAIN: usize = 4_096;
/// Bytes of objects that are remembered, since the next delta is often on one of them.
const MAX_KNOWN: usize = 32 << 20;
const INDEX_MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FANOUT: u64 = 8;
const FANOUT_BYTES: u64 = 256 * 4;

/// The name of an object, as bytes.
pub type Id = Vec<u8>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl Kind {
    fn of(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Commit,
            2 => Self::Tree,
            3 => Self::Blob,
            4 => Self::Tag,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    fn named(name: &[u8]) -> Option<Self> {
        let all = [Self::Commit, Self::Tree, Self::Blob, Self::Tag];
        all.into_iter().find(|kind| kind.name().as_bytes() == name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub kind: Kind,
    pub data: Vec<u8>,
}

impl Object {
    /// The bytes of a file that holds this object alone.
    pub fn as_file(&self) -> Option<Vec<u8>> {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        let head = format!("{} {}\0", self.kind.name(), self.data.len());
        out.write_all(head.as_bytes()).ok()?;
        out.write_all(&self.data).ok()?;
        out.finish().ok()
    }
}

struct Pack {
    index: File,
    data: File,
    /// Objects in it.
    count: u64,
    /// Bytes of a name.
    width: u64,
    known: HashMap<u64, Object>,
    known_bytes: usize,
}

/// The objects of one repository.
pub struct Objects {
    folder: PathBuf,
    packs: Vec<Pack>,
}

impl Objects {
    /// `folder` is the one named `objects`; `width` the bytes of a name.
    pub fn open(folder: &Path, width: usize) -> Self {
        let files = fs::read_dir(folder.join("pack")).into_iter().flatten();
        let paths = files.flatten().map(|file| file.path());
        let indexes = paths.filter(|path| path.extension().is_some_and(|e| e == "idx"));
        Self {
            folder: folder.to_owned(),
            packs: indexes
                .filter_map(|path| Pack::open(&path, width as u64))
                .collect(),
        }
    }

    pub fn has(&mut self, id: &[u8]) -> bool {
        self.file_of(id).is_file() || self.packs.iter_mut().any(|pack| pack.find(id).is_some())
    }

    /// `None` where it is not there, damaged or too large.
    pub fn read(&mut self, id: &[u8]) -> Option<Object> {
        if let Some(object) = read_file(&self.file_of(id)) {
            return Some(object);
        }
        let at = self.packs.iter_mut().enumerate();
        let found = at.filter_map(|(n, pack)| Some((n, pack.find(id)?))).next();
        let (number, offset) = found?;
        self.unpack(number, offset, 0)
    }

    fn file_of(&self, id: &[u8]) -> PathBuf {
        let name = ostler_wire::hex::hex(id);
        let (folder, rest) = name.split_at_checked(2).unwrap_or((&name, ""));
        self.folder.join(folder).join(rest)
    }

    fn unpack(&mut self, number: usize, offset: u64, depth: usize) -> Option<Object> {
        if depth > MAX_CHAIN {
            return None;
        }
        let pack = self.packs.get_mut(number)?;
        if let Some(known) = pack.known.get(&offset) {
            return Some(known.clone());
        }
        let (kind, size, at) = pack.head(offset)?;
        let object = match kind {
            6 => {
                let (back, at) = pack.distance(at)?;
                let delta = pack.inflate(at, size)?;
                let base = self.unpack(number, offset.checked_sub(back)?, depth + 1)?;
                patched(&base, &delta)?
            }
            7 => {
                let width = pack.width;
                let base = read_at(&mut pack.data, at, width)?;
                let delta = pack.inflate(at + width, size)?;
                let base = match pack.find(&base) {
                    Some(offset) => self.unpack(number, offset, depth + 1)?,
                    None => self.read(&base)?,
                };
                patched(&base, &delta)?
            }
            kind => Object {
                kind: Kind::of(kind)?,
                data: pack.inflate(at, size)?,
            },
        };
        self.packs.get_mut(number)?.remember(offset, &object);
        Some(object)
    }
}

impl Pack {
    fn open(path: &Path, width: u64) -> Option<Self> {
        let mut index = open_regular(path)?;
        let data = open_regular(&path.with_extension("pack"))?;
        if read_at(&mut index, 0, FANOUT)? != INDEX_MAGIC {
            return None;
        }
        let count = u32_at(&mut index, FANOUT + FANOUT_BYTES - 4)?;
        Some(Self {
            index,
            data,
            count: count.into(),
            width,
            known: HashMap::new(),
            known_bytes: 0,
        })
    }

    /// Where in the pack an object begins.
    fn find(&mut self, id: &[u8]) -> Option<u64> {
        let first = u64::from(*id.first()?);
        let (names, index) = (FANOUT + FANOUT_BYTES, &mut self.index);
        let mut low = match first {
            0 => 0,
            first => u64::from(u32_at(index, FANOUT + (first - 1) * 4)?),
        };
        let mut high = u64::from(u32_at(index, FANOUT + first * 4)?).min(self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let name = read_at(index, names + middle * self.width, self.width)?;
            match name.as_slice().cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle),
            }
        }
        None
    }

    fn offset(&mut self, number: u64) -> Option<u64> {
        // Names and checksums come before.
        let offsets = FANOUT + FANOUT_BYTES + self.count * (self.width + 4);
        let small = u32_at(&mut self.index, offsets + number * 4)?;
        if small & 0x8000_0000 == 0 {
            return Some(small.into());
        }
        let large = offsets + self.count * 4 + u64::from(small & 0x7fff_ffff) * 8;
        let bytes = read_at(&mut self.index, large, 8)?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }

    /// The kind and size of the entry at an offset, and where its content begins.
    fn head(&mut self, offset: u64) -> Option<(u8, u64, u64)> {
        let (mut byte, mut at) = (self.byte(offset)?, offset + 1);
        let kind = byte >> 4 & 7;
        let (mut size, mut shift) = (u64::from(byte & 15), 4);
        while byte & 0x80 != 0 {
            byte = self.byte(at)?;
            size |= u64::from(byte & 0x7f).checked_shl(shift)?;
            (at, shift) = (at + 1, shift + 7);
        }
        (size <= MAX_OBJECT).then_some((kind, size, at))
    }

    /// How far before its delta an object begins, and where the delta does.
    fn distance(&mut self, at: u64) -> Option<(u64, u64)> {
        let (mut byte, mut at) = (self.byte(at)?, at + 1);
        let mut back = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte(at)?;
            back = back.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
            at += 1;
        }
        Some((back, at))
    }

    fn byte(&mut self, at: u64) -> Option<u8> {
        read_at(&mut self.data, at, 1)?.first().copied()
    }

    fn inflate(&mut self, at: u64, size: u64) -> Option<Vec<u8>> {
        self.data.seek(SeekFrom::Start(at)).ok()?;
        let mut out = Vec::new();
        let decoder = ZlibDecoder::new(std::io::BufReader::new(&self.data));
        decoder.take(size).read_to_end(&mut out).ok()?;
        (out.len() as u64 == size).then_some(out)
    }

    fn remember(&mut self, offset: u64, object: &Object) {
        let bytes = object.data.len();
        if bytes > MAX_KNOWN / 16 {
            return;
        }
        if self.known_bytes + bytes > MAX_KNOWN {
            self.known.clear();
            self.known_bytes = 0;
        }
        self.known_bytes += bytes;
        self.known.insert(offset, object.clone());
    }
}

fn read_at(file: &mut File, at: u64, count: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(count).ok()?];
    file.seek(SeekFrom::Start(at)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn u32_at(file: &mut File, at: u64) -> Option<u32> {
    Some(u32::from_be_bytes(read_at(file, at, 4)?.try_into().ok()?))
}

fn read_file(path: &Path) -> Option<Object> {
    let mut bytes = Vec::new();
    let decoder = ZlibDecoder::new(open_regular(path)?);
    decoder.take(MAX_OBJECT + 64).read_to_end(&mut bytes).ok()?;
    let end = memchr::memchr(0, &bytes)?;
    let (head, data) = (bytes.get(..end)?, bytes.get(end + 1..)?);
    let space = memchr::memchr(b' ', head)?;
    let size: usize = std::str::from_utf8(head.get(space + 1..)?)
        .ok()?
        .parse()
        .ok()?;
    let kind = Kind::named(head.get(..space)?)?;
    (data.len() == size).then(|| Object {
        kind,
        data: data.to_vec(),
    })
}

/// What a delta makes of its base.
fn patched(base: &Object, delta: &[u8]) -> Option<Object> {
    let mut read = Delta { bytes: delta };
    let (from, to) = (read.size()?, read.size()?);
    if from != base.data.len() as u64 || to > MAX_OBJECT {
        return None;
    }
    let mut out = Vec::with_capacity(usize::try_from(to).ok()?);
    while let Some(step) = read.byte() {
        if step & 0x80 == 0 {
            let (new, rest) = read.bytes.split_at_checked(step.into())?;
            // A step of no length is not one of ours.
            out.extend_from_slice(Some(new).filter(|new| !new.is_empty())?);
            read.bytes = rest;
            continue;
        }
        let offset = read.number(step, 4)?;
        let count = match read.number(step >> 4, 3)? {
            0 => 0x1_0000,
            count => count,
        };
        out.extend_from_slice(base.data.get(offset..offset.checked_add(count)?)?);
        if out.len() as u64 > to {
            return None;
        }
    }
    let kind = base.kind;
    (out.len() as u64 == to).then_some(Object { kind, data: out })
}

struct Delta<'a> {
    bytes: &'a [u8],
}

impl Delta<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn size(&mut self) -> Option<u64> {
        let (mut size, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            size |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(size);
            }
        }
    }

    /// A number of which only the bytes are written that are named in `present`.
    fn number(&mut self, present: u8, count: u32) -> Option<usize> {
        let mut number = 0;
        for place in 0..count {
            if present & 1 << place != 0 {
                number |= usize::from(self.byte()?) << (8 * place);
            }
        }
        Some(number)
    }
}
