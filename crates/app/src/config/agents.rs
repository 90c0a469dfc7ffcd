//! `[roles.*]` and `[skills]`: who may work for a session and what they can be told, as it is written, and the folders of a
//! project that the rest of it lies in.

use super::layers::Loaded;
use super::paths::{Places, is_inside};
use super::tree::Place;
use super::trust::Item;
use ostler_guard::definitions::{Wanted, files};
use ostler_host::Border;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Of a project, the more important first.
pub const PROJECT: [(&str, Wanted); 5] = [
    (".ostler/agents", Wanted::Roles),
    (".claude/agents", Wanted::Roles),
    (".ostler/skills", Wanted::Skills),
    (".claude/skills", Wanted::Skills),
    (".agents/skills", Wanted::Skills),
];
/// Bytes of one file.
const MAX_BYTES: u64 = 256 << 10;

/// One role: who it is, what answers, and what it may do. Names of built-in roles change those.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RoleConfig {
    /// "ostler/provider/model". Unset: that of the session.
    pub model: Option<String>,
    /// Who it is; what is not set stays as it comes.
    pub personas: PersonaConfig,
    /// What it may do; what is not set stays as it comes.
    pub capabilities: CapabilitiesConfig,
    /// false: it cannot be used.
    pub enabled: Option<bool>,
    /// How long one piece of work may take; 0 means without limit. Unset: 600.
    pub timeout_secs: Option<u64>,
}

/// Who a role is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PersonaConfig {
    /// What it is for, in a line that the model reads.
    pub description: Option<String>,
    /// Added to its system prompt.
    pub prompt: Option<String>,
}

/// What a role may do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CapabilitiesConfig {
    /// "read-write", or "read-only" for one that can change nothing.
    pub filesystem: Option<Filesystem>,
    /// Whether it may run commands.
    pub shell: Option<bool>,
    /// Whether it may reach the network.
    pub network: Option<bool>,
    /// Only these tools.
    pub tools: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Filesystem {
    ReadWrite,
    ReadOnly,
}

/// Where skills come from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SkillsConfig {
    /// Further folders of skills.
    pub paths: Vec<String>,
    /// Folders that are not looked into.
    pub excluded_paths: Vec<String>,
    /// Skills that nobody wants, by name.
    pub disabled_skills: Vec<String>,
}

/// What a project brings of roles and skills: each file is one thing to trust, with its content.
pub fn items(places: &Places) -> Vec<Item> {
    let mut out = Vec::new();
    for (folder, wanted) in PROJECT {
        for file in files(&places.root.join(folder), wanted).0 {
            let (name, place) = named(&file, places);
            let text = match is_inside(&file, &places.root) {
                true => read(&file),
                false => Err("outside".into()),
            };
            out.push(match text {
                Ok(text) => Item::of_file(name, place, &text),
                Err(why) => Item::new(name, place, why.as_str(), &why),
            });
        }
    }
    out
}

/// The text of a file. An error is part of what is trusted, so it does not depend on the language of the reader.
pub fn read(file: &Path) -> Result<String, String> {
    let read = ostler_host::read_bounded(file, MAX_BYTES, &Border::none());
    let read = read.map_err(|error| error.to_string())?;
    if read.truncated {
        return Err(format!("larger than {MAX_BYTES} bytes"));
    }
    String::from_utf8(read.bytes.into()).map_err(|error| error.to_string())
}

/// What a file is called wherever one stands, and where it is from here.
pub fn named(file: &Path, places: &Places) -> (String, Place) {
    let inner = file.strip_prefix(&places.root).unwrap_or(file);
    let place = Place {
        name: places.shown(file),
        position: None,
    };
    (inner.display().to_string(), place)
}

/// Folders of skills in the project that the settings name. One that holds the project protects nothing.
pub fn named_skill_folders(loaded: &Loaded, places: &Places) -> Vec<PathBuf> {
    let root = &places.root;
    let paths = loaded.config.skills.paths.iter().map(PathBuf::from);
    paths
        .filter(|path| is_inside(path, root) && !is_inside(root, path))
        .collect()
}
