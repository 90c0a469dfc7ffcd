//! Sub-agents and skills as people have them: one-shot runs, files of a project, trust, the configuration, and signals.

#![cfg(unix)]

mod common;

use common::Scene;
use ostler_testkit::{Captured, Kind, Place, Server, Signal, Step};
use serde_json::{Value, json};

const FREE: &str = "[permissions]\nmode = \"allow\"\n[sandbox]\nbash = \"off\"\n";

fn is_child(request: &Captured) -> bool {
    request.system_text().contains("# Role: ")
}

/// Calls once, then ends; sub-agents answer by `child`.
fn delegating(
    (tool, args): (&'static str, Value),
    child: impl Fn(&Captured) -> Step + Send + Sync + 'static,
) -> Server {
    Server::answering(move |request| match request.tool_results().is_empty() {
        _ if is_child(request) => child(request),
        true => Step::answer().call(tool, args.clone()),
        false => Step::answer().text("It is done."),
    })
}

#[test]
fn a_run_without_a_person_has_work_done_by_others() {
    let task = ("task", json!({"prompt": "write it", "role": "sprinter"}));
    let server = delegating(task, |request| match request.tool_results().is_empty() {
        true => Step::answer().call("write_file", json!({"path": "made", "content": "x"})),
        false => Step::answer().text("Written."),
    });
    let config = format!("{FREE}[roles.sprinter]\nmodel = \"ostler/mock/fast\"\n");
    let scene = Scene::of(Kind::Chat, &config, server);
    let out = scene.exec("go").ok();
    assert_eq!(out.stdout, "It is done.\n");
    assert!(out.stderr.contains("t1 sprinter · "), "{}", out.stderr);
    assert_eq!(scene.space.read("made"), "x");
    assert_eq!(scene.logs().len(), 2);
    let models: Vec<String> = scene
        .server
        .requests()
        .iter()
        .map(|r| r.model().to_owned())
        .collect();
    assert_eq!(models, ["mock-model", "fast", "fast", "mock-model"]);
}

#[test]
fn a_signal_ends_the_whole_tree() {
    for (signal, code) in [
        (Signal::Interrupt, 130),
        (Signal::Terminate, 143),
        (Signal::Quit, 143),
    ] {
        let task = ("task", json!({"prompt": "wait"}));
        let server = delegating(task, |_| Step::answer().text("Half").stall(Place::Text(1)));
        let scene = Scene::of(Kind::Chat, FREE, server);
        let run = scene.ostler(["exec", "-p", "go"]).spawn();
        scene.server.wait_for(2);
        run.signal(signal);
        run.wait().exits(code);
        for log in scene.logs() {
            let text = scene.space.read(&log);
            assert!(text.contains(r#""outcome":"interrupted""#), "{text}");
        }
        assert_eq!(scene.logs().len(), 2);
    }
}

#[test]
fn what_a_project_brings_waits_for_trust_by_content() {
    let scene = Scene::of(
        Kind::Chat,
        FREE,
        Server::answering(|_| Step::answer().text("ok")),
    );
    let skill = ".claude/skills/theirs/SKILL.md";
    scene
        .space
        .write(skill, "---\ndescription: Of the project\n---\nDo it.");
    scene.space.write(
        ".claude/agents/helper.md",
        "---\ndescription: Helps them\n---\nHelp.",
    );
    scene.space.write(
        scene.space.home().join("skills/mine/SKILL.md"),
        "---\ndescription: Of the person\n---\nDo it.",
    );
    let seen = || {
        let out = scene.exec("go").ok();
        let request = scene.server.requests().pop().unwrap();
        let system = request.system_text();
        assert!(system.contains("- mine: Of the person"), "{system}");
        let both =
            ["- theirs: Of the project", "- helper: Helps them"].map(|line| system.contains(line));
        (
            both,
            out.stderr.contains("is not trusted") || out.stderr.contains("has changed"),
        )
    };
    assert_eq!(seen(), ([false, false], true));
    let listed = scene.ostler(["skills", "list"]).output().ok().stdout;
    assert!(
        listed.contains("mine") && !listed.contains("theirs"),
        "{listed}"
    );
    scene.ostler(["trust", "--yes"]).output().ok();
    assert_eq!(seen(), ([true, true], false));
    let agents = scene
        .ostler(["agents", "list", "--format", "json"])
        .output()
        .ok()
        .stdout;
    assert!(agents.contains("\"helper\""), "{agents}");
    // Another text is another skill.
    scene
        .space
        .write(skill, "---\ndescription: Of the project\n---\nDo worse.");
    assert_eq!(seen().0, [false, false]);
}

#[test]
fn bad_files_are_told_and_cost_nothing_else() {
    let scene = Scene::of(
        Kind::Chat,
        FREE,
        Server::answering(|_| Step::answer().text("ok")),
    );
    let home = scene.space.home().to_owned();
    scene
        .space
        .write(home.join("skills/broken/SKILL.md"), "---\nname: x\n");
    scene
        .space
        .write(home.join("skills/flood/SKILL.md"), "x".repeat(10 << 20));
    scene
        .space
        .write(home.join("agents/empty.md"), "---\nname: e\n---\n");
    let out = scene.exec("go").ok();
    for part in [
        "broken/SKILL.md is left out: its front matter has no end",
        "flood/SKILL.md is left out: it has 10485760 bytes",
        "empty.md is left out: it is empty",
    ] {
        assert!(out.stderr.contains(part), "{part}: {}", out.stderr);
    }
}

#[test]
fn skills_can_be_shown_hidden_and_put_elsewhere() {
    let config = "[skills]\npaths = [\"shared\"]\ndisabled_skills = [\"review\"]\n";
    let scene = Scene::with_config(Kind::Chat, config, []);
    let home = scene.space.home().to_owned();
    scene.space.write(
        home.join("shared/far/SKILL.md"),
        "---\ndescription: Far\n---\nThe text.",
    );
    let listed = scene
        .ostler(["skills", "list", "--format", "json"])
        .output()
        .ok();
    let listed: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    let names: Vec<&str> = listed.iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(
        names,
        ["commit", "explore", "far", "init", "security_review"]
    );
    let shown = scene.ostler(["skills", "show", "far"]).output().ok();
    assert_eq!(shown.stdout, "The text.\n");
    scene.ostler(["skills", "show", "review"]).output().exits(1);
}

#[test]
fn calls_of_one_answer_run_at_once_whether_they_write_or_not() {
    let server = Server::answering(|request| match is_child(request) {
        true => Step::answer().text("Half").stall(Place::Text(1)),
        false => Step::answer()
            .call("read_only_task", json!({"prompt": "look"}))
            .call("task", json!({"prompt": "write"}))
            .call("read_only_task", json!({"prompt": "look elsewhere"})),
    });
    let scene = Scene::of(Kind::Chat, FREE, server);
    let run = scene.ostler(["exec", "-p", "go"]).spawn();
    scene.server.wait_for(4);
    run.signal(Signal::Interrupt);
    run.wait().exits(130);
}

/// Killed while its sub-agent worked: the next run says what became of the call, once, and the sub-agent's session goes on.
#[test]
fn a_run_killed_with_its_child_says_so_and_both_go_on() {
    let server = Server::answering(|request| {
        let goes_on = request.last_user_text().trim_end().ends_with("and now?");
        match (is_child(request), request.tool_results().is_empty()) {
            (_, _) if goes_on => Step::answer().text("It goes on."),
            (true, true) => {
                Step::answer().call("bash", json!({"command": "echo x > made; sleep 600"}))
            }
            (true, false) => Step::answer().text("Done."),
            (false, true) => Step::answer().call("task", json!({"prompt": "wait"})),
            (false, false) => Step::answer().text("It is done."),
        }
    });
    let scene = Scene::of(Kind::Chat, FREE, server);
    let run = scene.ostler(["exec", "-p", "go"]).spawn();
    common::wait_for("the command of the child", || {
        scene.space.exists("made").then_some(())
    });
    run.signal(Signal::Kill);
    run.wait();
    let logs = scene.logs();
    let id = |path: &std::path::Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let (child, parent): (Vec<_>, Vec<_>) = logs
        .iter()
        .partition(|log| scene.space.read(log).contains("\"child_of\""));
    assert_eq!((child.len(), parent.len()), (1, 1));
    for (log, code) in [(parent[0], "interrupted"), (child[0], "interrupted")] {
        let out = scene
            .ostler(["resume", &id(log), "-p", "and now?"])
            .output()
            .ok();
        assert_eq!(out.stdout, "It goes on.\n");
        let lines = ostler_testkit::json_lines(&scene.space.read(log));
        let results = common::of_type(&lines, "tool_result");
        assert_eq!(results.len(), 1, "{results:?}");
        assert_eq!(results[0]["output"]["error"]["code"], code);
        let told = scene.server.requests().pop().unwrap().tool_results();
        assert_eq!(told.len(), 1, "{told:?}");
    }
}

/// How a run ends whose sub-agent did not do well: the parent's own end is what counts, and it is never lost.
#[test]
fn exit_codes_of_runs_with_sub_agents() {
    type Child = fn(&Captured) -> Step;
    let fails: Child = |_| Step::status(400, "no");
    let lies: Child = |_| Step::answer().text("");
    let works: Child = |_| Step::answer().text("Done.");
    let dear: Child = |_| {
        let usage = ostler_testkit::Usage {
            input: 49_500,
            output: 1,
            ..Default::default()
        };
        Step::answer().call("time", json!({})).usage(usage)
    };
    let task = |role: &str| json!({"prompt": "x", "role": role});
    for (name, role, child, budget, code, result) in [
        ("done", "builder", works, "900ktokens", 0, "ok"),
        ("failed", "builder", fails, "900ktokens", 0, "child_failed"),
        ("empty", "builder", lies, "900ktokens", 0, "child_failed"),
        (
            "no such role",
            "nobody",
            works,
            "900ktokens",
            0,
            "unknown_role",
        ),
        (
            "no such model",
            "lost",
            works,
            "900ktokens",
            0,
            "not_started",
        ),
        (
            "out of money",
            "builder",
            dear,
            "50ktokens",
            1,
            "child_failed",
        ),
    ] {
        let server = delegating(("task", task(role)), child);
        let config = format!(
            "{FREE}[agent]\nmax_tokens = 100\n[roles.lost]\nmodel = \"ostler/nowhere/x\"\npersonas = {{ prompt = \"x\" }}\n"
        );
        let scene = Scene::of(Kind::Chat, &config, server);
        let run = scene.ostler(["--budget", budget, "exec", "-p", "go"]);
        let out = run.output().exits(code);
        let log = scene
            .logs()
            .into_iter()
            .find(|log| !scene.space.read(log).contains("\"child_of\""))
            .unwrap();
        let lines = ostler_testkit::json_lines(&scene.space.read(log));
        let results = common::of_type(&lines, "tool_result");
        assert_eq!(results.len(), 1, "{name}");
        let seen = results[0]["output"]["error"]["code"].as_str();
        assert_eq!(seen.unwrap_or("ok"), result, "{name}: {}", out.stderr);
    }
}

/// Whoever runs it sees who did it and where its work lies.
#[test]
fn the_line_of_a_call_names_role_session_and_branch() {
    let task = ("task", json!({"prompt": "write it", "worktree": true}));
    let server = delegating(task, |request| match request.tool_results().is_empty() {
        true => Step::answer().call("write_file", json!({"path": "made", "content": "x"})),
        false => Step::answer().text("Written."),
    });
    let scene = Scene::of(Kind::Chat, FREE, server);
    for args in [
        &["init", "-q"][..],
        &[
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@x",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ],
    ] {
        let done = std::process::Command::new("git")
            .args(args)
            .current_dir(scene.space.root())
            .status();
        assert!(done.unwrap().success());
    }
    let out = scene.exec("go").ok();
    let line = out.stderr.lines().find(|l| l.starts_with("Sub-agent "));
    let line = line.unwrap_or_default();
    for part in [" tokens", " · ostler/"] {
        assert!(line.contains(part), "{}", out.stderr);
    }
}

/// What may not be read in the project may not be read in the copy that a sub-agent works in.
#[cfg(target_os = "linux")]
#[test]
fn what_is_forbidden_is_forbidden_in_a_worktree_too() {
    let layers = &ostler_host::sandbox::probe().layers;
    if !layers.contains(&ostler_host::sandbox::Layer::Namespaces) {
        common::skipped("no namespaces here");
        return;
    }
    let task = ("task", json!({"prompt": "look", "worktree": true}));
    let server = delegating(task, |request| match request.tool_results().len() {
        0 => Step::answer().call("bash", json!({"command": "sh look.sh; ls > made"})),
        1 => Step::answer().call("read_file", json!({"path": "private/key"})),
        _ => Step::answer().text("Done."),
    });
    let config = "\n[permissions]\nheadless = \"allow\"\ndeny = [\"Read(secrets/**)\"]\n[sandbox]\nforbid_read = [\"private\"]\n";
    let scene = Scene::of(Kind::Chat, config, server);
    scene.space.write("secrets/key", "hush-1");
    scene.space.write("private/key", "hush-2");
    scene
        .space
        .write("look.sh", "cat secrets/key private/key; cat look.sh");
    scene.space.git_init();
    scene.exec("go").ok();
    let told: Vec<String> = scene
        .server
        .requests()
        .iter()
        .flat_map(|request| request.tool_results())
        .map(|(_, text, _)| text)
        .collect();
    let all = told.join("\n");
    assert!(all.contains("cat look.sh"), "{told:#?}");
    assert!(!all.contains("hush"), "{told:#?}");
}

/// A role has one model, and whoever wants more is told where that is written.
#[test]
fn models_to_fall_back_on_are_refused() {
    let config = "[roles.reviewer]\nfallback_models = [\"mock/other\"]\n";
    let scene = Scene::with_config(Kind::Chat, config, []);
    let out = scene.exec("go").exits(1);
    for part in [
        "`roles.reviewer.fallback_models` is not supported: a role has one model",
        "config.toml:",
        "name the model in `model`",
    ] {
        assert!(out.stderr.contains(part), "{part}: {}", out.stderr);
    }
    assert!(scene.server.requests().is_empty());
}

/// A sub-agent leaves a repository in its tree, and somebody one in the root, whose own configuration runs a program: whatever
/// git does there for us runs nothing, in the sandbox or without one.
#[cfg(target_os = "linux")]
#[test]
fn git_of_a_worktree_runs_no_program_of_a_nested_repository() {
    use ostler_host::sandbox::probe;
    let layers = probe().layers.iter().map(|layer| layer.name());
    let layers: Vec<String> = layers.map(|name| format!("layer = \"{name}\"")).collect();
    if layers.is_empty() {
        common::skipped(&format!("no sandbox here: {:?}", probe().missing));
    }
    // A program that runs leaves a file where no command may write, and one where all may.
    let trap = "mkdir sub && cd sub && git init -q . && git -c user.email=a@b -c user.name=a commit -q --allow-empty -m x \
        && printf '#!/bin/sh\\ntouch $HOME/RAN $TMPDIR/RAN\\nfalse\\n' > .git/run && chmod +x .git/run \
        && git config core.fsmonitor \"$PWD/.git/run\" && cd .. \
        && printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = x\\n\\tignore = none\\n' > .gitmodules && echo x > made";
    for config in layers.iter().map(String::as_str).chain(["bash = \"off\""]) {
        let task = ("task", json!({"prompt": "go", "worktree": true}));
        let server = delegating(task, move |request| {
            match request.tool_results().is_empty() {
                true => Step::answer().call("bash", json!({"command": trap})),
                false => Step::answer().text("Done."),
            }
        });
        let scene = Scene::of(Kind::Chat, &format!("[sandbox]\n{config}\n"), server);
        let space = &scene.space;
        space.write("README", "hello");
        space.git_init();
        let by_hand = format!(
            "{trap}; git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub"
        );
        space.run("sh").args(["-c", &by_hand]).output().ok();
        let temp = space.env().into_iter().find(|(name, _)| *name == "TMPDIR");
        let temp = std::path::PathBuf::from(temp.unwrap().1);
        let ran = || {
            let home = space.user_home().join("RAN");
            [home, temp.join("RAN")].map(|path| std::fs::remove_file(path).is_ok())
        };
        space.git(["status"]);
        assert_eq!(ran(), [true, true], "the trap does not work");
        let out = scene.ostler(["exec", "--yolo", "-p", "go"]).output().ok();
        assert_eq!(ran(), [false, false], "{config}: {}", out.stderr);
        // The work itself is there all the same, without the repository in it.
        let told = scene.server.requests().last().unwrap().tool_results();
        let expect = ["A .gitmodules", "A made", "Left out, since each is a git"];
        for part in expect {
            assert!(told[0].1.contains(part), "{config}: {told:?}");
        }
        assert!(!told[0].1.contains("A sub"), "{config}: {told:?}");
    }
}

#[test]
fn what_is_refused_to_a_sub_agent_reaches_the_person() {
    for format in ["text", "stream-json"] {
        let task = ("task", json!({"prompt": "look it up"}));
        let server = delegating(task, |request| match request.tool_results().is_empty() {
            true => Step::answer().call("fetch_url", json!({"url": "https://a.example/x"})),
            false => Step::answer().text("I could not."),
        });
        let scene = Scene::of(Kind::Chat, "", server);
        let run = scene.ostler(["exec", "--format", format, "-p", "go"]);
        let out = run.output().ok();
        let told = match format {
            "text" => &out.stderr,
            _ => &out.stdout,
        };
        let notice = told
            .lines()
            .find(|line| line.contains("Not run: fetch_url"));
        let notice = notice.unwrap_or_else(|| panic!("{format}: {told}"));
        assert!(notice.contains("t1"), "{notice}");
        assert!(notice.contains("--allow 'Net(a.example)'"), "{notice}");
    }
}
