//! Where files lie as seen from a session: the root, the folders beside it, and the names in it that are protected.

use super::Scope;
use super::shell::{DEEP, DEEP_VISIBLE, PUBLIC, is_listed};
use ostler_host::{Pattern, Place, Protected, is_below};
use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

/// Names of the project that tools change only with the person's own yes, one a line.
const PROTECTED: &str = include_str!("protected.txt");
/// The folder of a repository.
pub const GIT: &str = ".git";
/// Files of a goal's research, which the model writes by our own instruction.
const UNPROTECTED: [&str; 1] = [".ostler/autoresearch"];

/// Folders beside the root and what holds for them. Real paths, without symlinks.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    /// Belong to the work as the root does: `--add-dir`, what may be written, what the model is told to read.
    pub inside: Vec<PathBuf>,
    /// Toolchains and their sources in the person's home, which readers see.
    pub public: Vec<PathBuf>,
    /// Not part of the project even where they lie in it: Ostler's home.
    pub outside: Vec<PathBuf>,
    /// Not to be read, whoever asks.
    pub forbidden: Vec<PathBuf>,
    /// Changed only with the person's own yes.
    pub protected: Vec<PathBuf>,
    /// Files of this session in folders that are outside otherwise.
    pub own: Vec<Pattern>,
    /// The trees that this one is a worktree of.
    pub copied_from: Vec<PathBuf>,
}

/// Names of the project that tools change only with the person's own yes, `/` between the parts.
pub fn protected_names() -> impl Iterator<Item = &'static str> {
    let lines = PROTECTED.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

impl Folders {
    /// What lies outside of the root and may be read unasked.
    pub fn open(&self) -> Vec<PathBuf> {
        self.inside.iter().chain(&self.public).cloned().collect()
    }

    /// Trees besides the root in which deny and ask rules hold.
    pub fn trees(&self) -> Vec<PathBuf> {
        self.inside
            .iter()
            .chain(&self.copied_from)
            .cloned()
            .collect()
    }

    /// Every folder with what holds below it. Of two that are the same the later one counts.
    pub(super) fn places<'a>(
        &'a self,
        scope: &'a Scope,
    ) -> impl Iterator<Item = (&'a Path, Place)> {
        let all = |paths: &'a [PathBuf], place: Place| {
            paths.iter().map(move |path| (path.as_path(), place))
        };
        let public = PUBLIC.iter().map(|path| (Path::new(path), Place::Public));
        let temp = scope.temp.as_deref().map(|temp| (temp, Place::Inside));
        all(&self.outside, Place::Outside)
            .chain(all(&self.public, Place::Public))
            .chain(all(&self.inside, Place::Inside))
            .chain(temp)
            .chain([(scope.root.as_path(), Place::Inside)])
            .chain(public)
    }

    /// Where a path lies, whatever rules say. Of a tree or a pattern it is where its folder lies.
    pub fn place(&self, path: &Path, scope: &Scope) -> Place {
        if self.own.iter().any(|own| own.fits(path)) {
            return Place::Inside;
        }
        // The folder itself, not a tree below it.
        if is_listed(path) {
            return Place::Public;
        }
        let path = folder_of(path);
        self.places(scope)
            .filter(|(folder, _)| is_below(&path, folder))
            .max_by_key(|(folder, _)| folder.as_os_str().len())
            .map_or(Place::Outside, |(_, place)| place)
    }

    /// Whether a folder whose names anybody may see has more below it than anybody may read.
    pub fn is_closed_below(&self, path: &Path, scope: &Scope) -> bool {
        is_listed(path) && self.place(&path.join("**"), scope) == Place::Outside
    }

    /// The ban that the path, or a tree that it names, falls under.
    pub fn ban(&self, path: &Path) -> Option<&Path> {
        let tree = tree_of(path);
        let mut bans = self.forbidden.iter().map(PathBuf::as_path);
        bans.find(|ban| is_below(path, ban) || tree.as_ref().is_some_and(|t| is_below(ban, t)))
    }

    /// What tools change only with the person's own yes; `granted` is what they said yes to.
    pub fn protected(&self, scope: &Scope, granted: &[PathBuf]) -> Protected {
        let names = |list: &mut dyn Iterator<Item = &str>| list.map(str::to_owned).collect();
        let holds_root = |path: &&PathBuf| is_below(&scope.root, path);
        Protected {
            names: names(&mut protected_names()),
            repositories: true,
            except: names(&mut UNPROTECTED.into_iter()),
            paths: (self.protected.iter().filter(|path| !holds_root(path)))
                .cloned()
                .collect(),
            bases: std::iter::once(&scope.root)
                .chain(&self.inside)
                .cloned()
                .collect(),
            granted: granted.to_vec(),
            home: scope.user_home.clone(),
            links: Default::default(),
        }
        .with_links()
    }
}

/// The folder of a path that means a whole tree.
pub(super) fn tree_of(path: &Path) -> Option<PathBuf> {
    let text = path.to_str()?;
    let folder = text
        .strip_suffix(DEEP)
        .or_else(|| text.strip_suffix(DEEP_VISIBLE))?;
    Some(match folder {
        "" => PathBuf::from("/"),
        folder => PathBuf::from(folder),
    })
}

/// The part of a path before its first pattern.
fn folder_of(path: &Path) -> Cow<'_, Path> {
    let is_plain = |part: &Component<'_>| {
        let bytes = part.as_os_str().as_encoded_bytes();
        !bytes.iter().any(|byte| b"*?[".contains(byte))
    };
    match path.components().all(|part| is_plain(&part)) {
        true => path.into(),
        false => path
            .components()
            .take_while(is_plain)
            .collect::<PathBuf>()
            .into(),
    }
}
