//! A throw-away home and project folder, with the environment a hermetic run needs.

use crate::Kind;
use crate::run::Run;
use crate::server::Server;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The key `api_key_env` names in the config that [`TempWorkspace::config`] writes.
pub const KEY_NAME: &str = "MOCK_KEY";
pub const KEY: &str = "mock-key";

/// Gone when dropped.
pub struct TempWorkspace {
    _dir: TempDir,
    user_home: PathBuf,
    home: PathBuf,
    root: PathBuf,
    scratch: PathBuf,
}

impl TempWorkspace {
    /// Panics when the folders cannot be made: without them no test can run.
    pub fn new() -> TempWorkspace {
        let dir = tempfile::Builder::new().prefix("ostler-test-").tempdir();
        let dir = dir.expect("a temporary folder");
        let base = dir.path().canonicalize().expect("its real path");
        let made = |name: &str| {
            let path = base.join(name);
            fs::create_dir(&path).expect("a folder in it");
            path
        };
        let user_home = made("home");
        TempWorkspace {
            home: user_home.join(".ostler"),
            user_home,
            root: made("project"),
            scratch: made("tmp"),
            _dir: dir,
        }
    }

    /// `OSTLER_HOME`. Not made until something is written there.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// `HOME`.
    pub fn user_home(&self) -> &Path {
        &self.user_home
    }

    /// The project folder, where commands run.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a file below the root (or at an absolute path), making its parents.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(path);
        let parent = path.parent().unwrap_or(&self.root);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        if let Err(error) = written {
            panic!("cannot write {}: {error}", path.display());
        }
        path
    }

    /// Reads a file below the root (or at an absolute path).
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.root.join(path);
        match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => panic!("cannot read {}: {error}", path.display()),
        }
    }

    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.root.join(path).exists()
    }

    /// Makes the root a git repository with one commit of what is in it.
    #[track_caller]
    pub fn git_init(&self) {
        self.git(["init", "-q", "-b", "main"]);
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", "start"]);
    }

    /// Runs git in the root and returns what it printed.
    #[track_caller]
    pub fn git<const N: usize>(&self, args: [&str; N]) -> String {
        self.run("git").args(args).output().ok().stdout
    }

    /// The whole environment of a run: nothing else is inherited.
    pub fn env(&self) -> Vec<(&'static str, OsString)> {
        let mut env: Vec<(&'static str, OsString)> = vec![
            ("HOME", self.user_home.clone().into()),
            ("OSTLER_HOME", self.home.clone().into()),
            ("TMPDIR", self.scratch.clone().into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            (KEY_NAME, KEY.into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_AUTHOR_NAME", "Test".into()),
            ("GIT_AUTHOR_EMAIL", "test@example.invalid".into()),
            ("GIT_COMMITTER_NAME", "Test".into()),
            ("GIT_COMMITTER_EMAIL", "test@example.invalid".into()),
        ];
        let passed = ["PATH", "SystemRoot"];
        env.extend(
            passed
                .into_iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        env
    }

    /// A run of `program` in the root, in [`TempWorkspace::env`].
    pub fn run(&self, program: impl AsRef<Path>) -> Run {
        let run = Run::new(program).cwd(&self.root);
        self.env()
            .into_iter()
            .fold(run, |run, (name, value)| run.env(name, value))
    }

    /// Writes `<home>/config.toml` with the server as provider `mock` and the default model.
    #[track_caller]
    pub fn config(&self, server: &Server, kind: Kind) -> PathBuf {
        self.write(self.home.join("config.toml"), config_text(server, kind))
    }
}

impl Default for TempWorkspace {
    fn default() -> TempWorkspace {
        TempWorkspace::new()
    }
}

/// The text of that config, for a test that adds to it. Ends inside the `[[providers]]` entry.
pub fn config_text(server: &Server, kind: Kind) -> String {
    format!(
        "default_model = \"mock/mock-model\"\n\
         \n\
         [[providers]]\n\
         name = \"mock\"\n\
         kind = \"{}\"\n\
         base_url = \"{}\"\n\
         model = \"mock-model\"\n\
         api_key_env = \"{KEY_NAME}\"\n\
         context_window = 1000000\n",
        kind.config_name(),
        server.base_url_for(kind),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_config_and_environment() {
        let server = Server::start([]);
        let space = TempWorkspace::new();
        assert!(!space.home().exists());
        space.write("src/a.txt", "one");
        assert_eq!(space.read("src/a.txt"), "one");
        assert!(space.exists("src") && !space.exists("b"));
        let path = space.config(&server, Kind::Messages);
        assert_eq!(path, space.home().join("config.toml"));
        let config = space.read(path).replace(&server.url(), "URL");
        insta::assert_snapshot!(config, @r#"
        default_model = "mock/mock-model"

        [[providers]]
        name = "mock"
        kind = "anthropic"
        base_url = "URL"
        model = "mock-model"
        api_key_env = "MOCK_KEY"
        context_window = 1000000
        "#);
        let names: Vec<_> = space.env().into_iter().map(|(name, _)| name).collect();
        assert!(!names.iter().any(|n| n.to_lowercase().contains("proxy")));
    }

    #[cfg(unix)]
    #[test]
    fn runs_see_only_this_environment() {
        let space = TempWorkspace::new();
        let out = space
            .run("/bin/sh")
            .args(["-c", "pwd; echo $OSTLER_HOME; env | wc -l"]);
        let out = out.output().ok().stdout;
        let lines: Vec<&str> = out.lines().collect();
        let expect = [space.root().display(), space.home().display()].map(|p| p.to_string());
        assert_eq!(lines[..2], expect);
        // What the shell adds itself: PWD, and on some systems OLDPWD, SHLVL, _.
        let count: usize = lines[2].trim().parse().expect("a count");
        assert!((1..=4).contains(&(count - space.env().len())), "{count}");
    }

    #[test]
    fn git_has_a_commit() {
        let space = TempWorkspace::new();
        space.write("a.txt", "one");
        space.git_init();
        assert_eq!(space.git(["log", "--format=%an %s"]), "Test start\n");
        assert_eq!(space.git(["status", "--porcelain"]), "");
    }
}
