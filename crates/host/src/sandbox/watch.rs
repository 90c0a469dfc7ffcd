//! Protected paths that the system cannot hold: remembered before a command, compared and put back after it. Of the settings
//! and plans of git, changes that run nothing are taken over.

use super::gitconfig::{Kind, Merged};
use crate::files::{Dir, set_file_mode};
use crate::host::Kind as FileKind;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Most files and folders below the protected paths.
const MAX_ENTRIES: usize = 4096;
/// What the owner of a folder needs to change what is in it.
const OWNER: u32 = 0o700;
/// The mode of a file of git.
const PLAIN: u32 = 0o644;
/// Most links on the way to one protected path that are taken out at once.
const MAX_DETOURS: usize = 8;
/// Most bytes of one file, and of all.
const MAX_FILE: u64 = 1 << 20;
const MAX_TOTAL: u64 = 16 << 20;
/// Folders inside each other that are removed.
const MAX_DEPTH: usize = 256;

/// The protected paths as they were.
#[derive(Debug)]
pub struct Watch {
    before: BTreeMap<PathBuf, Kept>,
    /// Each protected path, with the folder it really is in.
    roots: Vec<(PathBuf, PathBuf)>,
    /// Folders above them that were links, and where they led.
    links: BTreeMap<PathBuf, PathBuf>,
    /// Protected paths that could not be put back: they stay compared with what was there first.
    open: BTreeSet<PathBuf>,
    complete: bool,
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

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kept {
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Folder,
    Link(PathBuf),
    /// Devices, sockets, pipes: that they are there is all that is compared.
    Other,
}

impl Watch {
    /// Remembers the paths as they are now.
    pub fn new(roots: &[PathBuf]) -> Self {
        let placed = roots.iter().map(|root| (root.clone(), place(root)));
        let placed: Vec<(PathBuf, PathBuf)> = placed.collect();
        let (before, complete) = snapshot(&placed);
        Self {
            before,
            roots: placed,
            links: links_above(roots),
            open: BTreeSet::new(),
            complete,
        }
    }

    /// Whether everything could be remembered; if not, what was left out is not compared either.
    pub fn complete(&self) -> bool {
        self.complete
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
        self.complete &= more.complete;
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
        new.complete &= self.complete;
        *self = new;
    }

    /// What differs from before and is not taken over; nothing is put back.
    pub fn changed(&self) -> Vec<PathBuf> {
        // Behind a link lies what the command could not show us otherwise.
        let here = self.roots.iter().filter(|(root, at)| place(root) == *at);
        let here: Vec<(PathBuf, PathBuf)> = here.cloned().collect();
        let (after, _) = snapshot(&here);
        let differs = |path: &&PathBuf| match judge(path, self.before.get(*path), after.get(*path))
        {
            Judged::Accepted => false,
            Judged::Partly(_) | Judged::Refused => true,
        };
        let new = after
            .keys()
            .filter(|path| self.complete && !self.before.contains_key(*path));
        let old = self.before.keys();
        new.chain(old).filter(differs).cloned().collect()
    }

    /// Puts back what changed. What was left running may change it again, so it can be called more than once.
    pub fn undo(&mut self) -> Vec<Change> {
        self.open.clear();
        let mut changes = self.remove_detours();
        // A folder above that became a link would lead us out of the workspace, where we may write and the command not.
        let (here, led_away): (Vec<_>, Vec<_>) = self
            .roots
            .iter()
            .cloned()
            .partition(|(root, before)| place(root) == *before);
        let (after, _) = snapshot(&here);
        changes.extend(led_away.into_iter().map(|(path, _)| Change {
            path,
            undone: Err(io::Error::other("a folder above it was replaced by a link")),
            refused: Vec::new(),
        }));
        // Innermost first, so that folders are empty when their turn comes. What was never read cannot be called new.
        let new = after.keys().rev();
        let new = new.filter(|path| self.complete && !self.before.contains_key(*path));
        let new: Vec<PathBuf> = new.cloned().collect();
        let old = self.before.keys();
        let old = old.filter(|path| here.iter().any(|(root, _)| path.starts_with(root)));
        let old: Vec<PathBuf> = old.cloned().collect();
        for path in new.into_iter().chain(old) {
            changes.extend(self.settle(&path, after.get(&path)));
        }
        let failed = changes.iter().filter(|change| change.undone.is_err());
        self.open.extend(failed.map(|change| change.path.clone()));
        changes
    }

