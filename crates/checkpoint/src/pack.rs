//! Content by its hash, in a few append-once files: `packs/<n>.pack` holds the bytes one after another and ends with an
//! index of them. A pack is there whole or not at all. What it holds is kept as it is: no filter, no compression.

use super::disk::Disk;
use super::sparse::Unpack;
use super::tree::{Hash, Reader};
use super::{Error, Result, TEMP};
use ostler_wire::Word;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"ostlerP1";
/// Hash, offset and length.
const INDEX_ROW: usize = 32 + 8 + 8;
/// Rows, digest of the index, magic.
const TRAILER: usize = 8 + 8 + 8;
/// Bytes collected before they are written.
const BUFFER: usize = 1 << 18;
/// An index larger than this is not ours.
const MAX_INDEX: u64 = 1 << 31;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub pack: u64,
    pub offset: u64,
    pub len: u64,
}

pub fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// The packs of a store, opened to read.
pub struct Packs {
    dir: PathBuf,
    /// Number and bytes of each pack.
    pub list: Vec<(u64, u64)>,
    index: Option<HashMap<Hash, Place>>,
    open: HashMap<u64, File>,
}

impl Packs {
    pub fn open(dir: &Path) -> Result<Self> {
        let mut list = Vec::new();
        match fs::read_dir(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io(Word::HostRead, dir, e)),
            Ok(files) => {
                for file in files.flatten() {
                    let name = file.file_name();
                    let number = name
                        .to_str()
                        .and_then(|n| n.strip_suffix(".pack"))
                        .and_then(|n| n.parse().ok());
                    if let (Some(number), Ok(meta)) = (number, file.metadata()) {
                        list.push((number, meta.len()));
                    }
                }
            }
        }
        list.sort_unstable();
        Ok(Self {
            dir: dir.to_owned(),
            list,
            index: None,
            open: HashMap::new(),
        })
    }

    pub fn bytes(&self) -> u64 {
        self.list.iter().map(|(_, bytes)| bytes).sum()
    }

    pub fn path(&self, pack: u64) -> PathBuf {
        self.dir.join(format!("{pack}.pack"))
    }

    pub fn find(&mut self, hash: &Hash) -> Option<Place> {
        self.index().get(hash).copied()
    }

    /// Where everything is. A pack that cannot be read is as good as gone: what it held is stored anew.
    pub fn index(&mut self) -> &HashMap<Hash, Place> {
        let (dir, list) = (&self.dir, &self.list);
        self.index.get_or_insert_with(|| {
            let mut all = HashMap::new();
            for (pack, _) in list {
                let path = dir.join(format!("{pack}.pack"));
                for (hash, offset, len) in read_index(&path).unwrap_or_default() {
                    let pack = *pack;
                    all.insert(hash, Place { pack, offset, len });
                }
            }
            all
        })
    }

    /// Content that is what its hash says.
    pub fn read(&mut self, hash: &Hash) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.copy(hash, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// The content of a file of this size, and where each piece of it belongs. Between them is nothing but zeros.
    pub fn copy_file(
        &mut self,
        hash: &Hash,
        size: u64,
        put: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<()> {
        if self.find(hash).is_some_and(|place| place.len != size) {
            let mut unpack = Unpack::new(size, put);
            return self.copy(hash, &mut |piece| unpack.add(piece));
        }
        let mut at = 0;
        self.copy(hash, &mut |piece| {
            put(at, piece)?;
            at += piece.len() as u64;
            Ok(())
        })
    }

    /// The same at once.
    pub fn read_file(&mut self, hash: &Hash, size: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        self.copy_file(hash, size, &mut |at, piece| {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            let place = bytes.get_mut(at..at.saturating_add(piece.len()));
            let place = place.ok_or(io::ErrorKind::InvalidData)?;
            place.copy_from_slice(piece);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Hands content on piece by piece, and fails at its end if it is not what its hash says.
    pub fn copy(&mut self, hash: &Hash, to: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<()> {
        let damaged = || Error::Damaged(format!("content {}", ostler_wire::hex::short(hash, 6)));
        let place = self.find(hash).ok_or_else(damaged)?;
        let path = self.path(place.pack);
        let fail = |e| Error::io(Word::HostRead, &path, e);
        let file = match self.open.entry(place.pack) {
            std::collections::hash_map::Entry::Occupied(slot) => slot.into_mut(),
            std::collections::hash_map::Entry::Vacant(slot) => {
                slot.insert(File::open(&path).map_err(fail)?)
            }
        };
        file.seek(SeekFrom::Start(place.offset)).map_err(fail)?;
        let mut digest = Sha256::new();
        let mut left = place.len;
        let mut buffer = vec![0; BUFFER.min(usize::try_from(left).unwrap_or(BUFFER)).max(1)];
        while left > 0 {
            let most = buffer.len().min(usize::try_from(left).unwrap_or(BUFFER));
            let piece = buffer.get_mut(..most).unwrap_or_default();
            file.read_exact(piece).map_err(|_| damaged())?;
            digest.update(&*piece);
            to(piece).map_err(fail)?;
            left -= piece.len() as u64;
        }
        if Hash::from(digest.finalize()) == *hash {
            Ok(())
        } else {
            Err(damaged())
        }
    }
}

fn read_index(path: &Path) -> Option<Vec<(Hash, u64, u64)>> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.checked_sub(TRAILER as u64)?))
        .ok()?;
    let mut trailer = [0; TRAILER];
    file.read_exact(&mut trailer).ok()?;
    let mut read = Reader { bytes: &trailer };
    let (rows, digest) = (read.u64()?, read.take(8)?);
    let bytes = rows
        .checked_mul(INDEX_ROW as u64)
        .filter(|b| *b <= MAX_INDEX)?;
    if read.bytes != MAGIC {
        return None;
    }
    let start = size.checked_sub(TRAILER as u64)?.checked_sub(bytes)?;
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut index = vec![0; usize::try_from(bytes).ok()?];
    file.read_exact(&mut index).ok()?;
    if hash(&index).get(..8)? != digest {
        return None;
    }
    let mut read = Reader { bytes: &index };
    let mut out = Vec::new();
    while let Some(hash) = read.hash() {
        let (offset, len) = (read.u64()?, read.u64()?);
        if offset.checked_add(len).is_none_or(|end| end > start) {
            return None;
        }
        out.push((hash, offset, len));
    }
    Some(out)
}

/// A pack in the making. Dropped, it leaves nothing.
pub struct Writer {
    disk: Disk,
    number: u64,
    temp: PathBuf,
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
    /// Bytes before the buffer.
    flushed: u64,
    rows: Vec<(Hash, u64, u64)>,
    known: HashMap<Hash, u64>,
}

impl Writer {
    pub fn new(packs: &Packs, disk: &Disk) -> Self {
        let number = packs.list.last().map_or(1, |(n, _)| n + 1);
        let path = packs.path(number);
        Self {
            disk: disk.clone(),
            number,
            temp: path.with_extension(TEMP),
            path,
            file: None,
            buffer: Vec::new(),
            flushed: 0,
            rows: Vec::new(),
            known: HashMap::new(),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    pub fn has(&self, hash: &Hash) -> bool {
        self.known.contains_key(hash)
    }

    pub fn put(&mut self, hash: Hash, bytes: &[u8]) -> Result<()> {
        let start = self.bytes();
        self.append(bytes)?;
        self.close(hash, start);
        Ok(())
    }

    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// What was appended since `start` is this content.
    pub fn close(&mut self, hash: Hash, start: u64) {
        let len = self.bytes().saturating_sub(start);
        self.rows.push((hash, start, len));
        self.known.insert(hash, len);
    }

    /// Forgets what was appended since `start`.
    pub fn back_to(&mut self, start: u64) -> Result<()> {
        if let Some(keep) = start.checked_sub(self.flushed) {
            self.buffer
                .truncate(usize::try_from(keep).unwrap_or(usize::MAX));
            return Ok(());
        }
        self.buffer.clear();
        self.flushed = start;
        let fail = |e| Error::io(Word::HostWrite, &self.temp, e);
        if let Some(file) = &mut self.file {
            file.set_len(start).map_err(fail)?;
            file.seek(SeekFrom::Start(start)).map_err(fail)?;
        }
        Ok(())
    }

    /// Puts the pack in place; the number and bytes of it, unless there was nothing to keep.
    pub fn finish(mut self) -> Result<Option<(u64, u64)>> {
        if self.rows.is_empty() {
            return Ok(None);
        }
        let mut index = Vec::with_capacity(self.rows.len() * INDEX_ROW);
        for (hash, offset, len) in &self.rows {
            index.extend(hash);
            index.extend(offset.to_le_bytes());
            index.extend(len.to_le_bytes());
        }
        let digest = hash(&index);
        self.append(&index)?;
        let mut trailer = (self.rows.len() as u64).to_le_bytes().to_vec();
        trailer.extend(digest.get(..8).unwrap_or_default());
        trailer.extend(MAGIC);
        self.append(&trailer)?;
        self.flush()?;
        self.disk
            .rename(&self.temp, &self.path)
            .map_err(|e| Error::io(Word::HostWrite, &self.path, e))?;
        self.file = None;
        Ok(Some((self.number, self.flushed)))
    }

    fn flush(&mut self) -> Result<()> {
        let fail = |e| Error::io(Word::HostWrite, &self.temp, e);
        let file = match &mut self.file {
            Some(file) => file,
            empty @ None => {
                if let Some(dir) = self.temp.parent() {
                    ostler_files::private_dir(dir)
                        .map_err(|e| Error::io(Word::HostMakeFolder, dir, e))?;
                }
                empty.insert(self.disk.create(&self.temp).map_err(fail)?)
            }
        };
        self.disk.write(file, &self.buffer).map_err(fail)?;
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.file.is_some() {
            // The next one to write sweeps what could not be removed.
            let _gone = self.disk.remove(&self.temp);
        }
    }
}
