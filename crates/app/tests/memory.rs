//! What is remembered, through the real program: the commands, a run without anybody, a yes on stdin, a kill at any moment,
//! several processes at once, a full disk.

mod common;

use common::Scene;
use ostler_testkit::{Kind, Output, Running, Server, Signal, Step, json_lines};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

fn scene() -> Scene {
    Scene::new(Kind::Chat, [])
}

fn folder(scene: &Scene) -> PathBuf {
    let out = scene
        .ostler(["memory", "path", "--format", "json"])
        .output()
        .ok();
    let paths: Value = serde_json::from_str(&out.stdout).unwrap();
    PathBuf::from(paths["project"].as_str().unwrap())
}

fn put(scene: &Scene, name: &str, text: &str) {
    let folder = folder(scene);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.md")), text).unwrap();
}

fn listed(scene: &Scene) -> (Vec<String>, String) {
    let out = scene
        .ostler(["memory", "list", "--format", "json"])
        .output()
        .ok();
    let facts: Vec<Value> = serde_json::from_str(&out.stdout).unwrap();
    let mut names: Vec<String> = facts
        .iter()
        .map(|fact| fact["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    (names, out.stderr)
}

fn remember(name: &str, content: &str) -> Step {
    Step::answer().call("remember", json!({"name": name, "content": content}))
}

/// A session whose asks are answered on stdin.
fn attended(scene: &Scene) -> Running {
    scene
        .ostler(["exec", "--input-format", "stream-json", "--yolo"])
        .open_stdin()
        .spawn()
}

/// The id of the ask that stands there.
fn asked(running: &Running) -> String {
    let shown = running.wait_stdout("\"type\":\"ask\"");
    let line = shown
        .lines()
        .find(|l| l.contains("\"type\":\"ask\""))
        .unwrap();
    let ask: Value = serde_json::from_str(line).unwrap();
    ask["ask"].as_str().unwrap().to_owned()
}

fn answer(ask: &str) -> String {
    json!({"op": "answer", "ask": ask, "choice": "once"}).to_string() + "\n"
}

#[test]
fn facts_are_looked_at_and_kept_in_order() {
    let scene = scene();
    assert_eq!(listed(&scene), (Vec::new(), String::new()));
    assert!(
        !scene.space.home().join("memory").exists(),
        "looking makes nothing"
    );
    put(&scene, "ports", "# Ports\nThe quagga gateway is 7741.\n");
    put(
        &scene,
        "team",
        "---\nname: Team\ntype: user\n---\n负责人是小李。\n",
    );
    put(&scene, "cut", "---\nname: x\n");
    let (names, stderr) = listed(&scene);
    assert_eq!(names, ["Team", "ports"]);
    assert!(
        stderr.contains("cut.md was left out of memory: its front matter has no end"),
        "{stderr}"
    );
    let run = |args: &[&str]| scene.ostler(["memory"]).args(args).output();
    let shown = run(&["show", "team"]).ok().stdout;
    assert!(
        shown.starts_with("team 1-") && shown.contains("Team (user, project)\n"),
        "{shown}"
    );
    assert!(run(&["search", "quagga"]).ok().stdout.contains("ports"));
    assert!(run(&["search", "负责人"]).ok().stdout.contains("Team"));
    assert_eq!(
        run(&["archive", "ports"]).ok().stdout,
        "Archived: ports (ports)\n"
    );
    assert_eq!(listed(&scene).0, ["Team"]);
    assert!(run(&["list", "--archived"]).ok().stdout.contains("ports"));
    assert_eq!(
        run(&["restore", "ports"]).ok().stdout,
        "Restored: ports (ports)\n"
    );
    assert_eq!(listed(&scene).0, ["Team", "ports"]);
    let path = run(&["path", "ports"]).ok().stdout;
    assert_eq!(
        path.trim_end(),
        folder(&scene).join("ports.md").display().to_string()
    );
    let failed: Output = run(&["show", "nothere"]).exits(1);
    assert!(
        failed.stderr.contains("There is no fact nothere"),
        "{}",
        failed.stderr
    );
    // An editor that breaks the file is told so.
    let edit = |editor: &str| {
        scene
            .ostler(["memory", "edit", "ports"])
            .env("EDITOR", editor)
            .without_env("VISUAL")
            .output()
    };
    assert_eq!(edit("true").ok().stderr, complaint(&scene));
    assert!(edit("").exits(1).stderr.contains("ports.md"));
}

fn complaint(scene: &Scene) -> String {
    let path = folder(scene).join("cut.md");
    format!(
        "{} was left out of memory: its front matter has no end; close it with a line of ---.\n",
        path.display()
    )
}

#[test]
fn recall_is_switched_by_the_person_alone() {
    let scene = scene();
    put(&scene, "ports", "The quagga gateway is 7741.");
    let status = |words: &[&str]| scene.ostler(["config"]).args(words).output().ok().stdout;
    let told = || {
        scene.server.push(Step::answer().text("ok"));
        let out = scene.exec("is the quagga gateway up?").ok();
        let last = scene.server.requests().pop().unwrap();
        (last.last_user_text().contains("7741"), out.stderr)
    };
    assert!(status(&["memory", "status"]).starts_with("on:"));
    assert!(told().0);
    assert!(status(&["memory", "off"]).contains("agent.memory_compiler.enabled = false"));
    assert!(status(&["memory-v5"]).starts_with("off:"));
    assert!(!told().0);
    scene.space.write(
        "ostler.toml",
        "[agent]\nmemory_compiler = { enabled = true }\n",
    );
    let (recalled, stderr) = told();
    assert!(
        !recalled && stderr.contains("`agent.memory_compiler` is ignored in a project file"),
        "{stderr}"
    );
    status(&["memory", "on"]);
    assert!(told().0);
    let text = scene.space.read(scene.space.home().join("config.toml"));
    assert!(text.contains("[[providers]]"), "{text}");
}

#[test]
fn nothing_is_kept_where_nobody_can_be_asked() {
    let scene = Scene::new(
        Kind::Chat,
        [remember("Port", "7741"), Step::answer().text("ok")],
    );
    scene
        .ostler(["exec", "--yolo", "-p", "keep it"])
        .output()
        .ok();
    let (_, result, _) = scene.server.request(1).tool_results().pop().unwrap();
    assert!(
        result.contains("needs the person's yes each time"),
        "{result}"
    );
    assert!(!scene.space.home().join("memory").exists());
}

#[test]
fn a_yes_keeps_it_and_a_later_session_recalls_it() {
    let scene = Scene::new(
        Kind::Messages,
        [
            remember("Port", "The quagga gateway is 7741."),
            Step::answer().text("Kept."),
            Step::answer().text("7741."),
        ],
    );
    let mut running = attended(&scene);
    running.write(&(json!({"op": "prompt", "text": "keep it"}).to_string() + "\n"));
    let ask = asked(&running);
    running.write(&answer(&ask));
    running.wait_stdout("\"result\":\"Kept.\"");
    let out = running.wait().ok();
    let asks: Vec<Value> = json_lines(&out.stdout)
        .into_iter()
        .filter(|l| l["type"] == "ask")
        .collect();
    assert!(
        asks[0]["preview"]
            .as_str()
            .unwrap()
            .contains("+The quagga gateway is 7741."),
        "{asks:?}"
    );
    assert_eq!(asks[0]["options"].as_array().unwrap().len(), 2);
    let out = scene.exec("which port has quagga?").ok();
    assert!(out.stderr.contains("Recalled: Port"), "{}", out.stderr);
    assert!(scene.server.request(2).last_user_text().contains("7741"));
}

/// A model that wants to keep a fact of the name that the prompt is.
fn keeper(body: &str) -> Server {
    let body = body.to_owned();
    Server::answering(move |request| match request.tool_results().is_empty() {
        true => {
            let said = request.last_user_text();
            remember(said.lines().last().unwrap_or_default(), &body)
        }
        false => Step::answer().text("Kept."),
    })
}

#[test]
fn a_kill_at_any_moment_leaves_the_fact_whole_or_not_there() {
    const ROUNDS: u64 = 12;
    let body = "words of a fact ".repeat(300);
    let scene = Scene::of(Kind::Chat, "", keeper(&body));
    let begun = |name: &str| {
        let mut running = attended(&scene);
        running.write(&(json!({"op": "prompt", "text": name}).to_string() + "\n"));
        let ask = asked(&running);
        running.write(&answer(&ask));
        running
    };
    for round in 0..ROUNDS {
        let running = begun(&format!("Zebra {round}"));
        std::thread::sleep(Duration::from_millis(round));
        running.signal(Signal::Kill);
        running.wait();
    }
    let (names, stderr) = listed(&scene);
    assert_eq!(stderr, "", "nothing half written is a fact");
    for name in &names {
        let file = format!("{}.md", name.to_lowercase().replace(' ', "-"));
        let text = std::fs::read_to_string(folder(&scene).join(file)).unwrap();
        assert!(text.trim_end().ends_with(body.trim_end()), "{name}");
    }
    // What the killed ones left does not stand in the way.
    let running = begun("Last");
    running.wait_stdout("\"result\":\"Kept.\"");
    running.wait().ok();
    assert!(listed(&scene).0.contains(&"Last".to_owned()));
    let left: Vec<String> = std::fs::read_dir(folder(&scene))
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".new-"))
        .collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn two_processes_at_once_lose_nothing() {
    let scene = scene();
    for n in 0..20 {
        put(&scene, &format!("fact{n}"), &format!("Words {n}."));
    }
    let run = |n: usize| {
        scene
            .ostler(["memory", "archive", &format!("fact{n}")])
            .spawn()
    };
    let running: Vec<Running> = (0..20).map(run).collect();
    for running in running {
        running.wait().ok();
    }
    assert_eq!(listed(&scene).0, [""; 0]);
    let out = scene
        .ostler(["memory", "list", "--archived", "--format", "json"])
        .output()
        .ok();
    let facts: Vec<Value> = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(facts.len(), 20);
}

/// Facts about another project are read by no file tool unasked; one's own and the common ones are.
#[test]
fn facts_of_other_projects_are_not_read_unasked() {
    let scene = scene();
    put(&scene, "own", "OWNFACT\n");
    let own = folder(&scene);
    let all = own.parent().expect("the folder of all").to_owned();
    for (name, text) in [("global", "COMMONFACT"), ("other-11111111", "OTHERFACT")] {
        std::fs::create_dir_all(all.join(name)).unwrap();
        std::fs::write(all.join(name).join("f.md"), text).unwrap();
    }
    let read = |path: PathBuf| Step::answer().call("read_file", json!({"path": path}));
    scene.server.push(read(own.join("own.md")));
    scene.server.push(read(all.join("global/f.md")));
    scene.server.push(read(all.join("other-11111111/f.md")));
    let grep = json!({"pattern": "OTHERFACT|f", "path": all});
    scene.server.push(Step::answer().call("grep", grep));
    scene.server.push(Step::answer().text("Done."));
    scene.exec("go").ok();
    let log = scene.log();
    let results = common::of_type(&log, "tool_result");
    let texts: Vec<String> = results.iter().map(|r| r["output"].to_string()).collect();
    assert!(texts[0].contains("OWNFACT"), "{texts:?}");
    assert!(texts[1].contains("COMMONFACT"), "{texts:?}");
    assert!(!texts[2].contains("OTHERFACT"), "{texts:?}");
    assert!(!texts[3].contains("OTHERFACT"), "{texts:?}");
}
