//! From a role to what is run: the agent, its model with its options, what it may do, how long, and who takes over.

use crate::setup::catalogue::{self, ANY_ACP, AgentRow, OWN};
use crate::setup::{Adapter, Allowance, Capabilities, Options, Persona, Reference, Role, Setup};
use std::time::Duration;

/// What a call has that says nothing else.
pub const DEFAULT_TIMEOUT_SECS: u64 = 600;
/// Longer is as good as for ever.
const LONGEST_SECS: u64 = 30 * 24 * 60 * 60;

/// One agent with one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub reference: Reference,
    pub agent: Agent,
    pub options: Options,
    pub capabilities: Capabilities,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Agent {
    /// Of the catalogue, maybe with another command line.
    Known {
        row: &'static AgentRow,
        adapter: Option<Box<Adapter>>,
    },
    /// A command that speaks the Agent Client Protocol.
    Command(Vec<String>),
    /// Ours.
    Own,
}

/// What a role comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    pub target: Target,
    pub persona: Option<Persona>,
    pub timeout: Duration,
    pub fallback: Option<Takeover>,
    /// What the person should know beforehand.
    pub warnings: Vec<String>,
}

/// Another target, for errors that hold one of the patterns.
#[derive(Clone, Debug, PartialEq)]
pub struct Takeover {
    pub target: Target,
    pub patterns: Vec<String>,
}

/// Resolves a role. The error is a sentence for the caller.
pub fn resolve(
    setup: &Setup,
    role_id: &str,
    timeout_secs: Option<u64>,
) -> Result<Resolved, String> {
    let role = setup
        .roles
        .get(role_id)
        .ok_or_else(|| unknown_role(setup, role_id))?;
    if !role.enabled {
        return Err(format!(
            "the role `{role_id}` is disabled (`enabled = false`)"
        ));
    }
    let named = |why: String| format!("the role `{role_id}` cannot be used: {why}");
    let target = target(setup, &role.model, &role.capabilities).map_err(named)?;
    target.check_filesystem().map_err(named)?;
    let backend = setup.backend.get(&target.reference.backend);
    let secs = timeout_secs
        .or(role.timeout_secs)
        .or(backend.and_then(|backend| backend.timeout_secs))
        .unwrap_or(DEFAULT_TIMEOUT_SECS);
    let mut warnings = target.warnings();
    let fallback = backend.and_then(|backend| backend.fallback.as_ref());
    let fallback = fallback.and_then(|fallback| {
        let found = self::target(setup, &fallback.model, &role.capabilities);
        let found = found.and_then(|target| target.check_filesystem().map(|()| target));
        match found {
            Ok(target) => Some(Takeover {
                target,
                patterns: fallback.patterns.clone(),
            }),
            Err(why) => {
                warnings.push(format!(
                    "the fallback `{}` is left out: {why}",
                    fallback.model
                ));
                None
            }
        }
    });
    Ok(Resolved {
        target,
        persona: persona(role_id, role),
        timeout: Duration::from_secs(secs.clamp(1, LONGEST_SECS)),
        fallback,
        warnings,
    })
}

fn unknown_role(setup: &Setup, role_id: &str) -> String {
    let roles: Vec<&str> = setup.roles.keys().map(String::as_str).collect();
    match roles.is_empty() {
        true => format!("there is no role `{role_id}`: no roles are configured"),
        false => format!("there is no role `{role_id}` (roles: {})", roles.join(", ")),
    }
}

/// The persona of the configuration, else the built-in one of that name, else none.
pub fn persona(role_id: &str, role: &Role) -> Option<Persona> {
    let built_in = || catalogue::persona(role_id).cloned();
    role.personas.clone().or_else(built_in)
}

