//! Git repositories below the project that a command made or changed, and those of submodules and worktrees in a git folder
//! that lies elsewhere. Git runs what their settings, hooks and plans name, also when the person only looks at the project
//! afterwards, so what is new and names a program is taken out again. The repository of the project itself is protected by
//! other means. Finding them is cheap: folders are read again only when they changed.

mod content;
mod index;
mod leftovers;
mod linked;
mod walk;

use super::gitconfig::{Kind, Merged};
use content::Content;
use leftovers::Trusted;
use ostler_files::Kind as FileKind;
use ostler_files::{Dir, set_file_mode};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use walk::{Area, Seen};

/// Most folders of a project that are looked at, the upper ones first.
const MAX_FOLDERS: usize = 131_072;
/// Folders that are looked at first.
const MAX_UPPER: usize = 2048;
/// Most repositories that are looked into.
const MAX_FOUND: usize = 4096;
/// Most bytes of settings; longer ones are taken for harmful.
const MAX_CONFIG: u64 = 256 << 10;
const DOT_GIT: &str = ".git";
/// Settings that git reads from a repository.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];
/// Folders of programs that git runs, and of remotes in the forms that it had before settings.
const LISTED: [&str; 3] = ["hooks", "remotes", "branches"];
/// Files that lead git to the settings of another folder.
const POINTERS: [&str; 1] = ["commondir"];
/// In the folder of a linked worktree, where that is. A new one is what `git worktree add` makes.
const BACK: &str = "gitdir";
/// What a rebase or another sequence has still to do.
const PLANS: [&str; 4] = [
    "rebase-merge/git-rebase-todo",
    "rebase-merge/strategy",
    "sequencer/todo",
    "sequencer/opts",
];
/// The folders of those, which git makes itself: a link leads to a plan that nobody looks at.
const PLAN_FOLDERS: [&str; 2] = ["rebase-merge", "sequencer"];
/// What git looks for beside `HEAD`, of whatever kind: links lead where git finds the rest.
const BESIDE_HEAD: [&str; 3] = ["objects", "refs", "commondir"];
const HEAD: &str = "HEAD";
/// Hooks that git leaves as examples.
const SAMPLE: &[u8] = b".sample";

/// When a folder or file was last changed in any way, which nobody can set, and which one it is.
type Stamp = (u64, u64, i64, i64);

/// The repositories of a project, as they were.
#[derive(Debug)]
pub struct Repositories {
    root: PathBuf,
    /// What `~` means in settings.
    home: Option<PathBuf>,
    ground: Ground,
    folders: HashMap<PathBuf, Seen>,
    /// What lets git run something in each of them, as it was when the session began.
    known: BTreeMap<PathBuf, Content>,
    /// Folders that the last look found short of something that git needs. What is in them counts only once nothing is
    /// missing, so whoever adds the last part answers for the whole.
    unfinished: BTreeSet<PathBuf>,
    /// The repository of the root, which is protected otherwise, or was not there.
    own: Option<PathBuf>,
    /// What the last look found, with the repository of the root.
    looked_into: HashSet<PathBuf>,
    /// Folders that the last look did not get into.
    missed: BTreeSet<PathBuf>,
    /// What git trusts besides settings, as it was.
    trusted: Trusted,
    /// Folders outside of the project that are the commands' own: nothing in them is the person's.
    of_commands: Vec<PathBuf>,
    /// Folders in those that links of the project lead to, and those above them.
    linked: BTreeMap<PathBuf, Repositories>,
}

/// What is looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ground {
    Project,
    GitFolder,
    /// One folder with its repository, without what lies below.
    Folder,
}

/// Something in a repository that would make git run a program of the command's choice.
#[derive(Debug, PartialEq, Eq)]
pub struct Tampered {
    pub path: PathBuf,
    instead: Instead,
    /// If the rest of the change was taken over: what was not.
    pub refused: Vec<String>,
}

/// What is to be there in place of what a command left.
#[derive(Debug, PartialEq, Eq)]
enum Instead {
    Nothing,
    Text(Vec<u8>),
    /// Nothing, and what is there is kept beside, where git does not look for it.
    Aside,
    /// Nothing, if it is neither a file nor a folder.
    NoLink,
    /// The same, which then has no other name.
    Copy,
}

impl Repositories {
    /// Nothing is looked at yet.
    pub fn new(root: &Path) -> Self {
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        // Its settings and hooks are protected like those of a project.
        if root.file_name() == Some(OsStr::new(DOT_GIT)) {
            return Self::in_git_folder(&root);
        }
        let own = root.join(DOT_GIT);
        Self {
            trusted: Trusted::of(stamp(&own).ok().flatten()),
            // One that a command makes is looked at like any other.
            own: own.symlink_metadata().is_ok().then_some(own),
            ..Self::of(root, Ground::Project)
        }
    }

