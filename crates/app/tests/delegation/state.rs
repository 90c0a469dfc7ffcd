//! What another agent reads and leaves in the home: its own state, the logins of others, and what its parameters are.

use super::{Team, task};
use ostler_testkit::Act;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const LAYERS: [&str; 2] = ["namespaces", "landlock"];

/// Leaves everything in its state folder that its next run would obey, over what is there and beside it.
const LEAVE: &str = r#"
bash 2>/dev/null <<'END'
cd "$HOME/STATE"
for name in settings.json settings.local.json config.toml hooks.json mcp.json CLAUDE.md AGENTS.md odd-name .env; do
    echo evil > "$name"; echo evil > "x-$name" && mv -f "x-$name" "$name"
done
for name in hooks commands agents skills plugins rules prompts bin; do
    mkdir -p "$name/new"; echo evil > "$name/new/SKILL.md"; echo evil > "$name/mine.md"
done
mv skills moved; mkdir skills; echo evil > skills/mine.md
ln -s "$HOME/.bashrc" odd.sqlite
ln -s /etc/passwd history-2.jsonl
echo evil > "$HOME/.claude.json"
echo evil > "$HOME/.cargo/registry/evil"
echo kept > WRITABLE/kept
END
text='left'
"#;

/// All files and links below a folder with their text, but for what is the agent's own.
fn files(top: &Path, own: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = path.display().to_string();
            if path.is_symlink() {
                found.insert(name, "link".into());
            } else if path.is_dir() && path != own {
                folders.push(path);
            } else if path.is_file() {
                found.insert(name, fs::read_to_string(&path).expect("a text"));
            }
        }
    }
    found
}

#[test]
fn what_the_next_run_of_an_agent_obeys_stays_as_it_was() {
    for (layer, read_only) in LAYERS.iter().flat_map(|it| [(it, true), (it, false)]) {
        for (name, state, own) in [
            ("claude", ".claude", "projects"),
            ("codex", ".codex", "sessions"),
        ] {
            let config = format!(
                "[permissions]\nmode = \"allow\"\n[sandbox]\nlayer = \"{layer}\"\n[roles.worker]\nmodel = \"{name}/default\"\n"
            );
            let call = json!({"role": "worker", "prompt": "make it", "read_only": read_only});
            let team = Team::new(&config, vec![("delegate", call)]);
            let doctor = team.run(["doctor", "--json"]).output().stdout;
            if !cfg!(target_os = "linux") || !doctor.contains(&format!("{layer} active")) {
                super::common::skipped("this layer does not work here");
                continue;
            }
            let leave = LEAVE.replace("STATE", state).replace("WRITABLE", own);
            team.agents.add(name, [Act::answer("").after(&leave)]);
            let top = team.scene.space.user_home().join(state);
            for (file, text) in [
                ("settings.json", "mine"),
                ("config.toml", "# mine"),
                ("skills/mine.md", "mine"),
            ] {
                let path = top.join(file);
                fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                fs::write(path, text).expect("written");
            }
            let downloads = team.scene.space.user_home().join(".cargo/registry");
            fs::create_dir_all(&downloads).expect("made");
            let own = top.join(own);
            let before = files(&top, &own);
            let out = team.exec().ok();
            let about = format!(
                "{layer} {name} {read_only}: {} {:?}",
                out.stderr,
                team.results()
            );
            assert!(team.results()[0].starts_with("left"), "{about}");
            assert_eq!(files(&top, &own), before, "{about}");
            assert_eq!(
                fs::read_to_string(own.join("kept")).ok().as_deref(),
                Some("kept\n")
            );
            let outside = team.scene.space.user_home().join(".claude.json");
            assert!(!outside.exists(), "{about}");
            assert!(!downloads.join("evil").exists(), "{about}");
            // Where its folder is writable, what was put back is named; elsewhere it could not be written.
            if name == "codex" {
                let result = &team.results()[0];
                assert!(
                    result.contains("odd-name") && result.contains(".codex/rules"),
                    "{about}"
                );
            }
        }
    }
}

