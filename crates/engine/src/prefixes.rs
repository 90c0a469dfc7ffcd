//! Frozen prefixes by hash, so that a resumed session sends the very bytes it began with.

use crate::transcript::prefix_text;
use ostler_llm::Prefix;
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub fn hash(prefix: &Prefix) -> String {
    let digest = Sha256::digest(prefix_text(prefix).as_bytes());
    crate::hex::short(&digest, 16)
}

fn path(home: &Path, hash: &str) -> Option<PathBuf> {
    let plain = !hash.is_empty() && hash.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| home.join("prefixes").join(format!("{hash}.json")))
}

/// Keeps a prefix. The same one is written once.
pub fn keep(home: &Path, prefix: &Prefix) -> io::Result<String> {
    let hash = hash(prefix);
    if let Some(path) = path(home, &hash)
        && !path.exists()
        && let Some(dir) = path.parent()
    {
        std::fs::create_dir_all(dir)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(prefix_text(prefix).as_bytes())?;
        file.persist(&path).map_err(|e| e.error)?;
    }
    Ok(hash)
}

/// The prefix, if it is there and whole.
pub fn load(home: &Path, wanted: &str) -> Option<Prefix> {
    let text = std::fs::read_to_string(path(home, wanted)?).ok()?;
    let prefix: Prefix = serde_json::from_str(&text).ok()?;
    (hash(&prefix) == wanted).then_some(prefix)
}
