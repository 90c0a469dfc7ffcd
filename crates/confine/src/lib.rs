//! A command in the sandbox: its plan before, its proxy while it runs, and afterwards what was refused or had to be put
//! back. What commands may touch is settled by whoever fills `SandboxSettings`, and by the terms of a call.

#[cfg(all(test, target_os = "linux"))]
mod call_tests;
pub mod checkpoints;
mod environment;
mod folders;
mod git_settings;
pub mod helpers;
mod history;
mod outside;
mod place;
mod protection;
mod search;
mod settings;
mod shape;
mod share;
mod spawn;
pub mod testing;
mod verdict;
pub mod worktree;

pub use history::HistoryGround;
pub use outside::{
    Changeable, Launch, PROJECT_VARIABLE, Start, independent_folder, named_files, start_outside,
    start_plainly,
};
pub use settings::{Caches, CommandPlace, GitFolders, Reader, SandboxMode, SandboxSettings, Temp};
pub use share::SandboxShare;
pub use spawn::{CallSandbox, Services, SpawnError, Spawned, spawn};

use folders::Folders;
use git_settings::SettingsCopies;
use ostler_guard::Rule;
use ostler_host::proxy::{self, Asked, Guest, HostRule, Reach, WayOut};
use ostler_host::sandbox::{self, Layer, Network, PROXY, Plan, Policy, Records};
use ostler_host::{Command, Exit, Process, sight};
use ostler_store::artifacts::Artifacts;
use ostler_tools::SandboxReport;
use ostler_tools::sandbox_report::{Change, HostRequest};
use ostler_tools::tool::ToolError;
use ostler_wire::Why;
use protection::{Ground, Guarded};
use serde::{Deserialize, Serialize};
use share::Common;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Variables by which programs find a proxy. Many read only one case of them.
const PROXY_VARIABLES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];
/// The name beside the token. It says nothing.
const GUEST: &str = "t";
/// Servers that commands of the session start.
const DIRECT_VARIABLES: [&str; 2] = ["no_proxy", "NO_PROXY"];
const DIRECT: &str = "localhost,127.0.0.1,::1,0.0.0.0";
/// Has the one interpreter that would not look at the variables above do so.
const NODE_VARIABLE: &str = "NODE_USE_ENV_PROXY";
const GIT_SSH: [&str; 2] = ["GIT_SSH_COMMAND", "GIT_SSH"];
/// Most files of a session's archive that commands see.
const MAX_OWN_FILES: usize = 64;
/// The hidden mode of the binary that connects through the proxy, for programs that speak to a pipe.
pub const CONNECT_MODE: &str = "__connect";

/// What holds for one command beyond the settings: less while planning, more by what was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// The reader's sandbox: nothing may be written, no host reached, and of the home little is seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// It may write, but sees no more of the home and the machine than a reader: nobody approved what it reads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sees_as_reader: bool,
    /// What it sees all the same, unless that is forbidden.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<PathBuf>,
    /// Hosts that may be reached, as in a `Net(…)` rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<PathBuf>,
    /// Of what may not be read otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readable: Vec<PathBuf>,
    /// The socket of the ssh agent may be talked to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ssh_agent: bool,
}

/// What became of the wish to confine a command.
pub enum Outcome {
    /// Nobody wished it.
    Free,
    /// The system cannot; why.
    Unavailable(Why),
    Confined(Box<Confined>),
}

/// A command that runs in the sandbox.
pub struct Confined {
    policy: Policy,
    layer: Layer,
    plan: Arc<Plan>,
    /// None for a reader, which changes nothing.
    guarded: Option<Guarded>,
    terms: Arc<Terms>,
    /// The way to single hosts, where there is one.
    way: Option<Way>,
    cwd: PathBuf,
    folders: Folders,
    /// Settings of the repository that the command may change.
    copies: SettingsCopies,
    services: Services,
}

/// The way of a command to single hosts.
enum Way {
    Here(Guest),
    /// By a proxy at the place.
    There(WayOut),
}

impl Way {
    fn token(&self) -> &str {
        match self {
            Self::Here(guest) => guest.token(),
            Self::There(way) => &way.token,
        }
    }