    /// The repositories of submodules and worktrees in a git folder, whose own settings are protected otherwise.
    pub fn in_git_folder(folder: &Path) -> Self {
        let root = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        Self {
            own: Some(root.clone()),
            ..Self::of(root, Ground::GitFolder)
        }
    }

    fn of(root: PathBuf, ground: Ground) -> Self {
        Self {
            root,
            home: None,
            ground,
            folders: HashMap::new(),
            known: BTreeMap::new(),
            unfinished: BTreeSet::new(),
            own: None,
            looked_into: HashSet::new(),
            missed: BTreeSet::new(),
            trusted: Trusted::default(),
            of_commands: Vec::new(),
            linked: BTreeMap::new(),
        }
    }

    /// For a person whose home this is.
    pub fn with_home(self, home: Option<PathBuf>) -> Self {
        Self { home, ..self }
    }

    /// The folder that is looked through.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What was made or changed since a moment and would have git run something. What is older is as the person wants it.
    pub fn check(&mut self, since: SystemTime) -> Vec<Tampered> {
        self.check_some(since, MAX_FOLDERS)
    }

    /// The same in the uppermost folders, which is done at once; where there are no more, that is all. The second is whether
    /// there are more.
    pub fn check_upper(&mut self, since: SystemTime) -> (Vec<Tampered>, bool) {
        let found = self.check_some(since, MAX_UPPER);
        (found, self.missed.contains(&self.root))
    }

    fn check_some(&mut self, since: SystemTime, most: usize) -> Vec<Tampered> {
        let mut found = Vec::new();
        for repository in self.look(since, most) {
            let now = self.content(&repository);
            let mut known = self.known.remove(&repository).unwrap_or_default();
            let is_old = |path: &Path| changed(path).is_some_and(|at| at < since);
            let is_finished = walk::is_taken_for_repository(&repository);
            let was_unfinished = match is_finished {
                true => self.unfinished.remove(&repository),
                false => !self.unfinished.insert(repository.clone()),
            };
            let is_new = is_finished && was_unfinished;
            if is_new {
                known.clear();
            }
            let untouched = !is_new && is_old(&repository);
            for (path, bytes) in now {
                let was = known.get(&path);
                if was == Some(&bytes) {
                    continue;
                }
                if untouched && is_old(&path) {
                    known.insert(path, bytes);
                } else {
                    found.extend(self.judge(&path, &bytes, was));
                }
            }
            self.known.insert(repository, known);
        }
        found.extend(self.check_trusted(since));
        found.extend(self.check_linked(since));
        found
    }

    /// Folders that the last look did not get into, though they may have been changed: nobody knows what lies there. It
    /// is the root itself if there are too many.
    pub fn missed(&self) -> &BTreeSet<PathBuf> {
        &self.missed
    }

    /// Takes it out, never through a link.
    pub fn mend(&self, tampered: &Tampered) -> io::Result<()> {
        let Tampered { path, instead, .. } = tampered;
        if let Some(linked) = self.linked_above(path) {
            return linked.mend(tampered);
        }
        let folder = path.parent().unwrap_or(&self.root);
        let name = path.file_name().unwrap_or_default().as_bytes();
        self.regain(folder);
        let folder = self.open_folder(folder)?;
        let found = folder.look(name);
        let kind = found.as_ref().map(|found| found.kind);
        let is_odd = matches!(kind, Ok(FileKind::Symlink | FileKind::Other));
        match instead {
            Instead::NoLink => match is_odd {
                true => folder.remove_file(name),
                false => Ok(()),
            },
            Instead::Copy => {
                let bytes = folder.read_file(name, index::MAX_INDEX);
                let bytes = bytes.ok_or(io::ErrorKind::InvalidData)?;
                replace(
                    &folder,
                    name,
                    &bytes,
                    found.map(|found| found.mark.mode).ok(),
                )
            }
            Instead::Aside => set_aside(&folder, name),
            Instead::Nothing | Instead::Text(_) if matches!(kind, Ok(FileKind::Directory)) => {
                set_aside(&folder, name)
            }
            Instead::Nothing => folder.remove_file(name),
            Instead::Text(bytes) => replace(&folder, name, bytes, None),
        }
    }

