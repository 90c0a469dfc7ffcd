//! What the paths of a call are without symlinks, and which restricted files lie in the trees it touches, for rules that
//! must hold whatever a path is called. It asks the host and decides nothing.

use crate::policy::shell::{DEEP, DEEP_VISIBLE, tracked};
use crate::policy::{Policy, Rules};
use crate::tool::Scope;
use ostler_host::{Host, Kind, Span};
use ostler_wire::Access;
use std::path::{Path, PathBuf};

mod index;

/// Paths of one call that are looked up; further ones are judged by name.
const MAX_PATHS: usize = 64;
/// Entries of a tree that are looked at; a larger one is judged as if anything lay in it.
const MAX_ENTRIES: usize = 5000;

/// A larger index is judged as if anything were tracked.
const MAX_INDEX: u64 = 64 * 1024 * 1024;

/// Pairs as `policy::Resolved` has them.
pub async fn resolved(
    host: &dyn Host,
    accesses: &[Access],
    policy: &Policy,
    scope: &Scope,
) -> Vec<(PathBuf, PathBuf)> {
    let rules = &policy.rules;
    let by_rules = rules.are_about_paths();
    if !by_rules && policy.sealed.is_empty() && policy.reserved.is_empty() {
        return Vec::new();
    }
    let mut paths: Vec<&Path> = Vec::new();
    let shell = accesses.iter().any(|a| matches!(a, Access::Run(_)));
    let restricts = !rules.deny.is_empty() || !rules.ask.is_empty();
    for access in accesses {
        match access {
            Access::Read(path) | Access::Write(path) => paths.push(path),
            Access::Run(segments) => {
                paths.extend(segments.iter().flat_map(|s| &s.names).map(PathBuf::as_path));
            }
            Access::Net(_)
            | Access::Mcp { .. }
            | Access::Job(_)
            | Access::Delegate { .. }
            | Access::Memory
            | Access::History => {}
        }
    }
    paths.dedup();
    let mut out = Vec::new();
    for path in paths.into_iter().take(MAX_PATHS) {
        if let Some(shown) = Shown::new(path) {
            if !by_rules {
                continue;
            }
            let found = shown.restricted(host, rules, scope).await;
            out.extend(found.into_iter().map(|found| (path.to_owned(), found)));
            continue;
        }
        let text = path.to_string_lossy();
        let all = text.strip_suffix(DEEP);
        if let Some(folder) = all.or_else(|| text.strip_suffix(DEEP_VISIBLE)) {
            if !by_rules {
                continue;
            }
            let tree = Tree {
                folder: folder.into(),
                hidden: all.is_some(),
            };
            if let Some(found) = tree.restricted(host, rules, scope).await {
                out.push((path.to_owned(), path.to_owned()));
                out.extend(found.into_iter().map(|found| (path.to_owned(), found)));
            }
        } else if let Ok(stat) = host.stat(path).await {
            // A tool that changes a folder changes, or takes along, what is in it.
            let whole = stat.kind == Kind::Directory
                && !shell
                && restricts
                && accesses.contains(&Access::Write(path.to_owned()));
            if whole {
                let tree = Tree {
                    folder: stat.path.clone(),
                    hidden: true,
                };
                let found = tree.restricted(host, rules, scope).await;
                let found = found.unwrap_or_else(|| vec![stat.path.join("**")]);
                out.extend(found.into_iter().map(|found| (path.to_owned(), found)));
            }
            if stat.path != path {
                out.push((path.to_owned(), stat.path));
            }
        }
    }
    out
}

/// Files that git tracks, as `shell::tracked` writes them.
struct Shown<'a> {
    folder: &'a Path,
    everything: bool,
    left_out: Vec<&'a str>,
}

impl<'a> Shown<'a> {
    fn new(path: &'a Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        Some(Self {
            folder: path.parent()?,
            everything: name.starts_with(tracked::ALL_TRACKED),
            left_out: tracked::left_out(name)?,
        })
    }

    /// Those that rules restrict. Outside of a repository git shows nothing.
    async fn restricted(self, host: &dyn Host, rules: &Rules, scope: &Scope) -> Vec<PathBuf> {
        let Some((top, index)) = repository(host, self.folder).await else {
            return Vec::new();
        };
        let bytes = match host.read(&index, Span::head(MAX_INDEX)).await {
            Ok(content) if !content.truncated => content.bytes,
            Ok(_) => return vec![top.join("**")],
            // Nothing was ever added.
            Err(_) => return Vec::new(),
        };
        let Some(names) = index::names(&bytes) else {
            return vec![top.join("**")];
        };
        let base = if self.everything { &top } else { self.folder };
        let is_left_out = |path: &Path| {
            let mut out = self.left_out.iter();
            out.any(|name| {
                path.starts_with(self.folder.join(name)) || path.starts_with(top.join(name))
            })
        };
        names
            .iter()
            .map(|name| top.join(name))
            .filter(|path| path.starts_with(base) && !is_left_out(path))
            .filter(|path| rules.restrict_path(path, scope))
            .collect()
    }
}

