//! Programs that offer models: how each is started and reached. One that was never asked for its models is asked once, when
//! a session is to begin.

use super::tool_settings;
use crate::boot::Boot;
use crate::boot::plugins::{cache, known, offering};
use crate::errors::Told as _;
use crate::grants;
use crate::servers;
use anyhow::anyhow;
use ostler_config::diagnose::Notice;
use ostler_config::plugins::Configured;
use ostler_config::text::Speak as _;
use ostler_engine::SandboxLauncher;
use ostler_engine::confine::{SandboxMode, SandboxSettings};
use ostler_engine::model_plugin::{ModelPlugin, PluginModel};
use ostler_engine::tool::ToolSettings;
use ostler_llm::Plugin;
use ostler_mcp::{Endpoint, Launcher as _};
use ostler_wire::Word;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The way to each, by the name of the provider.
pub fn plugin_ways(boot: &Boot) -> BTreeMap<String, Arc<dyn Plugin>> {
    let way = |one: &Configured| {
        // One that cannot be started says so where it is asked to list its models.
        let way: Arc<dyn Plugin> = Arc::new(plugin(boot, one).ok()?);
        Some((one.plugin.name.clone(), way))
    };
    offering(&boot.servers).filter_map(way).collect()
}

/// Starts programs of plugins and servers.
fn launcher(boot: &Boot, tools: ToolSettings, sandbox: SandboxSettings) -> SandboxLauncher {
    SandboxLauncher {
        host: boot.host(),
        env: tools.env,
        sandbox,
        writable: tools.writable,
        root: boot.places.root.clone(),
        user_home: boot.places.user_home.clone(),
        there: None,
    }
}

/// Whether the program of a server or plugin runs in the sandbox, by what it depends on now. `None` for an address,
/// and for one that cannot be started.
pub fn is_confined(boot: &Boot, one: &Configured) -> anyhow::Result<Option<bool>> {
    let Endpoint::Program(program) = servers::one(boot, one).endpoint else {
        return Ok(None);
    };
    let (tools, settings) = tool_settings(boot, &boot.key_variables())?;
    let is_held = settings.mode != SandboxMode::Off && grants::active(boot).is_ok();
    let launcher = launcher(boot, tools, settings);
    Ok(Some(is_held && launcher.is_confined(&program)))
}

fn plugin(boot: &Boot, one: &Configured) -> anyhow::Result<ModelPlugin> {
    let language = boot.language;
    let name = &one.plugin.name;
    let program = match servers::one(boot, one).endpoint {
        Endpoint::Program(program) => program,
        Endpoint::Address(_) => {
            return Err(anyhow!(language.filled(Word::PluginAddress, &[name])));
        }
        Endpoint::Unusable(why) => {
            return Err(anyhow!("{name}: {}", why.say(boot.language)));
        }
    };
    let (tools, settings) = tool_settings(boot, &boot.key_variables())?;
    let start = boot.loaded.config.tools.mcp_start_seconds.max(1);
    let launcher = launcher(boot, tools, settings);
    let limit = Duration::from_secs(start);
    Ok(ModelPlugin::new(
        name.clone(),
        program,
        Arc::new(launcher),
        limit,
    ))
}

/// Asks a plugin which models it has, and keeps the answer.
pub async fn ask_models(boot: &Boot, one: &Configured) -> anyhow::Result<Vec<PluginModel>> {
    let language = boot.language;
    // Whoever is started has no key of ours.
    boot.redactor
        .learn(boot.secrets().iter().map(ostler_llm::Secret::reveal));
    let models = plugin(boot, one)?.models().await;
    let models = models.map_err(|why| anyhow!("{}: {}", one.plugin.name, why.say(language)))?;
    let path = cache(&boot.places, one);
    if let Some(folder) = path.parent() {
        ostler_host::private_dir(folder)?;
    }
    let text = serde_json::to_string(&models)?;
    ostler_config::files::write(
        &path,
        text.as_bytes(),
        ostler_config::files::Access::Private,
    )?;
    Ok(models)
}

/// The same boot once every plugin has been asked. One that does not answer is a notice.
pub async fn learn(boot: Arc<Boot>) -> anyhow::Result<Arc<Boot>> {
    let language = boot.language;
    // The models are those of the server.
    if boot.global.attach.remote.is_some() {
        return Ok(boot);
    }
    let unknown = |one: &&Configured| known(&boot.places, one).is_none();
    let unknown: Vec<&Configured> = offering(&boot.servers).filter(unknown).collect();
    if unknown.is_empty() {
        return Ok(boot);
    }
    let asking = unknown.iter().map(|one| ask_models(&boot, one));
    let asked = futures_util::future::join_all(asking).await;
    let mut anew = boot.anew()?;
    let failed = asked.into_iter().filter_map(Result::err);
    let failed = failed
        .map(|error| Notice::plain(language.filled(Word::PluginFails, &[&language.told(&error)])));
    anew.loaded.notices.extend(failed);
    Ok(Arc::new(anew))
}