    /// All repositories, from folders that are read only if they changed.
    fn look(&mut self, since: SystemTime, most: usize) -> Vec<PathBuf> {
        let mut old = std::mem::take(&mut self.folders);
        let area = match self.ground {
            Ground::Project | Ground::Folder => Area::Tree,
            Ground::GitFolder => Area::Git,
        };
        let is_wanted = |(path, area): &&(PathBuf, Area)| {
            self.ground != Ground::Folder || *area != Area::Tree || path.ends_with(DOT_GIT)
        };
        let mut open = VecDeque::from([(self.root.clone(), area, false)]);
        let mut found = Vec::new();
        self.missed.clear();
        while let Some((folder, area, is_moved)) = open.pop_front() {
            if self.folders.len() >= most || found.len() >= MAX_FOUND {
                self.missed.insert(self.root.clone());
                break;
            }
            let stamp = match stamp(&folder) {
                Ok(Some(stamp)) => stamp,
                // It is gone, or no folder any more.
                Ok(None) => continue,
                Err(_) => {
                    self.missed.insert(folder);
                    continue;
                }
            };
            let is_new = time_of(stamp).is_none_or(|at| at >= since);
            let old = old.remove(&folder);
            let before = old.as_ref().map(|seen| seen.stamp);
            let is_same = before.is_some_and(|before| is_one(before, stamp))
                || self.is_own(&folder, stamp)
                || folder == self.root;
            let mut seen = match old {
                Some(seen) if seen.stamp == stamp && seen.whole && seen.area == area => seen,
                Some(_) | None => {
                    // One that a command has shut for us is opened again. Those above it were, on the way here.
                    if is_shut(&folder) && is_new {
                        self.regain(&folder);
                    }
                    walk::read(&folder, stamp, area, &self.root)
                }
            };
            seen.is_moved = is_moved || (is_new && !is_same);
            // What is older is as the person made it.
            if !seen.whole && is_new {
                self.missed.insert(folder.clone());
            }
            let below = seen.below.iter().filter(is_wanted).cloned();
            open.extend(below.map(|(path, area)| (path, area, seen.is_moved)));
            found.extend(seen.repositories.iter().cloned());
            self.folders.insert(folder, seen);
        }
        // However much was made since, those that were known are looked into.
        let known = self.known.keys();
        let missed: Vec<PathBuf> = known
            .filter(|path| path.symlink_metadata().is_ok() && !found.contains(path))
            .cloned()
            .collect();
        found.extend(missed);
        self.looked_into = found.iter().chain(&self.own).cloned().collect();
        found.retain(|path| self.own.as_ref() != Some(path));
        found
    }

    /// Whether what is new in a repository is harmful, and what is to be there instead.
    fn judge(&self, path: &Path, bytes: &[u8], was: Option<&Vec<u8>>) -> Option<Tampered> {
        let name = path.file_name()?;
        let instead = was.cloned().map_or(Instead::Nothing, Instead::Text);
        let is_listed =
            |name: Option<&OsStr>| LISTED.iter().any(|one| name == Some(OsStr::new(one)));
        let in_listed = is_listed(path.parent().and_then(Path::file_name));
        let tampered = |instead| {
            Some(Tampered {
                path: path.to_owned(),
                instead,
                refused: Vec::new(),
            })
        };
        if self.leads_to_own_repository(path, bytes) {
            return None;
        }
        if PLAN_FOLDERS.iter().any(|folder| name == *folder) {
            return tampered(Instead::Nothing);
        }
        if in_listed || is_listed(Some(name)) || POINTERS.iter().any(|pointer| name == *pointer) {
            return tampered(instead);
        }
        if name == DOT_GIT {
            // A file that leads to a folder of the project, as those of submodules and worktrees do, is looked into there.
            return match self.leads_inside(path, bytes) {
                true => None,
                false => tampered(instead),
            };
        }
        if name == BACK {
            return was.and_then(|was| tampered(Instead::Text(was.clone())));
        }
        let is_plan = PLANS.iter().any(|plan| path.ends_with(plan));
        let is_more = name == CONFIGS[1];
        let kind = Kind::of(path).filter(|_| is_plan);
        let kind = kind.unwrap_or(match is_more {
            true => Kind::MoreSettings,
            false => Kind::Settings,
        });
        let Merged { text, refused } = kind.merge(was.map(Vec::as_slice), bytes);
        let differs = text != bytes || !refused.is_empty();
        differs.then(|| Tampered {
            path: path.to_owned(),
            instead: Instead::Text(text),
            refused,
        })
    }

    /// What `git worktree add` writes: a linked tree shares the repository that it lies in, which is looked into by itself.
    fn leads_to_own_repository(&self, path: &Path, bytes: &[u8]) -> bool {
        let mut above = path.ancestors().skip(2);
        let is_linked = above.next().and_then(Path::file_name) == Some(OsStr::new("worktrees"))
            && path.file_name() == Some(OsStr::new("commondir"));
        let is_looked_into = |folder: &Path| self.looked_into.contains(folder);
        is_linked
            && bytes.trim_ascii() == b"../.."
            && !path.is_symlink()
            && above.next().is_some_and(is_looked_into)
    }

