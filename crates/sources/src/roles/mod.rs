//! Roles: a persona, a model and what it may do. Sub-agents, skills and the planner play one. They come with us, from
//! Markdown files of people and projects, and from the configuration, which has the last word.

use crate::front::{self, Front};
use crate::{Reader, Source, Wanted};
use ostler_tools::builtin::declarations;
use ostler_wire::{Language, ToolDeclaration, ToolKind, ToolMark, Word};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How long one may take where nobody says otherwise.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Of one description in the prompt.
const MAX_DESCRIPTION: usize = 120;
/// Roles that are named in the prompt.
const MAX_LISTED: usize = 30;

const BUILT_IN: [(&str, &str); 8] = [
    ("builder", include_str!("builder.md")),
    ("critic", include_str!("critic.md")),
    ("explore", include_str!("explore.md")),
    ("oracle", include_str!("oracle.md")),
    (PLANNER, include_str!("planner.md")),
    ("researcher", include_str!("researcher.md")),
    ("reviewer", include_str!("reviewer.md")),
    ("sprinter", include_str!("sprinter.md")),
];

/// The names of ours.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Who plays when nobody is named, with leave to write and without.
pub use ostler_tools::builtin::read_only_task::READER;
pub use ostler_tools::builtin::task::WRITER;
/// A key that no role may have, lest somebody relies on models that never step in.
pub const FALLBACKS: &str = "fallback_models";
/// Makes plans for another model. It is no one's sub-agent.
pub const PLANNER: &str = "planner";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub name: String,
    pub description: String,
    /// What is added to the system prompt.
    pub persona: String,
    /// As it was written; none is that of the session.
    pub model: Option<String>,
    pub capabilities: Capabilities,
    pub enabled: bool,
    /// How long one may take; none is the usual time.
    pub timeout: Option<Duration>,
    /// The other agent that plays it.
    pub agent: Option<Agent>,
    /// Where it was read, ready to show; empty for ours.
    pub from: String,
}

/// Another agent, as a role names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its program.
    pub backend: String,
    /// Its model; empty for the one that it has by itself.
    pub model: String,
}

impl Agent {
    /// For people.
    pub fn shown(&self) -> String {
        match self.model.as_str() {
            "" => self.backend.clone(),
            model => format!("{} {model}", self.backend),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub read_only: bool,
    pub shell: bool,
    pub network: bool,
    /// Only these, where there are any.
    pub tools: Vec<String>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            read_only: false,
            shell: true,
            network: true,
            tools: Vec::new(),
        }
    }
}

impl Capabilities {
    /// The tool filter of whoever has these, within what its parent may use.
    pub fn filter(&self, parent: &[String], admits: impl Fn(&str) -> bool) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let chosen = parent.iter().filter(|f| !f.starts_with('!'));
        match self.tools.is_empty() {
            true => out.extend(chosen.cloned()),
            false => {
                let names = self.tools.iter().map(|tool| bare(tool));
                out.extend(names.filter(|name| admits(name)).map(str::to_owned));
                // An empty name selects nothing, which is not the same as everything.
                if out.is_empty() {
                    out.push(String::new());
                }
            }
        }
        out.extend(parent.iter().filter(|f| f.starts_with('!')).cloned());
        let withheld = declarations().filter(|tool| self.withhold(tool));
        out.extend(withheld.map(|tool| format!("!{}", tool.name)));
        out
    }

    /// Whether a sub-agent with these capabilities goes without this tool.
    fn withhold(&self, tool: &ToolDeclaration) -> bool {
        tool.has(ToolMark::NotForChildren)
            || self.read_only && tool.is_withheld_from_readers()
            || !self.shell && tool.kind == ToolKind::Run
            || !self.network && tool.kind == ToolKind::Net
    }
}

/// `Bash(git:*)` speaks of `Bash`.
fn bare(tool: &str) -> &str {
    tool.split('(').next().unwrap_or(tool).trim()
}

/// What a configuration says of a role; only what is set counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleSettings {
    pub model: Option<String>,
    pub description: Option<String>,
    pub prompt: Option<String>,
    pub read_only: Option<bool>,
    pub shell: Option<bool>,
    pub network: Option<bool>,
    pub tools: Option<Vec<String>>,
    pub enabled: Option<bool>,
    pub timeout_secs: Option<u64>,
}

/// The roles of a session, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles(pub Vec<Role>);

