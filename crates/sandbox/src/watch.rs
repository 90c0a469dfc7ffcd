//! Protected paths that the system cannot hold: remembered before a command, compared and put back after it. Of the settings
//! and plans of git, changes that run nothing are taken over.

mod put_back;
mod state;

use super::gitconfig::{Kind, Merged};
use ostler_files::sight;
use put_back::{lead_back, put_back, remove, spot};
use state::{Seen, links_above, place, snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(super) use put_back::{OWNER, regain};
pub(super) use state::Kept;

/// The mode of a file of git.
const PLAIN: u32 = 0o644;
/// How often a folder is looked at that one look does not see all of.
const MAX_PASSES: usize = 64;
/// Most links on the way to one protected path that are taken out at once.
const MAX_DETOURS: usize = 8;

/// A protected path, with the folder it really is in.
type Placed = (PathBuf, PathBuf);

/// The protected paths as they were.
#[derive(Debug)]
pub struct Watch {
    pub(super) before: BTreeMap<PathBuf, Kept>,
    pub(super) roots: Vec<Placed>,
    /// Folders above them that were links, and where they led.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    /// Protected paths that could not be put back: they stay compared with what was there first.
    pub(super) open: BTreeSet<PathBuf>,
    /// Protected paths that hold more than could be remembered: what is new in them cannot be told from what was there.
    pub(super) partial: BTreeSet<PathBuf>,
}

/// A protected path that a command changed.
#[derive(Debug)]
pub struct Change {
    pub path: PathBuf,
    /// Whether it is again as it was, or as it may be.
    pub undone: io::Result<()>,
    /// If the rest of the change was taken over: what was not.
    pub refused: Vec<String>,
}

impl Watch {
    /// Remembers the paths as they are now.
    pub fn new(roots: &[PathBuf]) -> Self {
        let (placed, links) = sight::at_once(|| {
            let placed = roots.iter().map(|root| (root.clone(), place(root)));
            (placed.collect::<Vec<_>>(), links_above(roots))
        });
        let Seen { found, cut } = snapshot(&placed);
        Self {
            before: found,
            roots: placed,
            links,
            open: BTreeSet::new(),
            partial: cut,
        }
    }

    /// Whether everything is as it was, in one look. If not, the rest here tells what to do about it.
    pub fn is_unchanged(&self) -> bool {
        if !self.open.is_empty() || sight::at_once(|| self.roots.iter().any(|one| self.strays(one)))
        {
            return false;
        }
        let Seen { found, cut } = snapshot(&self.roots);
        found == self.before && cut == self.partial
    }

    /// Whether a protected path is no longer reached where it was.
    fn strays(&self, (root, before): &(PathBuf, PathBuf)) -> bool {
        place(root) != *before || self.blocked(root, before).is_some()
    }

    /// The protected paths that are reached where they were, and those that are not.
    fn in_place(&self) -> (Vec<Placed>, Vec<Placed>) {
        let roots = self.roots.iter().cloned();
        sight::at_once(|| roots.partition(|(root, at)| place(root) == *at))
    }

    /// Of the paths that are remembered here, takes the state that another session remembers.
    pub fn take_over(&mut self, other: &Self) {
        let ours = |path: &Path| self.roots.iter().any(|(root, _)| root == path);
        let shared: Vec<(PathBuf, PathBuf)> = other
            .roots
            .iter()
            .filter(|(root, _)| ours(root))
            .cloned()
            .collect();
        let is_shared = |path: &Path| shared.iter().any(|(root, _)| path.starts_with(root));
        self.before.retain(|path, _| !is_shared(path));
        let theirs = other.before.iter().filter(|(path, _)| is_shared(path));
        self.before
            .extend(theirs.map(|(path, kept)| (path.clone(), kept.clone())));
        self.roots.retain(|(root, _)| !is_shared(root));
        let above = |link: &Path| shared.iter().any(|(root, _)| root.starts_with(link));
        // A link above a path of theirs that was none for them is one that a command made meanwhile.
        let is_made = |path: &Path| match self.before.get(path) {
            Some(Kept::Link(target)) => above(path) && other.links.get(path) != Some(target),
            Some(Kept::File { .. } | Kept::Folder | Kept::Unread(_) | Kept::Other) | None => false,
        };
        let made: Vec<PathBuf> = (self.paths().into_iter())
            .filter(|path| !is_shared(path) && is_made(path))
            .collect();
        self.roots.retain(|(root, _)| !made.contains(root));
        self.before.retain(|path, _| !made.contains(path));
        self.links.retain(|link, _| !above(link));
        let theirs = other.links.iter().filter(|(link, _)| above(link));
        self.links
            .extend(theirs.map(|(link, target)| (link.clone(), target.clone())));
        self.partial.retain(|path| !is_shared(path));
        let theirs = other.partial.iter().filter(|path| is_shared(path));
        self.partial.extend(theirs.cloned());
        self.roots.extend(shared);
    }

    /// Forgets all but these paths.
    pub fn retain(&mut self, wanted: &[PathBuf]) {
        self.roots.retain(|(root, _)| wanted.contains(root));
        let roots = &self.roots;
        self.before
            .retain(|path, _| roots.iter().any(|(root, _)| path.starts_with(root)));
    }

    /// Whether everything could be remembered; if not, what was left out is not compared either.
    pub fn complete(&self) -> bool {
        self.partial.is_empty() && !self.before.values().any(|k| matches!(k, Kept::Unread(_)))
    }

    /// Whether a path that is there now and was not remembered is new.
    fn is_new(&self, path: &Path) -> bool {
        !self.before.contains_key(path) && !self.partial.iter().any(|part| path.starts_with(part))
    }

    /// The paths that are remembered.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|(root, _)| root.clone()).collect()
    }

    /// Remembers more paths, as they are now. Those that are known stay as they were.
    pub fn add(&mut self, roots: &[PathBuf]) {
        let known = |root: &&PathBuf| !self.roots.iter().any(|(known, _)| known == *root);
        let new: Vec<PathBuf> = roots.iter().filter(known).cloned().collect();
        if new.is_empty() {
            return;
        }
        let more = Self::new(&new);
        self.before.extend(more.before);
        self.roots.extend(more.roots);
        self.links.extend(more.links);
        self.partial.extend(more.partial);
    }

    /// Remembers all paths and these as they are now, but for what a command changed and could not be put back.
    pub fn renew(&mut self, more: &[PathBuf]) {
        let is_open = |path: &Path| self.open.iter().any(|open| path.starts_with(open));
        let mut all: Vec<PathBuf> = self.paths();
        all.extend(more.iter().cloned());
        all.sort();
        all.dedup();
        let (stay, renewed): (Vec<_>, Vec<_>) = all.into_iter().partition(|root| {
            self.open
                .iter()
                .any(|open| open.starts_with(root) || root.starts_with(open))
        });
        let mut new = Self::new(&renewed);
        let before = std::mem::take(&mut self.before).into_iter();
        let is_kept = |path: &Path| stay.iter().any(|root| path.starts_with(root));
        new.before.extend(before.filter(|(path, _)| is_kept(path)));
        let roots = std::mem::take(&mut self.roots).into_iter();
        new.roots
            .extend(roots.filter(|(root, _)| stay.contains(root)));
        // What led elsewhere by a link of a command is no link of the person's.
        new.links.retain(|path, _| !is_open(path));
        let links = std::mem::take(&mut self.links).into_iter();
        new.links.extend(links.filter(|(path, _)| is_open(path)));
        new.open = std::mem::take(&mut self.open);
        let partial = std::mem::take(&mut self.partial).into_iter();
        new.partial.extend(partial.filter(|path| is_kept(path)));
        *self = new;
    }

    /// Remembers a path, all below it and new folders above it as they are now: the person wants them so.
    pub fn accept(&mut self, path: &Path) {
        for (root, at) in self.in_place().0 {
            let named = match path.strip_prefix(&at) {
                Ok(_) => below(&at, &root, path),
                Err(_) => path.to_owned(),
            };
            let holds = named.starts_with(&root);
            if !holds && !root.starts_with(&named) {
                continue;
            }
            let found = snapshot(&[(root.clone(), at)]).found;
            let is_inner = |inner: &Path| inner.starts_with(&named);
            self.before
                .retain(|one, _| !(one.starts_with(&root) && is_inner(one)));
            for (one, kept) in found {
                let is_above = holds && named.starts_with(&one) && kept == Kept::Folder;
                if is_inner(&one) || is_above && !self.before.contains_key(&one) {
                    self.before.insert(one, kept);
                }
            }
        }
    }

    /// What differs from before and is not taken over; nothing is put back.
    pub fn changed(&self) -> Vec<PathBuf> {
        // Behind a link lies what the command could not show us otherwise.
        let (here, _) = self.in_place();
        let Seen { found: after, .. } = snapshot(&here);
        let differs = |path: &&PathBuf| match judge(path, self.before.get(*path), after.get(*path))
        {
            Judged::Accepted => false,
            Judged::Partly(_) | Judged::Refused => true,
        };
        let new = after.keys().filter(|path| self.is_new(path));
        let old = self.before.keys();
        new.chain(old).filter(differs).cloned().collect()
    }

    /// Puts back what changed. What was left running may change it again, so it can be called more than once.
    pub fn undo(&mut self) -> Vec<Change> {
        self.open.clear();
        let mut changes: Vec<Change> = Vec::new();
        let mut cut = BTreeSet::new();
        // A folder may be filled so that one look does not see all of it: what was seen is taken out, and it is looked again.
        for _ in 0..MAX_PASSES {
            let (more, rest) = self.undo_once();
            let is_done = rest.is_empty() || more.is_empty();
            changes.retain(|old| !more.iter().any(|new| new.path == old.path));
            changes.extend(more);
            cut = rest;
            if is_done {
                break;
            }
        }
        changes.extend(cut.into_iter().map(|path| Change {
            path,
            undone: Err(io::Error::other("not all of it could be looked at")),
            refused: Vec::new(),
        }));
        let failed = changes.iter().filter(|change| change.undone.is_err());
        self.open.extend(failed.map(|change| change.path.clone()));
        changes
    }

    /// What was changed and put back, and folders that hold more than was looked at, though they did not before.
    fn undo_once(&mut self) -> (Vec<Change>, BTreeSet<PathBuf>) {
        let mut changes = self.remove_detours();
        // A folder above that became a link would lead us out of the workspace, where we may write and the command not.
        let (here, led_away) = self.in_place();
        let Seen { found: after, cut } = snapshot(&here);
        changes.extend(led_away.into_iter().map(|(path, _)| Change {
            path,
            undone: Err(io::Error::other("a folder above it was replaced by a link")),
            refused: Vec::new(),
        }));
        // Innermost first, so that folders are empty when their turn comes. What was never read cannot be called new.
        let new = after.keys().rev().filter(|path| self.is_new(path));
        let new: Vec<PathBuf> = new.cloned().collect();
        let old = self.before.keys();
        let old = old.filter(|path| here.iter().any(|(root, _)| path.starts_with(root)));
        let old: Vec<PathBuf> = old.cloned().collect();
        for path in new.into_iter().chain(old) {
            // What lies in a part that was not looked at is not gone because it was not seen.
            let is_hidden = !after.contains_key(&path) && cut.iter().any(|c| path.starts_with(c));
            if !is_hidden || fs::symlink_metadata(&path).is_err() {
                changes.extend(self.settle(&path, after.get(&path)));
            }
        }
        // One that was new is gone with all that was in it.
        let is_left = |path: &PathBuf| !self.partial.contains(path) && path.exists();
        (changes, cut.into_iter().filter(is_left).collect())
    }

    /// Folders above a protected path that a command replaced by links or files, or links that it led elsewhere, as they were.
    fn remove_detours(&self) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        if !sight::at_once(|| self.roots.iter().any(|one| self.strays(one))) {
            return changes;
        }
        for (root, before) in &self.roots {
            for _ in 0..MAX_DETOURS {
                let blocked = self.blocked(root, before);
                if blocked.is_none() && place(root) == *before {
                    break;
                }
                let blocked = blocked.map(|path| (path, None));
                let Some((path, target)) = blocked.or_else(|| self.detour(root, before)) else {
                    break;
                };
                let undone = lead_back(&self.remembered(&path), target);
                let is_done = undone.is_ok();
                changes.push(Change {
                    path,
                    undone,
                    refused: Vec::new(),
                });
                if !is_done {
                    break;
                }
            }
        }
        changes
    }

    /// What was a folder on the way to something that was there, and is neither a folder nor a link now.
    fn blocked(&self, root: &Path, before: &Path) -> Option<PathBuf> {
        let is_odd = |path: &&Path| {
            let seen = sight::look(path);
            seen.is_ok_and(|seen| !matches!(seen.kind, sight::Kind::Folder | sight::Kind::Link(_)))
        };
        let mut above = before.ancestors().skip(1);
        let found = self.before.contains_key(root).then(|| above.find(is_odd));
        found.flatten().map(Path::to_owned)
    }

    /// The first folder on the way that is another link than it was, and where it led if it was one.
    fn detour<'a>(&'a self, root: &Path, before: &Path) -> Option<(PathBuf, Option<&'a Path>)> {
        let above = |path: &Path| -> Vec<PathBuf> {
            let mut all: Vec<PathBuf> = path.ancestors().skip(1).map(Path::to_owned).collect();
            all.reverse();
            all
        };
        // The real way had no links at all.
        let is_new = |path: &PathBuf| {
            let target = fs::read_link(path).ok();
            target.is_some() && target.as_ref() != self.links.get(path)
        };
        let real = above(before).into_iter().find(is_new);
        let as_written = || {
            above(root).into_iter().find_map(|path| {
                let was = self.links.get(&path);
                (fs::read_link(&path).ok().as_ref() != was)
                    .then_some((path, was.map(PathBuf::as_path)))
            })
        };
        real.map(|path| (path, None)).or_else(as_written)
    }

    /// The bytes of a regular file below a protected path, if it is not longer than this. No link is followed to it.
    pub fn read(&self, path: &Path, most: u64) -> Option<Vec<u8>> {
        let (dir, name) = spot(&self.real(path)).ok()?;
        dir.read_file(&name, most)
    }

    /// Where a path below a protected one really was when that was remembered. It is reached there without links.
    fn real(&self, path: &Path) -> PathBuf {
        let above = self.roots.iter().filter(|(root, _)| path.starts_with(root));
        let nearest = above.max_by_key(|(root, _)| root.as_os_str().len());
        let real = nearest.map(|(root, at)| below(root, at, path));
        real.unwrap_or_else(|| path.to_owned())
    }

    /// A folder on the way to a protected path, with the links above it that were there before.
    fn remembered(&self, path: &Path) -> PathBuf {
        let mut real = PathBuf::new();
        let mut written = PathBuf::new();
        let (folder, name) = (path.parent().unwrap_or(path), path.file_name());
        for part in folder {
            written.push(part);
            real.push(part);
            if let Some(target) = self.links.get(&written) {
                real.pop();
                real.push(target);
            }
        }
        real.extend(name);
        real
    }

    /// Puts one path back, or takes over what may stay of its change.
    fn settle(&mut self, path: &Path, now: Option<&Kept>) -> Option<Change> {
        let real = self.real(path);
        let before = self.before.get(path);
        if before == now {
            return None;
        }
        let (undone, refused) = match (judge(path, before, now), before) {
            (Judged::Accepted, _) => {
                match now {
                    Some(now) => drop(self.before.insert(path.to_owned(), now.clone())),
                    None => drop(self.before.remove(path)),
                }
                return None;
            }
            (Judged::Partly(Merged { text, refused }), before) => {
                let mode = match before.or(now) {
                    Some(Kept::File { mode, .. }) => *mode,
                    Some(Kept::Folder | Kept::Link(_) | Kept::Unread(_) | Kept::Other) | None => {
                        PLAIN
                    }
                };
                let kept = Kept::File { bytes: text, mode };
                let undone = put_back(&real, &kept, now.is_some());
                self.before.insert(path.to_owned(), kept);
                (undone, refused)
            }
            (Judged::Refused, Some(kept)) => (put_back(&real, kept, now.is_some()), Vec::new()),
            (Judged::Refused, None) => (remove(&real), Vec::new()),
        };
        Some(Change {
            path: path.to_owned(),
            undone,
            refused,
        })
    }
}

