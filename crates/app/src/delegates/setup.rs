//! The configuration of backends and a role as crate `delegate` takes them.

use ostler_config::backends::{Reference, parse_reference};
use ostler_config::schema::{
    AdapterConfig, BackendConfig, BackendModelConfig, Config, Filesystem as ConfigFilesystem,
    OutputParserConfig, OutputParserKind, Pick as ConfigPick, PromptTransport as ConfigTransport,
};
use ostler_config::units::Scalar;
use ostler_delegate::services::{LoadedSetup, SetupSource};
use ostler_delegate::setup::{
    Adapter, Allowance, Backend, Capabilities, Fallback, Filesystem, Model, OptionValue, Options,
    OutputParser, PROMPT_MAX_CHARS, Persona, Pick, PromptTransport, Role, Setup, SetupError,
    catalogue,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The backends of the configuration.
pub struct Backends(BTreeMap<String, Backend>);

impl Backends {
    pub fn new(config: &Config) -> Self {
        let one = |(name, backend): (&String, &BackendConfig)| (name.clone(), of(name, backend));
        Self(config.backend.iter().map(one).collect())
    }

    /// These without a role.
    pub fn alone(&self) -> Setup {
        Setup {
            backend: self.0.clone(),
            ..Setup::default()
        }
    }

    /// These, and the one role that a task is for.
    pub fn with_role(&self, role: &ostler_engine::roles::Role) -> Setup {
        self.with_roles([role])
    }

    /// These, and roles by their names.
    pub fn with_roles<'a>(
        &self,
        roles: impl IntoIterator<Item = &'a ostler_engine::roles::Role>,
    ) -> Setup {
        let mut setup = Setup {
            backend: self.0.clone(),
            roles: BTreeMap::new(),
        };
        for role in roles {
            let converted = role_of(role);
            if let Reference::Of { backend: name, .. } = parse_reference(&converted.model) {
                setup.backend.entry(name.to_owned()).or_default();
            }
            setup.roles.insert(role.name.clone(), converted);
        }
        setup
    }
}

fn role_of(role: &ostler_engine::roles::Role) -> Role {
    let caps = &role.capabilities;
    let allowance = |allowed: bool| match allowed {
        true => Allowance::Allow,
        false => Allowance::Deny,
    };
    let capabilities = Capabilities {
        filesystem: match caps.read_only {
            true => Filesystem::ReadOnly,
            false => Filesystem::ReadWrite,
        },
        shell: allowance(caps.shell),
        network: allowance(caps.network),
        tools: match caps.tools.is_empty() {
            true => vec!["*".to_owned()],
            false => caps.tools.clone(),
        },
    };
    let persona = Persona {
        description: role.description.clone(),
        prompt: role.persona.clone(),
    };
    Role {
        model: role.model.clone().unwrap_or_default(),
        personas: Some(persona).filter(|persona| !persona.prompt.trim().is_empty()),
        capabilities,
        enabled: role.enabled,
        timeout_secs: role.timeout.map(|limit| limit.as_secs()),
    }
}

/// Whether roles are played by other agents here.
pub fn is_configured(config: &Config) -> bool {
    let is_foreign = |model: &str| super::agent_of(model).is_some();
    let mut models = config
        .roles
        .values()
        .filter_map(|role| role.model.as_deref());
    !config.backend.is_empty() || models.any(is_foreign)
}

/// The same for every folder and client: layers were merged before.
pub struct Fixed {
    pub setup: Setup,
    /// The files that it is from.
    pub sources: Vec<PathBuf>,
}

impl SetupSource for Fixed {
    fn load(&self, _: &Path, _: Option<&str>) -> Result<LoadedSetup, SetupError> {
        Ok(LoadedSetup {
            setup: self.setup.clone(),
            sources: self.sources.clone(),
        })
    }
}

fn of(name: &str, config: &BackendConfig) -> Backend {
    let model = |(id, model): (&String, &BackendModelConfig)| {
        let variants = model.variants.iter();
        let variants = variants.map(|(name, values)| (name.clone(), options(values)));
        let model = Model {
            options: options(&model.options),
            variants: variants.collect(),
        };
        (id.clone(), model)
    };
    Backend {
        models: config.models.iter().map(model).collect(),
        timeout_secs: config.timeout_secs,
        fallback: config.fallback.as_ref().map(|fallback| Fallback {
            model: fallback.model.clone(),
            patterns: fallback.patterns.clone(),
        }),
        adapter: adapter(name, &config.adapter),
    }
}

fn options(values: &BTreeMap<String, Scalar>) -> Options {
    let value = |value: &Scalar| match value {
        Scalar::Flag(flag) => OptionValue::Bool(*flag),
        Scalar::Integer(number) => OptionValue::Number((*number).into()),
        Scalar::Number(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => OptionValue::Number(number),
            None => OptionValue::Text(number.to_string()),
        },
        Scalar::Text(text) => OptionValue::Text(text.clone()),
    };
    let one = |(name, known): (&String, &Scalar)| (name.clone(), value(known));
    values.iter().map(one).collect()
}

/// What the configuration says, over what the catalogue has; nothing where it says nothing.
fn adapter(name: &str, config: &AdapterConfig) -> Option<Adapter> {
    if *config == AdapterConfig::default() {
        return None;
    }
    let mut adapter = catalogue::agent(name)?.adapter.clone();
    if let Some(args) = &config.args_template {
        adapter.args_template.clone_from(args);
    }
    if let Some(parser) = config.output_parser.as_ref().and_then(parser) {
        adapter.output_parser = parser;
    }
    if let Some(capabilities) = &config.filesystem_capabilities {
        let all = capabilities.iter().map(|one| match one {
            ConfigFilesystem::ReadOnly => Filesystem::ReadOnly,
            ConfigFilesystem::ReadWrite => Filesystem::ReadWrite,
        });
        adapter.filesystem_capabilities = Some(all.collect());
    }
    if let Some(transport) = config.prompt_transport {
        adapter.prompt_transport = match transport {
            ConfigTransport::Arg => PromptTransport::Arg,
            ConfigTransport::Stdin => PromptTransport::Stdin,
            ConfigTransport::Auto => PromptTransport::Auto,
        };
    }
    let most = config.prompt_max_chars.map(usize::try_from);
    if let Some(most) = most {
        adapter.prompt_max_chars = most.unwrap_or(PROMPT_MAX_CHARS);
    }
    Some(adapter)
}

/// A parser that lacks something was an error of the configuration.
fn parser(config: &OutputParserConfig) -> Option<OutputParser> {
    Some(match config.kind {
        OutputParserKind::JsonStream => OutputParser::JsonStream {
            session_id_path: config.session_id_path.clone()?,
            message_path: config.message_path.clone()?,
            pick: match config.pick {
                Some(ConfigPick::First) => Pick::First,
                Some(ConfigPick::Last) | None => Pick::Last,
            },
            fallback: config.fallback.clone(),
        },
        OutputParserKind::JsonObject => OutputParser::JsonObject {
            message_path: config.message_path.clone()?,
            session_id_path: config.session_id_path.clone(),
        },
        OutputParserKind::Regex => OutputParser::Regex {
            session_id_pattern: config.session_id_pattern.clone()?,
            message_capture_group: usize::try_from(config.message_capture_group?).ok()?,
        },
        OutputParserKind::Text => OutputParser::Text,
    })
}
