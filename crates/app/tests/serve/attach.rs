//! `--attach`: the front ends of the terminal on a server elsewhere.

use super::bench::{Bench, TOKEN};
use super::common::{Scene, answer};
use ostler_testkit::{Kind, Run, Step, json_lines};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Somebody at another machine: a home and a folder of their own.
fn there() -> Scene {
    Scene::new(Kind::Chat, [])
}

fn run(away: &Scene, bench: &Bench, args: &[&str]) -> Run {
    let url = format!("http://{}", bench.address);
    let args: Vec<&str> = args
        .iter()
        .map(|arg| if *arg == "URL" { &url } else { *arg })
        .collect();
    away.ostler([]).args(args)
}

fn attached(away: &Scene, bench: &Bench, args: &[&str]) -> Run {
    run(away, bench, args).env("OSTLER_TOKEN", TOKEN)
}

#[test]
fn a_prompt_runs_at_the_server_and_is_shown_here() {
    let command = json!({"command": "echo made >made.txt"});
    let bench = Bench::with(
        "[permissions]\nallow = ['Bash(echo:*)', 'Edit(./**)']\n",
        [
            Step::answer().text("First. ").call("bash", command),
            Step::answer().text("Done there."),
            Step::answer().text("And again."),
        ],
    );
    let away = there();
    let args = ["exec", "--attach", "URL", "-p", "go", "--format", "json"];
    let out = attached(&away, &bench, &args).output().ok();
    let lines = json_lines(&out.stdout);
    let last = lines.last().expect("a result");
    assert_eq!(last["result"], "Done there.", "{last}");
    assert_eq!(bench.scene.space.read("made.txt"), "made\n");
    assert!(!away.space.exists("made.txt") && away.logs().is_empty());
    // The same session, by the address that a browser shows.
    let session = bench.scene.session_id();
    let url = format!("http://{}/s/{session}", bench.address);
    let args = ["exec", "--attach", &url, "-p", "again"];
    let out = attached(&away, &bench, &args).output().ok();
    assert_eq!(out.stdout, "And again.\n");
    assert_eq!(bench.scene.logs().len(), 1);
    assert!(!out.stderr.contains("ostler resume"), "{}", out.stderr);
}

#[test]
fn the_token_comes_from_the_environment_a_login_or_stdin_and_from_no_argument() {
    let bench = Bench::new((0..3).map(|_| Step::answer().text("Hello.")));
    let away = there();
    let exec = ["exec", "--attach", "URL", "-p", "hi"];
    let none = run(&away, &bench, &exec).output();
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("ostler login URL"), "{}", none.stderr);
    let wrong = run(&away, &bench, &exec).env("OSTLER_TOKEN", "wrong");
    let wrong = wrong.output();
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.stderr.contains("does not accept this token"),
        "{}",
        wrong.stderr
    );
    let url = format!("http://{}/?token={TOKEN}", bench.address);
    let shown = run(&away, &bench, &["exec", "--attach", &url, "-p", "hi"]).output();
    assert_eq!(shown.code, Some(2));
    assert!(!shown.stderr.contains(TOKEN), "{}", shown.stderr);
    assert_eq!(
        attached(&away, &bench, &exec).output().ok().stdout,
        "Hello.\n"
    );
    let piped = ["exec", "--attach", "URL", "--token-stdin", "-p", "hi"];
    let piped = run(&away, &bench, &piped).stdin(format!("{TOKEN}\n"));
    assert_eq!(piped.output().ok().stdout, "Hello.\n");
    let bad = run(&away, &bench, &["login", "URL"])
        .stdin("wrong\n")
        .output();
    assert_eq!(bad.code, Some(1));
    let login = run(&away, &bench, &["login", "URL"]).stdin(format!("{TOKEN}\n"));
    login.output().ok();
    assert_eq!(run(&away, &bench, &exec).output().ok().stdout, "Hello.\n");
    run(&away, &bench, &["logout", "URL"]).output().ok();
    assert_eq!(run(&away, &bench, &exec).output().code, Some(2));
}

#[test]
fn what_shows_no_session_and_what_is_no_server_is_said() {
    let bench = Bench::new([]);
    let away = there();
    let doctor = attached(&away, &bench, &["doctor", "--attach", "URL"]).output();
    assert_eq!(doctor.code, Some(2));
    let none = attached(
        &away,
        &bench,
        &["exec", "--attach", "http://127.0.0.1:1", "-p", "hi"],
    );
    let none = none.output();
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("cannot be reached"), "{}", none.stderr);
    let strange = away.server.url();
    let strange = attached(&away, &bench, &["exec", "--attach", &strange, "-p", "hi"]).output();
    assert_eq!(strange.code, Some(1), "{}", strange.stderr);
    let unknown = ["exec", "--attach", "URL", "--session", "nope", "-p", "hi"];
    let unknown = attached(&away, &bench, &unknown).output();
    assert!(unknown.stderr.contains("nope"), "{}", unknown.stderr);
}

