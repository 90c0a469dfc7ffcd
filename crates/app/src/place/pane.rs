//! The tmux pane that the person shares with the session, where the flags ask for one: it is opened before the first session,
//! and sessions are told that nothing confines commands there.

use super::desk::desk;
use super::settings::variables;
use crate::boot::Boot;
use crate::errors::UsageError;
use crate::location::{Connected, Target};
use anyhow::bail;
use ostler_engine::HubSettings;
use ostler_engine::confine::SandboxMode;
use ostler_host::Host;
use ostler_host::pane::{Pane, PaneError, PaneSession, PaneSettings, is_session_name};
use ostler_wire::Word;
use std::path::PathBuf;
use std::sync::Arc;

/// By which tmux finds the server and the pane that a program runs in.
const TMUX: [&str; 2] = ["TMUX", "TMUX_PANE"];
/// Characters of a session's name that are chance.
const TAIL: usize = 4;

/// Opens the pane that the flags ask for. To be called when the place is connected, before sessions are opened.
pub async fn open(boot: &Boot) -> anyhow::Result<()> {
    // Who is not there does not watch.
    let usual = || boot.loaded.config.helper.tmux && !desk().is_empty();
    if !boot.wants_pane() && !usual() {
        return Ok(());
    }
    let language = boot.language;
    if crate::grants::mode(boot) == SandboxMode::Require {
        let why = language.say(Word::PaneNoSandbox);
        bail!(language.fill(Word::SandboxRequired, &[why]));
    }
    let named = boot.global.tmux.as_deref().unwrap_or_default();
    let session = match named {
        "" => PaneSession::Own(own_name()),
        name if is_session_name(name) => PaneSession::Named(name.to_owned()),
        name => {
            let name = format!("{name:?}");
            return Err(UsageError(language.fill(Word::PaneBadName, &[&name])).into());
        }
    };
    let place = boot.machines.place.get();
    let host: Arc<dyn Host> = match place {
        Some(place) => Arc::new(place.remote.clone()),
        None => boot.host(),
    };
    let pane = Pane::new(host, settings(boot, place.map(Arc::as_ref), session));
    match pane.open().await {
        Ok(()) => {}
        Err(error @ (PaneError::NoSession(_) | PaneError::Ourselves | PaneError::InUse(_))) => {
            return Err(UsageError(failed(boot, &error)).into());
        }
        Err(error) => bail!(failed(boot, &error)),
    }
    // Nobody else sets it: this is done once, before the first session.
    let _set = boot.machines.pane.set(pane);
    Ok(())
}

fn failed(boot: &Boot, error: &PaneError) -> String {
    boot.language.fill(Word::PaneFailed, &[&error.to_string()])
}

fn settings(boot: &Boot, place: Option<&Connected>, session: PaneSession) -> PaneSettings {
    let env = match place {
        Some(place) => variables(boot, place),
        None => boot.command_env(&boot.key_variables()),
    };
    let is_own = matches!(session, PaneSession::Own(_));
    let env = env.into_iter();
    let env = env.filter(|(name, _)| !is_own || TMUX.iter().all(|known| name != known));
    PaneSettings {
        session,
        root: place.map_or_else(|| boot.places.root.clone(), |place| place.root.clone()),
        env: env.collect(),
        // At another place nothing of ours has a terminal, and a server of our own has other panes of the same names.
        own_pane: boot
            .env
            .get(TMUX[1])
            .filter(|_| place.is_none() && !is_own)
            .cloned(),
        own_terminal: own_terminal().filter(|_| place.is_none()),
    }
}

/// The terminal that we run on, where the system tells.
fn own_terminal() -> Option<PathBuf> {
    let links = ["/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2"];
    let led = links
        .iter()
        .filter_map(|link| std::fs::read_link(link).ok());
    let mut terminals = led.filter(|path| path.starts_with("/dev/pts"));
    terminals.next()
}

/// `ostler-` and four characters of chance.
fn own_name() -> String {
    let id = uuid::Uuid::new_v4().simple().to_string();
    format!("ostler-{}", id.chars().take(TAIL).collect::<String>())
}

/// Has commands run in the pane, if there is one, and says what the person should know. `host` is what reaches the place.
pub fn apply(options: &mut HubSettings, boot: &Boot) -> Vec<String> {
    let Some(pane) = boot.machines.pane.get() else {
        return Vec::new();
    };
    let language = boot.language;
    pane.move_to(options.toolbox.host.clone());
    options.toolbox.pane = Some(pane.clone());
    let policy = &mut options.permissions.policy;
    policy.containment = crate::policy::in_pane(policy.containment);
    let why = language.say(Word::PaneNoSandbox);
    let unheld = language.fill(Word::PlaceUnheld, &[why]);
    attach_note(boot).into_iter().chain([unheld]).collect()
}

/// How to attach to the pane, if there is one.
pub fn attach_note(boot: &Boot) -> Option<String> {
    let attach = boot.machines.pane.get()?.session().attach_command();
    let attach = match boot.machines.place.get() {
        Some(place) => attach_at(&place.target, &attach),
        None => attach,
    };
    Some(boot.language.fill(Word::PaneAttach, &[&attach]))
}

/// What a person types on this machine to attach at a place.
fn attach_at(target: &Target, attach: &str) -> String {
    match target {
        Target::Ssh(destination) => {
            let (host, port) = super::reach::ssh_parts(destination);
            let port = port.map_or_else(String::new, |port| format!(" -p {port}"));
            format!("ssh -t{port} {host} {attach}")
        }
        Target::Container(name) => format!("docker exec -it {name} {attach}"),
        Target::Pod(name) => format!("kubectl exec -it {name} -- {attach}"),
        Target::Host(_) | Target::Image(_) => attach.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_to_attach_is_said_for_each_place() {
        let attach = "tmux attach -t x";
        for (target, expect) in [
            (
                Target::Ssh("me@box:22".into()),
                "ssh -t -p 22 me@box tmux attach -t x",
            ),
            (
                Target::Container("web".into()),
                "docker exec -it web tmux attach -t x",
            ),
            (
                Target::Pod("web".into()),
                "kubectl exec -it web -- tmux attach -t x",
            ),
            (Target::Host("dev".into()), "tmux attach -t x"),
        ] {
            assert_eq!(attach_at(&target, attach), expect);
        }
        let name = own_name();
        assert!(
            is_session_name(&name) && name.starts_with("ostler-"),
            "{name}"
        );
        assert_ne!(name, own_name());
    }
}
