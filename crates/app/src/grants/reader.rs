//! What a command sees that only reads, and the caches that commands get, from the tables beside this file and the folders
//! of this machine. Enforcing it is `host`.

use super::{absolute, expand};
use ostler_config::paths::{Env, is_inside};
use ostler_engine::confine::Reader;
use std::path::{Path, PathBuf};

const VIEW: &str = include_str!("reader.txt");
const CACHES: &str = include_str!("caches.txt");

/// Names of folders beside which a toolchain has its other parts.
const PROGRAM_FOLDERS: [&str; 4] = ["bin", "libexec", "sbin", "shims"];
/// Settings of the system: what in there is not for everybody, readers do not see.
const SETTINGS: &str = "/etc";
/// Of those that are hidden.
const MAX_CLOSED: usize = 256;
/// Unknown folders at the top of the machine that are emptied.
const MAX_TOPS: usize = 64;

/// What the tables are read with.
pub struct Ground<'a> {
    pub env: &'a Env,
    pub home: Option<&'a Path>,
    /// Folders that stay visible, whatever the tables say: the project and what was added to it.
    pub roots: &'a [PathBuf],
}

/// One row of a table: its verb and the words behind.
fn rows<'a>(table: &'a str, verb: &str) -> Vec<Vec<&'a str>> {
    let lines = table.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.first() == Some(&verb))
        .map(|words| words.get(1..).unwrap_or_default().to_vec())
        .collect()
}

impl Ground<'_> {
    /// What is shown and hidden to who only reads. Where the project is the home or holds it, the home is not emptied: only
    /// what lets somebody in somewhere is hidden.
    pub fn reader(&self) -> Reader {
        let home = self.home.filter(|home| home.is_absolute());
        let emptied = home.filter(|home| !self.roots.iter().any(|root| is_inside(home, root)));
        let is_narrow = |path: &PathBuf| !home.is_some_and(|home| is_inside(home, path));
        // What holds the home or the project cannot be hidden as a whole: nothing else is seen of it.
        let is_project = |path: &PathBuf| self.roots.iter().any(|root| is_inside(path, root));
        let others = self.paths(VIEW, "data").chain(unknown_tops());
        let others: Vec<PathBuf> = others
            .filter(|path| emptied.is_some() && is_readable(path) && !is_project(path))
            .collect();
        let is_emptied = |path: &Path| {
            let mut folders = emptied
                .into_iter()
                .chain(others.iter().map(PathBuf::as_path));
            folders.any(|folder| is_inside(path, folder))
        };
        let mut shown: Vec<PathBuf> = self.paths(VIEW, "show").collect();
        shown.extend(self.programs());
        shown.extend(self.named_by_variables());
        // A toolchain that lies elsewhere is more than its programs.
        let elsewhere = self
            .programs()
            .filter(|folder| others.iter().any(|other| is_inside(folder, other)));
        let prefixes = elsewhere.filter_map(|folder| {
            let name = folder.file_name()?.to_str()?;
            let prefix = folder.parent()?.to_owned();
            let is_whole = home.is_some_and(|home| is_inside(home, &prefix))
                || others.iter().any(|other| is_inside(other, &prefix));
            (PROGRAM_FOLDERS.contains(&name) && !is_whole).then_some(prefix)
        });
        shown.extend(prefixes);
        shown.retain(|path| is_narrow(path) && path.exists());
        shown.retain(|path| is_emptied(path));
        let needed = |path: &PathBuf| {
            let needs = |one: &PathBuf| is_inside(one, path);
            home.is_some_and(|home| is_inside(home, path))
                || self.roots.iter().any(needs)
                || shown.iter().any(needs)
                || self.programs().any(|folder| is_inside(&folder, path))
        };
        let in_view = |path: &PathBuf| {
            let seen = |one: &PathBuf| is_inside(path, one);
            !is_emptied(path) || self.roots.iter().any(seen) || shown.iter().any(seen)
        };
        let closed = ostler_host::closed_to_others(Path::new(SETTINGS), MAX_CLOSED);
        let hidden = self.paths(VIEW, "hide").chain(closed);
        let hidden: Vec<PathBuf> = hidden
            .filter(|path| is_readable(path) && !needed(path) && in_view(path))
            .collect();
        shown.retain(|path| !hidden.iter().any(|hide| is_inside(path, hide)));
        Reader {
            others,
            home: emptied.map(Path::to_owned),
            shown,
            hidden,
        }
    }

    /// Caches of downloads that exist.
    pub fn downloads(&self) -> Vec<PathBuf> {
        let is_narrow = |path: &PathBuf| !self.home.is_some_and(|home| is_inside(home, path));
        let paths = self.paths(CACHES, "download");
        paths
            .filter(|path| path.is_dir() && is_narrow(path))
            .collect()
    }

    /// Variables by which tools find their cache, with a folder below `base` for each.
    pub fn caches(base: &Path) -> Vec<(String, PathBuf)> {
        let rows = rows(CACHES, "own").into_iter();
        rows.filter_map(|words| match words.as_slice() {
            [name, folder] => Some(((*name).to_owned(), base.join(folder))),
            _ => None,
        })
        .collect()
    }

    fn paths<'a>(&'a self, table: &'a str, verb: &str) -> impl Iterator<Item = PathBuf> + 'a {
        let rows = rows(table, verb).into_iter();
        rows.filter_map(|words| {
            let written = expand(words.first()?, self.env).ok()?;
            if written.starts_with('~') && self.home.is_none() {
                return None;
            }
            let path = absolute(&written, Path::new("/"), self.home);
            Some(path)
        })
    }

    /// What variables name by which the person places toolchains: one path or a list.
    fn named_by_variables(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let names = rows(VIEW, "list").into_iter().flatten();
        let values = names.filter_map(|name| self.env.get(name));
        let paths = values.flat_map(std::env::split_paths);
        paths.filter(|path| path.is_absolute())
    }

    /// The folders of PATH: who may run a program may read it.
    fn programs(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let path = self.env.get("PATH").map(String::as_str).unwrap_or_default();
        std::env::split_paths(path).filter(|folder| folder.is_absolute())
    }
}

