//! What lies where for the file tools of a session: which folders belong to the work, which do not, and which nobody reads.

use crate::boot::Boot;
use crate::config::tree::Layer;
use crate::config::{agents, keys};
use crate::sandbox;
use ostler_engine::sources::{Owner, Reader};
use ostler_engine::tool::Scope;
use ostler_guard::{Folders, Posture, Reading};
use ostler_host::Border;
use std::path::{Path, PathBuf};

/// Bytes of a system prompt.
const MAX_PROMPT_FILE: u64 = 1 << 20;

pub fn folders(boot: &Boot) -> anyhow::Result<Folders> {
    let places = &boot.places;
    let mut inside = sandbox::granted(boot);
    inside.extend(memory(boot));
    inside.extend(sandbox::temp_folder(boot));
    inside.extend(own_skills(boot));
    let mut forbidden = sandbox::forbidden(boot)?;
    forbidden.extend(keys::held_in(&boot.loaded, places.user_config()));
    let mut protected = vec![places.home.clone()];
    protected.extend(agents::named_skill_folders(&boot.loaded, &boot.places));
    Ok(Folders {
        inside: real(inside),
        public: real(sandbox::toolchains(boot)),
        outside: real(vec![places.home.clone()]),
        forbidden: real(forbidden),
        protected: real(protected),
        own: Vec::new(),
        copied_from: Vec::new(),
    })
}

/// Facts of this project and those for all of them. What is remembered about others is theirs.
pub fn memory(boot: &Boot) -> [PathBuf; 2] {
    let name = ostler_engine::store::project_name(&boot.places.root);
    [name.as_str(), "global"].map(|name| boot.places.memory().join(name))
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
    let border = boot.policy().map(|policy| policy.border(&scope, reading));
    border.unwrap_or_default()
}

/// Reads what the project brings for the model, by the rules for reading.
pub fn reader(boot: &Boot) -> Reader {
    let scope = Scope::new(boot.places.root.clone(), boot.places.user_home.clone());
    let border = boot
        .policy()
        .map(|policy| policy.instructions_border(&scope));
    Reader::new(border.unwrap_or_default(), crate::speech::language())
}

/// The text of a prompt file. One that an untrusted project names lies in the project, and rules for reading bind it.
pub fn prompt_file(boot: &Boot, file: &Path) -> Result<String, String> {
    let layer = boot.loaded.layer_of(&["agent", "system_prompt_file"]);
    if layer != Some(Layer::Project) {
        return Reader::unbound(crate::speech::language()).read_text(file, MAX_PROMPT_FILE);
    }
    let reader = reader(boot);
    match boot.loaded.workspace.is_trusted() {
        true => reader.read_text(file, MAX_PROMPT_FILE),
        false => reader.read_inside(file, &boot.places.root, MAX_PROMPT_FILE),
    }
}

/// Folders of the person's own skills, whose texts name files beside them. Those of a project lie in the project.
pub fn own_skills(boot: &Boot) -> Vec<PathBuf> {
    let sources = agents::settings(&boot.loaded, &boot.places).skills.sources;
    let own = sources.into_iter().filter(|source| match source.owner {
        Owner::Person => true,
        Owner::Project { .. } => false,
    });
    own.map(|source| source.path).collect()
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
