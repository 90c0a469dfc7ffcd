//! Git repositories below the project that a command made or changed, and those of submodules and worktrees in a git folder
//! that lies elsewhere. Git runs what their settings, hooks and plans name, also when the person only looks at the project
//! afterwards, so what is new and names a program is taken out again. The repository of the project itself is protected by
//! other means. Finding them is cheap: folders are read again only when they changed.

mod index;
mod leftovers;
mod linked;
mod walk;

use super::gitconfig::{Kind, Merged};
use crate::files::Kind as FileKind;
use crate::files::{Dir, set_file_mode};
use leftovers::Trusted;
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

/// Files of one repository that can make git run something, by name.
type Content = BTreeMap<PathBuf, Vec<u8>>;

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
        let own_stamp = stamp(&own).ok().flatten();
        Self {
            // One that a command makes is looked at like any other.
            own: own.symlink_metadata().is_ok().then_some(own),
            root,
            home: None,
            ground: Ground::Project,
            folders: HashMap::new(),
            known: BTreeMap::new(),
            unfinished: BTreeSet::new(),
            looked_into: HashSet::new(),
            missed: BTreeSet::new(),
            trusted: Trusted::of(own_stamp),
            of_commands: Vec::new(),
            linked: BTreeMap::new(),
        }
    }

    /// The repositories of submodules and worktrees in a git folder, whose own settings are protected otherwise.
    pub fn in_git_folder(folder: &Path) -> Self {
        let root = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        Self {
            own: Some(root.clone()),
            root,
            home: None,
            ground: Ground::GitFolder,
            folders: HashMap::new(),
            known: BTreeMap::new(),
            unfinished: BTreeSet::new(),
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
            let is_new = changed(&folder).is_none_or(|at| at >= since);
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
                    walk::read(&folder, stamp, area)
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

    fn content(&self, repository: &Path) -> Content {
        let mut content = Content::new();
        let Ok(folder) = self.open_folder(repository) else {
            // A link, or a file that leads elsewhere.
            content.extend(self.pointer(repository));
            return content;
        };
        for name in CONFIGS.iter().chain(&POINTERS) {
            // A folder is no file of settings for git either.
            if is_folder(&repository.join(name)) {
                continue;
            }
            if let Some(bytes) = read_at(&folder, name.as_ref()) {
                content.insert(repository.join(name), bytes);
            }
        }
        let is_linked =
            repository.parent().and_then(Path::file_name) == Some(OsStr::new("worktrees"));
        if let Some(bytes) = read_at(&folder, BACK.as_ref()).filter(|_| is_linked) {
            content.insert(repository.join(BACK), bytes);
        }
        for plan in PLANS.map(|plan| repository.join(plan)) {
            let folder = plan.parent().map(|folder| self.open_folder(folder));
            if let Some(Ok(folder)) = folder
                && let Some(bytes) = read_at(&folder, plan.file_name().unwrap_or_default())
            {
                content.insert(plan, bytes);
            }
        }
        for folder in PLAN_FOLDERS.map(|folder| repository.join(folder)) {
            if let Ok(target) = fs::read_link(&folder) {
                content.insert(folder, target.as_os_str().as_bytes().to_vec());
            }
        }
        for folder in LISTED.map(|name| repository.join(name)) {
            content.extend(self.listed(&folder));
        }
        content
    }

    /// The files of a folder that git runs or reads addresses from, or the folder itself if it is none.
    fn listed(&self, folder: &Path) -> Content {
        let mut content = Content::new();
        let Ok(held) = self.open_folder(folder) else {
            if folder.is_symlink() || folder.exists() {
                content.insert(folder.to_owned(), Vec::new());
            }
            return content;
        };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for name in entries.map(|entry| entry.file_name()) {
            if !name.as_bytes().ends_with(SAMPLE)
                && let Some(bytes) = read_at(&held, &name)
            {
                content.insert(folder.join(name), bytes);
            }
        }
        content
    }

    /// A `.git` that is a file or a link: where it leads.
    fn pointer(&self, path: &Path) -> Option<(PathBuf, Vec<u8>)> {
        let meta = fs::symlink_metadata(path).ok()?;
        let bytes = match meta.is_symlink() {
            true => fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec(),
            false => {
                let folder = self.open_folder(path.parent()?).ok()?;
                read_at(&folder, path.file_name()?)?
            }
        };
        Some((path.to_owned(), bytes))
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
    let seconds = Duration::from_secs(u64::try_from(meta.ctime()).ok()?);
    let rest = Duration::from_nanos(u64::try_from(meta.ctime_nsec()).ok()?);
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

/// Puts a file in the place of another at once, so that nobody reads half of it.
fn replace(folder: &Dir, name: &[u8], bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
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

/// The bytes of a file in a folder; of a link, where it leads; of what is too long, something that is harmful.
fn read_at(folder: &Dir, name: &OsStr) -> Option<Vec<u8>> {
    let name = name.as_bytes();
    match folder.look(name).ok()?.kind {
        FileKind::Symlink => {
            let target = folder.read_link(name).ok()?;
            Some([b"[".as_slice(), &target].concat())
        }
        FileKind::File | FileKind::Directory | FileKind::Other | FileKind::Missing => {
            // What nobody may read says nothing to git either.
            folder.open_file(name).ok()?;
            let read = folder.read_file(name, MAX_CONFIG);
            Some(read.unwrap_or_else(|| b"[".to_vec()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags};

    fn put(top: &Path, name: &str, text: &str) {
        let path = top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn repository(top: &Path, name: &str, config: &str) {
        put(top, &format!("{name}/HEAD"), "ref: refs/heads/main\n");
        put(top, &format!("{name}/config"), config);
        put(
            top,
            &format!("{name}/hooks/pre-commit.sample"),
            "#!/bin/sh\n",
        );
        for folder in ["objects", "refs/heads"] {
            fs::create_dir_all(top.join(name).join(folder)).unwrap();
        }
    }

    const PLAIN: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
    const EVIL: &str = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ./evil\n";

    /// What is found after an act, as paths below the project; afterwards it is mended and nothing more is found.
    fn after(act: impl FnOnce(&Path)) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        repository(&top, ".git", PLAIN);
        repository(&top, ".git/modules/lib", PLAIN);
        put(&top, "lib/.git", "gitdir: ../.git/modules/lib\n");
        repository(&top, "old/.git", EVIL);
        put(&top, "src/deep/file", "");
        let mut all = Repositories::new(&top);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(all.check(later), []);
        // Whatever is done now is the command's.
        let begin = SystemTime::UNIX_EPOCH;
        act(&top);
        let found = all.check(begin);
        for one in &found {
            all.mend(one).unwrap();
        }
        assert_eq!(all.check(begin), [], "mended");
        let name = |one: &Tampered| one.path.strip_prefix(&top).unwrap().display().to_string();
        found.iter().map(name).collect()
    }

    #[test]
    fn whoever_finishes_a_repository_answers_for_what_was_in_it() {
        for (last, is_root) in [
            ("HEAD", false),
            ("objects", false),
            ("refs", false),
            ("HEAD", true),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            let name = if is_root { "." } else { "c" };
            repository(&top, name, EVIL);
            let folder = top.join(name);
            put(&folder, "hooks/post-commit", "evil");
            let part = folder.join(last);
            let kept = dir.path().with_extension("kept");
            fs::rename(&part, &kept).unwrap();
            // All of it is older than the command that adds the last part.
            let mut all = Repositories::new(&top);
            let later = SystemTime::now() + Duration::from_secs(60);
            assert_eq!(all.check(later), []);
            assert_eq!(all.check(later), [], "as the person left it");
            fs::rename(&kept, &part).unwrap();
            let found = all.check(later);
            let paths: Vec<&Path> = found.iter().map(|one| one.path.as_path()).collect();
            let (config, hook) = (folder.join("config"), folder.join("hooks/post-commit"));
            let expect: [&Path; 2] = [&config, &hook];
            let real = paths.iter().map(|path| fs::canonicalize(path).unwrap());
            let wanted = expect.iter().map(|path| fs::canonicalize(path).unwrap());
            assert_eq!(
                real.collect::<Vec<_>>(),
                wanted.collect::<Vec<_>>(),
                "{last}"
            );
            for one in &found {
                all.mend(one).unwrap();
            }
            assert_eq!(all.check(SystemTime::UNIX_EPOCH), [], "mended: {last}");
        }
    }

    #[test]
    fn repositories_that_a_command_makes_run_nothing() {
        let check = |act: &dyn Fn(&Path), expect: &[&str]| assert_eq!(after(act), expect);
        check(&|_| {}, &[]);
        check(&|top| repository(top, "new/.git", PLAIN), &[]);
        check(&|top| repository(top, "bare.git", PLAIN), &[]);
        check(
            &|top| repository(top, "new/.git", EVIL),
            &["new/.git/config"],
        );
        check(
            &|top| repository(top, "src/deep/.git", EVIL),
            &["src/deep/.git/config"],
        );
        // Without a working tree: whoever goes there and asks git runs it.
        check(
            &|top| repository(top, "docs/fixture", EVIL),
            &["docs/fixture/config"],
        );
        check(&|top| repository(top, ".", EVIL), &["config"]);
        check(
            &|top| put(top, "old/.git/hooks/pre-commit", "evil"),
            &["old/.git/hooks/pre-commit"],
        );
        check(
            &|top| put(top, "old/.git/config", &format!("{EVIL}\teditor = x\n")),
            &["old/.git/config"],
        );
        check(
            &|top| put(top, ".git/modules/lib/config", EVIL),
            &[".git/modules/lib/config"],
        );
        check(
            &|top| put(top, ".git/modules/lib/hooks/post-checkout", ""),
            &[".git/modules/lib/hooks/post-checkout"],
        );
        for name in ["remotes/origin", "branches/origin"] {
            let path = format!("old/.git/{name}");
            check(&|top| put(top, &path, "URL: ext::evil\n"), &[&path]);
        }
        check(
            &|top| put(top, "old/.git/commondir", "../../evil\n"),
            &["old/.git/commondir"],
        );
        check(
            &|top| put(top, "old/.git/config.worktree", EVIL),
            &["old/.git/config.worktree"],
        );
        // As git finds the rest, by links and by `commondir`, in one folder or in two.
        for (name, moved) in [("objects", "o"), ("refs", "r")] {
            check(
                &|top| {
                    repository(top, "b", EVIL);
                    fs::rename(top.join("b").join(name), top.join(moved)).unwrap();
                    std::os::unix::fs::symlink(format!("../{moved}"), top.join("b").join(name))
                        .unwrap();
                },
                &["b/config", &format!("b/{name}")],
            );
        }
        check(
            &|top| {
                repository(top, "c", EVIL);
                fs::remove_file(top.join("c/HEAD")).unwrap();
                put(top, "h/HEAD", "ref: refs/heads/main\n");
                put(top, "h/commondir", "../c\n");
            },
            &["h/commondir", "c/config"],
        );
        check(
            &|top| {
                repository(top, "c", EVIL);
                fs::remove_file(top.join("c/HEAD")).unwrap();
                put(top, "c/worktrees/h/HEAD", "ref: refs/heads/main\n");
                put(top, "c/worktrees/h/commondir", "../..\n");
            },
            // It shares a repository whose settings are judged.
            &["c/config"],
        );
        check(
            &|top| {
                repository(top, ".git/modules/lfs", EVIL);
                put(top, "s/.git", "gitdir: ../.git/modules/lfs\n");
            },
            &[".git/modules/lfs/config"],
        );
        check(
            &|top| {
                repository(top, ".git/info/x", EVIL);
                put(top, "s/.git", "gitdir: ../.git/modules/../info/x\n");
            },
            &["s/.git"],
        );
        check(
            &|top| {
                put(top, "plan/git-rebase-todo", "exec id\n");
                put(
                    top,
                    "old/.git/sequencer/opts",
                    "[options]\n\tstrategy = ../x\n",
                );
                let link = top.join("old/.git/rebase-merge");
                std::os::unix::fs::symlink("../../plan", link).unwrap();
            },
            &["old/.git/rebase-merge", "old/.git/sequencer/opts"],
        );
        // No repository for git.
        check(
            &|top| {
                put(top, "rails/HEAD", "");
                put(top, "rails/config/x", "");
                put(top, "rails/hooks/x", "");
            },
            &[],
        );
        check(&|top| fs::remove_dir_all(top.join("old")).unwrap(), &[]);
        check(
            &|top| fs::rename(top.join("old"), top.join("moved")).unwrap(),
            &["moved/.git/config"],
        );
    }

    #[test]
    fn links_are_no_way_around() {
        use std::os::unix::fs::symlink;
        let check = |act: &dyn Fn(&Path), expect: &[&str]| assert_eq!(after(act), expect);
        check(
            &|top| {
                repository(top, "new/.git", PLAIN);
                fs::remove_file(top.join("new/.git/config")).unwrap();
                put(top, "elsewhere", EVIL);
                symlink("../../elsewhere", top.join("new/.git/config")).unwrap();
            },
            &["new/.git/config"],
        );
        check(
            &|top| {
                repository(top, "new/.git", PLAIN);
                fs::remove_dir_all(top.join("new/.git/hooks")).unwrap();
                put(top, "elsewhere/pre-commit", "evil");
                symlink("../../elsewhere", top.join("new/.git/hooks")).unwrap();
            },
            &["new/.git/hooks"],
        );
        check(
            &|top| {
                repository(top, "hidden", EVIL);
                fs::create_dir(top.join("new")).unwrap();
                symlink("../hidden", top.join("new/.git")).unwrap();
            },
            &["hidden/config", "new/.git"],
        );
        check(
            &|top| {
                repository(top, "odd", EVIL);
                fs::remove_file(top.join("odd/HEAD")).unwrap();
                put(top, "new/.git", "gitdir: /tmp/x\n");
            },
            &["new/.git", "odd/config"],
        );
    }

    /// The git folder of a linked worktree, which lies outside of the project.
    #[test]
    fn a_git_folder_elsewhere_is_looked_through() {
        let check = |act: &dyn Fn(&Path), expect: &[&str]| {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap().join("bare");
            repository(&top, ".", PLAIN);
            repository(&top, "modules/lib", PLAIN);
            for name in ["mine", "other"] {
                put(&top, &format!("worktrees/{name}/HEAD"), "ref: x\n");
                put(&top, &format!("worktrees/{name}/commondir"), "../..\n");
                put(&top, &format!("worktrees/{name}/gitdir"), "/w/.git\n");
            }
            let mut all = Repositories::in_git_folder(&top);
            let later = SystemTime::now() + Duration::from_secs(60);
            assert_eq!(all.check(later), []);
            act(&top);
            let found = all.check(SystemTime::UNIX_EPOCH);
            for one in &found {
                all.mend(one).unwrap();
            }
            assert_eq!(all.check(SystemTime::UNIX_EPOCH), [], "mended");
            let name = |one: &Tampered| one.path.strip_prefix(&top).unwrap().display().to_string();
            assert_eq!(found.iter().map(name).collect::<Vec<_>>(), expect);
        };
        check(&|_| {}, &[]);
        check(
            &|top| put(top, "modules/lib/config", EVIL),
            &["modules/lib/config"],
        );
        check(
            &|top| put(top, "modules/lib/hooks/pre-commit", ""),
            &["modules/lib/hooks/pre-commit"],
        );
        check(
            &|top| repository(top, "modules/new", EVIL),
            &["modules/new/config"],
        );
        check(
            &|top| put(top, "worktrees/other/commondir", "/evil\n"),
            &["worktrees/other/commondir"],
        );
        check(
            &|top| put(top, "worktrees/other/gitdir", "/evil\n"),
            &["worktrees/other/gitdir"],
        );
        check(
            &|top| put(top, "worktrees/other/config.worktree", EVIL),
            &["worktrees/other/config.worktree"],
        );
        check(
            &|top| {
                put(
                    top,
                    "worktrees/other/rebase-merge/git-rebase-todo",
                    "pick 1 a\nexec id\n",
                )
            },
            &["worktrees/other/rebase-merge/git-rebase-todo"],
        );
        check(
            &|top| {
                put(
                    top,
                    "worktrees/other/rebase-merge/git-rebase-todo",
                    "pick 1 a\n",
                )
            },
            &[],
        );
        // What `git worktree add` makes.
        check(
            &|top| {
                put(top, "worktrees/new/HEAD", "ref: x\n");
                put(top, "worktrees/new/commondir", "../..\n");
                put(top, "worktrees/new/gitdir", "/new/.git\n");
            },
            &[],
        );
        check(&|top| put(top, "objects/x/HEAD", "x"), &[]);
    }

    /// The person's own git may bring the `HEAD`, from a commit that a command made.
    #[test]
    fn a_repository_without_a_head_is_judged() {
        let found = after(|top: &Path| {
            repository(top, "docs", EVIL);
            fs::remove_file(top.join("docs/HEAD")).unwrap();
        });
        assert_eq!(found, ["docs/config"]);
    }

    /// A session in a git folder, or with one added.
    #[test]
    fn a_git_folder_as_the_root_is_looked_through() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join(DOT_GIT);
        repository(&top, ".", PLAIN);
        let mut all = Repositories::new(&top);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(all.check(later), []);
        std::os::unix::fs::symlink("/etc/passwd", top.join("COMMIT_EDITMSG")).unwrap();
        repository(&top, "modules/new", EVIL);
        let found = all.check(SystemTime::UNIX_EPOCH);
        let name = |one: &Tampered| one.path.strip_prefix(&top).unwrap().display().to_string();
        let mut found: Vec<String> = found.iter().map(name).collect();
        found.sort();
        assert_eq!(found, ["COMMIT_EDITMSG", "modules/new/config"]);
    }

    #[test]
    fn what_the_person_does_between_commands_stays() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let mut all = Repositories::new(&top);
        repository(&top, "theirs/.git", EVIL);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(all.check(later), []);
        assert_eq!(all.check(SystemTime::UNIX_EPOCH), []);
        // Settings that lay elsewhere before do not become theirs by being moved.
        repository(&top, "x/prepared", PLAIN);
        fs::remove_file(top.join("x/prepared/HEAD")).unwrap();
        put(&top, "x/prepared/config", EVIL);
        let between = changed(&top.join("x/prepared/config")).unwrap() + Duration::from_nanos(1);
        while fs::rename(top.join("x/prepared"), top.join("x/.git")).is_ok() {
            if changed(&top.join("x/.git")).unwrap() > between {
                break;
            }
            fs::rename(top.join("x/.git"), top.join("x/prepared")).unwrap();
        }
        assert_eq!(all.check(between).len(), 1);
    }

    /// However many folders there are, what lies near the top is found before all of them are looked at.
    #[test]
    fn upper_folders_are_looked_at_first() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let mut all = Repositories::new(&top);
        repository(&top, "sub/.git", EVIL);
        let (found, has_more) = all.check_upper(SystemTime::UNIX_EPOCH);
        assert!(!has_more && found.len() == 1, "{found:?}");
        for number in 0..MAX_UPPER {
            fs::create_dir_all(top.join(format!("many/{number}"))).unwrap();
        }
        repository(&top, "many/0/1/2/.git", EVIL);
        let (found, has_more) = all.check_upper(SystemTime::UNIX_EPOCH);
        assert!(has_more && found.len() == 1, "{found:?}");
        assert_eq!(all.check(SystemTime::UNIX_EPOCH).len(), 2);
    }

    /// A folder that is too deep for a path hides nothing that lies above, and is named.
    #[test]
    fn a_deep_folder_hides_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let mut all = Repositories::new(&top);
        repository(&top, "sub/.git", EVIL);
        let mut at = rustix::fs::open(&top, OFlags::DIRECTORY, Mode::empty()).unwrap();
        let name = "d".repeat(40);
        for _ in 0..150 {
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        let found = all.check(SystemTime::UNIX_EPOCH);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].path, top.join("sub/.git/config"));
        assert_eq!(all.missed().len(), 1, "{:?}", all.missed());
        assert!(all.missed().iter().all(|path| path.starts_with(&top)));
        // One that is deep and can be reached is looked at like any other.
        let deep = "e/".repeat(600);
        repository(&top, &format!("{deep}.git"), EVIL);
        let found = all.check(SystemTime::UNIX_EPOCH);
        assert_eq!(found.len(), 2, "{found:?}");
    }

    /// What a command shut is opened; where that fails it is named.
    #[test]
    fn what_cannot_be_read_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let mut all = Repositories::new(&top);
        for number in 0..3 {
            fs::create_dir(top.join(format!("d{number}"))).unwrap();
        }
        assert_eq!(all.check(SystemTime::UNIX_EPOCH), []);
        assert!(all.missed().is_empty());
        let stamp = stamp(&top).unwrap().unwrap();
        let gone = walk::read(&top.join("none"), stamp, Area::Tree);
        assert!(!gone.whole);
    }

    #[test]
    fn mending_does_not_leave_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        put(&top, "out/.git/config", "theirs");
        fs::create_dir(top.join("in")).unwrap();
        let all = Repositories::new(&top.join("in"));
        std::os::unix::fs::symlink(top.join("out"), top.join("in/new")).unwrap();
        let tampered = Tampered {
            path: top.join("in/new/.git/config"),
            instead: Instead::Text(Vec::new()),
            refused: Vec::new(),
        };
        assert!(all.mend(&tampered).is_err());
        let kept = fs::read_to_string(top.join("out/.git/config")).unwrap();
        assert_eq!(kept, "theirs");
    }
}