/// Folders of the machine that no system has by itself: they hold somebody's data.
fn unknown_tops() -> Vec<PathBuf> {
    let known: Vec<&str> = rows(VIEW, "system").concat();
    let entries = std::fs::read_dir("/").into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.map(|entry| entry.file_name());
    names
        .filter(|name| !known.iter().any(|known| name == known))
        .map(|name| Path::new("/").join(name))
        .take(MAX_TOPS)
        .collect()
}

/// What we cannot read ourselves need not be hidden.
fn is_readable(path: &Path) -> bool {
    ostler_host::open_without_waiting(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(top: &Path, names: &[&str]) {
        for name in names {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
    }

    fn below(top: &Path, paths: &[PathBuf]) -> Vec<String> {
        let short = paths.iter().filter_map(|path| path.strip_prefix(top).ok());
        let mut names: Vec<String> = short.map(|path| path.display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn readers_see_toolchains_and_no_credentials() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let home = top.join("home");
        put(
            &home,
            &[
                ".cargo/bin/cargo",
                ".cargo/credentials.toml",
                ".rustup/settings.toml",
                ".gitconfig",
                ".npmrc",
                ".config/gh/hosts.yml",
                "notes.txt",
                "work/.npmrc",
                "tools/mine",
                "go/src/other/main.go",
                "go/pkg/mod/x",
                "jdk/bin/java",
                "lib/a.pc",
            ],
        );
        let path = format!(
            "{}:{}:/usr/bin",
            home.join("tools").display(),
            home.display()
        );
        let named = |names: &str| names.replace('~', &home.display().to_string());
        let env: Env = [
            ("PATH", path),
            ("JAVA_HOME", named("~/jdk")),
            // The home itself is nobody's toolchain.
            ("PKG_CONFIG_PATH", named("~/lib:~:relative:/none")),
            ("SOMETHING_ELSE", named("~/notes.txt")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let see = |roots: &[PathBuf]| {
            let ground = Ground {
                env: &env,
                home: Some(&home),
                roots,
            };
            ground.reader()
        };
        let reader = see(&[home.join("work")]);
        assert_eq!(reader.home.as_deref(), Some(home.as_path()));
        // A home that is itself on PATH is not shown as a whole.
        let expect = [
            ".cargo/bin",
            ".gitconfig",
            ".rustup",
            "go/pkg",
            "go/pkg/mod",
            "jdk",
            "lib",
            "tools",
        ];
        assert_eq!(below(&home, &reader.shown), expect);
        assert_eq!(below(&home, &reader.hidden), [] as [&str; 0]);
        // A project that is the home shows it, without what lets somebody in.
        for root in [&home, &top] {
            let reader = see(std::slice::from_ref(root));
            assert_eq!(reader.home, None);
            let expect = [".cargo/credentials.toml", ".config/gh", ".npmrc"];
            assert_eq!(below(&home, &reader.hidden), expect, "{}", root.display());
        }
    }

    #[test]
    fn no_row_shows_a_file_that_holds_credentials() {
        let shown = rows(VIEW, "show");
        let hidden = rows(VIEW, "hide");
        assert!(shown.len() > 50 && hidden.len() > 50);
        for hide in &hidden {
            assert!(!shown.contains(hide), "{hide:?}");
        }
        // Every line is one of the two, so that a slip of the pen is found.
        let lines = VIEW.lines().chain(CACHES.lines());
        let kinds = ["show", "hide", "list", "data", "system", "own", "download"];
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let verb = line.split_whitespace().next().unwrap_or_default();
            assert!(kinds.contains(&verb), "{line}");
        }
    }

    #[test]
    fn caches_have_a_folder_each() {
        let caches = Ground::caches(Path::new("/c"));
        assert!(caches.contains(&("GOCACHE".into(), "/c/go-build".into())));
        let text = format!("{caches:?} {:?}", rows(CACHES, "download"));
        for never in [
            "pre-commit",
            "virtualenvs",
            "corepack",
            "p10k",
            "gitstatus",
            "/bin",
        ] {
            assert!(!text.contains(never), "{never}");
        }
    }
}
