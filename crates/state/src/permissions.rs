//! What the person allowed a session, and its mode: a part of the session's state that commands and answers change. What
//! may run follows from it in crate `guard`.

use ostler_confine::Terms;
use ostler_context::goal::Goal;
use ostler_guard::{Decision, Mode, Policy, Posture, Rule, Rules, Stance};
use ostler_sources::templates::Template;
use ostler_wire::{Access, Body, Entry, ToolDeclaration};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

/// Where rules of a session are said to come from.
pub const SESSION: &str = "this session";

#[derive(Clone)]
pub struct PermissionState {
    pub mode: Mode,
    pub stance: Stance,
    start: Start,
    /// What holds until the turn ends.
    pub turn: OfTurn,
    pub grants: Vec<Grant>,
    /// Real paths outside of the project that file tools may read for the session.
    pub reads: Vec<PathBuf>,
    /// What commands may do beyond the settings, for the session.
    pub terms: Terms,
    /// Tools that may be used while planning.
    pub trusted: Vec<String>,
    /// The mode that the model was told last.
    pub told: Mode,
    /// A change that is not in the log.
    pub unrecorded: bool,
    /// It plays a role that changes nothing.
    pub read_only: bool,
    /// What is worked towards; in goal mode only, and there the next prompt names it where there is none.
    pub goal: Option<Goal>,
}

/// How the stance stands to the one that this process began with.
#[derive(Clone)]
struct Start {
    /// The posture that the flags and the configuration gave.
    posture: Posture,
    /// The person made the stance stricter than that, in this process or an earlier one.
    tightened: bool,
}

#[derive(Clone, Default)]
pub struct OfTurn {
    /// A plan was approved: calls are judged as in posture `auto` at least.
    pub plan_approved: bool,
    /// Skills that calls have brought in, whose rules hold.
    pub lent: Vec<Template>,
    /// Sub-agents that are asked about together.
    pub batch: Batch,
}

/// Calls of one answer that start sub-agents of one role: the person is asked about all of them in one question.
#[derive(Clone, Default)]
pub struct Batch {
    /// The calls behind the one that is asked about, and what the person reads of them.
    pub others: Vec<(String, String)>,
    /// What the person said to them with the question before.
    pub answers: HashMap<String, Result<(), Option<String>>>,
}

/// A scope that was granted once: all editing, one exact command with all it does, or one exact host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    Editing,
    Exactly(Access),
    Call(Vec<Access>),
}

/// What a call that may run was given beyond what holds anyway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leave {
    /// Named by the call, and allowed with it by the person.
    pub hosts: Vec<String>,
    /// The command runs unasked only because it reads, so it runs in the reader's sandbox.
    pub read_only: bool,
    /// Nobody approved the command: it runs because the sandbox holds it, or ran as a reader before. What a reader does not
    /// see stays unseen.
    pub sees_as_reader: bool,
    /// Nobody approved it, neither before nor after it ran as a reader: what it takes of the repository's history is brought
    /// back.
    pub is_unapproved: bool,
    /// What rules show to such a command outside of the project.
    pub shown: Vec<PathBuf>,
    /// Real paths of the files that it was allowed to touch.
    pub paths: Vec<PathBuf>,
}

impl Leave {
    /// What a call that runs unasked gets, by what decided it.
    pub fn unasked(accesses: &[Access], decision: &Decision) -> Self {
        let runs = |access: &Access| matches!(access, Access::Run(_));
        let delegates = |access: &Access| matches!(access, Access::Delegate { .. });
        let reads = decision.runs_as_reader();
        Self {
            paths: decision.touched.clone(),
            read_only: reads && accesses.iter().any(runs),
            sees_as_reader: decision.runs_because_held() || reads && accesses.iter().any(delegates),
            is_unapproved: decision.runs_because_held(),
            ..Self::default()
        }
    }
}

impl PermissionState {
    pub fn new(posture: Posture, trusted: Vec<String>) -> Self {
        Self {
            mode: Mode::Normal,
            stance: Stance::Posture(posture),
            start: Start {
                posture,
                tightened: false,
            },
            turn: OfTurn::default(),
            grants: Vec::new(),
            reads: Vec::new(),
            terms: Terms::default(),
            trusted,
            told: Mode::Normal,
            unrecorded: false,
            read_only: false,
            goal: None,
        }
    }

    /// Goes on as another one stands, but for what only its model was told and its log has.
    pub fn inherit(&mut self, other: Self) {
        *self = Self {
            // A goal is pursued by one.
            mode: match other.mode {
                Mode::Goal => Mode::Normal,
                mode @ (Mode::Normal | Mode::Plan) => mode,
            },
            goal: None,
            turn: OfTurn {
                plan_approved: false,
                ..other.turn
            },
            told: self.told,
            unrecorded: true,
            ..other
        };
    }

    /// What was allowed for the session was allowed at the place where it was.
    pub fn forget_grants(&mut self) {
        self.grants.clear();
        self.reads.clear();
        self.terms = Terms::default();
        self.turn = OfTurn::default();
        self.unrecorded = true;
    }