    /// What was asked for.
    fn end(self) -> Vec<Asked> {
        match self {
            Self::Here(guest) => guest.end(),
            Self::There(way) => search::lock(&way.asked).clone(),
        }
    }
}

/// By which a command is known to a proxy. Nobody can guess it.
fn token() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Makes the plan and remembers what it cannot hold. To be called right before the command, which `put_on` is to be
/// given: `spawn` does both.
async fn prepare(
    services: &Services,
    command: &Command,
    terms: &Terms,
) -> Result<Outcome, SpawnError> {
    let mode = services.sandbox.mode;
    if mode == SandboxMode::Off {
        return Ok(Outcome::Free);
    }
    if let CommandPlace::Elsewhere(layer) = services.sandbox.place {
        let reach = reach(services, terms).map_err(SpawnError::Terms)?;
        return Ok(place::prepare(services, command, (terms, reach), layer));
    }
    let reach = reach(services, terms).map_err(SpawnError::Terms)?;
    let made = match common(services, terms).await {
        Ok(common) => {
            let online = common.is_some() && reach.leads_anywhere();
            let guest = common
                .as_ref()
                .map(|common| common.proxy.admit(token(), reach));
            let network = common.map(|common| common.network.clone());
            let (services, terms) = (services.clone(), Arc::new(terms.clone()));
            let (cwd, env) = (command.cwd.clone(), command.env.clone());
            let made = move || {
                let folders = Folders::make(&services.sandbox, &terms)?;
                let request = shape::Request {
                    terms: &terms,
                    env: &env,
                    online,
                    artifacts: services.artifacts.as_ref().map(Artifacts::dir),
                    own: &own_files(&services),
                    scratch: folders.own(),
                };
                let mut policy = Policy {
                    shared: network,
                    ..sight::at_once(|| shape::shape(&services.sandbox, &request))
                };
                let mut copies = SettingsCopies::default();
                // Without a session nobody takes the changes over.
                if services.root.is_some() && services.artifacts.is_some() {
                    copies = SettingsCopies::make(&services.sandbox, &terms, &policy.writable)?;
                    policy.links = copies.links();
                }
                let made = Made {
                    cwd,
                    policy,
                    folders,
                    copies,
                };
                make(services, terms, made, guest)
            };
            let lost = |_| {
                let why = "The sandbox could not be prepared.";
                SpawnError::Terms(ToolError::new("sandbox_error", why))
            };
            tokio::task::spawn_blocking(made).await.map_err(lost)?
        }
        Err(error) => Err(error),
    };
    match (made, mode) {
        (Ok(outcome), _) => Ok(outcome),
        (Err(error @ sandbox::Error::Unavailable { .. }), SandboxMode::Enforce) => {
            Ok(Outcome::Unavailable((&error).into()))
        }
        (Err(error), _) => Err(SpawnError::Sandbox(error)),
    }
}

/// Files of our own home that the session may read: the originals of what was folded.
fn own_files(services: &Services) -> Vec<PathBuf> {
    let patterns = services.policy.folders.own.iter();
    let files = patterns.flat_map(|own| {
        let entries = std::fs::read_dir(&own.base).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| own.fits(path)).take(MAX_OWN_FILES)
    });
    files.collect()
}

/// What this command shares with the others of its session. A reader has no network.
async fn common<'a>(
    services: &'a Services,
    terms: &Terms,
) -> Result<Option<&'a Common>, sandbox::Error> {
    let policy = &services.sandbox.policy;
    match policy.network {
        Network::Proxy if terms.read_only => Ok(None),
        Network::Proxy => services.share.get(&*services.host, policy.layer).await,
        Network::Off | Network::Loopback | Network::On => Ok(None),
    }
}

/// What was made for a command before its plan.
struct Made {
    cwd: PathBuf,
    policy: Policy,
    folders: Folders,
    copies: SettingsCopies,
}

