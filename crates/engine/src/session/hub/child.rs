//! Opens the session of a child: as its parent is, or in a role with tools, prompt and tree of its own.

use super::{LocalHub, Parts};
use crate::budget;
use crate::log::branch;
use crate::store::forked;
use crate::tool::Scope;
use crate::tools::Tools;
use ostler_host::sandbox::Network;
use ostler_llm::{Model, Prefix};
use ostler_sources::definitions::Definitions;
use ostler_sources::instructions;
use ostler_sources::prompt;
use ostler_state::SessionState;
use ostler_state::agents::ChildRole;
use ostler_state::agents::children::ChildSettings;
use ostler_state::settings::HubSettings;
use ostler_wire::{ChildOf, Client, HubError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

impl LocalHub {
    pub(crate) fn open_child(
        &self,
        mut child: ChildSettings,
    ) -> Result<(Client, JoinHandle<()>), HubError> {
        if let Some(order) = child.foreign.take() {
            return self.open_foreign(child, order);
        }
        let mut entries = std::mem::take(&mut child.entries);
        let mut source = child.parent.clone();
        let continues = child
            .assigned_role
            .as_ref()
            .and_then(|assigned_role| assigned_role.continues.clone());
        // One that cannot be read any more begins anew.
        if let Some(id) = continues
            && let Ok((past, _)) = self.store().read(&id)
        {
            entries = branch(past);
            source = id;
        }
        let own = self.own(&self.store().path_of(&source));
        let from = (!entries.is_empty()).then(|| forked(source, &entries, own));
        let target = self.options.model.models.resolve(Some(&child.model));
        let target = Arc::new(target.map_err(HubError)?);
        let model = Model::new(target, self.transport.clone());
        let hub = self.serving(child.assigned_role.as_ref());
        if let Some(root) = child
            .assigned_role
            .as_ref()
            .and_then(|assigned_role| assigned_role.root.as_ref())
        {
            let forbidden = &mut Arc::make_mut(&mut child.policy).folders.forbidden;
            let copies = copied_paths(forbidden, &self.options.paths.root, root);
            forbidden.extend(copies);
            let parent = &self.options.paths.root;
            let parents = [parent.clone(), ostler_host::real_path(parent)];
            let folders = &mut Arc::make_mut(&mut child.policy).folders;
            folders.copied_from.extend(parents);
            folders.copied_from.dedup();
        }
        let prefix = match (child.prefix.take(), &child.assigned_role) {
            (Some(prefix), _) => prefix,
            (None, assigned_role) => hub.prefix_for(assigned_role.as_ref(), &child.definitions),
        };
        let mut past = hub.fresh(from, entries);
        past.child_of = child.assigned_role.as_ref().map(|assigned_role| ChildOf {
            session: child.parent.clone(),
            call: assigned_role.call.clone(),
            role: assigned_role.role.clone(),
        });
        hub.start(Parts {
            past,
            prefix,
            model: model.map_err(|e| HubError(e.to_string()))?,
            definitions: child.definitions.clone(),
            child: Some(child),
            notes: Vec::new(),
        })
    }

    /// The hub as a child with this role finds it: its tools, and its tree.
    pub(super) fn serving(&self, assigned_role: Option<&ChildRole>) -> Self {
        let Some(assigned_role) = assigned_role else {
            return self.clone();
        };
        let mut options = HubSettings::clone(&self.options);
        options.toolbox.filter.clone_from(&assigned_role.filter);
        options.permissions.mode = None;
        if assigned_role.max_steps > 0 {
            options.run.max_steps = assigned_role.max_steps;
        }
        options.run.interactive &= assigned_role.attended;
        if !assigned_role.network {
            options.toolbox.sandbox.policy.network = Network::Loopback;
        }
        let mut hub = self.clone();
        if let Some(root) = &assigned_role.root {
            move_to(&mut options, root);
            hub.writing = Arc::new(Semaphore::new(1));
        }
        hub.options = Arc::new(options);
        hub
    }

    fn prefix_for(&self, assigned_role: Option<&ChildRole>, definitions: &Definitions) -> Prefix {
        let options = &self.options;
        let tools = self.tools();
        let homes = (
            options.paths.home.as_path(),
            options.paths.user_home.as_deref(),
        );
        // A worktree has its own instructions; those of another place lie with its settings.
        let root = options.stand_in();
        let scope = Scope::new(root, options.paths.user_home.clone());
        let border = options.permissions.policy.instructions_border(&scope);
        let found = instructions::load(homes, root, &border, options.run.language);
        let mut parts = vec![definitions.listing(&tools)];
        if let Some(assigned_role) =
            assigned_role.filter(|assigned_role| !assigned_role.persona.is_empty())
        {
            parts.push(format!(
                "# Role: {}\n{}",
                assigned_role.role, assigned_role.persona
            ));
        }
        parts.push(found.text);
        self.prefix_of(&tools, &parts)
    }

    /// A prompt with these sections after the standard one.
    pub(crate) fn prefix_of(&self, tools: &Tools, sections: &[String]) -> Prefix {
        let sections: Vec<&str> = sections
            .iter()
            .map(String::as_str)
            .filter(|section| !section.is_empty())
            .collect();
        let system = prompt::render(tools, &self.options.run.operator, &sections.join("\n\n"));
        Prefix {
            system: self.options.run.redactor.text(system),
            tools: tools.specs(),
        }
    }
}

/// Turns the state of a new session into that of a child.
pub fn settle(state: &mut SessionState, child: ChildSettings) {
    state.policy = child.policy;
    Arc::make_mut(&mut state.scope).trees = state.policy.folders.trees();
    state.permissions.inherit(child.permissions);
    state.settings.effort = child.effort;
    state.account.role = budget::TASK.into();
    state.account.budget_session = child.budget_session;
    let Some(assigned_role) = child.assigned_role else {
        return;
    };
    if state.account.budget.has_role(&assigned_role.role) {
        state.account.role.clone_from(&assigned_role.role);
    }
    state.services.checkpoints = std::mem::take(&mut state.services.checkpoints).below();
    state.extensions.agents.depth = assigned_role.depth;
    state.extensions.agents.role = Some(assigned_role.role);
    state.extensions.agents.skill = assigned_role.skill;
}

/// Works in another tree: what was allowed in the root is allowed there, and nothing in the root.
fn move_to(options: &mut HubSettings, root: &Path) {
    let old = std::mem::replace(&mut options.paths.root, root.to_owned());
    let (real_old, real_root) = (ostler_host::real_path(&old), ostler_host::real_path(root));
    let moved = |path: &PathBuf| {
        let inner = path.strip_prefix(&old);
        let inner = inner.map(|inner| root.join(inner));
        inner.or_else(|_| {
            path.strip_prefix(&real_old)
                .map(|inner| real_root.join(inner))
        })
    };
    let shift = |paths: &mut Vec<PathBuf>| {
        for path in paths {
            if let Ok(new) = moved(path) {
                *path = new;
            }
        }
    };
    shift(&mut options.tools.writable);
    let policy = &mut options.toolbox.sandbox.policy;
    shift(&mut policy.writable);
    let mut protect = policy.protect.clone();
    shift(&mut protect);
    policy.protect.extend(protect);
    policy.protect.push(root.join(".git"));
    let forbidden = copied_paths(&policy.forbid_read, &old, root);
    policy.forbid_read.extend(forbidden.iter().cloned());
    options.toolbox.sandbox.sealed.extend(forbidden);
    options.checkpoints = None;
}

/// What may not be read in the root may not be read in its copy either: where these paths are there.
fn copied_paths(forbidden: &[PathBuf], old: &Path, root: &Path) -> Vec<PathBuf> {
    let real = ostler_host::real_path(old);
    let below = |path: &PathBuf| {
        let inner = path.strip_prefix(old).or_else(|_| path.strip_prefix(&real));
        inner.ok().map(|inner| root.join(inner))
    };
    forbidden.iter().filter_map(below).collect()
}
