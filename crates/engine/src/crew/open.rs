//! Opens the session of a child: as its parent is, or in a role with tools, prompt and tree of its own.

use super::{Crew, Duty, Offer, listing};
use crate::budget;
use crate::children::Heir;
use crate::desk::Desk;
use crate::hub::{LocalHub, Options, Parts};
use crate::instructions;
use crate::log::branch;
use crate::prompt;
use crate::roles::Roles;
use crate::skills::Skills;
use crate::sources::Reader;
use crate::store::copied;
use crate::templates;
use crate::tool::Scope;
use crate::tools::Tools;
use ostler_host::sandbox::Network;
use ostler_llm::{Model, Prefix};
use ostler_wire::{ChildOf, Client, ForkedFrom, HubError, Language, Word};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Files of one kind that are left out and named.
const MAX_NOTES: usize = 5;

impl Offer {
    /// Reads what people wrote; the second is what had to be left out.
    pub(crate) fn load(options: &Options) -> (Self, Vec<String>) {
        let language = options.language;
        let crew = &options.crew;
        let few = |notes: Vec<String>| few(notes, language);
        let scope = Scope::new(&options.root, options.user_home.clone());
        let border = options.policy.instructions_border(&scope);
        let reader = Reader::new(border, language);
        let (templates, left) = templates::load(&options.templates, &reader);
        let mut notes = few(left);
        let (roles, left) = Roles::load(&crew.role_sources, &crew.roles, &reader);
        notes.extend(few(left));
        let (skills, left) = Skills::load(&crew.skills, &reader);
        notes.extend(few(left));
        notes.extend(few(skills.replaced(&templates, language)));
        let offer = Self {
            templates: Arc::new(templates),
            roles: Arc::new(roles),
            skills: Arc::new(skills),
        };
        (offer, notes)
    }
}

/// The first of them, and how many more there are.
fn few(mut notes: Vec<String>, language: Language) -> Vec<String> {
    let more = notes.len().saturating_sub(MAX_NOTES);
    notes.truncate(MAX_NOTES);
    if more > 0 {
        notes.push(language.fill(Word::MoreLeft, &[&more.to_string()]));
    }
    notes
}

impl LocalHub {
    pub(crate) fn open_heir(&self, mut heir: Heir) -> Result<(Client, JoinHandle<()>), HubError> {
        let mut entries = std::mem::take(&mut heir.entries);
        let mut source = heir.parent.clone();
        let continues = heir.duty.as_ref().and_then(|duty| duty.continues.clone());
        // One that cannot be read any more begins anew.
        if let Some(id) = continues
            && let Ok((past, _)) = self.store().read(&id)
        {
            entries = branch(past);
            source = id;
        }
        let from = entries.last().map(|last| ForkedFrom {
            session: source,
            entry: last.entry,
            copied: copied(&entries),
        });
        let target = self.options.models.resolve(Some(&heir.model));
        let target = Arc::new(target.map_err(HubError)?);
        let model = Model::new(target, self.transport.clone());
        let hub = self.serving(heir.duty.as_ref());
        if let Some(root) = heir.duty.as_ref().and_then(|duty| duty.root.as_ref()) {
            let forbidden = &mut Arc::make_mut(&mut heir.policy).folders.forbidden;
            let copies = copied_paths(forbidden, &self.options.root, root);
            forbidden.extend(copies);
            let parent = &self.options.root;
            let parents = [parent.clone(), ostler_host::real_path(parent)];
            let folders = &mut Arc::make_mut(&mut heir.policy).folders;
            folders.copied_from.extend(parents);
            folders.copied_from.dedup();
        }
        let prefix = match (heir.prefix.take(), &heir.duty) {
            (Some(prefix), _) => prefix,
            (None, duty) => hub.prefix_for(duty.as_ref(), &heir.offer),
        };
        let mut past = hub.fresh(from, entries);
        past.child_of = heir.duty.as_ref().map(|duty| ChildOf {
            session: heir.parent.clone(),
            call: duty.call.clone(),
            role: duty.role.clone(),
        });
        hub.start(Parts {
            past,
            prefix,
            model: model.map_err(|e| HubError(e.to_string()))?,
            offer: heir.offer.clone(),
            heir: Some(heir),
            notes: Vec::new(),
        })
    }

    /// The hub as a child with this duty finds it: its tools, and its tree.
    fn serving(&self, duty: Option<&Duty>) -> Self {
        let Some(duty) = duty else {
            return self.clone();
        };
        let mut options = Options::clone(&self.options);
        options.tool_filter.clone_from(&duty.filter);
        options.mode = None;
        if duty.max_steps > 0 {
            options.max_steps = duty.max_steps;
        }
        options.interactive &= duty.attended;
        if !duty.network {
            options.tools.sandbox.policy.network = Network::Loopback;
        }
        let mut hub = self.clone();
        if let Some(root) = &duty.root {
            move_to(&mut options, root);
            hub.writing = Arc::new(Semaphore::new(1));
        }
        hub.options = Arc::new(options);
        hub
    }

    fn prefix_for(&self, duty: Option<&Duty>, offer: &Offer) -> Prefix {
        let options = &self.options;
        let tools = self.tools();
        let homes = (options.home.as_path(), options.user_home.as_deref());
        let scope = Scope::new(&options.root, options.user_home.clone());
        let border = options.policy.instructions_border(&scope);
        let found = instructions::load(homes, &options.root, &border, options.language);
        let mut parts = vec![listing(offer, &tools)];
        if let Some(duty) = duty.filter(|duty| !duty.persona.is_empty()) {
            parts.push(format!("# Role: {}\n{}", duty.role, duty.persona));
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
        let system = prompt::render(tools, &self.options.operator, &sections.join("\n\n"));
        Prefix {
            system: self.options.redactor.text(system),
            tools: tools.specs(),
        }
    }
}

/// Makes a desk that of a child.
pub fn settle(desk: &mut Desk, heir: Heir) {
    desk.policy = heir.policy;
    Arc::make_mut(&mut desk.scope).trees = desk.policy.folders.trees();
    desk.standing.inherit(heir.standing);
    desk.manner.effort = heir.effort;
    desk.account.role = budget::TASK.into();
    desk.account.purse = heir.purse;
    let Some(duty) = heir.duty else {
        return;
    };
    if desk.account.budget.has_role(&duty.role) {
        desk.account.role.clone_from(&duty.role);
    }
    desk.shop.saves = std::mem::take(&mut desk.shop.saves).below();
    desk.offers.crew.depth = duty.depth;
    desk.offers.crew.role = Some(duty.role);
    desk.offers.crew.skill = duty.skill;
}

impl Crew {
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            settings: options.crew.clone(),
            home: options.home.clone(),
            ..Self::default()
        }
    }
}

/// Works in another tree: what was allowed in the root is allowed there, and nothing in the root.
fn move_to(options: &mut Options, root: &Path) {
    let old = std::mem::replace(&mut options.root, root.to_owned());
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
    let policy = &mut options.tools.sandbox.policy;
    shift(&mut policy.writable);
    let mut protect = policy.protect.clone();
    shift(&mut protect);
    policy.protect.extend(protect);
    policy.protect.push(root.join(".git"));
    let forbidden = copied_paths(&policy.forbid_read, &old, root);
    policy.forbid_read.extend(forbidden.iter().cloned());
    options.tools.sandbox.sealed.extend(forbidden);
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