fn make(
    services: Services,
    terms: Arc<Terms>,
    made: Made,
    guest: Option<Guest>,
) -> Result<Outcome, sandbox::Error> {
    let Made {
        cwd,
        policy,
        folders,
        copies,
    } = made;
    let plan = services.share.plans.prepare(&policy)?;
    let Some(layer) = plan.layer() else {
        return Ok(Outcome::Free);
    };
    Ok(Outcome::Confined(Box::new(Confined {
        guarded: (!terms.read_only).then(|| guard(&services, plan.loose())),
        plan: Arc::new(plan),
        policy,
        layer,
        terms,
        way: guest.map(Way::Here),
        cwd,
        folders,
        copies,
        services,
    })))
}

/// Remembers what no sandbox holds.
fn guard(services: &Services, loose: &[PathBuf]) -> Guarded {
    let aside = services.aside();
    let policy = &services.sandbox.policy;
    let protected = policy.protect.iter().chain(&policy.compared);
    let protected: Vec<PathBuf> = protected.cloned().collect();
    let of_commands = services.sandbox.folders_of_commands();
    services.share.protection.begin(&Ground {
        protected: &protected,
        records: services.sandbox.records.as_deref(),
        loose,
        root: services.root.as_deref(),
        writable: &services.sandbox.policy.writable,
        roots: &services.sandbox.git.roots,
        git_folders: &services.sandbox.git.elsewhere,
        of_commands: &of_commands,
        home: services.sandbox.git.home.as_deref(),
        artifacts: aside.as_ref(),
        history: services.history.as_ref(),
    })
}

/// A call that a program carries out which was started before, such as a server in the sandbox.
pub struct WatchedCall {
    guarded: Guarded,
    call_id: String,
}

impl WatchedCall {
    /// Remembers what that program's sandbox cannot hold. To be called right before the call.
    pub async fn begin(services: Services) -> Option<Self> {
        let is_here = services.sandbox.place == CommandPlace::Here;
        let is_held = services.sandbox.mode != SandboxMode::Off;
        if !is_here || !is_held || sandbox::probe().layers.is_empty() {
            return None;
        }
        let begin = move || {
            // Mounts of a program are as old as itself: what came later is held by none. What holds our own log changes.
            let artifacts = services.artifacts.as_ref().map(Artifacts::dir);
            let is_ours = |path: &&PathBuf| artifacts.is_some_and(|dir| dir.starts_with(path));
            let policy = &services.sandbox.policy;
            let protect = policy.protect.iter().filter(|path| !is_ours(path));
            let loose: Vec<PathBuf> = protect.chain(&policy.compared).cloned().collect();
            Self {
                guarded: guard(&services, &loose),
                call_id: services.call_id,
            }
        };
        tokio::task::spawn_blocking(begin).await.ok()
    }

    /// The same before a checkpoint is brought back. A repository that is gone may come back whole; what git could run
    /// because of it is taken out afterwards like from every repository that is new.
    pub async fn begin_restore(mut services: Services) -> Option<Self> {
        let is_of_lost_repository = |path: &PathBuf| {
            let mut folders = path.ancestors().skip(1);
            let folder = folders.find(|folder| folder.ends_with(".git"));
            folder.is_some_and(|folder| !folder.exists())
        };
        let policy = &mut services.sandbox.policy;
        policy.protect.retain(|path| !is_of_lost_repository(path));
        policy.compared.retain(|path| !is_of_lost_repository(path));
        Self::begin(services).await
    }

    /// Puts back what was changed against the rules.
    pub async fn end(self) -> SandboxReport {
        SandboxReport {
            changes: self.guarded.end(&self.call_id).await,
            ..SandboxReport::default()
        }
    }

    /// The same for what the person does with files that commands made, such as bringing back a checkpoint: waits until
    /// everything was looked at. The paths that were put back or cleaned.
    pub async fn end_wholly(self) -> Vec<PathBuf> {
        let changes = self.guarded.end_wholly(&self.call_id).await;
        changes.into_iter().map(|change| change.path).collect()
    }
}

