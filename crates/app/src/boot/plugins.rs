//! Plugins that offer models, as providers: which models each has, by what it listed the last time, and the way to it. A
//! program that was never asked is asked once, when a session is to begin.

use super::Boot;
use crate::config::diagnose::Notice;
use crate::config::paths::Places;
use crate::config::plugins::{Configured, PluginProvides};
use crate::config::schema::ProviderConfig;
use crate::errors::Told as _;
use crate::sandbox;
use crate::servers;
use crate::text::Speak as _;
use anyhow::anyhow;
use ostler_engine::SandboxLauncher;
use ostler_engine::confine::{SandboxMode, SandboxSettings};
use ostler_engine::model_plugin::{ModelPlugin, PluginModel};
use ostler_engine::tool::ToolSettings;
use ostler_llm::{ModelFacts, PLUGIN_KIND, Plugin};
use ostler_mcp::{Endpoint, Launcher as _};
use ostler_wire::Word;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Of one list.
const MAX_BYTES: u64 = 1024 * 1024;
const HASH_DIGITS: usize = 32;

/// Those that offer models.
fn offering(servers: &[Configured]) -> impl Iterator<Item = &Configured> {
    let offers = |one: &&Configured| one.plugin.provides == PluginProvides::Provider;
    servers
        .iter()
        .filter(offers)
        .filter(|one| !one.plugin.disabled)
}

/// Where its list is kept: another program may offer something else.
fn cache(places: &Places, one: &Configured) -> PathBuf {
    let plugin = &one.plugin;
    let what = (
        &plugin.name,
        &plugin.command,
        &plugin.args,
        &plugin.env,
        &plugin.cwd,
    );
    let digest = Sha256::digest(format!("{what:?}").as_bytes());
    let mut name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    name.truncate(HASH_DIGITS);
    places.home.join("cache/models").join(name + ".json")
}

/// What it listed the last time; nothing when it was never asked.
fn known(places: &Places, one: &Configured) -> Option<Vec<PluginModel>> {
    let file = std::fs::File::open(cache(places, one)).ok()?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// As providers of the configuration.
pub fn providers(servers: &[Configured], places: &Places) -> Vec<ProviderConfig> {
    let provider = |one: &Configured| ProviderConfig {
        name: one.plugin.name.clone(),
        kind: Some(PLUGIN_KIND.into()),
        models: known(places, one)
            .unwrap_or_default()
            .into_iter()
            .map(|model| model.name)
            .collect(),
        ..ProviderConfig::default()
    };
    offering(servers).map(provider).collect()
}

impl Boot {
    /// What a plugin says of a model of its own.
    pub fn plugin_facts(&self, provider: &str, model: &str) -> Option<ModelFacts> {
        let one = offering(&self.servers).find(|one| one.plugin.name == provider)?;
        let models = known(&self.places, one)?;
        let found = models.into_iter().find(|known| known.name == model)?;
        Some(ModelFacts {
            window: found.window.unwrap_or(0),
            max_output: found.max_output,
            images: found.images,
            reasoning: found.reasoning,
            price: found.price,
        })
    }

    /// The way to each, by the name of the provider.
    pub fn plugin_ways(&self) -> BTreeMap<String, Arc<dyn Plugin>> {
        let way = |one: &Configured| {
            // One that cannot be started says so where it is asked to list its models.
            let way: Arc<dyn Plugin> = Arc::new(self.plugin(one).ok()?);
            Some((one.plugin.name.clone(), way))
        };
        offering(&self.servers).filter_map(way).collect()
    }

    /// Starts programs of plugins and servers.
    fn launcher(&self, tools: ToolSettings, sandbox: SandboxSettings) -> SandboxLauncher {
        SandboxLauncher {
            host: self.host(),
            env: tools.env,
            sandbox,
            writable: tools.writable,
            root: self.places.root.clone(),
            user_home: self.places.user_home.clone(),
        }
    }

    /// Whether the program of a server or plugin runs in the sandbox, by what it depends on now. `None` for an address,
    /// and for one that cannot be started.
    pub fn is_confined(&self, one: &Configured) -> anyhow::Result<Option<bool>> {
        let Endpoint::Program(program) = servers::one(self, one).endpoint else {
            return Ok(None);
        };
        let (tools, settings) = self.tool_settings(&self.key_variables())?;
        let is_held = settings.mode != SandboxMode::Off && sandbox::active(self).is_ok();
        let launcher = self.launcher(tools, settings);
        Ok(Some(is_held && launcher.is_confined(&program)))
    }

    fn plugin(&self, one: &Configured) -> anyhow::Result<ModelPlugin> {
        let language = self.language;
        let name = &one.plugin.name;
        let program = match servers::one(self, one).endpoint {
            Endpoint::Program(program) => program,
            Endpoint::Address(_) => {
                return Err(anyhow!(language.filled(Word::PluginAddress, &[name])));
            }
            Endpoint::Unusable(why) => return Err(anyhow!("{name}: {why}")),
        };
        let (tools, settings) = self.tool_settings(&self.key_variables())?;
        let start = self.loaded.config.tools.mcp_start_seconds.max(1);
        let launcher = self.launcher(tools, settings);
        let limit = Duration::from_secs(start);
        Ok(ModelPlugin::new(
            name.clone(),
            program,
            Arc::new(launcher),
            limit,
        ))
    }

    /// Asks a plugin which models it has, and keeps the answer.
    pub async fn ask_models(&self, one: &Configured) -> anyhow::Result<Vec<PluginModel>> {
        let language = self.language;
        // Whoever is started has no key of ours.
        self.redactor
            .learn(self.secrets().iter().map(ostler_llm::Secret::reveal));
        let models = self.plugin(one)?.models().await;
        let models = models.map_err(|why| anyhow!("{}: {}", one.plugin.name, why.say(language)))?;
        let path = cache(&self.places, one);
        if let Some(folder) = path.parent() {
            ostler_host::private_dir(folder)?;
        }
        let text = serde_json::to_string(&models)?;
        crate::config::files::write(
            &path,
            text.as_bytes(),
            crate::config::files::Access::Private,
        )?;
        Ok(models)
    }
}

/// The same boot once every plugin has been asked. One that does not answer is a notice.
pub async fn learn(boot: Arc<Boot>) -> anyhow::Result<Arc<Boot>> {
    let language = boot.language;
    let unknown = |one: &&Configured| known(&boot.places, one).is_none();
    let unknown: Vec<&Configured> = offering(&boot.servers).filter(unknown).collect();
    if unknown.is_empty() {
        return Ok(boot);
    }
    let asking = unknown.iter().map(|one| boot.ask_models(one));
    let asked = futures_util::future::join_all(asking).await;
    let mut anew = boot.anew()?;
    let failed = asked.into_iter().filter_map(Result::err);
    let failed = failed
        .map(|error| Notice::plain(language.filled(Word::PluginFails, &[&language.told(&error)])));
    anew.loaded.notices.extend(failed);
    Ok(Arc::new(anew))
}
