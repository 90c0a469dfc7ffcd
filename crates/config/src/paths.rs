//! Where things live: Ostler's home, the two configuration files, and what a path written in one
//! of them means. It follows links where it must, and reads no file.

use crate::text::phrase;
use ostler_files::sight;
use ostler_guard::normalise;
use ostler_wire::{Why, Word};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::digest::hash;
use crate::tree::{Node, Value};

/// The file that the logins lie in, in our own home.
pub const AUTH_FILE: &str = "auth.json";

/// Where the logins of servers lay before.
pub const OLD_TOKENS: &str = "mcp-auth.json";
/// The settings of a project.
pub const PROJECT_CONFIG: &str = "ostler.toml";
/// Keys whose relative paths start at the file they are written in.
const BESIDE: [&[&str]; 5] = [
    &["agent", "system_prompt_file"],
    &["network", "ca_file"],
    &["skills", "excluded_paths"],
    &["skills", "paths"],
    &["tools", "shell", "path"],
];
/// Keys whose relative paths start at the root.
const IN_ROOT: [&[&str]; 2] = [&["sandbox", "allow_write"], &["sandbox", "workspace_root"]];

/// In Ostler's home, what the person keeps for single projects.
const LOCAL: &str = "projects";
/// Ostler's home in that of the person, where nothing names another.
pub const USUAL_HOME: &str = ".ostler";
/// In Ostler's home, what was there before commands that run now.
pub const RUNNING: &str = "running";
/// Hex digits of a project's path that no other path can be made to have.
const LOCAL_DIGEST: usize = 32;
/// In Ostler's home, what only Ostler and the person change.
const RESERVED: [&str; 14] = [
    "archive",
    "cache",
    "checkpoints",
    "config.toml",
    "holds",
    "ledger.jsonl",
    "live",
    "mcp.json",
    "memory",
    "prefixes",
    LOCAL,
    RUNNING,
    "sessions",
    "trust.json",
];

/// Environment variables, passed in so that nothing here depends on the process.
pub type Env = BTreeMap<String, String>;

/// How the system lays out home directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    Unix,
    Windows,
}

impl Platform {
    pub const CURRENT: Self = if cfg!(windows) {
        Self::Windows
    } else {
        Self::Unix
    };
}

/// No place for Ostler's files was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoHome(pub &'static str);

impl From<&NoHome> for Why {
    fn from(error: &NoHome) -> Self {
        phrase(Word::NoHome, &[&error.0])
    }
}

ostler_wire::told_by_why!(NoHome);

/// The directories that everything else is relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Ostler's home.
    pub home: PathBuf,
    /// The person's home, what `~` means.
    pub user_home: Option<PathBuf>,
    pub cwd: PathBuf,
    /// The project: `--root`, else the current directory.
    pub root: PathBuf,
}

impl Places {
    /// Whether the project is the person's home, holds it, or is the whole disk. Then nothing is writable because of it.
    pub fn has_wide_root(&self) -> bool {
        let holds_home = |home: &PathBuf| is_inside(home, &self.root);
        self.root.parent().is_none() || self.user_home.as_ref().is_some_and(holds_home)
    }

    /// Finds the homes from the environment. `root` and `OSTLER_HOME` may be relative to `cwd`.
    pub fn find(
        env: &Env,
        cwd: &Path,
        root: Option<&Path>,
        platform: Platform,
    ) -> Result<Self, NoHome> {
        let set = |name: &str| env.get(name).filter(|value| !value.is_empty());
        let user_home = match platform {
            Platform::Unix => set("HOME"),
            Platform::Windows => set("USERPROFILE"),
        }
        .map(PathBuf::from);
        let home = match (set("OSTLER_HOME"), platform) {
            (Some(home), Platform::Unix | Platform::Windows) => {
                absolute(home, cwd, user_home.as_deref())
            }
            (None, Platform::Unix) => user_home.clone().ok_or(NoHome("HOME"))?.join(USUAL_HOME),
            (None, Platform::Windows) => match set("APPDATA") {
                Some(app_data) => Path::new(app_data).join("ostler"),
                None => return Err(NoHome("APPDATA")),
            },
        };
        Ok(Self {
            home,
            user_home,
            cwd: cwd.to_owned(),
            root: root.map_or_else(|| cwd.to_owned(), |root| cwd.join(root)),
        })
    }

    pub fn user_config(&self) -> PathBuf {
        self.home.join("config.toml")
    }

    /// The person's own rules for this project. The name tells the project for people, the digest tells it apart.
    pub fn local_rules(&self) -> PathBuf {
        let digest = hash(&[self.root.as_os_str().as_encoded_bytes()]);
        let digest = digest.get(..LOCAL_DIGEST).unwrap_or(&digest);
        let name = ostler_store::sessions::project_name(&self.root);
        let folder = self.home.join(LOCAL).join(format!("{name}-{digest}"));
        folder.join("permissions.toml")
    }

    pub fn project_config(&self) -> PathBuf {
        self.root.join(PROJECT_CONFIG)
    }