/// Puts back what commands of a session changed that was killed before it could do so itself. What that was, for the log.
pub async fn recover(services: Services) -> Option<String> {
    let records = services.sandbox.records.clone()?;
    let root = services.root.clone()?;
    let has_leftovers = move || Records::new(records).has_leftovers(&root);
    if !tokio::task::spawn_blocking(has_leftovers).await.ok()? {
        return None;
    }
    let call_id = services.call_id.clone();
    let watched = WatchedCall::begin(services).await?;
    let report = SandboxReport {
        changes: watched.guarded.end_wholly(&call_id).await,
        ..SandboxReport::default()
    };
    let lines = report.lines();
    (!lines.is_empty()).then(|| lines.trim_end().to_owned())
}

/// What rules allow in so many words, and what was granted. That nobody is asked is no grant.
fn reach(services: &Services, terms: &Terms) -> Result<Reach, ToolError> {
    let rules = &services.policy.rules;
    let about_hosts =
        |rules: &[Rule]| -> Vec<HostRule> { rules.iter().filter_map(Rule::host_rule).collect() };
    let granted = terms.hosts.iter().map(|host| {
        let rule = Rule::parse(&format!("Net({host})"), "a grant");
        let rule = rule.map_err(|e| ToolError::new("invalid_input", format!("{e}")))?;
        let no_host = || ToolError::new("invalid_input", format!("{host} is not a host"));
        rule.host_rule().ok_or_else(no_host)
    });
    Ok(Reach {
        allow: about_hosts(&rules.allow),
        ask: about_hosts(&rules.ask),
        deny: about_hosts(&rules.deny),
        granted: granted.collect::<Result<_, _>>()?,
        private: services.allow_private.clone(),
        served: services.served,
        resolve: proxy::system(),
    })
}

impl Confined {
    pub fn put_on(&self, command: &mut Command) {
        command.put_on(&self.plan);
        self.folders
            .point_to(&mut command.env, &self.policy.writable);
        if let Some(way) = &self.way {
            let program = match way {
                Way::Here(_) => self.services.sandbox.program.as_deref(),
                Way::There(_) => None,
            };
            let direct = direct_hosts(&self.services.policy.rules.allow);
            lead(&mut command.env, way.token(), program, &direct);
        }
    }

    /// Puts back what was changed against the rules, and looks for refusals in what was asked of the proxy and what the
    /// command said, `said` one after the other. To be called when the command and all that it started are gone.
    pub async fn end(mut self, exit: Exit, said: &[&str]) -> SandboxReport {
        let hosts = self.way.take().map_or_else(Vec::new, Way::end);
        let request = |asked: &Asked| HostRequest {
            host: asked.host.clone(),
            port: asked.port,
            allowed: asked.allowed,
        };
        SandboxReport {
            denied: verdict::judge(&self, exit, said, &hosts),
            changes: Box::pin(self.put_back()).await,
            hosts: hosts.iter().map(request).collect(),
        }
    }

    fn is_sealed(&self, path: &Path) -> bool {
        let real = std::fs::canonicalize(path);
        let real = real.as_deref().unwrap_or(path);
        let holds = |s: &PathBuf| path.starts_with(s) || real.starts_with(s);
        let settings = &self.services.sandbox;
        let closed = settings.policy.closed.iter().map(|closed| &closed.folder);
        let sealed = settings.sealed.iter().chain(&settings.stores);
        sealed.chain(closed).any(holds)
    }

    /// What the command left in the background may still write: it is looked after. To be called before `end`.
    pub fn take_leftovers(&self, process: &mut Process) {
        if let Some(guarded) = &self.guarded {
            guarded.take_leftovers(process);
        }
    }

    async fn put_back(self) -> Vec<Change> {
        let Some(guarded) = self.guarded else {
            return Vec::new();
        };
        let call_id = self.services.call_id;
        let (name, artifacts, copies) = (call_id.clone(), self.services.artifacts, self.copies);
        let take_over = move || copies.take_over(artifacts.as_ref(), &name);
        let taken = tokio::task::spawn_blocking(take_over).await;
        let mut changes = taken.unwrap_or_default();
        changes.extend(guarded.end(&call_id).await);
        changes
    }
}

