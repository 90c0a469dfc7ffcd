//! The configuration as the engine takes it: one struct for each of its parts. Commands that an application adds to a
//! session are added where the session is opened.

pub mod plugins;

use crate::boot::{Boot, agents};
use crate::delegates::{self, Delegates};
use crate::flags::PermissionMode;
use crate::grants::granted;
use crate::policy::{policy, prompt_file};
use crate::sandbox;
use crate::trust::rules;
use crate::trust::watch::Watch;
use anyhow::{Context as _, anyhow};
use ostler_config::context::{ContextConfig, ContextStrategy};
use ostler_config::schema;
use ostler_config::text::Speak as _;
use ostler_engine::agents::AgentSettings;
use ostler_engine::agents::foreign::Foreign;
use ostler_engine::checkpoint::Limits;
use ostler_engine::confine::SandboxSettings;
use ostler_engine::hooks::Hook;
use ostler_engine::tool::ToolSettings;
use ostler_engine::window::{ContextSettings, Strategy};
use ostler_engine::{
    CommandSources, HubSettings, ModelSettings, Paths, PermissionSettings, RunSettings, ToolSources,
};
use ostler_engine::{RuleStore, TemplateFolder, Voice};
use ostler_guard::{Headless, Policy};
use ostler_llm::{Effort, Params, Secret, Transport, TransportOptions};
use ostler_wire::{Why, Word};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const DEFAULT_SEARCH: &str = include_str!("search_endpoint.txt");

/// Everything the engine needs. `interactive`: somebody can answer asks.
pub fn options(boot: &Arc<Boot>, interactive: bool) -> anyhow::Result<HubSettings> {
    let config = &boot.loaded.config;
    boot.redactor
        .learn(boot.secrets().iter().map(Secret::reveal));
    crate::servers::hide_tokens(boot);
    let hidden = boot.key_variables();
    let (tools, sandbox) = tool_settings(boot, &hidden)?;
    // From here on the keys are in our own memory only, where no command can look.
    ostler_host::hide(hidden.iter().map(String::as_str));
    Ok(HubSettings {
        paths: Paths {
            home: boot.places.home.clone(),
            user_home: boot.places.user_home.clone(),
            root: boot.places.root.clone(),
            project: boot.places.root.clone(),
            temp: std::env::temp_dir(),
            sessions: boot.sessions_dir(),
        },
        run: RunSettings {
            version: crate::VERSION.into(),
            save: !boot.global.no_save,
            interactive,
            voice: Voice::Person,
            language: boot.language,
            max_steps: config.agent.max_steps,
            recall: config.agent.memory_compiler.enabled,
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            operator: operator(boot)?,
            redactor: boot.redactor.clone(),
        },
        model: model_settings(boot),
        context: context_settings(&config.context),
        checkpoints: checkpoints(boot),
        permissions: PermissionSettings {
            policy: policy_for(boot, interactive)?,
            watch: Some(Arc::new(Watch::new(boot))),
            rules: Some(rule_store(boot)),
            mode: boot.global.mode.map(mode),
            plan_tools: config.agent.plan_mode_allowed_tools.clone(),
        },
        hooks: wanted_hooks(boot)?,
        tools,
        toolbox: ToolSources {
            host: boot.host(),
            filter: tool_filter(boot),
            more: Vec::new(),
            sandbox,
            elsewhere: None,
            pane: None,
            terminal: None,
        },
        mcp: Arc::new(crate::servers::settings(boot)),
        agents: Arc::new(agent_settings(boot, &hidden)?),
        commands: CommandSources {
            templates: command_folders(boot),
            extras: Vec::new(),
            hub: None,
            places: None,
        },
    })
}

fn model_settings(boot: &Arc<Boot>) -> ModelSettings {
    let agent = &boot.loaded.config.agent;
    ModelSettings {
        wanted: boot.wanted_model(),
        models: boot.clone(),
        params: Params {
            temperature: agent.temperature,
            top_p: agent.top_p,
            max_tokens: agent.max_tokens,
            effort: agent.effort.map(effort),
            ..Params::default()
        },
        budget: boot.budget(),
    }
}

fn operator(boot: &Boot) -> anyhow::Result<Vec<String>> {
    let agent = &boot.loaded.config.agent;
    let mut lines = Vec::new();
    match (
        &boot.global.system_prompt,
        &agent.system_prompt_file,
        &agent.system_prompt,
    ) {
        (Some(text), _, _) | (None, None, Some(text)) => lines.push(text.trim().to_owned()),
        (None, Some(file), _) => {
            let text = prompt_file(boot, Path::new(file))
                .map_err(anyhow::Error::msg)
                .with_context(|| boot.language.filled(Word::BootPromptFile, &[&file]))?;
            lines.push(text.trim().to_owned());
        }
        (None, None, None) => {}
    }
    match agent.reasoning_language {
        schema::ReasoningLanguage::Auto => {}
        schema::ReasoningLanguage::Zh => lines.push("Think in Simplified Chinese.".into()),
        schema::ReasoningLanguage::En => lines.push("Think in English.".into()),
    }
    lines.retain(|line| !line.is_empty());
    Ok(lines)
}

fn wanted_hooks(boot: &Boot) -> anyhow::Result<Arc<[Hook]>> {
    match boot.hooks.faults.as_slice() {
        [] => Ok(boot.hooks.hooks.clone().into()),
        faults => Err(anyhow!(
            "{}",
            ostler_wire::printable(&Why::list(faults, "\n").say(boot.language))
        )),
    }
}

