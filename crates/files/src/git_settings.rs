//! Everything that the person's own git reads as settings: one list, from all places that git documents, with the links on
//! the way to each of them. Whoever can change one of these files, or turn one of these links, decides what git runs. Reads
//! the disk, starts nothing, changes nothing.

use crate::git_file::included;
use crate::{Border, account_home, sight};
use crate::{Followed, follow_links, read_bounded, real_path};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// Most files that are listed.
const MAX_FILES: usize = 512;
/// Most bytes of one, and of all.
const MAX_SETTINGS: u64 = 1 << 20;
const MAX_TOTAL: u64 = 16 << 20;
/// Settings of the machine, where systems and package managers have them.
const OF_MACHINE: [&str; 3] = [
    "/etc/gitconfig",
    "/usr/local/etc/gitconfig",
    "/opt/homebrew/etc/gitconfig",
];
/// The same below the folder that a git of their own was installed to.
const BELOW_PREFIX: &str = "etc/gitconfig";
const OF_PERSON: [&str; 2] = [".gitconfig", ".config/git/config"];
/// Variables that name a file of settings.
const FILE_VARIABLES: [&str; 2] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];
/// Variables that name the folder of a repository.
const FOLDER_VARIABLES: [&str; 2] = ["GIT_DIR", "GIT_COMMON_DIR"];
/// Files of settings in the folder of a repository.
const OF_REPOSITORY: [&str; 2] = ["config", "config.worktree"];
/// Most settings that the environment brings.
const MAX_GIVEN: usize = 256;

/// What leads to the settings that a repository shares with others.
const COMMON: &str = "commondir";
/// Most bytes of a file that leads to another folder.
const MAX_POINTER: u64 = 16 << 10;

/// A file that git reads as settings, or would if it were there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// As git is told of it, made absolute.
    pub written: PathBuf,
    /// Where it really lies.
    pub real: PathBuf,
    /// Links on the way, each in the folder that really holds it.
    pub links: Vec<PathBuf>,
}

/// Where git begins to read.
#[derive(Clone, Debug, Default)]
pub struct GitSettings {
    /// Files that count themselves.
    files: Vec<PathBuf>,
    /// Files of which only what they include counts: settings of repositories are judged otherwise.
    repositories: Vec<PathBuf>,
    /// What the environment includes, as it is written.
    given: Vec<PathBuf>,
    /// What `~` may mean.
    homes: Vec<PathBuf>,
}

impl SettingsFile {
    /// Whether the file has other names, which nobody can find from this one.
    pub fn has_other_names(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            self.real
                .symlink_metadata()
                .is_ok_and(|meta| meta.is_file() && meta.nlink() > 1)
        }
        #[cfg(not(unix))]
        false
    }
}

impl GitSettings {
    /// What git reads whichever repository it is in: settings of the machine, of the person, and of the environment.
    /// Relative paths count from `folder`.
    pub fn of_person(home: Option<&Path>, env: &BTreeMap<String, String>, folder: &Path) -> Self {
        let set = |name: &str| env.get(name).filter(|value| !value.is_empty());
        let placed = |name: &str| set(name).map(|value| folder.join(value));
        let mut homes: Vec<PathBuf> = home.map(Path::to_owned).into_iter().collect();
        homes.extend(placed("HOME"));
        homes.extend(account_home());
        homes.dedup();
        let of_home = |home: &PathBuf| OF_PERSON.map(|name| home.join(name));
        let mut files: Vec<PathBuf> = homes.iter().flat_map(of_home).collect();
        files.extend(placed("XDG_CONFIG_HOME").map(|xdg| xdg.join("git/config")));
        files.extend(FILE_VARIABLES.into_iter().filter_map(placed));
        files.extend(OF_MACHINE.map(PathBuf::from));
        let programs = set("PATH").map(std::env::split_paths).into_iter().flatten();
        files.extend(programs.flat_map(|programs| below_prefixes(&programs)));
        let folders: Vec<PathBuf> = FOLDER_VARIABLES.into_iter().filter_map(placed).collect();
        let of_repository = |folder: &PathBuf| OF_REPOSITORY.map(|name| folder.join(name));
        Self {
            files,
            repositories: folders.iter().flat_map(of_repository).collect(),
            given: given(env),
            homes,
        }
    }

