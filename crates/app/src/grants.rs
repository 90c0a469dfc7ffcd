//! Where commands and file tools may read and write because of the configuration, the flags and the folders of this
//! machine, and which layer of the sandbox holds commands. Rules are `policy`, the settings of the sandbox `sandbox`.

mod git;
mod included;
mod reader;
mod temp;

use crate::boot::{Boot, agents};
use anyhow::anyhow;
pub use git::{Git, enclosing};
pub use included::{InReach, find as settings_of_git, of_person as git_settings_of_person};
use ostler_config::paths::{Env, absolute, is_inside, real};
use ostler_config::schema;
use ostler_config::text::phrase;
use ostler_engine::confine::SandboxMode;
use ostler_engine::sources::Owner;
use ostler_engine::tool::normalise;
use ostler_host::Programs;
use ostler_host::sandbox::{self, Choice, Layer, Plan, Policy};
use ostler_wire::{Say, Why, Word};
pub use reader::Ground;
use std::ffi::OsStr;
use std::path::PathBuf;
pub use temp::{
    find as find_temp, folder as temp_folder, remove as remove_temp, shared as shared_temp,
    visible as visible_in_temp,
};

/// Of our own home, because they decide what runs later or what a model is told.
pub const DECIDING: [&str; 7] = [
    "AGENTS.md",
    "agents",
    "commands",
    "hooks",
    "plugins",
    "skills",
    "themes",
];
/// In our own home, the caches of commands: a folder for each project.
pub const COMMAND_CACHES: &str = "cache/commands";
const BUBBLEWRAP: &str = "bwrap";
pub const SHARED_MEMORY: &str = "/dev/shm";
/// Folders that everybody writes in.
const SHARED: [&str; 3] = ["/tmp", "/var/tmp", SHARED_MEMORY];

/// The mode that holds: `--no-sandbox` wins.
pub fn mode(boot: &Boot) -> SandboxMode {
    match (boot.global.no_sandbox, boot.loaded.config.sandbox.bash) {
        (true, _) | (false, schema::SandboxMode::Off) => SandboxMode::Off,
        (false, schema::SandboxMode::Enforce) => SandboxMode::Enforce,
        (false, schema::SandboxMode::Require) => SandboxMode::Require,
    }
}

/// Where file tools and commands may write because somebody said so.
pub fn granted(boot: &Boot) -> Vec<PathBuf> {
    let config = &boot.loaded.config.sandbox;
    let workspace = config.workspace_root.clone().map(PathBuf::from);
    let narrow = Some(&boot.places.root).filter(|_| !boot.places.has_wide_root());
    let mut folders: Vec<PathBuf> = workspace.or_else(|| narrow.cloned()).into_iter().collect();
    let added = boot.global.add_dir.iter();
    folders.extend(added.map(|folder| boot.places.cwd.join(folder)));
    folders.extend(config.allow_write.iter().map(PathBuf::from));
    // What the next start runs is not changed by commands, whoever named it.
    let home = &boot.places.home;
    folders.retain(|folder| !(is_inside(folder, home) && is_inside(home, folder)));
    // Settled now: what a link leads to later, when a command could have made it, is not what was granted.
    folders.iter().map(|path| real(&normalise(path))).collect()
}

/// The layer that confines commands here, or why there is none.
pub fn active(boot: &Boot) -> Result<Layer, String> {
    let language = boot.language;
    let choice = layer(boot);
    if choice == Choice::Bubblewrap {
        let policy = Policy {
            layer: choice,
            bubblewrap: bubblewrap(boot),
            ..Policy::default()
        };
        return match Plan::prepare(&policy) {
            Ok(_) => Ok(Layer::Bubblewrap),
            Err(sandbox::Error::Unavailable { wanted, reason }) => {
                Err(Why::ours(Word::BoxLack, [wanted, reason]).say(language))
            }
            Err(error) => Err(error.say(language)),
        };
    }
    let report = sandbox::probe();
    let fits = |layer: &&Layer| match choice {
        Choice::Auto | Choice::Off | Choice::Bubblewrap => true,
        Choice::Namespaces => **layer == Layer::Namespaces,
        Choice::Landlock => **layer == Layer::Landlock,
    };
    report
        .layers
        .iter()
        .find(fits)
        .copied()
        .ok_or_else(|| report.lacks().say(language))
}

pub fn layer(boot: &Boot) -> Choice {
    match boot.loaded.config.sandbox.layer {
        schema::SandboxLayer::Auto => Choice::Auto,
        schema::SandboxLayer::Namespaces => Choice::Namespaces,
        schema::SandboxLayer::Landlock => Choice::Landlock,
        schema::SandboxLayer::Bubblewrap => Choice::Bubblewrap,
    }
}

pub fn bubblewrap(boot: &Boot) -> Option<PathBuf> {
    programs(boot).find(BUBBLEWRAP)
}

