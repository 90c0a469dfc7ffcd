//! Protected paths that the system cannot hold: remembered before a command, compared and put back after it. Of the settings
//! and plans of git, changes that run nothing are taken over.

use super::gitconfig::{Kind, Merged};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
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
        let (before, complete) = snapshot(roots);
        Self {
            before,
            roots: roots
                .iter()
                .map(|root| (root.clone(), place(root)))
                .collect(),
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
        let here: Vec<PathBuf> = here.map(|(root, _)| root.clone()).collect();
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
        let here: Vec<PathBuf> = here.into_iter().map(|(root, _)| root).collect();
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
        let old = old.filter(|path| here.iter().any(|root| path.starts_with(root)));
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
                let undone = lead_back(&place(&path), target);
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

    /// Where a path at or below a protected one really lay when that was remembered.
    fn real(&self, path: &Path) -> PathBuf {
        let found = self.roots.iter().find_map(|(root, at)| {
            let below = path.strip_prefix(root).ok()?;
            Some(match below.as_os_str().is_empty() {
                true => at.clone(),
                false => at.join(below),
            })
        });
        found.unwrap_or_else(|| path.to_owned())
    }

    /// Puts one path back, or takes over what may stay of its change.
    fn settle(&mut self, path: &Path, now: Option<&Kept>) -> Option<Change> {
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
                let undone = put_back(&self.real(path), &kept, now.is_some());
                self.before.insert(path.to_owned(), kept);
                (undone, refused)
            }
            (Judged::Refused, Some(kept)) => {
                let undone = put_back(&self.real(path), kept, now.is_some());
                (undone, Vec::new())
            }
            (Judged::Refused, None) => (remove(&self.real(path)), Vec::new()),
        };
        Some(Change {
            path: path.to_owned(),
            undone,
            refused,
        })
    }
}

/// Makes a link to `target` again, or nothing. What is there instead is a link, which goes, or a folder, which stays beside.
fn lead_back(path: &Path, target: Option<&Path>) -> io::Result<()> {
    in_folder(path, |path| lead_back_in(path, target))
}

fn lead_back_in(path: &Path, target: Option<&Path>) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => fs::remove_file(path)?,
        Ok(_) => {
            let mut aside = path.as_os_str().to_owned();
            aside.push(format!(".removed-{}", std::process::id()));
            fs::rename(path, aside)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    match target {
        Some(target) => std::os::unix::fs::symlink(target, path),
        None => Ok(()),
    }
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

fn snapshot(roots: &[PathBuf]) -> (BTreeMap<PathBuf, Kept>, bool) {
    let mut found = BTreeMap::new();
    let mut complete = true;
    let mut left = MAX_TOTAL;
    let mut open: Vec<PathBuf> = roots.to_vec();
    while let Some(path) = open.pop() {
        if found.len() >= MAX_ENTRIES {
            return (found, false);
        }
        match keep(&path, &mut left) {
            Ok(Some(kept)) => {
                if kept == Kept::Folder {
                    match names(&path) {
                        Ok(names) => open.extend(names.into_iter().map(|name| path.join(name))),
                        Err(_) => complete = false,
                    }
                }
                found.insert(path, kept);
            }
            Ok(None) => {}
            Err(_) => complete = false,
        }
    }
    (found, complete)
}

fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(folder)?
        .take(MAX_ENTRIES)
        .map(|entry| Ok(entry?.file_name()))
        .collect()
}

fn keep(path: &Path, left: &mut u64) -> io::Result<Option<Kept>> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
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
    Ok(Some(if meta.is_symlink() {
        Kept::Link(fs::read_link(path)?)
    } else if meta.is_dir() {
        Kept::Folder
    } else if meta.is_file() {
        let size = meta.len();
        if size > MAX_FILE || size > *left {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        *left -= size;
        Kept::File {
            bytes: crate::raw::read(path, size)?,
            mode: meta.permissions().mode(),
        }
    } else {
        Kept::Other
    }))
}

fn remove(path: &Path) -> io::Result<()> {
    in_folder(path, |path| match fs::symlink_metadata(path)?.is_dir() {
        true => {
            regain_tree(path);
            fs::remove_dir_all(path)
        }
        false => fs::remove_file(path),
    })
}

/// A folder that is held open: a name for it that no link can change.
struct Held {
    #[cfg(target_os = "linux")]
    _folder: std::os::fd::OwnedFd,
    path: PathBuf,
}

#[cfg(target_os = "linux")]
fn hold(folder: &Path) -> io::Result<Held> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use std::os::fd::AsRawFd as _;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let held = openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    // With the dot it is the folder itself, not the link of the process to it.
    let path = PathBuf::from(format!("/proc/self/fd/{}/.", held.as_raw_fd()));
    Ok(Held {
        _folder: held,
        path,
    })
}

/// Where there is no such name, the check before has to do.
#[cfg(not(target_os = "linux"))]
fn hold(folder: &Path) -> io::Result<Held> {
    match fs::canonicalize(folder)? == folder {
        true => Ok(Held {
            path: folder.to_owned(),
        }),
        false => Err(io::Error::other("a folder on the way is a link")),
    }
}

/// Does something to a path whose folder is held open, so that a link which a command puts in the folder's place in the
/// meantime leads nowhere. No part of the way may be a link.
fn in_folder<T>(path: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let held = hold(folder)?;
    regain(&held.path);
    act(&held.path.join(name))
}

/// Makes the folders above a path that are missing, each in one that is held open.
fn make_folders(folder: &Path) -> io::Result<()> {
    match hold(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        held => return held.map(drop),
    }
    folder.parent().map_or(Ok(()), make_folders)?;
    match in_folder(folder, |path| fs::create_dir(path)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => hold(folder).map(drop),
        made => made,
    }
}

/// A command may have taken the right to change a folder away, from itself and from us.
pub(super) fn regain(folder: &Path) {
    if let Ok(meta) = fs::symlink_metadata(folder)
        && meta.is_dir()
        && meta.permissions().mode() & OWNER != OWNER
    {
        let mode = meta.permissions().mode() | OWNER;
        // Where it is not ours, what follows fails and says so.
        let _ = fs::set_permissions(folder, Permissions::from_mode(mode));
    }
}

fn regain_tree(top: &Path) {
    let mut open = vec![top.to_owned()];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        regain(&folder);
        seen += 1;
        if seen > MAX_ENTRIES {
            return;
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir()));
        open.extend(folders.map(|entry| entry.path()));
    }
}

fn put_back(path: &Path, kept: &Kept, is_there: bool) -> io::Result<()> {
    if is_there {
        remove(path)?;
    }
    if let Some(folder) = path.parent() {
        make_folders(folder)?;
    }
    in_folder(path, |path| match kept {
        Kept::File { bytes, mode } => {
            // Never through a link that was put there meanwhile.
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(path)?;
            io::Write::write_all(&mut file, bytes)?;
            file.set_permissions(Permissions::from_mode(*mode))
        }
        Kept::Folder => fs::create_dir(path),
        Kept::Link(target) => std::os::unix::fs::symlink(target, path),
        Kept::Other => Err(io::ErrorKind::Unsupported.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let (before, _) = snapshot(&roots);
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
            assert_eq!(snapshot(&roots).0, before, "{name}");
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