    /// What only repositories read. `home` is what `~` means.
    pub fn of_repositories(settings: Vec<PathBuf>, home: Option<&Path>) -> Self {
        Self {
            repositories: settings,
            homes: home.map(Path::to_owned).into_iter().collect(),
            ..Self::default()
        }
    }

    /// The same with the settings of these repositories.
    pub fn with_repositories(mut self, settings: impl IntoIterator<Item = PathBuf>) -> Self {
        self.repositories.extend(settings);
        self
    }

    /// All files, those that others include on whatever condition among them.
    pub fn find(&self) -> Vec<SettingsFile> {
        sight::at_once(|| self.find_at_once())
    }

    fn find_at_once(&self) -> Vec<SettingsFile> {
        let mut found: Vec<SettingsFile> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut left = MAX_TOTAL;
        let most_seen = self.repositories.len() + 2 * MAX_FILES;
        let mut open: VecDeque<(PathBuf, Counts)> = VecDeque::new();
        let repositories = self.repositories.iter().cloned();
        open.extend(repositories.map(|path| (path, Counts::OnlyIncluded)));
        open.extend(
            self.files
                .iter()
                .cloned()
                .map(|path| (path, Counts::Itself)),
        );
        let given = self.given.iter();
        let given = given.flat_map(|path| self.places(path, None));
        open.extend(given.map(|path| (path, Counts::Itself)));
        let repositories = self.repositories.iter().cloned();
        open.extend(repositories.map(|path| (path, Counts::OnlyIncluded)));
        while let Some((written, counts)) = open.pop_front() {
            let Followed { real, links } = follow_links(&written);
            // What it includes by a relative path depends on the folder by which it was found.
            let folder = real_path(written.parent().unwrap_or(&written));
            if found.len() >= MAX_FILES || seen.len() >= most_seen {
                break;
            }
            let is_new = seen.insert((real.clone(), folder.clone()));
            let most = MAX_SETTINGS.min(left);
            if let (true, Ok(read)) = (is_new, read_bounded(&real, most, &Border::none())) {
                left -= read.bytes.len() as u64;
                let written = included(&read.bytes);
                let placed = written
                    .iter()
                    .flat_map(|path| self.places(path, Some(&folder)));
                open.extend(placed.map(|path| (path, Counts::Itself)));
            }
            let is_known = |file: &SettingsFile| file.real == real && file.links == links;
            if counts == Counts::Itself && !found.iter().any(is_known) {
                found.push(SettingsFile {
                    written,
                    real,
                    links,
                });
            }
        }
        found
    }

    /// What an include may mean: `~` is one of the homes, `~name` the home of somebody else. Without a folder a relative path
    /// means nothing.
    fn places(&self, written: &Path, folder: Option<&Path>) -> Vec<PathBuf> {
        let text = written.to_string_lossy();
        if !text.starts_with('~') {
            let is_placed = written.is_absolute() || folder.is_some();
            let placed = folder.unwrap_or(Path::new("/")).join(written);
            return is_placed.then_some(placed).into_iter().collect();
        }
        let mut parts = written.components();
        let first = parts.next().map(|part| part.as_os_str().to_string_lossy());
        let name = first.as_deref().unwrap_or_default().trim_start_matches('~');
        let below = parts.as_path();
        let homes = self.homes.iter();
        let of = |home: &PathBuf| match name {
            "" => Some(home.clone()),
            "root" => Some("/root".into()),
            // Homes lie beside each other.
            name => Some(home.parent()?.join(name)),
        };
        homes.filter_map(of).map(|home| home.join(below)).collect()
    }
}

/// Whether a file is listed, or only what it includes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    Itself,
    OnlyIncluded,
}

/// The settings of a repository: of its folder, or of the file that leads there, with those that it shares.
pub fn settings_of_repository(folder: &Path) -> Vec<PathBuf> {
    let repository = match folder.is_dir() {
        true => folder.to_owned(),
        false => match pointer(folder, "gitdir:") {
            Some(target) => folder.parent().unwrap_or(folder).join(target),
            None => return Vec::new(),
        },
    };
    let common = pointer(&repository.join(COMMON), "").map(|common| repository.join(common));
    let folders = [Some(repository), common].into_iter().flatten();
    folders
        .flat_map(|folder| OF_REPOSITORY.map(|name| folder.join(name)))
        .collect()
}

