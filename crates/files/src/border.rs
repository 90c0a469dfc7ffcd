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
}
