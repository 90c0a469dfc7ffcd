//! Which files may be read and which may not be changed unasked, as plain data that travels with each operation and is
//! judged where a file really lies, on its opened descriptor. It makes no system call and asks nobody.

use super::glob::matches;
use std::path::{Path, PathBuf};

/// Where a path lies, as seen from the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the project or in a folder that belongs to the session.
    Inside,
    /// A system file that anybody may read.
    Public,
    /// Reading it needs the person's yes.
    Outside,
}

/// What a border says of a real path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    Inside,
    Public,
    Outside,
    /// Not to be read, whoever asks; the rule that says so.
    Forbidden(String),
}

impl Judgement {
    /// Whether the file may be read without another question.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Inside | Self::Public => true,
            Self::Outside | Self::Forbidden(_) => false,
        }
    }
}

/// What becomes of a file that lies outside or that an ask rule speaks of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    #[default]
    Ask,
    Open,
}

/// A folder or file with all that is below it, and the rule that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ban {
    pub path: PathBuf,
    pub rule: String,
}

/// Paths that a rule speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The pattern is about paths below this folder.
    pub base: PathBuf,
    /// `*` any run, `?` one character. A folder means everything below it.
    pub glob: String,
    pub depth: Depth,
    /// The rule as it was written.
    pub rule: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The pattern is the path from the base.
    FromBase,
    /// The pattern is one name at any depth below the base.
    AnyName,
}

/// The last part of a path that means a folder with all below it.
const TREE: &str = "**";

/// Which files may be read. Paths are absolute and free of symlinks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Border {
    /// What holds for a folder and all below it. The longest folder decides; what lies below none of them is outside.
    pub places: Vec<(PathBuf, Place)>,
    pub forbidden: Vec<Ban>,
    pub deny: Vec<Pattern>,
    pub ask: Vec<Pattern>,
    pub allow: Vec<Pattern>,
    /// What the person allowed: these files, and these folders with all below them. A folder of `listed` stands for the
    /// names in it alone, and for all below it only as the tree `folder/**`.
    pub granted: Vec<PathBuf>,
    /// Folders of the system whose names anybody may list; what lies in them is another matter.
    pub listed: Vec<PathBuf>,
    pub beyond: Beyond,
}

impl Border {
    /// No border: for what Ostler reads for itself and shows to nobody.
    pub fn none() -> Self {
        Self {
            beyond: Beyond::Open,
            ..Self::default()
        }
    }

    /// What holds for the file that really lies at this path.
    pub fn judge(&self, real: &Path) -> Judgement {
        if let Some(ban) = self.forbidden.iter().find(|ban| is_below(real, &ban.path)) {
            return Judgement::Forbidden(ban.rule.clone());
        }
        if let Some(pattern) = self.deny.iter().find(|pattern| pattern.fits(real)) {
            return Judgement::Forbidden(pattern.rule.clone());
        }
        let place = self.place_at(real);
        // A yes to a folder does not reach into one that is apart from it, such as Ostler's home in the person's.
        let reach = place.map_or(0, |(folder, _)| folder.as_os_str().len());
        let granted = self
            .granted
            .iter()
            .filter_map(|path| self.grant(path, real));
        let granted = granted
            .filter(|path| path.as_os_str().len() >= reach)
            .max_by_key(|path| path.as_os_str().len());
        // A yes to a folder does not answer for what a rule wants asked inside of it.
        let is_asked = |pattern: &Pattern| {
            pattern.fits(real) && !granted.is_some_and(|granted| pattern.fits(granted))
        };
        if self.ask.iter().any(is_asked) {
            return Judgement::Outside;
        }
        if granted.is_some() || self.beyond == Beyond::Open {
            return Judgement::Inside;
        }
        match place.map_or(Place::Outside, |(_, place)| place) {
            Place::Inside => Judgement::Inside,
            Place::Public => Judgement::Public,
            Place::Outside if self.allow.iter().any(|pattern| pattern.fits(real)) => {
                Judgement::Inside
            }
            Place::Outside => Judgement::Outside,
        }
    }