impl Roles {
    /// What files and configuration say, and what is wrong with them. Of files, the earlier folder wins.
    pub fn load(
        sources: &[Source],
        configured: &BTreeMap<String, RoleSettings>,
        reader: &Reader,
    ) -> (Self, Vec<String>) {
        let language = reader.language;
        let (mut roles, mut notices) = (BTreeMap::<String, Role>::new(), Vec::new());
        for Source { path, owner } in sources {
            for file in crate::files(path, Wanted::Roles).0 {
                let role = match crate::read(&file, owner, reader) {
                    Ok(Some(text)) => of_file(&text, &file, language),
                    Ok(None) => continue,
                    Err(why) => Err(why),
                };
                match role {
                    Ok(role) => {
                        roles.entry(role.name.clone()).or_insert(role);
                    }
                    Err(why) => {
                        let file = file.display().to_string();
                        notices.push(language.fill(Word::RoleLeft, &[&file, &why]));
                    }
                }
            }
        }
        for (name, text) in BUILT_IN {
            if let Ok((front, body)) = front::read(text, language) {
                let role = parse(name.into(), &front, body, String::new());
                roles.entry(name.into()).or_insert(role);
            }
        }
        for (name, settings) in configured {
            let role = roles.remove(name).unwrap_or_else(|| Role::bare(name));
            roles.insert(name.clone(), role.under(settings));
        }
        (Self(roles.into_values().collect()), notices)
    }

    /// Notes which of them other agents play. `agent_of` knows that by a role's model.
    pub fn note_agents(&mut self, agent_of: impl Fn(&str) -> Option<Agent>) {
        for role in &mut self.0 {
            role.agent = role.model.as_deref().and_then(&agent_of);
        }
    }

    pub fn find(&self, name: &str) -> Option<&Role> {
        let name = name.trim();
        let exact = self.0.iter().find(|role| role.name == name);
        exact.or_else(|| {
            let mut roles = self.0.iter();
            roles.find(|role| role.name.eq_ignore_ascii_case(name))
        })
    }

    /// Those that a call can name.
    pub fn offered(&self) -> impl Iterator<Item = &Role> {
        let offered = |role: &&Role| role.enabled && role.name != PLANNER;
        self.0.iter().filter(offered)
    }

    /// One line each, for the prompt.
    pub fn listing(&self) -> String {
        let mut out = String::new();
        for role in self.offered().take(MAX_LISTED) {
            let about = role.description.split_whitespace();
            let about = about.collect::<Vec<_>>().join(" ");
            let about: String = about.chars().take(MAX_DESCRIPTION).collect();
            out.push_str(format!("- {}: {about}", role.name).trim_end_matches([':', ' ']));
            if let Some(agent) = &role.agent {
                out.push_str(&format!(" (by {})", agent.shown()));
            }
            out.push('\n');
        }
        out
    }
}

impl Role {
    /// One that nobody described.
    fn bare(name: &str) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            persona: String::new(),
            model: None,
            capabilities: Capabilities::default(),
            enabled: true,
            timeout: None,
            agent: None,
            from: String::new(),
        }
    }

    fn under(mut self, settings: &RoleSettings) -> Self {
        let own = settings.clone();
        self.model = own.model.or(self.model);
        self.description = own.description.unwrap_or(self.description);
        self.persona = own.prompt.unwrap_or(self.persona);
        let caps = &mut self.capabilities;
        caps.read_only = own.read_only.unwrap_or(caps.read_only);
        caps.shell = own.shell.unwrap_or(caps.shell);
        caps.network = own.network.unwrap_or(caps.network);
        caps.tools = own.tools.unwrap_or(std::mem::take(&mut caps.tools));
        self.enabled = own.enabled.unwrap_or(self.enabled);
        self.timeout = own.timeout_secs.map(Duration::from_secs).or(self.timeout);
        self
    }

    pub fn time_limit(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT)
    }

    /// The model as this program knows it: a role may name it as one of ours among other programs.
    pub fn own_model(&self) -> Option<&str> {
        let model = self.model.as_deref()?;
        Some(model.strip_prefix("ostler/").unwrap_or(model)).filter(|m| *m != "default")
    }
}

fn of_file(text: &str, file: &Path, language: Language) -> Result<Role, String> {
    let (front, body) = front::read(text, language)?;
    let called = file.file_stem().map(|s| s.to_string_lossy().into_owned());
    let name = front.text("name").or(called).unwrap_or_default();
    let fine = |c: char| c.is_alphanumeric() || "-_:.".contains(c);
    if name.is_empty() || !name.chars().all(fine) {
        return Err(language.say(Word::TemplateName).into());
    }
    if body.is_empty() {
        return Err(language.say(Word::TemplateEmpty).into());
    }
    if front.text(FALLBACKS).is_some() {
        return Err(language.say(Word::RoleFallbacks).into());
    }
    Ok(parse(name, &front, body, file.display().to_string()))
}

fn parse(name: String, front: &Front, body: &str, from: String) -> Role {
    let reads = front.text("filesystem").as_deref() == Some("read-only")
        || front.text("permissionMode").as_deref() == Some("plan");
    let seconds = front.text("timeout_secs").and_then(|s| s.parse().ok());
    Role {
        description: front.text("description").unwrap_or_default(),
        persona: body.to_owned(),
        model: front.text("model").filter(|model| model != "inherit"),
        capabilities: Capabilities {
            read_only: reads,
            shell: front.flag("shell").unwrap_or(true),
            network: front.flag("network").unwrap_or(true),
            tools: front.list("tools"),
        },
        timeout: seconds.map(Duration::from_secs),
        from,
        ..Role::bare(&name)
    }
}

#[cfg(test)]
mod tests;
