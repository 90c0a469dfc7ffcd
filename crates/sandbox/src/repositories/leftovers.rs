//! What a command can leave in a git folder besides settings, hooks and plans, and what the person's own git trusts there:
//! links that git writes through, an index with names outside of the working tree, and small files that name places or
//! options. Each is compared with what was there before; what git would follow elsewhere is taken out.

use super::index::{MAX_INDEX, ObjectFormat, Verdict, judge_index};
use super::walk::{Seen, is_special};
use super::{HEAD, Instead, MAX_CONFIG, Repositories, Stamp, Tampered, changed};
use crate::gitconfig::{Kind, last_value};
use ostler_files::git_settings::{GitSettings, SettingsFile, settings_of_repository};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Small files of a git folder by which git or a program for it is led elsewhere.
const FILES: [(&str, File); 6] = [
    ("MERGE_RR", File::Resolutions),
    ("BISECT_NAMES", File::Words),
    ("rebase-apply/apply-opt", File::PatchOptions),
    (ALTERNATES, File::Alternates),
    ("lazygit.yml", File::Settings),
    ("sl/config", File::Settings),
];
const ALTERNATES: &str = "objects/info/alternates";
/// Entries of a git folder that are judged by other means, links included.
const JUDGED_ELSEWHERE: [&str; 8] = [
    "config",
    "config.worktree",
    "commondir",
    "hooks",
    "remotes",
    "branches",
    "rebase-merge",
    "sequencer",
];
/// Options that `git am` passes on and that lead nowhere.
const PATCH_OPTIONS: [&str; 9] = [
    "-C",
    "-p",
    "--whitespace=",
    "--directory=",
    "--exclude=",
    "--include=",
    "--reject",
    "--ignore-space-change",
    "--ignore-whitespace",
];
/// Where a repository without a readable `HEAD` begins.
const FIRST_HEAD: &str = "ref: refs/heads/main\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    /// Files that were merged before, by path: git writes to them.
    Resolutions,
    /// Quoted words, which older versions of git give to a shell.
    Words,
    /// Options for `git apply`.
    PatchOptions,
    /// Folders of other repositories, in which git runs itself.
    Alternates,
    /// Settings of another program, which runs what they name.
    Settings,
    /// Settings of git that others include.
    Included,
}

/// What git trusts, as the person left it.
#[derive(Debug, Default)]
pub struct Trusted {
    /// The git folder of the root when the session began.
    pub own: Option<Stamp>,
    strays: BTreeMap<PathBuf, Stray>,
    files: BTreeMap<PathBuf, Vec<u8>>,
    indexes: HashMap<PathBuf, (Stamp, ObjectFormat)>,
    /// What was found and is to be found again until it is gone.
    found: BTreeSet<PathBuf>,
}

/// An entry that git could write through.
#[derive(Debug, PartialEq, Eq)]
enum Stray {
    Link(PathBuf),
    /// A pipe, a socket or a device.
    Special(u64),
    /// A file with another name.
    HardLink(u64),
}

/// Whether something is as the person left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Old,
    New,
}

impl Age {
    /// Something in a folder is old if it was not changed since a moment and did not come there with the folder.
    fn of(path: &Path, folder: Option<&Seen>, since: SystemTime) -> Self {
        let is_moved = folder.is_none_or(|seen| seen.is_moved);
        match !is_moved && changed(path).is_some_and(|at| at < since) {
            true => Self::Old,
            false => Self::New,
        }
    }
}

impl Trusted {
    pub fn of(own: Option<Stamp>) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }
}

