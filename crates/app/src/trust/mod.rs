//! What answers of the person leave in files: rules, trusted tools of MCP servers, and the record that the new content of
//! a project is known. How files are read, edited and trusted is `config`; nothing here decides.

pub mod rules;
pub mod tools;
pub mod watch;

use crate::boot::{self, Boot};
use crate::flags::{Global, RuleLayer};
use ostler_config::diagnose::ConfigError;
use ostler_config::edit::EditableFile;
use ostler_config::files::{self, Lock};
use ostler_config::layers::Loaded;
use ostler_config::paths::{Env, Places};
use ostler_config::tree::Layer;
use ostler_config::trust::Approval;
use ostler_wire::Language;
use std::io;
use std::path::{Path, PathBuf};

/// The configuration files of a session, to be changed and read again.
struct ConfigFiles {
    global: Global,
    env: Env,
    places: Places,
    language: Language,
}

impl ConfigFiles {
    fn new(boot: &Boot) -> Self {
        Self {
            global: boot.global.clone(),
            env: boot.env.clone(),
            places: boot.places.clone(),
            language: boot.language,
        }
    }

    fn load(&self, approval: Approval<'_>) -> Result<Loaded, ConfigError> {
        boot::load(&self.global, (&self.env, &self.places), approval)
    }

    fn path(&self, layer: RuleLayer) -> PathBuf {
        match (layer, &self.global.config) {
            (RuleLayer::Project, _) => self.places.project_config(),
            (RuleLayer::Local, _) => self.places.local_rules(),
            (RuleLayer::User, Some(path)) => self.places.cwd.join(path),
            (RuleLayer::User, None) => self.places.user_config(),
        }
    }

    /// A file's name, ready to show.
    fn shown(&self, path: &Path) -> String {
        ostler_wire::printable(&self.places.shown(path))
    }

    /// Waits until no other process changes configuration or trust.
    fn lock(&self) -> io::Result<Lock> {
        files::lock(&self.places.home)
    }

    /// Runs an edit of the file of this layer.
    fn edit<T>(
        &self,
        layer: RuleLayer,
        edit: impl FnOnce(EditableFile<'_>) -> Result<T, ConfigError>,
    ) -> Result<T, ConfigError> {
        let tools: Vec<&str> = ostler_engine::tools::all_names().collect();
        edit(EditableFile {
            path: &self.path(layer),
            layer: layer_of(layer),
            places: &self.places,
            tools: &tools,
        })
    }
}

fn layer_of(layer: RuleLayer) -> Layer {
    match layer {
        RuleLayer::User => Layer::User,
        RuleLayer::Local => Layer::Local,
        RuleLayer::Project => Layer::Project,
    }
}
