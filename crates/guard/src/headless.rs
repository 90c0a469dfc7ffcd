//! What becomes of a call that would be asked when nobody can be asked. One pure function, for runs without a person and
//! for posture `auto`, where a person is asked about the rest. It reads nothing and runs nothing. Which flags would allow
//! a refused call is found in `remedy`.

use super::call::Call;
use super::containment::Containment;
use super::glob;
use super::mention::is_mention;
use super::policy::{Decision, Fallback, Headless, Policy, Posture, Reading};
use ostler_host::{Beyond, Place};
use ostler_wire::{Access, Mark, Segment, Word};
use std::path::{Path, PathBuf};

/// Why a call is not run where nobody can be asked, and what a rule would have to speak of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Why, as a sentence without its end.
    pub reason: Word,
    pub wants: Vec<Want>,
}

/// What would have to be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// To read this real path.
    Read(PathBuf),
    /// To change this real path by a file tool.
    Edit(PathBuf),
    Host(String),
    /// Every call of a tool.
    Tool(String),
    Role(String),
    /// To run the commands of the call.
    Commands,
    /// Nothing that a rule can say; why.
    Nothing(Word),
}

impl Held {
    fn new(reason: Word, want: Want) -> Self {
        Self {
            reason,
            wants: vec![want],
        }
    }
}

const GIT: &str = ".git";
/// What the sandbox keeps commands from changing in the folder of a repository.
const GIT_SETTINGS: [&str; 6] = [
    "config",
    "config.worktree",
    "hooks",
    "commondir",
    "modules",
    "worktrees",
];

/// Folders of programs and of the system, which a command may name without reading anything of the person.
const SYSTEM: &[&str] = &[
    "/bin", "/dev", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc", "/sbin",
    "/snap", "/sys", "/tmp", "/usr", "/var/tmp",
];

/// Where every command may write: folders of its own, and devices.
const TEMPORARY: &[&str] = &["/dev", "/tmp", "/var/tmp"];

/// Folders that a command needs beside rules, because it writes there.
pub fn folders_written(policy: &Policy, call: Call<'_>) -> Result<Vec<PathBuf>, Word> {
    Judge::new(policy, call).folders_written()
}

/// What a command that nobody approved sees outside of the project: what allow rules name, and of its own words the paths
/// that such rules cover.
pub fn shown(policy: &Policy, call: Call<'_>) -> Vec<PathBuf> {
    let judge = Judge::new(policy, call);
    if !judge.shell {
        return Vec::new();
    }
    let rules = policy.rules.allow.iter();
    let mut shown: Vec<PathBuf> = rules.filter_map(|r| r.shown_path(call.scope)).collect();
    let named = call.accesses.iter().flat_map(|access| match access {
        Access::Run(segments) => segments.iter().flat_map(|s| &s.names).collect(),
        Access::Read(path) => vec![path],
        Access::Write(_)
        | Access::Net(_)
        | Access::Mcp { .. }
        | Access::Job(_)
        | Access::Delegate { .. }
        | Access::Memory
        | Access::History => Vec::new(),
    });
    let allowed = named.filter(|path| judge.may_read(path) && !judge.is_broad(path));
    shown.extend(allowed.flat_map(|path| call.real(path)).map(Path::to_owned));
    shown.dedup();
    shown
}

/// Whether a call that would be asked runs where nobody can be asked. `rule` is the ask rule that speaks of it.
pub fn judge(policy: &Policy, call: Call<'_>, rule: Option<&str>) -> Result<(), Held> {
    match (policy.headless, rule) {
        (Headless::Allow, _) => Ok(()),
        // No allow rule is stronger than an ask rule.
        (Headless::Deny | Headless::Sandbox, Some(_)) => Err(Held::new(
            Word::WhyAskRule,
            Want::Nothing(Word::NoFlagAskRule),
        )),
        (Headless::Deny, None) => Err(Held {
            reason: Word::WhyHeadlessDeny,
            wants: wants_of_all(policy, call),
        }),
        (Headless::Sandbox, None) => hold(policy, call),
    }
}

