//! What servers offered the last time, by what they are configured as: so that a session begins with the very prompt it
//! had before, and waits for nobody. It may be deleted.

use crate::Lists;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const VERSION: u32 = 2;
/// Of one server.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// After this a list is looked at again, whether or not a tool of it is called.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Serialize, Deserialize)]
struct CacheFile {
    version: u32,
    lists: Lists,
}

/// A list that was kept, and whether it is recent.
pub fn load(folder: &Path, fingerprint: &str) -> Option<(Lists, bool)> {
    let file = std::fs::File::open(path(folder, fingerprint)).ok()?;
    let modified = file.metadata().and_then(|meta| meta.modified()).ok();
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let kept: CacheFile = serde_json::from_str(&text).ok()?;
    let age = modified.and_then(|at| SystemTime::now().duration_since(at).ok());
    let is_recent = age.is_some_and(|age| age < FRESH);
    (kept.version == VERSION).then_some((kept.lists, is_recent))
}

/// A list that cannot be kept costs the next start some time, and nothing else.
pub fn keep(folder: &Path, fingerprint: &str, lists: &Lists) -> std::io::Result<()> {
    let kept = CacheFile {
        version: VERSION,
        lists: lists.clone(),
    };
    ostler_host::private_dir(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(serde_json::to_string(&kept)?.as_bytes())?;
    file.persist(path(folder, fingerprint))
        .map_err(|e| e.error)?;
    Ok(())
}

fn path(folder: &Path, fingerprint: &str) -> PathBuf {
    folder.join(format!("{fingerprint}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolInfo;

    #[test]
    fn lists_come_back_and_damage_is_no_list() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("mcp");
        assert_eq!(load(&folder, "aa"), None);
        let lists = Lists {
            tools: vec![ToolInfo {
                name: "echo".into(),
                ..ToolInfo::default()
            }],
            ..Lists::default()
        };
        keep(&folder, "aa", &lists).unwrap();
        assert_eq!(load(&folder, "aa"), Some((lists, true)));
        assert_eq!(load(&folder, "bb"), None);
        for damage in ["", "{", r#"{"version":99,"lists":{}}"#] {
            std::fs::write(path(&folder, "aa"), damage).unwrap();
            assert_eq!(load(&folder, "aa"), None, "{damage}");
        }
    }
}
