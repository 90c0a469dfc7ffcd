//! `[roles.*]` and `[skills]`: who may work for a session and what they can be told, as it is written and as the engine
//! wants it, and the folders that the rest of it lies in.

use super::layers::Loaded;
use super::paths::{Places, is_inside};
use super::schema::SubagentAsks;
use super::tree::Place;
use super::trust::Item;
use ostler_engine::agents::{AgentSettings, PlannerSettings};
use ostler_engine::roles::RoleSettings;
use ostler_engine::skills::SkillSettings;
use ostler_engine::sources::{self, Owner, Source, Vouched, Wanted};
use ostler_wire::Language;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Of a project, the more important first.
pub const PROJECT: [(&str, Wanted); 5] = [
    (".ostler/agents", Wanted::Roles),
    (".claude/agents", Wanted::Roles),
    (".ostler/skills", Wanted::Skills),
    (".claude/skills", Wanted::Skills),
    (".agents/skills", Wanted::Skills),
];
/// Of the person, below their home.
const PERSON: [(&str, Wanted); 3] = [
    (".claude/agents", Wanted::Roles),
    (".claude/skills", Wanted::Skills),
    (".agents/skills", Wanted::Skills),
];
/// Children at once, whatever is configured.
const MOST_CHILDREN: u64 = 64;
const MOST_DEPTH: u64 = 8;

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

fn role(config: &RoleConfig) -> RoleSettings {
    let (persona, caps) = (config.personas.clone(), config.capabilities.clone());
    RoleSettings {
        model: config.model.clone(),
        description: persona.description,
        prompt: persona.prompt,
        read_only: caps.filesystem.map(|fs| fs == Filesystem::ReadOnly),
        shell: caps.shell,
        network: caps.network,
        tools: caps.tools,
        enabled: config.enabled,
        timeout_secs: config.timeout_secs,
    }
}

/// What a project brings of roles and skills: each file is one thing to trust, with its content.
pub fn items(places: &Places) -> Vec<Item> {
    let mut out = Vec::new();
    for (folder, wanted) in PROJECT {
        for file in sources::files(&places.root.join(folder), wanted).0 {
            let (name, place) = named(&file, places);
            let text = match is_inside(&file, &places.root) {
                // Part of what is trusted, so it must not depend on who reads it.
                true => sources::text(&file, Language::English),
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

/// What a file is called wherever one stands, and where it is from here.
fn named(file: &Path, places: &Places) -> (String, Place) {
    let inner = file.strip_prefix(&places.root).unwrap_or(file);
    let place = Place {
        name: places.shown(file),
        position: None,
    };
    (inner.display().to_string(), place)
}

/// The files of a project that somebody looked at, by their content.
fn vouched(loaded: &Loaded, places: &Places) -> Vouched {
    let mut known = BTreeSet::new();
    if loaded.workspace.is_trusted() {
        let trusted: BTreeSet<&str> = loaded
            .workspace
            .items
            .iter()
            .map(|i| i.hash.as_str())
            .collect();
        for (folder, wanted) in PROJECT {
            for file in sources::files(&places.root.join(folder), wanted).0 {
                let Ok(text) = sources::text(&file, Language::English) else {
                    continue;
                };
                let hash = sources::hash(&text);
                let (name, place) = named(&file, places);
                // It may have changed since the start.
                if trusted.contains(Item::of_file(name, place, &text).hash.as_str()) {
                    known.insert(hash);
                }
            }
        }
    }
    Vouched::These(Arc::new(known))
}

/// Folders of skills in the project that the settings name. One that holds the project protects nothing.
pub fn named_skill_folders(loaded: &Loaded, places: &Places) -> Vec<PathBuf> {
    let root = &places.root;
    let paths = loaded.config.skills.paths.iter().map(PathBuf::from);
    paths
        .filter(|path| is_inside(path, root) && !is_inside(root, path))
        .collect()
}

/// Every folder that roles or skills are read from, the more important first.
fn folders(loaded: &Loaded, places: &Places, kind: Wanted) -> Vec<Source> {
    let config = &loaded.config.skills;
    let vouched = vouched(loaded, places);
    let mut out: Vec<Source> = Vec::new();
    let person = |path: PathBuf| Source {
        path,
        owner: Owner::Person,
    };
    for (folder, wanted) in PROJECT {
        if wanted == kind {
            out.push(Source {
                path: places.root.join(folder),
                owner: Owner::Project {
                    root: places.root.clone(),
                    vouched: vouched.clone(),
                },
            });
        }
    }
    let own = match kind {
        Wanted::Roles => "agents",
        Wanted::Skills => "skills",
    };
    out.push(person(places.home.join(own)));
    if let Some(home) = &places.user_home {
        let theirs = PERSON.iter().filter(|(_, wanted)| *wanted == kind);
        out.extend(theirs.map(|(folder, _)| person(home.join(folder))));
    }
    if kind == Wanted::Skills {
        out.extend(config.paths.iter().map(|path| person(path.into())));
    }
    let excluded = |path: &Path| config.excluded_paths.iter().any(|e| path.starts_with(e));
    // A root that is the person's home has the same folders twice; then they are a project's.
    let mut seen: Vec<PathBuf> = Vec::new();
    out.retain(|source| {
        let fresh = !seen.contains(&source.path) && !excluded(&source.path);
        seen.push(source.path.clone());
        fresh
    });
    out
}

pub fn settings(loaded: &Loaded, places: &Places) -> AgentSettings {
    let agent = &loaded.config.agent;
    let planner = agent.planner_model.clone();
    AgentSettings {
        roles: loaded
            .config
            .roles
            .iter()
            .map(|(name, config)| (name.clone(), role(config)))
            .collect(),
        role_sources: folders(loaded, places, Wanted::Roles),
        skills: SkillSettings {
            sources: folders(loaded, places, Wanted::Skills),
            disabled: loaded.config.skills.disabled_skills.clone(),
        },
        max_depth: u32::try_from(agent.max_depth.min(MOST_DEPTH)).unwrap_or_default(),
        max_children: usize::try_from(agent.max_children.clamp(1, MOST_CHILDREN)).unwrap_or(1),
        model: agent.subagent_model.clone(),
        models: agent.subagent_models.clone(),
        attended: match loaded.config.permissions.subagent {
            SubagentAsks::Inherit => true,
            SubagentAsks::Headless => false,
        },
        planner: planner
            .filter(|model| !model.is_empty())
            .map(|model| PlannerSettings {
                model,
                max_steps: agent.planner_max_steps,
            }),
    }
}
