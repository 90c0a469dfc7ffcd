//! Tables of calls, run at every kind of place and under every layer of the sandbox: what each tool must say there, what
//! commands must not reach, what is refused where nobody can be asked, and what a rewind brings back. A place or a layer that
//! is not to be had here is skipped, and counted and named.

#[path = "contract/escapes.rs"]
mod escapes;
#[path = "contract/guard.rs"]
mod guard;
#[path = "contract/history.rs"]
mod history;

use super::{container, helper, is_there, ssh, told};
use crate::common::{Scene, skipped};
use ostler_testkit::{Kind, Output, Run, Step};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Kinds of places, and where commands run there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Here,
    /// By a program that runs others on the same files.
    Prefix,
    /// By one that shows other files.
    Container,
    Ssh,
    Tmux,
    /// A container of a real docker.
    Docker,
}

const PLACES: [Place; 6] = [
    Place::Here,
    Place::Prefix,
    Place::Container,
    Place::Ssh,
    Place::Tmux,
    Place::Docker,
];

/// What holds commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Namespaces,
    Landlock,
    /// Nothing, as the person said.
    Waived,
    /// Nothing, and nobody said so.
    Missing,
}

impl Layer {
    fn holds(self) -> bool {
        matches!(self, Self::Namespaces | Self::Landlock)
    }

    fn config(self) -> &'static str {
        match self {
            Self::Namespaces => "\n[sandbox]\nbash = \"require\"\nlayer = \"namespaces\"\n",
            Self::Landlock => "\n[sandbox]\nbash = \"require\"\nlayer = \"landlock\"\n",
            Self::Waived => "\n[sandbox]\nbash = \"off\"\n",
            Self::Missing => "",
        }
    }

    /// Those that a place can have: in a pane nothing holds.
    fn of(place: Place) -> &'static [Self] {
        match place {
            Place::Tmux => &[Self::Missing, Self::Waived],
            Place::Here | Place::Prefix | Place::Container | Place::Ssh | Place::Docker => {
                &[Self::Namespaces, Self::Landlock, Self::Waived]
            }
        }
    }
}

/// What the result of a call has in it.
#[derive(Clone, Copy)]
enum Expect {
    Everywhere(&'static str),
    /// In a pane, and at all other places.
    Pane(&'static str, &'static str),
    /// Where a layer holds commands, and where none does.
    Held(&'static str, &'static str),
    /// Under the layer that shows commands a view of their own, and else.
    Mounts(&'static str, &'static str),
    /// Where it is known what holds commands, were it the person's word that nothing does, and where it is not.
    Known(&'static str, &'static str),
}

impl Expect {
    fn at(self, place: Place, layer: Layer) -> &'static str {
        match self {
            Self::Everywhere(text) => text,
            Self::Pane(pane, _) if place == Place::Tmux => pane,
            Self::Pane(_, other) => other,
            Self::Held(held, _) if layer.holds() => held,
            Self::Held(_, free) => free,
            Self::Mounts(held, _) if layer == Layer::Namespaces => held,
            Self::Mounts(_, free) => free,
            Self::Known(_, unknown) if layer == Layer::Missing => unknown,
            Self::Known(known, _) => known,
        }
    }
}

struct Case {
    name: &'static str,
    tool: &'static str,
    args: Value,
    expect: Expect,
}

const SECRET: &str = "word=of-the-env-file";
const RULES: &str = "\n[permissions]\ndeny = [\"Read(.env)\", \"Bash(shred:*)\"]\n";

fn case(name: &'static str, tool: &'static str, args: Value, expect: &'static str) -> Case {
    Case {
        name,
        tool,
        args,
        expect: Expect::Everywhere(expect),
    }
}

fn bash(name: &'static str, command: &str, expect: &'static str) -> Case {
    case(name, "bash", json!({ "command": command }), expect)
}