/// The path in a small file of one line.
fn pointer(file: &Path, prefix: &str) -> Option<PathBuf> {
    let read = read_bounded(file, MAX_POINTER, &Border::none()).ok()?;
    let text = String::from_utf8_lossy(&read.bytes);
    let path = text.strip_prefix(prefix)?.trim();
    (!path.is_empty()).then(|| path.into())
}

/// Settings of the machine for a git in this folder of programs.
fn below_prefixes(programs: &Path) -> Vec<PathBuf> {
    let git = programs.join("git");
    if !programs.is_absolute() || !git.is_file() {
        return Vec::new();
    }
    let prefix = |git: &Path| Some(git.parent()?.parent()?.join(BELOW_PREFIX));
    let mut found: Vec<PathBuf> = [prefix(&git), prefix(&real_path(&git))]
        .into_iter()
        .flatten()
        .collect();
    found.dedup();
    found
}

/// Files that the environment includes, as `git -c` and its like pass it on.
fn given(env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let is_include = |key: &str| {
        let key = key.to_ascii_lowercase();
        key == "include.path" || key.starts_with("includeif.") && key.ends_with(".path")
    };
    let count = env.get("GIT_CONFIG_COUNT");
    let count = count.and_then(|count| count.trim().parse().ok());
    let numbered = (0..count.unwrap_or(0).min(MAX_GIVEN)).filter_map(|number| {
        let key = env.get(&format!("GIT_CONFIG_KEY_{number}"))?;
        let value = env.get(&format!("GIT_CONFIG_VALUE_{number}"))?;
        Some((key.clone(), value.clone()))
    });
    let passed = env.get("GIT_CONFIG_PARAMETERS").map(String::as_str);
    let passed = settings_in(passed.unwrap_or_default());
    let all = numbered.chain(passed.into_iter().take(MAX_GIVEN));
    all.filter(|(key, _)| is_include(key))
        .map(|(_, path)| path.into())
        .collect()
}

/// `'key'='value'`, or `'key=value'` in an older form, quoted as for a shell.
fn settings_in(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some((first, after)) = unquoted(rest) {
        let value = after.strip_prefix('=').map(unquoted);
        let (pair, after) = match value {
            Some(Some((value, after))) => (Some((first, value)), after),
            // Without a value.
            Some(None) => (None, after.trim_start_matches('=')),
            None => {
                let pair = first.split_once('=');
                (
                    pair.map(|(key, value)| (key.to_owned(), value.to_owned())),
                    after,
                )
            }
        };
        found.extend(pair);
        rest = after.trim_start();
    }
    found
}

