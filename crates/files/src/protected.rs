//! Which files may not be changed unasked because they decide what runs later. Links at protected names lead to files that
//! are protected as well, so this looks at the disk where `border` does not.

use super::border::is_below;
use super::glob::matches;
use super::links::{Links, Wanted};
use crate::sight;
use std::path::{Path, PathBuf};

/// Files that decide what runs later: settings, hooks, instructions of programs. Changing them takes the person's own yes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected {
    /// Names at any depth, `/` between the parts, `*` in a part. A folder means everything below it.
    pub names: Vec<String>,
    /// The same, for what is not protected all the same.
    pub except: Vec<String>,
    pub paths: Vec<PathBuf>,
    /// Names count below the longest of these folders that holds the path; above it they are the project's own place.
    pub bases: Vec<PathBuf>,
    /// What the person allowed to be changed.
    pub granted: Vec<PathBuf>,
    /// Whether files count that make a folder a repository of git, or that decide what git runs in one.
    pub repositories: bool,
    /// What `~` means in settings of git.
    pub home: Option<PathBuf>,
    /// What links at these names lead to, and what settings of repositories include; `with_links` looks them up.
    pub links: Links,
}

/// Without this file git takes no folder for a repository; a link of this name is none that a tool can write through.
const HEAD: &str = "HEAD";
/// Files by which git runs programs or looks elsewhere, and the folders without which none is a repository: beside a `HEAD`
/// each of them may be the last that is missing.
const DECIDING: [&str; 9] = [
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "hooks",
    "objects",
    "rebase-merge",
    "refs",
    "sequencer",
];

/// Whether the path makes a folder a repository, or decides what git runs in one that is there or may become one. Git needs
/// no folder called `.git` for that: whoever stands in a folder with a `HEAD`, `objects` and `refs` stands in a repository.
fn is_of_repository(real: &Path) -> bool {
    let is = |path: &Path, name: &str| match cfg!(any(windows, target_os = "macos")) {
        true => path
            .file_name()
            .is_some_and(|n| n.eq_ignore_ascii_case(name)),
        false => path.file_name().is_some_and(|n| n == name),
    };
    if is(real, HEAD) {
        return !real.is_dir();
    }
    let deciding = real
        .ancestors()
        .filter(|path| DECIDING.iter().any(|name| is(path, name)));
    let folders = deciding.filter_map(Path::parent);
    let is_file = |path: PathBuf| path.symlink_metadata().is_ok_and(|meta| !meta.is_dir());
    folders.into_iter().any(|folder| is_file(folder.join(HEAD)))
}

impl Protected {
    /// The same with what links at protected names in the project lead to now.
    pub fn with_links(mut self) -> Self {
        let mut links = std::mem::take(&mut self.links);
        sight::at_once(|| {
            for base in &self.bases {
                let wanted = Wanted {
                    names: &self.names,
                    home: self.home.as_deref(),
                };
                links.extend(&Links::in_folder(base, wanted));
                links.extend(&Links::in_project(base, wanted));
            }
        });
        self.links = links;
        self
    }

    /// Whether changing this one path takes the person's yes. Unlike `holds` it looks for links in each folder above it.
    pub fn binds(&self, real: &Path) -> bool {
        sight::at_once(|| self.binds_now(real))
    }

    fn binds_now(&self, real: &Path) -> bool {
        let is_granted = self.granted.iter().any(|granted| granted == real);
        let leads_here = || {
            let base = self.base_of(real)?;
            let mut folders = real.ancestors().skip(1).take_while(|f| is_below(f, base));
            let wanted = Wanted {
                names: &self.names,
                home: self.home.as_deref(),
            };
            folders.find(|folder| Links::in_folder(folder, wanted).holds(real))
        };
        self.holds(real) || !is_granted && leads_here().is_some()
    }

    /// The folder below which names count.
    fn base_of(&self, real: &Path) -> Option<&Path> {
        let bases = self.bases.iter().filter(|base| is_below(real, base));
        let longest = bases.max_by_key(|base| base.as_os_str().len());
        longest.map(PathBuf::as_path)
    }

    /// The same for a folder that comes with all that is in it: a protected name may be among that.
    pub fn holds_below(&self, real: &Path) -> bool {
        let parts = small_parts(real);
        let begins = |name: &String| {
            let wanted: Vec<String> = name.split('/').map(str::to_ascii_lowercase).collect();
            (1..wanted.len()).any(|length| {
                let above = wanted.iter().take(length);
                parts.len() >= length
                    && parts
                        .iter()
                        .skip(parts.len() - length)
                        .zip(above)
                        .all(|(part, glob)| matches(glob, part))
            })
        };
        let is_granted = self.granted.iter().any(|granted| granted == real);
        self.binds(real)
            || !is_granted && (self.names.iter().any(begins) || self.links.holds_below(real))
    }

