//! What the paths of a call are without symlinks, and which restricted files lie in the trees it touches, for rules that
//! must hold whatever a path is called. It asks the host and decides nothing.

use crate::Scope;
use crate::folders::GIT;
use crate::glob::is_pattern;
use crate::shell::{DEEP, DEEP_VISIBLE, is_listed, tracked};
use crate::{Policy, Rules};
use ostler_host::{Border, Host, Kind, Protected, Span, glob_matches};
use ostler_wire::Access;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod index;

/// Paths of one call that are looked up, and those among them that are patterns or trees; further ones may lead anywhere.
const MAX_PATHS: usize = 512;
const MAX_PATTERNS: usize = 64;
/// What a path stands beside that may lead anywhere: the folder of all, which holds everything that a change could take
/// along, and something outside of every project, since the names in that folder may be listed by anybody.
const ANYWHERE: [&str; 2] = ["/", "/?"];
/// Entries of a tree that are looked at; a larger one is judged as if anything lay in it.
const MAX_ENTRIES: usize = 5000;

/// A larger index is judged as if anything were tracked.
const MAX_INDEX: u64 = 64 * 1024 * 1024;

/// Entries of a folder that is moved which are looked at for protected ones.
const MAX_MOVED: usize = 100_000;
/// Links that one pattern may name; more are taken to lead anywhere.
const MAX_LINKS: usize = 64;

/// Pairs as `policy::Resolved` has them.
pub async fn resolved(
    host: &dyn Host,
    accesses: &[Access],
    policy: &Policy,
    scope: &Scope,
) -> Vec<(PathBuf, PathBuf)> {
    let look = Look {
        host,
        accesses,
        policy,
        scope,
    };
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
            | Access::Delegate { .. }
            | Access::Memory
            | Access::History => {}
        }
    }
    let mut known = HashSet::new();
    paths.retain(|path| known.insert(*path));
    let mut out = Vec::new();
    let mut patterns = 0;
    for (number, path) in paths.into_iter().enumerate() {
        patterns += usize::from(is_pattern(&path.to_string_lossy()));
        match number < MAX_PATHS && patterns <= MAX_PATTERNS {
            true => Box::pin(look.at(path, &mut out)).await,
            false => out.extend(anywhere(path)),
        }
    }
    out
}

fn anywhere(path: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    ANYWHERE
        .map(|place| (path.to_owned(), place.into()))
        .into_iter()
}

/// What a call is looked at with.
struct Look<'a> {
    host: &'a dyn Host,
    accesses: &'a [Access],
    policy: &'a Policy,
    scope: &'a Scope,
}