impl Repositories {
    /// What was left in git folders since a moment and would lead git elsewhere.
    pub(super) fn check_trusted(&mut self, since: SystemTime) -> Vec<Tampered> {
        let mut trusted = std::mem::take(&mut self.trusted);
        let mut found = Vec::new();
        for seen in self.folders.values() {
            let age = |path: &Path| Age::of(path, Some(seen), since);
            for path in &seen.strays {
                found.extend(self.check_stray(&mut trusted, path, age(path)));
            }
            for path in &seen.indexes {
                found.extend(self.check_index(&mut trusted, path, age(path)));
            }
        }
        for repository in &self.looked_into {
            for (name, file) in FILES {
                let path = repository.join(name);
                let folder = path.parent().and_then(|folder| self.folders.get(folder));
                let age = Age::of(&path, folder, since);
                found.extend(self.check_file(&mut trusted, (&path, file), age));
            }
            for included in self.included_by(repository) {
                let age = self.age_of(&included, since);
                let file = (included.real.as_path(), File::Included);
                found.extend(self.check_file(&mut trusted, file, age));
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found.dedup_by(|a, b| a.path == b.path);
        trusted
            .found
            .extend(found.iter().map(|one| one.path.clone()));
        self.trusted = trusted;
        found
    }

    fn check_stray(&self, trusted: &mut Trusted, path: &Path, age: Age) -> Option<Tampered> {
        let Some(stray) = stray(path) else {
            trusted.found.remove(path);
            return None;
        };
        let name = path.file_name()?;
        let is_top = path
            .parent()
            .is_some_and(|top| self.looked_into.contains(top));
        let is_elsewhere = is_top && JUDGED_ELSEWHERE.iter().any(|known| name == *known);
        if is_elsewhere || trusted.strays.get(path) == Some(&stray) {
            return None;
        }
        if age == Age::Old && !trusted.found.contains(path) {
            trusted.strays.insert(path.to_owned(), stray);
            return None;
        }
        let (instead, refused) = match &stray {
            Stray::Link(target) if is_top && name == HEAD => {
                let head = Instead::Text(self.head_behind(path, target));
                (head, format!("a link to {}", target.display()))
            }
            Stray::Link(target) => (Instead::NoLink, format!("a link to {}", target.display())),
            Stray::Special(_) => (Instead::NoLink, "a pipe, socket or device".into()),
            Stray::HardLink(_) => (Instead::Copy, "another name of the same file".into()),
        };
        Some(Tampered {
            path: path.to_owned(),
            instead,
            refused: vec![refused],
        })
    }

    /// The text of a `HEAD` that is a link: the branch that it leads to, or what stands there.
    fn head_behind(&self, path: &Path, target: &Path) -> Vec<u8> {
        if let Some(target) = target.to_str().filter(|target| target.starts_with("refs/")) {
            return format!("ref: {target}\n").into_bytes();
        }
        let real = fs::canonicalize(path).ok();
        let text = real.and_then(|real| self.read(&real, MAX_CONFIG));
        let is_head = |text: &Vec<u8>| {
            let text = text.trim_ascii_end();
            let is_plain = |b: &u8| b.is_ascii_graphic();
            let is_id = text.len() >= 40 && text.iter().all(u8::is_ascii_hexdigit);
            let branch = text.strip_prefix(b"ref: refs/");
            is_id || branch.is_some_and(|name| name.iter().all(is_plain))
        };
        text.filter(is_head).unwrap_or_else(|| FIRST_HEAD.into())
    }

    fn check_index(&self, trusted: &mut Trusted, path: &Path, age: Age) -> Vec<Tampered> {
        let Some(meta) = fs::symlink_metadata(path)
            .ok()
            .filter(fs::Metadata::is_file)
        else {
            return Vec::new();
        };
        let folder = path.parent().unwrap_or(path);
        let stamp = (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec());
        let state = (stamp, self.object_format(folder));
        if trusted.indexes.get(path) == Some(&state) {
            return Vec::new();
        }
        let is_known = age == Age::Old && !trusted.found.contains(path);
        let verdict = match is_known {
            true => Verdict::Plain,
            false => match self.read(path, MAX_INDEX) {
                Some(bytes) => judge_index(&bytes, state.1),
                None => Verdict::Unreadable,
            },
        };
        let tampered = |path: &Path, instead: Instead, refused: Vec<String>| Tampered {
            path: path.to_owned(),
            instead,
            refused,
        };
        let is_shared = path.file_name() != Some(OsStr::new("index"));
        let refused = match verdict {
            Verdict::Plain => {
                trusted.indexes.insert(path.to_owned(), state);
                trusted.found.remove(path);
                return Vec::new();
            }
            Verdict::Cleaned { bytes, refused } if !is_shared => {
                return vec![tampered(path, Instead::Text(bytes), refused)];
            }
            Verdict::Cleaned { refused, .. } => refused,
            Verdict::Unreadable => vec!["an index that git cannot read".into()],
        };
        let mut all = vec![tampered(path, Instead::Aside, refused)];
        let user = folder.join("index");
        if is_shared && user.is_file() {
            // What adds to it says nothing without it.
            let why = vec!["an index that builds on another".into()];
            all.push(tampered(&user, Instead::Aside, why));
        }
        all
    }

    /// How the objects of a repository are named, by its settings.
    fn object_format(&self, folder: &Path) -> ObjectFormat {
        let common = folder.ancestors().nth(2);
        let settings = [Some(folder), common]
            .into_iter()
            .flatten()
            .find_map(|folder| self.read(&folder.join("config"), MAX_CONFIG));
        let settings = settings.unwrap_or_default();
        match last_value(&settings, "extensions.objectformat").as_deref() {
            Some("sha256") => ObjectFormat::Sha256,
            Some(_) | None => ObjectFormat::Sha1,
        }
    }

    fn check_file(
        &self,
        trusted: &mut Trusted,
        (path, file): (&Path, File),
        age: Age,
    ) -> Option<Tampered> {
        let is_file = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
        if !is_file {
            return None;
        }
        let now = self.read(path, MAX_CONFIG);
        let was = trusted.files.get(path);
        if now.is_some() && now.as_ref() == was {
            return None;
        }
        if age == Age::Old && !trusted.found.contains(path) {
            trusted
                .files
                .insert(path.to_owned(), now.unwrap_or_default());
            return None;
        }
        let refused = match &now {
            Some(now) => self.refused_of(file, path, now, was),
            None => vec!["a file that is too long".into()],
        };
        if refused.is_empty() {
            return None;
        }
        let instead = match (file, was, now) {
            (File::Alternates, _, Some(now)) => {
                let is_kept = |line: &&[u8]| self.is_known_store(path, line, was);
                let lines: Vec<&[u8]> = lines(&now).filter(is_kept).collect();
                match lines.is_empty() {
                    true => Instead::Nothing,
                    false => Instead::Text([lines.join(&b"\n"[..]), b"\n".to_vec()].concat()),
                }
            }
            (File::Included, was, Some(now)) => {
                let was = was.map(Vec::as_slice);
                Instead::Text(Kind::MoreSettings.merge(was, &now).text)
            }
            (_, Some(was), _) => Instead::Text(was.clone()),
            (_, None, _) => Instead::Nothing,
        };
        Some(Tampered {
            path: path.to_owned(),
            instead,
            refused,
        })
    }

    /// What of a file leads elsewhere.
    fn refused_of(
        &self,
        file: File,
        path: &Path,
        now: &[u8],
        was: Option<&Vec<u8>>,
    ) -> Vec<String> {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match file {
            File::Resolutions => {
                let records = now.split(|b| *b == 0).filter(|record| !record.is_empty());
                let name = |record: &[u8]| {
                    let mut parts = record.splitn(2, |b| *b == b'\t');
                    parts.next();
                    parts.next().unwrap_or_default().to_owned()
                };
                // The next commit copies these files, wherever links on the way lead by then.
                records.map(|record| shown(&name(record))).collect()
            }
            File::Words => match quoted_words(now) {
                Some(_) => Vec::new(),
                None => vec!["what is no list of paths".into()],
            },
            File::PatchOptions => {
                let is_plain = |word: &Vec<u8>| {
                    PATCH_OPTIONS
                        .iter()
                        .any(|known| word.starts_with(known.as_bytes()))
                };
                match quoted_words(now) {
                    Some(words) => {
                        let odd = words.iter().filter(|word| !is_plain(word));
                        odd.map(|word| shown(word)).collect()
                    }
                    None => vec!["what are no options".into()],
                }
            }
            File::Alternates => {
                let odd = lines(now).filter(|line| !self.is_known_store(path, line, was));
                odd.map(shown).collect()
            }
            File::Settings => vec!["settings that name programs".into()],
            File::Included => {
                let was = was.map(Vec::as_slice);
                Kind::MoreSettings.merge(was, now).refused
            }
        }
    }

    /// Files below the root that the settings of a repository include, and what those include.
    fn included_by(&self, repository: &Path) -> Vec<SettingsFile> {
        let settings = settings_of_repository(repository);
        let found = GitSettings::of_repositories(settings, self.home.as_deref()).find();
        let is_below = |file: &SettingsFile| file.real.starts_with(&self.root);
        found.into_iter().filter(is_below).collect()
    }

    /// How old what git reads at a path is: as new as the newest link that leads there.
    fn age_of(&self, file: &SettingsFile, since: SystemTime) -> Age {
        let on_the_way = file.links.iter().chain([&file.real]);
        let mut ages = on_the_way.map(|path| {
            let folder = path.parent().and_then(|folder| self.folders.get(folder));
            Age::of(path, folder, since)
        });
        match ages.all(|age| age == Age::Old) {
            true => Age::Old,
            false => Age::New,
        }
    }

    /// Whether a folder of objects is one that was named before, or of a repository that is looked into.
    fn is_known_store(&self, path: &Path, line: &[u8], was: Option<&Vec<u8>>) -> bool {
        let is_comment = line.starts_with(b"#") || line.is_empty();
        let is_old = was.is_some_and(|was| lines(was).any(|known| known == line));
        let objects = path.ancestors().nth(2).unwrap_or(path);
        let target = objects.join(OsStr::from_bytes(line));
        let real = fs::canonicalize(target).ok();
        let is_ours = real.is_some_and(|real| {
            real.file_name() == Some(OsStr::new("objects"))
                && real
                    .parent()
                    .is_some_and(|top| self.looked_into.contains(top))
        });
        is_comment || is_old || is_ours
    }
}

fn stray(path: &Path) -> Option<Stray> {
    let meta = fs::symlink_metadata(path).ok()?;
    if meta.is_symlink() {
        return Some(Stray::Link(fs::read_link(path).unwrap_or_default()));
    }
    if is_special(meta.file_type()) {
        return Some(Stray::Special(meta.ino()));
    }
    (meta.is_file() && meta.nlink() > 1).then(|| Stray::HardLink(meta.ino()))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b'\n').filter(|line| !line.is_empty())
}

/// The words of a line as git quotes them for a shell, or nothing if it is anything else.
fn quoted_words(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = text.trim_ascii();
    while !rest.is_empty() {
        let mut word = Vec::new();
        rest = rest.strip_prefix(b"'")?;
        loop {
            let end = rest.iter().position(|b| *b == b'\'')?;
            word.extend(rest.get(..end)?);
            rest = rest.get(end + 1..)?;
            let escaped = rest.strip_prefix(b"\\").and_then(|rest| rest.split_first());
            match escaped {
                Some((byte @ (b'\'' | b'!'), after)) => {
                    word.push(*byte);
                    rest = after.strip_prefix(b"'")?;
                }
                Some(_) => return None,
                None => break,
            }
        }
        words.push(word);
        let after = rest.trim_ascii_start();
        if after.len() == rest.len() && !rest.is_empty() {
            return None;
        }
        rest = after;
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::time::Duration;

    fn git(folder: &Path, args: &[&str]) {
        let out = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(["-c", "protocol.file.allow=always"])
            .args(args)
            .env("GIT_EDITOR", "true")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(folder)
            .output()
            .expect("git runs");
        assert!(out.status.success(), "{args:?}: {out:?}");
    }

    /// A repository with two commits, one in a folder of it, a bare one, a submodule and a linked worktree.
    fn project(top: &Path) {
        git(top, &["init", "-q", "-b", "main", "."]);
        fs::write(top.join("a.txt"), "a\n").unwrap();
        git(top, &["add", "a.txt"]);
        git(top, &["commit", "-q", "-m", "one"]);
        git(top, &["init", "-q", "-b", "main", "lib"]);
        git(
            &top.join("lib"),
            &["commit", "-q", "--allow-empty", "-m", "x"],
        );
        git(top, &["clone", "-q", "--bare", "lib", "bare.git"]);
        git(top, &["submodule", "add", "-q", "./bare.git", "sub"]);
        git(top, &["commit", "-q", "-m", "two"]);
        git(top, &["worktree", "add", "-q", "tree"]);
    }

    fn put(top: &Path, name: &str, text: &[u8]) {
        let path = top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(top: &Path, target: &str, name: &str) {
        let path = top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir_all(&path);
        symlink(target, path).unwrap();
    }

    /// A project in which a session runs.
    struct Scene {
        dir: tempfile::TempDir,
        all: Repositories,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            project(&top);
            let mut all = Repositories::new(&top);
            let later = SystemTime::now() + Duration::from_secs(60);
            assert_eq!(all.check(later), []);
            Self { dir, all }
        }

        /// What is found after an act of a command, as paths below the project. It is mended, and nothing is left to find.
        fn after(&mut self, act: impl FnOnce(&Path)) -> Vec<String> {
            let top = self.dir.path().canonicalize().unwrap();
            act(&top);
            let begin = SystemTime::UNIX_EPOCH;
            let found = self.all.check(begin);
            for one in &found {
                self.all.mend(one).unwrap();
                assert!(!one.refused.is_empty(), "{one:?}");
            }
            assert_eq!(self.all.check(begin), [], "mended");
            let name = |one: &Tampered| one.path.strip_prefix(&top).unwrap().display().to_string();
            found.iter().map(name).collect()
        }
    }

    fn after(act: impl FnOnce(&Path)) -> (Vec<String>, tempfile::TempDir) {
        let mut scene = Scene::new();
        let found = scene.after(act);
        (found, scene.dir)
    }

    /// Places where git writes through a link, in each kind of git folder.
    #[test]
    fn links_in_git_folders_are_taken_out() {
        let mut scene = Scene::new();
        for name in [
            ".git/COMMIT_EDITMSG",
            ".git/FETCH_HEAD",
            ".git/ORIG_HEAD",
            ".git/MERGE_MSG",
            ".git/SQUASH_MSG",
            ".git/TAG_EDITMSG",
            ".git/packed-refs",
            ".git/index",
            ".git/logs",
            ".git/logs/HEAD",
            ".git/logs/refs/heads/main",
            ".git/refs/heads/topic",
            ".git/refs/remotes",
            ".git/info/exclude",
            ".git/info",
            ".git/objects/ff",
            ".git/objects/pack",
            ".git/objects/info/packs",
            ".git/rebase-apply",
            ".git/rr-cache",
            ".git/rr-cache/x/postimage",
            ".git/rebase-merge/message",
            ".git/worktrees/new",
            ".git/worktrees/tree/COMMIT_EDITMSG",
            ".git/worktrees/tree/logs/HEAD",
            ".git/modules/sub/FETCH_HEAD",
            ".git/modules/sub/logs/refs",
            ".git/modules/other",
            "lib/.git/COMMIT_EDITMSG",
            "lib/.git/logs/HEAD",
            "bare.git/FETCH_HEAD",
            "bare.git/refs/heads/x",
            "bare.git/logs",
        ] {
            let found = scene.after(|top| link(top, "/etc/passwd", name));
            assert_eq!(found, [name]);
            let left = scene.dir.path().join(name).symlink_metadata();
            assert!(left.is_err(), "{name}");
        }
    }

    #[test]
    fn other_ways_to_another_file_are_taken_out() {
        let (found, dir) = after(|top| {
            put(top, "victim", b"theirs\n");
            fs::remove_file(top.join(".git/COMMIT_EDITMSG")).unwrap();
            fs::hard_link(top.join("victim"), top.join(".git/COMMIT_EDITMSG")).unwrap();
        });
        assert_eq!(found, [".git/COMMIT_EDITMSG"]);
        let message = dir.path().join(".git/COMMIT_EDITMSG");
        assert_eq!(fs::read(&message).unwrap(), b"theirs\n");
        assert_eq!(fs::metadata(&message).unwrap().nlink(), 1);
        let (found, _dir) = after(|top| {
            let mode = rustix::fs::Mode::RUSR;
            let path = top.join(".git/MERGE_MSG");
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        });
        assert_eq!(found, [".git/MERGE_MSG"]);
        // A branch stays what it was.
        let (found, dir) = after(|top| link(top, "refs/heads/main", ".git/HEAD"));
        assert_eq!(found, [".git/HEAD"]);
        let head = fs::read(dir.path().join(".git/HEAD")).unwrap();
        assert_eq!(head, b"ref: refs/heads/main\n");
        let (found, dir) = after(|top| {
            fs::rename(top.join(".git/HEAD"), top.join("elsewhere")).unwrap();
            link(top, "../elsewhere", ".git/HEAD");
        });
        assert_eq!(found, [".git/HEAD"]);
        let head = fs::read(dir.path().join(".git/HEAD")).unwrap();
        assert_eq!(head, b"ref: refs/heads/main\n");
        // Prepared elsewhere, and moved into its place by a later command.
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        project(&top);
        let mut all = Repositories::new(&top);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(all.check(later), []);
        link(&top, "/etc/passwd", "prepared/refs/heads/main");
        assert_eq!(all.check(SystemTime::UNIX_EPOCH), []);
        let between = changed(&top.join("prepared/refs/heads")).unwrap() + Duration::from_nanos(1);
        fs::rename(top.join(".git/logs"), top.join("old")).unwrap();
        while fs::rename(top.join("prepared"), top.join(".git/logs")).is_ok() {
            if changed(&top.join(".git/logs")).unwrap() > between {
                break;
            }
            fs::rename(top.join(".git/logs"), top.join("prepared")).unwrap();
        }
        let found = all.check(between);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    /// What git is told by small files.
    #[test]
    fn files_that_lead_git_elsewhere_are_put_back() {
        let id = "0123456789012345678901234567890123456789";
        let mut scene = Scene::new();
        let mut check = |name: &str, text: &str, expect: Option<&str>| {
            let found = scene.after(|top| put(top, name, text.as_bytes()));
            let is_found = expect != Some(text);
            assert_eq!(found.is_empty(), !is_found, "{name}: {text}");
            let path = scene.dir.path().join(name);
            let left = fs::read_to_string(&path).ok();
            assert_eq!(left.as_deref(), expect, "{name}: {text}");
            let _ = fs::remove_file(path);
        };
        let plain = format!("{id}\ta.txt\0{id}.1\tsrc/b\0");
        check(".git/MERGE_RR", &plain, None);
        check(".git/MERGE_RR", &format!("{id}\t../rc\0"), None);
        check(".git/MERGE_RR", &format!("{id}\t/home/a/.bashrc\0"), None);
        check("lib/.git/MERGE_RR", &format!("{id}\ta/.GIT/config\0"), None);
        check(
            ".git/BISECT_NAMES",
            " 'a b' 'it'\\''s'\n",
            Some(" 'a b' 'it'\\''s'\n"),
        );
        check(".git/BISECT_NAMES", "; evil\n", None);
        check(".git/BISECT_NAMES", "'a';evil\n", None);
        let options = ".git/rebase-apply/apply-opt";
        check(
            options,
            "'-C1' '--whitespace=fix'\n",
            Some("'-C1' '--whitespace=fix'\n"),
        );
        check(options, "'--build-fake-ancestor=../x'\n", None);
        let stores = ".git/objects/info/alternates";
        check(
            stores,
            "../../lib/.git/objects\n",
            Some("../../lib/.git/objects\n"),
        );
        check(
            stores,
            "/elsewhere/objects\n../../lib/.git/objects\n",
            Some("../../lib/.git/objects\n"),
        );
        check(stores, "\"/elsewhere/objects\"\n", None);
        check(".git/lazygit.yml", "git:\n", None);
        check(".git/sl/config", "[hooks]\n", None);
        // Only content: git runs nothing by these and writes nowhere else.
        for name in [
            ".git/info/attributes",
            ".git/info/sparse-checkout",
            ".git/info/grafts",
            ".git/shallow",
            ".git/FETCH_HEAD",
            ".git/MERGE_MSG",
            ".git/description",
            ".git/gc.log",
            ".git/BISECT_LOG",
        ] {
            check(name, "x\n", Some("x\n"));
        }
    }

    /// Settings in the project that those of a repository include are judged like those.
    #[test]
    fn included_settings_are_judged() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        project(&top);
        let mine = "[alias]\n\tst = status\n";
        put(&top, "lib/.gitconfig", mine.as_bytes());
        git(
            &top.join("lib"),
            &["config", "include.path", "../.gitconfig"],
        );
        let mut all = Repositories::new(&top);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(all.check(later), []);
        let after = format!("{mine}[core]\n\tfsmonitor = evil\n");
        put(&top, "lib/.gitconfig", after.as_bytes());
        let found = all.check(SystemTime::UNIX_EPOCH);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].refused, ["core.fsmonitor"]);
        all.mend(&found[0]).unwrap();
        let left = fs::read_to_string(top.join("lib/.gitconfig")).unwrap();
        assert_eq!(left, mine);
        assert_eq!(all.check(SystemTime::UNIX_EPOCH), []);
    }

