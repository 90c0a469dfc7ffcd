//! What commands may touch, from the configuration, the flags and the folders of this machine. Enforcing it is `host`.

mod denied;
mod home;
mod stores;

use crate::boot::Boot;
use crate::grants::{
    COMMAND_CACHES, DECIDING, Git, Ground, InReach, SHARED_MEMORY, active, bubblewrap, enclosing,
    find_temp, forbidden, git_settings_of_person, granted, layer, mode, named_skill_folders,
    own_skills, protected_roots, settings_of_git, shared_temp, visible_in_temp,
};
use crate::policy::policy;
use anyhow::bail;
use denied::Denied;
use ostler_config::keys;
use ostler_config::paths::{RUNNING, USUAL_HOME, is_inside, real};
use ostler_config::text::Speak as _;
use ostler_engine::confine::{
    Caches, CommandPlace, GitFolders, Reader, SandboxMode, SandboxSettings,
};
use ostler_engine::tool::Scope;
use ostler_host::sandbox::{self, Choice, Layer, Network, Policy};
use ostler_host::sight;
use ostler_wire::{Language, Word};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// Of the protected names of a project, those of which more is known than the name.
const APART: [&str; 2] = [".git", ".ostler"];
/// The settings of a session. Who wants no command without a sandbox gets none.
pub fn wanted(boot: &Boot) -> anyhow::Result<SandboxSettings> {
    let language = boot.language;
    check_tildes(boot)?;
    if mode(boot) == SandboxMode::Require
        && let Err(why) = active(boot)
    {
        bail!(language.filled(Word::SandboxRequired, &[&why]));
    }
    let settings = settings(boot)?;
    if settings.mode != SandboxMode::Off {
        home::check(boot, &settings.policy.writable)?;
    }
    Ok(settings)
}

/// Each path is resolved once, however many others it is compared with.
pub fn settings(boot: &Boot) -> anyhow::Result<SandboxSettings> {
    match mode(boot) {
        SandboxMode::Off => Ok(SandboxSettings::default()),
        mode @ (SandboxMode::Enforce | SandboxMode::Require) => {
            sight::at_once(|| settings_now(boot, mode))
        }
    }
}

fn settings_now(boot: &Boot, mode: SandboxMode) -> anyhow::Result<SandboxSettings> {
    let mut forbid_read = forbidden(boot)?;
    let mut sealed = boot.places.sealed();
    let denied = denied(boot);
    let granted = granted(boot);
    let roots = protected_roots(boot, &granted);
    check_parts_of_git(&roots, boot.language)?;
    let git = Git::of_all(&roots);
    let mut writable = granted;
    writable.extend(git.writable.iter().cloned());
    check_conflicts(&writable, &forbid_read, boot.language)?;
    // Nobody asked for these, so they give way.
    let open = |path: &PathBuf| path.exists() && !forbid_read.iter().any(|f| is_inside(path, f));
    let mut seen = writable.clone();
    seen.push(boot.places.root.clone());
    let ground = Ground {
        env: &boot.env,
        home: boot.places.user_home.as_deref(),
        roots: &seen,
    };
    let temp = find_temp(boot, active(boot).ok());
    // Where no folder of our own is seen in its place, the one that all share stays writable.
    if !temp.as_ref().is_some_and(|temp| temp.is_tmp) {
        writable.extend(shared_temp(boot));
    }
    let downloads = ground.downloads().into_iter().filter(&open);
    let downloads: Vec<PathBuf> = downloads.map(|path| real(&path)).collect();
    writable.extend([PathBuf::from(SHARED_MEMORY)].into_iter().filter(open));
    writable.retain(|path| path.is_absolute());
    writable.iter_mut().for_each(|path| *path = real(path));
    // A rule on the whole project binds by itself; covered, nothing could be done in it at all.
    let narrow = |path: &PathBuf| !writable.iter().any(|w| is_inside(w, path));
    let mut hidden: Vec<PathBuf> = denied.read.into_iter().filter(narrow).collect();
    hidden.extend(keys::held_in(&boot.loaded, boot.places.user_config()));
    forbid_read.extend(hidden.iter().cloned());
    sealed.extend(hidden);
    let caches = caches(boot);
    let own = downloads.iter().chain([&caches.folder]);
    let in_reach: Vec<PathBuf> = writable.iter().chain(own).cloned().collect();
    let protect = git.protect.into_iter().chain(denied.write).collect();
    let protect = protected_paths(boot, &roots, &in_reach, protect);
    add_real(&mut forbid_read);
    add_real(&mut sealed);
    // What lies in it is to be written all the same.
    let stores = stores::find(boot).into_iter().filter(narrow).collect();
    Ok(SandboxSettings {
        mode,
        records: Some(records(boot, &writable)),
        policy: Policy {
            writable,
            forbid_read,
            closed: home::closed(boot),
            protect,
            compared: git.compared,
            visible: visible_in_temp(boot),
            network: network(boot),
            layer: layer(boot),
            bubblewrap: bubblewrap(boot).filter(|_| layer(boot) == Choice::Bubblewrap),
            ..Policy::default()
        },
        sealed,
        uncovered: denied.incomplete,
        stores,
        program: std::env::current_exe().ok(),
        downloads,
        caches: Some(caches),
        reader: reader(boot, &ground),
        temp,
        git: GitFolders {
            settings: git.settings,
            elsewhere: git.writable,
            roots,
            home: boot.places.user_home.clone(),
        },
        place: CommandPlace::Here,
    })
}

