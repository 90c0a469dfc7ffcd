//! `decide`: deny > ask > allow > fallback, no I/O, and it names the rule that decided.

use super::Folders;
use super::call::{Call, shows_what_was};
use super::containment::Containment;
use super::headless::{self, Headless};
use super::rules::{Rule, Rules};
use ostler_host::Place;
use ostler_wire::{Access, Segment, ToolFact, Word};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Where a rule stands that is in no file.
pub const BUILT_IN: &str = "built in";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// What writers get when no rule speaks (`[permissions] mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fallback {
    #[default]
    Ask,
    Allow,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Posture {
    #[default]
    Ask,
    /// What the project and the sandbox hold runs; explicit ask and deny hold.
    Auto,
    /// Everything that is not denied.
    Yolo,
}

impl Posture {
    pub fn name(self) -> &'static str {
        match self {
            Posture::Ask => "ask",
            Posture::Auto => "auto",
            Posture::Yolo => "yolo",
        }
    }

    /// This posture, or `auto` where that grants more.
    pub fn or_auto(self) -> Self {
        match self {
            Posture::Ask | Posture::Auto => Posture::Auto,
            Posture::Yolo => Posture::Yolo,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub rules: Rules,
    pub fallback: Fallback,
    pub headless: Headless,
    /// What holds commands, which decides what runs where nobody looks at each call.
    pub containment: Containment,
    /// That of the start; `Stance` says which one holds now.
    pub posture: Posture,
    /// Files of our own with keys in them, without symlinks. No tool touches them, whatever the rules say.
    pub sealed: Vec<PathBuf>,
    /// What only we ourselves change: settings, trust, memory, logs. Rules do not open it either; it may be read.
    pub reserved: Vec<PathBuf>,
    /// What lies where, beside the root.
    pub folders: Folders,
    /// Folders besides the project that commands and file tools may change because of the settings.
    pub added: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// The rule that decided, as it was written.
    pub rule: Option<String>,
    /// Where that rule was written.
    pub from: Option<String>,
    /// Why, as a sentence without its end.
    pub reason: Word,
    /// What the call would do, one per line.
    pub effects: Vec<String>,
    /// Real paths outside of the project that the call would read, and that no rule allows to be read.
    pub outside: Vec<PathBuf>,
    /// Real paths of the files that the call names, unless it is a command. Whoever allows the call opens these to it.
    pub touched: Vec<PathBuf>,
    /// It changes a protected path: no posture, hook or headless setting answers for the person, and no rule but one that
    /// names this very path.
    pub only_person: bool,
    /// What the paths of the call were without symlinks when it was judged. Whoever judges further judges these: looked up
    /// again, they may lead elsewhere, and the yes to one would open the other.
    pub resolved: Vec<(PathBuf, PathBuf)>,
}

impl Decision {
    /// The call runs only because it reads: no rule, no grant, no posture and no person speaks for it.
    pub fn runs_as_reader(&self) -> bool {
        self.verdict == Verdict::Allow && self.reason == Word::WhyNothing
    }
}

impl Policy {
    pub fn decide(&self, call: Call<'_>) -> Decision {
        self.decide_in(self.posture, call)
    }

    pub fn decide_in(&self, posture: Posture, call: Call<'_>) -> Decision {
        let judged = self.without_false_readers(call);
        let call = Call {
            accesses: &judged,
            ..call
        };
        if let Some((rule, reason)) = self.built_in_ban(call) {
            return Decision {
                verdict: Verdict::Deny,
                rule: Some(rule),
                from: Some(BUILT_IN.to_owned()),
                reason,
                effects: call.effects(),
                outside: Vec::new(),
                touched: Vec::new(),
                only_person: false,
                resolved: call.resolved.to_vec(),
            };
        }
        let outside = self.outside(call);
        let (verdict, rule, reason) = self.verdict(posture, call, &outside);
        Decision {
            verdict,
            rule: rule.map(|r| r.text.clone()),
            from: rule.map(|r| r.from.clone()),
            reason,
            effects: call.effects(),
            outside,
            touched: call.touched(),
            only_person: reason == Word::WhyProtected,
            resolved: call.resolved.to_vec(),
        }
    }

    /// What no rule opens: files with keys, files of our own, and `[sandbox] forbid_read`.
    fn built_in_ban(&self, call: Call<'_>) -> Option<(String, Word)> {
        if let Some(path) = self.sealed.iter().find(|path| call.opens(path)) {
            return Some((format!("Read({})", path.display()), Word::WhyKeys));
        }
        if let Some(path) = self.reserved.iter().find(|path| call.changes(path)) {
            return Some((format!("Edit({})", path.display()), Word::WhyReserved));
        }
        // Commands are held by their sandbox, where a grant for one of them may open such a path.
        if call.runs() {
            return None;
        }
        let takes_folders = shows_what_was(call.tool);
        let ban = call.accesses.iter().find_map(|access| match access {
            Access::Read(path) => call.forms(path).find_map(|p| self.folders.ban(p)),
            Access::Write(path) => call.forms(path).find_map(|p| {
                let mut bans = self.folders.forbidden.iter().map(PathBuf::as_path);
                let inner = bans.find(|ban| takes_folders && ban.starts_with(p));
                self.folders.ban(p).or(inner)
            }),
            Access::Run(_)
            | Access::Net(_)
            | Access::Mcp { .. }
            | Access::Job(_)
            | Access::Delegate { .. }
            | Access::Memory
            | Access::History => None,
        })?;
        Some((format!("Read({})", ban.display()), Word::WhyForbidden))
    }

    /// A command whose words look like they read in the project is no reader when a link leads them out of it.
    fn without_false_readers<'a>(&self, call: Call<'a>) -> Cow<'a, [Access]> {
        let leads_out = |path: &Path, walks: bool| {
            let mut real = call.real(path);
            real.any(|p| {
                self.folders.place(p, call.scope) == Place::Outside
                    || walks && self.folders.is_closed_below(p, call.scope)
            })
        };
        let is_false = |segment: &Segment| {
            let read = segment.does.iter().chain(&segment.needs);
            let read = read.filter_map(Access::read_path);
            let mut paths = read.chain(&segment.names);
            segment.read_only && paths.any(|path| leads_out(path, segment.walks))
        };
        let has_false = |access: &Access| match access {
            Access::Run(segments) => segments.iter().any(is_false),
            Access::Read(_)
            | Access::Write(_)
            | Access::Net(_)
            | Access::Mcp { .. }
            | Access::Job(_)
            | Access::Delegate { .. }
            | Access::Memory
            | Access::History => false,
        };
        if !call.accesses.iter().any(has_false) {
            return Cow::Borrowed(call.accesses);
        }
        let mut judged = call.accesses.to_vec();
        for access in &mut judged {
            if let Access::Run(segments) = access {
                let wrong = segments.iter_mut().filter(|segment| is_false(segment));
                wrong.for_each(|segment| segment.read_only = false);
            }
        }
        Cow::Owned(judged)
    }

    /// Real paths that a call reads outside of the project without a rule that allows it.
    fn outside(&self, call: Call<'_>) -> Vec<PathBuf> {
        let mut outside = Vec::new();
        for access in call.accesses {
            let Access::Read(path) = access else { continue };
            let is_outside = |p: &&Path| self.reads_outside(call, p);
            let found: Vec<&Path> = call.real(path).filter(is_outside).collect();
            if !found.is_empty() && self.allowing(call, access).is_none() {
                outside.extend(found.into_iter().map(Path::to_owned));
            }
        }
        outside
    }

    fn is_protected(&self, call: Call<'_>) -> bool {
        let is_write = |access: &Access| access.write_path().is_some();
        if call.runs() || !call.accesses.iter().any(is_write) {
            return false;
        }
        let protected = self.folders.protected(call.scope, &[]);
        // A folder is moved with all that is in it.
        let moves = call.tool.fact == ToolFact::FileMoved;
        let holds = |path: &Path| match moves {
            true => protected.holds_below(path),
            false => protected.binds(path),
        };
        call.accesses
            .iter()
            .filter_map(Access::write_path)
            .any(|path| {
                call.forms(path).any(|p| {
                    let mut rules = self.rules.allow.iter();
                    holds(p) && !rules.any(|rule| rule.names_write(p, call.scope))
                })
            })
    }

    fn verdict(
        &self,
        posture: Posture,
        call: Call<'_>,
        outside: &[PathBuf],
    ) -> (Verdict, Option<&Rule>, Word) {
        if let Some(rule) = self.rules.deny.iter().find(|r| call.is_hit_by(r)) {
            return (Verdict::Deny, Some(rule), Word::WhyDenyRule);
        }
        if needs_a_fresh_yes(call.accesses) {
            return (Verdict::Ask, None, Word::WhyRemembered);
        }
        if self.is_protected(call) {
            return (Verdict::Ask, None, Word::WhyProtected);
        }
        if posture == Posture::Yolo {
            return (Verdict::Allow, None, Word::WhyYolo);
        }
        if let Some(rule) = self.rules.ask.iter().find(|r| call.is_hit_by(r)) {
            return (Verdict::Ask, Some(rule), Word::WhyAskRule);
        }
        // What a command reads is part of the command.
        let leaves = !outside.is_empty() && !call.runs();
        if !leaves && !call.accesses.iter().any(Access::needs_permission) {
            return match self.allowing_commands(call) {
                Some(rule) => (Verdict::Allow, Some(rule), Word::WhyAllowed),
                None => (Verdict::Allow, None, Word::WhyNothing),
            };
        }
        if let Some(rule) = self.allowed_by(call) {
            return (Verdict::Allow, Some(rule), Word::WhyAllowed);
        }
        let hidden = call.is_unsure() && self.restricts();
        match (posture, self.fallback) {
            (Posture::Ask | Posture::Auto, Fallback::Deny) => {
                (Verdict::Deny, None, Word::WhyModeDeny)
            }
            (Posture::Ask, Fallback::Allow) if hidden => (Verdict::Ask, None, Word::WhyHidden),
            (Posture::Auto, Fallback::Ask) if leaves => (Verdict::Ask, None, Word::WhyOutside),
            (Posture::Ask | Posture::Auto, Fallback::Allow) => {
                (Verdict::Allow, None, Word::WhyNoRuleAgainst)
            }
            // What the sandbox holds runs; for the rest there is a person.
            (Posture::Auto, Fallback::Ask) => match headless::hold(self, call) {
                Ok(()) => (Verdict::Allow, None, Word::WhyHeld),
                Err(refusal) => (Verdict::Ask, None, refusal.reason),
            },
            (Posture::Ask, Fallback::Ask) if call.is_unsure() => {
                (Verdict::Ask, None, Word::WhyUnsure)
            }
            (Posture::Ask, Fallback::Ask) if !outside.is_empty() => {
                (Verdict::Ask, None, Word::WhyOutside)
            }
            (Posture::Ask, Fallback::Ask) => (Verdict::Ask, None, Word::WhyNoRule),
            (Posture::Yolo, Fallback::Ask | Fallback::Allow | Fallback::Deny) => {
                (Verdict::Allow, None, Word::WhyYolo)
            }
        }
    }

    /// The allow rule that speaks of a command that only reads; with several commands, the last of those that speak of all.
    fn allowing_commands(&self, call: Call<'_>) -> Option<&Rule> {
        let mut used = None;
        for access in call.accesses {
            let Access::Run(segments) = access else {
                continue;
            };
            for segment in segments {
                let allows = |rule: &&Rule| {
                    rule.covers_tool(call.tool) || self.covers_segment(rule, call, segment)
                };
                used = Some(self.rules.allow.iter().find(allows)?);
            }
        }
        used
    }

    /// Whether an allow rule speaks of this command. A word of an unknown command that is a link out of the project leads
    /// there, whatever it is called; only a rule for the very command covers that.
    pub(super) fn covers_segment(&self, rule: &Rule, call: Call<'_>, segment: &Segment) -> bool {
        let root = &call.scope.root;
        let leads_out = |path: &PathBuf| {
            let is_outside = |p: &Path| self.folders.place(p, call.scope) == Place::Outside;
            path.starts_with(root) && call.forms(path).skip(1).any(is_outside)
        };
        rule.allows_segment(segment)
            && (rule.is_broad_command()
                || rule.is_exact_command()
                || !segment.names.iter().any(leads_out))
    }

    /// There are rules that a call might break without anybody seeing it.
    fn restricts(&self) -> bool {
        !self.rules.deny.is_empty() || !self.rules.ask.is_empty()
    }

    /// The last of the allow rules that together cover every effect of the call.
    fn allowed_by(&self, call: Call<'_>) -> Option<&Rule> {
        let blind = call.is_unsure() && self.restricts();
        let bare = self.rules.allow.iter().find(|r| r.covers_tool(call.tool));
        if let Some(rule) = bare.filter(|_| !blind) {
            return Some(rule);
        }
        let mut used = None;
        let mut covered: Vec<&Access> = Vec::new();
        for access in call.accesses {
            let Access::Run(segments) = access else {
                continue;
            };
            for segment in segments {
                if !segment.read_only {
                    used = Some(
                        self.rules
                            .allow
                            .iter()
                            .find(|r| self.covers_segment(r, call, segment))?,
                    );
                }
                covered.extend(&segment.does);
            }
            for need in segments.iter().flat_map(|s| &s.needs) {
                covered.push(need);
                if need.needs_permission() || self.is_read_outside(call, need) {
                    used = Some(self.allowing(call, need)?);
                }
            }
        }
        let leaves = |access: &Access| !call.runs() && self.is_read_outside(call, access);
        let needing = |a: &&Access| a.needs_permission() || leaves(a);
        for access in call.accesses.iter().filter(needing) {
            if !matches!(access, Access::Run(_)) && !covered.contains(&access) {
                used = Some(self.allowing(call, access)?);
            }
        }
        used
    }

    /// Whether reading what really lies there reads outside of the project. How deep a server reads in a folder that it is
    /// told nobody knows, so names that anybody may list are no excuse there.
    fn reads_outside(&self, call: Call<'_>, real: &Path) -> bool {
        let is_server = |access: &Access| matches!(access, Access::Mcp { .. });
        self.folders.place(real, call.scope) == Place::Outside
            || self.folders.is_closed_below(real, call.scope) && call.accesses.iter().any(is_server)
    }

    /// Whether this reads outside of the project.
    pub(super) fn is_read_outside(&self, call: Call<'_>, access: &Access) -> bool {
        match access {
            Access::Read(path) => {
                let mut real = call.real(path);
                real.any(|p| self.reads_outside(call, p))
            }
            Access::Write(_)
            | Access::Run(_)
            | Access::Net(_)
            | Access::Mcp { .. }
            | Access::Job(_)
            | Access::Delegate { .. }
            | Access::Memory
            | Access::History => false,
        }
    }

    pub(super) fn allowing(&self, call: Call<'_>, access: &Access) -> Option<&Rule> {
        self.rules.allow.iter().find(|rule| {
            let Call { tool, scope, .. } = call;
            match access {
                // Where the file really is counts: that is what is opened.
                Access::Read(path) => call
                    .real(path)
                    .all(|p| rule.allows_read(p, scope) || rule.allows_tool_path(tool, p, scope)),
                Access::Write(path) => call
                    .forms(path)
                    .all(|p| rule.allows_write(p, scope) || rule.allows_tool_path(tool, p, scope)),
                Access::Net(host) => rule.allows_host(host) || rule.touches_tool(tool, host),
                Access::Delegate { role, .. } => rule.touches_role(tool, role),
                Access::Run(_)
                | Access::Mcp { .. }
                | Access::Job(_)
                | Access::Memory
                | Access::History => false,
            }
        })
    }
}

