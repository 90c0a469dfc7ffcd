//! What runs where nobody can be asked, and what the refusals name.

use ostler_engine::tools::{self, Tools};
use ostler_guard::remedy::{self, Remedy};
use ostler_guard::{
    Call, Containment, Decision, Folders, Headless, Policy, Posture, Rule, Rules, Scope, Verdict,
};
use ostler_wire::{Access, ToolDeclaration};
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
            forbidden: vec!["/home/me/.ssh".into()],
            ..Folders::default()
        },
        ..Policy::default()
    }
}

fn declared(name: &str) -> ToolDeclaration {
    let builtin = tools::declaration(name).cloned();
    builtin.unwrap_or_else(|| ToolDeclaration::of_other(name.to_owned(), false))
}

fn accesses(tool: &str, args: &Value) -> Vec<Access> {
    match tool.strip_prefix("mcp__").and_then(|n| n.split_once("__")) {
        Some((server, name)) => {
            let accesses = ostler_guard::mcp_accesses(server, name, args, &scope(), &[]);
            match name {
                "look" => ostler_guard::mcp_looks(accesses),
                _ => accesses,
            }
        }
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
            tool: &declared(tool),
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
                tool: &declared(tool),
                accesses: &accesses,
                scope: &scope,
                resolved: &[],
            };
            let refusal = remedy::answer(policy, call, &decision).err()?;
            Some(match refusal.remedy {
                Remedy::Flags(flags) => flags.join(" "),
                Remedy::Nothing(why) => format!("{why:?}"),
            })
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
        (
            ("mcp__fs__look", json!({"path": "/other/x"})),
            "--allow 'Read(/other/x)'",
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
            "--allow 'Edit(/other/a)'",
        ),
        (run("git push origin main"), "NoFlagAskRule"),
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
        (Missing, run("make"), Some("--allow 'Bash(make)'")),
        (Missing, run("$X y"), Some("NoFlagWords")),
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
        Some("NoFlagAskRule")
    );
    let (tool, args) = run("make");
    let flags = said(&set(Headless::Deny), tool, &args);
    assert_eq!(flags.as_deref(), Some("--allow 'Bash(make)'"));
}

