//! Commands for a shell with a language of its own.

use ostler_engine::tools::{self, Tools};
use ostler_guard::{Call, Policy, Rule, Rules, Scope, Verdict};

fn rules(texts: &[&str]) -> Vec<Rule> {
    let parsed = texts.iter().map(|text| Rule::parse(text, "x:1"));
    parsed.collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_shell_with_another_language_is_never_sure() {
    let policy = Policy {
        rules: Rules {
            deny: rules(&["Read(.env)", "Bash(rm:*)"]),
            allow: rules(&["Bash(cargo test:*)"]),
            ..Rules::default()
        },
        ..Policy::default()
    };
    for (command, here, there) in [
        ("ls -la", Verdict::Allow, Verdict::Ask),
        ("cargo test", Verdict::Allow, Verdict::Ask),
        // A table whose value is the output of a command, in one of them.
        ("echo @{a=ri x}", Verdict::Allow, Verdict::Ask),
        ("cat .env", Verdict::Deny, Verdict::Deny),
        ("ls; rm x", Verdict::Deny, Verdict::Deny),
    ] {
        let shells = ["sh", "/usr/local/bin/bash", "pwsh", "/bin/zsh", "fish.exe"];
        let got = shells.map(|shell| {
            let scope = Scope::new("/repo", None).with_shell(&[shell.into()]);
            let args = serde_json::json!({"command": command});
            let accesses = Tools::new(&[])
                .find("bash")
                .unwrap()
                .access(&args, &scope)
                .unwrap();
            let call = Call {
                tool: tools::declaration("bash").unwrap(),
                accesses: &accesses,
                scope: &scope,
                resolved: &[],
            };
            policy.decide(call).verdict
        });
        assert_eq!(got, [here, here, there, there, there], "{command}");
    }
}

/// A folder that a link leads out to is outside, also as the `cwd` of a command.
#[tokio::test]
async fn the_folder_of_a_command_is_judged_where_it_really_is() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for name in ["project/src", "out"] {
        std::fs::create_dir_all(top.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(top.join("out"), top.join("project/link")).unwrap();
    let scope = Scope::new(top.join("project"), None);
    let policy = Policy {
        rules: Rules {
            allow: rules(&["Bash(make:*)"]),
            ..Rules::default()
        },
        ..Policy::default()
    };
    let host = ostler_host::Local::new();
    for (cwd, expect) in [
        ("src", Verdict::Allow),
        ("link", Verdict::Ask),
        ("link/x", Verdict::Ask),
    ] {
        for command in ["make", "ls"] {
            let args = serde_json::json!({"command": command, "cwd": cwd});
            let tool = Tools::new(&[]).find("bash").unwrap();
            let accesses = tool.access(&args, &scope).unwrap();
            let resolved = ostler_guard::resolve::resolved(&host, &accesses, &policy, &scope).await;
            let call = Call {
                tool: tools::declaration("bash").unwrap(),
                accesses: &accesses,
                scope: &scope,
                resolved: &resolved,
            };
            assert_eq!(policy.decide(call).verdict, expect, "{command} in {cwd}");
        }
    }
}
