//! What judging a call may look at: the root, the home, and how commands see temporary files.

use super::Containment;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Shells whose language is the one that commands are parsed in.
const KNOWN_SHELLS: [&str; 4] = ["sh", "bash", "dash", "ash"];

/// Folders for temporary files, which commands may see otherwise than we do.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// What the pure part of a call may look at.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Canonical root that relative paths resolve against.
    pub root: PathBuf,
    /// The person's home, for `~/` in paths.
    pub user_home: Option<PathBuf>,
    /// Commands are read by a shell with a language of its own: what they do cannot be told for sure.
    pub foreign_shell: bool,
    /// The folder that commands see as `/tmp` and `/var/tmp`, where they see another one there than we do.
    pub temp: Option<PathBuf>,
    /// Folders below the real `/tmp` that commands see at their own path all the same.
    pub kept: Vec<PathBuf>,
    /// What holds commands: where nothing does, only a short list of them counts as readers.
    pub containment: Containment,
    /// Outside of the root, what may be read unasked.
    pub open: Vec<PathBuf>,
    /// The program that reads commands.
    pub shell: String,
    /// The folders in which commands find programs, in their order.
    pub path: Vec<PathBuf>,
    /// Folders besides the root that commands may write in.
    pub changeable: Vec<PathBuf>,
    /// Further trees in which deny and ask rules hold as they do in the root: added folders, and the project that a
    /// worktree is a copy of.
    pub trees: Vec<PathBuf>,
}

impl Scope {
    pub fn new(root: impl Into<PathBuf>, user_home: Option<PathBuf>) -> Self {
        Self {
            // Without a slash at its end, which rules would take for a part of it.
            root: root.into().components().collect(),
            user_home,
            foreign_shell: false,
            temp: None,
            kept: Vec::new(),
            containment: Containment::Sandbox,
            open: Vec::new(),
            shell: String::new(),
            path: Vec::new(),
            changeable: Vec::new(),
            trees: Vec::new(),
        }
    }

    /// For commands that find programs by this `PATH` and may write in these folders besides the root.
    pub fn with_path(self, path: Option<&OsStr>, changeable: &[PathBuf]) -> Self {
        Self {
            path: path
                .map(std::env::split_paths)
                .into_iter()
                .flatten()
                .collect(),
            changeable: changeable.to_vec(),
            ..self
        }
    }

    /// Whether a program of this name, or the shell before it, would be one that a command could have written: what `PATH` finds
    /// first lies in the project, in a folder for temporary files, or in a folder that depends on where one is.
    pub fn is_planted(&self, program: &str, cwd: &Path) -> bool {
        self.finds_planted(program, cwd) || self.finds_planted(&self.shell, cwd)
    }

    fn finds_planted(&self, program: &str, cwd: &Path) -> bool {
        if program.is_empty() || program.contains('/') {
            return false;
        }
        let temporary = TEMPORARY.iter().map(Path::new);
        let roots = self.changeable.iter().map(PathBuf::as_path);
        let roots: Vec<&Path> = roots
            .chain([self.root.as_path()])
            .chain(temporary)
            .collect();
        let is_inside = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        let found = self.path.iter().find_map(|folder| {
            let at = cwd.join(folder).join(program);
            at.is_file().then_some((folder, at))
        });
        found.is_some_and(|(folder, at)| {
            folder.is_relative() || is_inside(&at) || is_inside(&ostler_host::real_path(&at))
        })
    }

    /// For commands that this holds.
    pub fn held_by(self, containment: Containment) -> Self {
        Self {
            containment,
            ..self
        }
    }

    /// For a session in which these may be read unasked, besides the root.
    pub fn with_open(self, open: Vec<PathBuf>) -> Self {
        Self { open, ..self }
    }

    /// For a session whose deny and ask rules hold in these trees, too.
    pub fn with_trees(self, trees: Vec<PathBuf>) -> Self {
        Self { trees, ..self }
    }