/// Calls that change files, in an order in which each finds what it needs.
fn files() -> Vec<Case> {
    vec![
        case(
            "a new file",
            "write_file",
            json!({"path": "a.txt", "content": "one\ntwo\nthree\n"}),
            r#""created":true"#,
        ),
        case(
            "folders are made",
            "write_file",
            json!({"path": "x/y/z.txt", "content": "needle\n"}),
            r#""created":true"#,
        ),
        case(
            "a whole file",
            "read_file",
            json!({"path": "a.txt"}),
            r"one\ntwo\nthree",
        ),
        case(
            "some lines",
            "read_file",
            json!({"path": "a.txt", "offset": 2, "limit": 1}),
            "two",
        ),
        case(
            "no file",
            "read_file",
            json!({"path": "none"}),
            r#""not_found""#,
        ),
        case(
            "a folder is no file",
            "read_file",
            json!({"path": "x"}),
            r#""is_directory""#,
        ),
        case(
            "bytes are named",
            "read_file",
            json!({"path": "bytes.dat"}),
            "binary",
        ),
        case(
            "one place",
            "edit_file",
            json!({"path": "a.txt", "old": "two", "new": "TWO"}),
            r#""replacements":1"#,
        ),
        case(
            "no place",
            "edit_file",
            json!({"path": "a.txt", "old": "nowhere", "new": "x"}),
            r#""old_not_found""#,
        ),
        case(
            "too many places",
            "edit_file",
            json!({"path": "a.txt", "old": "e", "new": "E"}),
            r#""replacement_count_mismatch""#,
        ),
        case(
            "edits in a row",
            "multi_edit",
            json!({"path": "a.txt", "edits": [{"old": "one", "new": "1"}, {"old": "1", "new": "ONE"}]}),
            r#""ok":true"#,
        ),
        case(
            "all or nothing",
            "multi_edit",
            json!({"path": "a.txt", "edits": [{"old": "ONE", "new": "x"}, {"old": "nowhere", "new": "y"}]}),
            r#""old_not_found""#,
        ),
        case(
            "nothing was changed",
            "read_file",
            json!({"path": "a.txt"}),
            r"ONE\nTWO\nthree",
        ),
        case(
            "a file moves",
            "move_file",
            json!({"source_path": "a.txt", "destination_path": "b/c.txt"}),
            r#""overwrote":false"#,
        ),
        case(
            "not over another",
            "move_file",
            json!({"source_path": "b/c.txt", "destination_path": "x/y/z.txt"}),
            r#""ok":false"#,
        ),
        case(
            "a range goes",
            "delete_range",
            json!({"path": "b/c.txt", "start_anchor": "TWO", "end_anchor": "three"}),
            r#""ok":true"#,
        ),
        case(
            "a function goes",
            "delete_symbol",
            json!({"path": "a.rs", "symbol": "gone"}),
            r#""ok":true"#,
        ),
        case(
            "a cell",
            "notebook_edit",
            json!({"path": "n.ipynb", "cell": 0, "mode": "replace", "source": "print(2)"}),
            r#""ok":true"#,
        ),
        case("a folder's entries", "ls", json!({"path": "."}), "a.rs"),
        case(
            "names by pattern",
            "glob",
            json!({"pattern": "**/*.txt"}),
            "x/y/z.txt",
        ),
        case(
            "lines",
            "grep",
            json!({"pattern": "need.e"}),
            "x/y/z.txt:1:needle",
        ),
        case(
            "files with a line",
            "grep",
            json!({"pattern": "kept", "mode": "files"}),
            "a.rs",
        ),
        case(
            "a count",
            "grep",
            json!({"pattern": "needle", "mode": "count"}),
            "z.txt",
        ),
        case(
            "a bad pattern",
            "grep",
            json!({"pattern": "("}),
            r#""ok":false"#,
        ),
        case(
            "not outside",
            "write_file",
            json!({"path": "/usr/ostler-contract", "content": "x"}),
            r#""ok":false"#,
        ),
        case(
            "a deny rule",
            "read_file",
            json!({"path": ".env"}),
            r#""blocked""#,
        ),
        case(
            "not by a link",
            "read_file",
            json!({"path": "link"}),
            r#""ok":false"#,
        ),
    ]
}

