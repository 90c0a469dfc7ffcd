//! The configuration as the engine takes it: one struct for each of its parts.

use super::Boot;
use crate::config::schema;
use crate::text::Speak as _;
use crate::trust::watch::Watch;
use anyhow::Context as _;
use ostler_engine::{
    CommandSources, HubSettings, ModelSettings, Paths, PermissionSettings, RunSettings, ToolSources,
};
use ostler_llm::{Effort, Params, Secret};
use ostler_wire::Word;
use std::path::Path;
use std::sync::Arc;

impl Boot {
    /// Everything the engine needs. `interactive`: somebody can answer asks.
    pub fn options(self: &Arc<Self>, interactive: bool) -> anyhow::Result<HubSettings> {
        let config = &self.loaded.config;
        self.redactor
            .learn(self.secrets().iter().map(Secret::reveal));
        crate::servers::hide_tokens(self);
        let hidden = self.key_variables();
        let (tools, sandbox) = self.tool_settings(&hidden)?;
        // From here on the keys are in our own memory only, where no command can look.
        ostler_host::hide(hidden.iter().map(String::as_str));
        Ok(HubSettings {
            paths: Paths {
                home: self.places.home.clone(),
                user_home: self.places.user_home.clone(),
                root: self.places.root.clone(),
                temp: std::env::temp_dir(),
                sessions: self.sessions_dir(),
            },
            run: RunSettings {
                version: crate::VERSION.into(),
                save: !self.global.no_save,
                interactive,
                language: self.language,
                max_steps: config.agent.max_steps,
                recall: config.agent.memory_compiler.enabled,
                system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
                operator: self.operator()?,
                redactor: self.redactor.clone(),
            },
            model: self.model_settings(),
            context: config.context.settings(),
            checkpoints: crate::cmd::checkpoint::wanted(self),
            permissions: PermissionSettings {
                policy: self.policy_for(interactive)?,
                watch: Some(Arc::new(Watch::new(self))),
                rules: Some(self.rule_store()),
                mode: self.global.mode.map(mode),
                plan_tools: config.agent.plan_mode_allowed_tools.clone(),
            },
            hooks: self.wanted_hooks()?,
            tools,
            toolbox: ToolSources {
                host: self.host(),
                filter: self.tool_filter(),
                more: Vec::new(),
                sandbox,
            },
            mcp: Arc::new(crate::servers::settings(self)),
            agents: Arc::new(crate::config::agents::settings(&self.loaded, &self.places)),
            commands: CommandSources {
                templates: crate::front::command_folders(self),
                extras: crate::extras::all(self),
            },
        })
    }

    fn model_settings(self: &Arc<Self>) -> ModelSettings {
        let agent = &self.loaded.config.agent;
        ModelSettings {
            wanted: self.wanted_model(),
            models: self.clone(),
            params: Params {
                temperature: agent.temperature,
                top_p: agent.top_p,
                max_tokens: agent.max_tokens,
                effort: agent.effort.map(effort),
                ..Params::default()
            },
            budget: self.budget(),
        }
    }

    fn operator(&self) -> anyhow::Result<Vec<String>> {
        let agent = &self.loaded.config.agent;
        let mut lines = Vec::new();
        match (
            &self.global.system_prompt,
            &agent.system_prompt_file,
            &agent.system_prompt,
        ) {
            (Some(text), _, _) | (None, None, Some(text)) => lines.push(text.trim().to_owned()),
            (None, Some(file), _) => {
                let text = crate::folders::prompt_file(self, Path::new(file))
                    .map_err(anyhow::Error::msg)
                    .with_context(|| self.language.filled(Word::BootPromptFile, &[&file]))?;
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
}

fn mode(mode: crate::flags::Mode) -> ostler_guard::Mode {
    match mode {
        crate::flags::Mode::Normal => ostler_guard::Mode::Normal,
        crate::flags::Mode::Plan => ostler_guard::Mode::Plan,
        crate::flags::Mode::Goal => ostler_guard::Mode::Goal,
    }
}

fn effort(effort: schema::Effort) -> Effort {
    match effort {
        schema::Effort::None => Effort::None,
        schema::Effort::Minimal => Effort::Minimal,
        schema::Effort::Low => Effort::Low,
        schema::Effort::Medium => Effort::Medium,
        schema::Effort::High => Effort::High,
        schema::Effort::Max => Effort::Max,
    }
}
