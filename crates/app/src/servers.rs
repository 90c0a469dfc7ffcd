//! From configured servers to what the engine needs: variables expanded, paths made absolute, what cannot work named.

use crate::auth::{ServerTokens, known_secrets};
use crate::boot::Boot;
use crate::boot::env::is_secret;
use crate::trust::tools::TrustedTools;
use ostler_config::diagnose;
use ostler_config::hooks::RunsOn;
use ostler_config::keys::Dotenv;
use ostler_config::paths::absolute;
use ostler_config::plugins::{
    Configured, PluginConfig, PluginKind, PluginProvides, PluginSampling, Scope,
};
use ostler_config::text::{Speak as _, phrase};
use ostler_config::trust::State;
use ostler_config::variables::{self, Part};
use ostler_mcp::{
    Address, Confinement, Endpoint, HttpForm, McpSettings, Program, Redaction, Registration,
    Sampling, Server,
};
use ostler_wire::{Why, Word};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub fn settings(boot: &Boot) -> McpSettings {
    let tools = &boot.loaded.config.tools;
    McpSettings {
        servers: all(boot),
        start: Duration::from_secs(tools.mcp_start_seconds.max(1)),
        call: Duration::from_secs(tools.mcp_call_timeout_seconds),
        required: boot.global.require_mcp,
        schema_budget: tools.mcp_schema_budget,
        ca_files: boot.ca_files(),
        tokens: Some(Arc::new(tokens(boot))),
        trust: Some(Arc::new(TrustedTools::new(boot))),
        redaction: redaction(boot),
    }
}

fn redaction(boot: &Boot) -> Redaction {
    let redactor = boot.redactor.clone();
    Redaction::new(move |text| redactor.text(text))
}

/// The logins of servers.
pub fn tokens(boot: &Boot) -> ServerTokens {
    ServerTokens::new(
        &boot.places.home,
        boot.logins(),
        boot.redactor.clone(),
        boot.language,
    )
}

/// Nobody is to see a token of theirs.
pub fn hide_tokens(boot: &Boot) {
    if !boot.servers.is_empty() {
        let secrets = known_secrets(&boot.places.home);
        boot.redactor.learn(secrets.iter().map(String::as_str));
    }
}

/// Those that are not switched off.
fn all(boot: &Boot) -> Vec<Server> {
    let speaks = |one: &&Configured| one.plugin.provides == PluginProvides::Tools;
    let on = boot.servers.iter().filter(|one| !one.plugin.disabled);
    let on = on.filter(speaks);
    let mut names = Names::new(boot);
    on.map(|one| server(one, &mut names, &boot.places.root))
        .collect()
}

/// One of them, for looking at it alone.
pub fn one(boot: &Boot, configured: &Configured) -> Server {
    server(configured, &mut Names::new(boot), &boot.places.root)
}

/// How we are known to the issuer of its tokens.
pub fn registration(boot: &Boot, one: &Configured) -> Result<Registration, String> {
    let said = |why: Why| why.say(boot.language);
    let language = boot.language;
    let mut names = Names::new(boot);
    let oauth = one.plugin.oauth.clone().unwrap_or_default();
    let place = (one.scope, Field::Value);
    let mut expand = |text: Option<String>| text.map(|t| names.expand(&t, place)).transpose();
    let registration = Registration {
        client_id: expand(oauth.client_id).map_err(said)?,
        client_secret: expand(oauth.client_secret).map_err(said)?,
        client_page: expand(oauth.client_metadata_url).map_err(said)?,
        scopes: oauth.scopes,
    };
    boot.redactor.learn(registration.client_secret.as_deref());
    match &registration {
        Registration {
            client_id: None,
            client_secret: Some(_),
            ..
        } => Err(language.say(Word::ServerSecretAlone).into()),
        _ => Ok(registration),
    }
}