    #[test]
    fn an_index_names_nothing_outside_of_the_tree() {
        for folder in [
            ".git",
            "lib/.git",
            ".git/modules/sub",
            ".git/worktrees/tree",
        ] {
            let name = format!("{folder}/index");
            let path = |top: &Path| top.join(&name);
            let (found, dir) = after(|top| {
                let bytes =
                    fs::read(path(top)).unwrap_or_else(|_| super::super::index::tests::empty());
                let bytes = super::super::index::tests::with_entry(&bytes, b"../victim", 0o100_644);
                fs::write(path(top), bytes).unwrap();
            });
            assert_eq!(found, [name.as_str()]);
            let bytes = fs::read(path(dir.path())).unwrap();
            assert_eq!(judge_index(&bytes, ObjectFormat::Sha1), Verdict::Plain);
        }
        // One that cannot be read is moved aside, with what builds on it.
        let (found, dir) = after(|top| put(top, ".git/index", b"DIRC?"));
        assert_eq!(found, [".git/index"]);
        git(dir.path(), &["reset", "-q"]);
        git(dir.path(), &["diff", "--quiet", "HEAD"]);
        let (found, _dir) = after(|top| {
            git(top, &["update-index", "--split-index"]);
            let entries = fs::read_dir(top.join(".git")).unwrap().flatten();
            let is_shared = |path: &PathBuf| path.to_string_lossy().contains("sharedindex");
            let path = entries.map(|entry| entry.path()).find(is_shared).unwrap();
            let bytes = fs::read(&path).unwrap();
            let bytes = super::super::index::tests::with_entry(&bytes, b".git/hooks/x", 0o100_755);
            fs::remove_file(&path).unwrap();
            fs::write(path, bytes).unwrap();
        });
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], ".git/index");
    }

    /// What people and their tools do all day leaves nothing that is taken out.
    #[test]
    fn ordinary_work_is_left_alone() {
        let works: &[&[&[&str]]] = &[
            &[
                &["checkout", "-q", "-b", "x"],
                &["commit", "-q", "--allow-empty", "-m", "y"],
            ],
            &[
                &["branch", "b", "HEAD~1"],
                &["merge", "-q", "--no-ff", "--no-edit", "b"],
            ],
            &[
                &["rebase", "-q", "-i", "--root"],
                &["rebase", "-q", "--apply", "HEAD~1"],
            ],
            &[
                &["mv", "a.txt", "b.txt"],
                &["stash", "-q"],
                &["stash", "pop", "-q"],
            ],
            &[
                &["bisect", "start", "HEAD", "HEAD~1", "--", "."],
                &["bisect", "log"],
            ],
            &[&["gc", "-q", "--prune=now"], &["pack-refs", "--all"]],
            &[
                &["worktree", "add", "-q", "t2"],
                &["worktree", "remove", "t2"],
            ],
            &[
                &["submodule", "update", "-q", "--init"],
                &["submodule", "deinit", "-q", "-f", "sub"],
            ],
            &[
                &["clone", "-q", "lib", "copy"],
                &["clone", "-q", "--shared", "lib", "copy2"],
            ],
            &[&["clone", "-q", "--reference", "bare.git", "lib", "copy3"]],
            &[
                &["update-index", "--index-version", "4"],
                &["update-index", "--split-index"],
            ],
            &[
                &["update-index", "--untracked-cache"],
                &["sparse-checkout", "set", "--sparse-index", "src"],
            ],
            &[
                &["init", "-q", "--object-format=sha256", "n"],
                &["-C", "n", "add", "."],
            ],
            &[
                &["fetch", "-q", "./bare.git"],
                &["tag", "-a", "-m", "x", "v1"],
                &["notes", "add", "-m", "x"],
            ],
            &[
                &["config", "rerere.enabled", "true"],
                &[
                    "cherry-pick",
                    "--allow-empty",
                    "--keep-redundant-commits",
                    "HEAD",
                ],
                &["reset", "-q", "--hard", "HEAD~1"],
            ],
        ];
        for work in works {
            let (mut found, _dir) = after(|top| {
                fs::create_dir_all(top.join("n")).unwrap();
                fs::write(top.join("n/file"), "x").unwrap();
                work.iter().for_each(|args| git(top, args));
            });
            // Settings are judged by themselves: here, addresses on this machine and where a submodule is.
            found.retain(|path| !path.ends_with("/config"));
            assert_eq!(found, [] as [&str; 0], "{work:?}");
        }
    }

    /// What the person made before, or between two commands, is theirs.
    #[test]
    fn what_the_person_linked_stays() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        project(&top);
        link(&top, "/etc/passwd", ".git/FETCH_HEAD");
        put(
            &top,
            ".git/objects/info/alternates",
            b"/mnt/store/objects\n",
        );
        let since = SystemTime::now();
        // Times of files may lie behind the clock.
        let since = loop {
            fs::write(top.join("tick"), "").unwrap();
            if changed(&top.join("tick")).unwrap() > since {
                break changed(&top.join("tick")).unwrap();
            }
        };
        let mut all = Repositories::new(&top);
        fs::write(top.join(".git/COMMIT_EDITMSG.new"), "").unwrap();
        assert_eq!(all.check(since), []);
        git(&top, &["commit", "-q", "--allow-empty", "-m", "x"]);
        assert_eq!(all.check(since), []);
        link(&top, "/etc/hosts", ".git/FETCH_HEAD");
        assert_eq!(all.check(since).len(), 1);
    }
}
