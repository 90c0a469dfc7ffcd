//! Ostler's home is the person's alone: what is looser is tightened at the start, cheaply, and `doctor` names the rest.

use ostler_config::paths::Places;
use std::fs;
use std::path::{Path, PathBuf};

/// Files at the top of a home that older versions made as the umask said.
const FILES: [&str; 5] = [
    "config.lock",
    "config.toml",
    "ledger.jsonl",
    "mcp.json",
    "trust.json",
];
/// Entries that `doctor` looks at.
const MAX_LOOKED_AT: usize = 20_000;
/// Bits of a file mode that let others in.
const OTHERS: u32 = 0o077;

/// Takes the rights of others off the home and the files at its top. A home that holds the project, or all that the
/// person has, is left as it is.
pub fn tighten(places: &Places) {
    if is_shared(places) {
        return;
    }
    // What cannot be changed is named by `doctor`.
    let _ = ostler_host::tighten(&places.home);
    for name in FILES {
        let _ = ostler_host::tighten(&places.home.join(name));
    }
}

/// Paths below the home that others can read or change.
pub fn loose(places: &Places) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if is_shared(places) {
        return found;
    }
    let mut left = MAX_LOOKED_AT;
    let mut folders = vec![places.home.clone()];
    found.extend(is_loose(&places.home).then(|| places.home.clone()));
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(less) = left.checked_sub(1) else {
                return found;
            };
            left = less;
            let path = entry.path();
            let kind = entry.file_type();
            let is = |what: fn(&fs::FileType) -> bool| kind.as_ref().is_ok_and(what);
            if is(fs::FileType::is_symlink) {
                continue;
            }
            if is_loose(&path) && !has_own_warning(&path) {
                found.push(path.clone());
            }
            // The tree of a sub-agent has the rights of the project's own.
            if is(fs::FileType::is_dir) && entry.file_name() != "worktrees" {
                folders.push(path);
            }
        }
    }
    found
}

/// Files with keys, of which more is said elsewhere.
fn has_own_warning(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name == ".env" || name == ostler_config::logins::AUTH_FILE
}

fn is_loose(path: &Path) -> bool {
    ostler_host::mode_of(path).is_some_and(|mode| mode & OTHERS != 0)
}

fn is_shared(places: &Places) -> bool {
    let home = &places.home;
    let person = places.user_home.iter();
    let mut others = person.chain([&places.root, &places.cwd]);
    others.any(|other| other.starts_with(home))
}
