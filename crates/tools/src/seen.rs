//! Which state of each file this session has seen, by content hash: what decides that a write would be stale.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Files remembered at most; the oldest knowledge is worth the least.
const MAX_FILES: usize = 20_000;

#[derive(Default)]
pub struct Seen {
    files: Mutex<HashMap<PathBuf, String>>,
}

impl Seen {
    /// Hash of some content, short enough for an envelope.
    pub fn hash(content: &[u8]) -> String {
        let digest = Sha256::digest(content);
        crate::hex::short(&digest, 8)
    }

    pub fn note(&self, path: &Path, hash: &str) {
        if let Ok(mut files) = self.files.lock() {
            if files.len() >= MAX_FILES {
                files.clear();
            }
            files.insert(path.to_owned(), hash.to_owned());
        }
    }

    /// The hash under which the file was last seen.
    pub fn known(&self, path: &Path) -> Option<String> {
        self.files.lock().ok()?.get(path).cloned()
    }

    pub fn forget(&self, path: &Path) {
        if let Ok(mut files) = self.files.lock() {
            files.remove(path);
        }
    }
}