/// What a call wants that changes files which only the person can allow to be changed.
pub fn only_by_name(decision: &Decision) -> Held {
    Held {
        reason: decision.reason,
        wants: decision.touched.iter().cloned().map(Want::Edit).collect(),
    }
}

/// Whether asks are answered with yes because of a setting: by the posture, or because nobody is there to be asked.
pub fn answers_asks(policy: &Policy, reading: Reading<'_>) -> bool {
    reading.posture == Posture::Yolo || !reading.attended && policy.headless == Headless::Allow
}

/// What reading outside of the project needs.
pub fn reading_beyond(policy: &Policy, reading: Reading<'_>) -> Beyond {
    match answers_asks(policy, reading) || policy.fallback == Fallback::Allow {
        true => Beyond::Open,
        false => Beyond::Ask,
    }
}

/// Whether a call stays within the project and the sandbox.
pub fn hold(policy: &Policy, call: Call<'_>) -> Result<(), Held> {
    let judge = Judge::new(policy, call);
    // Whoever allows a command allows what its words cause.
    let covered: Vec<&Access> = call
        .accesses
        .iter()
        .flat_map(|access| judge.open_segments(access, Covered::ByRule))
        .flat_map(|segment| &segment.does)
        .collect();
    let unheld = judge.shell && policy.containment == Containment::Missing;
    let mut held: Option<Held> = None;
    for access in call.accesses {
        let path = matches!(access, Access::Read(_) | Access::Write(_));
        let beside = unheld && !matches!(access, Access::Run(_));
        if judge.is_judged_as_tool() && path
            || beside
            || covered.contains(&access)
            || policy.allowing(call, access).is_some()
        {
            continue;
        }
        let Some(one) = judge.refuse(access) else {
            continue;
        };
        match &mut held {
            Some(all) => all.wants.extend(one.wants),
            None => held = Some(one),
        }
    }
    held.map_or(Ok(()), Err)
}

/// What rules would have to speak of where no setting allows anything.
fn wants_of_all(policy: &Policy, call: Call<'_>) -> Vec<Want> {
    let judge = Judge::new(policy, call);
    let path = matches!(policy.headless, Headless::Deny) && !judge.shell && !judge.server;
    let wanted = call.accesses.iter().filter_map(|access| match access {
        Access::Run(_) => Some(Want::Commands),
        Access::Read(file) if path => judge
            .refuse_read(file)
            .map(|_| Want::Read(judge.real(file))),
        Access::Write(file) if path => Some(Want::Edit(judge.real(file))),
        Access::Net(host) if !judge.shell => Some(judge.host_want(host)),
        Access::Mcp { server, tool, .. } => Some(Want::Tool(format!("mcp__{server}__{tool}"))),
        Access::Delegate { role, .. } => Some(Want::Role(role.clone())),
        Access::History | Access::Job(_) => Some(Want::Tool(call.tool.name.clone().into_owned())),
        Access::Memory => Some(Want::Nothing(Word::WhyRemembered)),
        Access::Read(_) | Access::Write(_) | Access::Net(_) => None,
    });
    wanted.collect()
}

/// Which commands of a line are meant: those that an allow rule speaks of, or the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Covered {
    ByRule,
    Not,
}

struct Judge<'a> {
    policy: &'a Policy,
    call: Call<'a>,
    /// The accesses are those of a command.
    shell: bool,
    /// The call goes to an MCP server.
    server: bool,
}

impl<'a> Judge<'a> {
    fn new(policy: &'a Policy, call: Call<'a>) -> Self {
        let has = |wanted: fn(&Access) -> bool| call.accesses.iter().any(wanted);
        Self {
            policy,
            call,
            shell: has(|access| matches!(access, Access::Run(_))),
            server: has(|access| matches!(access, Access::Mcp { .. })),
        }
    }

