//! Which session of an agent a conversation goes on with: keys, a lock for each, and what is remembered under it.

use crate::outcome::Cost;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Between two looks at a lock that another has.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_millis(250);
/// Bytes of what is remembered under a key.
const MAX_RECORD: u64 = 64 << 10;
/// Hexadecimal digits of a key that we make.
const DIGITS: usize = 32;
/// Characters of an agent's own name of a session.
const MAX_ID: usize = 200;
/// Earlier sessions of a key that are remembered.
const MAX_EARLIER: usize = 16;
/// Most keys that a session is looked for under.
const MAX_KEYS: usize = 16_384;

/// Whether a text has the form of an agent's own name of a session. It stands among the arguments of a program, so it must
/// look like nothing else there: no option, no path from a root.
pub fn is_id(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/".contains(c);
    begins && text.len() <= MAX_ID && text.chars().all(is_plain) && !text.contains("..")
}

/// Whether a session of an agent was begun from here, in this repository, under whatever key.
pub fn is_known(folder: &Path, backend: &str, root: &Path, session: &str) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let records = files.take(MAX_KEYS).filter_map(|file| {
        let file = File::open(file.path()).ok()?;
        let mut text = String::new();
        file.take(MAX_RECORD).read_to_string(&mut text).ok()?;
        serde_json::from_str::<Record>(&text).ok()
    });
    let mut of_both = records.filter(|record| record.backend == backend && record.root == root);
    of_both.any(|record| record.session == session || record.earlier.iter().any(|id| id == session))
}

/// What a key is made of where none is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyParts<'k> {
    pub repo_root: &'k Path,
    pub role: &'k str,
    pub role_id: &'k str,
    pub client: Option<&'k str>,
    pub conversation_id: Option<&'k str>,
    /// Of a batch, tasks that would have the same key.
    pub task: Option<&'k str>,
}

impl KeyParts<'_> {
    pub fn key(&self) -> String {
        // A path that is no text is told apart by what can be shown of it.
        let parts = serde_json::json!([
            self.repo_root.to_string_lossy(),
            self.role,
            self.role_id,
            self.client,
            self.conversation_id,
            self.task,
        ]);
        digest(&parts.to_string())
    }
}

fn digest(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    ostler_wire::hex::short(&hash, DIGITS / 2)
}

/// The folder that a repository begins in, or the folder itself.
pub fn repo_root(folder: &Path) -> PathBuf {
    let above = folder.ancestors().find(|above| above.join(".git").exists());
    above.unwrap_or(folder).to_owned()
}

/// What is remembered under a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub key: String,
    pub backend: String,
    pub session: String,
    /// The repository that it is about.
    #[serde(default)]
    pub root: PathBuf,
    /// Sessions that the key went on with before, the last one at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// What the session has used, as the agent told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Cost>,
}

/// A key that nobody else works with, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another call works with the session key `{0}` and did not end in time")]
    Busy(String),
    #[error("cancelled while another call worked with the session key `{0}`")]
    Cancelled(String),
    #[error("the session key `{key}` cannot be kept in {}: {source}", folder.display())]
    Io {
        key: String,
        folder: PathBuf,
        source: io::Error,
    },
}

/// Waits until nobody else works with the key. The file is both the lock and the record.
pub async fn lock(
    folder: &Path,
    key: &str,
    until: Instant,
    cancel: &CancellationToken,
) -> Result<Lock, LockError> {
    let error = |source| LockError::Io {
        key: key.to_owned(),
        folder: folder.to_owned(),
        source,
    };
    let file = open(folder, key).map_err(error)?;
    let mut wait = FIRST_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { file }),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(error(source)),
        }
        if Instant::now() >= until {
            return Err(LockError::Busy(key.to_owned()));
        }
        tokio::select! {
            () = cancel.cancelled() => return Err(LockError::Cancelled(key.to_owned())),
            () = tokio::time::sleep_until(until.min(Instant::now() + wait)) => {}
        }
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

fn open(folder: &Path, key: &str) -> io::Result<File> {
    ostler_host::private_dir(folder)?;
    // A key may be any text: its file is named by its digest.
    let path = folder.join(format!("{}.json", digest(key)));
    let mut options = ostler_host::private_options();
    options.read(true).write(true).create(true).open(path)
}

