//! What the calls for roles of one folder have in common: its configuration, its rules, its sandbox and its roles. It is made
//! with the first call and again when something changed that it was made from.

use crate::boot::{Boot, agents};
use crate::delegates::Delegates;
use crate::errors::Told as _;
use crate::policy::reader;
use crate::wiring::{policy_for, tool_filter, tool_settings};
use ostler_config::hooks::SETTINGS;
use ostler_config::paths::Places;
use ostler_config::project::SERVERS;
use ostler_config::{agents as brought, three};
use ostler_engine::agents::foreign::Approval;
use ostler_engine::confine::{HistoryGround, SandboxSettings, Services};
use ostler_engine::roles::Roles;
use ostler_engine::sources::{Source, Wanted, files};
use ostler_engine::tools::{Tools, declarations};
use ostler_guard::{Policy, Posture, Rule};
use ostler_host::raw::{Mark, mark};
use ostler_llm::Secret;
use ostler_wire::ToolMark;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Folders, clients and ways to ask that are remembered.
const MAX_KEPT: usize = 16;
/// How far times of files may lie behind the clock: what changed so shortly before a look may have changed once more in the
/// same tick.
const COARSE: Duration = Duration::from_millis(2100);
/// Files of the person's home that say who may do what and who they are.
const OF_HOME: [&str; 3] = ["auth.json", "mcp.json", "trust.json"];
/// What git reads of a project before anything else.
const OF_GIT: [&str; 4] = [
    ".git",
    ".git/config",
    ".git/config.worktree",
    ".git/worktrees",
];
/// The person's own settings of git.
const GIT_OF_PERSON: [&str; 2] = [".gitconfig", ".config/git/config"];

/// For the calls of one folder.
pub struct Ground {
    pub boot: Boot,
    pub policy: Arc<Policy>,
    pub agents: Delegates,
    pub roles: Roles,
    pub approval: Approval,
    /// Folders that the person lets commands change.
    pub granted: Vec<PathBuf>,
    /// Whether its tools are those that may have others work.
    pub has_tool: bool,
    services: Services,
}

/// Whose calls they are.
#[derive(Clone, PartialEq, Eq)]
pub struct GroundKey {
    pub root: PathBuf,
    /// Whose documents of Three count.
    pub client: Option<String>,
    pub can_ask: bool,
}

/// The grounds of a server.
#[derive(Default)]
pub struct Grounds(Mutex<Vec<Kept>>);

struct Kept {
    key: GroundKey,
    ground: Arc<Ground>,
    seen: Seen,
}

impl Grounds {
    /// The ground of these calls, made anew if something changed. The error is for the model of the client.
    pub fn find(&self, server: &Boot, key: &GroundKey) -> Result<Arc<Ground>, String> {
        {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = kept.iter().position(|one| one.key == *key) {
                let one = kept.remove(at);
                if one.seen.holds() {
                    let ground = one.ground.clone();
                    kept.push(one);
                    return Ok(ground);
                }
            }
        }
        let began = SystemTime::now();
        let before = Seen::before(server, key);
        let ground = Ground::make(server, key).map_err(|error| server.language.told(&error))?;
        let ground = Arc::new(ground);
        if let Some(seen) = before.with(&ground, began) {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.retain(|one| one.key != *key);
            if kept.len() == MAX_KEPT {
                kept.remove(0);
            }
            kept.push(Kept {
                key: key.clone(),
                ground: ground.clone(),
                seen,
            });
        }
        Ok(ground)
    }
}

impl Ground {
    fn make(server: &Boot, key: &GroundKey) -> anyhow::Result<Self> {
        let mut env = server.env.clone();
        if let Some(client) = &key.client {
            env.insert(three::CLIENT.into(), client.clone());
        }
        let boot = server.of_task(&key.root, server.global.clone(), env)?;
        boot.redactor
            .learn(boot.secrets().iter().map(Secret::reveal));
        let hidden = boot.key_variables();
        let (tools, sandbox) = tool_settings(&boot, &hidden)?;
        ostler_host::hide(hidden.iter().map(String::as_str));
        let policy = Arc::new(policy_for(&boot, key.can_ask)?);
        let services = Services {
            policy: policy.clone(),
            allow_private: tools.allow_private.clone(),
            served: tools.served,
            // Nobody approves what it runs, so it takes nothing of the history.
            history: Some(HistoryGround {
                root: boot.places.root.clone(),
                place: None,
            }),
            call_id: "three".into(),
            root: Some(boot.places.root.clone()),
            user_home: boot.places.user_home.clone(),
            ..Services::without_session(boot.host(), sandbox)
        };
        Ok(Self {
            agents: Delegates::new(&boot, &hidden),
            roles: roles(&boot),
            approval: match policy.posture {
                Posture::Auto | Posture::Yolo => Approval::Given,
                Posture::Ask | Posture::Edits => Approval::Held,
            },
            granted: tools.writable,
            has_tool: is_among_tools(&boot),
            services,
            policy,
            boot,
        })
    }