/// Names of the machine itself that programs reach without the proxy, where the servers of the session are. One that a
/// rule names is the person's own, which only the proxy reaches.
fn direct_hosts(allow: &[Rule]) -> String {
    let is_granted = |host: &&str| {
        let named = |rule: &Rule| {
            let hosts = rule.hosts().unwrap_or_default();
            let (named, _) = hosts.rsplit_once(':').unwrap_or((hosts, ""));
            hosts == *host || named.trim_matches(['[', ']']) == *host
        };
        allow.iter().any(named)
    };
    let direct: Vec<&str> = DIRECT.split(',').filter(|host| !is_granted(host)).collect();
    direct.join(",")
}

/// Tells programs of the proxy, in the ways they know. Our own proxies are out of their reach.
fn lead(env: &mut Vec<(OsString, OsString)>, token: &str, program: Option<&Path>, direct: &str) {
    let ours = |name: &OsString| {
        let mut names = PROXY_VARIABLES.iter().chain(&DIRECT_VARIABLES);
        names.any(|ours| name == ours)
    };
    env.retain(|(name, _)| !ours(name));
    let mut set = |name: &str, value: &str| env.push((name.into(), value.into()));
    let address = format!("http://{GUEST}:{token}@{PROXY}");
    PROXY_VARIABLES.iter().for_each(|name| set(name, &address));
    DIRECT_VARIABLES.iter().for_each(|name| set(name, direct));
    set(NODE_VARIABLE, "1");
    let has_own = env
        .iter()
        .any(|(name, _)| GIT_SSH.iter().any(|git| name == git));
    if let Some(command) = program.filter(|_| !has_own).and_then(git_ssh) {
        env.push(("GIT_SSH_COMMAND".into(), command.into()));
    }
}

/// What a client of the proxy whose address this is has to say in `Proxy-Authorization`.
pub fn authorization(address: &str) -> Option<String> {
    use base64::Engine as _;
    let (login, _) = address.strip_prefix("http://")?.rsplit_once('@')?;
    let login = base64::engine::general_purpose::STANDARD.encode(login);
    Some(format!("Basic {login}"))
}

/// Read by a shell, then by ssh, then by a shell: a path that one of them would change is left alone.
fn git_ssh(program: &Path) -> Option<String> {
    let path = program.to_str()?;
    let plain = |c: char| c.is_alphanumeric() || "/._- +,@".contains(c);
    let command = || format!(r#"ssh -o "ProxyCommand='{path}' {CONNECT_MODE} %h %p""#);
    path.chars().all(plain).then(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_find_the_proxy_and_not_another() {
        let pair = |(a, b): (&str, &str)| (OsString::from(a), OsString::from(b));
        let check = |given: &[(&str, &str)], program: Option<&str>, expect: &[(&str, &str)]| {
            let mut env: Vec<_> = given.iter().copied().map(pair).collect();
            lead(&mut env, "4711", program.map(Path::new), &direct_hosts(&[]));
            for one in expect.iter().copied().map(pair) {
                assert!(env.contains(&one), "{one:?} in {env:?}");
            }
            let mut names: Vec<_> = env.iter().map(|(name, _)| name).collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{env:?}");
        };
        let proxy = "http://t:4711@127.0.0.1:61080";
        assert_eq!(authorization(proxy).as_deref(), Some("Basic dDo0NzEx"));
        assert_eq!(authorization("http://127.0.0.1:61080"), None);
        check(
            &[
                ("HTTPS_PROXY", "http://corp"),
                ("no_proxy", "corp"),
                ("A", "b"),
            ],
            Some("/opt/my tools/ostler"),
            &[
                ("A", "b"),
                ("HTTPS_PROXY", proxy),
                ("https_proxy", proxy),
                ("no_proxy", DIRECT),
                (
                    "GIT_SSH_COMMAND",
                    r#"ssh -o "ProxyCommand='/opt/my tools/ostler' __connect %h %p""#,
                ),
            ],
        );
        check(
            &[("GIT_SSH_COMMAND", "mine")],
            Some("/x"),
            &[("GIT_SSH_COMMAND", "mine")],
        );
        check(&[("GIT_SSH", "mine")], Some("/x"), &[("GIT_SSH", "mine")]);
        assert_eq!(git_ssh(Path::new("/x'; evil")), None);
        assert_eq!(git_ssh(Path::new("/100%/x")), None);
    }
}
