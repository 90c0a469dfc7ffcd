//! `decide`: deny > ask > allow > fallback, no I/O, and it names the rule that decided.

use super::call::{Call, shows_what_was};
use super::headless;
use super::policy::{BUILT_IN, Decision, Fallback, Policy, Posture, Verdict};
use super::rules::Rule;
use ostler_host::Place;
use ostler_wire::{Access, Segment, ToolFact, ToolKind, Word};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

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
            (Posture::Ask | Posture::Edits | Posture::Auto, Fallback::Deny) => {
                (Verdict::Deny, None, Word::WhyModeDeny)
            }
            (Posture::Ask | Posture::Edits, Fallback::Allow) if hidden => {
                (Verdict::Ask, None, Word::WhyHidden)
            }
            (Posture::Auto, Fallback::Ask) if leaves => (Verdict::Ask, None, Word::WhyOutside),
            (Posture::Edits, Fallback::Ask) if self.edits_inside(call) => {
                (Verdict::Allow, None, Word::WhyEdits)
            }
            (Posture::Ask | Posture::Edits | Posture::Auto, Fallback::Allow) => {
                (Verdict::Allow, None, Word::WhyNoRuleAgainst)
            }
            // What the sandbox holds runs; for the rest there is a person.
            (Posture::Auto, Fallback::Ask) => match headless::hold(self, call) {
                Ok(()) => (Verdict::Allow, None, Word::WhyHeld),
                Err(refusal) => (Verdict::Ask, None, refusal.reason),
            },
            (Posture::Ask | Posture::Edits, Fallback::Ask) if call.is_unsure() => {
                (Verdict::Ask, None, Word::WhyUnsure)
            }
            (Posture::Ask | Posture::Edits, Fallback::Ask) if !outside.is_empty() => {
                (Verdict::Ask, None, Word::WhyOutside)
            }
            (Posture::Ask | Posture::Edits, Fallback::Ask) => (Verdict::Ask, None, Word::WhyNoRule),
            (Posture::Yolo, Fallback::Ask | Fallback::Allow | Fallback::Deny) => {
                (Verdict::Allow, None, Word::WhyYolo)
            }
        }
    }
}

impl Policy {
    /// Whether a file tool edits what really lies in the project, and does nothing else that needs a yes.
    fn edits_inside(&self, call: Call<'_>) -> bool {
        let is_inside = |p: &Path| self.folders.place(p, call.scope) == Place::Inside;
        let mut needing = call
            .accesses
            .iter()
            .filter(|a| a.needs_permission())
            .peekable();
        call.tool.kind == ToolKind::Edit
            && needing.peek().is_some()
            && needing.all(|access| {
                let path = access.write_path();
                path.is_some_and(|path| call.forms(path).all(is_inside))
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
    use crate::{Containment, Rules};
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
    fn a_rule_on_a_search_is_about_its_pattern() {
        let scope = Scope::new("/repo", None);
        let policy = Policy {
            rules: Rules {
                deny: rules(&["grep(TODO*)", "glob(**/*.pem)"]),
                ask: rules(&["grep(pass*)"]),
                ..Rules::default()
            },
            ..Policy::default()
        };
        let accesses = [Access::Read("/repo".into())];
        for (name, pattern, posture, expect) in [
            ("grep", "TODO: x", Posture::Ask, Verdict::Deny),
            ("grep", "TODO", Posture::Yolo, Verdict::Deny),
            ("grep", "FIXME", Posture::Ask, Verdict::Allow),
            ("grep", "password", Posture::Ask, Verdict::Ask),
            ("grep", "password", Posture::Yolo, Verdict::Allow),
            ("glob", "**/*.pem", Posture::Ask, Verdict::Deny),
            ("glob", "*.rs", Posture::Ask, Verdict::Allow),
        ] {
            let call = Call {
                tool: tool(name),
                accesses: &accesses,
                scope: &scope,
                resolved: &[],
            };
            let mut decision = policy.decide_in(posture, call);
            policy.heed_pattern((tool(name), pattern), posture, &mut decision);
            assert_eq!(decision.verdict, expect, "{name} {pattern}");
        }
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
        use Posture::{Ask, Auto, Edits, Yolo};
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
            (Edits, "bash", run("cargo build"), Verdict::Ask),
            (Edits, "edit_file", write("/repo/src/a.rs"), Verdict::Allow),
            (Edits, "write_file", write("/elsewhere/a.rs"), Verdict::Ask),
            (Edits, "edit_file", write("/repo/.env"), Verdict::Deny),
            (
                Edits,
                "mcp__files__write",
                write("/repo/src/a.rs"),
                Verdict::Ask,
            ),
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