    /// The folder or file of a grant, if it speaks of this path.
    fn grant<'a>(&self, granted: &'a Path, real: &Path) -> Option<&'a Path> {
        let tree = granted.ends_with(TREE).then(|| granted.parent()).flatten();
        let is_named = match tree {
            None if self.listed.iter().any(|listed| listed == granted) => real == granted,
            None => is_below(real, granted),
            Some(folder) => is_below(real, folder),
        };
        is_named.then_some(tree.unwrap_or(granted))
    }

    /// Opens a file outside of the project that the person names, with where it really lies. A folder that is apart,
    /// such as Ostler's home, stays closed: no name opens a file of it.
    pub fn grant_named(&mut self, named: &Path, real: &Path) {
        let is_apart = self.place_at(real).map(|(_, place)| place) == Some(Place::Outside);
        if self.place(named) == Place::Outside && !is_apart {
            self.granted
                .push(match self.listed.iter().any(|f| f == real) {
                    true => real.join(TREE),
                    false => real.to_owned(),
                });
        }
    }

    /// Where the path lies, whatever rules say.
    pub fn place(&self, real: &Path) -> Place {
        let place = self.place_at(real);
        place.map_or(Place::Outside, |(_, place)| place)
    }

    /// The longest folder that holds the path, and what it is.
    fn place_at(&self, real: &Path) -> Option<(&Path, Place)> {
        let fitting = self.places.iter().filter(|(path, _)| is_below(real, path));
        let longest = fitting.max_by_key(|(path, _)| path.as_os_str().len());
        longest.map(|(path, place)| (path.as_path(), *place))
    }
}

