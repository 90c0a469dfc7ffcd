//! One line of facts per checkpoint: `<id>.json` in the store. Once it is there, all that it points to is.

use super::git::Repository;
use super::heavy::Heavy;
use super::tree::Hash;
use super::tree::{Rel, unquote};
use super::{Error, Result, Stats, Why};
use ostler_wire::Word;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a checkpoint knows of the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The working tree, its git folder, and that of the repository; what is not UTF-8 as `\xNN`.
    pub top: String,
    pub dir: String,
    pub common: String,
    /// The file that links a working tree to its git folder, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Hash of `HEAD` and the refs at that time.
    pub state: String,
    /// Hash of the files that are kept; none where it was too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// Hash of the objects that are kept one by one, of a repository over the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<String>,
    /// Bytes that are not kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left: u64,
    /// Something that no remote has is among them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl History {
    pub fn files_hash(&self) -> Option<Hash> {
        parse(self.files.as_ref()?)
    }

    pub fn objects_hash(&self) -> Option<Hash> {
        parse(self.objects.as_ref()?)
    }

    /// The same with nothing kept because it was too much.
    pub(super) fn without_files(self) -> Self {
        Self {
            left: u64::MAX,
            lacks: true,
            ..self
        }
    }

    /// The repository as it was.
    pub(super) fn repository(&self) -> Repository {
        let [top, dir, common] = [&self.top, &self.dir, &self.common]
            .map(|text| PathBuf::from(ostler_files::raw::name(&unquote(text))));
        Repository { top, dir, common }
    }
}

/// A checkpoint's file larger than this is not ours.
const MAX_BYTES: u64 = 64 << 20;

/// How much of the tree a checkpoint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Covers {
    /// All but ignored files; those named are in it.
    Tree,
    /// Ignored files too.
    Everything,
    /// The named paths alone: it was too much for a whole one.
    Paths,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Below the root; what is not UTF-8 as `\xNN`.
    pub path: String,
    pub why: String,
}

// tidy: plain data
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub id: u64,
    pub ts: String,
    pub label: String,
    pub covers: Covers,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// Why it holds the named paths alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<Why>,
    /// The largest folders then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heaviest: Vec<Heavy>,
    /// Hash of the root's folder.
    pub tree: String,
    /// Hash of `HEAD`, refs and index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    pub stats: Stats,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

impl Record {
    pub fn tree_hash(&self) -> Result<Hash> {
        parse(&self.tree).ok_or_else(|| self.damaged())
    }

    pub fn git_hash(&self) -> Result<Option<Hash>> {
        match &self.git {
            None => Ok(None),
            Some(git) => parse(git).map(Some).ok_or_else(|| self.damaged()),
        }
    }

    pub fn named_paths(&self) -> Vec<Rel> {
        self.named.iter().map(|p| unquote(p)).collect()
    }

    fn damaged(&self) -> Error {
        Error::Damaged(format!("checkpoint {}", self.id))
    }
}

pub fn path(dir: &Path, id: u64) -> PathBuf {
    dir.join(format!("{id}.json"))
}

/// The ids that are there, oldest first.
pub fn ids(dir: &Path) -> Result<Vec<u64>> {
    let files = match fs::read_dir(dir) {
        Ok(files) => files,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(Word::HostRead, dir, e)),
    };
    let mut ids: Vec<u64> = files
        .flatten()
        .filter_map(|f| f.file_name().to_str()?.strip_suffix(".json")?.parse().ok())
        .collect();
    ids.sort_unstable();
    Ok(ids)
}

pub fn read(dir: &Path, id: u64) -> Result<Record> {
    let path = path(dir, id);
    match fs::metadata(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(Error::NoSuch(id)),
        Err(e) => return Err(Error::io(Word::HostRead, &path, e)),
        Ok(meta) if meta.len() > MAX_BYTES => {
            return Err(Error::Damaged(format!("checkpoint {id}")));
        }
        Ok(_) => {}
    }
    let bytes = fs::read(&path).map_err(|e| Error::io(Word::HostRead, &path, e))?;
    let record: Option<Record> = serde_json::from_slice(&bytes).ok();
    record
        .filter(|r| r.id == id)
        .ok_or_else(|| Error::Damaged(format!("checkpoint {id}")))
}

pub fn parse(text: &str) -> Option<Hash> {
    let bytes: Option<Vec<u8>> = text
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    bytes?.try_into().ok()
}