impl Lock {
    /// What is remembered; nothing where the file is new or cannot be read.
    pub fn read(&mut self, key: &str) -> Option<Record> {
        self.file.seek(SeekFrom::Start(0)).ok()?;
        let mut text = String::new();
        (&self.file)
            .take(MAX_RECORD)
            .read_to_string(&mut text)
            .ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        (record.key == key && !record.session.is_empty()).then_some(record)
    }

    /// What was remembered before stays known.
    pub fn write(&mut self, mut record: Record) -> io::Result<()> {
        if let Some(before) = self.read(&record.key)
            && before.backend == record.backend
            && before.root == record.root
        {
            let last = [before.session];
            let all = before.earlier.into_iter().chain(last);
            record.earlier = all.filter(|id| *id != record.session).collect();
            let extra = record.earlier.len().saturating_sub(MAX_EARLIER);
            record.earlier.drain(..extra);
        }
        let text = serde_json::to_string(&record)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(change: impl FnOnce(&mut KeyParts<'static>)) -> String {
        let mut parts = KeyParts {
            repo_root: Path::new("/repo"),
            role: "oracle",
            role_id: "oracle",
            client: Some("c"),
            conversation_id: Some("1"),
            task: None,
        };
        change(&mut parts);
        parts.key()
    }

    #[test]
    fn every_part_of_a_key_counts() {
        let same = key(|_| {});
        assert_eq!(same, key(|_| {}));
        assert_eq!(same.len(), DIGITS);
        let others = [
            key(|parts| parts.repo_root = Path::new("/other")),
            key(|parts| parts.role = "critic"),
            key(|parts| parts.role_id = "critic"),
            key(|parts| parts.client = None),
            key(|parts| parts.conversation_id = Some("2")),
            key(|parts| parts.task = Some("2")),
        ];
        for (index, other) in others.iter().enumerate() {
            assert_ne!(*other, same, "{index}");
        }
    }

    #[tokio::test]
    async fn a_key_has_one_holder_and_remembers() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("sessions");
        let cancel = CancellationToken::new();
        let name = "../any text/ of a key";
        let mut first = lock(&folder, name, Instant::now(), &cancel).await.unwrap();
        assert_eq!(first.read(name), None);
        let busy = lock(&folder, name, Instant::now(), &cancel).await;
        assert!(matches!(busy, Err(LockError::Busy(_))));
        let stopped = CancellationToken::new();
        stopped.cancel();
        let later = Instant::now() + Duration::from_secs(60);
        let busy = lock(&folder, name, later, &stopped).await;
        assert!(matches!(busy, Err(LockError::Cancelled(_))));
        let record = Record {
            key: name.to_owned(),
            backend: "x".to_owned(),
            session: "long enough to be cut later".to_owned(),
            root: "/repo".into(),
            ..Record::default()
        };
        first.write(record.clone()).unwrap();
        let shorter = Record {
            session: "s".to_owned(),
            ..record.clone()
        };
        first.write(shorter).unwrap();
        drop(first);
        let mut again = lock(&folder, name, later, &cancel).await.unwrap();
        let kept = again.read(name).unwrap();
        assert_eq!(
            (kept.session.as_str(), &kept.earlier),
            ("s", &vec![record.session])
        );
        assert_eq!(again.read("another"), None);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        let known = |backend: &str, root: &str, session: &str| {
            is_known(&folder, backend, Path::new(root), session)
        };
        assert!(known("x", "/repo", "s") && known("x", "/repo", &kept.earlier[0]));
        assert!(
            !known("y", "/repo", "s") && !known("x", "/other", "s") && !known("x", "/repo", "t")
        );
    }

    #[test]
    fn ids_look_like_nothing_else() {
        let uuid = "01a1f58d-f5af-751c-bef1-d3b5b62f0d84";
        for id in [uuid, "ses_4Xy", "session_1/2", "latest", "a:b.c"] {
            assert!(is_id(id), "{id}");
        }
        let long = "x".repeat(MAX_ID + 1);
        for other in [
            "",
            "-s",
            "--config=sandbox_mode=\"danger-full-access\"",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a b",
            "a=b",
            "a\n",
            "é",
            &long,
        ] {
            assert!(!is_id(other), "{other}");
        }
    }
}