impl Pattern {
    /// Whether the rule speaks of this path or of a folder that holds it.
    pub fn fits(&self, real: &Path) -> bool {
        if !is_below(real, &self.base) {
            return false;
        }
        let whole = real.to_string_lossy();
        let base = self.base.to_string_lossy();
        let below = whole.get(base.len()..).unwrap_or_default();
        let below = below.strip_prefix('/').unwrap_or(below);
        let glob = self.glob.trim_end_matches('/');
        match self.depth {
            Depth::AnyName => below.split('/').any(|name| matches(glob, name)),
            Depth::FromBase => {
                let slashes = below.match_indices('/').map(|(at, _)| at);
                let mut ends = slashes.filter(|at| *at > 0).chain([below.len()]);
                !glob.is_empty()
                    && ends.any(|end| matches(glob, below.get(..end).unwrap_or_default()))
            }
        }
    }
}

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
        self.holds(real) || !is_granted && self.names.iter().any(begins)
    }

    pub fn holds(&self, real: &Path) -> bool {
        if self.granted.iter().any(|granted| granted == real) {
            return false;
        }
        if self.paths.iter().any(|path| is_below(real, path)) {
            return true;
        }
        if self.repositories && is_of_repository(real) {
            return true;
        }
        let bases = self.bases.iter().filter(|base| is_below(real, base));
        let base = bases.max_by_key(|base| base.as_os_str().len());
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

/// Whether a path is this folder or lies below it. Both are absolute, without `.` and `..`.
pub fn is_below(path: &Path, folder: &Path) -> bool {
    if cfg!(windows) {
        return path.starts_with(folder);
    }
    let path = path.as_os_str().as_encoded_bytes();
    let folder = folder.as_os_str().as_encoded_bytes();
    let folder = folder.strip_suffix(b"/").unwrap_or(folder);
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(base: &str, glob: &str, depth: Depth) -> Pattern {
        Pattern {
            base: base.into(),
            glob: glob.into(),
            depth,
            rule: format!("Read({glob})"),
        }
    }

    #[test]
    fn the_longest_folder_decides_and_bans_come_first() {
        let border = Border {
            places: vec![
                ("/repo".into(), Place::Inside),
                ("/repo/.home".into(), Place::Outside),
                ("/repo/.home/artifacts".into(), Place::Inside),
                ("/usr/lib".into(), Place::Public),
            ],
            forbidden: vec![Ban {
                path: "/repo/keys".into(),
                rule: "forbid_read".into(),
            }],
            deny: vec![
                pattern("/repo", ".env", Depth::AnyName),
                pattern("/", "etc/shadow", Depth::FromBase),
            ],
            ask: vec![pattern("/repo", "private/**", Depth::FromBase)],
            allow: vec![pattern("/", "data/*.csv", Depth::FromBase)],
            granted: vec!["/given".into(), "/repo/private/one".into()],
            listed: Vec::new(),
            beyond: Beyond::Ask,
        };
        let banned = |rule: &str| Judgement::Forbidden(rule.into());
        for (path, expect) in [
            ("/repo", Judgement::Inside),
            ("/repo/a", Judgement::Inside),
            ("/repository", Judgement::Outside),
            ("/repo/.home/log", Judgement::Outside),
            ("/repo/.home/artifacts/x", Judgement::Inside),
            ("/usr/lib/x", Judgement::Public),
            ("/usr/libx", Judgement::Outside),
            ("/repo/keys", banned("forbid_read")),
            ("/repo/keys/a", banned("forbid_read")),
            ("/repo/deep/.env", banned("Read(.env)")),
            ("/repo/.env/x", banned("Read(.env)")),
            ("/etc/shadow", banned("Read(etc/shadow)")),
            ("/etc/passwd", Judgement::Outside),
            ("/repo/private/two", Judgement::Outside),
            ("/repo/private/one", Judgement::Inside),
            ("/data/a.csv", Judgement::Inside),
            ("/data/a.txt", Judgement::Outside),
            ("/given/x", Judgement::Inside),
            ("/givenx", Judgement::Outside),
            ("/", Judgement::Outside),
        ] {
            assert_eq!(border.judge(Path::new(path)), expect, "{path}");
        }
        let open = Border {
            beyond: Beyond::Open,
            ..border
        };
        assert!(open.judge(Path::new("/etc/passwd")).is_open());
        assert!(!open.judge(Path::new("/repo/.env")).is_open());
    }

    #[test]
    fn a_yes_to_a_folder_stops_at_one_that_is_apart() {
        let border = Border {
            places: vec![("/home/me/.ostler".into(), Place::Outside)],
            granted: vec!["/home/me".into(), "/home/me/.ostler/one.log".into()],
            ..Border::default()
        };
        for (path, expect) in [
            ("/home/me/notes", true),
            ("/home/me/.ostler/other.log", false),
            ("/home/me/.ostler/one.log", true),
        ] {
            assert_eq!(border.judge(Path::new(path)).is_open(), expect, "{path}");
        }
    }

    #[test]
    fn names_that_anybody_may_list_open_nothing() {
        let granted = |path: &str| Border {
            granted: vec![path.into()],
            listed: vec!["/etc".into(), "/".into()],
            ..Border::default()
        };
        for (grant, path, expect) in [
            ("/etc", "/etc", true),
            ("/etc", "/etc/passwd", false),
            ("/etc/**", "/etc", true),
            ("/etc/**", "/etc/passwd", true),
            ("/etc/**", "/etcx", false),
            ("/", "/", true),
            ("/", "/etc", false),
            ("/**", "/home/me", true),
            ("/etc/ssl", "/etc/ssl/key", true),
        ] {
            let judged = granted(grant).judge(Path::new(path));
            assert_eq!(judged.is_open(), expect, "{grant} {path}");
        }
        // Whoever names the folder means what is in it.
        let mut named = granted("/x");
        named.grant_named(Path::new("/etc"), Path::new("/etc"));
        assert!(named.judge(Path::new("/etc/passwd")).is_open());
    }

    #[test]
    fn a_yes_to_a_folder_is_no_yes_to_what_a_rule_wants_asked_in_it() {
        let border = Border {
            ask: vec![pattern("/", "out/secrets/**", Depth::FromBase)],
            granted: vec!["/out".into()],
            ..Border::default()
        };
        assert!(border.judge(Path::new("/out/a")).is_open());
        assert!(!border.judge(Path::new("/out/secrets/a")).is_open());
    }

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