impl Look<'_> {
    async fn at(&self, path: &Path, out: &mut Vec<(PathBuf, PathBuf)>) {
        let rules = &self.policy.rules;
        let by_rules = rules.are_about_paths();
        if let Some(shown) = Shown::new(path) {
            if by_rules {
                let found = shown.restricted(self.host, rules, self.scope).await;
                out.extend(found.into_iter().map(|found| (path.to_owned(), found)));
            }
            return;
        }
        let text = path.to_string_lossy();
        let all = text.strip_suffix(DEEP);
        if let Some(folder) = all.or_else(|| text.strip_suffix(DEEP_VISIBLE)) {
            // The folder may be a link that leads elsewhere.
            let real = self.host.stat(Path::new(folder)).await.ok();
            let tree = Tree {
                folder: real
                    .as_ref()
                    .map_or(folder.into(), |stat| stat.path.clone()),
                hidden: all.is_some(),
                most: MAX_ENTRIES,
            };
            if by_rules && let Some(found) = tree.restricted(self.host, rules, self.scope).await {
                out.push((path.to_owned(), path.to_owned()));
                out.extend(found.into_iter().map(|found| (path.to_owned(), found)));
            }
            // Below a folder whose names anybody may see, it is the tree that counts.
            match real.filter(|stat| is_listed(&stat.path)) {
                Some(stat) if stat.path.join("**") == path => {}
                Some(stat) => out.push((path.to_owned(), stat.path.join("**"))),
                None => self.follow(Path::new(folder), path, out).await,
            }
        } else if is_pattern(&text) {
            // First of all the pattern itself: what its links lead to does not take its place.
            if let Ok(stat) = self.host.stat(path).await {
                out.push((path.to_owned(), stat.path));
            }
            match linked(self.host, path).await {
                Some(links) => {
                    for link in links {
                        self.follow(&link, path, out).await;
                    }
                }
                None => out.extend(anywhere(path)),
            }
        } else {
            self.follow(path, path, out).await;
        }
    }

    /// Says of `named` what `path` is without symlinks, and what a tool would take along that changes it as a folder.
    async fn follow(&self, path: &Path, named: &Path, out: &mut Vec<(PathBuf, PathBuf)>) {
        let Ok(stat) = self.host.stat(path).await else {
            return;
        };
        let shell = self.accesses.iter().any(|a| matches!(a, Access::Run(_)));
        let changed = self.accesses.contains(&Access::Write(named.to_owned()));
        if stat.kind == Kind::Directory && !shell && changed {
            let found = self.taken_along(&stat.path).await;
            out.extend(found.into_iter().map(|found| (named.to_owned(), found)));
        }
        if stat.path != named {
            out.push((named.to_owned(), stat.path));
        }
    }

    /// What is in a folder that a rule restricts or that is protected.
    async fn taken_along(&self, folder: &Path) -> Vec<PathBuf> {
        let Policy { rules, folders, .. } = self.policy;
        let tree = |most: usize| Tree {
            folder: folder.to_owned(),
            hidden: true,
            most,
        };
        let mut found = Vec::new();
        if !rules.deny.is_empty() || !rules.ask.is_empty() {
            let restricted = tree(MAX_ENTRIES).restricted(self.host, rules, self.scope);
            let restricted = restricted.await;
            found.extend(restricted.unwrap_or_else(|| vec![folder.join("**")]));
        }
        // Only a move takes a whole folder along, and only a move names two paths to change and nothing else.
        let is_move =
            self.accesses.len() == 2 && self.accesses.iter().all(|a| matches!(a, Access::Write(_)));
        if !is_move {
            return found;
        }
        let protected = folders.protected(self.scope, &[]);
        found.extend(self.brought_along(folder, &protected).await);
        let holds = |path: &Path| protected.holds(path);
        let protected = tree(MAX_MOVED).find(self.host, holds).await;
        // One is enough, and a tree that is too large may hold one.
        found.extend(match protected {
            Some(protected) => protected.into_iter().next(),
            None => Some(folder.join(GIT)),
        });
        found
    }
}

impl Look<'_> {
    /// What a folder that is moved brings to places that a rule restricts or that are protected.
    async fn brought_along(&self, folder: &Path, protected: &Protected) -> Vec<PathBuf> {
        let ends = self.accesses.iter().filter_map(Access::write_path);
        let mut found = Vec::new();
        for end in ends.filter(|end| end.as_path() != folder) {
            let there = |path: &Path| end.join(path.strip_prefix(folder).unwrap_or(path));
            let tree = Tree {
                folder: folder.to_owned(),
                hidden: true,
                most: MAX_ENTRIES,
            };
            let rules = &self.policy.rules;
            let wanted = |path: &Path| {
                let path = there(path);
                rules.restrict_path(&path, self.scope) || protected.holds(&path)
            };
            match tree.find(self.host, wanted).await {
                Some(paths) => found.extend(paths.iter().map(|path| there(path))),
                None => found.push(end.join("**")),
            }
        }
        found
    }
}

