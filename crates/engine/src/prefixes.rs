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

/// Keeps a prefix. The same one is written once, and again where a loss of power cut it short.
pub fn keep(home: &Path, prefix: &Prefix) -> io::Result<String> {
    let (hash, text) = (hash(prefix), prefix_text(prefix));
    let is_whole = |path: &Path| path.metadata().is_ok_and(|m| m.len() == text.len() as u64);
    if let Some(path) = path(home, &hash)
        && !is_whole(&path)
        && let Some(dir) = path.parent()
    {
        std::fs::create_dir_all(dir)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(text.as_bytes())?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prefix;

    #[test]
    fn a_kept_prefix_comes_back_byte_for_byte() {
        let home = tempfile::tempdir().unwrap();
        let kept = keep(home.path(), &prefix()).unwrap();
        assert_eq!(load(home.path(), &kept), Some(prefix()));
        let file = path(home.path(), &kept).unwrap();
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            prefix_text(&prefix())
        );
        // The same one is written once.
        let written = std::fs::metadata(&file).unwrap().modified().unwrap();
        assert_eq!(keep(home.path(), &prefix()).unwrap(), kept);
        assert_eq!(
            std::fs::metadata(&file).unwrap().modified().unwrap(),
            written
        );
    }

    #[test]
    fn a_damaged_one_is_not_used_and_a_short_one_is_written_again() {
        let home = tempfile::tempdir().unwrap();
        let kept = keep(home.path(), &prefix()).unwrap();
        let file = path(home.path(), &kept).unwrap();
        let whole = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, whole.replace("brief", "rude!")).unwrap();
        assert_eq!(load(home.path(), &kept), None);
        // As a loss of power leaves it.
        std::fs::write(&file, "").unwrap();
        assert_eq!(load(home.path(), &kept), None);
        keep(home.path(), &prefix()).unwrap();
        assert_eq!(load(home.path(), &kept), Some(prefix()));
    }

    #[test]
    fn a_hash_is_no_path() {
        let home = tempfile::tempdir().unwrap();
        for odd in ["", "../config", "a/b", "a.json", "\0"] {
            assert_eq!(path(home.path(), odd), None, "{odd:?}");
            assert_eq!(load(home.path(), odd), None);
        }
    }

    #[test]
    fn different_prefixes_have_different_hashes() {
        let other = Prefix {
            system: "Be brief!".into(),
            ..prefix()
        };
        assert_ne!(hash(&prefix()), hash(&other));
        assert_eq!(hash(&prefix()), hash(&prefix()));
    }
}
