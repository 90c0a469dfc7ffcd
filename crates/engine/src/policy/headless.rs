//! What becomes of a call that would be asked when nobody can be asked. One pure function, for runs without a person and
//! for posture `auto`, where a person is asked about the rest. It reads nothing and runs nothing.

use super::decide::{Call, Policy};
use super::glob;
use super::propose::propose;
use ostler_host::Place;
use ostler_wire::{Access, Mark, Segment, Word};
use std::path::{Path, PathBuf};

/// What an ask becomes when nobody can be asked (`[permissions] headless`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Headless {
    /// Edits in the project and commands that the sandbox holds run; the rest is refused.
    #[default]
    Sandbox,
    /// Everything that is not denied runs.
    Allow,
    Deny,
}

/// What holds the commands of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Containment {
    /// A layer of the sandbox works.
    Sandbox,
    /// The same, and the person gave commands the whole network.
    SandboxOnline,
    /// The person turned the sandbox off, which is consent to run commands without it.
    Waived,
    /// No layer works, and nobody consented to that.
    #[default]
    Missing,
}

impl Containment {
    pub fn has_layer(self) -> bool {
        match self {
            Self::Sandbox | Self::SandboxOnline => true,
            Self::Waived | Self::Missing => false,
        }
    }
}

/// A refusal, and what would allow the call the next time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why, as a sentence without its end.
    pub reason: Word,
    /// What to type: flags that together allow the call. Empty where no flag does.
    pub flags: Vec<String>,
}

/// The setting that runs everything that is not denied.
const RUN_ALL: &str = "OSTLER_PERMISSIONS__HEADLESS=allow";

const GIT: &str = ".git";

/// Folders of programs and of the system, which a command may name without reading anything of the person.
const SYSTEM: &[&str] = &[
    "/bin", "/dev", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/proc", "/sbin",
    "/snap", "/sys", "/tmp", "/usr", "/var/tmp",
];

/// Whether a call that would be asked runs where nobody can be asked. `rule` is the ask rule that speaks of it.
pub fn answer(policy: &Policy, call: Call<'_>, rule: Option<&str>) -> Result<(), Refusal> {
    match (policy.headless, rule) {
        (Headless::Allow, _) => Ok(()),
        (Headless::Deny, _) => Err(Refusal {
            reason: Word::WhyHeadlessDeny,
            flags: match rule {
                Some(_) => vec![RUN_ALL.into()],
                None => by_proposal(call),
            },
        }),
        // No allow rule is stronger than an ask rule.
        (Headless::Sandbox, Some(_)) => Err(Refusal {
            reason: Word::WhyAskRule,
            flags: vec![RUN_ALL.into()],
        }),
        (Headless::Sandbox, None) => hold(policy, call),
    }
}

/// Whether a call stays within the project and the sandbox.
pub fn hold(policy: &Policy, call: Call<'_>) -> Result<(), Refusal> {
    let shell = call.accesses.iter().any(|a| matches!(a, Access::Run(_)));
    let server = call
        .accesses
        .iter()
        .any(|a| matches!(a, Access::Mcp { .. }));
    let judge = Judge {
        policy,
        call,
        shell,
    };
    // Whoever allows a command allows what its words cause.
    let covered: Vec<&Access> = call
        .accesses
        .iter()
        .flat_map(|access| judge.open_segments(access, Covered::ByRule))
        .flat_map(|segment| &segment.does)
        .collect();
    let unheld = shell && policy.containment == Containment::Missing;
    let mut refused: Option<Refusal> = None;
    for access in call.accesses {
        // What a server may do to the paths it is told goes with the call.
        let path = matches!(access, Access::Read(_) | Access::Write(_));
        let beside = unheld && !matches!(access, Access::Run(_));
        if server && path
            || beside
            || covered.contains(&access)
            || policy.allowing(call, access).is_some()
        {
            continue;
        }
        let Some(one) = judge.refuse(access) else {
            continue;
        };
        match &mut refused {
            Some(all) => all.flags.extend(one.flags),
            None => refused = Some(one),
        }
    }
    match refused {
        Some(mut all) => {
            let mut seen: Vec<String> = Vec::new();
            all.flags.retain(|flag| {
                let new = !seen.contains(flag);
                seen.push(flag.clone());
                new
            });
            Err(all)
        }
        None => Ok(()),
    }
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
}