/// Refused calls of all tools and for all reasons, and what is said of each. No two are the same in what they need.
fn refused_calls() -> Vec<((&'static str, Value), &'static str)> {
    let path = |tool: &'static str, path: &str| (tool, json!({ "path": path }));
    let write = |path: &str| ("write_file", json!({"path": path, "content": "x"}));
    let fetch = |url: &str| ("fetch_url", json!({ "url": url }));
    let (broad, held, none) = ("NoFlagBroad", "NoFlagSandbox", "NoFlagWords");
    vec![
        // Reading by file tools
        (path("read_file", "/other/r1"), "Read(/other/r1)"),
        (
            path("read_file", "/home/me/.bashrc"),
            "Read(/home/me/.bashrc)",
        ),
        (path("read_file", "~/notes.txt"), "Read(/home/me/notes.txt)"),
        (path("read_file", "../up"), "Read(/up)"),
        (path("read_file", "/etc/passwd"), "Read(/etc/passwd)"),
        (path("read_file", "/other/a b"), "Read(/other/a b)"),
        (path("read_file", "/other/[id].ts"), none),
        (path("read_file", "/proc/self/status"), broad),
        (path("ls", "/other/l1"), "Read(/other/l1)"),
        (path("ls", "~"), broad),
        (
            ("grep", json!({"pattern": "x", "path": "/other/g1"})),
            "Read(/other/g1)",
        ),
        // It would go through what nobody reads.
        (("grep", json!({"pattern": "x", "path": "/"})), "denied"),
        (
            ("glob", json!({"pattern": "*", "path": "/other/g2"})),
            "Read(/other/g2)",
        ),
        (("glob", json!({"pattern": "*", "path": "/home/me"})), broad),
        // Writing by file tools
        (write("/other/w1"), "Edit(/other/w1)"),
        (write("~/w2"), "Edit(/home/me/w2)"),
        (write("~/.profile"), "Edit(/home/me/.profile)"),
        (write("/other/[w].ts"), none),
        (write("ostler.toml"), "Edit(./ostler.toml)"),
        (write(".mcp.json"), "Edit(./.mcp.json)"),
        (
            write(".git/hooks/pre-commit"),
            "Edit(./.git/hooks/pre-commit)",
        ),
        (write("sub/.git/config"), "Edit(./sub/.git/config)"),
        (
            (
                "edit_file",
                json!({"path": "/other/e1", "old": "a", "new": "b"}),
            ),
            "Edit(/other/e1)",
        ),
        (
            (
                "edit_file",
                json!({"path": ".git/config", "old": "a", "new": "b"}),
            ),
            "Edit(./.git/config)",
        ),
        (
            (
                "multi_edit",
                json!({"path": "/other/m1", "edits": [{"old": "a", "new": "b"}]}),
            ),
            "Edit(/other/m1)",
        ),
        (
            (
                "move_file",
                json!({"source_path": "a", "destination_path": "/other/m2"}),
            ),
            "Edit(/other/m2)",
        ),
        (
            (
                "move_file",
                json!({"source_path": "/other/m3", "destination_path": "/other/m4"}),
            ),
            "Edit(/other/m3) Edit(/other/m4)",
        ),
        (
            (
                "delete_range",
                json!({"path": "/other/d1", "start_anchor": "a", "end_anchor": "b"}),
            ),
            "Edit(/other/d1)",
        ),
        (
            (
                "delete_symbol",
                json!({"path": "/other/d2.rs", "symbol": "a"}),
            ),
            "Edit(/other/d2.rs)",
        ),
        // The web
        (fetch("https://f1.example/x?k=v"), "Net(f1.example)"),
        (fetch("f2.example"), "Net(f2.example)"),
        (fetch("https://f3.example:8443/"), "Net(f3.example:8443)"),
        (fetch("http://localhost:8080/"), "Net(localhost:8080)"),
        (fetch("http://127.0.0.1:8081/"), "Net(127.0.0.1:8081)"),
        (("web_search", json!({"query": "x"})), "web_search"),
        // Others
        (
            ("history", json!({"query": "x", "scope": "global"})),
            "history",
        ),
        (("mcp__db__drop", json!({"path": "a"})), "mcp__db__drop"),
        (("mcp__db__add", json!({})), "mcp__db__add"),
        (
            ("mcp__fs__write", json!({"path": "/other/x"})),
            "mcp__fs__write",
        ),
        (
            ("mcp__fs__look", json!({"path": "/other/m1"})),
            "Read(/other/m1)",
        ),
        (
            ("mcp__fs__look", json!({"path": "~/m2"})),
            "Read(/home/me/m2)",
        ),
        // Commands that read outside
        (run("cat /other/c1"), "Read(/other/c1)"),
        (run("cat ../c2"), "Read(/c2)"),
        (run("cat ~/c3 | wc -l"), "Read(/home/me/c3)"),
        (
            run("cat /other/c4 /other/c5"),
            "Read(/other/c4) Read(/other/c5)",
        ),
        (run("head -n 3 /var/log/c6"), "Read(/var/log/c6)"),
        (run("grep -r x /other/c7"), "Bash(grep -r x /other/c7)"),
        (run("cp /other/c8 ."), "Read(/other/c8)"),
        (run("unknown /home/me/c9"), "Read(/home/me/c9)"),
        (run("unknown --file=/home/me/c10"), "Read(/home/me/c10)"),
        (run("unknown -I/home/me/c11"), "Read(/home/me/c11)"),
        (
            run("unknown /other/c12 && unknown /other/c13"),
            "Read(/other/c12) Read(/other/c13)",
        ),
        (
            run("python3 -c \"print(open('/other/c14').read())\""),
            "Read(/other/c14)",
        ),
        (run("sort < /other/c15"), "Read(/other/c15)"),
        (run("cd /other/c16 && make"), "Read(/other/c16)"),
        (
            run("tar cf a.tar /other/c17"),
            "Bash(tar cf a.tar /other/c17)",
        ),
        (run("ls ~"), "Bash(ls /home/me)"),
        (run("du -sh /home"), "Bash(du -sh /home)"),
        (run("find /home -name x"), "Bash(find /home -name x)"),
        (run("cat /*/*/x.txt"), none),
        (run("unknown /home/me"), "Bash(unknown /home/me)"),
        (run("cat /proc/self/status"), "Bash(cat /proc/self/status)"),
        (run("cat /other/*.txt"), none),
        (run("cat ~/.ssh/id"), held),
        (run("unknown --key=/home/me/.ssh/id"), held),
        (run("scp -i ~/.ssh/id a h0.example:b"), held),
        // Hosts
        (run("curl -s https://h1.example/x"), "Net(h1.example)"),
        (
            run("curl -s http://h2.example:8080/x"),
            "Net(h2.example:8080)",
        ),
        (run("curl http://localhost:9000"), "Net(localhost:9000)"),
        (
            run("wget https://h3.example/a https://h4.example/b"),
            "Net(h3.example) Net(h4.example)",
        ),
        (run("ssh h6.example ls"), "Net(h6.example)"),
        (
            run("curl -T /other/h7 https://h7.example"),
            "Read(/other/h7) Net(h7.example)",
        ),
        // What git keeps, and what is protected
        (run("rm -rf .git/objects"), "Bash(rm -rf .git/objects)"),
        (
            run("rm .git/refs/heads/main"),
            "Bash(rm .git/refs/heads/main)",
        ),
        (
            run("rm -rf .git/objects build"),
            "Bash(rm -rf .git/objects build)",
        ),
        // A rule does not know the folder that a command runs in.
        (run("cd .git && rm -rf objects"), none),
        (
            ("bash", json!({"command": "rm -rf objects", "cwd": ".git"})),
            none,
        ),
        (run("rm -rf .git"), held),
        (run("rm -rf .git *"), held),
        (run("rm -rf sub/.git"), held),
        (run("rm -rf ./"), held),
        (run("rm -rf ."), held),
        (run("rm -rf /repo"), held),
        (run("rm -rf .g*"), held),
        (run("mv .git x"), held),
        (run("echo a > .git/hooks/post-commit"), held),
        (run("echo a >> .ostler/x"), held),
        (run("cp a .claude/settings.json"), held),
        // An ask rule
        (run("git push origin main"), "NoFlagAskRule"),
        (run("git push -f"), "NoFlagAskRule"),
    ]
}

/// What a run says, with the rules of the flags alone.
fn told(policy: &Policy, tool: &str, args: &Value) -> Option<String> {
    let said = said(policy, tool, args)?;
    Some(said.replace("--allow '", "").replace('\'', ""))
}

#[test]
fn what_a_refusal_names_allows_this_call_and_no_other() {
    let rows = refused_calls();
    assert!(rows.len() >= 80, "{}", rows.len());
    let plain = policy(Containment::Sandbox, &[]);
    let mut wrong = Vec::new();
    for ((tool, args), expect) in &rows {
        let told = told(&plain, tool, args);
        let shown = told.as_deref().unwrap_or("it runs");
        let rules = expect.replace(") ", ")\n");
        if shown.replace(") ", ")\n") != rules {
            wrong.push(format!("{tool} {args}: {shown}, not {expect}"));
            continue;
        }
        if expect.starts_with("NoFlag") || *expect == "denied" {
            continue;
        }
        let rules: Vec<&str> = rules.lines().collect();
        let with = policy(Containment::Sandbox, &rules);
        for ((other, others), _) in &rows {
            let is_same = (other, others) == (tool, args);
            let runs = said(&with, other, others).is_none();
            if runs != is_same {
                wrong.push(format!("with {rules:?} {other} {others}: runs is {runs}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_refusal_names_the_folders_in_which_a_command_would_write() {
    let policy = policy(Containment::Sandbox, &[]);
    for (command, flags) in [
        (
            "wget -O /other/o/x https://a.example/x",
            "--allow 'Net(a.example)' --add-dir '/other/o'",
        ),
        (
            "wget -P /other/o https://a.example/x",
            "--allow 'Net(a.example)' --add-dir '/other/o'",
        ),
        (
            "curl -o /other/o/x https://a.example/x",
            "--allow 'Net(a.example)' --add-dir '/other/o'",
        ),
        (
            "curl https://a.example/x > /other/o/x",
            "--allow 'Net(a.example)' --add-dir '/other/o'",
        ),
        (
            "cp /secret/c /other/o/x",
            "--allow 'Read(/secret/c)' --allow 'Read(/other/o/x)' --add-dir '/other/o'",
        ),
        ("wget -O x https://a.example/x", "--allow 'Net(a.example)'"),
        (
            "wget -O /tmp/x https://a.example/x",
            "--allow 'Net(a.example)'",
        ),
        ("wget -O - https://a.example/x", "--allow 'Net(a.example)'"),
        (
            "wget -O /added/x https://a.example/x",
            "--allow 'Net(a.example)'",
        ),
        ("wget -O ~/x https://a.example/x", "NoFlagBroad"),
    ] {
        let (tool, args) = run(command);
        let told = said(&policy, tool, &args);
        assert_eq!(told.as_deref(), Some(flags), "{command}");
    }
}

#[test]
fn where_nothing_runs_unasked_flags_allow_one_call_too() {
    let rows = [
        (run("make all"), "Bash(make all)"),
        (run("cargo test --all"), "Bash(cargo test --all)"),
        (run("make > out.log"), "Bash(make) Edit(./out.log)"),
        (run("touch a; touch b"), "Bash(touch a) Bash(touch b)"),
        (run("touch 'a b'"), "NoFlagWords"),
        (run("rm -rf *"), "NoFlagWords"),
        (
            ("write_file", json!({"path": "a", "content": "x"})),
            "Edit(./a)",
        ),
        (
            ("task", json!({"prompt": "x", "role": "reviewer"})),
            "Delegate(reviewer)",
        ),
        (
            ("fetch_url", json!({"url": "https://a.example"})),
            "Net(a.example)",
        ),
        (("mcp__db__drop", json!({})), "mcp__db__drop"),
    ];
    for headless in [Headless::Deny, Headless::Sandbox] {
        let set = |allow: &[&str]| Policy {
            headless,
            ..policy(Containment::Missing, allow)
        };
        for ((tool, args), expect) in &rows {
            // Without a layer sub-agents run, and are judged call by call.
            if headless == Headless::Sandbox && *tool == "task" {
                continue;
            }
            let told = told(&set(&[]), tool, args);
            assert_eq!(told.as_deref(), Some(*expect), "{headless:?} {args}");
            if expect.starts_with("NoFlag") || *expect == "denied" {
                continue;
            }
            let rules = expect.replace(") ", ")\n");
            let with = set(&rules.lines().collect::<Vec<_>>());
            for ((other, others), _) in &rows {
                let is_same = (other, others) == (tool, args);
                let runs = said(&with, other, others).is_none();
                let free = headless == Headless::Sandbox && *other == "task";
                assert_eq!(
                    runs,
                    is_same || free,
                    "{headless:?} {rules} {other} {others}"
                );
            }
        }
    }
}

#[test]
fn paths_in_texts_are_not_files() {
    let policy = policy(Containment::Sandbox, &[]);
    for command in [
        "python3 -c \"print('a/b'.split('/'))\"",
        "python3 -c \"print('/', '/x')\"",
        "node -e \"console.log('/home'.length)\"",
        "git commit -m 'Read /etc/foo and /home/me/x'",
        "git commit -am \"see /etc/foo\"",
        "git tag -a v1 -m 'move /home/me/x'",
        "gh pr create --title 'a /home/me/b' --body 'c /etc/foo d'",
        "awk -F/ '{print $2}' a.txt",
    ] {
        let (tool, args) = run(command);
        assert_eq!(said(&policy, tool, &args), None, "{command}");
    }
    for command in [
        "git commit -F /etc/foo",
        "git commit -m x /etc/foo",
        "python3 -c \"print(open('/etc/foo').read())\"",
        "unknown 'a /etc/foo b'",
    ] {
        let (tool, args) = run(command);
        let flags = said(&policy, tool, &args);
        assert_eq!(
            flags.as_deref(),
            Some("--allow 'Read(/etc/foo)'"),
            "{command}"
        );
    }
}

/// Who allows a command allows what its words cause; a file that the shell opens for it is a read of its own.
#[test]
fn an_allowed_command_brings_no_file_from_outside_in() {
    let rules = ["Bash(npm test)", "Bash(git log:*)", "Read(/home/me/in.txt)"];
    for (containment, headless) in [
        (Containment::Sandbox, Headless::Sandbox),
        (Containment::Sandbox, Headless::Deny),
        (Containment::Missing, Headless::Sandbox),
    ] {
        let policy = Policy {
            headless,
            ..policy(containment, &rules)
        };
        for (command, runs) in [
            ("npm test", true),
            ("npm test < src/a", true),
            ("npm test < /home/me/in.txt", true),
            ("npm test </home/me/secret.txt", false),
            ("npm test 3</home/me/secret.txt", false),
            ("npm test <~/secret.txt", false),
            ("npm test <../secret.txt", false),
            ("npm test </home/*/secret.txt", false),
            ("git log --stdin </home/me/secret.txt", false),
        ] {
            let (tool, args) = run(command);
            let said = said(&policy, tool, &args);
            assert_eq!(said.is_none(), runs, "{command} {headless:?} {said:?}");
        }
    }
}