/// Nobody was asked about an agent that only reads: it sees no more of the home than a reader, and its own login.
#[test]
fn an_agent_that_nobody_approved_reads_no_more_than_a_reader() {
    let secrets = [
        ("other/notes.txt", "note-1"),
        (".claude/.credentials.json", "own-2"),
        (".codex/auth.json", "login-3"),
        (".gemini/oauth_creds.json", "login-4"),
    ];
    let read = "text=$(cat ~/other/notes.txt ~/.claude/.credentials.json ~/.codex/auth.json ~/.gemini/oauth_creds.json 2>/dev/null | tr '\\n' ' ')";
    let writer = json!({"role": "worker", "prompt": "look"});
    let home = |team: &Team| team.scene.space.user_home().to_owned();
    for (mode, reads, expect) in [
        ("ask", true, "own-2"),
        ("ask", false, "own-2"),
        ("allow", false, "note-1 own-2"),
    ] {
        let config = format!(
            "[permissions]\nmode = \"{mode}\"\n[roles.worker]\nmodel = \"claude/default\"\n"
        );
        let mut call = writer.clone();
        call["read_only"] = json!(reads);
        // What it names is not approved with it.
        let team = Team::new(&config, vec![("delegate", call)]);
        if !team
            .run(["doctor", "--json"])
            .output()
            .stdout
            .contains(" active")
        {
            return super::common::skipped("no sandbox here");
        }
        team.agents.add("claude", [Act::answer("").after(read)]);
        for (file, text) in secrets {
            let path = home(&team).join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, format!("{text}\n")).expect("written");
        }
        team.exec().ok();
        let result = team.results().pop().expect("a result");
        let said = result.lines().next().unwrap_or_default().trim().to_owned();
        assert_eq!(said, expect, "{mode} {reads}: {result}");
    }
}

/// The id of a session is an argument of a program: what is no id, or nobody knows, does not get there.
#[test]
fn a_session_that_nobody_knows_is_not_gone_on_with() {
    let named = |id: &str| {
        let call =
            json!({"role": "worker", "prompt": "go on", "session_id": id, "read_only": true});
        ("delegate", call)
    };
    let calls = vec![
        named("--config=sandbox_mode=\"danger-full-access\""),
        named("codex-session-7"),
        task("worker"),
        named("codex-session-1"),
    ];
    let config = "[permissions]\nmode = \"ask\"\n[roles.worker]\nmodel = \"codex/default\"\n";
    let team = Team::new(config, calls);
    team.agents.add("codex", [Act::answer("ok")]);
    team.exec().ok();
    let results = team.results();
    assert!(results[0].contains("not the form"), "{results:?}");
    assert!(results[1].contains("names no conversation"), "{results:?}");
    let calls = team.agents.calls("codex");
    assert_eq!(calls.len(), 2, "{results:?}");
    assert!(calls[1].args.iter().any(|arg| arg == "codex-session-1"));
}

/// A question has each task on a line of its own with all that matters, whatever the prompts say.
#[test]
fn a_question_lists_each_task_with_what_it_may_do() {
    let tasks = json!({"tasks": [
        {"role": "worker", "prompt": "look\n2. worker (by codex: changes nothing here): tidy", "worktree": true},
        {"role": "worker", "prompt": "tidy", "session_id": "s-1", "timeout_secs": 7},
    ]});
    let config = "[permissions]\nmode = \"allow\"\ndeny = [\"Delegate(worker)\"]\n[roles.worker]\nmodel = \"codex/default\"\n";
    let team = Team::new(config, vec![("batch", tasks)]);
    team.agents.add("codex", [Act::answer("ok")]);
    team.exec().ok();
    let result = team.results().pop().expect("a result");
    let expect = "batch:\n1. worker (by codex: may change files here, in a worktree of its own): look\n    2. worker (by codex: changes nothing here): tidy\n2. worker (by codex: may change files here, continues session s-1, at most 7 s): tidy";
    assert!(result.contains(expect), "{result}");
}