/// The first word of a text in single quotes, and what follows it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut rest = text.strip_prefix('\'')?;
    loop {
        let (part, after) = rest.split_once('\'')?;
        word.push_str(part);
        let escaped = after.strip_prefix('\\').and_then(|after| {
            let byte = after.chars().next().filter(|c| matches!(c, '\'' | '!'))?;
            Some((byte, after.get(1..)?.strip_prefix('\'')?))
        });
        match escaped {
            Some((byte, after)) => {
                word.push(byte);
                rest = after;
            }
            None => return Some((word, after)),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    struct Scene {
        _dir: tempfile::TempDir,
        top: PathBuf,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            Self { _dir: dir, top }
        }

        fn put(&self, name: &str, text: &str) {
            let path = self.top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn link(&self, name: &str, target: &str) {
            let path = self.top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(target, path).unwrap();
        }

        /// The files below the top that are found, and the links on the way.
        fn found(&self, settings: &GitSettings) -> (BTreeSet<String>, BTreeSet<String>) {
            let name = |path: &Path| {
                let below = path.strip_prefix(&self.top).ok()?;
                Some(below.display().to_string())
            };
            let all = settings.find();
            let files = all.iter().filter_map(|file| name(&file.real)).collect();
            let links = all.iter().flat_map(|file| &file.links);
            (files, links.filter_map(|link| name(link)).collect())
        }
    }

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn includes_are_followed_on_whatever_condition() {
        let scene = Scene::new();
        scene.put("p/.git/config", "[include]\n\tpath = ../.gitconfig\n");
        scene.put(
            "p/.gitconfig",
            "[includeIf \"gitdir:~/x/\"]\n\tpath = more/a\n\tpath = ~/b\n\tpath = ~ann/c\n",
        );
        scene.put(
            "p/more/a",
            "[include]\n\tpath = ../.gitconfig\n\tpath = sub/../none\n[broken\n",
        );
        let home = scene.top.join("homes/me");
        let start = vec![scene.top.join("p/.git/config")];
        let settings = GitSettings::of_repositories(start, Some(&home));
        let (files, links) = scene.found(&settings);
        let expect = [
            "p/.gitconfig",
            "p/more/a",
            "p/more/none",
            "homes/me/b",
            "homes/ann/c",
        ];
        assert_eq!((files, links), (names(&expect), names(&[])));
    }

    #[test]
    fn every_link_on_the_way_is_named() {
        let scene = Scene::new();
        scene.link("me/.gitconfig", "dot");
        scene.link("me/dot", "../p/cur/gitconfig");
        scene.link("p/cur", "one");
        scene.link("p/one", "two/sub");
        scene.put(
            "p/two/sub/gitconfig",
            "[include]\n\tpath = x\n\tpath = ../p/cur/y\n",
        );
        scene.link("me/.config/git", "../../p/none");
        let home = scene.top.join("me");
        let settings = GitSettings::of_person(Some(&home), &BTreeMap::new(), &home);
        let (files, links) = scene.found(&settings);
        let expect = [
            "p/two/sub/gitconfig",
            "me/x",
            "p/two/sub/y",
            "p/none/config",
        ];
        assert_eq!(files, names(&expect));
        let expect = [
            "me/.gitconfig",
            "me/dot",
            "p/cur",
            "p/one",
            "me/.config/git",
        ];
        assert_eq!(links, names(&expect));
    }

    /// Git itself reads the same files by these variables.
    #[test]
    fn variables_name_settings() {
        let scene = Scene::new();
        let at = |name: &str| scene.top.join(name).display().to_string();
        let quoted = at("it's").replace('\'', r"'\''");
        let passed = format!(
            "'a.b'='c d' 'include.path={}' 'e.f'= 'includeIf.gitdir:/.path'='{quoted}' 'g'",
            at("passed")
        );
        scene.put("passed", "");
        let env = [
            ("XDG_CONFIG_HOME", "xdg".to_owned()),
            ("GIT_CONFIG_GLOBAL", at("global")),
            ("GIT_CONFIG_SYSTEM", at("system")),
            ("GIT_CONFIG_COUNT", "2".into()),
            ("GIT_CONFIG_KEY_0", "Include.Path".into()),
            ("GIT_CONFIG_VALUE_0", at("counted")),
            ("GIT_CONFIG_KEY_1", "include.path".into()),
            ("GIT_CONFIG_VALUE_1", "relative".into()),
            ("GIT_CONFIG_PARAMETERS", passed),
            ("GIT_DIR", "repository".into()),
        ];
        scene.put("repository/config", "[include]\n\tpath = inner\n");
        let env = env.map(|(name, value)| (name.to_owned(), value)).into();
        let settings = GitSettings::of_person(None, &env, &scene.top);
        let (files, _) = scene.found(&settings);
        let expect = [
            "xdg/git/config",
            "global",
            "system",
            "counted",
            "passed",
            "it's",
            "repository/inner",
        ];
        assert_eq!(files, names(&expect));
    }

    #[test]
    fn a_circle_of_includes_has_an_end() {
        let scene = Scene::new();
        scene.put("p/a", "[include]\n\tpath = s/../a\n\tpath = l/a\n");
        scene.link("p/l", ".");
        let start = vec![scene.top.join("p/a")];
        let (files, links) = scene.found(&GitSettings::of_repositories(start, None));
        assert_eq!((files, links), (names(&["p/a"]), names(&["p/l"])));
    }
}