    /// What the programs of one call are started with. The plans of its sandbox hold for other calls, too.
    pub fn services(&self) -> Services {
        if let Some(temp) = &self.services.sandbox.temp {
            // What cannot be made is said by the program that wants it.
            let _ = temp.scratch.make();
        }
        Services {
            share: Arc::new(self.services.share.beside()),
            ..self.services.clone()
        }
    }
}

/// Whether a tool that has other agents work is among those that the server was started with.
fn is_among_tools(boot: &Boot) -> bool {
    let tools = Tools::new(&tool_filter(boot));
    declarations()
        .filter(|about| about.has(ToolMark::NeedsBackends))
        .any(|about| tools.names().any(|name| name == about.name))
}

/// The roles that name a model.
fn roles(boot: &Boot) -> Roles {
    let settings = agents::settings(&boot.loaded, &boot.places);
    let (mut roles, _) = Roles::load(&settings.role_sources, &settings.roles, &reader(boot));
    roles.0.retain(|role| role.model.is_some());
    roles
}

/// The files and folders that a ground was made from, as they were.
struct Seen {
    /// What was read: another content counts.
    read: Vec<(PathBuf, Option<Mark>)>,
    /// What is only named: whether it is there, and as what.
    named: Vec<(PathBuf, Option<Mark>)>,
}

impl Seen {
    /// Files that are known before anything was read, so that no change is missed.
    fn before(server: &Boot, key: &GroundKey) -> Self {
        let places = Places {
            root: key.root.clone(),
            ..server.places.clone()
        };
        let config = server.global.config.as_deref();
        let configs = ostler_config::paths::config_files(&places, config);
        let mut paths: BTreeSet<PathBuf> = configs.into_iter().map(|file| file.path).collect();
        paths.extend([places.dotenv(), places.trust(), places.local_rules()]);
        paths.extend(OF_HOME.map(|name| places.home.join(name)));
        paths.extend(three::documents(&places, key.client.as_deref()));
        let of_project = SERVERS.iter().chain(&SETTINGS);
        paths.extend(of_project.map(|name| places.root.join(name)));
        if let Some(home) = &places.user_home {
            paths.extend(SETTINGS.map(|name| home.join(name)));
            paths.extend(GIT_OF_PERSON.map(|name| home.join(name)));
        }
        for (folder, wanted) in brought::PROJECT {
            add_folder(&mut paths, &places.root.join(folder), wanted);
        }
        let of_home = [("agents", Wanted::Roles), (".claude/agents", Wanted::Roles)];
        let homes = [Some(&places.home), places.user_home.as_ref()];
        for ((folder, wanted), home) in of_home.into_iter().zip(homes) {
            if let Some(home) = home {
                add_folder(&mut paths, &home.join(folder), wanted);
            }
        }
        Self::of(paths, OF_GIT.map(|name| places.root.join(name)))
    }

    fn of(
        read: impl IntoIterator<Item = PathBuf>,
        named: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        Self {
            read: read.into_iter().map(looked_at).collect(),
            named: named.into_iter().map(looked_at).collect(),
        }
    }

    /// Whether all that was read had stayed the same for so long that another change would show.
    fn is_settled(&self, began: SystemTime) -> bool {
        let settled = began.checked_sub(COARSE);
        let since = settled.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let since = since.and_then(|since| i64::try_from(since.as_nanos()).ok());
        let mut marks = self.read.iter().filter_map(|(_, mark)| mark.as_ref());
        since.is_some_and(|since| marks.all(|mark| mark.mtime.max(mark.ctime) < since))
    }

    /// With what the ground names. None where what was seen cannot tell that nothing changed.
    fn with(mut self, ground: &Ground, began: SystemTime) -> Option<Self> {
        let sandbox = &ground.services.sandbox;
        // What such a rule names may be new by the next call.
        if ground.policy.rules.deny.iter().any(Rule::is_about_paths) {
            return None;
        }
        let settings = agents::settings(&ground.boot.loaded, &ground.boot.places);
        let known: BTreeSet<PathBuf> = self.read.iter().map(|(path, _)| path.clone()).collect();
        let mut more = BTreeSet::new();
        for Source { path, .. } in &settings.role_sources {
            add_folder(&mut more, path, Wanted::Roles);
        }
        more.extend(sandbox.git.settings.iter().cloned());
        self.read.extend(
            more.into_iter()
                .filter(|path| !known.contains(path))
                .map(looked_at),
        );
        self.named.extend(named(sandbox).map(looked_at));
        self.is_settled(began).then_some(self)
    }