fn commands() -> Vec<Case> {
    vec![
        bash("output", "echo out", r#""stdout":"out"#),
        bash("an exit code", "exit 3", r#""exit_code":3"#),
        bash("set -e", "set -e; false; echo no", r#""exit_code":1"#),
        bash("exec", "exec sh -c 'exit 7'", r#""exit_code":7"#),
        bash("a signal", "sh killed.sh", r#""exit_code":137"#),
        bash(
            "no program",
            "no-such-program-anywhere",
            r#""exit_code":127"#,
        ),
        Case {
            name: "two streams, or one terminal",
            tool: "bash",
            args: json!({"command": "echo err >&2"}),
            expect: Expect::Pane(r#""stdout":"err"#, r#""stderr":"err"#),
        },
        Case {
            name: "a terminal only in a pane",
            tool: "bash",
            args: json!({"command": "test -t 1 && echo yes || echo no"}),
            expect: Expect::Pane(r#""stdout":"yes"#, r#""stdout":"no"#),
        },
        bash("a pipe", "printf 'a\\nb\\n' | wc -l", "2"),
        bash(
            "every call begins anew",
            "cd /; X=1; true",
            r#""exit_code":0"#,
        ),
        bash("in the root", "ls a.rs; echo \"[$X]\"", r"a.rs\n[]"),
        case(
            "in a folder",
            "bash",
            json!({"command": "ls", "cwd": "x"}),
            r"y\n",
        ),
        case(
            "no folder",
            "bash",
            json!({"command": "ls", "cwd": "none"}),
            r#""not_found""#,
        ),
        bash("what files tools wrote is there", "cat x/y/z.txt", "needle"),
        bash(
            "much output is cut",
            "yes 0123456789 | head -n 20000",
            r#""truncated":true"#,
        ),
        bash(
            "the end of much output",
            "yes 0123456789 | head -n 20000; echo the end",
            "the end",
        ),
        bash(
            "quotes",
            r#"printf '%s' "it's \"so\" \$x""#,
            r#"it's \"so\" $x"#,
        ),
        bash("other letters", "printf 'ž 日本'", "ž 日本"),
        case(
            "a job",
            "bash",
            json!({"command": "sleep 0.3; echo late", "wait": "0.01s"}),
            r#""job":"j1""#,
        ),
        case(
            "its end",
            "bash_output",
            json!({"job": "j1", "wait": true}),
            "late",
        ),
        case(
            "a job at once",
            "bash",
            json!({"command": "sleep 1000", "wait": false}),
            r#""job":"j2""#,
        ),
        bash("commands go on beside it", "echo beside", "beside"),
        case(
            "it is killed",
            "kill_job",
            json!({"job": "j2"}),
            r#""state":"killed""#,
        ),
        case(
            "a terminal of its own",
            "bash",
            json!({"command": "read x; echo got:$x", "tty": true, "wait": false}),
            r#""job":"j3""#,
        ),
        case(
            "typed into",
            "bash_input",
            json!({"job": "j3", "text": "word\n"}),
            "word",
        ),
        case(
            "what it said",
            "bash_output",
            json!({"job": "j3", "wait": true}),
            r#""state":"exited""#,
        ),
        case(
            "no job",
            "bash_output",
            json!({"job": "j99"}),
            r#""not_found""#,
        ),
        bash("a deny rule for commands", "shred a.rs", r#""blocked""#),
        bash("and for what they read", "cat .env", r#""blocked""#),
        bash(
            "variables that are secret stay away",
            "echo [$CONTRACT_API_KEY]",
            "[]",
        ),
        bash(
            "what is written outside",
            "echo x > /usr/ostler-contract-$PPID 2>/dev/null; ls /usr/ostler-contract-$PPID 2>/dev/null; rm -f /usr/ostler-contract-$PPID 2>/dev/null; echo looked",
            "looked",
        ),
        bash(
            "hooks of git",
            "echo x > .git/hooks/pre-commit; true",
            r#""ok":true"#,
        ),
        case(
            "a list",
            "todo",
            json!({"items": [{"text": "one", "state": "done"}]}),
            r#""ok":true"#,
        ),
        case("the time", "time", json!({}), "utc"),
    ]
}

/// A project as the cases want it.
fn lay_out(project: &Path) {
    std::fs::create_dir_all(project.join(".git/hooks")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(project.join(name), bytes).unwrap();
    write(".env", SECRET.as_bytes());
    write("a.rs", b"fn kept() {}\n\nfn gone() {\n    kept();\n}\n");
    write("killed.sh", b"sh -c 'kill -9 $$'\nexit $?\n");
    write("bytes.dat", &[0, 159, 146, 150, 0, 1, 2]);
    write("n.ipynb", br#"{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": null, "source": ["print(1)"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#);
    std::os::unix::fs::symlink(".env", project.join("link")).unwrap();
}

/// A place with a project, and a server that has these calls made.
struct Spot {
    place: Place,
    scene: Scene,
    project: PathBuf,
    flags: Vec<String>,
    env: Vec<(&'static str, String)>,
    /// What is there as long as the place is.
    _kept: Kept,
}

#[derive(Default)]
struct Kept {
    _folder: Option<tempfile::TempDir>,
    _server: Option<ssh::Server>,
    _docker: Option<Docker>,
}

/// A running container of the image for tests, with the project in it.
struct Docker(String);

impl Drop for Docker {
    fn drop(&mut self) {
        let _gone = Command::new("docker")
            .args(["rm", "--force", &self.0])
            .output();
    }
}

impl Docker {
    /// Where a docker for tests answers.
    fn start(project: &Path) -> Option<(Self, String)> {
        let (Ok(image), Ok(helpers)) = (
            std::env::var("OSTLER_TEST_DOCKER"),
            std::env::var("OSTLER_TEST_HELPERS"),
        ) else {
            skipped("the cases in a container of a real docker: cargo xtask host up");
            return None;
        };
        let name = format!(
            "ostler-contract-{}-{}",
            std::process::id(),
            project.as_os_str().len()
        );
        let mount = format!("{}:{DOCKER_ROOT}", project.display());
        let out = Command::new("docker")
            .args([
                "run",
                "--detach",
                "--rm",
                "--network",
                "none",
                "--name",
                &name,
            ])
            .args(["--volume", &mount, "--volume", "/var/tmp:/var/tmp"])
            .args([&image, "sleep", "100000"])
            .output()
            .unwrap();
        assert!(out.status.success(), "{out:?}");
        Some((Self(name), helpers))
    }
}

const DOCKER_ROOT: &str = "/work";

fn spot(place: Place, config: &str, steps: Vec<Step>) -> Option<Spot> {
    let scene =
        |more: &str, steps| Scene::with_config(Kind::Chat, &format!("{config}{more}"), steps);
    let env = vec![
        ("CONTRACT_API_KEY", "k".to_owned()),
        ("SHELL", "/bin/sh".to_owned()),
    ];
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let at = |scene: Scene, project: &Path, flags: &[&str]| Spot {
        place,
        project: project.to_owned(),
        flags: words(flags),
        env: env.clone(),
        scene,
        _kept: Kept::default(),
    };
    match place {
        Place::Here => {
            let scene = scene("", steps);
            let root = scene.space.root().to_owned();
            Some(at(scene, &root, &[]))
        }
        Place::Tmux => {
            if !is_there("tmux") {
                return None;
            }
            let scene = scene("", steps);
            let root = scene.space.root().to_owned();
            let mut spot = at(scene, &root, &["--tmux"]);
            let sockets = tempfile::tempdir_in("/tmp").unwrap();
            spot.env
                .push(("TMUX_TMPDIR", sockets.path().display().to_string()));
            spot._kept._folder = Some(sockets);
            Some(spot)
        }
        Place::Prefix => {
            helper()?;
            let scene = scene("", steps);
            let top = scene.space.user_home().join("near");
            let (home, project) = (top.join("home"), top.join("project"));
            std::fs::create_dir_all(&home).unwrap();
            std::fs::create_dir_all(&project).unwrap();
            let config = scene.space.home().join("config.toml");
            let text = format!(
                "{}\n[host.near]\nexec = [\"env\", \"-u\", \"XDG_CACHE_HOME\", \"-u\", \"XDG_DATA_HOME\", \"HOME={}\"]\nroot = \"{}\"\n",
                scene.space.read(&config),
                home.display(),
                project.display()
            );
            scene.space.write(&config, text);
            Some(at(scene, &project, &["--host", "near", "--install-helper"]))
        }
        Place::Container => {
            let container = container::container(steps)?;
            let file = container.scene.space.home().join("config.toml");
            let text = format!("{}{config}", container.scene.space.read(&file));
            container.scene.space.write(&file, text);
            let project = container.project.clone();
            Some(at(
                container.scene,
                &project,
                &["--host", "box", "--install-helper"],
            ))
        }
        Place::Ssh => {
            let scene = scene("", steps);
            let top = scene.space.user_home().join("ssh");
            let Some(server) = ssh::server(&top) else {
                skipped("the cases over ssh");
                return None;
            };
            let project = top.join("project");
            std::fs::create_dir_all(&project).unwrap();
            let path = server.path(&server.key_line());
            let (to, root) = (server.destination(), project.display().to_string());
            let mut spot = at(
                scene,
                &project,
                &["--ssh", &to, "--root", &root, "--install-helper"],
            );
            spot.env.push(("PATH", path));
            spot._kept._server = Some(server);
            Some(spot)
        }
        Place::Docker => {
            let scene = scene("", steps);
            let project = scene.space.user_home().join("docker");
            std::fs::create_dir_all(&project).unwrap();
            let (docker, helpers) = Docker::start(&project)?;
            let config = scene.space.home().join("config.toml");
            let text = format!(
                "{}\n[helper]\nfolder = \"{helpers}\"\n",
                scene.space.read(&config)
            );
            scene.space.write(&config, text);
            let flags = [
                "--container",
                &docker.0,
                "--root",
                DOCKER_ROOT,
                "--install-helper",
            ];
            let mut spot = at(scene, &project, &flags);
            let path = std::env::var("PATH").unwrap_or_default();
            let socket = std::env::var("DOCKER_HOST").unwrap_or_default();
            spot.env.extend([("PATH", path), ("DOCKER_HOST", socket)]);
            spot._kept._docker = Some(docker);
            Some(spot)
        }
    }
}

impl Spot {
    fn ostler(&self, args: &[&str]) -> Run {
        let run = self.scene.ostler([]).args(args).args(&self.flags);
        self.env
            .iter()
            .fold(run, |run, (name, value)| run.env(name, value))
    }

    fn exec(&self, more: &[&str]) -> Output {
        let run = self.ostler(&["exec", "--format", "json", "--max-steps", "0"]);
        run.args(more)
            .args(["-p", "x"])
            .timeout(Duration::from_secs(120))
            .output()
    }
}

fn calls(cases: &[Case]) -> Vec<Step> {
    let calls = cases
        .iter()
        .map(|case| Step::answer().call(case.tool, case.args.clone()));
    calls.chain([Step::answer().text("Done.")]).collect()
}

/// Compares every result; all that differ are named.
fn check((place, layer): (Place, Layer), cases: &[Case], out: &Output) -> usize {
    let told = told(out);
    assert_eq!(
        told.len(),
        cases.len(),
        "{place:?} {layer:?}: {}",
        out.stderr
    );
    let mut wrong = Vec::new();
    for (case, told) in cases.iter().zip(&told) {
        let expect = case.expect.at(place, layer);
        if !told.contains(expect) || told.contains(SECRET) {
            wrong.push(format!("{}: {expect} in {told}", case.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "{place:?} {layer:?}:\n{}",
        wrong.join("\n")
    );
    cases.len()
}

/// Whether the layer cannot be had there. Then it is said.
fn is_missing((place, layer): (Place, Layer), out: &Output) -> bool {
    let is_missing = layer.holds() && out.stderr.contains("no sandbox works here");
    if is_missing {
        let why = out.stderr.lines().last().unwrap_or_default().to_owned();
        skipped(&format!("{layer:?} at {place:?}: {why}"));
    }
    is_missing
}

/// Every tool, where nobody need be asked.
fn tools_at(place: Place) {
    let cases: Vec<Case> = files().into_iter().chain(commands()).collect();
    let Some(spot) = spot(place, RULES, calls(&cases)) else {
        return;
    };
    lay_out(&spot.project);
    let out = spot.exec(&["--yolo"]).ok();
    let layer = match place {
        Place::Tmux => Layer::Missing,
        Place::Here | Place::Prefix | Place::Container | Place::Ssh | Place::Docker => {
            Layer::Namespaces
        }
    };
    assert!(check((place, layer), &cases, &out) >= 60);
    let hook = spot.project.join(".git/hooks/pre-commit").exists();
    assert_eq!(hook, place == Place::Tmux, "{place:?}");
}

fn escapes_at(place: Place) {
    for layer in Layer::of(place).iter().copied() {
        // Where no place writes by itself, unlike /tmp.
        let outside = tempfile::tempdir_in("/var/tmp").unwrap();
        escapes::lay_out(outside.path());
        let cases = escapes::cases(outside.path());
        let config = format!("{RULES}{}", layer.config());
        let Some(spot) = spot(place, &config, calls(&cases)) else {
            return;
        };
        lay_out(&spot.project);
        let out = spot.exec(&["--yolo"]);
        if is_missing((place, layer), &out) {
            continue;
        }
        check((place, layer), &cases, &out.ok());
        // Chmod, which one layer does not hold, leaves no trace here.
        if layer.holds() {
            assert!(escapes::is_untouched(outside.path()), "{place:?} {layer:?}");
        }
    }
}

fn guard_at(place: Place) {
    for layer in Layer::of(place).iter().copied() {
        let cases = guard::cases();
        let config = format!("{}{}", guard::RULES, layer.config());
        let Some(spot) = spot(place, &config, calls(&cases)) else {
            return;
        };
        lay_out(&spot.project);
        let out = spot.exec(&[]);
        if !is_missing((place, layer), &out) {
            check((place, layer), &cases, &out);
        }
    }
}

fn history_at(place: Place) {
    let turns = history::PROMPTS.iter().flat_map(|command| {
        [
            Step::answer().call("bash", json!({ "command": command })),
            Step::answer().text("Done."),
        ]
    });
    let Some(spot) = spot(place, "", turns.collect()) else {
        return;
    };
    std::fs::write(spot.project.join("seed"), "seed\n").unwrap();
    let talk = |args: &[&str], lines: &str| spot.ostler(args).stdin(lines).output().ok();
    talk(&["--yolo"], "first\nsecond\nthird\n/quit\n");
    let id = spot.scene.session_id();
    let mut wrong = Vec::new();
    for back in &history::BACKS {
        let lines = format!("/rewind {}\n/quit\n", back.words);
        let out = talk(&["resume", &id, "--yolo"], &lines);
        let differs = history::differences(&spot.project, back);
        wrong.extend(
            differs
                .into_iter()
                .map(|text| format!("{text}\n{}", out.stderr)),
        );
    }
    assert!(wrong.is_empty(), "{:?}:\n{}", spot.place, wrong.join("\n"));
}

/// How many cases there are, at how many places and layers.
#[test]
fn the_tables_are_as_long_as_they_should_be() {
    let outside = Path::new("/var/tmp");
    let tools = files().len() + commands().len();
    let layered = escapes::cases(outside).len() + guard::cases().len();
    let (mut all, mut distinct) = (0, 0);
    for place in PLACES {
        all += tools + layered * Layer::of(place).len() + history::BACKS.len();
        distinct = distinct.max(tools + layered * Layer::of(place).len() + history::BACKS.len());
    }
    assert!(distinct >= 200, "{distinct} cases at one place");
    assert!(all >= 1000, "{all} cases at all places");
}

macro_rules! at_each_place {
    ($($name:ident: $run:ident, $place:ident;)*) => {
        $(#[test]
        fn $name() {
            $run(Place::$place);
        })*
    };
}

at_each_place! {
    tools_on_this_machine: tools_at, Here;
    tools_by_a_program_that_runs_others: tools_at, Prefix;
    tools_in_a_stand_in_for_a_container: tools_at, Container;
    tools_over_ssh: tools_at, Ssh;
    tools_in_a_pane: tools_at, Tmux;
    tools_in_a_container: tools_at, Docker;
    escapes_on_this_machine: escapes_at, Here;
    escapes_by_a_program_that_runs_others: escapes_at, Prefix;
    escapes_in_a_stand_in_for_a_container: escapes_at, Container;
    escapes_over_ssh: escapes_at, Ssh;
    escapes_in_a_pane: escapes_at, Tmux;
    escapes_in_a_container: escapes_at, Docker;
    guard_on_this_machine: guard_at, Here;
    guard_by_a_program_that_runs_others: guard_at, Prefix;
    guard_in_a_stand_in_for_a_container: guard_at, Container;
    guard_over_ssh: guard_at, Ssh;
    guard_in_a_pane: guard_at, Tmux;
    guard_in_a_container: guard_at, Docker;
    history_on_this_machine: history_at, Here;
    history_by_a_program_that_runs_others: history_at, Prefix;
    history_in_a_stand_in_for_a_container: history_at, Container;
    history_over_ssh: history_at, Ssh;
    history_in_a_pane: history_at, Tmux;
    history_in_a_container: history_at, Docker;
}