/// The top of the repository that holds this folder or file, and its index.
async fn repository(host: &dyn Host, folder: &Path) -> Option<(PathBuf, PathBuf)> {
    for top in folder.ancestors() {
        let git = top.join(".git");
        match host.stat(&git).await.ok()?.kind {
            Kind::Directory => return Some((top.to_owned(), git.join("index"))),
            // A worktree says where its own folder is.
            Kind::File => {
                let content = host.read(&git, Span::head(4096)).await.ok()?;
                let text = String::from_utf8_lossy(&content.bytes).into_owned();
                let folder = text.trim().strip_prefix("gitdir: ")?.to_owned();
                return Some((top.to_owned(), top.join(folder).join("index")));
            }
            Kind::Symlink | Kind::Other | Kind::Missing => {}
        }
    }
    None
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
        std::fs::create_dir(root.join("config/sub")).unwrap();
        std::fs::write(root.join("config/.key"), "x").unwrap();
        std::os::unix::fs::symlink("config/sub", root.join("deep")).unwrap();
        let scope = Scope::new(root.clone(), None);
        let mut policy = Policy::default();
        policy.rules.deny = ["Read(.env)", "Read(config/.key)"]
            .map(|rule| Rule::parse(rule, "x:1").unwrap())
            .to_vec();
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
            ("cat deep/../.key", Verdict::Deny),
            ("cat < deep/../.key", Verdict::Deny),
            ("unknown --file=deep/../.key", Verdict::Deny),
            ("cat src/../a", Verdict::Allow),
            ("rg x", Verdict::Allow),
            ("rg --hidden x", Verdict::Deny),
            ("git grep --untracked x", Verdict::Deny),
            ("git grep --no-ind x", Verdict::Deny),
            ("mv config x", Verdict::Deny),
            ("mv -t x config", Verdict::Deny),
            ("mv src x", Verdict::Ask),
            ("mv a config", Verdict::Ask),
            ("tar c config", Verdict::Deny),
            ("tar c src", Verdict::Ask),
            ("zip -r x.zip .", Verdict::Deny),
            ("git mv config x", Verdict::Deny),
        ] {
            assert_eq!(
                judged(&host, &policy, &scope, command).await,
                expect,
                "{command}"
            );
        }
    }

    #[tokio::test]
    async fn a_folder_is_not_moved_with_what_a_rule_denies() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for file in ["keys/deep/k", "fixed/f", "src/a", "some/.env"] {
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            std::fs::write(root.join(file), "x").unwrap();
        }
        let scope = Scope::new(root.clone(), None);
        let mut policy = Policy::default();
        policy.rules.deny = ["Read(keys/deep/**)", "Edit(fixed/**)", "Read(./some/.env)"]
            .map(|rule| Rule::parse(rule, "x:1").unwrap())
            .to_vec();
        policy.rules.allow = vec![Rule::parse("Edit(./**)", "x:1").unwrap()];
        let host = ostler_host::Local::new();
        for (from, expect) in [
            ("keys", Verdict::Deny),
            ("keys/deep", Verdict::Deny),
            ("fixed", Verdict::Deny),
            ("some", Verdict::Deny),
            ("src", Verdict::Allow),
            ("src/a", Verdict::Allow),
        ] {
            let accesses = [from, "new"].map(|name| Access::Write(root.join(name)));
            let resolved = resolved(&host, &accesses, &policy, &scope).await;
            let call = Call {
                tool: "move_file",
                accesses: &accesses,
                scope: &scope,
                resolved: &resolved,
            };
            assert_eq!(policy.decide(call).verdict, expect, "{from}");
        }
    }

    async fn judged(host: &dyn Host, policy: &Policy, scope: &Scope, command: &str) -> Verdict {
        let place = Place {
            cwd: scope.root.clone(),
            root: &scope.root,
            home: None,
        };
        let accesses = accesses(analyse(command, &place));
        let resolved = resolved(host, &accesses, policy, scope).await;
        let call = Call {
            tool: "bash",
            accesses: &accesses,
            scope,
            resolved: &resolved,
        };
        policy.decide(call).verdict
    }

    /// An index of version 2 with these names.
    fn index_of(names: &[&str]) -> Vec<u8> {
        let mut out = b"DIRC\0\0\0\x02\0\0\0".to_vec();
        out.push(u8::try_from(names.len()).unwrap());
        for name in names {
            let mut entry = vec![0; 62];
            entry.extend(name.as_bytes());
            entry.resize((entry.len() + 8) / 8 * 8, 0);
            out.extend(entry);
        }
        out
    }

    #[tokio::test]
    async fn a_deny_rule_holds_for_what_git_tracks() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        let scope = Scope::new(root.clone(), None);
        let mut policy = Policy::default();
        policy.rules.deny = vec![Rule::parse("Read(.env)", "x:1").unwrap()];
        let host = ostler_host::Local::new();
        let (tracked, ignored) = (index_of(&["conf/.env", "src/a"]), index_of(&["src/a"]));
        for (command, with, without) in [
            ("git diff", Verdict::Deny, Verdict::Allow),
            ("git log -p", Verdict::Deny, Verdict::Allow),
            ("git show HEAD", Verdict::Deny, Verdict::Allow),
            ("git grep x", Verdict::Deny, Verdict::Allow),
            ("git diff --stat", Verdict::Allow, Verdict::Allow),
            ("git log", Verdict::Allow, Verdict::Allow),
            ("git diff -- src", Verdict::Allow, Verdict::Allow),
            ("git diff -- conf", Verdict::Deny, Verdict::Allow),
            (
                "git diff -- . ':!conf/.env'",
                Verdict::Allow,
                Verdict::Allow,
            ),
            ("git diff -- . ':!src'", Verdict::Deny, Verdict::Allow),
            ("git show HEAD:conf/.env", Verdict::Deny, Verdict::Deny),
            ("git show HEAD:src/a", Verdict::Allow, Verdict::Allow),
        ] {
            for (index, expect) in [(&tracked, with), (&ignored, without)] {
                std::fs::write(root.join(".git/index"), index).unwrap();
                assert_eq!(
                    judged(&host, &policy, &scope, command).await,
                    expect,
                    "{command}"
                );
            }
        }
        std::fs::write(root.join(".git/index"), "garbled").unwrap();
        assert_eq!(
            judged(&host, &policy, &scope, "git diff").await,
            Verdict::Deny
        );
    }
}