    /// Whatever mode comes, a window does not outlast it, and a goal only goal mode.
    pub fn enter(&mut self, mode: Mode) {
        if mode != Mode::Goal {
            self.goal = None;
        }
        self.unrecorded |= mode != self.mode;
        self.mode = mode;
        self.turn.plan_approved = false;
    }

    /// Whoever says anew how to approve means it now.
    pub fn take(&mut self, stance: Stance) {
        let is_stricter = |than: Stance| than.stricter(stance) != than;
        let loosens = self.stance.stricter(stance) == self.stance && stance != self.stance;
        let was_tightened = self.start.tightened;
        self.start.tightened =
            is_stricter(Stance::Posture(self.start.posture)) || (self.start.tightened && !loosens);
        self.unrecorded |= stance != self.stance || self.start.tightened != was_tightened;
        self.stance = stance;
        self.turn.plan_approved = false;
    }

    /// Goes on as strictly as the person wanted it in an earlier process. The posture is a part of the policy already.
    pub fn keep_strict(&mut self, stood: &ostler_wire::Mode) {
        self.start.tightened = stood.tightened;
        if stood.tightened && Stance::of_name(&stood.posture) == Stance::Never {
            self.stance = Stance::Never;
        }
    }

    /// The posture that a call of this tool is judged in.
    pub fn posture(&self, tool: &ToolDeclaration, now: Instant) -> Posture {
        match self.turn.plan_approved {
            true => self.stance.posture(tool, now).or_auto(),
            false => self.stance.posture(tool, now),
        }
    }

    pub fn entry(&self, policy: &Policy, now: Instant) -> Body {
        Body::Mode(self.shown(policy, now))
    }

    pub fn shown(&self, policy: &Policy, now: Instant) -> ostler_wire::Mode {
        let added = |rules: &[Rule]| -> Vec<String> {
            let of_session = rules.iter().filter(|rule| rule.from == SESSION);
            of_session.map(|rule| rule.text.clone()).collect()
        };
        ostler_wire::Mode {
            mode: self.mode.name().into(),
            posture: self.stance.name(now),
            goal: self.goal.as_ref().map(Goal::shown),
            tightened: self.start.tightened,
            deny: added(&policy.rules.deny),
            ask: added(&policy.rules.ask),
            sandbox: policy.containment.name().into(),
            writable: names_of(&policy.added),
        }
    }

    /// What holds for the commands of a call with this leave.
    pub fn terms(&self, rules: &Rules, leave: &Leave) -> Terms {
        let mut terms = self.terms.clone();
        terms.read_only = match self.mode {
            Mode::Plan => true,
            Mode::Normal | Mode::Goal => self.read_only || leave.read_only,
        };
        terms.sees_as_reader = leave.sees_as_reader;
        if leave.sees_as_reader {
            terms.shown.clone_from(&leave.shown);
            terms.shown.extend(self.reads.iter().cloned());
        }
        for host in rules.hosts().iter().chain(&leave.hosts) {
            add(&mut terms.hosts, host);
        }
        terms
    }

    /// The person allowed this scope for the session.
    pub fn grant(&mut self, accesses: &[Access]) {
        if accesses.iter().any(|a| matches!(a, Access::Run(_))) {
            return self.grants.push(Grant::Call(accesses.to_vec()));
        }
        for access in accesses {
            match access {
                Access::Write(_) => self
                    .grants
                    .extend([Grant::Editing, Grant::Exactly(access.clone())]),
                Access::Read(_)
                | Access::Run(_)
                | Access::Net(_)
                | Access::Mcp { .. }
                | Access::Job(_)
                | Access::Delegate { .. }
                | Access::History => self.grants.push(Grant::Exactly(access.clone())),
                Access::Memory => {}
            }
        }
    }

    /// Whether the person has said yes to this. What a rule wants asked is only covered by a yes to the very same.
    pub fn is_granted(&self, accesses: &[Access], rule: Option<&str>) -> bool {
        let whole = |grant: &Grant| matches!(grant, Grant::Call(granted) if granted == accesses);
        if self.grants.iter().any(whole) {
            return true;
        }
        let mut needing = accesses
            .iter()
            .filter(|a| a.needs_permission() || rule.is_some())
            .peekable();
        needing.peek().is_some()
            && needing.all(|access| {
                self.grants.iter().any(|grant| match grant {
                    Grant::Editing => rule.is_none() && matches!(access, Access::Write(_)),
                    Grant::Exactly(granted) => granted == access,
                    Grant::Call(_) => false,
                })
            })
    }
}

/// Puts more on top of what is granted. Nothing that is forbidden while planning comes back by it.
pub fn merge(terms: &mut Terms, more: &Terms) {
    for host in &more.hosts {
        add(&mut terms.hosts, host);
    }
    for path in &more.writable {
        // What was allowed is the file or folder of that moment, not what a link leads to later.
        add(&mut terms.writable, &ostler_host::real_path(path));
    }
    for path in &more.readable {
        add(&mut terms.readable, path);
    }
    terms.ssh_agent |= more.ssh_agent;
}

