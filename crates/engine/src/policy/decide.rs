//! `decide`: deny > ask > allow > fallback, no I/O, and it names the rule that decided.

use super::rules::{Rule, Rules};
use crate::tool::Scope;
use ostler_wire::Access;

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

/// What an Ask becomes when nobody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Headless {
    #[default]
    Allow,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Posture {
    #[default]
    Ask,
    /// The writer fallback is allowed; explicit ask and deny hold.
    Auto,
    /// Everything that is not denied.
    Yolo,
}

#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub rules: Rules,
    pub fallback: Fallback,
    pub headless: Headless,
    pub posture: Posture,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// The rule that decided, as it was written.
    pub rule: Option<String>,
}

impl Policy {
    pub fn decide(&self, tool: &str, accesses: &[Access], scope: &Scope) -> Decision {
        let denied = self
            .rules
            .deny
            .iter()
            .find(|r| hits(r, tool, accesses, scope));
        if let Some(rule) = denied {
            return by(Verdict::Deny, rule);
        }
        if self.posture == Posture::Yolo {
            return plain(Verdict::Allow);
        }
        if let Some(rule) = self
            .rules
            .ask
            .iter()
            .find(|r| hits(r, tool, accesses, scope))
        {
            return by(Verdict::Ask, rule);
        }
        if !accesses.iter().any(Access::needs_permission) {
            return plain(Verdict::Allow);
        }
        if let Some(rule) = self.allowed_by(tool, accesses, scope) {
            return by(Verdict::Allow, rule);
        }
        plain(match (self.posture, self.fallback) {
            (Posture::Ask | Posture::Auto, Fallback::Deny) => Verdict::Deny,
            (Posture::Ask | Posture::Auto, Fallback::Allow) | (Posture::Auto, Fallback::Ask) => {
                Verdict::Allow
            }
            (Posture::Ask, Fallback::Ask) => Verdict::Ask,
            (Posture::Yolo, Fallback::Ask | Fallback::Allow | Fallback::Deny) => Verdict::Allow,
        })
    }

    /// The last of the allow rules that together cover every effect of the call.
    fn allowed_by(&self, tool: &str, accesses: &[Access], scope: &Scope) -> Option<&Rule> {
        let mut used = None;
        for access in accesses.iter().filter(|a| a.needs_permission()) {
            used = Some(
                self.rules
                    .allow
                    .iter()
                    .find(|r| allows(r, tool, access, scope))?,
            );
        }
        used
    }
}

fn allows(rule: &Rule, tool: &str, access: &Access, scope: &Scope) -> bool {
    rule.covers_tool(tool)
        || match access {
            Access::Run(segments) => segments.iter().all(|s| rule.allows_command(&s.text)),
            Access::Read(path) => {
                rule.touches_read(path, scope) || rule.touches_tool_path(tool, path, scope)
            }
            Access::Write(path) => {
                rule.touches_write(path, scope) || rule.touches_tool_path(tool, path, scope)
            }
            Access::Net(host) => rule.touches_host(host),
            Access::Mcp { .. } | Access::Job(_) | Access::Delegate(_) | Access::Memory => false,
        }
}

fn hits(rule: &Rule, tool: &str, accesses: &[Access], scope: &Scope) -> bool {
    rule.covers_tool(tool)
        || accesses.iter().any(|access| match access {
            Access::Run(segments) => segments
                .iter()
                .any(|s| rule.touches_command(&s.text) || names_path(rule, &s.text, scope)),
            Access::Read(path) => {
                rule.touches_read(path, scope) || rule.touches_tool_path(tool, path, scope)
            }
            Access::Write(path) => {
                rule.touches_write(path, scope)
                    || rule.touches_tool_path(tool, path, scope)
                    || (shows_what_was(tool) && rule.touches_read(path, scope))
            }
            Access::Net(host) => rule.touches_host(host) || rule.touches_tool(tool, host),
            Access::Mcp { .. } | Access::Job(_) | Access::Delegate(_) | Access::Memory => false,
        })
}

/// Changing a part of a file tells what was there, and moving one puts it where it may be read; replacing it does neither.
fn shows_what_was(tool: &str) -> bool {
    tool != "write_file"
}

/// A path rule binds a command that names the path, whatever the command is.
fn names_path(rule: &Rule, command: &str, scope: &Scope) -> bool {
    rule.is_about_paths()
        && command
            .split(|c: char| c.is_whitespace() || ";|&<>()`\"'=,:".contains(c))
            .filter(|word| !word.is_empty())
            .any(|word| {
                let path = scope.path(&word.replace('\\', ""));
                rule.touches_read(&path, scope) || rule.touches_write(&path, scope)
            })
}

fn by(verdict: Verdict, rule: &Rule) -> Decision {
    Decision {
        verdict,
        rule: Some(rule.text.clone()),
    }
}

fn plain(verdict: Verdict) -> Decision {
    Decision {
        verdict,
        rule: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::Segment;

    fn rules(list: &[&str]) -> Vec<Rule> {
        list.iter()
            .map(|r| Rule::parse(r, "test:1").unwrap())
            .collect()
    }

    fn run(command: &str, read_only: bool) -> Vec<Access> {
        vec![Access::Run(vec![Segment {
            text: command.into(),
            read_only,
        }])]
    }

    #[test]
    fn precedence() {
        let scope = Scope {
            root: "/repo".into(),
            user_home: None,
        };
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
            ..Policy::default()
        };
        let read = |p: &str| vec![Access::Read(p.into())];
        let write = |p: &str| vec![Access::Write(p.into())];
        use Posture::{Ask, Auto, Yolo};
        for (posture, tool, accesses, expect) in [
            (Ask, "read_file", read("/repo/a"), Verdict::Allow),
            (Ask, "read_file", read("/repo/.env"), Verdict::Deny),
            (Yolo, "read_file", read("/repo/.env"), Verdict::Deny),
            (Yolo, "read_file", read("/repo/a/secret.txt"), Verdict::Deny),
            (Ask, "grep", read("/repo/a/secret.txt"), Verdict::Allow),
            (Yolo, "write_file", write("/repo/Cargo.lock"), Verdict::Deny),
            (Yolo, "edit_file", write("/repo/Cargo.lock"), Verdict::Allow),
            (Yolo, "edit_file", write("/repo/.env"), Verdict::Deny),
            (Yolo, "move_file", write("/repo/.env"), Verdict::Deny),
            (Yolo, "write_file", write("/repo/.env"), Verdict::Allow),
            (Ask, "write_file", write("/repo/gen/a/b"), Verdict::Allow),
            (Ask, "edit_file", write("/repo/gen/a/b"), Verdict::Ask),
            (Ask, "bash", run("cat .env", true), Verdict::Deny),
            (Ask, "bash", run("wc -l <.env", false), Verdict::Deny),
            (Yolo, "bash", run("true && rm -rf x", false), Verdict::Deny),
            (Ask, "bash", run("cargo test --all", false), Verdict::Allow),
            (Ask, "bash", run("cargo build", false), Verdict::Ask),
            (Auto, "bash", run("cargo build", false), Verdict::Allow),
            (Auto, "bash", run("git push origin", false), Verdict::Ask),
            (Yolo, "bash", run("git push origin", false), Verdict::Allow),
            (Ask, "edit_file", write("/repo/docs/a.md"), Verdict::Allow),
            (Ask, "edit_file", write("/repo/src/a.rs"), Verdict::Ask),
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
            let decision = policy.decide(tool, &accesses, &scope);
            assert_eq!(decision.verdict, expect, "{posture:?} {tool} {accesses:?}");
        }
    }
}
