//! What commands may touch, from the configuration, the flags and the folders of this machine. Enforcing it is `host`.

mod denied;
mod git;
mod home;
mod reader;
mod stores;
mod temp;

use crate::boot::Boot;
use crate::config::paths::{Env, RUNNING, USUAL_HOME, absolute, is_inside, real};
use crate::config::schema;
use crate::config::{agents, keys};
use crate::speech::{filled, language, spoken};
use anyhow::{anyhow, bail};
use denied::Denied;
use git::Git;
use ostler_engine::confine::{Caches, GitFolders, Reader, SandboxMode, SandboxSettings};
use ostler_engine::tool::{Scope, normalise};
use ostler_host::Programs;
use ostler_host::sandbox::{self, Choice, Layer, Network, Plan, Policy};
use ostler_wire::{Say, Why, Word};
use reader::Ground;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
pub use temp::{folder as temp_folder, remove as remove_temp};

/// Of our own home, because they decide what runs later or what a model is told.
const DECIDING: [&str; 7] = [
    "AGENTS.md",
    "agents",
    "commands",
    "hooks",
    "plugins",
    "skills",
    "themes",
];
/// Of the protected names of a project, those of which more is known than the name.
const APART: [&str; 2] = [".git", ".ostler"];
/// In our own home, the caches of commands: a folder for each project.
const COMMAND_CACHES: &str = "cache/commands";
const BUBBLEWRAP: &str = "bwrap";
const SHARED_MEMORY: &str = "/dev/shm";
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
    let narrow = Some(&boot.places.root).filter(|_| !has_wide_root(boot));
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

/// Whether the project is the person's home, holds it, or is the whole disk. Then nothing is writable because of it.
fn has_wide_root(boot: &Boot) -> bool {
    let root = &boot.places.root;
    let holds_home = |home: &PathBuf| is_inside(home, root);
    root.parent().is_none() || boot.places.user_home.as_ref().is_some_and(holds_home)
}

/// A word for who works in their home, above it or in `/`, where nothing may be changed.
pub fn wide_root_notice(boot: &Boot) -> Option<String> {
    let named = boot.loaded.config.sandbox.workspace_root.is_some();
    let root = boot.places.root.display();
    (has_wide_root(boot) && !named).then(|| filled(Word::WideRoot, &[&root]))
}

/// The settings of a session. Who wants no command without a sandbox gets none.
pub fn wanted(boot: &Boot) -> anyhow::Result<SandboxSettings> {
    check_tildes(boot)?;
    if mode(boot) == SandboxMode::Require
        && let Err(why) = active(boot)
    {
        bail!(filled(Word::SandboxRequired, &[&why]));
    }
    let settings = settings(boot)?;
    if settings.mode != SandboxMode::Off {
        home::check(boot, &settings.policy.writable)?;
    }
    Ok(settings)
}

/// The layer that confines commands here, or why there is none.
pub fn active(boot: &Boot) -> Result<Layer, String> {
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
                Err(Why::ours(Word::BoxLack, [wanted, reason]).say(language()))
            }
            Err(error) => Err(error.say(language())),
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
        .ok_or_else(|| report.lacks().say(language()))
}

fn layer(boot: &Boot) -> Choice {
    match boot.loaded.config.sandbox.layer {
        schema::SandboxLayer::Auto => Choice::Auto,
        schema::SandboxLayer::Namespaces => Choice::Namespaces,
        schema::SandboxLayer::Landlock => Choice::Landlock,
        schema::SandboxLayer::Bubblewrap => Choice::Bubblewrap,
    }
}

fn bubblewrap(boot: &Boot) -> Option<PathBuf> {
    programs(boot).find(BUBBLEWRAP)
}

/// What is run outside of the sandbox, by us or for the person: never from a folder that commands may write in.
pub fn programs(boot: &Boot) -> Programs {
    let mut changeable = granted(boot);
    changeable.extend(
        Some(&boot.places.root)
            .filter(|_| !has_wide_root(boot))
            .cloned(),
    );
    let has_own_tmp = match layer(boot) {
        Choice::Landlock | Choice::Off => false,
        Choice::Bubblewrap => true,
        Choice::Auto | Choice::Namespaces => sandbox::probe().layers.contains(&Layer::Namespaces),
    };
    if mode(boot) == SandboxMode::Off || !has_own_tmp {
        changeable.extend(temp::shared(boot));
        changeable.extend(SHARED.map(PathBuf::from));
    }
    changeable.push(boot.places.home.join(COMMAND_CACHES));
    Programs::new(boot.env.get("PATH").map(OsStr::new), &changeable)
}

