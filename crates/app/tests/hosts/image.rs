//! `--image`: a throw-away container. A program that takes the place of docker notes how it is called and runs the helper;
//! where a real docker with an image for tests answers, it is tried, too.

use super::{helper, meta_of, session_id, told};
use crate::common::{Scene, skipped};
use ostler_testkit::{Kind, Run, Step};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// The image of the laboratory, and where its docker listens, if there is one.
const REAL: &str = "OSTLER_TEST_DOCKER";
/// A folder with helpers for musl.
const HELPERS: &str = "OSTLER_TEST_HELPERS";
const FAKE: &str = r#"#!/bin/sh
echo "$@" >> "$0.log"
case $1 in
image) case $* in *missing*) echo "No such image: missing" >&2; exit 1;; esac; echo "OSTLER linux $(uname -m)";;
ps) echo "OSTLER c1 1-1"; echo "OSTLER c2 ";;
rm) ;;
run)
  while [ $# -gt 0 ]; do
    case $1 in
    type=bind,source=*,target=/.ostler-host,readonly) h=${1#type=bind,source=}; h=${h%,target=*};;
    --workdir) cd "$2";;
    esac
    shift
  done
  exec "$h";;
esac
"#;

struct Docker {
    scene: Scene,
    program: PathBuf,
}

impl Docker {
    fn new(steps: impl IntoIterator<Item = Step>) -> Option<Self> {
        helper()?;
        let scene = Scene::new(Kind::Chat, steps);
        let folder = scene.space.user_home().join("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("docker");
        std::fs::write(&program, FAKE).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Some(Self { scene, program })
    }

    fn ostler<const N: usize>(&self, args: [&str; N]) -> Run {
        let folder = self.program.parent().unwrap().display();
        let path = format!("{folder}:/usr/bin:/bin");
        self.scene.ostler(args).env("PATH", path)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.program.with_extension("log")).unwrap_or_default()
    }
}

#[test]
fn commands_run_in_a_container_that_has_the_project_and_no_network() {
    let Some(docker) = Docker::new([
        Step::answer().call("write_file", json!({"path": "a.txt", "content": "one\n"})),
        Step::answer().call(
            "bash",
            json!({"command": "cat a.txt; pwd; echo two >> a.txt"}),
        ),
        Step::answer().text("Done."),
        Step::answer().text("Again."),
    ]) else {
        return;
    };
    let root = docker.scene.space.root().canonicalize().unwrap();
    docker.scene.space.write("ostler.toml", "");
    let run = docker.ostler([
        "exec", "--image", "base:1", "--yolo", "--format", "json", "-p", "x",
    ]);
    let out = run.output().ok();
    let told = told(&out);
    assert!(
        told[1].contains("one") && told[1].contains(&root.display().to_string()),
        "{told:?}"
    );
    assert_eq!(docker.scene.space.read("a.txt"), "one\ntwo\n");
    let log = docker.log();
    let line = log.lines().find(|line| line.starts_with("run ")).unwrap();
    let mount = format!("type=bind,source={0},target={0}", root.display());
    let fixed = format!(
        "type=bind,source={0}/ostler.toml,target={0}/ostler.toml,readonly",
        root.display()
    );
    for words in [
        "--rm",
        "--network none",
        "no-new-privileges",
        "ostler.owner=",
        "-- base:1",
        &mount,
        &fixed,
    ] {
        assert!(line.contains(words), "{words}: {line}");
    }
    // One whose process is gone is removed; one that says nothing is not known.
    assert!(log.lines().any(|line| line == "rm --force c1"), "{log}");
    // The project is here: so are its checkpoints.
    assert!(!out.stderr.contains("no checkpoints"), "{}", out.stderr);
    // The session knows its place, and goes on there by itself.
    assert_eq!(meta_of(&docker.scene)["host"], "image base:1");
    let id = session_id(&out);
    docker
        .ostler(["resume", &id, "--yolo", "-p", "y"])
        .output()
        .ok();
    assert_eq!(
        docker.log().matches("run --rm").count(),
        2,
        "{}",
        docker.log()
    );
}

#[test]
fn the_network_is_there_when_it_is_granted() {
    let Some(docker) = Docker::new([Step::answer().text("Done.")]) else {
        return;
    };
    let config = docker.scene.space.home().join("config.toml");
    let text = format!(
        "{}\n[sandbox]\nnetwork = true\n",
        docker.scene.space.read(&config)
    );
    docker.scene.space.write(&config, text);
    docker
        .ostler(["exec", "--image", "base:1", "-p", "x"])
        .output()
        .ok();
    assert!(!docker.log().contains("--network none"), "{}", docker.log());
}

#[test]
fn rules_speak_of_places() {
    let Some(docker) = Docker::new([Step::answer().text("Done.")]) else {
        return;
    };
    let config = docker.scene.space.home().join("config.toml");
    let plain = docker.scene.space.read(&config);
    for (list, code) in [("deny", 2), ("ask", 1)] {
        let text = format!("{plain}\n[permissions]\n{list} = [\"Host(image base*)\"]\n");
        docker.scene.space.write(&config, text);
        let out = docker
            .ostler(["exec", "--image", "base:1", "-p", "x"])
            .output();
        assert_eq!(out.code, Some(code), "{list}: {}", out.stderr);
        let why = "image base:1 is not used: the rule Host(image base*)";
        assert!(out.stderr.contains(why), "{list}: {}", out.stderr);
    }
    assert!(docker.log().is_empty(), "{}", docker.log());
    docker
        .ostler(["exec", "--image", "other:1", "-p", "x"])
        .output()
        .ok();
}