fn target(setup: &Setup, model: &str, capabilities: &Capabilities) -> Result<Target, String> {
    let reference = Reference::parse(model).map_err(|problem| problem.to_string())?;
    let backend = setup.backend.get(&reference.backend);
    let agent = agent(
        &reference,
        backend.and_then(|backend| backend.adapter.as_ref()),
    )?;
    let entry = backend.and_then(|backend| {
        let whole = reference
            .variant
            .as_ref()
            .map(|v| format!("{}@{v}", reference.model));
        let whole = whole.and_then(|id| backend.models.get_key_value(&id));
        whole.or_else(|| backend.models.get_key_value(&reference.model))
    });
    let Some((id, entry)) = entry else {
        if !reference.needs_no_entry() && matches!(agent, Agent::Known { .. }) {
            let (model, backend) = (&reference.model, &reference.backend);
            return Err(format!(
                "`{model}` is no model of `backend.{backend}.models` (add it there, or use `{backend}/default`)"
            ));
        }
        return Ok(Target {
            reference,
            agent,
            options: Options::new(),
            capabilities: capabilities.clone(),
        });
    };
    let mut options = entry.options.clone();
    // A model may itself have an `@` in its name.
    let variant = reference
        .variant
        .as_ref()
        .filter(|_| *id == reference.model);
    if let Some(name) = variant {
        let variant = entry.variants.get(name);
        let names: Vec<&str> = entry.variants.keys().map(String::as_str).collect();
        let over = variant.ok_or_else(|| {
            format!(
                "`{id}` has no variant `{name}` (variants: {})",
                names.join(", ")
            )
        })?;
        options.extend(over.clone());
    }
    Ok(Target {
        agent,
        options,
        capabilities: capabilities.clone(),
        reference: Reference {
            model: id.clone(),
            variant: variant.cloned(),
            ..reference
        },
    })
}

fn agent(reference: &Reference, adapter: Option<&Adapter>) -> Result<Agent, String> {
    if reference.backend == OWN {
        return Ok(Agent::Own);
    }
    if let Some(command) = reference.backend.strip_prefix(ANY_ACP) {
        return split_words(command).map(Agent::Command);
    }
    let row = catalogue::agent(&reference.backend).ok_or_else(|| {
        format!(
            "`{}` is no agent that is known here (known: {})",
            reference.backend,
            catalogue::known()
        )
    })?;
    Ok(Agent::Known {
        row,
        adapter: adapter.cloned().map(Box::new),
    })
}

/// Words as a shell takes them: single and double quotes and backslashes hold a word together.
pub fn split_words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (Some(_) | None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(format!("a quote is not closed in `{command}`"));
    }
    words.extend(word);
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        Some(_) | None => Err(format!("`{ANY_ACP}{command}` names no command")),
    }
}

impl Target {
    pub fn backend(&self) -> &str {
        &self.reference.backend
    }

    /// How the prompt gets there and the output is read, where there is a command line.
    pub fn adapter(&self) -> Option<&Adapter> {
        match &self.agent {
            Agent::Known { row, adapter } => Some(adapter.as_deref().unwrap_or(&row.adapter)),
            Agent::Command(_) | Agent::Own => None,
        }
    }

    /// The protocol is spoken where the agent knows it, its command line was not replaced, and it can be told all options.
    pub fn speaks_acp(&self) -> bool {
        match &self.agent {
            Agent::Known { row, adapter: None } => row.acp.as_ref().is_some_and(|acp| {
                self.options
                    .keys()
                    .all(|name| acp.options.contains_key(name))
            }),
            Agent::Known {
                adapter: Some(_), ..
            }
            | Agent::Own => false,
            Agent::Command(_) => true,
        }
    }

    fn check_filesystem(&self) -> Result<(), String> {
        let wanted = self.capabilities.filesystem;
        let can = self
            .adapter()
            .and_then(|adapter| adapter.filesystem_capabilities.as_ref());
        match can {
            Some(can) if !self.speaks_acp() && !can.contains(&wanted) => Err(format!(
                "`{}` does not support the file system capability `{}`",
                self.backend(),
                wanted.name()
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// What of the capabilities the agent cannot do without by itself.
    fn warnings(&self) -> Vec<String> {
        let Agent::Known { row, adapter } = &self.agent else {
            return Vec::new();
        };
        let in_template = |name: &str| {
            let tokens = adapter.iter().flat_map(|adapter| &adapter.args_template);
            let part = format!("capabilities.{name}");
            tokens.into_iter().any(|token| token.contains(&part))
        };
        let can = |name: &str| match adapter {
            Some(_) => in_template(name),
            None => row.denies.iter().any(|denied| denied == name),
        };
        let caps = &self.capabilities;
        let limits = [
            ("shell", caps.shell == Allowance::Deny && !self.speaks_acp()),
            (
                "network",
                caps.network == Allowance::Deny && !self.speaks_acp(),
            ),
            ("tools", !caps.tools.iter().any(|tool| tool == "*")),
        ];
        let missing = limits
            .into_iter()
            .filter(|(name, wanted)| *wanted && !can(name));
        missing
            .map(|(name, _)| {
                let backend = self.backend();
                format!(
                    "`{backend}` cannot be told the limits of `{name}`: only the sandbox holds them"
                )
            })
            .collect()
    }
}
