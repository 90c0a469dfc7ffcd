//! Frozen prefixes by hash, so that a resumed session sends the very bytes it began with.

use crate::sessions::DryRun;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

pub fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    ostler_wire::hex::short(&digest, 16)
}

fn path(home: &Path, hash: &str) -> Option<PathBuf> {
    let plain = !hash.is_empty() && hash.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| home.join("prefixes").join(format!("{hash}.json")))
}

/// Keeps a prefix. The same one is written once, and again where a loss of power cut it short.
pub fn keep(home: &Path, text: &str) -> io::Result<String> {
    let hash = hash(text);
    let is_whole = |path: &Path| path.metadata().is_ok_and(|m| m.len() == text.len() as u64);
    if let Some(path) = path(home, &hash)
        && !is_whole(&path)
        && let Some(dir) = path.parent()
    {
        ostler_files::private_dir(dir)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(text.as_bytes())?;
        file.persist(&path).map_err(|e| e.error)?;
    }
    Ok(hash)
}

/// The prefix, if it is there and whole.
pub fn load(home: &Path, wanted: &str) -> Option<String> {
    let text = std::fs::read_to_string(path(home, wanted)?).ok()?;
    (hash(&text) == wanted).then_some(text)
}

/// Takes away those that are in no use and have lain for a while, as one is written before the log that names it. What
/// went, or would go, and its bytes.
pub fn sweep(home: &Path, used: &HashSet<String>, dry_run: DryRun) -> Vec<(String, u64)> {
    let mut gone = Vec::new();
    let files = std::fs::read_dir(home.join("prefixes"));
    for path in files.into_iter().flatten().flatten().map(|f| f.path()) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let (Ok(meta), Some(ours)) = (path.symlink_metadata(), self::path(home, &name)) else {
            continue;
        };
        let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
        let idle = ours == path && meta.is_file() && age.is_some_and(|age| age > GRACE);
        if !idle || used.contains(&*name) {
            continue;
        }
        if dry_run == DryRun::Yes || std::fs::remove_file(&path).is_ok() {
            gone.push((name.into_owned(), meta.len()));
        }
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = r#"{"system":"Be brief.","tools":[]}"#;

    #[test]
    fn a_kept_prefix_comes_back_byte_for_byte() {
        let home = tempfile::tempdir().unwrap();
        let kept = keep(home.path(), PREFIX).unwrap();
        assert_eq!(load(home.path(), &kept), Some(PREFIX.to_owned()));
        let file = path(home.path(), &kept).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), PREFIX);
        // The same one is written once.
        let written = std::fs::metadata(&file).unwrap().modified().unwrap();
        assert_eq!(keep(home.path(), PREFIX).unwrap(), kept);
        assert_eq!(
            std::fs::metadata(&file).unwrap().modified().unwrap(),
            written
        );
    }

    #[test]
    fn a_damaged_one_is_not_used_and_a_short_one_is_written_again() {
        let home = tempfile::tempdir().unwrap();
        let kept = keep(home.path(), PREFIX).unwrap();
        let file = path(home.path(), &kept).unwrap();
        let whole = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, whole.replace("brief", "rude!")).unwrap();
        assert_eq!(load(home.path(), &kept), None);
        // As a loss of power leaves it.
        std::fs::write(&file, "").unwrap();
        assert_eq!(load(home.path(), &kept), None);
        keep(home.path(), PREFIX).unwrap();
        assert_eq!(load(home.path(), &kept), Some(PREFIX.to_owned()));
    }

    #[test]
    fn only_old_ones_that_nobody_names_go() {
        let home = tempfile::tempdir().unwrap();
        let kept = keep(home.path(), PREFIX).unwrap();
        let folder = home.path().join("prefixes");
        let old = std::time::SystemTime::now() - 2 * GRACE;
        for name in ["aa.json", "bb.json", "note.txt"] {
            let file = std::fs::File::create(folder.join(name)).unwrap();
            file.set_modified(old).unwrap();
        }
        let used = HashSet::from(["bb".to_owned()]);
        let gone = [("aa".to_owned(), 0)];
        assert_eq!(sweep(home.path(), &used, DryRun::Yes), gone);
        assert_eq!(sweep(home.path(), &used, DryRun::No), gone);
        assert_eq!(sweep(home.path(), &used, DryRun::No), []);
        assert!(load(home.path(), &kept).is_some());
        assert!(folder.join("bb.json").exists() && folder.join("note.txt").exists());
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
        assert_ne!(hash(PREFIX), hash(&PREFIX.replace("brief.", "brief!")));
        assert_eq!(hash(PREFIX), hash(PREFIX));
    }
}