#[test]
fn what_cannot_be_begun_is_said() {
    let Some(docker) = Docker::new([Step::answer().text("Done.")]) else {
        return;
    };
    let out = docker
        .ostler(["exec", "--image", "missing", "-p", "x"])
        .output();
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(out.stderr.contains("docker pull missing"), "{}", out.stderr);
    let out = docker
        .ostler(["exec", "--image", "-v/:/x", "-p", "x"])
        .output();
    assert_eq!(out.code, Some(2), "{}", out.stderr);
    // A helper that cannot run in the image: what the program printed, and what to do.
    let broken = FAKE.replace(
        "exec \"$h\"",
        "echo 'exec /.ostler-host: no such file or directory' >&2; exit 127",
    );
    std::fs::write(&docker.program, broken).unwrap();
    let out = docker
        .ostler(["exec", "--image", "base:1", "-p", "x"])
        .output();
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(
        out.stderr.contains("cannot run there") && out.stderr.contains("musl"),
        "{}",
        out.stderr
    );
    // What a login prints before anything else is no answer, and no harm.
    let chatty = FAKE.replace(
        "exec \"$h\"",
        "echo welcome; printf '\\000\\377garbage\\n'; exec \"$h\"",
    );
    std::fs::write(&docker.program, chatty).unwrap();
    docker
        .ostler(["exec", "--image", "base:1", "-p", "x"])
        .output()
        .ok();
    let none = docker
        .scene
        .ostler(["exec", "--image", "base:1", "-p", "x"])
        .env("PATH", "/nowhere")
        .output();
    assert!(
        none.stderr.contains("docker is not on PATH"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_container_that_is_removed_is_an_error_of_its_call_alone() {
    let Some(docker) = Docker::new([
        Step::answer().call("bash", json!({"command": "for p in /proc/[0-9]*; do case $(readlink $p/exe) in *ostler-host) kill -9 ${p#/proc/};; esac; done; sleep 5"})),
        Step::answer().call("bash", json!({"command": "echo again"})),
        Step::answer().text("Done."),
    ]) else {
        return;
    };
    // Only helpers of this test may be killed, so it sees no others.
    if !super::is_there("unshare") {
        return;
    }
    let program = std::fs::read_to_string(&docker.program).unwrap();
    let alone = program.replace(
        "exec \"$h\"",
        "exec unshare --user --map-root-user --pid --fork --mount-proc \"$h\"",
    );
    std::fs::write(&docker.program, alone).unwrap();
    let probe = std::process::Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--pid",
            "--fork",
            "--mount-proc",
            "true",
        ])
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        skipped("no namespaces can be made here");
        return;
    }
    let run = docker.ostler([
        "exec",
        "--image",
        "base:1",
        "--yolo",
        "--no-sandbox",
        "--format",
        "json",
        "-p",
        "x",
    ]);
    let out = run.output();
    let told = told(&out);
    assert!(!told[0].contains("\"exit_code\":0"), "{told:?}");
    assert!(told[1].contains("again"), "{told:?} {}", out.stderr);
}

/// With a real docker: `OSTLER_TEST_DOCKER` is an image, and `DOCKER_HOST` leads to the daemon.
#[test]
fn a_real_container_is_begun_and_removed() {
    let Ok(image) = std::env::var(REAL) else {
        skipped("no docker for tests: cargo xtask host up");
        return;
    };
    if helper().is_none() {
        return;
    }
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().call("bash", json!({"command": "ls /; echo made > made; cat /proc/net/dev | wc -l; echo x > .git/config"})),
            Step::answer().text("Done."),
        ],
    );
    scene.space.write(".git/config", "[core]\n");
    if let Ok(helpers) = std::env::var(HELPERS) {
        let config = scene.space.home().join("config.toml");
        let text = format!(
            "{}\n[helper]\nfolder = \"{helpers}\"\n",
            scene.space.read(&config)
        );
        scene.space.write(&config, text);
    }
    let socket = std::env::var("DOCKER_HOST").unwrap_or_default();
    let path = std::env::var("PATH").unwrap_or_default();
    let run = scene.ostler([
        "exec", "--image", &image, "--yolo", "--format", "json", "-p", "x",
    ]);
    let out = run.env("DOCKER_HOST", &socket).env("PATH", &path).output();
    if out.stderr.contains("cannot run there") {
        skipped("the helper was not built for musl");
        return;
    }
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    assert_eq!(scene.space.read("made"), "made\n");
    assert_eq!(
        scene.space.read(".git/config"),
        "[core]\n",
        "{:?}",
        told(&out)
    );
    let left = std::process::Command::new("docker")
        .args(["ps", "--all", "--quiet", "--filter", "label=ostler.owner"])
        .env("DOCKER_HOST", &socket)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}