pub fn settings(boot: &Boot) -> anyhow::Result<SandboxSettings> {
    let mode = mode(boot);
    if mode == SandboxMode::Off {
        return Ok(SandboxSettings::default());
    }
    let mut forbid_read = forbidden(boot)?;
    let mut sealed = boot.places.sealed();
    let denied = denied(boot);
    let granted = granted(boot);
    let roots = protected_roots(boot, &granted);
    let git = Git::of_all(&roots);
    let mut writable = granted;
    writable.extend(git.writable.iter().cloned());
    check_conflicts(&writable, &forbid_read)?;
    // Nobody asked for these, so they give way.
    let open = |path: &PathBuf| path.exists() && !forbid_read.iter().any(|f| is_inside(path, f));
    let mut seen = writable.clone();
    seen.push(boot.places.root.clone());
    let ground = Ground {
        env: &boot.env,
        home: boot.places.user_home.as_deref(),
        roots: &seen,
    };
    let temp = temp::find(boot, active(boot).ok());
    // Where no folder of our own is seen in its place, the one that all share stays writable.
    if !temp.as_ref().is_some_and(|temp| temp.is_tmp) {
        writable.extend(temp::shared(boot));
    }
    let downloads = ground.downloads().into_iter().filter(&open);
    let downloads = downloads.map(|path| real(&path)).collect();
    writable.extend([PathBuf::from(SHARED_MEMORY)].into_iter().filter(open));
    writable.retain(|path| path.is_absolute());
    writable.iter_mut().for_each(|path| *path = real(path));
    let mut protect = git.protect;
    protect.extend(roots.iter().flat_map(|root| protected_names(boot, root)));
    protect.extend(denied.write);
    // A rule on the whole project binds by itself; covered, nothing could be done in it at all.
    let narrow = |path: &PathBuf| !writable.iter().any(|w| is_inside(w, path));
    let hidden: Vec<PathBuf> = denied.read.into_iter().filter(narrow).collect();
    forbid_read.extend(hidden.iter().cloned());
    sealed.extend(hidden);
    let keys = keys::held_in(&boot.loaded, boot.places.user_config());
    forbid_read.extend(keys.iter().cloned());
    sealed.extend(keys);
    protect.extend(named_config(boot));
    protect.extend(agents::named_skill_folders(&boot.loaded, &boot.places));
    for paths in [&mut forbid_read, &mut sealed, &mut protect] {
        add_real(paths);
    }
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
            visible: temp::visible(boot),
            network: network(boot),
            layer: layer(boot),
            bubblewrap: bubblewrap(boot).filter(|_| layer(boot) == Choice::Bubblewrap),
            ..Policy::default()
        },
        sealed,
        stores,
        program: std::env::current_exe().ok(),
        downloads,
        caches: Some(caches(boot)),
        reader: reader(boot, &ground),
        temp,
        git: GitFolders {
            settings: git.settings,
            elsewhere: git.writable,
            roots,
        },
    })
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
fn check_conflicts(writable: &[PathBuf], forbid_read: &[PathBuf]) -> anyhow::Result<()> {
    for path in writable {
        if let Some(outer) = forbid_read.iter().find(|outer| is_inside(path, outer)) {
            let conflict = sandbox::Error::Conflict {
                inner: path.clone(),
                outer: outer.clone(),
            };
            bail!(filled(Word::SandboxConflict, &[&conflict]));
        }
    }
    Ok(())
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

/// What readers see, and of our own home what models are told to read.
fn reader(boot: &Boot, ground: &Ground<'_>) -> Reader {
    let mut reader = ground.reader();
    reader.shown.extend(crate::folders::memory(boot));
    reader.shown.extend(crate::folders::own_skills(boot));
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
    // Where it is required, nothing starts, and that says why.
    match mode(boot) {
        SandboxMode::Off | SandboxMode::Require => return None,
        SandboxMode::Enforce => {}
    }
    let why = active(boot).err()?;
    Some(filled(Word::SandboxNone, &[&why]))
}

/// Of rules that cannot be read the start itself complains.
fn denied(boot: &Boot) -> Denied {
    let scope = Scope::new(boot.places.root.clone(), boot.places.user_home.clone());
    let scope = scope.with_trees(granted(boot));
    boot.policy()
        .map(|policy| Denied::find(&policy.rules.deny, &scope))
        .unwrap_or_default()
}

/// Of more rules than are looked for everywhere, the sandbox may not hide all that they name.
pub fn too_many_rules(boot: &Boot) -> Option<String> {
    let policy = boot.policy().ok()?;
    let rules = Denied::count(&policy.rules.deny);
    let is_told = mode(boot) != SandboxMode::Off && rules > denied::MAX_RULES;
    is_told.then(|| filled(Word::SandboxManyRules, &[&rules, &denied::MAX_RULES]))
}

/// `~` without a home would silently be another path: the start says so instead.
fn check_tildes(boot: &Boot) -> anyhow::Result<()> {
    if boot.places.user_home.is_some() {
        return Ok(());
    }
    let forbidden = boot.loaded.config.sandbox.forbid_read.iter().cloned();
    let rules = boot.loaded.rules().into_iter().map(|rule| rule.text);
    let below_home = |text: &String| text.starts_with('~') || text.contains("(~");
    match forbidden.chain(rules).find(below_home) {
        Some(text) => bail!(filled(Word::NoTilde, &[&text])),
        None => Ok(()),
    }
}

pub fn forbidden(boot: &Boot) -> anyhow::Result<Vec<PathBuf>> {
    let places = &boot.places;
    let mut paths = Vec::new();
    for written in &boot.loaded.config.sandbox.forbid_read {
        let expanded = expand(written, &boot.env)
            .map_err(|why| anyhow!("`sandbox.forbid_read`: {written:?}: {why}"))?;
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
fn expand(text: &str, env: &Env) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inner, after) = after
            .split_once('}')
            .ok_or_else(|| spoken(Word::NoBrace).to_owned())?;
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let value = env.get(name).map(String::as_str).filter(|v| !v.is_empty());
        out.push_str(before);
        out.push_str(
            value
                .or(default)
                .ok_or_else(|| filled(Word::UnsetVariable, &[&name, &name]))?,
        );
        rest = after;
    }
    out.push_str(rest);
    match out.is_empty() {
        true => Err(spoken(Word::IsEmpty).into()),
        false => Ok(out),
    }
}