    /// What commands may read unasked outside of the root, by the names that they have for it.
    pub fn open_to_commands(&self) -> Vec<PathBuf> {
        let temporary = TEMPORARY.iter().filter(|_| self.temp.is_some());
        let mut open = self.open.clone();
        open.extend(temporary.map(PathBuf::from));
        open
    }

    /// For commands that see this folder as `/tmp`, but for what is kept at its own path.
    pub fn with_temp(self, temp: Option<PathBuf>, kept: Vec<PathBuf>) -> Self {
        Self { temp, kept, ..self }
    }

    /// For commands that go to this interpreter.
    pub fn with_shell(self, argv: &[OsString]) -> Self {
        let program = argv.first().map(Path::new);
        let name = program.and_then(Path::file_stem);
        let name = name.unwrap_or_default().to_string_lossy();
        let program = program.unwrap_or(Path::new(""));
        Self {
            shell: program.to_string_lossy().into_owned(),
            foreign_shell: !KNOWN_SHELLS.contains(&name.as_ref()),
            ..self
        }
    }

    /// A path as a model writes it, made absolute. Symlinks are not resolved here.
    pub fn path(&self, path: &str) -> PathBuf {
        let below_home = match path {
            "~" => Some(""),
            _ => path.strip_prefix("~/"),
        };
        let joined = match (below_home, &self.user_home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            (Some(_) | None, _) => self.root.join(path),
        };
        self.locate(&normalise(&joined))
    }

    /// Where a path really is that a command or a model names: below `/tmp` it is in the session's own folder.
    pub fn locate(&self, path: &Path) -> PathBuf {
        let Some(temp) = &self.temp else {
            return path.to_owned();
        };
        let own = [&self.root, temp].into_iter().chain(&self.kept);
        if own.into_iter().any(|kept| path.starts_with(kept)) {
            return path.to_owned();
        }
        let below = TEMPORARY.iter().find_map(|tmp| path.strip_prefix(tmp).ok());
        below.map_or_else(|| path.to_owned(), |rest| temp.join(rest))
    }

    /// The path as people like to read it: relative to the root where it lies below it.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".into(),
            Ok(rest) => rest.display().to_string(),
            Err(_) => self.named(path).display().to_string(),
        }
    }

    /// The path as commands see it: the other way of `locate`.
    pub fn named(&self, path: &Path) -> PathBuf {
        let temp = self.temp.as_ref();
        match temp.and_then(|temp| path.strip_prefix(temp).ok()) {
            Some(rest) => Path::new(TEMPORARY[0]).join(rest),
            None => path.to_owned(),
        }
    }

    /// A text with the folder for temporary files as commands see it.
    pub fn name_temp(&self, text: &str) -> String {
        match &self.temp {
            Some(temp) => text.replace(&temp.display().to_string(), TEMPORARY[0]),
            None => text.to_owned(),
        }
    }
}

/// Removes `.` and resolves `..` by name.
pub fn normalise(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_as_models_write_them() {
        let scope = Scope::new("/repo", Some("/home/ann".into()));
        for (path, expect, shown) in [
            ("", "/repo", "."),
            (".", "/repo", "."),
            ("src//a.rs", "/repo/src/a.rs", "src/a.rs"),
            ("./a/../b", "/repo/b", "b"),
            ("../x", "/x", "/x"),
            ("../../../x", "/x", "/x"),
            ("/etc/./x/..", "/etc", "/etc"),
            ("~", "/home/ann", "/home/ann"),
            ("~/", "/home/ann", "/home/ann"),
            ("~/a", "/home/ann/a", "/home/ann/a"),
            ("~//etc", "/home/ann/etc", "/home/ann/etc"),
            ("~bob/a", "/repo/~bob/a", "~bob/a"),
        ] {
            let resolved = scope.path(path);
            assert_eq!(resolved, Path::new(expect), "{path}");
            assert_eq!(scope.shown(&resolved), shown, "{path}");
        }
    }
}