/// Whether only the person can allow such a call, each time anew, whatever was allowed before.
pub fn needs_a_fresh_yes(accesses: &[Access]) -> bool {
    accesses.contains(&Access::Memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;
    use crate::testing::tool;
    fn rules(list: &[&str]) -> Vec<Rule> {
        list.iter()
            .map(|r| Rule::parse(r, "test:1").unwrap())
            .collect()
    }

    fn run(command: &str) -> Vec<Access> {
        let place = crate::shell::Place {
            cwd: "/repo".into(),
            root: Path::new("/repo"),
            home: None,
            open: &[],
        };
        crate::shell::accesses(crate::shell::analyse(command, &place))
    }

    #[test]
    fn a_server_gets_no_folder_of_the_system_for_its_names() {
        let scope = Scope::new("/repo", None);
        let policy = Policy::default();
        let link = [(PathBuf::from("/repo/system"), PathBuf::from("/etc"))];
        for (path, expect) in [
            ("/etc", Verdict::Ask),
            ("/repo/system", Verdict::Ask),
            ("/usr/share", Verdict::Allow),
            ("/repo/src", Verdict::Allow),
        ] {
            let server = Access::Mcp {
                server: "files".into(),
                tool: "read".into(),
                read_only: true,
            };
            let decision = policy.decide(Call {
                tool: tool("mcp__files__read"),
                accesses: &[server, Access::Read(path.into())],
                scope: &scope,
                resolved: &link,
            });
            assert_eq!(decision.verdict, expect, "{path}");
        }
    }

    #[test]
    fn precedence() {
        let scope = Scope::new("/repo", None);
        let policy = Policy {
            rules: Rules {
                deny: rules(&[
                    "Read(.env)",
                    "Bash(rm:*)",
                    "read_file(secret.txt)",
                    "write_file(./Cargo.lock)",
                ]),
                ask: rules(&["Bash(git push:*)"]),
                allow: rules(&["Bash(cargo test:*)", "Edit(docs/**)", "write_file(gen/**)"]),
            },
            containment: Containment::Sandbox,
            sealed: vec!["/home/me/.ostler/auth.json".into()],
            reserved: vec!["/repo/.home/memory".into()],
            ..Policy::default()
        };
        let own = "/home/me/.ostler/auth.json";
        let read = |p: &str| vec![Access::Read(p.into())];
        let write = |p: &str| vec![Access::Write(p.into())];
        use Posture::{Ask, Auto, Yolo};
        for (posture, name, accesses, expect) in [
            (Ask, "read_file", read("/repo/a"), Verdict::Allow),
            (
                Ask,
                "read_file",
                read("/repo/.home/memory/a.md"),
                Verdict::Allow,
            ),
            (
                Yolo,
                "write_file",
                write("/repo/.home/memory/a.md"),
                Verdict::Deny,
            ),
            (
                Yolo,
                "edit_file",
                write("/repo/.home/memory/a.md"),
                Verdict::Deny,
            ),
            (Yolo, "move_file", write("/repo/.home"), Verdict::Deny),
            (
                Yolo,
                "write_file",
                write("/repo/.home/memory2"),
                Verdict::Allow,
            ),
            (
                Yolo,
                "mcp__files__write",
                write("/repo/.home/memory/a.md"),
                Verdict::Deny,
            ),
            (
                Yolo,
                "bash",
                run("echo x > .home/memory/a.md"),
                Verdict::Deny,
            ),
            (Yolo, "bash", run("cat .home/memory/a.md"), Verdict::Allow),
            (Ask, "read_file", read("/repo/.env"), Verdict::Deny),
            (Yolo, "read_file", read("/repo/.env"), Verdict::Deny),
            (Ask, "bash", run("cat .env"), Verdict::Deny),
            (Ask, "bash", run("wc -l <.env"), Verdict::Deny),
            (Yolo, "bash", run("true && rm -rf x"), Verdict::Deny),
            (Ask, "bash", run("cargo test --all"), Verdict::Allow),
            (Ask, "bash", run("cargo build"), Verdict::Ask),
            (Auto, "bash", run("cargo build"), Verdict::Allow),
            (Auto, "bash", run("git push origin"), Verdict::Ask),
            (Yolo, "bash", run("git push origin"), Verdict::Allow),
            (Ask, "edit_file", write("/repo/docs/a.md"), Verdict::Allow),
            (Ask, "edit_file", write("/repo/src/a.rs"), Verdict::Ask),
            (Yolo, "read_file", read("/repo/a/secret.txt"), Verdict::Deny),
            (Ask, "grep", read("/repo/a/secret.txt"), Verdict::Allow),
            (Yolo, "write_file", write("/repo/Cargo.lock"), Verdict::Deny),
            (Yolo, "edit_file", write("/repo/Cargo.lock"), Verdict::Allow),
            (Yolo, "edit_file", write("/repo/.env"), Verdict::Deny),
            (Yolo, "move_file", write("/repo/.env"), Verdict::Deny),
            (Yolo, "write_file", write("/repo/.env"), Verdict::Allow),
            (Ask, "write_file", write("/repo/gen/a/b"), Verdict::Allow),
            (Ask, "edit_file", write("/repo/gen/a/b"), Verdict::Ask),
            (Yolo, "read_file", read(own), Verdict::Deny),
            (Yolo, "write_file", write(own), Verdict::Deny),
            (Yolo, "move_file", write("/home/me/.ostler"), Verdict::Deny),
            (Yolo, "bash", run(&format!("cat {own}")), Verdict::Deny),
            (Ask, "grep", read("/home/me/.ostler/**"), Verdict::Ask),
            (Yolo, "grep", read("/home/me/.ostler/**"), Verdict::Allow),
            (Ask, "todo", Vec::new(), Verdict::Allow),
            (
                Ask,
                "kill_job",
                vec![Access::Job("j1".into())],
                Verdict::Allow,
            ),
        ] {
            let policy = Policy {
                posture,
                ..policy.clone()
            };
            let decision = policy.decide(Call {
                tool: tool(name),
                accesses: &accesses,
                scope: &scope,
                resolved: &[],
            });
            assert_eq!(decision.verdict, expect, "{posture:?} {name} {accesses:?}");
        }
    }
}
