//! Where the tools of a session work, and what finds names there.

use crate::tool::Scope;
use ostler_sources::completion::{Completer, Others, Sessions, Symbols, Tree};
use ostler_state::SessionState;
use ostler_state::settings::HubSettings;
use std::ffi::OsStr;
use std::path::Path;

/// What finds the names behind `@` for clients of the session.
pub(super) fn completer(state: &SessionState) -> Completer {
    Completer {
        host: state.services.host.clone(),
        scope: state.scope.clone(),
        offered: state.settings.offered.follow(),
        tree: Tree::default(),
        others: Others {
            sessions: Some(Sessions {
                store: state.settings.store.clone(),
                own: state.account.session.clone(),
            }),
            servers: state.services.servers.clone(),
            symbols: Some(Symbols::default()),
            language: state.settings.language,
        },
    }
}

/// What tools work in.
pub(super) fn scope_of(options: &HubSettings, folder: &Path) -> Scope {
    let sandbox = &options.toolbox.sandbox;
    let policy = &options.permissions.policy;
    let mut kept = sandbox.policy.writable.clone();
    kept.extend(sandbox.policy.visible.iter().cloned());
    kept.extend([options.paths.home.clone(), folder.to_owned()]);
    // In a pane that the person shares, or an editor's terminal, commands see the folder that everybody sees.
    let toolbox = &options.toolbox;
    let temp = match toolbox.pane.is_some() || toolbox.terminal.is_some() {
        true => None,
        false => sandbox.seen_as_tmp(),
    };
    Scope::new(&options.paths.root, options.paths.user_home.clone())
        .with_shell(&options.tools.shell)
        .with_temp(temp, kept)
        .with_path(path_of(options), &policy.folders.inside)
        .held_by(policy.containment)
        .with_open(policy.folders.open())
        .with_trees(policy.folders.trees())
}

/// Where commands find programs.
fn path_of(options: &HubSettings) -> Option<&OsStr> {
    let mut variables = options.tools.env.iter();
    let (_, path) = variables.find(|(name, _)| name == "PATH")?;
    Some(path)
}
