//! Opens a session: the handshake, a new session or an old one, its model, options and mode.

use super::state::Shared;
use super::{Connection, Told, request, told};
use crate::resolve::Agent;
use crate::run::Job;
use crate::setup::catalogue::{AcpModel, AcpSetting, JsonPath};
use crate::setup::reference::DEFAULT_MODEL;
use crate::setup::{Filesystem, OptionValue};
use agent_client_protocol as acp;
use serde_json::{Value, json};

/// Modes that only read, by their usual names.
const READING_MODES: &[&str] = &["plan", "read-only", "readonly"];

/// The session's id. What could not be set becomes a warning, but for the model.
pub async fn open(
    job: &Job<'_>,
    shared: &Shared,
    connection: &Connection,
    warnings: &mut Vec<String>,
) -> Result<String, Told> {
    let hello = json!({
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
        "clientInfo": {"name": "ostler", "version": env!("CARGO_PKG_VERSION")},
    });
    let about = answered("initialize", request(connection, "initialize", hello).await)?;
    let opened = match job.session {
        Some(session) => old(job, connection, &about, session).await?,
        None => {
            let params = json!({"cwd": job.cwd, "mcpServers": []});
            answered(
                "session/new",
                request(connection, "session/new", params).await,
            )?
        }
    };
    let named = opened
        .get("sessionId")
        .and_then(Value::as_str)
        .or(job.session);
    let Some(session) = named.map(str::to_owned) else {
        let error = acp::Error::internal_error().data("it opened a session without a name");
        return Err(told_refused("session/new", error));
    };
    {
        let mut state = shared.state();
        state.session = Some(session.clone());
        state.recorder.session(&session);
    }
    let setting = Settings {
        connection,
        session: &session,
        opened: &opened,
    };
    set(job, &setting, warnings).await?;
    Ok(session)
}

fn answered(what: &'static str, answer: Result<Value, acp::Error>) -> Result<Value, Told> {
    answer.map_err(|error| told_refused(what, error))
}

fn told_refused(what: &'static str, error: acp::Error) -> Told {
    told(what, Err(error))
}

/// Goes on with a session: resumed where the agent can, else loaded; its past is not told again.
async fn old(
    job: &Job<'_>,
    connection: &Connection,
    about: &Value,
    session: &str,
) -> Result<Value, Told> {
    let has = |path: &str| {
        let found = JsonPath::parse(path).find(about);
        found.is_some_and(|found| !found.is_null() && found != &Value::Bool(false))
    };
    let params = json!({"sessionId": session, "cwd": job.cwd, "mcpServers": []});
    if has("agentCapabilities.sessionCapabilities.resume") {
        let answer = request(connection, "session/resume", params).await;
        return answered("session/resume", answer);
    }
    if has("agentCapabilities.loadSession") {
        let answer = request(connection, "session/load", params).await;
        return answered("session/load", answer);
    }
    let error = acp::Error::internal_error().data("it cannot go on with a session");
    Err(told_refused("session/load", error))
}

/// What a session offers, and the way to set it.
struct Settings<'s> {
    connection: &'s Connection,
    session: &'s str,
    opened: &'s Value,
}

async fn set(
    job: &Job<'_>,
    settings: &Settings<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), Told> {
    let acp = match &job.target.agent {
        Agent::Known { row, .. } => row.acp.as_ref(),
        Agent::Command(_) | Agent::Own => None,
    };
    let model = job.target.reference.model.as_str();
    let by_setting = acp.is_none_or(|acp| acp.model == AcpModel::Setting);
    if model != DEFAULT_MODEL && by_setting {
        let set = settings.model(model).await;
        set.map_err(|error| told_refused("the model", error))?;
    }
    for (name, value) in &job.target.options {
        let option = acp
            .and_then(|acp| acp.options.get(name))
            .filter(|id| !id.is_empty());
        if let Some(option) = option
            && let Err(error) = settings.option(option, &option_value(value)).await
        {
            warnings.push(format!(
                "the option `{name}` could not be set: {}",
                error.message
            ));
        }
    }
    if job.target.capabilities.filesystem == Filesystem::ReadOnly {
        let is_set = match acp {
            Some(acp) => settings.all(&acp.read_only).await,
            None => settings.any_reading_mode().await,
        };
        if !is_set {
            warnings.push(
                "it has no mode that only reads: its questions are refused, and the sandbox holds it".to_owned(),
            );
        }
    }
    let unconfined = acp.map_or(&[][..], |acp| &acp.unconfined);
    if job.target.capabilities.is_everything()
        && !unconfined.is_empty()
        && !settings.all(unconfined).await
    {
        warnings
            .push("its own sandbox could not be turned off, and may not work in ours".to_owned());
    }
    Ok(())
}

fn option_value(value: &OptionValue) -> String {
    match value {
        OptionValue::Bool(value) => value.to_string(),
        OptionValue::Number(value) => value.to_string(),
        OptionValue::Text(value) => value.clone(),
    }
}

impl Settings<'_> {
    async fn request(&self, method: &str, key: &str, value: &str) -> Result<(), acp::Error> {
        let params = json!({"sessionId": self.session, key: value});
        request(self.connection, method, params).await.map(|_| ())
    }

    async fn option(&self, id: &str, value: &str) -> Result<(), acp::Error> {
        let params = json!({"sessionId": self.session, "configId": id, "value": value});
        let answer = request(self.connection, "session/set_config_option", params).await;
        answer.map(|_| ())
    }

    async fn model(&self, model: &str) -> Result<(), acp::Error> {
        match self.offers_option("model") {
            true => self.option("model", model).await,
            false => self.request("session/set_model", "modelId", model).await,
        }
    }

    fn offers_option(&self, id: &str) -> bool {
        let options = self.opened.get("configOptions").and_then(Value::as_array);
        let mut options = options.into_iter().flatten();
        options.any(|option| option.get("id").and_then(Value::as_str) == Some(id))
    }

    /// The mode is offered as a mode, or as a value of the option `mode`.
    async fn mode(&self, mode: &str) -> bool {
        let modes = JsonPath::parse("modes.availableModes").find(self.opened);
        let mut modes = modes.and_then(Value::as_array).into_iter().flatten();
        if modes.any(|offered| offered.get("id").and_then(Value::as_str) == Some(mode)) {
            return self
                .request("session/set_mode", "modeId", mode)
                .await
                .is_ok();
        }
        self.offers_option("mode") && self.option("mode", mode).await.is_ok()
    }

    /// Whether all of them could be set.
    async fn all(&self, ways: &[AcpSetting]) -> bool {
        for way in ways {
            let is_set = match way {
                AcpSetting::Mode { mode } => self.mode(mode).await,
                AcpSetting::Option { option, value } => self.option(option, value).await.is_ok(),
            };
            if !is_set {
                return false;
            }
        }
        !ways.is_empty()
    }

    async fn any_reading_mode(&self) -> bool {
        for mode in READING_MODES {
            if self.mode(mode).await {
                return true;
            }
        }
        false
    }
}