/// These paths and all else that commands do not change: names in these folders, files that settings name, and what of the
/// person's git settings is in reach.
fn protected_paths(
    boot: &Boot,
    roots: &[PathBuf],
    in_reach: &[PathBuf],
    mut protect: Vec<PathBuf>,
) -> Vec<PathBuf> {
    protect.extend(roots.iter().flat_map(|root| protected_names(boot, root)));
    protect.extend(named_settings(boot));
    let read_by_git = InReach::new(&settings_of_git(boot, roots), in_reach);
    protect.extend(read_by_git.files);
    add_real(&mut protect);
    // Only the links: what else they lead to is to be changed.
    protect.extend(read_by_git.links);
    protect
}

/// A part of a git folder cannot be protected by itself.
fn check_parts_of_git(roots: &[PathBuf], language: Language) -> anyhow::Result<()> {
    let part = roots.iter().find_map(|root| Some((root, enclosing(root)?)));
    let Some((root, folder)) = part else {
        return Ok(());
    };
    let (root, folder) = (root.display().to_string(), folder.display().to_string());
    bail!(language.filled(Word::SandboxPartOfGit, &[&root, &folder]))
}

fn network(boot: &Boot) -> Network {
    match boot.loaded.config.sandbox.network {
        true => Network::On,
        false => Network::Proxy,
    }
}

/// Where sessions write down what was there before their commands. Those of all homes of a person find each other in the
/// usual one, unless commands could write there: what stands in it is put back into projects.
fn records(boot: &Boot, writable: &[PathBuf]) -> PathBuf {
    let usual = boot.places.user_home.as_ref();
    let usual = usual.map(|home| home.join(USUAL_HOME).join(RUNNING));
    let is_closed = |path: &PathBuf| !writable.iter().any(|folder| is_inside(path, folder));
    let own = || boot.places.home.join(RUNNING);
    usual.filter(is_closed).unwrap_or_else(own)
}

/// Adds what these paths lead to now. A command may change a link on the way; what was hidden or protected stays so.
fn add_real(paths: &mut Vec<PathBuf>) {
    let named: HashSet<PathBuf> = paths.iter().cloned().collect();
    let found: Vec<PathBuf> = paths.iter().map(|path| real(path)).collect();
    let new = found.into_iter().filter(|path| !named.contains(path));
    paths.extend(new.collect::<BTreeSet<PathBuf>>());
}

/// What may be written lies in nothing that may not be read.
fn check_conflicts(
    writable: &[PathBuf],
    forbid_read: &[PathBuf],
    language: Language,
) -> anyhow::Result<()> {
    for path in writable {
        if let Some(outer) = forbid_read.iter().find(|outer| is_inside(path, outer)) {
            let conflict = sandbox::Error::Conflict {
                inner: path.clone(),
                outer: outer.clone(),
            };
            bail!(language.filled(Word::SandboxConflict, &[&conflict]));
        }
    }
    Ok(())
}

/// What readers see, and of our own home what models are told to read.
fn reader(boot: &Boot, ground: &Ground<'_>) -> Reader {
    let mut reader = ground.reader();
    reader.shown.extend(crate::grants::memory(boot));
    reader.shown.extend(own_skills(boot));
    reader.shown.extend(git_settings_of_person(boot));
    reader
}

/// Where tools keep their caches when they run in the sandbox: one folder for each project.
fn caches(boot: &Boot) -> Caches {
    let folder = boot.places.home.join(COMMAND_CACHES);
    let folder = real(&folder.join(boot.store().project()));
    Caches {
        variables: Ground::caches(&folder),
        folder,
    }
}