    fn open_segments<'b>(
        &'b self,
        access: &'b Access,
        which: Covered,
    ) -> impl Iterator<Item = &'b Segment> {
        let segments: &[Segment] = match access {
            Access::Run(segments) => segments,
            Access::Read(_)
            | Access::Write(_)
            | Access::Net(_)
            | Access::Mcp { .. }
            | Access::Job(_)
            | Access::Delegate { .. }
            | Access::Memory
            | Access::History => &[],
        };
        segments.iter().filter(move |segment| {
            let mut rules = self.policy.rules.allow.iter();
            let by_rule = rules.any(|r| self.policy.covers_segment(r, self.call, segment));
            by_rule == (which == Covered::ByRule)
        })
    }

    /// Whether the tool of a server needs a rule, or has one. What it may do to the paths it is told goes with that.
    fn is_judged_as_tool(&self) -> bool {
        let mut accesses = self.call.accesses.iter();
        accesses.any(|access| match access {
            Access::Mcp { read_only, .. } => {
                !read_only || self.policy.allowing(self.call, access).is_some()
            }
            Access::Run(_)
            | Access::Read(_)
            | Access::Write(_)
            | Access::Net(_)
            | Access::Job(_)
            | Access::Delegate { .. }
            | Access::Memory
            | Access::History => false,
        })
    }

    fn refuse(&self, access: &Access) -> Option<Held> {
        let containment = self.policy.containment;
        // Consent to commands without a sandbox is consent to what they do.
        if self.shell && containment == Containment::Waived {
            return None;
        }
        match access {
            Access::Run(all) => {
                let segments: Vec<&Segment> = self.open_segments(access, Covered::Not).collect();
                match containment {
                    Containment::Missing => self.refuse_unheld(all, &segments),
                    Containment::Sandbox | Containment::SandboxOnline | Containment::Waived => {
                        self.refuse_command(&segments)
                    }
                }
            }
            Access::Read(path) => self.refuse_read(path),
            Access::Write(path) => self.refuse_write(path),
            Access::Net(host) => self.refuse_host(host),
            Access::Mcp {
                read_only: false,
                server,
                tool,
            } => Some(Held::new(
                Word::WhyServerWrites,
                Want::Tool(format!("mcp__{server}__{tool}")),
            )),
            Access::History => Some(Held::new(
                Word::WhyOtherProjects,
                Want::Tool(self.call.tool.name.clone().into_owned()),
            )),
            Access::Memory => Some(Held::new(
                Word::WhyRemembered,
                Want::Nothing(Word::WhyRemembered),
            )),
            // The calls of a sub-agent are judged themselves.
            Access::Mcp {
                read_only: true, ..
            }
            | Access::Job(_)
            | Access::Delegate { .. } => None,
        }
    }

    /// Without a layer every command needs a rule, and so does what stands around it.
    fn refuse_unheld(&self, all: &[Segment], open: &[&Segment]) -> Option<Held> {
        let mut needs = all.iter().flat_map(|segment| &segment.needs);
        let is_open = |need: &Access| {
            let is_own = need.needs_permission() || self.policy.is_read_outside(self.call, need);
            is_own && self.policy.allowing(self.call, need).is_none()
        };
        let is_free = open.iter().all(|segment| segment.read_only) && !needs.any(is_open);
        (!is_free).then(|| Held::new(Word::WhyNoLayer, Want::Commands))
    }

    fn refuse_command(&self, segments: &[&Segment]) -> Option<Held> {
        let deletes = |segment: &&&Segment| segment.marks.contains(&Mark::Delete);
        let deleted: Vec<&Path> = segments
            .iter()
            .filter(deletes)
            .flat_map(|segment| &segment.does)
            .filter_map(Access::write_path)
            .flat_map(|path| self.call.forms(path))
            .collect();
        if deleted.iter().any(|path| self.holds_git(path)) {
            // Settings and hooks of a repository are held by the sandbox, whatever rules say.
            let is_held = deleted.iter().any(|path| self.holds_git_settings(path));
            // A rule knows the words of a command, not the folder that it runs in.
            let from_root = segments
                .iter()
                .filter(deletes)
                .all(|s| self.names_from_root(s));
            let want = match (is_held, from_root) {
                (true, _) => Want::Nothing(Word::NoFlagSandbox),
                (false, false) => Want::Nothing(Word::NoFlagWords),
                (false, true) => Want::Commands,
            };
            return Some(Held::new(Word::WhyGitHistory, want));
        }
        // Of some folders anybody may see the names; what lies below them is outside.
        let goes_below = |segment: &&&Segment| segment.walks || !segment.read_only;
        let walked = segments
            .iter()
            .filter(goes_below)
            .flat_map(|segment| &segment.does);
        for access in walked {
            if let Access::Read(path) = access
                && let Some(held) = self.refuse_below_listed(path)
            {
                return Some(held);
            }
        }
        // Files that an unknown command names, it may read.
        let mut named = segments.iter().flat_map(|segment| {
            let is_written = move |path: &PathBuf| {
                let mut written = segment.does.iter().filter_map(Access::write_path);
                written.any(|other| other.starts_with(path))
            };
            let meant = move |path: &&PathBuf| !is_mention(segment, path) && !is_written(path);
            segment.names.iter().filter(meant)
        });
        let outside = named.find(|path| {
            let foreign =
                |path: &Path| self.place(path) == Place::Outside && !is_below(path, SYSTEM);
            self.call.real(path).any(foreign) && !self.may_read(path)
        })?;
        Some(self.outside(outside))
    }

    /// Whether each path that a segment changes is one of its words, seen from the root.
    fn names_from_root(&self, segment: &Segment) -> bool {
        let words: Vec<PathBuf> = segment
            .argv
            .iter()
            .map(|w| self.call.scope.path(w))
            .collect();
        let mut written = segment.does.iter().filter_map(Access::write_path);
        written.all(|path| words.iter().any(|word| path.starts_with(word)))
    }

    fn refuse_below_listed(&self, path: &Path) -> Option<Held> {
        let (folders, scope) = (&self.policy.folders, self.call.scope);
        let mut real = self.call.real(path);
        let is_closed = real.any(|path| folders.is_closed_below(path, scope));
        (is_closed && !self.may_read(path)).then(|| self.outside(path))
    }

    fn refuse_read(&self, path: &Path) -> Option<Held> {
        let open = |path: &Path| self.place(path) != Place::Outside;
        (!self.call.real(path).all(open)).then(|| self.outside(path))
    }

    fn refuse_write(&self, path: &Path) -> Option<Held> {
        let protected = self.policy.folders.protected(self.call.scope, &[]);
        if self.call.forms(path).any(|path| protected.binds(path)) {
            let is_held = !self.lies_in_git(path) || self.holds_git_settings(path);
            let want = match (self.shell, is_held) {
                (true, true) => Want::Nothing(Word::NoFlagSandbox),
                (true, false) => Want::Commands,
                (false, _) => Want::Edit(self.real(path)),
            };
            return Some(Held::new(Word::WhyProtected, want));
        }
        // A command writes where its sandbox lets it.
        if self.shell {
            return None;
        }
        if self.policy.containment == Containment::Missing {
            return Some(Held::new(Word::WhyNoLayer, Want::Edit(self.real(path))));
        }
        let mut forms = self.call.real(path);
        let inside = forms.all(|path| self.place(path) == Place::Inside);
        (!inside).then(|| Held::new(Word::WhyWritesOutside, Want::Edit(self.real(path))))
    }

    fn refuse_host(&self, host: &str) -> Option<Held> {
        let reached_by_proxy = self.shell && host.contains('*');
        if reached_by_proxy || self.shell && self.policy.containment == Containment::SandboxOnline {
            return None;
        }
        Some(Held::new(Word::WhyNetwork, self.host_want(host)))
    }

    fn host_want(&self, host: &str) -> Want {
        match host.contains([' ', '*', '(', ')']) {
            // Searching is a matter of the tool; its host is configuration.
            true => Want::Tool(self.call.tool.name.clone().into_owned()),
            false => Want::Host(host.to_owned()),
        }
    }

    fn outside(&self, path: &Path) -> Held {
        let real = self.real(path);
        let has_layer = self.policy.containment.has_layer();
        let bans = [path, &real].map(|path| self.policy.folders.ban(path));
        // What `forbid_read` names is hidden from commands, whatever rules say.
        if self.shell && has_layer && bans.iter().any(Option::is_some) {
            return Held::new(Word::WhyForbidden, Want::Nothing(Word::NoFlagSandbox));
        }
        let want = match (self.is_broad(path) || self.is_broad(&real), self.shell) {
            (false, _) => Want::Read(real),
            (true, true) => Want::Commands,
            (true, false) if glob::is_pattern(&real.to_string_lossy()) => {
                Want::Nothing(Word::NoFlagWords)
            }
            (true, false) if real != path => Want::Nothing(Word::NoFlagMoving),
            (true, false) => Want::Nothing(Word::NoFlagBroad),
        };
        Held::new(Word::WhyOutside, want)
    }

    /// Folders outside of those that a command may change, in which it would write as its words say. `Err` where one of
    /// them holds far more than what is written.
    fn folders_written(&self) -> Result<Vec<PathBuf>, Word> {
        if !self.shell || !self.policy.containment.has_layer() {
            return Ok(Vec::new());
        }
        let mut folders = Vec::new();
        for path in self.call.accesses.iter().filter_map(Access::write_path) {
            let real = self.real(path);
            let folder = real.parent().unwrap_or(&real).to_owned();
            if self.place(&real) == Place::Inside || is_below(&real, TEMPORARY) {
                continue;
            }
            if self.is_broad(&folder) {
                return Err(Word::NoFlagBroad);
            }
            // With a folder comes what lies in it.
            if !folders.iter().any(|known| folder.starts_with(known)) {
                folders.retain(|known: &PathBuf| !known.starts_with(&folder));
                folders.push(folder);
            }
        }
        Ok(folders)
    }

    /// Whether a rule for the path would open far more than a call that names it, or another file the next time.
    fn is_broad(&self, path: &Path) -> bool {
        let above = |folder: &PathBuf| folder.starts_with(path);
        let home = self.call.scope.user_home.as_ref();
        path.starts_with("/proc")
            || above(&self.call.scope.root)
            || home.is_some_and(above)
            || path.components().count() <= 1
            || glob::is_pattern(&path.to_string_lossy())
    }

    /// What the path leads to.
    fn real(&self, path: &Path) -> PathBuf {
        let mut real = self
            .call
            .resolved
            .iter()
            .filter(|(named, real)| named == path && real != path);
        real.next()
            .map_or_else(|| path.to_owned(), |(_, real)| real.clone())
    }

    fn may_read(&self, path: &Path) -> bool {
        let (rules, scope) = (&self.policy.rules.allow, self.call.scope);
        let mut real = self.call.real(path);
        real.all(|path| rules.iter().any(|rule| rule.allows_read(path, scope)))
    }

    fn place(&self, path: &Path) -> Place {
        self.policy.folders.place(path, self.call.scope)
    }

    /// Whether the history of a repository lies here or below.
    fn holds_git(&self, path: &Path) -> bool {
        self.call.scope.root.starts_with(path) || self.lies_in_git(path)
    }

    /// Whether taking this away takes settings or hooks of a repository along.
    fn holds_git_settings(&self, path: &Path) -> bool {
        // Of a whole tree it is its folder that counts.
        let path = match path.ends_with("**") {
            true => path.parent().unwrap_or(path),
            false => path,
        };
        let name = path.file_name().map(|name| name.to_string_lossy());
        let is_git = name.is_some_and(|name| names_it(&name, GIT));
        let has_settings = path.components().any(|part| {
            let name = part.as_os_str().to_string_lossy();
            GIT_SETTINGS.iter().any(|known| glob::overlap(&name, known))
        });
        is_git || self.call.scope.root.starts_with(path) || has_settings
    }

    /// Whether a repository's own folder is, or holds, the path.
    fn lies_in_git(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.call.scope.root).unwrap_or(path);
        below
            .components()
            .any(|part| names_it(&part.as_os_str().to_string_lossy(), GIT))
    }
}

/// A name or a pattern of names that may stand for this one.
fn names_it(name: &str, known: &str) -> bool {
    match name.contains(['*', '?', '[', '{']) {
        // A pattern matches a name with a dot only if it begins with one.
        true => {
            name.starts_with(['.', '{', '[']) && (name.contains('{') || glob::overlap(name, known))
        }
        false => name == known,
    }
}

fn is_below(path: &Path, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}
