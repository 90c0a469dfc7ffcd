//! Calls where nobody can be asked: what runs, and what is refused with a reason. A layer makes the difference for commands
//! that change something; rules hold wherever they are.

use super::{Case, Expect, case};
use serde_json::{Value, json};

/// Rules beside those that all cases have.
pub const RULES: &str = "\n[permissions]\ndeny = [\"Read(.env)\", \"Bash(shred:*)\", \"Write(locked/**)\"]\nask = [\"Bash(touch asked)\"]\nallow = [\"Bash(touch allowed)\"]\n";

fn expect(name: &'static str, tool: &'static str, args: Value, expect: Expect) -> Case {
    Case {
        expect,
        ..case(name, tool, args, "")
    }
}

fn bash(name: &'static str, command: &str, expect: Expect) -> Case {
    self::expect(name, "bash", json!({ "command": command }), expect)
}

pub fn cases() -> Vec<Case> {
    let runs = || Expect::Everywhere(r#""ok":true"#);
    let refused = || Expect::Everywhere(r#""ok":false"#);
    let blocked = || Expect::Everywhere(r#""blocked""#);
    let if_held = || Expect::Known(r#""ok":true"#, r#""ok":false"#);
    vec![
        expect(
            "a file of the project",
            "write_file",
            json!({"path": "g.txt", "content": "x\n"}),
            if_held(),
        ),
        expect(
            "a file outside",
            "write_file",
            json!({"path": "/usr/ostler-guard", "content": "x"}),
            refused(),
        ),
        expect(
            "a file that a rule locks",
            "write_file",
            json!({"path": "locked/a", "content": "x"}),
            blocked(),
        ),
        expect(
            "the same by a longer way",
            "write_file",
            json!({"path": "./x/../locked/a", "content": "x"}),
            blocked(),
        ),
        expect(
            "hooks of git",
            "write_file",
            json!({"path": ".git/hooks/pre-push", "content": "x"}),
            refused(),
        ),
        expect(
            "settings of Ostler",
            "write_file",
            json!({"path": "ostler.toml", "content": ""}),
            refused(),
        ),
        expect(
            "servers of the project",
            "write_file",
            json!({"path": ".mcp.json", "content": "{}"}),
            refused(),
        ),
        expect(
            "a move onto what is locked",
            "move_file",
            json!({"source_path": "g.txt", "destination_path": "locked/g"}),
            blocked(),
        ),
        expect(
            "reading the project",
            "read_file",
            json!({"path": "a.rs"}),
            runs(),
        ),
        expect(
            "reading what a rule denies",
            "read_file",
            json!({"path": ".env"}),
            blocked(),
        ),
        expect("finding it", "grep", json!({"pattern": "word="}), runs()),
        bash("a look", "ls", runs()),
        bash("several looks", "ls && cat a.rs | head -n 1", runs()),
        bash("a change in the project", "touch made", if_held()),
        bash("a change that a rule allows", "touch allowed", runs()),
        bash("a change that a rule asks about", "touch asked", refused()),
        bash("what a rule denies", "shred a.rs", blocked()),
        bash(
            "what a rule denies, in a chain",
            "true && shred a.rs",
            blocked(),
        ),
        bash(
            "what a rule denies, by another program",
            "env shred a.rs",
            blocked(),
        ),
        bash(
            "what a rule denies, in a shell",
            "sh -c 'shred a.rs'",
            blocked(),
        ),
        bash("what it reads", "cat .env", blocked()),
        bash("what it reads, by a redirection", "cat < .env", blocked()),
        bash("the folder of the project removed", "rm -rf x", if_held()),
        bash("a program of the project", "sh killed.sh; true", if_held()),
        bash(
            "what a list cannot know",
            "eval \"$(echo touch unknown)\"",
            blocked(),
        ),
    ]
}