    /// Folders above a protected path that a command replaced by links, or links that it led elsewhere, as they were.
    fn remove_detours(&self) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        for (root, before) in &self.roots {
            for _ in 0..MAX_DETOURS {
                if place(root) == *before {
                    break;
                }
                let Some((path, target)) = self.detour(root, before) else {
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
                    Some(Kept::Folder | Kept::Link(_) | Kept::Other) | None => PLAIN,
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

/// Makes a link to `target` again, or nothing. What is there instead is a link, which goes, or a folder, which stays beside.
fn lead_back(real: &Path, target: Option<&Path>) -> io::Result<()> {
    let (dir, name) = spot(real)?;
    regain(&dir);
    match dir.look(&name) {
        Ok(found) if found.kind == FileKind::Symlink => dir.remove_file(&name)?,
        Ok(_) => {
            let mut aside = name.clone();
            aside.extend(format!(".removed-{}", std::process::id()).into_bytes());
            dir.rename(&name, &aside)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    match target {
        Some(target) => dir.make_link(&name, target.as_os_str().as_bytes()),
        None => Ok(()),
    }
}

/// The folder of a real path, held open and reached without links, and the name in it.
fn spot(real: &Path) -> io::Result<(Dir, Vec<u8>)> {
    let missing = || io::Error::from(io::ErrorKind::InvalidInput);
    let folder = real.parent().ok_or_else(missing)?;
    let name = real.file_name().ok_or_else(missing)?;
    Ok((Dir::open(folder)?, name.as_bytes().to_vec()))
}

/// The place of a path below `root`, which is at `at`.
fn below(root: &Path, at: &Path, path: &Path) -> PathBuf {
    let mut real = at.to_owned();
    real.extend(path.strip_prefix(root).into_iter().flatten());
    real
}

fn links_above(roots: &[PathBuf]) -> BTreeMap<PathBuf, PathBuf> {
    let above = roots.iter().flat_map(|root| root.ancestors().skip(1));
    let above: BTreeSet<&Path> = above.collect();
    let links = above.into_iter().filter_map(|path| {
        let target = fs::read_link(path).ok()?;
        Some((path.to_owned(), target))
    });
    links.collect()
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
        Some(Kept::Folder | Kept::Link(_) | Kept::Other) => return Judged::Refused,
    };
    match (Kind::of(path), now) {
        // It has come to its end, or was given up.
        (Some(Kind::Plan | Kind::Strategy | Kind::Options), None) => Judged::Accepted,
        (Some(kind), Some(Kept::File { bytes, mode })) => {
            let merged = kind.merge(old.map(|(bytes, _)| bytes), bytes);
            let same_mode = old.is_none_or(|(_, old)| old == *mode);
            let is_same = merged.text == *bytes && merged.refused.is_empty();
            let is_empty = kind == Kind::Settings && merged.text.trim_ascii().is_empty();
            match old {
                // Nothing would be left of new settings.
                None if is_empty && !is_same => Judged::Refused,
                Some(_) | None if is_same && same_mode => Judged::Accepted,
                Some(_) | None => Judged::Partly(merged),
            }
        }
        (Some(Kind::Settings | Kind::Plan | Kind::Strategy | Kind::Options) | None, _) => {
            Judged::Refused
        }
    }
}

/// Where a path really is: its folders without links, as far as they exist.
fn place(path: &Path) -> PathBuf {
    let mut rest = vec![path.file_name()];
    for folder in path.ancestors().skip(1) {
        if let Ok(mut real) = fs::canonicalize(folder) {
            real.extend(rest.into_iter().rev().flatten());
            return real;
        }
        rest.push(folder.file_name());
    }
    path.to_owned()
}

/// What is at and below these paths, each with its real place.
fn snapshot(roots: &[(PathBuf, PathBuf)]) -> (BTreeMap<PathBuf, Kept>, bool) {
    let mut found = BTreeMap::new();
    let mut complete = true;
    let mut left = MAX_TOTAL;
    let mut open: Vec<(PathBuf, PathBuf)> = roots.to_vec();
    while let Some((path, real)) = open.pop() {
        if found.len() >= MAX_ENTRIES {
            return (found, false);
        }
        match keep(&real, &mut left) {
            Ok(Some((kept, names))) => {
                let names = names.iter().map(|name| crate::raw::name(name));
                open.extend(names.map(|name| (path.join(&name), real.join(&name))));
                found.insert(path, kept);
            }
            Ok(None) => {}
            Err(_) => complete = false,
        }
    }
    (found, complete)
}

/// What is at a real path, and the names in it if that is a folder. All of it is read from what was opened.
fn keep(real: &Path, left: &mut u64) -> io::Result<Option<(Kept, Vec<Vec<u8>>)>> {
    let found = spot(real).and_then(|(dir, name)| Ok((dir.look(&name)?, dir, name)));
    let (found, dir, name) = match found {
        Ok(found) => found,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let kept = match found.kind {
        FileKind::Symlink => Kept::Link(crate::raw::name(&dir.read_link(&name)?).into()),
        FileKind::Directory => {
            let names = dir.enter(&name)?.names()?;
            let names = names.into_iter().map(|name| name.bytes);
            return Ok(Some((Kept::Folder, names.take(MAX_ENTRIES).collect())));
        }
        FileKind::File => {
            let most = MAX_FILE.min(*left);
            let too_large = || io::Error::from(io::ErrorKind::FileTooLarge);
            let bytes = dir.read_file(&name, most).ok_or_else(too_large)?;
            *left -= bytes.len() as u64;
            let mode = found.mark.mode;
            Kept::File { bytes, mode }
        }
        FileKind::Other | FileKind::Missing => Kept::Other,
    };
    Ok(Some((kept, Vec::new())))
}

fn remove(real: &Path) -> io::Result<()> {
    let (dir, name) = spot(real)?;
    regain(&dir);
    remove_entry(&dir, &name, 0)
}

/// Removes what has this name, a folder with all that is in it. No link is followed.
fn remove_entry(dir: &Dir, name: &[u8], depth: usize) -> io::Result<()> {
    if dir.look(name)?.kind != FileKind::Directory {
        return dir.remove_file(name);
    }
    if depth > MAX_DEPTH {
        return Err(io::Error::other("folders lie too deep"));
    }
    let inner = dir.enter(name)?;
    regain(&inner);
    for entry in inner.names()? {
        remove_entry(&inner, &entry.bytes, depth + 1)?;
    }
    dir.remove_dir(name)
}

/// A command may have taken the right to change a folder away, from itself and from us.
pub(super) fn regain(folder: &Dir) {
    if let Ok(found) = folder.look_at_itself()
        && found.mark.mode & OWNER != OWNER
    {
        // Where it is not ours, what follows fails and says so.
        let _ = folder.set_mode(found.mark.mode | OWNER);
    }
}

fn put_back(real: &Path, kept: &Kept, is_there: bool) -> io::Result<()> {
    if is_there {
        remove(real)?;
    }
    let is_made = matches!(kept, Kept::File { .. } | Kept::Folder);
    let (dir, name) = match spot(real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_made => {
            make_folder_of(real)?;
            spot(real)?
        }
        found => found?,
    };
    match kept {
        Kept::File { bytes, mode } => {
            regain(&dir);
            // Never through a link that was put there meanwhile.
            let mut file = dir.create_file(&name)?;
            file.write_all(bytes)?;
            set_file_mode(&file, *mode)
        }
        Kept::Folder => match dir.make_dir(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                dir.enter(&name).map(drop)
            }
            made => made,
        },
        Kept::Link(target) => dir.make_link(&name, target.as_os_str().as_bytes()),
        Kept::Other => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn make_folder_of(real: &Path) -> io::Result<()> {
    let top = Dir::open(Path::new("/"))?;
    let mut below = Vec::new();
    for part in real.parent().into_iter().flatten().skip(1) {
        below.extend_from_slice(part.as_bytes());
        below.push(b'/');
    }
    top.enter_or_make(&below).map(drop)
}

#[cfg(test)]
mod tests {
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
            let (before, _) = snapshot(&placed);
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
            assert_eq!(snapshot(&placed).0, before, "{name}");
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