    /// Our own files with keys in them, under all their names.
    pub fn sealed(&self) -> Vec<PathBuf> {
        let mut all = vec![
            self.dotenv(),
            self.home.join(AUTH_FILE),
            self.home.join(OLD_TOKENS),
        ];
        let home = self.home.canonicalize().ok();
        let placed = home
            .iter()
            .flat_map(|home| [".env", AUTH_FILE, OLD_TOKENS].map(|name| home.join(name)));
        let real = all.iter().filter_map(|path| sight::canonicalize(path).ok());
        let more: Vec<PathBuf> = placed.chain(real).collect();
        all.extend(more);
        all.sort();
        all.dedup();
        all
    }

    /// Our own files and folders that decide what runs, what is trusted and what is remembered, under all their names.
    pub fn reserved(&self) -> Vec<PathBuf> {
        let named = RESERVED.map(|name| self.home.join(name));
        let home = self.home.canonicalize().ok();
        let placed = home
            .iter()
            .flat_map(|home| RESERVED.map(|name| home.join(name)));
        let real = named
            .iter()
            .filter_map(|path| sight::canonicalize(path).ok());
        let mut all: Vec<PathBuf> = placed.chain(real).collect();
        all.extend(named);
        all.sort();
        all.dedup();
        all
    }

    pub fn dotenv(&self) -> PathBuf {
        self.home.join(".env")
    }

    pub fn memory(&self) -> PathBuf {
        self.home.join("memory")
    }

    pub fn trust(&self) -> PathBuf {
        self.home.join("trust.json")
    }

    /// The path as a person in `cwd` would write it.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.cwd) {
            Ok(short) if short.components().next().is_some() => short.display().to_string(),
            Ok(_) | Err(_) => path.display().to_string(),
        }
    }
}

/// A file that configuration can come from, for `config path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    pub what: &'static str,
    pub path: PathBuf,
    pub exists: bool,
}

/// The files that configuration comes from, the most important last.
pub fn config_files(places: &Places, config_flag: Option<&Path>) -> Vec<ConfigFile> {
    let user = match config_flag {
        Some(path) => places.cwd.join(path),
        None => places.user_config(),
    };
    let files = [
        ("keys", places.dotenv()),
        ("user", user),
        ("local", places.local_rules()),
        ("project", places.project_config()),
    ];
    files
        .into_iter()
        .filter(|(what, path)| *what != "local" || path.is_file())
        .map(|(what, path)| ConfigFile {
            what,
            exists: path.is_file(),
            path,
        })
        .collect()
}

/// Makes the paths of a layer absolute. `base` is the directory of its file.
pub fn anchor_paths(tree: &mut Node, base: &Path, places: &Places) {
    for path in BESIDE.iter().chain(&IN_ROOT) {
        // Empty means unset.
        if tree.get(path).and_then(Node::as_str) == Some("") {
            tree.take(path);
        }
    }
    for path in BESIDE {
        let Some(node) = tree.get_mut(path) else {
            continue;
        };
        // A bare program name is looked up on PATH.
        let is_bare = |text: &str| !text.contains(['/', '\\']);
        let is_program = path.last() == Some(&"path") && node.as_str().is_some_and(is_bare);
        if !is_program {
            anchor(node, base, places);
        }
    }
    for path in IN_ROOT {
        if let Some(node) = tree.get_mut(path) {
            anchor(node, &places.root, places);
        }
    }
    if let Some(Value::Array(items)) = tree.get_mut(&["providers"]).map(|node| &mut node.value) {
        for item in items {
            match item.get_mut(&["api_key_file"]) {
                Some(node) if node.as_str() != Some("") => anchor(node, base, places),
                Some(_) => {
                    item.take(&["api_key_file"]);
                }
                None => {}
            }
        }
    }
}

fn anchor(node: &mut Node, base: &Path, places: &Places) {
    match &mut node.value {
        Value::String(written) => {
            let path = absolute(written, base, places.user_home.as_deref());
            *written = path.display().to_string();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| anchor(item, base, places)),
        Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Table(_) => {}
    }
}

/// A path written in a file (or flag), made absolute: `~/` is the person's home, anything else
/// relative starts at `base`.
pub fn absolute(written: &str, base: &Path, user_home: Option<&Path>) -> PathBuf {
    let separators = ['/', std::path::MAIN_SEPARATOR];
    let expanded = match (written.strip_prefix('~'), user_home) {
        (Some(rest), Some(user_home)) if rest.is_empty() || rest.starts_with(separators) => {
            user_home.join(rest.trim_start_matches(separators))
        }
        (Some(_) | None, _) => PathBuf::from(written),
    };
    normalise(&base.join(expanded))
}

/// Whether the path stays in the directory, links followed as far as they exist.
pub fn is_inside(path: &Path, directory: &Path) -> bool {
    real(&normalise(path)).starts_with(real(&normalise(directory)))
}

/// The path without links, as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|ancestor| {
            let rest = path.strip_prefix(ancestor).ok()?;
            let real = sight::canonicalize(ancestor).ok()?;
            // A slash at its end would make a folder of a file.
            Some(match rest.as_os_str().is_empty() {
                true => real,
                false => real.join(rest),
            })
        })
        .unwrap_or_else(|| path.to_owned())
}
