//! Plugins that offer models, as providers: which models each has, by what it listed the last time, and the way to it. A
//! program that was never asked is asked once, when a session is to begin.

use super::Boot;
use ostler_config::paths::Places;
use ostler_config::plugins::{Configured, PluginProvides};
use ostler_config::schema::ProviderConfig;
use ostler_engine::model_plugin::PluginModel;
use ostler_llm::{ModelFacts, PLUGIN_KIND};
use sha2::{Digest, Sha256};
use std::io::Read as _;
use std::path::PathBuf;

/// Of one list.
const MAX_BYTES: u64 = 1024 * 1024;
const HASH_DIGITS: usize = 32;

/// Those that offer models.
pub fn offering(servers: &[Configured]) -> impl Iterator<Item = &Configured> {
    let offers = |one: &&Configured| one.plugin.provides == PluginProvides::Provider;
    servers
        .iter()
        .filter(offers)
        .filter(|one| !one.plugin.disabled)
}

/// Where its list is kept: another program may offer something else.
pub fn cache(places: &Places, one: &Configured) -> PathBuf {
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
pub fn known(places: &Places, one: &Configured) -> Option<Vec<PluginModel>> {
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
}
