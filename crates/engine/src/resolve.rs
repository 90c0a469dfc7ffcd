//! What the paths of a call are without symlinks, and which restricted files lie in the trees it touches, for rules that
//! must hold whatever a path is called. It asks the host and decides nothing.

use crate::policy::Rules;
use crate::policy::shell::{DEEP, DEEP_VISIBLE};
use crate::tool::Scope;
use ostler_host::{Host, Kind};
use ostler_wire::Access;
use std::path::{Path, PathBuf};

/// Paths of one call that are looked up; further ones are judged by name.
const MAX_PATHS: usize = 64;
/// Entries of a tree that are looked at; a larger one is judged as if anything lay in it.
const MAX_ENTRIES: usize = 5000;

/// Pairs as `policy::Resolved` has them.
pub async fn resolved(
    host: &dyn Host,
    accesses: &[Access],
    rules: &Rules,
    scope: &Scope,
) -> Vec<(PathBuf, PathBuf)> {
    let mut paths: Vec<&Path> = Vec::new();
    for access in accesses {
        match access {
            Access::Read(path) | Access::Write(path) => paths.push(path),
            Access::Run(segments) => {
                paths.extend(segments.iter().flat_map(|s| &s.names).map(PathBuf::as_path));
            }
            Access::Net(_)
            | Access::Mcp { .. }
            | Access::Job(_)
            | Access::Delegate(_)
            | Access::Memory => {}
        }
    }
    paths.dedup();
    let mut out = Vec::new();
    for path in paths.into_iter().take(MAX_PATHS) {
        let text = path.to_string_lossy();
        let all = text.strip_suffix(DEEP);
        if let Some(folder) = all.or_else(|| text.strip_suffix(DEEP_VISIBLE)) {
            let tree = Tree {
                folder: folder.into(),
                hidden: all.is_some(),
            };
            if let Some(found) = tree.restricted(host, rules, scope).await {
                out.push((path.to_owned(), path.to_owned()));
                out.extend(found.into_iter().map(|found| (path.to_owned(), found)));
            }
        } else if let Ok(stat) = host.stat(path).await
            && stat.path != path
        {
            out.push((path.to_owned(), stat.path));
        }
    }
    out
}

struct Tree {
    folder: PathBuf,
    /// Names with a dot count too.
    hidden: bool,
}

impl Tree {
    /// The files in it that rules restrict; `None` when it is too large to tell. Links are not followed.
    async fn restricted(
        self,
        host: &dyn Host,
        rules: &Rules,
        scope: &Scope,
    ) -> Option<Vec<PathBuf>> {
        let mut left = MAX_ENTRIES;
        let mut found = Vec::new();
        let mut folders = vec![self.folder];
        while let Some(folder) = folders.pop() {
            // What is no folder, or cannot be read, holds nothing that a command could reach.
            let Ok(listing) = host.list(&folder, left).await else {
                continue;
            };
            if listing.truncated {
                return None;
            }
            left = left.checked_sub(listing.entries.len()).filter(|n| *n > 0)?;
            for entry in listing.entries {
                if !self.hidden && entry.name.to_string_lossy().starts_with('.') {
                    continue;
                }
                let path = folder.join(&entry.name);
                if rules.restrict_path(&path, scope) {
                    found.push(path.clone());
                }
                match entry.kind {
                    Kind::Directory => folders.push(path),
                    Kind::File | Kind::Symlink | Kind::Other | Kind::Missing => {}
                }
            }
        }
        Some(found)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::policy::shell::{Place, accesses, analyse};
    use crate::policy::{Call, Policy, Rule, Verdict};

    #[tokio::test]
    async fn a_deny_rule_holds_behind_links_and_in_trees() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for dir in ["src", "config"] {
            std::fs::create_dir(root.join(dir)).unwrap();
        }
        for file in [".env", "a", "src/b", "config/.env"] {
            std::fs::write(root.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(".env", root.join("link")).unwrap();
        std::os::unix::fs::symlink("config", root.join("dir")).unwrap();
        let scope = Scope {
            root: root.clone(),
            user_home: None,
        };
        let mut policy = Policy::default();
        policy.rules.deny = vec![Rule::parse("Read(.env)", "x:1").unwrap()];
        let host = ostler_host::Local::new();
        for (command, expect) in [
            ("cat a", Verdict::Allow),
            ("cat link", Verdict::Deny),
            ("cat < link", Verdict::Deny),
            ("unknown link", Verdict::Deny),
            ("unknown a", Verdict::Ask),
            ("cat dir/.env", Verdict::Deny),
            ("grep -r x src", Verdict::Allow),
            ("grep -r x config", Verdict::Deny),
            ("grep -r x .", Verdict::Deny),
            ("rg x", Verdict::Allow),
            ("rg --hidden x", Verdict::Deny),
        ] {
            let place = Place {
                cwd: root.clone(),
                root: &root,
                home: None,
            };
            let accesses = accesses(analyse(command, &place));
            let resolved = resolved(&host, &accesses, &policy.rules, &scope).await;
            let call = Call {
                tool: "bash",
                accesses: &accesses,
                scope: &scope,
                resolved: &resolved,
            };
            assert_eq!(policy.decide(call).verdict, expect, "{command}");
        }
    }
}
