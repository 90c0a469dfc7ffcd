//! Roles, skills and sub-agents as the engine takes them, and every folder that they are read from.

use ostler_config::agents::{Filesystem, PROJECT, RoleConfig, named, read};
use ostler_config::layers::Loaded;
use ostler_config::paths::Places;
use ostler_config::schema::SubagentAsks;
use ostler_config::trust::Item;
use ostler_engine::agents::{AgentSettings, PlannerSettings};
use ostler_engine::roles::RoleSettings;
use ostler_engine::skills::SkillSettings;
use ostler_engine::sources::{Owner, Source, Vouched, Wanted, files, hash};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Of the person, below their home.
const PERSON: [(&str, Wanted); 3] = [
    (".claude/agents", Wanted::Roles),
    (".claude/skills", Wanted::Skills),
    (".agents/skills", Wanted::Skills),
];
/// Children at once, whatever is configured.
const MOST_CHILDREN: u64 = 64;
const MOST_DEPTH: u64 = 8;

fn role(config: &RoleConfig) -> RoleSettings {
    let (persona, caps) = (config.personas.clone(), config.capabilities.clone());
    RoleSettings {
        model: config.model.clone(),
        description: persona.description,
        prompt: persona.prompt,
        read_only: caps.filesystem.map(|fs| fs == Filesystem::ReadOnly),
        shell: caps.shell.map(|allowance| allowance.0),
        network: caps.network.map(|allowance| allowance.0),
        tools: caps.tools.map(without_wildcard),
        enabled: config.enabled,
        timeout_secs: config.timeout_secs,
    }
}

/// "*" is every tool, which is what an empty list says.
fn without_wildcard(tools: Vec<String>) -> Vec<String> {
    match tools.iter().any(|tool| tool == "*") {
        true => Vec::new(),
        false => tools,
    }
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
            for file in files(&places.root.join(folder), wanted).0 {
                let Ok(Some(text)) = read(&file) else {
                    continue;
                };
                let hash = hash(&text);
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
        auto_plan: agent.auto_plan,
        foreign: None,
        in_place: None,
        planner: planner
            .filter(|model| !model.is_empty())
            .map(|model| PlannerSettings {
                model,
                max_steps: agent.planner_max_steps,
            }),
    }
}

#[cfg(test)]
mod tests {
    /// The configuration refuses the key that the files of roles refuse.
    #[test]
    fn roles_refuse_the_same_key_wherever_they_are_written() {
        assert_eq!(
            ostler_config::check::FALLBACKS,
            ostler_engine::roles::FALLBACKS
        );
    }
}
