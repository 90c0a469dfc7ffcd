//! What is judged by: rules, fallback, posture and folders; and what a judgement consists of.

use super::Folders;
use super::call::Call;
use super::containment::Containment;
use super::rules::{Rule, Rules};
use ostler_host::Place;
use ostler_wire::{Access, Segment, ToolDeclaration, Word};
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
    /// File tools may edit in the project; the rest is as with `Ask`.
    Edits,
    /// What the project and the sandbox hold runs; explicit ask and deny hold.
    Auto,
    /// Everything that is not denied.
    Yolo,
}

impl Posture {
    pub fn name(self) -> &'static str {
        match self {
            Posture::Ask => "ask",
            Posture::Edits => "edits",
            Posture::Auto => "auto",
            Posture::Yolo => "yolo",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = [Self::Ask, Self::Edits, Self::Auto, Self::Yolo].into_iter();
        all.find(|posture| posture.name() == name)
    }

    /// For people.
    pub fn word(self) -> Word {
        match self {
            Self::Ask => Word::PostureAsk,
            Self::Edits => Word::PostureEdits,
            Self::Auto => Word::PostureAuto,
            Self::Yolo => Word::PostureYolo,
        }
    }

    /// This posture, or `auto` where that grants more.
    pub fn or_auto(self) -> Self {
        match self {
            Posture::Ask | Posture::Edits | Posture::Auto => Posture::Auto,
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

impl Policy {
    /// What a deny or ask rule on a tool says to the pattern that a call of it searches for, as in `grep(TODO*)`. It can only
    /// make the decision stricter: what a search reads is judged by its paths.
    pub fn heed_pattern(
        &self,
        (tool, pattern): (&ToolDeclaration, &str),
        posture: Posture,
        decision: &mut Decision,
    ) {
        let hits = |rule: &&Rule| rule.tool_spec().is_some() && rule.touches_tool(tool, pattern);
        let denied = self.rules.deny.iter().find(hits);
        let asked = self.rules.ask.iter().find(hits);
        let (verdict, rule, reason) = match (decision.verdict, denied, asked, posture) {
            (Verdict::Allow | Verdict::Ask, Some(rule), _, _) => {
                (Verdict::Deny, rule, Word::WhyDenyRule)
            }
            (_, _, _, Posture::Yolo) => return,
            (Verdict::Allow, None, Some(rule), _) => (Verdict::Ask, rule, Word::WhyAskRule),
            (Verdict::Allow | Verdict::Ask | Verdict::Deny, _, _, _) => return,
        };
        decision.verdict = verdict;
        decision.rule = Some(rule.text.clone());
        decision.from = Some(rule.from.clone());
        decision.reason = reason;
    }
}

impl Decision {
    /// The call runs only because it reads: no rule, no grant, no posture and no person speaks for it.
    pub fn runs_as_reader(&self) -> bool {
        self.verdict == Verdict::Allow && self.reason == Word::WhyNothing
    }

    /// The call runs only because the sandbox holds it: posture `auto` allows that, and no rule and no person.
    pub fn runs_because_held(&self) -> bool {
        self.verdict == Verdict::Allow && self.reason == Word::WhyHeld
    }
}

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

/// Whose reading a border is for.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// The tool that reads, if one does.
    pub tool: Option<&'a ToolDeclaration>,
    pub posture: Posture,
    /// Somebody could be asked.
    pub attended: bool,
    /// Real paths that the person allowed to be read.
    pub granted: &'a [PathBuf],
}

impl Policy {
    /// The allow rule that speaks of a command that only reads; with several commands, the last of those that speak of all.
    pub(super) fn allowing_commands(&self, call: Call<'_>) -> Option<&Rule> {
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
    pub(super) fn restricts(&self) -> bool {
        !self.rules.deny.is_empty() || !self.rules.ask.is_empty()
    }

    /// The last of the allow rules that together cover every effect of the call.
    pub(super) fn allowed_by(&self, call: Call<'_>) -> Option<&Rule> {
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
    pub(super) fn reads_outside(&self, call: Call<'_>, real: &Path) -> bool {
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