fn server(one: &Configured, names: &mut Names<'_>, root: &Path) -> Server {
    let PluginConfig {
        name,
        enabled_tools,
        disabled_tools,
        call_timeout_seconds,
        tool_timeout_seconds,
        trusted_read_only_tools,
        sampling,
        ..
    } = &one.plugin;
    let endpoint = endpoint(one, names, root).unwrap_or_else(Endpoint::Unusable);
    Server {
        enabled_tools: enabled_tools.clone(),
        disabled_tools: disabled_tools.clone(),
        call_timeout: call_timeout_seconds.map(Duration::from_secs),
        tool_timeouts: tool_timeout_seconds
            .iter()
            .map(|(tool, seconds)| (tool.clone(), Duration::from_secs(*seconds)))
            .collect(),
        trusted_read_only_tools: trusted_read_only_tools.clone(),
        sampling: match sampling {
            PluginSampling::Ask => Sampling::Ask,
            PluginSampling::Allow => Sampling::Allow,
            PluginSampling::Deny => Sampling::Deny,
        },
        ..Server::new(name.clone(), endpoint)
    }
}

fn endpoint(one: &Configured, names: &mut Names<'_>, root: &Path) -> Result<Endpoint, Why> {
    let plugin = &one.plugin;
    let given = |text: &Option<String>| text.as_deref().is_some_and(|t| !t.trim().is_empty());
    if plugin.name.trim().is_empty() {
        return Err(Word::ServerNoName.into());
    }
    let kind = match plugin.kind {
        Some(kind) => kind,
        None if given(&plugin.command) => PluginKind::Stdio,
        None if given(&plugin.url) => PluginKind::Http,
        None => return Err(Word::ServerNoCommand.into()),
    };
    let mut expand = |text: &str| names.expand(text, (one.scope, Field::Target));
    match kind {
        PluginKind::Stdio => {
            let command = plugin.command.as_deref().filter(|c| !c.trim().is_empty());
            let command = command.ok_or_else(|| Why::from(Word::ServerNeedsCommand))?;
            let mut argv = vec![expand(command)?.into()];
            for arg in &plugin.args {
                argv.push(expand(arg)?.into());
            }
            let cwd = plugin.cwd.as_deref().map(&mut expand).transpose()?;
            let mut env = Vec::new();
            for (name, value) in &plugin.env {
                let value = names.expand(value, (one.scope, Field::Value))?;
                names.hide(name, &value);
                env.push((name.into(), value.into()));
            }
            let place = names.boot.machines.place.get();
            let place = place.filter(|_| plugin.on == RunsOn::Host);
            let user_home = names.boot.places.user_home.as_deref();
            let cwd = cwd.map(|cwd| match place {
                Some(place) => absolute(&cwd, &place.root, place.facts().home.as_deref()),
                None => absolute(&cwd, root, user_home),
            });
            Ok(Endpoint::Program(Program {
                argv,
                cwd,
                env,
                confinement: match place {
                    Some(_) => Confinement::AtPlace,
                    None => confinement(one),
                },
            }))
        }
        PluginKind::Http | PluginKind::Sse => {
            let url = plugin.url.as_deref().filter(|url| !url.trim().is_empty());
            let url = expand(url.ok_or_else(|| Why::from(Word::ServerNeedsUrl))?)?;
            let mut headers = Vec::new();
            for (name, value) in &plugin.headers {
                let value = names.expand(value, (one.scope, Field::Value))?;
                names.hide(name, &value);
                headers.push((name.clone(), value));
            }
            Ok(Endpoint::Address(Address {
                url,
                form: match kind {
                    PluginKind::Sse => HttpForm::Events,
                    PluginKind::Http | PluginKind::Stdio => HttpForm::Streamable,
                },
                headers,
                headers_helper: plugin.headers_helper.clone(),
                confinement: confinement(one),
            }))
        }
    }
}

