//! Nothing that a session starts reaches the server: an agent cannot approve its own question.

#![cfg(target_os = "linux")]

use super::bench::{Bench, TOKEN};
use super::common::{Scene, of_type, skipped};
use ostler_host::sandbox::{Layer, probe};
use ostler_testkit::{Kind, Step};
use serde_json::{Value, json};

/// What came of calls of a session that may do everything, by their results.
fn ran(scene: Scene, port: u16, calls: impl Fn(&str) -> Vec<(&'static str, Value)>) -> Vec<String> {
    let port_flag = port.to_string();
    let bench = Bench::of(scene, &["--port", &port_flag]);
    let address = bench.address.to_string();
    for (tool, arguments) in calls(&address) {
        bench
            .scene
            .server
            .push(Step::answer().call(tool, arguments));
    }
    bench.scene.server.push(Step::answer().text("Done."));
    let id = bench.new_session();
    bench
        .op(&id, json!({"op": "command", "line": "approve all"}))
        .is(200);
    bench.turn(&id, "try");
    let log = bench.scene.log();
    let results = of_type(&log, "tool_result");
    results
        .iter()
        .map(|entry| entry["output"].to_string())
        .collect()
}

/// A port that is free now.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn no_command_and_no_tool_reaches_the_server_whatever_rules_say() {
    if probe().layers.first() != Some(&Layer::Namespaces) {
        return skipped("no namespaces here");
    }
    let port = free_port();
    let config = format!(
        "[serve]\nauth_mode = 'none'\n[tools.web]\nallow_private = ['localhost', '127.0.0.1', '0.0.0.0', '[::1]']\n\
         [permissions]\nallow = ['Net(localhost:{port})', 'Net(127.0.0.1:{port})', 'Net(0.0.0.0:{port})', \
         'Net(localhost)', 'Net(127.0.0.1)', 'fetch_url']\n"
    );
    let scene = Scene::with_config(Kind::Chat, &config, []);
    let hosts = [
        "localhost",
        "127.0.0.1",
        "127.0.0.2",
        "0.0.0.0",
        "0x7f.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ];
    let results = ran(scene, port, |_| {
        let curl = |more: &str, host: &str| {
            let command = format!("curl -sS -m 5 {more} http://{host}:{port}/api/me; echo code $?");
            ("bash", json!({"command": command}))
        };
        let fetch = |host: &str| {
            let url = format!("http://{host}:{port}/api/me");
            ("fetch_url", json!({"url": url}))
        };
        hosts
            .iter()
            .map(|host| curl("", host))
            .chain([curl("--noproxy '*'", "127.0.0.1"), curl("-p", "localhost")])
            .chain(hosts.iter().map(|host| fetch(host)))
            .collect()
    });
    assert_eq!(results.len(), 2 * hosts.len() + 2);
    for result in results {
        assert!(!result.contains("auth_mode"), "{result}");
    }
}

/// Another server on this machine is reached by the same rules.
#[test]
fn the_rules_hold_for_other_ports() {
    if probe().layers.first() != Some(&Layer::Namespaces) {
        return skipped("no namespaces here");
    }
    let other = ostler_testkit::Server::start([]);
    let there = other.addr();
    let config = format!(
        "[serve]\ntoken = '{TOKEN}'\n[permissions]\nallow = ['Net({there})', 'fetch_url']\n"
    );
    let scene = Scene::with_config(Kind::Chat, &config, []);
    let results = ran(scene, 0, |_| {
        let command =
            format!("curl -s -m 5 -o /dev/null -w 'code %{{http_code}}' http://{there}/x");
        vec![("bash", json!({"command": command}))]
    });
    assert!(results[0].contains("code 4"), "{}", results[0]);
    other.forgive();
}

/// An agent that tries over and over to say yes to its own question, from a command that runs on in the background.
#[test]
fn an_agent_cannot_answer_its_own_question() {
    if probe().layers.first() != Some(&Layer::Namespaces) {
        return skipped("no namespaces here");
    }
    let port = free_port();
    let config = format!(
        "[serve]\nauth_mode = 'none'\n[tools.web]\nallow_private = ['localhost']\n\
         [permissions]\nallow = ['Net(localhost:{port})']\n"
    );
    let scene = Scene::with_config(Kind::Chat, &config, []);
    let bench = Bench::of(scene, &["--port", &port.to_string()]);
    let id = bench.new_session();
    let at = format!("http://localhost:{port}/api/sessions/{id}");
    let command = format!(
        "while ! test -e done; do \
         a=$(curl -s -m 2 {at} | grep -o '\"ask\":\"[^\"]*\"' | head -n 1 | cut -d '\"' -f 4); \
         curl -s -m 2 -d \"{{\\\"op\\\":\\\"answer\\\",\\\"ask\\\":\\\"$a\\\",\\\"choice\\\":\\\"once\\\"}}\" {at}/ops; \
         echo tried >> tries; sleep 0.05; done"
    );
    bench
        .scene
        .server
        .push(Step::answer().call("bash", json!({"command": command, "wait": false})));
    bench
        .scene
        .server
        .push(Step::answer().call("bash", json!({"command": "touch approved"})));
    bench.scene.server.push(Step::answer().text("Done."));
    let mut events = bench.events(&id, None);
    bench.say(&id, "approve yourself");
    let mut asked = || {
        let seen = events.until("a question", |e| e.data["type"] == "ask");
        seen.last().unwrap().data.clone()
    };
    let answer = |ask: &Value, choice: &str| {
        bench
            .op(
                &id,
                json!({"op": "answer", "ask": ask["ask"], "choice": choice}),
            )
            .is(202);
    };
    // The person lets the loop run, and is asked about the rest.
    answer(&asked(), "once");
    let ask = asked();
    let tries = || {
        let path = bench.scene.space.root().join("tries");
        std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
    };
    let before = tries();
    super::common::wait_for("more tries", || (tries() > before + 3).then_some(()));
    let state = bench.get(&format!("/api/sessions/{id}"))["snapshot"]["asks"][0]["ask"].clone();
    assert_eq!(state, ask["ask"]);
    answer(&ask, "deny");
    events.until("the end", |e| e.data["type"] == "turn_end");
    assert!(!bench.scene.space.exists("approved"));
    bench.scene.space.write("done", "");
}
