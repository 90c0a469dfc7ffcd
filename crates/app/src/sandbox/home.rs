//! Ostler's own home as commands meet it: what they see of it, what they cannot change where it lies in a folder that they
//! may write to, and whether this layer can hold that at all. Reads the disk; makes the home if it is not there.

use crate::boot::Boot;
use crate::grants::{active, own_skills};
use crate::policy::reserved;
use anyhow::bail;
use ostler_config::paths::{absolute, is_inside};
use ostler_config::text::Speak as _;
use ostler_host::sandbox::{ClosedFolder, Layer};
use ostler_wire::Word;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Of the home, what models are told to read and what hooks and plugins are made of. Everything else is hidden.
const SHOWN: [&str; 8] = [
    "AGENTS.md",
    "agents",
    "commands",
    "hooks",
    "memory",
    "plugins",
    "skills",
    "themes",
];
/// In the home, the trees of sub-agents: a folder for each project.
const WORKTREES: &str = "worktrees";
/// Links that are followed on the way to the home.
const MAX_LINKS: usize = 40;

/// The home, closed but for what commands need. Not if it is everything a person has.
pub fn closed(boot: &Boot) -> Vec<ClosedFolder> {
    let home = &boot.places.home;
    let person = &boot.places.user_home;
    if person.iter().any(|person| is_inside(person, home)) {
        return Vec::new();
    }
    let project = ostler_engine::store::project_name(&boot.places.root);
    let mut shown: Vec<PathBuf> = SHOWN.map(|name| home.join(name)).to_vec();
    shown.push(home.join(WORKTREES).join(project));
    shown.extend(own_skills(boot));
    shown.extend(named_programs(boot));
    shown.retain(|path| path != home && is_inside(path, home));
    vec![ClosedFolder {
        folder: home.clone(),
        shown,
    }]
}

/// Files of the home that hooks and servers name: their programs run in the sandbox too.
fn named_programs(boot: &Boot) -> Vec<PathBuf> {
    let places = &boot.places;
    let reserved = reserved(boot);
    let sealed = places.sealed();
    let is_ours = |path: &PathBuf| {
        let mut ours = reserved.iter().chain(&sealed);
        ours.any(|own| path.starts_with(own))
    };
    let commands = boot.hooks.hooks.iter().map(|hook| hook.command.as_str());
    let words = commands.flat_map(|command| command.split_whitespace());
    let servers = boot.servers.iter().map(|one| &one.plugin);
    let arguments = servers.flat_map(|plugin| plugin.command.iter().chain(&plugin.args));
    let words = words.chain(arguments.map(String::as_str));
    let paths = words.map(|word| {
        let word = word.trim_matches(['"', '\'', ';']);
        let word = word.replace("$HOME", "~").replace("${HOME}", "~");
        let home = places.home.display().to_string();
        let word = word
            .replace("$OSTLER_HOME", &home)
            .replace("${OSTLER_HOME}", &home);
        absolute(&word, &places.root, places.user_home.as_deref())
    });
    paths
        .filter(|path| is_inside(path, &places.home) && path.is_file() && !is_ours(path))
        .collect()
}

/// Stops the start where a command could put another home, or files of one, in the place of this one: the next start would
/// run what it names.
pub fn check(boot: &Boot, writable: &[PathBuf]) -> anyhow::Result<()> {
    let language = boot.language;
    let home = &boot.places.home;
    // Without a layer nothing is held anyway, and that is said.
    let Ok(layer) = active(boot) else {
        return Ok(());
    };
    let links = links(home);
    let by_link = links.iter().find_map(|link| holder_of(link, writable));
    if let Some(folder) = by_link {
        let shown = [home.display(), folder.display()];
        bail!(language.filled(Word::HomeByLink, &[&shown[0], &shown[1]]));
    }
    let Some(holder) = writable.iter().find(|path| is_inside(home, path)) else {
        return Ok(());
    };
    // What is not there cannot be closed.
    ostler_host::private_dir(home)?;
    match layer {
        Layer::Landlock => {
            let (home, holder) = (home.display(), holder.display());
            bail!(language.filled(Word::HomeInReach, &[&home, &holder, &layer.name()]))
        }
        Layer::Namespaces | Layer::Bubblewrap => Ok(()),
    }
}

fn holder_of<'a>(link: &Path, writable: &'a [PathBuf]) -> Option<&'a PathBuf> {
    let folder = link.parent()?;
    writable.iter().find(|path| is_inside(folder, path))
}

/// The links that are followed on the way to a path, each where it really lies.
fn links(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut at = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = parts(path);
    while let Some(part) = rest.pop() {
        if part == Path::new("..") {
            at.pop();
            continue;
        }
        at.push(part);
        let Ok(target) = fs::read_link(&at) else {
            continue;
        };
        found.push(at.clone());
        if found.len() >= MAX_LINKS {
            break;
        }
        match target.is_absolute() {
            true => at = PathBuf::from("/"),
            false => drop(at.pop()),
        }
        rest.extend(parts(&target));
    }
    found
}

/// The names of a path, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    let named = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<PathBuf> = named.collect();
    parts.reverse();
    parts
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_link_on_the_way_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/deep/home")).unwrap();
        symlink("real", top.join("a")).unwrap();
        symlink(top.join("a/deep"), top.join("b")).unwrap();
        symlink("../deep/home", top.join("real/deep/c")).unwrap();
        let check = |path: &str, expect: &[&str]| {
            let found = links(&top.join(path));
            let expect: Vec<PathBuf> = expect.iter().map(|name| top.join(name)).collect();
            assert_eq!(found, expect, "{path}");
        };
        check("real/deep/home", &[]);
        check("a/deep/home", &["a"]);
        check("b/home", &["b", "a"]);
        check("b/c", &["b", "a", "real/deep/c"]);
        check("not/there", &[]);
        symlink("loop", top.join("loop")).unwrap();
        assert_eq!(links(&top.join("loop/x")).len(), MAX_LINKS);
    }
}