/// What is run outside of the sandbox, by us or for the person: never from a folder that commands may write in.
pub fn programs(boot: &Boot) -> Programs {
    let mut changeable = granted(boot);
    changeable.extend(
        Some(&boot.places.root)
            .filter(|_| !boot.places.has_wide_root())
            .cloned(),
    );
    let has_own_tmp = match layer(boot) {
        Choice::Landlock | Choice::Off => false,
        Choice::Bubblewrap => true,
        Choice::Auto | Choice::Namespaces => sandbox::probe().layers.contains(&Layer::Namespaces),
    };
    if mode(boot) == SandboxMode::Off || !has_own_tmp {
        changeable.extend(shared_temp(boot));
        changeable.extend(SHARED.map(PathBuf::from));
    }
    changeable.push(boot.places.home.join(COMMAND_CACHES));
    Programs::new(boot.env.get("PATH").map(OsStr::new), &changeable)
}

/// What of the person's home readers see, and file tools read unasked: toolchains and named settings.
pub fn toolchains(boot: &Boot) -> Vec<PathBuf> {
    if mode(boot) == SandboxMode::Off {
        return Vec::new();
    }
    let mut roots = granted(boot);
    roots.push(boot.places.root.clone());
    let ground = Ground {
        env: &boot.env,
        home: boot.places.user_home.as_deref(),
        roots: &roots,
    };
    ground.reader().shown
}

pub fn forbidden(boot: &Boot) -> anyhow::Result<Vec<PathBuf>> {
    let language = boot.language;
    let places = &boot.places;
    let mut paths = Vec::new();
    for written in &boot.loaded.config.sandbox.forbid_read {
        let expanded = expand(written, &boot.env)
            .map_err(|why| anyhow!("`sandbox.forbid_read`: {written:?}: {}", why.say(language)))?;
        let home = places.user_home.as_deref();
        paths.push(absolute(&expanded, &places.root, home));
        // Who runs with another HOME has keys in the home of the account all the same.
        let account = ostler_host::account_home().filter(|_| expanded.starts_with('~'));
        let other = account.map(|home| absolute(&expanded, &places.root, Some(&home)));
        paths.extend(other.filter(|path| path.exists()));
    }
    paths.dedup();
    paths.extend(boot.places.sealed());
    Ok(paths)
}

/// `${VAR}` and `${VAR:-x}`. A path that would silently become another one is refused.
fn expand(text: &str, env: &Env) -> Result<String, Why> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inner, after) = after
            .split_once('}')
            .ok_or_else(|| Why::from(Word::NoBrace))?;
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let value = env.get(name).map(String::as_str).filter(|v| !v.is_empty());
        out.push_str(before);
        out.push_str(
            value
                .or(default)
                .ok_or_else(|| phrase(Word::UnsetVariable, &[&name, &name]))?,
        );
        rest = after;
    }
    out.push_str(rest);
    match out.is_empty() {
        true => Err(Word::IsEmpty.into()),
        false => Ok(out),
    }
}

/// In a home that lies in the project: what decides what runs later. A home that the person added by name is theirs to change.
pub fn deciding(boot: &Boot) -> Vec<PathBuf> {
    let home = &boot.places.home;
    match is_inside(home, &boot.places.root) {
        true => DECIDING.map(|name| home.join(name)).to_vec(),
        false => Vec::new(),
    }
}

/// Facts of this project and those for all of them. What is remembered about others is theirs.
pub fn memory(boot: &Boot) -> [PathBuf; 2] {
    let name = ostler_engine::store::project_name(&boot.places.root);
    [name.as_str(), "global"].map(|name| boot.places.memory().join(name))
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

/// The project and every folder that somebody let commands write in: each may hold a repository and the settings of programs.
pub fn protected_roots(boot: &Boot, granted: &[PathBuf]) -> Vec<PathBuf> {
    let mut roots = vec![boot.places.root.clone()];
    for folder in granted.iter().filter(|folder| folder.is_dir()) {
        let is_known = |root: &PathBuf| is_inside(folder, root) && is_inside(root, folder);
        if folder.is_absolute() && !roots.iter().any(is_known) {
            roots.push(folder.clone());
        }
    }
    roots
}

/// What tools do not change because the person's own git reads it as settings, and the links by which it finds that.
pub fn read_by_git(boot: &Boot) -> Vec<PathBuf> {
    let files = included::find(boot, &protected_roots(boot, &granted(boot)));
    let each = files.into_iter();
    each.flat_map(|file| file.links.into_iter().chain([file.real]))
        .collect()
}

/// Folders of skills in the project that the settings name. One that holds the project protects nothing.
pub fn named_skill_folders(boot: &Boot) -> Vec<PathBuf> {
    let root = &boot.places.root;
    let paths = boot.loaded.config.skills.paths.iter().map(PathBuf::from);
    paths
        .filter(|path| is_inside(path, root) && !is_inside(root, path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_forbidden_paths() {
        let env: Env = [("A", "/a"), ("EMPTY", "")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into();
        for (text, expect) in [
            ("~/.ssh", Some("~/.ssh")),
            ("${A}/x", Some("/a/x")),
            ("${A:-/b}/x", Some("/a/x")),
            ("${B:-/b}/x${A}", Some("/b/x/a")),
            ("${EMPTY:-/b}", Some("/b")),
            ("${B:-}x", Some("x")),
            ("$A/x", Some("$A/x")),
            ("${B}/x", None),
            ("${EMPTY}/x", None),
            ("${B:-}", None),
            ("${A", None),
        ] {
            assert_eq!(expand(text, &env).ok().as_deref(), expect, "{text}");
        }
    }
}
