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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Scope;
    use crate::tools::Tools;
    use serde_json::json;

    #[test]
    fn what_may_run_while_planning() {
        use Gate::{Ask, Open, Trust};
        let scope = Scope::new("/repo", None);
        let tools = Tools::new(&[]);
        // Everything a person could list is listed: it unlocks nothing of ours.
        let trusted: Vec<String> = tools.names().map(str::to_owned).collect();
        let path = json!({"path": "a"});
        let run = |command: &str| json!({"command": command});
        for (tool, args, expect) in [
            ("read_file", path.clone(), Ok(Open)),
            ("ls", json!({}), Ok(Open)),
            ("glob", json!({"pattern": "*"}), Ok(Open)),
            ("grep", json!({"pattern": "x"}), Ok(Open)),
            ("time", json!({}), Ok(Open)),
            ("todo", json!({"items": []}), Ok(Open)),
            ("ask", json!({"question": "?"}), Ok(Open)),
            ("exit_plan_mode", json!({"plan": "x"}), Ok(Open)),
            ("bash_output", json!({"job": "j1"}), Ok(Open)),
            ("bash", run("git status && ls | wc -l"), Ok(Open)),
            ("fetch_url", json!({"url": "https://a.example"}), Ok(Ask)),
            ("web_search", json!({"query": "x"}), Ok(Ask)),
            (
                "write_file",
                json!({"path": "a", "content": "x"}),
                Err("changes files"),
            ),
            (
                "edit_file",
                json!({"path": "a", "old": "x", "new": "y"}),
                Err("changes files"),
            ),
            (
                "move_file",
                json!({"source_path": "a", "destination_path": "b"}),
                Err("changes files"),
            ),
            ("bash", run("cargo build"), Err("not known")),
            ("bash", run("npm install"), Err("not known")),
            ("bash", run("ls > out"), Err("changes files")),
            ("bash", run("curl https://a.example"), Err("not known")),
            ("bash", run("rm -rf x"), Err("not known")),
            ("bash", run("kill 1"), Err("not known")),
            ("bash", run("ls `x"), Err("for sure")),
            ("bash", run("$CMD"), Err("for sure")),
            (
                "bash",
                json!({"command": "ls", "wait": false}),
                Err("more than a look"),
            ),
            (
                "bash",
                json!({"command": "ls", "run_in_background": true}),
                Err("more than a look"),
            ),
            (
                "bash",
                json!({"command": "ls", "tty": true}),
                Err("more than a look"),
            ),
            (
                "bash_input",
                json!({"job": "j1", "text": "q"}),
                Err("when the plan is approved"),
            ),
            (
                "kill_job",
                json!({"job": "j1"}),
                Err("when the plan is approved"),
            ),
            (
                "complete_step",
                json!({"step": "1", "evidence": "x"}),
                Err("when the plan is approved"),
            ),
        ] {
            let found = tools.find(tool).unwrap();
            let accesses = found.access(&args, &scope).unwrap();
            let got = gate(Planned {
                tool: found.about(),
                accesses: &accesses,
                trusted: &trusted,
            });
            match (got, expect) {
                (Gate::Shut(why), Err(part)) => assert!(why.contains(part), "{tool} {args}: {why}"),
                (got, expect) => assert_eq!(Ok(got), expect, "{tool} {args}"),
            }
        }
        let server = || Access::Mcp {
            server: "s".into(),
            tool: "t".into(),
            read_only: false,
        };
        let hint = Some;
        for (tool, maker, accesses, expect) in [
            ("mcp__s__t", hint(true), vec![server()], Ok(Trust)),
            ("mcp__s__t", hint(false), vec![server()], Err("trusted")),
            ("mcp__s__known", hint(false), vec![server()], Ok(Open)),
            (
                "mcp__s__known",
                hint(true),
                vec![server(), Access::Write("/repo/a".into())],
                Ok(Open),
            ),
            (
                "mcp__s__known",
                hint(true),
                vec![server(), Access::Memory],
                Err("remembered"),
            ),
            (
                "mine",
                hint(true),
                vec![Access::Read("/a".into())],
                Err("trusted"),
            ),
            (
                "known",
                hint(false),
                vec![Access::Read("/a".into())],
                Ok(Open),
            ),
            (
                "known",
                hint(false),
                vec![Access::Write("/a".into())],
                Err("changes files"),
            ),
            ("known", hint(false), vec![Access::Net("h".into())], Ok(Ask)),
            (
                "known",
                hint(false),
                vec![Access::Delegate {
                    role: "r".into(),
                    read_only: false,
                }],
                Err("others"),
            ),
            ("task", None, Vec::new(), Err("approved")),
            ("remember", None, vec![Access::Memory], Err("approved")),
            ("read_only_task", None, Vec::new(), Ok(Open)),
        ] {
            let trusted = ["mcp__s__known".to_owned(), "known".to_owned()];
            let about = match maker {
                Some(hint) => ToolDeclaration::of_other(tool.into(), hint),
                None => crate::tools::declaration(tool).unwrap().clone(),
            };
            let got = gate(Planned {
                tool: &about,
                accesses: &accesses,
                trusted: &trusted,
            });
            match (got, expect) {
                (Gate::Shut(why), Err(part)) => assert!(why.contains(part), "{tool}: {why}"),
                (got, expect) => assert_eq!(Ok(got), expect, "{tool} {accesses:?}"),
            }
        }
    }
}