/// A link to the server that can be cut.
struct Link {
    address: SocketAddr,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Link {
    fn to(server: SocketAddr) -> Link {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let kept = open.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(server) else {
                    continue;
                };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    kept.lock().unwrap().push(from.try_clone().unwrap());
                    thread::spawn(move || {
                        let mut bytes = [0; 4096];
                        while let Ok(n @ 1..) = from.read(&mut bytes) {
                            if to.write_all(&bytes[..n]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Link { address, open }
    }

    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[test]
fn a_link_that_breaks_in_the_middle_of_an_answer_loses_and_repeats_nothing() {
    let steps = [Step::answer().words(120).pace(Duration::from_millis(10))];
    let scene = Scene::with_config(Kind::Chat, "", steps);
    // The tunnel has another port than the server, and its name is the one that requests have.
    let port = super::reach::free_port();
    let link = Link::to(SocketAddr::from(([127, 0, 0, 1], port)));
    let config = scene.space.home().join("config.toml");
    let text = scene.space.read(&config);
    let text = format!(
        "{text}[serve]\ntoken = '{TOKEN}'\nhosts = ['{}']\n",
        link.address
    );
    scene.space.write(&config, text);
    let port = port.to_string();
    let bench = Bench::of(scene, &["--port", &port]);
    let away = there();
    let url = format!("http://{}", link.address);
    let args = ["exec", "--attach", &url, "-p", "go", "--format", "json"];
    let running = attached(&away, &bench, &args).spawn();
    for word in ["w20 ", "w50 ", "w80 "] {
        running.wait_stdout(word);
        link.cut();
    }
    let out = running.wait().ok();
    let lines = json_lines(&out.stdout);
    let last = lines.last().expect("a result");
    let expected: String = (0..120)
        .map(|n| format!("w{n}{}", if n % 16 == 15 { "\n" } else { " " }))
        .collect();
    assert_eq!(
        last["result"].as_str().map(str::trim_end),
        Some(expected.trim_end())
    );
    let numbers: Vec<u64> = lines
        .iter()
        .filter_map(|line| line["entry"].as_u64())
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}

#[test]
fn the_terminal_shows_asks_answers_and_goes_on_after_the_server_starts_again() {
    let input = json!({"command": "python3 -c 'print(6 * 7)'"});
    let scene = Scene::with_config(
        Kind::Chat,
        "",
        [
            Step::answer().text("I run it.").call("bash", input),
            Step::answer().text("It ran over there."),
            Step::answer().text("Still here."),
        ],
    );
    let config = scene.space.home().join("config.toml");
    let text = scene.space.read(&config);
    let text = format!("{text}[serve]\ntoken = '{TOKEN}'\n");
    scene.space.write(&config, text);
    let port = super::reach::free_port().to_string();
    let mut bench = Bench::of(scene, &["--port", &port]);
    let away = there();
    let mut term = attached(&away, &bench, &["--attach", "URL"]).on_terminal(100, 30);
    term.wait_for("Attached to http://");
    // The top names the server: no folder here says where the session works.
    let name = format!("127.0.0.1:{port}");
    let is_named = |screen: &str| screen.lines().any(|line| line.trim() == name);
    term.wait_until("the server at the top", is_named);
    term.keys("please run it\r");
    answer(&mut term, "y");
    term.wait_for("It ran over there.");
    term.keys("/status\r");
    term.wait_for("mock-model");
    let session = bench.scene.session_id();
    bench.stop();
    term.wait_for("The connection to the server is lost");
    let bench = Bench::of(bench.scene, &["--port", &port]);
    term.wait_for("Connected to the server again");
    term.keys("still there?\r");
    term.wait_for("Still here.");
    term.keys("/exit\r");
    assert_eq!(term.wait().code(), Some(0));
    // A second terminal sees what was said, by `--attach URL SESSION`.
    let mut other = attached(&away, &bench, &["--attach", "URL", &session]).on_terminal(100, 30);
    other.wait_for("It ran over there.");
    other.wait_for("Still here.");
    other.keys("/exit\r");
    assert_eq!(other.wait().code(), Some(0));
    assert_eq!(bench.scene.logs().len(), 1);
}
