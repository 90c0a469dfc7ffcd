//! What a running tool may ask of the rules about things it comes upon: files of a tree, hosts of a redirect. It never
//! asks the person; what would need their word is left alone.

use super::Scope;
use super::{Call, Policy, Posture, Reading, Verdict, headless};
use ostler_host::{Border, Roots};
use ostler_wire::{Access, ToolDeclaration};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The rules as they bind one call. Cheap to clone.
#[derive(Clone)]
pub struct Guard {
    pub policy: Arc<Policy>,
    pub scope: Arc<Scope>,
    pub tool: Arc<ToolDeclaration>,
    pub posture: Posture,
    /// Somebody could be asked, by a call of its own.
    pub attended: bool,
    /// Which files it may read, by their real paths.
    pub border: Arc<Border>,
    /// Real paths that this very call was allowed to touch.
    pub opened: Vec<PathBuf>,
}

impl Guard {
    /// Makes the border; `granted` is what the person allowed the session to read.
    pub fn bounded(mut self, granted: &[PathBuf]) -> Self {
        let granted: Vec<PathBuf> = granted.iter().chain(&self.opened).cloned().collect();
        let border = self.policy.border(
            &self.scope,
            Reading {
                tool: Some(&self.tool),
                posture: self.posture,
                attended: self.attended,
                granted: &granted,
            },
        );
        self.border = Arc::new(border);
        self
    }

    /// The same for a call that was allowed to touch these paths.
    pub fn opening(mut self, paths: &[PathBuf]) -> Self {
        if !paths.is_empty() {
            self.opened.extend_from_slice(paths);
            Arc::make_mut(&mut self.border)
                .granted
                .extend_from_slice(paths);
        }
        self
    }

    pub fn reads(&self, real: &Path) -> bool {
        self.border.judge(real).is_open()
    }

    /// What the call may change, given the folders that the settings let tools write in.
    pub fn roots(&self, folders: &[PathBuf]) -> Roots {
        Roots {
            writable: self.writable(folders),
            reserved: self.policy.reserved.clone(),
            protected: self.policy.folders.protected(&self.scope, &self.opened),
            judged: Some(self.opened.clone()),
        }
    }

    /// The folders of the settings, and each file that the call names and that an allow rule names by its whole path.
    fn writable(&self, folders: &[PathBuf]) -> Vec<PathBuf> {
        let is_named = |path: &&PathBuf| {
            let mut rules = self.policy.rules.allow.iter();
            rules.any(|rule| rule.names_write(path, &self.scope))
        };
        let named = self.opened.iter().filter(is_named);
        folders.iter().chain(named).cloned().collect()
    }

    /// Whether a rule names this very address of the machine or the house, so that it may be reached.
    pub fn names_address(&self, host: &str, port: u16) -> bool {
        let is_literal =
            host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let texts = [format!("Net({host})"), format!("Net({host}:{port})")];
        let mut rules = self.policy.rules.allow.iter();
        is_literal && rules.any(|rule| texts.contains(&rule.canonical()))
    }

    pub fn reaches(&self, host: &str) -> bool {
        self.allows(Access::Net(host.to_owned()))
    }

    fn allows(&self, access: Access) -> bool {
        let call = Call {
            tool: &self.tool,
            accesses: &[access],
            scope: &self.scope,
            resolved: &[],
        };
        let decision = self.policy.decide_in(self.posture, call);
        match decision.verdict {
            Verdict::Allow => true,
            Verdict::Ask => {
                !self.attended
                    && headless::judge(&self.policy, call, decision.rule.as_deref()).is_ok()
            }
            Verdict::Deny => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tool;
    use crate::{Rule, Rules};

    #[test]
    fn what_would_need_a_word_is_left_alone() {
        let rules = |list: &[&str]| {
            list.iter()
                .map(|r| Rule::parse(r, "x:1").unwrap())
                .collect()
        };
        let guard = |attended| Guard {
            policy: Arc::new(Policy {
                rules: Rules {
                    deny: rules(&["Read(.env)", "Net(evil.example)"]),
                    ask: rules(&["Read(secrets/**)"]),
                    allow: rules(&["Net(good.example)"]),
                },
                ..Policy::default()
            }),
            scope: Arc::new(Scope::new("/repo", None)),
            tool: Arc::new(tool("grep").clone()),
            posture: Posture::Ask,
            attended,
            border: Arc::default(),
            opened: Vec::new(),
        };
        for (path, attended, alone) in [
            ("/repo/a", true, true),
            ("/repo/b/.env", false, false),
            ("/repo/secrets/x", false, false),
        ] {
            let got = [true, false].map(|a| guard(a).bounded(&[]).reads(Path::new(path)));
            assert_eq!(got, [attended, alone], "{path}");
        }
        for (host, attended, alone) in [
            ("good.example", true, true),
            ("evil.example", false, false),
            ("other.example", false, false),
        ] {
            let got = [true, false].map(|a| guard(a).reaches(host));
            assert_eq!(got, [attended, alone], "{host}");
        }
    }
}