/// A word for who runs commands where no layer works.
pub fn nothing_holds(boot: &Boot) -> Option<String> {
    let language = boot.language;
    // Of another place the session itself says what holds there.
    if boot.machines.place.get().is_some() {
        return None;
    }
    // Where it is required, nothing starts, and that says why.
    match mode(boot) {
        SandboxMode::Off | SandboxMode::Require => return None,
        SandboxMode::Enforce => {}
    }
    let why = active(boot).err()?;
    Some(language.filled(Word::SandboxNone, &[&why]))
}

/// Of rules that cannot be read the start itself complains.
fn denied(boot: &Boot) -> Denied {
    let scope = Scope::new(boot.places.root.clone(), boot.places.user_home.clone());
    let scope = scope.with_trees(granted(boot));
    policy(boot)
        .map(|policy| Denied::find(&policy.rules.deny, &scope))
        .unwrap_or_default()
}

/// `~` without a home would silently be another path: the start says so instead.
fn check_tildes(boot: &Boot) -> anyhow::Result<()> {
    let language = boot.language;
    if boot.places.user_home.is_some() {
        return Ok(());
    }
    let forbidden = boot.loaded.config.sandbox.forbid_read.iter().cloned();
    let rules = boot.loaded.rules().into_iter().map(|rule| rule.text);
    let below_home = |text: &String| text.starts_with('~') || text.contains("(~");
    match forbidden.chain(rules).find(below_home) {
        Some(text) => bail!(language.filled(Word::NoTilde, &[&text])),
        None => Ok(()),
    }
}

/// At the top of a folder.
fn protected_names(boot: &Boot, root: &Path) -> Vec<PathBuf> {
    let names =
        ostler_guard::protected_names().filter(|name| !APART.contains(name) && !name.contains('*'));
    let mut names: Vec<PathBuf> = names.map(|name| root.join(name)).collect();
    names.extend(own_folder(boot, root));
    names
}

/// `.ostler` of a folder, except what Ostler itself writes there while commands run: those names are protected one by one.
fn own_folder(boot: &Boot, root: &Path) -> Vec<PathBuf> {
    let folder = root.join(".ostler");
    let home = &boot.places.home;
    let by_mount = active(boot).is_ok_and(|layer| layer != Layer::Landlock);
    let holds_home = is_inside(home, &folder);
    let holds_sessions = is_inside(&boot.sessions_dir(), &folder);
    match (holds_home, holds_sessions) {
        // A home is closed.
        (true, _) if is_inside(&folder, home) => Vec::new(),
        (false, false) => vec![folder],
        (false, true) if by_mount && folder.is_dir() => vec![folder],
        (true, _) | (false, true) => {
            let mut names = DECIDING.map(|name| folder.join(name)).to_vec();
            names.extend(["config.toml", "mcp.local.json"].map(|name| folder.join(name)));
            names
        }
    }
}

/// Files and folders that settings name and that decide what runs later.
fn named_settings(boot: &Boot) -> Vec<PathBuf> {
    let mut named = named_skill_folders(boot);
    named.extend(named_config(boot));
    named
}

/// Another file of settings that the person named: the next start with the same flag reads it again.
fn named_config(boot: &Boot) -> Option<PathBuf> {
    let named = boot.global.config.as_ref()?;
    Some(boot.places.cwd.join(named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wiring;
    use ostler_config::{agents, hooks, paths, project};

    /// Whatever Ostler itself reads of a project that runs, or tells a model what to do, is changed by nobody but the person.
    #[test]
    fn what_is_read_of_a_project_is_protected() {
        let mut read: Vec<&str> = vec![paths::PROJECT_CONFIG];
        read.extend(project::SERVERS);
        read.extend(hooks::SETTINGS);
        read.extend(wiring::COMMANDS);
        read.extend(agents::PROJECT.map(|(folder, _)| folder));
        let scope = Scope::new("/project", None);
        let by_tools = ostler_guard::Folders::default().protected(&scope, &[]);
        for name in read {
            let path = Path::new("/project").join(name);
            assert!(
                by_tools.holds(&path) && by_tools.holds(&path.join("x/y")),
                "{name}"
            );
            let mut names = ostler_guard::protected_names();
            let by_sandbox = names.any(|own| Path::new(name).starts_with(own));
            assert!(by_sandbox, "{name}");
        }
    }
}
