//! What is known of a folder of facts without reading it: for each file its id and the hashes of its terms, never its text.
//! A copy lies in the cache, so that thousands of facts cost a new process no more than a few. It can be deleted.

use super::fact::Fact;
use super::folder::{FactFolder, Listed, Stamp};
use super::terms::{self, BODY, DESCRIPTION, NAME};
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::path::Path;

/// Folders with as many facts are looked through each time; larger ones when their own time of change says so.
const LOOK_THROUGH: usize = 300;
/// Facts from which on the copy in the cache is worth it.
const KEPT_FROM: usize = 100;
/// Goes up whenever the form or the terms change.
const MAGIC: &[u8; 8] = b"ostlmem2";
/// Bytes of a copy that are read.
const MAX_COPY: u64 = 256 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doc {
    pub file: String,
    pub id: String,
    pub stamp: Stamp,
    pub state: State,
    /// All that its terms count, together.
    pub length: u32,
    terms: Range<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Good,
    /// It cannot be read as a fact.
    Faulty,
    /// A file before it has its id.
    Double,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    pub docs: Vec<Doc>,
    hashes: Vec<u32>,
    weights: Vec<u8>,
    /// Of the folder when it was listed.
    stamp: u64,
    /// Files of the folder beyond those that are known.
    pub surplus: usize,
}

/// How closely a folder is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// As far as it costs next to nothing.
    Quick,
    /// Every file.
    Whole,
}

impl Index {
    /// The terms of a fact, and what each counts.
    pub fn terms(&self, doc: &Doc) -> impl Iterator<Item = (u32, u8)> {
        let hashes = self.hashes.get(doc.terms.clone()).unwrap_or_default();
        let weights = self.weights.get(doc.terms.clone()).unwrap_or_default();
        hashes.iter().copied().zip(weights.iter().copied())
    }

    pub fn find(&self, id: &str) -> Option<&Doc> {
        let mut good = self.docs.iter().filter(|doc| doc.state == State::Good);
        good.find(|doc| doc.id == id)
    }

    /// Takes in what changed in the folder. Whether anything did.
    pub fn refresh(&mut self, shelf: &FactFolder, look: Look) -> io::Result<bool> {
        let Some(stamp) = shelf.stamp()? else {
            let had = !self.docs.is_empty();
            *self = Self::default();
            return Ok(had);
        };
        let same = stamp != 0 && stamp == self.stamp;
        if same && look == Look::Quick && self.docs.len() > LOOK_THROUGH {
            return Ok(false);
        }
        let (listed, surplus) = shelf.list()?;
        let same_rest = self.surplus == surplus;
        (self.stamp, self.surplus) = (stamp, surplus);
        let is_known = |(doc, now): (&Doc, &Listed)| {
            doc.file == now.file && doc.stamp == now.stamp && now.stamp.is_known()
        };
        if listed.len() == self.docs.len() && self.docs.iter().zip(&listed).all(is_known) {
            return Ok(!same_rest);
        }
        self.rebuild(shelf, listed);
        Ok(true)
    }

    fn rebuild(&mut self, shelf: &FactFolder, listed: Vec<Listed>) {
        let old = std::mem::take(self);
        let known: HashMap<&str, &Doc> = old.docs.iter().map(|d| (d.file.as_str(), d)).collect();
        (self.stamp, self.surplus) = (old.stamp, old.surplus);
        for now in listed {
            let before = known.get(now.file.as_str());
            let before = before.filter(|doc| doc.stamp == now.stamp && now.stamp.is_known());
            match before {
                Some(doc) => {
                    let terms: Vec<(u32, u8)> = old.terms(doc).collect();
                    let state = match doc.state {
                        State::Faulty => State::Faulty,
                        State::Good | State::Double => State::Good,
                    };
                    self.push(now.file, now.stamp, (doc.id.clone(), state), &terms);
                }
                None => {
                    let read = match now.fault {
                        Some(_) => None,
                        None => shelf.read(&now.file).ok(),
                    };
                    match read {
                        Some((fact, _)) => {
                            let terms = terms_of(&fact);
                            self.push(now.file, now.stamp, (fact.id, State::Good), &terms);
                        }
                        None => {
                            let none = (String::new(), State::Faulty);
                            self.push(now.file, now.stamp, none, &[]);
                        }
                    }
                }
            }
        }
        let mut ids = HashSet::new();
        for doc in self.docs.iter_mut().filter(|d| d.state == State::Good) {
            if !ids.insert(doc.id.clone()) {
                doc.state = State::Double;
            }
        }
    }

    fn push(
        &mut self,
        file: String,
        stamp: Stamp,
        (id, state): (String, State),
        terms: &[(u32, u8)],
    ) {
        let start = self.hashes.len();
        self.hashes.extend(terms.iter().map(|(hash, _)| hash));
        self.weights.extend(terms.iter().map(|(_, weight)| weight));
        self.docs.push(Doc {
            file,
            id,
            stamp,
            state,
            length: terms.iter().map(|(_, weight)| u32::from(*weight)).sum(),
            terms: start..self.hashes.len(),
        });
    }