/// Whoever wants to be asked, and cannot be, gets a no.
pub(crate) fn policy_for(boot: &Boot, interactive: bool) -> anyhow::Result<Policy> {
    let mut policy = policy(boot)?;
    if !interactive && boot.global.permission_mode == Some(PermissionMode::Ask) {
        policy.headless = Headless::Deny;
    }
    Ok(policy)
}

fn agent_settings(boot: &Boot, hidden: &[String]) -> anyhow::Result<AgentSettings> {
    let backend = boot.global.backend.as_deref();
    let in_place = backend.map(|name| {
        let unknown = || anyhow!("{}", boot.language.filled(Word::ForeignUnknown, &[&name]));
        delegates::in_place(name).ok_or_else(unknown)
    });
    Ok(AgentSettings {
        foreign: Some(Foreign(Arc::new(Delegates::new(boot, hidden)))),
        in_place: in_place.transpose()?,
        ..agents::settings(&boot.loaded, &boot.places)
    })
}

pub(crate) fn tool_filter(boot: &Boot) -> Vec<String> {
    if !boot.global.allowed_tools.is_empty() {
        return boot.global.allowed_tools.clone();
    }
    let tools = &boot.loaded.config.tools;
    let switches = tools.switches.iter().map(|(name, on)| match on {
        // Whoever switches one on wants it in the list.
        true => format!("+{name}"),
        false => format!("!{name}"),
    });
    tools.enabled.iter().cloned().chain(switches).collect()
}

/// What tools may do, and the sandbox of the programs that they start.
pub(crate) fn tool_settings(
    boot: &Boot,
    hidden: &[String],
) -> anyhow::Result<(ToolSettings, SandboxSettings)> {
    let language = boot.language;
    let config = &boot.loaded.config;
    let tools = &config.tools;
    let sandbox = sandbox::wanted(boot)?;
    let mut writable = granted(boot);
    writable.extend(sandbox.temp.as_ref().map(|temp| temp.scratch.folder()));
    let settings = ToolSettings {
        shell: boot.shell(),
        env: boot.command_env(hidden),
        bash_timeout_seconds: tools.bash_timeout_seconds,
        bash_max_bytes: usize::try_from(tools.limits.bash_max_bytes).unwrap_or(usize::MAX),
        writable,
        allow_private: tools.web.allow_private.clone(),
        served: boot.global.served,
        search_url: tools
            .web
            .search_url
            .clone()
            .unwrap_or_else(|| DEFAULT_SEARCH.trim().to_owned()),
        ca_file: config.network.ca_file.clone().map(PathBuf::from),
        envelope: tools.result_format == schema::ResultFormat::Envelope,
        language,
    };
    Ok((settings, sandbox))
}

/// Keeps rules that the person wants to hold for ever.
pub fn rule_store(boot: &Boot) -> Arc<dyn RuleStore> {
    Arc::new(rules::Saved::new(boot))
}

pub fn transport(boot: &Boot) -> Arc<Transport> {
    let transport = Transport::new(TransportOptions {
        ca_files: boot.ca_files(),
        ..TransportOptions::default()
    });
    Arc::new(transport.with_plugins(plugins::plugin_ways(boot)))
}

/// What checkpoints of sessions may cost; none when the configuration wants none.
fn checkpoints(boot: &Boot) -> Option<Limits> {
    boot.loaded
        .config
        .context
        .checkpoints
        .then(|| checkpoint_limits(boot))
}

pub fn checkpoint_limits(boot: &Boot) -> Limits {
    let context = &boot.loaded.config.context;
    Limits {
        quota: context.checkpoint_quota.0,
        history: context.checkpoint_history.0,
        time: Duration::from_secs(context.checkpoint_seconds),
        user_home: boot.places.user_home.clone(),
        excluded: vec![boot.places.home.clone(), boot.sessions_dir()],
        ..Limits::default()
    }
}

/// Of a project, where Markdown commands lie.
pub const COMMANDS: [&str; 4] = [
    ".ostler/commands",
    ".claude/commands",
    ".opencode/command",
    ".opencode/commands",
];

/// Folders of Markdown commands, the nearer first. What comes with a project allows nothing by itself: trust that was
/// given earlier does not speak of these files.
pub fn command_folders(boot: &Boot) -> Vec<TemplateFolder> {
    let ours = boot.global.trust_workspace;
    let root = &boot.places.root;
    let of_project = |folder: &str| TemplateFolder {
        path: root.join(folder),
        project: Some(root.clone()),
        trusted: ours,
    };
    let mut shelves = COMMANDS.map(of_project).to_vec();
    shelves.push(TemplateFolder {
        path: boot.places.home.join("commands"),
        project: None,
        trusted: true,
    });
    shelves
}

fn mode(mode: crate::flags::Mode) -> ostler_guard::Mode {
    match mode {
        crate::flags::Mode::Normal => ostler_guard::Mode::Normal,
        crate::flags::Mode::Plan => ostler_guard::Mode::Plan,
        crate::flags::Mode::Goal => ostler_guard::Mode::Goal,
    }
}

pub fn effort(effort: schema::Effort) -> Effort {
    match effort {
        schema::Effort::None => Effort::None,
        schema::Effort::Minimal => Effort::Minimal,
        schema::Effort::Low => Effort::Low,
        schema::Effort::Medium => Effort::Medium,
        schema::Effort::High => Effort::High,
        schema::Effort::Max => Effort::Max,
    }
}

fn context_settings(config: &ContextConfig) -> ContextSettings {
    ContextSettings {
        strategy: match config.strategy {
            ContextStrategy::Compact => Strategy::Compact,
            ContextStrategy::Handoff => Strategy::Handoff,
            ContextStrategy::Warn => Strategy::Warn,
        },
        ratio: config.compact_ratio,
        archive_quota: config.archive_quota.0,
    }
}
