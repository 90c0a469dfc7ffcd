//! What a session may do: the rules of the configuration, and what lies where for its tools: which folders belong to the
//! work, which do not, and which nobody reads.

mod server_rules;

use crate::boot::{Boot, no_tool};
use crate::flags::PermissionMode;
use crate::grants::{self, named_skill_folders, own_skills};
use anyhow::anyhow;
use ostler_config::keys;
use ostler_config::layers::RuleList;
use ostler_config::schema;
use ostler_config::text::Speak as _;
use ostler_config::tree::Layer;
use ostler_engine::confine::SandboxMode;
use ostler_engine::sources::Reader;
use ostler_engine::tool::Scope;
use ostler_engine::tools::unknown_tool;
use ostler_guard::{
    Containment, Fallback, Folders, Headless, Policy, Posture, Reading, Rule, Rules,
};
use ostler_host::Border;
use ostler_wire::{Say as _, Word};
use std::path::{Path, PathBuf};

/// Bytes of a system prompt.
const MAX_PROMPT_FILE: u64 = 1 << 20;

/// Each path is resolved once, however many others it is compared with.
pub fn folders(boot: &Boot) -> anyhow::Result<Folders> {
    ostler_host::sight::at_once(|| folders_now(boot))
}

fn folders_now(boot: &Boot) -> anyhow::Result<Folders> {
    let places = &boot.places;
    let mut inside = grants::granted(boot);
    inside.extend(grants::memory(boot));
    inside.extend(grants::temp_folder(boot));
    inside.extend(own_skills(boot));
    let mut forbidden = grants::forbidden(boot)?;
    forbidden.extend(keys::held_in(&boot.loaded, places.user_config()));
    let mut protected = vec![places.home.clone()];
    protected.extend(named_skill_folders(boot));
    let mut protected = real(protected);
    // Links of these are no folders with all that they lead to.
    protected.extend(grants::read_by_git(boot));
    Ok(Folders {
        inside: real(inside),
        public: real(grants::toolchains(boot)),
        outside: real(vec![places.home.clone()]),
        forbidden: real(forbidden),
        protected,
        own: Vec::new(),
        copied_from: Vec::new(),
    })
}

pub fn policy(boot: &Boot) -> anyhow::Result<Policy> {
    let language = boot.language;
    let permissions = &boot.loaded.config.permissions;
    let mut rules = Rules::default();
    let mut faults = Vec::new();
    let servers = server_rules::ServerNames::new(&boot.servers);
    for rule in boot
        .loaded
        .rules()
        .into_iter()
        .flat_map(|r| servers.bind(r))
    {
        match Rule::parse(&rule.text, &rule.place.to_string()) {
            Ok(parsed) => match (rule.list, unknown_tool(&parsed)) {
                (RuleList::Allow, _) => rules.allow.push(parsed),
                (RuleList::Ask, _) => rules.ask.push(parsed),
                (RuleList::Deny, None) => rules.deny.push(parsed),
                (RuleList::Deny, Some(name)) => faults.push(language.filled(
                    Word::BootRuleIdle,
                    &[&rule.place, &rule.text, &no_tool(name)],
                )),
            },
            Err(error) => faults.push(error.say(language)),
        }
    }
    if boot.loaded.config.tools.shell_confirm {
        let place = "tools.shell_confirm";
        rules.ask.extend(Rule::parse("Bash", place));
    }
    // A rule that cannot be read might be the one that should have stopped something.
    if !faults.is_empty() {
        let faults: Vec<String> = faults.iter().map(|f| ostler_wire::printable(f)).collect();
        return Err(anyhow!("{}", faults.join("\n")));
    }
    Ok(Policy {
        rules,
        fallback: match permissions.mode {
            schema::PermissionMode::Ask => Fallback::Ask,
            schema::PermissionMode::Allow => Fallback::Allow,
            schema::PermissionMode::Deny => Fallback::Deny,
        },
        headless: match permissions.headless {
            schema::Headless::Sandbox => Headless::Sandbox,
            schema::Headless::Allow => Headless::Allow,
            schema::Headless::Deny => Headless::Deny,
        },
        posture: match (boot.global.yolo, boot.global.permission_mode) {
            (true, _) | (false, Some(PermissionMode::Yolo)) => Posture::Yolo,
            (false, Some(PermissionMode::Auto)) => Posture::Auto,
            (false, Some(PermissionMode::Edits)) => Posture::Edits,
            (false, Some(PermissionMode::Ask) | None) => Posture::Ask,
        },
        containment: containment(boot),
        sealed: boot.places.sealed(),
        reserved: reserved(boot),
        added: added(boot),
        folders: folders(boot)?,
    })
}