/// The place of a path below `root`, which is at `at`.
fn below(root: &Path, at: &Path, path: &Path) -> PathBuf {
    let mut real = at.to_owned();
    real.extend(path.strip_prefix(root).into_iter().flatten());
    real
}

/// What becomes of a change.
enum Judged {
    /// There is none, or all of it may stay.
    Accepted,
    /// This is to be there instead.
    Partly(Merged),
    Refused,
}

fn judge(path: &Path, before: Option<&Kept>, now: Option<&Kept>) -> Judged {
    if before == now {
        return Judged::Accepted;
    }
    let old = match before {
        Some(Kept::File { bytes, mode }) => Some((bytes.as_slice(), *mode)),
        None => None,
        Some(Kept::Folder | Kept::Link(_) | Kept::Unread(_) | Kept::Other) => {
            return Judged::Refused;
        }
    };
    match (Kind::of(path), now) {
        // It has come to its end, or was given up.
        (Some(Kind::Plan | Kind::Strategy | Kind::Options), None) => Judged::Accepted,
        (Some(kind), Some(Kept::File { bytes, mode })) => {
            let merged = kind.merge(old.map(|(bytes, _)| bytes), bytes);
            let same_mode = old.is_none_or(|(_, old)| old == *mode);
            let is_same = merged.text == *bytes && merged.refused.is_empty();
            let is_empty = matches!(kind, Kind::Settings | Kind::MoreSettings)
                && merged.text.trim_ascii().is_empty();
            match old {
                // Nothing would be left of new settings.
                None if is_empty && !is_same => Judged::Refused,
                Some(_) | None if is_same && same_mode => Judged::Accepted,
                Some(_) | None => Judged::Partly(merged),
            }
        }
        (
            Some(Kind::Settings | Kind::MoreSettings | Kind::Plan | Kind::Strategy | Kind::Options)
            | None,
            _,
        ) => Judged::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::state::{MAX_ENTRIES, MAX_FILE};
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn changes_are_found_and_undone() {
        type Act = fn(&Path);
        let cases: &[(&str, Act, &[&str])] = &[
            ("nothing", |_| {}, &[]),
            (
                "edit",
                |top| fs::write(top.join("hooks/a"), "evil").unwrap(),
                &["hooks/a"],
            ),
            (
                "mode",
                |top| {
                    let mode = Permissions::from_mode(0o755);
                    fs::set_permissions(top.join("hooks/a"), mode).unwrap();
                },
                &["hooks/a"],
            ),
            (
                "new",
                |top| fs::write(top.join("hooks/b"), "evil").unwrap(),
                &["hooks/b"],
            ),
            (
                "new folder",
                |top| fs::create_dir_all(top.join("hooks/x/y")).unwrap(),
                &["hooks/x/y", "hooks/x"],
            ),
            (
                "without the right to change it back",
                |top| {
                    fs::write(top.join("hooks/a"), "evil").unwrap();
                    fs::create_dir(top.join("hooks/x")).unwrap();
                    fs::write(top.join("hooks/x/y"), "evil").unwrap();
                    for name in ["hooks/x", "hooks"] {
                        let mode = Permissions::from_mode(0o555);
                        fs::set_permissions(top.join(name), mode).unwrap();
                    }
                },
                &["hooks/x/y", "hooks/x", "hooks/a"],
            ),
            (
                "absent before",
                |top| fs::write(top.join("none"), "evil").unwrap(),
                &["none"],
            ),
            (
                "gone",
                |top| fs::remove_file(top.join("hooks/a")).unwrap(),
                &["hooks/a"],
            ),
            (
                "all gone",
                |top| fs::remove_dir_all(top.join("hooks")).unwrap(),
                &["hooks", "hooks/a"],
            ),
            (
                "link instead",
                |top| {
                    fs::remove_file(top.join("hooks/a")).unwrap();
                    std::os::unix::fs::symlink("/etc/passwd", top.join("hooks/a")).unwrap();
                },
                &["hooks/a"],
            ),
            (
                "link moved",
                |top| {
                    fs::remove_file(top.join("link")).unwrap();
                    std::os::unix::fs::symlink("/etc/passwd", top.join("link")).unwrap();
                },
                &["link"],
            ),
        ];
        for (name, act, expect) in cases {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path();
            fs::create_dir(top.join("hooks")).unwrap();
            fs::write(top.join("hooks/a"), "good").unwrap();
            std::os::unix::fs::symlink("hooks", top.join("link")).unwrap();
            let roots = ["hooks", "none", "link"].map(|name| top.join(name));
            let placed = roots.clone().map(|root| (root.clone(), place(&root)));
            let before = snapshot(&placed).found;
            let mut watch = Watch::new(&roots);
            act(top);
            let differs = watch.changed();
            let changes = watch.undo();
            assert_eq!(differs.len(), changes.len(), "{name}");
            let paths: Vec<_> = changes
                .iter()
                .map(|c| c.path.strip_prefix(top).unwrap())
                .collect();
            assert_eq!(
                paths,
                expect.iter().map(Path::new).collect::<Vec<_>>(),
                "{name}"
            );
            assert!(
                changes.iter().all(|change| change.undone.is_ok()),
                "{name}: {changes:?}"
            );
            assert_eq!(snapshot(&placed).found, before, "{name}");
        }
    }

    /// Of git's own files, what runs nothing stays, and becomes what is compared with from then on.
    #[test]
    fn harmless_changes_of_git_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let read = |name: &str| fs::read_to_string(at(name)).unwrap();
        fs::create_dir(at("rebase-merge")).unwrap();
        fs::write(at("HEAD"), "").unwrap();
        fs::write(at("config"), "[core]\n\tbare = false\n").unwrap();
        let roots = ["config", "config.worktree", "rebase-merge/git-rebase-todo"].map(at);
        let mut watch = Watch::new(&roots);
        let mut check = |acts: &[(&str, &str)], expect: &[&str]| {
            for (name, text) in acts {
                fs::write(at(name), text).unwrap();
            }
            let differs = watch.changed();
            let refused: Vec<String> = watch.undo().into_iter().flat_map(|c| c.refused).collect();
            assert_eq!(refused, expect);
            assert_eq!(differs.len(), expect.len(), "{differs:?}");
            assert_eq!(watch.undo().len(), 0);
        };
        let good = "[core]\n\tbare = false\n[user]\n\tname = A\n";
        check(
            &[
                ("config", good),
                ("config.worktree", "[core]\n\tsparseCheckout = true\n"),
            ],
            &[],
        );
        assert_eq!(read("config"), good);
        check(
            &[("config", &format!("{good}[core]\n\tpager = x\n"))],
            &["core.pager"],
        );
        assert_eq!(read("config"), good);
        let plan = "rebase-merge/git-rebase-todo";
        check(&[(plan, "pick 1 a\nexec id\n")], &["exec id"]);
        assert_eq!(read(plan), "pick 1 a\n");
        fs::remove_file(at(plan)).unwrap();
        check(&[], &[]);
        assert!(!at(plan).exists());
    }

    #[test]
    fn a_link_above_does_not_lead_us_out() {
        for had_folder in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let [inside, outside] = ["in", "out"].map(|name| folder.path().join(name));
            fs::create_dir(&inside).unwrap();
            fs::create_dir(&outside).unwrap();
            fs::write(outside.join("config"), "theirs").unwrap();
            if had_folder {
                fs::create_dir(inside.join("git")).unwrap();
                fs::write(inside.join("git/config"), "ours").unwrap();
            }
            let mut watch = Watch::new(&[inside.join("git/config")]);
            let _absent = fs::remove_dir_all(inside.join("git"));
            std::os::unix::fs::symlink(&outside, inside.join("git")).unwrap();
            // What lies behind the link is not ours to keep.
            assert_eq!(watch.changed().is_empty(), !had_folder);
            let changes = watch.undo();
            assert_eq!(changes[0].path, inside.join("git"), "{changes:?}");
            assert!(changes.iter().all(|change| change.undone.is_ok()));
            assert_eq!(
                fs::read_to_string(outside.join("config")).unwrap(),
                "theirs"
            );
            assert!(!inside.join("git").is_symlink());
            let back = fs::read_to_string(inside.join("git/config")).ok();
            assert_eq!(back.as_deref(), had_folder.then_some("ours"));
            assert_eq!(watch.undo().len(), 0);
        }
    }

    /// A link above that leads nowhere yet is one all the same.
    #[test]
    fn a_dangling_link_above_is_taken_out() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        let roots = ["x/a", "x/b"].map(|name| top.join(name));
        let mut watch = Watch::new(&roots);
        std::os::unix::fs::symlink("../evil", top.join("x")).unwrap();
        let changes = watch.undo();
        assert!(!top.join("x").is_symlink(), "{changes:?}");
        assert!(changes.iter().all(|change| change.undone.is_ok()));
        assert_eq!(watch.undo().len(), 0);
    }

    /// A person's own link stays theirs, and leads where it led.
    #[test]
    fn a_link_that_was_there_leads_where_it_led() {
        type Act = fn(&Path);
        let acts: [Act; 3] = [
            |top| std::os::unix::fs::symlink("evil", top.join("git")).unwrap(),
            |top| {
                fs::create_dir(top.join("git")).unwrap();
                fs::write(top.join("git/config"), "evil").unwrap();
            },
            |_| {},
        ];
        for act in acts {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path();
            for name in ["real", "evil"] {
                fs::create_dir(top.join(name)).unwrap();
                fs::write(top.join(name).join("config"), name).unwrap();
            }
            std::os::unix::fs::symlink("real", top.join("git")).unwrap();
            let mut watch = Watch::new(&[top.join("git/config")]);
            assert_eq!(watch.undo().len(), 0);
            fs::remove_file(top.join("git")).unwrap();
            act(top);
            let changes = watch.undo();
            assert_eq!(changes.len(), 1, "{changes:?}");
            assert!(changes[0].undone.is_ok(), "{changes:?}");
            assert_eq!(fs::read_link(top.join("git")).unwrap(), Path::new("real"));
            assert_eq!(fs::read_to_string(top.join("git/config")).unwrap(), "real");
        }
    }

    /// What could not be put back does not become the person's.
    #[test]
    fn what_could_not_be_put_back_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::write(top.join("a"), "a").unwrap();
        let roots = ["a", "b"].map(|name| top.join(name));
        let mut watch = Watch::new(&roots);
        fs::write(top.join("a"), "evil").unwrap();
        watch.open.insert(roots[0].clone());
        fs::write(top.join("b"), "theirs").unwrap();
        watch.renew(&[]);
        assert_eq!(watch.changed(), [roots[0].clone()]);
        assert_eq!(watch.undo().len(), 1);
        watch.renew(&[]);
        assert_eq!(watch.undo().len(), 0);
        assert_eq!(fs::read_to_string(top.join("a")).unwrap(), "a");
        assert_eq!(fs::read_to_string(top.join("b")).unwrap(), "theirs");
    }

    /// Whatever a command does so that one look does not see its file.
    #[test]
    fn nothing_hides_among_many_or_by_its_size() {
        type Act = fn(&Path);
        let acts: [(&str, Act); 5] = [
            ("large", |top| {
                fs::write(top.join("none"), vec![b'\n'; MAX_FILE as usize + 1]).unwrap();
            }),
            ("large in a folder", |top| {
                fs::write(top.join("hooks/b"), vec![b'\n'; MAX_FILE as usize + 1]).unwrap();
            }),
            ("many", |top| {
                for number in 0..MAX_ENTRIES + 10 {
                    fs::write(top.join(format!("hooks/x{number}")), "").unwrap();
                }
            }),
            ("many large", |top| {
                for number in 0..20 {
                    let file = fs::File::create(top.join(format!("hooks/x{number}"))).unwrap();
                    file.set_len(MAX_FILE).unwrap();
                }
                fs::write(top.join("none"), "evil").unwrap();
            }),
            ("shut", |top| {
                fs::write(top.join("hooks/b"), "evil").unwrap();
                let mode = Permissions::from_mode(0o000);
                fs::set_permissions(top.join("hooks"), mode).unwrap();
            }),
        ];
        for (name, act) in acts {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path();
            fs::create_dir(top.join("hooks")).unwrap();
            fs::write(top.join("hooks/a"), "good").unwrap();
            let roots = ["hooks", "none"].map(|name| top.join(name));
            let mut watch = Watch::new(&roots);
            act(top);
            let changes = watch.undo();
            assert!(!changes.is_empty(), "{name}");
            let left = fs::read_dir(top.join("hooks")).unwrap();
            let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(left, ["a"], "{name}: {:?}", changes.last());
            assert!(!top.join("none").exists(), "{name}");
            assert!(
                changes.iter().all(|c| c.undone.is_ok()),
                "{name}: {changes:?}"
            );
        }
    }

    /// One that was too large before is the person's as long as it is the same.
    #[test]
    fn a_large_file_of_the_person_is_left_alone_and_a_changed_one_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("big");
        fs::write(&file, vec![0; MAX_FILE as usize + 1]).unwrap();
        let mut watch = Watch::new(std::slice::from_ref(&file));
        assert_eq!(watch.undo().len(), 0);
        fs::write(&file, "evil").unwrap();
        let changes = watch.undo();
        assert_eq!(changes.len(), 1);
        assert!(changes[0].undone.is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "evil");
    }

    #[test]
    fn what_is_too_large_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("big");
        fs::write(&file, vec![0; MAX_FILE as usize + 1]).unwrap();
        assert!(!Watch::new(&[file]).complete());
    }

    /// A process that was left running exchanges a folder for a link to one of the person's while things are put back.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_becomes_a_link_meanwhile_does_not_lead_us_out() {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use std::sync::atomic::{AtomicBool, Ordering};
        const ROUNDS: usize = 1500;
        let folder = tempfile::tempdir().unwrap();
        let [inside, outside] = ["in", "out"].map(|name| folder.path().join(name));
        let (above, link) = (inside.join("above"), inside.join("link"));
        for path in [outside.join("skills/mine"), above.join("skills")] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(outside.join("skills/mine/file"), "theirs").unwrap();
        fs::write(outside.join("config"), "theirs").unwrap();
        fs::remove_dir(above.join("skills")).unwrap();
        fs::write(above.join("config"), "ours").unwrap();
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        let roots = ["skills", "config", "gone"].map(|name| above.join(name));
        fs::write(&roots[2], "ours").unwrap();
        let mut watch = Watch::new(&roots);
        fs::remove_file(&roots[2]).unwrap();
        let over = AtomicBool::new(false);
        let mut done = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    // Whatever is at these names at the moment.
                    let _ = renameat_with(CWD, &above, CWD, &link, RenameFlags::EXCHANGE);
                }
            });
            for _ in 0..ROUNDS {
                for path in watch.changed() {
                    let bytes = watch.read(&path, MAX_FILE).unwrap_or_default();
                    assert_ne!(bytes, b"theirs", "{path:?}");
                }
                done += watch.undo().len();
                let is_whole = fs::read_to_string(outside.join("skills/mine/file"));
                if is_whole.is_err() || outside.join("gone").exists() {
                    break;
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        let text = |name: &str| fs::read_to_string(outside.join(name)).ok();
        assert_eq!(text("skills/mine/file").as_deref(), Some("theirs"));
        assert_eq!(text("config").as_deref(), Some("theirs"));
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
        assert!(done > 0, "nothing was put back");
    }

    /// A link that takes a folder's place between the check and the change leads nowhere.
    #[test]
    fn nothing_is_put_back_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("theirs/hooks")).unwrap();
        fs::write(top.join("theirs/hooks/a"), "theirs").unwrap();
        std::os::unix::fs::symlink("theirs", top.join("link")).unwrap();
        let kept = || Kept::File {
            bytes: b"ours".to_vec(),
            mode: 0o644,
        };
        assert!(remove(&top.join("link/hooks")).is_err());
        assert!(remove(&top.join("link/hooks/a")).is_err());
        assert!(put_back(&top.join("link/hooks/a"), &kept(), true).is_err());
        assert!(put_back(&top.join("link/hooks/b"), &kept(), false).is_err());
        assert!(put_back(&top.join("link/new/b"), &kept(), false).is_err());
        assert!(put_back(&top.join("link/c"), &Kept::Folder, false).is_err());
        assert!(lead_back(&top.join("link/hooks"), Some(Path::new("/x"))).is_err());
        let names = |at: &str| fs::read_dir(top.join(at)).unwrap().count();
        assert_eq!((names("theirs"), names("theirs/hooks")), (1, 1));
        assert_eq!(fs::read(top.join("theirs/hooks/a")).unwrap(), b"theirs");
        put_back(&top.join("deep/er/b"), &kept(), false).unwrap();
        assert_eq!(fs::read(top.join("deep/er/b")).unwrap(), b"ours");
    }
}
