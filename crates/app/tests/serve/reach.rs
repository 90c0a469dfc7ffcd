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
fn free_port() -> u16 {
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