    pub fn holds(&self, real: &Path) -> bool {
        if self.granted.iter().any(|granted| granted == real) {
            return false;
        }
        if self.paths.iter().any(|path| is_below(real, path)) {
            return true;
        }
        if self.repositories && is_of_repository(real) || self.links.holds(real) {
            return true;
        }
        let base = self.base_of(real);
        let below = base.and_then(|base| real.strip_prefix(base).ok());
        let parts = small_parts(below.unwrap_or(real));
        let named = |list: &[String]| list.iter().any(|name| has_name(&parts, name));
        named(&self.names) && !named(&self.except)
    }
}

/// The names in a path, in small letters.
fn small_parts(path: &Path) -> Vec<String> {
    let names = path.components().map(|part| part.as_os_str());
    names
        .map(|name| name.to_string_lossy().to_ascii_lowercase())
        .collect()
}

/// Whether these parts follow each other somewhere in the path. Case does not matter, as on systems that ignore it.
fn has_name(parts: &[String], name: &str) -> bool {
    let wanted: Vec<String> = name.split('/').map(str::to_ascii_lowercase).collect();
    parts.windows(wanted.len()).any(|window| {
        let mut pairs = wanted.iter().zip(window);
        pairs.all(|(glob, part)| matches(glob, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder needs no `.git` to be a repository.
    #[test]
    fn what_makes_a_repository_is_protected() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in [
            "bare/objects",
            "bare/refs",
            "app/config",
            "app/hooks",
            "linked",
            "half",
            "src/HEAD",
        ] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        for file in ["bare/HEAD", "linked/HEAD", "linked/commondir", "half/HEAD"] {
            std::fs::write(top.join(file), "").unwrap();
        }
        let protected = Protected {
            bases: vec![top.clone()],
            repositories: true,
            ..Protected::default()
        };
        for (path, expect) in [
            ("docs/HEAD", true),
            ("HEAD", true),
            ("bare/config", true),
            ("bare/config.worktree", true),
            ("bare/hooks/pre-commit", true),
            ("bare/hooks", true),
            ("bare/commondir", true),
            ("bare/rebase-merge/git-rebase-todo", true),
            ("linked/config", true),
            ("bare/objects/keep", true),
            ("half/config", true),
            ("half/refs/keep", true),
            ("bare/description", false),
            ("app/config/x.rb", false),
            ("app/hooks/use.ts", false),
            ("app/head", false),
            ("src/HEAD/index.ts", false),
            ("config", false),
        ] {
            assert_eq!(protected.holds(&top.join(path)), expect, "{path}");
        }
    }

    #[test]
    fn a_folder_may_bring_a_protected_name() {
        let protected = Protected {
            names: [".git", ".vscode/tasks.json", ".claude/skills"]
                .map(str::to_owned)
                .to_vec(),
            bases: vec!["/repo".into()],
            granted: vec!["/repo/granted/.claude".into()],
            ..Protected::default()
        };
        for (path, expect) in [
            ("/repo/.vscode", true),
            ("/repo/sub/.claude", true),
            ("/repo/.claude/skills/x", true),
            ("/repo/granted/.claude", false),
            ("/repo/src", false),
            ("/repo/vscode", false),
            ("/repo/.vscode/other", false),
        ] {
            assert_eq!(protected.holds_below(Path::new(path)), expect, "{path}");
        }
    }

    #[test]
    fn what_is_protected() {
        let protected = Protected {
            repositories: false,
            names: [".git", "ostler.toml", ".ostler", ".claude/settings*"]
                .map(str::to_owned)
                .to_vec(),
            except: vec![".ostler/research".into()],
            paths: vec!["/repo/home".into()],
            bases: vec!["/repo".into(), "/u/.ostler/worktrees/w".into()],
            granted: vec!["/repo/sub/ostler.toml".into()],
            home: None,
            links: Links::default(),
        };
        for (path, expect) in [
            ("/repo/.git", true),
            ("/repo/.git/hooks/pre-commit", true),
            ("/repo/sub/.GIT/config", true),
            ("/repo/.gitignore", false),
            ("/repo/ostler.toml", true),
            ("/repo/sub/ostler.toml", false),
            ("/repo/.claude/settings.local.json", true),
            ("/repo/.claude/notes.md", false),
            ("/repo/.ostler/skills/x", true),
            ("/repo/.ostler/research/log.md", false),
            ("/repo/home/AGENTS.md", true),
            ("/repo/src/main.rs", false),
            ("/u/.ostler/worktrees/w/a", false),
            ("/u/.ostler/worktrees/w/.git", true),
            ("/u/.ostler/other", true),
        ] {
            assert_eq!(protected.holds(Path::new(path)), expect, "{path}");
        }
    }
}
