//! Plan mode with the tools that there are.

use ostler_engine::tools::{self, Tools};
use ostler_guard::Scope;
use ostler_guard::{Gate, Planned, gate};
use ostler_wire::{Access, ToolDeclaration};
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
            None => tools::declaration(tool).unwrap().clone(),
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