/// Folders besides the project that the flags and the settings let commands and file tools change.
fn added(boot: &Boot) -> Vec<PathBuf> {
    let project = ostler_config::paths::real(&boot.places.root);
    let granted = grants::granted(boot).into_iter();
    granted.filter(|folder| *folder != project).collect()
}

/// What holds commands here. That a project turned the sandbox off is no consent of the person.
pub fn containment(boot: &Boot) -> Containment {
    let held = contained(boot);
    match boot.wants_pane() {
        true => in_pane(held),
        false => held,
    }
}

/// What holds commands in a pane that the person shares: nothing, whatever would elsewhere.
pub fn in_pane(held: Containment) -> Containment {
    match held {
        Containment::Waived => Containment::Waived,
        Containment::Sandbox | Containment::SandboxOnline | Containment::Missing => {
            Containment::Missing
        }
    }
}

fn contained(boot: &Boot) -> Containment {
    let by_project = boot.loaded.layer_of(&["sandbox", "bash"]) == Some(Layer::Project);
    match grants::mode(boot) {
        SandboxMode::Off if by_project && !boot.global.no_sandbox => Containment::Missing,
        SandboxMode::Off => Containment::Waived,
        SandboxMode::Enforce | SandboxMode::Require => match grants::active(boot) {
            Ok(_) if boot.loaded.config.sandbox.network => Containment::SandboxOnline,
            Ok(_) => Containment::Sandbox,
            Err(_) => Containment::Missing,
        },
    }
}

/// What no tool changes, wherever the home lies.
pub fn reserved(boot: &Boot) -> Vec<PathBuf> {
    let mut all = boot.places.reserved();
    all.push(boot.sessions_dir());
    all.extend(grants::deciding(boot));
    all.sort();
    all.dedup();
    all
}

/// Which files a person may point at. Settings that cannot be read have stopped the start before.
pub fn border(boot: &Boot) -> Border {
    let trees = folders(boot).map_or_else(|_| Vec::new(), |folders| folders.trees());
    let scope = Scope::new(boot.places.root.clone(), boot.places.user_home.clone());
    let scope = scope.with_trees(trees);
    let reading = Reading {
        tool: None,
        posture: Posture::Ask,
        attended: true,
        granted: &[],
    };
    let border = policy(boot).map(|policy| policy.border(&scope, reading));
    border.unwrap_or_default()
}

/// Reads what the project brings for the model, by the rules for reading.
pub fn reader(boot: &Boot) -> Reader {
    let language = boot.language;
    let scope = Scope::new(boot.places.root.clone(), boot.places.user_home.clone());
    let border = policy(boot).map(|policy| policy.instructions_border(&scope));
    Reader::new(border.unwrap_or_default(), language)
}

/// The text of a prompt file. Rules for reading bind one that a project names, and no link leads it out of the project; a
/// trusted project may name a file elsewhere by its path, which the question of trust has shown.
pub fn prompt_file(boot: &Boot, file: &Path) -> Result<String, String> {
    let language = boot.language;
    let layer = boot.loaded.layer_of(&["agent", "system_prompt_file"]);
    if layer != Some(Layer::Project) {
        return Reader::unbound(language).read_text(file, MAX_PROMPT_FILE);
    }
    let reader = reader(boot);
    let root = &boot.places.root;
    match boot.loaded.workspace.is_trusted() && !file.starts_with(root) {
        true => reader.read_text(file, MAX_PROMPT_FILE),
        false => reader.read_inside(file, root, MAX_PROMPT_FILE),
    }
}

/// Each path as it is named and as it is without symlinks.
fn real(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = paths
        .iter()
        .map(|path| ostler_host::real_path(path))
        .collect();
    all.extend(paths);
    all.sort();
    all.dedup();
    all
}