/// The paths with a link in them that a shell pattern may name; `None` when there are too many to tell.
async fn linked(host: &dyn Host, pattern: &Path) -> Option<Vec<PathBuf>> {
    let border = Arc::new(Border::none());
    // Each with whether a link was met on the way.
    let mut found = vec![(PathBuf::new(), false)];
    let parts: Vec<_> = pattern.components().collect();
    for (i, part) in parts.iter().enumerate() {
        let text = part.as_os_str().to_string_lossy();
        if !text.contains(['*', '?', '[']) {
            for (path, _) in &mut found {
                path.push(part);
            }
            continue;
        }
        let is_last = i + 1 == parts.len();
        let mut next = Vec::new();
        for (folder, met) in &found {
            let Ok(listing) = host.list(folder, usize::MAX, &border).await else {
                continue;
            };
            for entry in listing.entries {
                let is_link = entry.kind == Kind::Symlink;
                let name = entry.name.to_string_lossy();
                let fits = text.contains('[') || glob_matches(&text, &name);
                let leads = is_link || *met || (entry.kind == Kind::Directory && !is_last);
                if fits && leads {
                    next.push((folder.join(&entry.name), *met || is_link));
                }
            }
            if next.len() > MAX_ENTRIES {
                return None;
            }
        }
        found = next;
    }
    let links = found
        .into_iter()
        .filter(|(_, met)| *met)
        .map(|(path, _)| path);
    let links: Vec<PathBuf> = links.collect();
    (links.len() <= MAX_LINKS).then_some(links)
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
        let unbounded = Arc::new(Border::none());
        let bytes = match host.read(&index, Span::head(MAX_INDEX), &unbounded).await {
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
                let unbounded = Arc::new(Border::none());
                let content = host.read(&git, Span::head(4096), &unbounded).await.ok()?;
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
    /// Entries that are looked at.
    most: usize,
}

impl Tree {
    /// The files in it that rules restrict; `None` when it is too large to tell. Links are not followed.
    async fn restricted(
        self,
        host: &dyn Host,
        rules: &Rules,
        scope: &Scope,
    ) -> Option<Vec<PathBuf>> {
        self.find(host, |path| rules.restrict_path(path, scope))
            .await
    }

    async fn find(
        self,
        host: &dyn Host,
        wanted: impl Fn(&Path) -> bool + Send,
    ) -> Option<Vec<PathBuf>> {
        let border = Arc::new(Border::none());
        let mut left = self.most;
        let mut found = Vec::new();
        let mut folders = vec![self.folder];
        while let Some(folder) = folders.pop() {
            // What is no folder, or cannot be read, holds nothing that a command could reach.
            let Ok(listing) = host.list(&folder, left, &border).await else {
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
                if wanted(&path) {
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
    use crate::shell::{Place, accesses, analyse};
    use crate::testing::tool;
    use crate::{Call, Containment, Policy, Posture, Rule, Verdict};

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
        std::fs::create_dir(root.join(".vault")).unwrap();
        std::fs::write(root.join(".vault/s"), "x").unwrap();
        std::os::unix::fs::symlink(".vault", root.join("kept")).unwrap();
        policy.rules.deny = ["Read(.env)", "Read(config/.key)", "Read(.vault/**)"]
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
            ("grep -r x dir", Verdict::Deny),
            ("grep -r x dir/", Verdict::Deny),
            ("grep -r x kept/", Verdict::Deny),
            ("cp -rL kept o", Verdict::Deny),
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
                tool: tool("move_file"),
                accesses: &accesses,
                scope: &scope,
                resolved: &resolved,
            };
            assert_eq!(policy.decide(call).verdict, expect, "{from}");
        }
        // A folder brings what is in it to its new place.
        policy.rules.deny = vec![Rule::parse("Edit(.github/**)", "x:1").unwrap()];
        for (to, expect) in [
            (".github", Verdict::Deny),
            (".github/workflows", Verdict::Deny),
            (".vscode", Verdict::Ask),
            ("sub/.claude", Verdict::Ask),
            ("elsewhere", Verdict::Allow),
        ] {
            let accesses = ["src", to].map(|name| Access::Write(root.join(name)));
            let resolved = resolved(&host, &accesses, &policy, &scope).await;
            let call = Call {
                tool: tool("move_file"),
                accesses: &accesses,
                scope: &scope,
                resolved: &resolved,
            };
            assert_eq!(policy.decide(call).verdict, expect, "{to}");
        }
    }

    /// What links lead to that a pattern may name says nothing of the other files that it names.
    #[tokio::test]
    async fn a_pattern_outside_is_outside_whatever_its_links_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for file in ["repo/secret", "other/secret", "many/x"] {
            std::fs::create_dir_all(base.join(file).parent().unwrap()).unwrap();
            std::fs::write(base.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("repo", base.join("inner")).unwrap();
        for number in 0..=MAX_LINKS {
            let link = base.join(format!("many/l{number}"));
            std::os::unix::fs::symlink("../repo/secret", link).unwrap();
        }
        let scope = Scope::new(base.join("repo"), None);
        let policy = Policy {
            posture: Posture::Auto,
            containment: Containment::Sandbox,
            ..Policy::default()
        };
        let host = ostler_host::Local::new();
        let at = base.display();
        let many: Vec<String> = (0..MAX_PATHS).map(|n| format!("a{n}")).collect();
        let patterns: Vec<String> = (0..MAX_PATTERNS).map(|n| format!("a{n}*")).collect();
        for (command, expect) in [
            (format!("cat {at}/*/secret"), Verdict::Ask),
            (format!("cat {at}/inner/secret"), Verdict::Allow),
            (format!("cat {at}/inner/secre*"), Verdict::Allow),
            (format!("grep -r x {at}/inner"), Verdict::Allow),
            (format!("cat {at}/many/*"), Verdict::Ask),
            ("unknown /*/*/secret".into(), Verdict::Ask),
            (format!("cp {at}/*/secret got"), Verdict::Ask),
            (
                format!("cat {} {at}/other/secret", many.join(" ")),
                Verdict::Ask,
            ),
            (
                format!("cat {} {at}/other/s*", patterns.join(" ")),
                Verdict::Ask,
            ),
            (format!("cat {}", patterns.join(" ")), Verdict::Allow),
            ("cat /*/*/secret".into(), Verdict::Ask),
            ("head -3 /*/x/secret".into(), Verdict::Ask),
            ("grep -r x /home".into(), Verdict::Ask),
            ("grep -r x /".into(), Verdict::Ask),
            (
                "find / -maxdepth 3 -name secret -exec cat {} +".into(),
                Verdict::Ask,
            ),
            ("find / -name secret".into(), Verdict::Ask),
            ("du -a /home".into(), Verdict::Ask),
            ("ls -R /home".into(), Verdict::Ask),
            ("ls /home".into(), Verdict::Allow),
            ("ls / > names".into(), Verdict::Allow),
            ("cat *".into(), Verdict::Allow),
            ("cat /usr/share/*/x".into(), Verdict::Allow),
        ] {
            let verdict = judged(&host, &policy, &scope, &command).await;
            assert_eq!(verdict, expect, "{command}");
        }
    }

    /// A link that a repository brings along makes other files of a rule's words.
    #[tokio::test]
    async fn an_allow_rule_does_not_follow_links_out_of_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for file in ["repo/in/x", "other/x"] {
            std::fs::create_dir_all(base.join(file).parent().unwrap()).unwrap();
            std::fs::write(base.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("../other", base.join("repo/out")).unwrap();
        std::os::unix::fs::symlink("in", base.join("repo/here")).unwrap();
        let scope = Scope::new(base.join("repo"), None);
        let mut policy = Policy::default();
        policy.rules.allow = ["make:*", "ninja:*", "make -C out exact", "python3:*"]
            .map(|rule| Rule::parse(&format!("Bash({rule})"), "x:1").unwrap())
            .to_vec();
        let host = ostler_host::Local::new();
        for (command, expect) in [
            ("make -C in", Verdict::Allow),
            ("make -C here", Verdict::Allow),
            ("make -C out", Verdict::Ask),
            ("make -Cout", Verdict::Ask),
            ("make --directory=out", Verdict::Ask),
            ("make -f out/x", Verdict::Ask),
            ("ninja -C out", Verdict::Ask),
            ("make -C out exact", Verdict::Allow),
            ("python3 out/x", Verdict::Allow),
        ] {
            let got = judged(&host, &policy, &scope, command).await;
            assert_eq!(got, expect, "{command}");
        }
    }

    async fn judged(host: &dyn Host, policy: &Policy, scope: &Scope, command: &str) -> Verdict {
        let place = Place {
            cwd: scope.root.clone(),
            root: &scope.root,
            home: None,
            open: &[],
        };
        let accesses = accesses(analyse(command, &place));
        let resolved = resolved(host, &accesses, policy, scope).await;
        let call = Call {
            tool: tool("bash"),
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