impl Judge<'_> {
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
            let by_rule = rules.any(|rule| rule.allows_segment(segment));
            by_rule == (which == Covered::ByRule)
        })
    }

    fn refuse(&self, access: &Access) -> Option<Refusal> {
        let containment = self.policy.containment;
        // Consent to commands without a sandbox is consent to what they do.
        if self.shell && containment == Containment::Waived {
            return None;
        }
        match access {
            Access::Run(_) => {
                let segments: Vec<&Segment> = self.open_segments(access, Covered::Not).collect();
                self.refuse_command(&segments)
            }
            Access::Read(path) => self.refuse_read(path),
            Access::Write(path) => self.refuse_write(path),
            Access::Net(host) => self.refuse_host(host),
            Access::Mcp {
                read_only: false,
                server,
                tool,
            } => Some(Refusal {
                reason: Word::WhyServerWrites,
                flags: vec![allow(&format!("mcp__{server}__{tool}"))],
            }),
            Access::History => Some(Refusal {
                reason: Word::WhyOtherProjects,
                flags: vec![allow(self.call.tool)],
            }),
            Access::Memory => Some(Refusal {
                reason: Word::WhyRemembered,
                flags: Vec::new(),
            }),
            // The calls of a sub-agent are judged themselves.
            Access::Mcp {
                read_only: true, ..
            }
            | Access::Job(_)
            | Access::Delegate { .. } => None,
        }
    }

    fn refuse_command(&self, segments: &[&Segment]) -> Option<Refusal> {
        if self.policy.containment == Containment::Missing {
            if segments.iter().all(|segment| segment.read_only) {
                return None;
            }
            let mut flags = by_proposal(self.call);
            flags.push("--no-sandbox".into());
            return Some(Refusal {
                reason: Word::WhyNoLayer,
                flags,
            });
        }
        let deletes = |segment: &&&Segment| segment.marks.contains(&Mark::Delete);
        let mut writes = segments.iter().filter(deletes).flat_map(|s| &s.does);
        let deletes_history = writes.any(|access| match access {
            Access::Write(path) => self.call.forms(path).any(|path| self.holds_git(path)),
            Access::Read(_)
            | Access::Run(_)
            | Access::Net(_)
            | Access::Mcp { .. }
            | Access::Job(_)
            | Access::Delegate { .. }
            | Access::Memory
            | Access::History => false,
        });
        if deletes_history {
            return Some(Refusal {
                reason: Word::WhyGitHistory,
                flags: by_proposal(self.call),
            });
        }
        // Files that an unknown command names, it may read.
        let mut named = segments.iter().flat_map(|segment| {
            // The part of an address behind its scheme looks like a path.
            let is_address =
                |path: &&PathBuf| segment.text.contains(&format!("/{}", path.display()));
            segment.names.iter().filter(move |path| !is_address(path))
        });
        let outside = named.find(|path| {
            let foreign =
                |path: &Path| self.place(path) == Place::Outside && !is_below(path, SYSTEM);
            self.call.real(path).any(foreign) && !self.may_read(path)
        })?;
        Some(self.outside(outside))
    }

    fn refuse_read(&self, path: &Path) -> Option<Refusal> {
        let open = |path: &Path| self.place(path) != Place::Outside;
        (!self.call.real(path).all(open)).then(|| self.outside(path))
    }

    fn refuse_write(&self, path: &Path) -> Option<Refusal> {
        let protected = self.policy.folders.protected(self.call.scope, &[]);
        if self.call.forms(path).any(|path| protected.holds(path)) {
            return Some(Refusal {
                reason: Word::WhyProtected,
                flags: match self.shell {
                    true => vec![RUN_ALL.into()],
                    false => vec![allow(&format!("Edit({})", self.shown(path)))],
                },
            });
        }
        // A command writes where its sandbox lets it.
        if self.shell {
            return None;
        }
        if self.policy.containment == Containment::Missing {
            let edit = allow(&format!("Edit({})", self.shown(path)));
            return Some(Refusal {
                reason: Word::WhyNoLayer,
                flags: vec![edit],
            });
        }
        let mut forms = self.call.real(path);
        let inside = forms.all(|path| self.place(path) == Place::Inside);
        (!inside).then(|| Refusal {
            reason: Word::WhyWritesOutside,
            flags: path
                .parent()
                .map(|folder| format!("--add-dir {}", quoted(&folder.to_string_lossy())))
                .into_iter()
                .collect(),
        })
    }

    fn refuse_host(&self, host: &str) -> Option<Refusal> {
        let reached_by_proxy = self.shell && host.contains('*');
        if reached_by_proxy || self.shell && self.policy.containment == Containment::SandboxOnline {
            return None;
        }
        let rule = match host.contains([' ', '*', '(', ')']) {
            // Searching is a matter of the tool; its host is configuration.
            true => self.call.tool.to_owned(),
            false => format!("Net({host})"),
        };
        Some(Refusal {
            reason: Word::WhyNetwork,
            flags: vec![allow(&rule)],
        })
    }

    fn outside(&self, path: &Path) -> Refusal {
        Refusal {
            reason: Word::WhyOutside,
            flags: vec![allow(&format!("Read({})", path.display()))],
        }
    }

    fn may_read(&self, path: &Path) -> bool {
        let (rules, scope) = (&self.policy.rules.allow, self.call.scope);
        let mut forms = self.call.forms(path);
        forms.all(|path| rules.iter().any(|rule| rule.allows_read(path, scope)))
    }

    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.call.scope.root) {
            Ok(rest) => format!("./{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    fn place(&self, path: &Path) -> Place {
        self.policy.folders.place(path, self.call.scope)
    }

    /// Whether the history of a repository lies here or below.
    fn holds_git(&self, path: &Path) -> bool {
        self.call.scope.root.starts_with(path) || self.lies_in_git(path)
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

fn by_proposal(call: Call<'_>) -> Vec<String> {
    let rules = propose(call.tool, call.accesses, call.scope);
    rules.iter().map(|rule| allow(rule)).collect()
}

/// The flag that adds this rule for one run.
pub fn allow(rule: &str) -> String {
    format!("--allow {}", quoted(rule))
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Decision, Folders, Posture, Rule, Rules, Verdict};
    use crate::tool::Scope;
    use crate::tools::Tools;
    use serde_json::{Value, json};

    fn scope() -> Scope {
        Scope::new("/repo", Some("/home/me".into()))
    }

    fn policy(containment: Containment, allow: &[&str]) -> Policy {
        Policy {
            rules: Rules {
                allow: allow
                    .iter()
                    .map(|rule| Rule::parse(rule, "x:1").unwrap())
                    .collect(),
                ask: vec![Rule::parse("Bash(git push:*)", "x:2").unwrap()],
                ..Rules::default()
            },
            containment,
            folders: Folders {
                inside: vec!["/added".into()],
                ..Folders::default()
            },
            ..Policy::default()
        }
    }

    fn accesses(tool: &str, args: &Value) -> Vec<Access> {
        match tool.strip_prefix("mcp__").and_then(|n| n.split_once("__")) {
            Some((server, name)) => crate::policy::mcp_accesses(server, name, args, &scope()),
            None => Tools::new(&[])
                .find(tool)
                .unwrap()
                .access(args, &scope())
                .unwrap(),
        }
    }

    fn decided(policy: &Policy, posture: Posture, tool: &str, args: &Value) -> Decision {
        let accesses = accesses(tool, args);
        let scope = scope();
        policy.decide_in(
            posture,
            Call {
                tool,
                accesses: &accesses,
                scope: &scope,
                resolved: &[],
            },
        )
    }

    /// What a run without a person says: nothing where the call runs, else the flags that would allow it.
    fn said(policy: &Policy, tool: &str, args: &Value) -> Option<String> {
        let decision = decided(policy, Posture::Ask, tool, args);
        match decision.verdict {
            Verdict::Allow => None,
            Verdict::Deny => Some("denied".into()),
            Verdict::Ask => {
                let (accesses, scope) = (accesses(tool, args), scope());
                let call = Call {
                    tool,
                    accesses: &accesses,
                    scope: &scope,
                    resolved: &[],
                };
                let answer = answer(policy, call, decision.rule.as_deref());
                answer.err().map(|refusal| refusal.flags.join(" "))
            }
        }
    }

    fn run(command: &str) -> (&'static str, Value) {
        ("bash", json!({ "command": command }))
    }

    #[test]
    fn the_sandbox_and_the_project_are_enough() {
        let policy = policy(Containment::Sandbox, &[]);
        for (tool, args) in [
            ("write_file", json!({"path": "src/a.rs", "content": "x"})),
            ("write_file", json!({"path": "/added/a.rs", "content": "x"})),
            ("edit_file", json!({"path": "a", "old": "x", "new": "y"})),
            ("read_file", json!({"path": "src/a.rs"})),
            ("task", json!({"prompt": "x", "description": "x"})),
            run("cargo test"),
            run("make > out.log 2>&1"),
            run("npm install"),
            run("git fetch"),
            run("python3 -c 'print(1)'"),
            run("rm -rf build"),
            run("rm -rf *"),
            run("git commit -m x"),
            run("/usr/bin/env python3 /usr/lib/x.py"),
            run("cat /usr/include/stdio.h > a"),
            run("$X y"),
        ] {
            assert_eq!(said(&policy, tool, &args), None, "{tool} {args}");
            let auto = decided(&policy, Posture::Auto, tool, &args);
            assert_eq!(auto.verdict, Verdict::Allow, "{tool} {args}");
        }
    }

    #[test]
    fn the_rest_is_refused_with_what_would_allow_it() {
        let policy = policy(Containment::Sandbox, &[]);
        let url = json!({"url": "https://a.example/x?k=v"});
        let search = json!({"query": "x"});
        let history = json!({"query": "x", "scope": "global"});
        let hook = json!({"path": ".git/hooks/pre-commit", "content": "x"});
        let nested = json!({"path": "sub/.git/config", "content": "x"});
        for ((tool, args), flags) in [
            (("fetch_url", url), "--allow 'Net(a.example)'"),
            (("web_search", search), "--allow 'web_search'"),
            (
                run("curl -s https://a.example/x"),
                "--allow 'Net(a.example)'",
            ),
            (
                run("cat /home/me/.bashrc"),
                "--allow 'Read(/home/me/.bashrc)'",
            ),
            (run("cat ../other/x"), "--allow 'Read(/other/x)'"),
            (
                run("unknown /home/me/other/x"),
                "--allow 'Read(/home/me/other/x)'",
            ),
            (
                ("mcp__db__drop", json!({"path": "a"})),
                "--allow 'mcp__db__drop'",
            ),
            (("history", history), "--allow 'history'"),
            (
                ("write_file", hook),
                "--allow 'Edit(./.git/hooks/pre-commit)'",
            ),
            (("write_file", nested), "--allow 'Edit(./sub/.git/config)'"),
            (
                ("write_file", json!({"path": "ostler.toml", "content": "x"})),
                "--allow 'Edit(./ostler.toml)'",
            ),
            (
                ("write_file", json!({"path": "/other/a", "content": "x"})),
                "--add-dir '/other'",
            ),
            (run("git push origin main"), RUN_ALL),
        ] {
            assert_eq!(said(&policy, tool, &args).as_deref(), Some(flags), "{args}");
            let auto = decided(&policy, Posture::Auto, tool, &args);
            assert_eq!(auto.verdict, Verdict::Ask, "{tool} {args}");
        }
    }

    #[test]
    fn deletes_below_git_are_refused() {
        let policy = policy(Containment::Sandbox, &[]);
        for command in [
            "rm -rf .git",
            "rm -rf .git/objects",
            "rm -rf sub/.git",
            "rm -rf .g*",
            "rm -rf .",
            "rm -rf /repo",
            "rm -rf .git *",
            "rm -rf ../repo",
            "mv .git /tmp/x",
        ] {
            let (tool, args) = run(command);
            assert!(said(&policy, tool, &args).is_some(), "{command}");
        }
    }

    #[test]
    fn what_a_flag_names_then_runs() {
        let url = json!({"url": "https://a.example/x?k=v"});
        for (allow, (tool, args)) in [
            ("Net(a.example)", ("fetch_url", url)),
            ("web_search", ("web_search", json!({"query": "x"}))),
            ("Net(a.example)", run("curl -s https://a.example/x")),
            ("Read(/other/x)", run("cat /other/x")),
            ("Read(/home/me/other/x)", run("unknown /home/me/other/x")),
            ("mcp__db__drop", ("mcp__db__drop", json!({"path": "a"}))),
            (
                "history",
                ("history", json!({"query": "x", "scope": "global"})),
            ),
            ("Bash(rm -rf .git)", run("rm -rf .git")),
            ("Bash(curl:*)", run("curl -s https://a.example/x; make")),
        ] {
            let policy = policy(Containment::Sandbox, &[allow]);
            assert_eq!(said(&policy, tool, &args), None, "{allow} {args}");
        }
    }

    #[test]
    fn without_a_layer_only_reading_runs_and_consent_is_consent() {
        let write = || ("write_file", json!({"path": "a", "content": "x"}));
        let fetch = || ("fetch_url", json!({"url": "https://a.example"}));
        use Containment::{Missing, SandboxOnline, Waived};
        for (containment, (tool, args), flags) in [
            (
                Missing,
                run("make"),
                Some("--allow 'Bash(make:*)' --no-sandbox"),
            ),
            (Missing, run("$X y"), Some("--no-sandbox")),
            (Missing, write(), Some("--allow 'Edit(./a)'")),
            (Missing, ("read_file", json!({"path": "a"})), None),
            (Missing, fetch(), Some("--allow 'Net(a.example)'")),
            (Waived, run("make"), None),
            (Waived, run("curl https://a.example"), None),
            (Waived, run("rm -rf .git"), None),
            (Waived, write(), None),
            (Waived, fetch(), Some("--allow 'Net(a.example)'")),
            (SandboxOnline, run("curl https://a.example"), None),
            (SandboxOnline, fetch(), Some("--allow 'Net(a.example)'")),
        ] {
            let policy = policy(containment, &[]);
            let got = said(&policy, tool, &args);
            assert_eq!(got.as_deref(), flags, "{containment:?} {args}");
        }
    }

    #[test]
    fn the_other_settings() {
        let (tool, args) = run("git push origin main");
        let fetch = json!({"url": "https://a.example"});
        let set = |headless| Policy {
            headless,
            ..policy(Containment::Sandbox, &[])
        };
        assert_eq!(said(&set(Headless::Allow), tool, &args), None);
        assert_eq!(said(&set(Headless::Allow), "fetch_url", &fetch), None);
        assert_eq!(
            said(&set(Headless::Deny), tool, &args).as_deref(),
            Some(RUN_ALL)
        );
        let (tool, args) = run("make");
        let flags = said(&set(Headless::Deny), tool, &args);
        assert_eq!(flags.as_deref(), Some("--allow 'Bash(make:*)'"));
    }
}