/// What lies in the project runs in the sandbox, whatever it says itself. What the person names elsewhere runs in none,
/// unless it starts in, or names, a place that commands may change: then the person has to say so. A command for headers of theirs reads their
/// credentials, and `sandbox = true` is about programs.
fn confinement(one: &Configured) -> Confinement {
    let is_program = one.plugin.command.is_some();
    match (one.plugin.sandbox, one.scope.is_of_project()) {
        (Some(true), _) if is_program => Confinement::Wanted,
        (Some(_) | None, true) => Confinement::Project,
        (Some(false), false) => Confinement::Free,
        (Some(true) | None, false) => Confinement::ByPlace,
    }
}

/// What a text of a server's settings decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Which program runs, with which arguments and where, or which host is talked to.
    Target,
    /// What it is given: variables, headers, how we are registered.
    Value,
}

/// What `${VAR}` stands for. A project's `.env` is read when the first variable is looked for. It fills values of the
/// project's own servers, never what runs or is reached: trust was given to that as it is written, and a model may
/// change the file.
struct Names<'a> {
    boot: &'a Boot,
    project: Option<Dotenv>,
}

impl<'a> Names<'a> {
    fn new(boot: &'a Boot) -> Self {
        Self {
            boot,
            project: None,
        }
    }

    fn get(
        &mut self,
        name: &str,
        (scope, field): (Scope, Field),
    ) -> Result<Option<String>, String> {
        let language = self.boot.language;
        if scope.is_of_project() && self.boot.is_provider_key(name) {
            return Err(language.filled(Word::ServerWantsKey, &[&name]));
        }
        if let Some(value) = self.boot.env.get(name).filter(|v| !v.is_empty()) {
            let is_secret = looks_secret(name, value);
            if is_secret {
                self.boot.redactor.learn([value.as_str()]);
            }
            if is_secret && scope.is_of_project() && !self.was_shown(name) {
                return Err(language.filled(Word::ServerWantsSecret, &[&name]));
            }
            return Ok(Some(value.clone()));
        }
        let is_filled = scope.is_of_project() && field == Field::Value;
        if !is_filled || !self.boot.loaded.workspace.is_trusted() {
            return Ok(None);
        }
        let file = self.boot.places.root.join(".env");
        let project = self
            .project
            .get_or_insert_with(|| Dotenv::load(&file, |_| None));
        let value = project.get(name).map(str::to_owned);
        if let Some(value) = value.as_ref().filter(|value| looks_secret(name, value)) {
            self.boot.redactor.learn([value.as_str()]);
        }
        Ok(value)
    }

    /// Whether the person looked at what a project does with this variable, or passes it on themselves.
    fn was_shown(&self, name: &str) -> bool {
        let loaded = &self.boot.loaded;
        let by_person = || loaded.passed_variables().by_person.contains(name);
        match loaded.workspace.state {
            State::Trusted => true,
            State::NotNeeded
            | State::ThisRun
            | State::Untrusted
            | State::Changed
            | State::Refused => by_person(),
        }
    }

    fn expand(&mut self, text: &str, place: (Scope, Field)) -> Result<String, Why> {
        let mut out = String::new();
        for part in variables::parts(text) {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Open(_) => return Err(phrase(Word::NoBraceIn, &[&text])),
                Part::Variable { name, default } => {
                    let value = self.get(name, place)?;
                    let value = value.or(default.map(str::to_owned));
                    let unset = || phrase(Word::ServerUnset, &[&name, &name]);
                    out.push_str(&value.ok_or_else(unset)?);
                }
            }
        }
        Ok(out)
    }

    /// What a header or variable of this name holds is shown nowhere.
    fn hide(&self, name: &str, value: &str) {
        if diagnose::is_secret(name) {
            // `Bearer` and its like say nothing.
            let token = value.rsplit(' ').next().unwrap_or_default();
            self.boot.redactor.learn([value, token]);
        }
    }
}

/// Whether a variable looks like a secret, by its name or its value, such as an address with a password in it.
fn looks_secret(name: &str, value: &str) -> bool {
    let has_password = || url::Url::parse(value).is_ok_and(|url| url.password().is_some());
    is_secret(name.as_ref(), value.as_ref()) || has_password()
}