fn add<T: PartialEq + Clone>(list: &mut Vec<T>, item: &T) {
    if !list.contains(item) {
        list.push(item.clone());
    }
}

/// Folders as another process of the session is told of them.
pub fn names_of(folders: &[PathBuf]) -> Vec<String> {
    let names = folders.iter().map(|folder| folder.display().to_string());
    names.collect()
}

/// How a session stood at the end of its log, on whatever branch: going back in a conversation loosens nothing.
pub fn standing_of(log: &[Entry]) -> Option<ostler_wire::Mode> {
    log.iter().rev().find_map(|entry| {
        if let Body::Mode(mode) = &entry.body {
            return Some(mode.clone());
        }
        None
    })
}

/// The mode that a session was left in. One that this version does not know is none of ours.
pub fn mode_of(past: &[Entry]) -> Mode {
    let mut mode = Mode::default();
    for entry in past {
        if let Body::Mode(entry) = &entry.body {
            mode = Mode::parse(&entry.mode).unwrap_or_default();
        }
    }
    mode
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_tools::builtin::bash::Bash;
    use ostler_tools::tool::Typed as _;
    use ostler_wire::Segment;

    fn rules(list: &[&str]) -> Vec<Rule> {
        list.iter()
            .map(|r| Rule::parse(r, "test:1").unwrap())
            .collect()
    }

    fn permissions() -> PermissionState {
        PermissionState::new(Posture::Ask, Vec::new())
    }

    #[test]
    fn commands_get_what_was_granted_and_no_more() {
        let rules = Rules {
            deny: rules(&["Net(evil.example)"]),
            ask: rules(&["Net(slow.example)"]),
            allow: rules(&[
                "Net(good.example)",
                "Net(*.example)",
                "Net(slow.example)",
                "Net(*.other:443)",
                "Read(x)",
            ]),
        };
        let mut permissions = permissions();
        let more = Terms {
            read_only: true,
            sees_as_reader: false,
            shown: Vec::new(),
            hosts: vec!["a.test".into(), "good.example".into()],
            writable: vec!["/w".into()],
            readable: vec!["/r".into()],
            ssh_agent: true,
        };
        merge(&mut permissions.terms, &more);
        merge(&mut permissions.terms, &more);
        // A pattern with a restricted host in it lets nothing through.
        let hosts = ["a.test", "good.example", "*.other:443", "b.test"];
        let by_person = Leave {
            hosts: vec!["b.test".into()],
            ..Leave::default()
        };
        let expect = Terms {
            read_only: false,
            hosts: hosts.map(str::to_owned).to_vec(),
            ..more
        };
        assert_eq!(permissions.terms(&rules, &by_person), expect);
        let reader = Leave {
            read_only: true,
            ..Leave::default()
        };
        assert!(permissions.terms(&rules, &reader).read_only);
        let again = Leave {
            sees_as_reader: true,
            ..Leave::default()
        };
        let terms = permissions.terms(&rules, &again);
        assert!(terms.sees_as_reader && !terms.read_only);
        permissions.enter(Mode::Plan);
        assert!(permissions.terms(&rules, &Leave::default()).read_only);
    }

    #[test]
    fn a_grant_covers_its_scope() {
        let write = |path: &str| vec![Access::Write(path.into())];
        let run = |text: &str| {
            vec![
                Access::Run(vec![Segment::unknown(text)]),
                Access::Net("a.test".into()),
            ]
        };
        let net = |host: &str| vec![Access::Net(host.into())];
        let read = |path: &str| vec![Access::Read(path.into())];
        for (granted, asked, freely, by_rule) in [
            (write("/a"), write("/a"), true, true),
            (write("/a"), write("/b"), true, false),
            (write("/a"), run("x"), false, false),
            (run("x"), run("x"), true, true),
            (run("x"), run("y"), false, false),
            (run("x"), net("a.test"), false, false),
            (net("a.test"), net("a.test"), true, true),
            (net("a.test"), net("b.test"), false, false),
            (read("/a"), read("/a"), false, true),
            (read("/a"), read("/b"), false, false),
            (vec![Access::Memory], vec![Access::Memory], false, false),
            (Vec::new(), read("/a"), false, false),
        ] {
            let mut permissions = permissions();
            permissions.grant(&granted);
            let got = [None, Some("a rule")].map(|rule| permissions.is_granted(&asked, rule));
            assert_eq!(got, [freely, by_rule], "{granted:?} {asked:?}");
        }
    }

    #[test]
    fn a_window_closes_with_any_change() {
        let now = Instant::now();
        for change in [
            |s: &mut PermissionState| s.enter(Mode::Plan),
            |s: &mut PermissionState| s.take(Stance::Posture(Posture::Ask)),
        ] {
            let mut permissions = permissions();
            permissions.turn.plan_approved = true;
            assert_eq!(permissions.posture(&Bash::ABOUT, now), Posture::Auto);
            change(&mut permissions);
            assert_eq!(permissions.posture(&Bash::ABOUT, now), Posture::Ask);
        }
    }
}