/// The project and every folder that somebody let commands write in: each may hold a repository and the settings of programs.
fn protected_roots(boot: &Boot, granted: &[PathBuf]) -> Vec<PathBuf> {
    let mut roots = vec![boot.places.root.clone()];
    for folder in granted.iter().filter(|folder| folder.is_dir()) {
        let is_known = |root: &PathBuf| is_inside(folder, root) && is_inside(root, folder);
        if folder.is_absolute() && !roots.iter().any(is_known) {
            roots.push(folder.clone());
        }
    }
    roots
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

/// In a home that lies in the project: what decides what runs later. A home that the person added by name is theirs to change.
pub fn deciding(boot: &Boot) -> Vec<PathBuf> {
    let home = &boot.places.home;
    match is_inside(home, &boot.places.root) {
        true => DECIDING.map(|name| home.join(name)).to_vec(),
        false => Vec::new(),
    }
}

/// Another file of settings that the person named: the next start with the same flag reads it again.
fn named_config(boot: &Boot) -> Option<PathBuf> {
    let named = boot.global.config.as_ref()?;
    Some(boot.places.cwd.join(named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{hooks, paths, project};
    use crate::front;

    /// Whatever Ostler itself reads of a project that runs, or tells a model what to do, is changed by nobody but the person.
    #[test]
    fn what_is_read_of_a_project_is_protected() {
        let mut read: Vec<&str> = vec![paths::PROJECT_CONFIG];
        read.extend(project::SERVERS);
        read.extend(hooks::SETTINGS);
        read.extend(front::COMMANDS);
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
