//! Whether a server's tool that only says itself that it reads may be used while planning: the person decides, and the answer
//! can be kept.

use super::permit::{Decided, commit_approval, deny, kept, permission_ask, planning, surroundings};
use super::preview;
use super::subject::subject;
use super::{Prepared, never_ran};
use crate::log::LogError;
use crate::tool::ToolError;
use ostler_mcp::{ServerHandle, Servers, Trust};
use ostler_state::inbox::{Inbox, Stopped};
use ostler_state::{SessionState, attend};
use ostler_wire::{Ask, AskKind, Body, Choice, Language, Notice, PermissionChoice, Word};
use std::sync::Arc;

/// Only the person can say that somebody else's tool reads only.
pub async fn ask_trust(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prepared: &Prepared,
) -> Result<Result<(), ToolError>, LogError> {
    let name = prepared.tool.name();
    if !state.settings.interactive {
        let why = "it only says itself that it reads, and nobody can be asked";
        return Ok(Err(planning(prepared, why)));
    }
    let keeping = keeping(state.services.servers.clone(), name);
    let ask = Ask {
        kind: AskKind::Trust,
        subject: state
            .settings
            .language
            .fill(Word::TrustAsk, &[&subject(prepared, surroundings(state))]),
        options: trust_options(name, keeping.as_ref(), state.settings.language),
        ..permission_ask(prepared, state.settings.language)
    };
    let ask = preview::with_preview(state, inbox, prepared, ask).await;
    if ask.is_too_long() {
        return preview::refuse_unshown(state, prepared).map(Err);
    }
    let Ok(answer) = attend::ask(state, inbox, ask).await else {
        return Ok(Err(never_ran()));
    };
    let chosen = PermissionChoice::from_id(&answer.choice);
    let saved = match keeping {
        Some(keeping) if chosen == PermissionChoice::Always => {
            keep_trust(state, inbox, keeping).await?
        }
        Some(_) | None => None,
    };
    let decided = Decided {
        choice: kept(chosen, saved.as_ref()),
        reason: answer.reason,
    };
    commit_approval(state, prepared, decided, (None, saved))?;
    Ok(match chosen {
        PermissionChoice::Once => Ok(()),
        PermissionChoice::Session
        | PermissionChoice::SessionExact
        | PermissionChoice::Always
        | PermissionChoice::AlwaysProject => {
            state.permissions.trusted.push(name.to_owned());
            Ok(())
        }
        PermissionChoice::Deny => Err(planning(prepared, "the person does not trust it")),
    })
}

/// A server's tool whose trust can be kept, and where.
struct Keeping {
    servers: Arc<Servers>,
    handle: Arc<ServerHandle>,
    tool: String,
    place: String,
}

fn keeping(servers: Option<Arc<Servers>>, name: &str) -> Option<Keeping> {
    let servers = servers?;
    let (handle, tool) = servers.owner(name)?;
    let place = servers.trust_place(&handle)?;
    Some(Keeping {
        servers,
        handle,
        tool,
        place,
    })
}

fn trust_options(name: &str, keeping: Option<&Keeping>, language: Language) -> Vec<Choice> {
    let choice = |id: PermissionChoice, label: Word| Choice::permission(id, language.say(label));
    let mut options = vec![
        choice(PermissionChoice::Once, Word::TrustOnce),
        choice(PermissionChoice::Session, Word::TrustSession)
            .with_detail(language.fill(Word::TrustScope, &[name])),
    ];
    if let Some(keeping) = keeping {
        let line = format!("trusted_read_only_tools = [\"{}\"]", keeping.tool);
        let place = language.fill(Word::TrustKeep, &[&line, &keeping.place]);
        options.push(choice(PermissionChoice::Always, Word::TrustAlways).with_detail(place));
    }
    options.push(deny(language));
    options
}

/// Where the person's word was written. What fails is told, and holds for the session.
async fn keep_trust(
    state: &mut SessionState,
    inbox: &mut Inbox,
    keeping: Keeping,
) -> Result<Option<String>, LogError> {
    let language = state.settings.language;
    let saving = tokio::task::spawn_blocking(move || {
        let tools = [keeping.tool.clone()];
        keeping.servers.trust(&keeping.handle, &tools, Trust::Yes)
    });
    let why = match inbox.attend(saving).await {
        Ok(Ok(Ok(place))) => return Ok(place),
        Ok(Ok(Err(why))) => why,
        Ok(Err(_)) => language.say(Word::SaveLost).into(),
        Err(Stopped) => language.say(Word::SaveStopped).into(),
    };
    state.commit(vec![Body::Notice(Notice {
        text: language.fill(Word::McpTrustLost, &[&why]),
    })])?;
    Ok(None)
}