    /// Whether a `.git` file leads to a relative place, without a link on the way, that is looked into by itself.
    fn leads_inside(&self, path: &Path, bytes: &[u8]) -> bool {
        if path.is_symlink() {
            return false;
        }
        let text = String::from_utf8_lossy(bytes);
        let Some(target) = text.trim().strip_prefix("gitdir:") else {
            // Git does not take it for a repository.
            return true;
        };
        let target = Path::new(target.trim());
        // `.git/modules/x` and `.git/worktrees/x`, wherever they are written from, are folders of a repository that is known.
        let mut parts = target.components().map(|part| part.as_os_str());
        let is_known = |part: &OsStr| part == "modules" || part == "worktrees";
        let known = parts.any(|part| part == DOT_GIT) && parts.next().is_some_and(is_known);
        let real = fs::canonicalize(path.parent().unwrap_or(path).join(target));
        known && real.is_ok_and(|real| self.looked_into.contains(&real))
    }

    /// Gives us back the right to read and change a folder of the project, from the top down and never through a link.
    fn regain(&self, folder: &Path) {
        let Ok(below) = folder.strip_prefix(&self.root) else {
            return;
        };
        let mut held = Dir::open(&self.root).ok();
        for part in below {
            held = held.and_then(|above| above.enter(part.as_bytes()).ok());
            if let Some(held) = &held {
                super::watch::regain(held);
            }
        }
    }

    /// The bytes of a regular file of a repository, if it is not longer than this. No link is followed to it.
    pub fn read(&self, path: &Path, most: u64) -> Option<Vec<u8>> {
        if let Some(linked) = self.linked_above(path) {
            return linked.read(path, most);
        }
        let folder = self.open_folder(path.parent()?).ok()?;
        folder.read_file(path.file_name()?.as_bytes(), most)
    }

    /// Whether this is the git folder that the root had at the start.
    fn is_own(&self, folder: &Path, stamp: Stamp) -> bool {
        self.own.as_deref() == Some(folder)
            && self.trusted.own.is_some_and(|own| is_one(own, stamp))
    }

    /// A folder of the project, reached without any link.
    fn open_folder(&self, folder: &Path) -> io::Result<Dir> {
        let below = folder.strip_prefix(&self.root).map_err(io::Error::other)?;
        let root = Dir::open(&self.root)?;
        match below.as_os_str().is_empty() {
            true => Ok(root),
            false => root.enter(below.as_os_str().as_bytes()),
        }
    }
}

/// When a file or folder was last changed in any way.
fn changed(path: &Path) -> Option<SystemTime> {
    let meta = fs::symlink_metadata(path).ok()?;
    time_of((meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

fn time_of((_, _, seconds, nanoseconds): Stamp) -> Option<SystemTime> {
    let seconds = Duration::from_secs(u64::try_from(seconds).ok()?);
    let rest = Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
    Some(SystemTime::UNIX_EPOCH + seconds + rest)
}

/// `None` for what is no folder or is gone; an error for what cannot be looked at, such as a path that is too long.
fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    match fs::symlink_metadata(path) {
        Ok(meta) => {
            let kept = (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec());
            Ok(meta.is_dir().then_some(kept))
        }
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(error),
        },
    }
}

/// Whether these are one folder, changed or not.
fn is_one(one: Stamp, other: Stamp) -> bool {
    (one.0, one.1) == (other.0, other.1)
}

/// Keeps something beside, where git does not look for it.
fn set_aside(folder: &Dir, name: &[u8]) -> io::Result<()> {
    let mut aside = name.to_owned();
    aside.extend(format!(".removed-{}", std::process::id()).into_bytes());
    folder.rename(name, &aside)
}

/// Puts a file in the place of another at once, so that nobody reads half of it. Where there is no room for a second one,
/// the other one goes first: what it would run is worse than what is lost.
fn replace(folder: &Dir, name: &[u8], bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    replace_at_once(folder, name, bytes, mode).or_else(|_| {
        folder.remove_file(name)?;
        replace_at_once(folder, name, bytes, mode)
    })
}

fn replace_at_once(folder: &Dir, name: &[u8], bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    let mut new = name.to_owned();
    new.extend(format!(".new-{}", std::process::id()).into_bytes());
    // One that is left of an earlier try, or that a command put there.
    let _ = folder.remove_file(&new);
    let mut file = folder.create_file(&new)?;
    let written = file.write_all(bytes);
    let written = written.and_then(|()| mode.map_or(Ok(()), |mode| set_file_mode(&file, mode)));
    let renamed = written.and_then(|()| folder.rename(&new, name));
    if renamed.is_err() {
        let _ = folder.remove_file(&new);
    }
    renamed
}

/// Whether its owner may not read it or change what is in it.
fn is_shut(folder: &Path) -> bool {
    let mode = fs::symlink_metadata(folder).map_or(0, |meta| meta.mode());
    mode & super::watch::OWNER != super::watch::OWNER
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

#[cfg(test)]
mod tests;