    fn holds(&self) -> bool {
        let is_thing =
            |one: &Mark, other: &Mark| (one.inode, one.mode) == (other.inode, other.mode);
        let is_same =
            |path: &Path, before: &Option<Mark>, same: &dyn Fn(&Mark, &Mark) -> bool| match (
                before,
                mark_of(path),
            ) {
                (Some(before), Some(now)) => same(before, &now),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
        let mut read = self.read.iter();
        let mut named = self.named.iter();
        read.all(|(path, before)| is_same(path, before, &Mark::eq))
            && named.all(|(path, before)| is_same(path, before, &is_thing))
    }
}

/// Paths that the sandbox hides, protects or opens.
fn named(sandbox: &SandboxSettings) -> impl Iterator<Item = PathBuf> {
    let policy = &sandbox.policy;
    let lists = [
        &policy.writable,
        &policy.forbid_read,
        &policy.protect,
        &policy.compared,
        &sandbox.reader.others,
        &sandbox.reader.shown,
        &sandbox.reader.hidden,
        &sandbox.downloads,
    ];
    let all: BTreeSet<PathBuf> = lists.into_iter().flatten().cloned().collect();
    all.into_iter()
}

/// The folder, and the files in it that count.
fn add_folder(paths: &mut BTreeSet<PathBuf>, folder: &Path, wanted: Wanted) {
    paths.insert(folder.to_owned());
    for file in files(folder, wanted).0 {
        paths.extend(file.parent().map(Path::to_owned));
        paths.insert(file);
    }
}

fn looked_at(path: PathBuf) -> (PathBuf, Option<Mark>) {
    let mark = mark_of(&path);
    (path, mark)
}

/// Of what a link leads to, too: one that is turned leads to another file.
fn mark_of(path: &Path) -> Option<Mark> {
    std::fs::metadata(path).ok().map(|meta| mark(&meta))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_a_ground_was_made_from_is_looked_at_again() {
        type Change = fn(&Path);
        let changes: [(&str, bool, Change); 9] = [
            ("nothing", true, |_| {}),
            ("a file that nobody reads", true, |top| {
                fs::write(top.join("other"), "").unwrap();
            }),
            ("more in a folder that is only named", true, |top| {
                fs::write(top.join("named/inner"), "").unwrap();
            }),
            ("another text", false, |top| {
                fs::write(top.join("config"), "other").unwrap();
            }),
            ("a file instead of it", false, |top| {
                fs::write(top.join("new"), "text").unwrap();
                fs::rename(top.join("new"), top.join("config")).unwrap();
            }),
            ("one that was not there", false, |top| {
                fs::write(top.join("missing"), "").unwrap();
            }),
            ("a role more", false, |top| {
                fs::write(top.join("roles/b.md"), "").unwrap();
            }),
            ("a folder that is named goes", false, |top| {
                fs::rename(top.join("named"), top.join("moved")).unwrap();
            }),
            ("a link is turned", false, |top| {
                fs::remove_file(top.join("link")).unwrap();
                symlink("roles", top.join("link")).unwrap();
            }),
        ];
        for (what, expect, change) in changes {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path();
            for folder in ["roles", "named"] {
                fs::create_dir(top.join(folder)).unwrap();
            }
            fs::write(top.join("config"), "text").unwrap();
            fs::write(top.join("roles/a.md"), "a").unwrap();
            symlink("named", top.join("link")).unwrap();
            let mut read = BTreeSet::from(["config", "missing"].map(|name| top.join(name)));
            add_folder(&mut read, &top.join("roles"), Wanted::Roles);
            let seen = Seen::of(read, ["named", "link"].map(|name| top.join(name)));
            change(top);
            assert_eq!(seen.holds(), expect, "{what}");
        }
    }

    #[test]
    fn what_has_just_changed_is_not_believed_to_stay() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config");
        fs::write(&file, "text").unwrap();
        let seen = Seen::of([file], []);
        let now = SystemTime::now();
        assert!(!seen.is_settled(now));
        assert!(seen.is_settled(now + COARSE * 2));
    }
}
