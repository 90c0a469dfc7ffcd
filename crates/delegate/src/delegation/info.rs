//! What there is in a folder: roles with their agents, and whether they could be called.

use super::Delegation;
use crate::outcome::{BackendInfo, Info, RoleInfo};
use crate::request::InfoRequest;
use crate::resolve::{DEFAULT_TIMEOUT_SECS, persona, resolve};
use crate::setup::{Backend, PromptTransport, Reference, Role, Setup, catalogue};

impl Delegation {
    pub(super) fn describe(&self, request: &InfoRequest) -> Info {
        let place = self.place(request.cd.as_deref(), request.client.as_deref(), None);
        let loaded = place.and_then(|place| self.setup(&place).map(|loaded| (place, loaded)));
        let (place, loaded) = match loaded {
            Ok(found) => found,
            Err(failure) => {
                return Info {
                    cd: request.cd.clone().unwrap_or_default(),
                    error: Some(failure.text),
                    ..Info::default()
                };
            }
        };
        let setup = &loaded.setup;
        let sources = loaded.sources.iter().map(|path| path.display().to_string());
        let backends = setup.backend.iter();
        Info {
            success: true,
            cd: place.cwd.display().to_string(),
            config_sources: sources.collect(),
            roles: setup
                .roles
                .iter()
                .map(|(id, role)| describe_role(setup, id, role))
                .collect(),
            backends: backends
                .map(|(name, backend)| describe_backend(name, backend))
                .collect(),
            error: None,
        }
    }
}

fn describe_role(setup: &Setup, id: &str, role: &Role) -> RoleInfo {
    let resolved = resolve(setup, id, None);
    let backend = Reference::parse(&role.model).map(|reference| reference.backend);
    let found = persona(id, role);
    let source = match (&role.personas, &found) {
        (Some(_), _) => "config",
        (None, Some(_)) => "built-in",
        (None, None) => "none",
    };
    let timeout = resolved.as_ref().map(|resolved| resolved.timeout.as_secs());
    RoleInfo {
        role: id.to_owned(),
        description: found.map(|persona| persona.description),
        model: role.model.clone(),
        backend: backend.unwrap_or_default(),
        enabled: role.enabled,
        capabilities: role.capabilities.clone(),
        timeout_secs: timeout.unwrap_or(role.timeout_secs.unwrap_or(DEFAULT_TIMEOUT_SECS)),
        persona_source: source.to_owned(),
        problem: resolved.err(),
    }
}

fn describe_backend(name: &str, backend: &Backend) -> BackendInfo {
    let row = catalogue::agent(name);
    let adapter = backend.adapter.as_ref().or(row.map(|row| &row.adapter));
    BackendInfo {
        backend: name.to_owned(),
        models: backend.models.keys().cloned().collect(),
        prompt_transport: adapter
            .map_or(PromptTransport::Stdin, |adapter| adapter.prompt_transport),
        acp: backend.adapter.is_none() && row.is_none_or(|row| row.acp.is_some()),
    }
}