    /// The copy in the cache; an empty one when there is none, or it is broken.
    pub fn load(path: &Path) -> Self {
        let read = || {
            let meta = std::fs::metadata(path).ok()?;
            let bytes = (meta.len() <= MAX_COPY).then(|| std::fs::read(path).ok())??;
            decode(&bytes)
        };
        read().unwrap_or_default()
    }

    /// Keeps a copy where that is worth it. One that cannot be kept is made again.
    pub fn keep(&self, path: &Path) {
        if self.docs.len() < KEPT_FROM {
            let _ = std::fs::remove_file(path);
            return;
        }
        let Some(dir) = path.parent() else { return };
        let write = || -> io::Result<()> {
            ostler_files::private_dir(dir)?;
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            io::Write::write_all(&mut file, &self.encode())?;
            file.persist(path).map_err(|e| e.error)?;
            Ok(())
        };
        let _ = write();
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(self.stamp.to_le_bytes());
        out.extend((self.surplus as u64).to_le_bytes());
        out.extend((self.docs.len() as u64).to_le_bytes());
        let text = |out: &mut Vec<u8>, text: &str| {
            // Names of files are shorter than that.
            let bytes = text.as_bytes();
            let len = u16::try_from(bytes.len()).unwrap_or(0);
            out.extend(len.to_le_bytes());
            out.extend(bytes.get(..usize::from(len)).unwrap_or_default());
        };
        for doc in &self.docs {
            text(&mut out, &doc.file);
            text(&mut out, &doc.id);
            out.extend(doc.stamp.modified.to_le_bytes());
            out.extend(doc.stamp.len.to_le_bytes());
            out.push(match doc.state {
                State::Good => 0,
                State::Faulty => 1,
                State::Double => 2,
            });
            out.extend((doc.terms.len() as u32).to_le_bytes());
        }
        out.extend(&self.weights);
        out.extend(self.hashes.iter().flat_map(|hash| hash.to_le_bytes()));
        let sum = checksum(&out);
        out.extend(sum.to_le_bytes());
        out
    }
}

pub fn terms_of(fact: &Fact) -> Vec<(u32, u8)> {
    terms::weighed(&[
        (&fact.name, NAME),
        (&fact.description, DESCRIPTION),
        (&fact.body, BODY),
    ])
}

/// What is left to read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let len = self.array().map(u16::from_le_bytes)?;
        let bytes = self.take(usize::from(len))?;
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    }
}

fn decode(bytes: &[u8]) -> Option<Index> {
    let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
    if checksum(body) != u64::from_le_bytes(sum.try_into().ok()?) {
        return None;
    }
    let mut bytes = Bytes(body);
    if bytes.take(MAGIC.len())? != MAGIC {
        return None;
    }
    let mut index = Index {
        stamp: bytes.u64()?,
        surplus: usize::try_from(bytes.u64()?).ok()?,
        ..Index::default()
    };
    let count = bytes.u64()?;
    let mut at = 0;
    for _ in 0..count {
        let (file, id) = (bytes.text()?, bytes.text()?);
        let stamp = Stamp {
            modified: bytes.u64()?,
            len: bytes.u64()?,
        };
        let state = match bytes.array::<1>()? {
            [0] => State::Good,
            [1] => State::Faulty,
            [_] => State::Double,
        };
        let terms = u32::from_le_bytes(bytes.array()?) as usize;
        index.docs.push(Doc {
            file,
            id,
            stamp,
            state,
            length: 0,
            terms: at..at + terms,
        });
        at += terms;
    }
    index.weights = bytes.take(at)?.to_vec();
    let hashes = bytes.take(at.checked_mul(4)?)?;
    let hash = |chunk: &[u8]| chunk.try_into().map(u32::from_le_bytes);
    let hashes: Result<Vec<u32>, _> = hashes.chunks_exact(4).map(hash).collect();
    index.hashes = hashes.ok()?;
    for doc in &mut index.docs {
        let weights = index.weights.get(doc.terms.clone())?;
        doc.length = weights.iter().map(|weight| u32::from(*weight)).sum();
    }
    Some(index)
}

/// Finds what a bad disk did; it keeps nobody from lying.
fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        if let Some(place) = word.get_mut(..chunk.len()) {
            place.copy_from_slice(chunk);
        }
        sum = (sum.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_reads_back_or_is_nothing() {
        let mut index = Index {
            stamp: 7,
            surplus: 3,
            ..Index::default()
        };
        let stamp = Stamp {
            modified: 5,
            len: 6,
        };
        for n in 0..5u32 {
            let terms = [(n, 1), (n + 10, 200)];
            index.push(
                format!("{n}-中.md"),
                stamp,
                (format!("id{n}"), State::Good),
                &terms,
            );
        }
        index.push("bad.md".into(), stamp, (String::new(), State::Faulty), &[]);
        let bytes = index.encode();
        assert_eq!(decode(&bytes), Some(index));
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), None, "{cut}");
            let mut garbled = bytes.clone();
            garbled[cut] ^= 0x41;
            assert_eq!(decode(&garbled), None, "{cut}");
        }
    }
}
