//! Tests of the configuration. Each case is data: files, variables and flags in, text out.

mod approval;
mod backends;
mod diagnostics;
mod edits;
mod hostile;
mod keys;
mod merge;
mod resolve;
mod rules;
mod schema;
mod trust;

use std::fs;
use std::path::{Path, PathBuf};

use ostler_wire::{Language, Why};
use tempfile::TempDir;

use super::diagnose::ConfigError;
use super::env::Override;
use super::layers::{Inputs, Loaded, load};
use super::oauth::TokenStore;
use super::paths::{Env, Places};
use super::schema::ProviderConfig;
use super::show::{Origins, settings};
use super::trust::{Answer, Approval, Record};

const TOOLS: [&str; 4] = ["bash", "read_file", "fetch_url", "web_search"];

/// A home and a project in a directory of their own.
pub struct Bench {
    directory: TempDir,
    pub env: Env,
    pub flags: Vec<Override>,
    trusted: bool,
    pub config_flag: Option<PathBuf>,
}

impl Bench {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("home/.ostler")).unwrap();
        fs::create_dir_all(directory.path().join("work")).unwrap();
        Self {
            directory,
            env: Env::new(),
            flags: Vec::new(),
            trusted: false,
            config_flag: None,
        }
    }

    pub fn user(self, text: &str) -> Self {
        fs::write(self.places().user_config(), text).unwrap();
        self
    }

    pub fn project(self, text: &str) -> Self {
        fs::write(self.places().project_config(), text).unwrap();
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    pub fn flag(mut self, flag: &str, key: &str, value: &str) -> Self {
        self.flags.push(Override {
            flag: flag.into(),
            key: key.into(),
            value: value.into(),
        });
        self
    }

    pub fn logins(&self) -> crate::logins::Logins {
        crate::logins::Logins::new(&self.places().home, TokenStore::File)
    }

    pub fn trusted(mut self) -> Self {
        self.trusted = true;
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        // Links in the way to the temporary directory would show in messages.
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub fn places(&self) -> Places {
        Places {
            home: self.path("home/.ostler"),
            user_home: Some(self.path("home")),
            cwd: self.path("work"),
            root: self.path("work"),
        }
    }

    /// The record of somebody who trusts the project as it is.
    pub fn record(&self) -> Record {
        let seen = self.load_with(Approval::Recorded(None)).unwrap().workspace;
        Record::new(
            Answer::Trusted,
            String::new(),
            &seen.items,
            Language::English,
        )
    }

    pub fn load(&self) -> Result<Loaded, ConfigError> {
        let record = self.trusted.then(|| self.record());
        self.load_with(Approval::Recorded(record.as_ref()))
    }

    pub fn load_with(&self, approval: Approval<'_>) -> Result<Loaded, ConfigError> {
        load(&Inputs {
            env: &self.env,
            places: &self.places(),
            config_flag: self.config_flag.as_deref(),
            overrides: &self.flags,
            approval,
            tools: &TOOLS,
        })
    }

    /// Text with the directory's own name taken out.
    pub fn clean(&self, text: &str) -> String {
        let home = self.path("home").display().to_string();
        let work = self.path("work").display().to_string();
        let base = self.path("");
        let base = base.display().to_string();
        let text = text.replace(&home, "~").replace(&work, "WORK");
        text.replace(base.trim_end_matches('/'), "BASE")
    }

    /// What a person sees: the error, or what is set (without defaults) and the notices.
    pub fn seen(&self) -> String {
        let text = match self.load() {
            Ok(loaded) => format!("{}{}", set_lines(&loaded), notice_lines(&loaded)),
            Err(error) => error.to_string(),
        };
        self.clean(&text)
    }
}

fn set_lines(loaded: &Loaded) -> String {
    settings(loaded)
        .iter()
        .filter(|setting| setting.layer != "default")
        .map(|setting| setting.line(Origins::Shown) + "\n")
        .collect()
}

fn notice_lines(loaded: &Loaded) -> String {
    loaded
        .notices
        .iter()
        .map(|notice| format!("! {}\n", Why::from(notice)))
        .collect()
}

/// Built-in providers for tests.
fn built_in() -> Vec<ProviderConfig> {
    #[derive(serde::Deserialize)]
    struct File {
        providers: Vec<ostler_llm::BuiltinProvider>,
    }
    let file: File = toml::from_str(
        r#"
[[providers]]
name = "alpha"
kind = "anthropic"
base_url = "https://api.alpha.test"
models = ["alpha-large", "alpha-small"]
api_key_env = "ALPHA_API_KEY"
base_url_env = "ALPHA_BASE_URL"

[[providers]]
name = "beta"
kind = "openai-responses"
base_url = "https://api.beta.test/v1"
models = ["beta-5", "beta-4"]
default = "beta-4"
api_key_env = "BETA_API_KEY"

[[providers]]
name = "mart"
kind = "openai"
base_url = "https://mart.test/api/v1"
models = ["alpha/alpha-large", "beta/open-20b", "free/mini"]
api_key_env = "MART_API_KEY"

[[providers]]
name = "local"
kind = "openai"
base_url = "http://127.0.0.1:11434/v1"
models = ["small"]

[[providers]]
name = "demo"
kind = "demo"
models = ["demo"]
"#,
    )
    .unwrap();
    super::providers::built_in(&file.providers)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
