//! Plan mode: which calls may run while a plan is being made. A pure function, checked before any rule; what it does not
//! know it refuses.

use ostler_wire::{Access, Segment, ToolDeclaration, ToolMaker, ToolMark};

/// How the session works. One at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Normal,
    /// Only looking; a plan is what comes out.
    Plan,
    /// One turn after the other, until a goal is reached.
    Goal,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Normal, Mode::Plan, Mode::Goal];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Normal => "normal",
            Mode::Plan => "plan",
            Mode::Goal => "goal",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// A call made while planning.
#[derive(Clone, Copy)]
pub struct Planned<'a> {
    pub tool: &'a ToolDeclaration,
    pub accesses: &'a [Access],
    /// Tools that the person trusts to read only (`[agent] plan_mode_allowed_tools`, or by their word).
    pub trusted: &'a [String],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// On to the rules.
    Open,
    /// The person has to be asked, unless they have answered already by a rule.
    Ask,
    /// The person has to say that the tool reads only.
    Trust,
    /// Why not, as a sentence without its end.
    Shut(&'static str),
}

const PROCESSES: &str = "it controls processes";
const UNTRUSTED: &str = "nobody has said that it can be trusted to read only";

pub fn gate(call: Planned<'_>) -> Gate {
    if call.tool.has(ToolMark::NotForReaders) {
        return Gate::Shut("it is for when the plan is approved");
    }
    let is_remote = call
        .accesses
        .iter()
        .any(|access| matches!(access, Access::Mcp { .. }));
    let mut gate = Gate::Open;
    for access in call.accesses {
        let shut = match access {
            Access::Read(_) | Access::Mcp { .. } => None,
            // What a server might do to the paths it is told is a guess; whoever trusts it knows better.
            Access::Write(_) if is_remote => None,
            Access::Write(_) => Some("it changes files"),
            Access::Run(segments) => shut_command(segments),
            // Of our own, those that steer a job are not for readers.
            Access::Job(_) if call.tool.maker == ToolMaker::Builtin => None,
            Access::Job(_) => Some(PROCESSES),
            Access::Delegate {
                read_only: true, ..
            } => None,
            Access::Delegate { .. } => Some("others would do the work"),
            Access::Memory => Some("it changes what is remembered"),
            Access::History => {
                gate = Gate::Ask;
                None
            }
            Access::Net(_) => {
                gate = Gate::Ask;
                None
            }
        };
        if let Some(why) = shut {
            return Gate::Shut(why);
        }
    }
    match call.tool.maker {
        ToolMaker::Builtin => gate,
        ToolMaker::Other { .. } if call.trusted.iter().any(|name| *name == call.tool.name) => gate,
        ToolMaker::Other {
            says_read_only: true,
        } if is_remote => Gate::Trust,
        ToolMaker::Other { .. } => Gate::Shut(UNTRUSTED),
    }
}

fn shut_command(segments: &[Segment]) -> Option<&'static str> {
    if segments.iter().any(Segment::is_unsure) {
        return Some("what the command does cannot be told for sure");
    }
    (!segments.iter().all(|s| s.read_only))
        .then_some("the command is not known to change nothing, or is more than a look")
}
