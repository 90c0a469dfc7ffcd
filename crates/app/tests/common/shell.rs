//! Servers in a few lines of shell, and scenes that have them.

use super::{Scene, of_type};
use ostler_testkit::{Kind, Running, Step};
use serde_json::{Value, json};

/// A server in a few lines of shell. `$id` and `$method` are those of the request.
const PRELUDE: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
refuse() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"%s"}}\n' "$id" "$1"; }
say() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
hello() { answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1"}}'; }
next() {
  IFS= read -r line || exit 0
  case $line in *'"id":'*) id=${line#*'"id":'}; id=${id%%[,\}]*};; *) id=;; esac
  method=${line#*'"method":"'}; method=${method%%\"*}
}
offer() { answer '{"tools":[{"name":"go","description":"Goes.","inputSchema":{"type":"object"}}]}'; }
"#;

/// What the shell does with each method; later ones come after those of every server.
pub fn script(cases: &str) -> String {
    format!(
        "{PRELUDE}\nwhile next; do case $method in\n{cases}\ninitialize) hello;;\ntools/list) offer;;\nserver/discover) refuse no;;\nesac; done\n"
    )
}

/// Runs a turn that calls the one tool of such a server.
pub fn called_once(cases: &str) -> Scene {
    let scene = scene(
        "\n[tools]\nmcp_call_timeout_seconds = 1\n",
        &[("fake", script(cases))],
        [call("mcp__fake__go", json!({})), done()],
    );
    scene.exec("go").ok();
    scene
}

/// A scene with servers by name, each a shell script.
pub fn scene(
    more: &str,
    servers: &[(&str, String)],
    steps: impl IntoIterator<Item = Step>,
) -> Scene {
    // What a server's tool does is judged elsewhere.
    let open = match more.contains("[permissions]") {
        true => "",
        false => "\n[permissions]\nheadless = \"allow\"\n",
    };
    let scene = Scene::with_config(Kind::Chat, &format!("{more}{open}"), steps);
    for (name, text) in servers {
        scene
            .space
            .write(scene.space.home().join(format!("{name}.sh")), text);
    }
    let servers: serde_json::Map<String, Value> = servers
        .iter()
        .map(|(name, _)| {
            let script = scene.space.home().join(format!("{name}.sh"));
            (
                (*name).to_owned(),
                json!({"command": "sh", "args": [script]}),
            )
        })
        .collect();
    let file = json!({ "mcpServers": servers });
    scene
        .space
        .write(scene.space.home().join("mcp.json"), file.to_string());
    scene
}

pub fn call(name: &str, args: Value) -> Step {
    Step::answer().call(name, args)
}

pub fn done() -> Step {
    Step::answer().text("Done.")
}

/// The envelope of the only result in the log.
#[track_caller]
pub fn result(scene: &Scene) -> Value {
    let log = scene.log();
    let results = of_type(&log, "tool_result");
    assert_eq!(results.len(), 1, "{log:?}");
    results[0]["output"].clone()
}

pub fn notices(scene: &Scene) -> Vec<String> {
    let log = scene.log();
    let notices = of_type(&log, "notice");
    notices
        .iter()
        .map(|n| n["text"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// A conversation that is driven by lines, with its stdin held open.
pub fn driven(scene: &Scene) -> Running {
    scene
        .ostler(["exec", "--input-format", "stream-json"])
        .open_stdin()
        .spawn()
}

pub fn prompt(text: &str) -> String {
    json!({"op": "prompt", "text": text}).to_string() + "\n"
}

pub fn command(line: &str) -> String {
    json!({"op": "command", "line": line}).to_string() + "\n"
}

/// Waits for the `n`th ask and answers it.
#[track_caller]
pub fn answer(running: &mut Running, n: usize, choice: &str) -> Value {
    let id = format!("\"ask\":\"a{n}-");
    let shown = running.wait_stdout(&id);
    let ask = shown.lines().find(|l| l.contains(&id)).expect("the ask");
    let ask: Value = serde_json::from_str(ask).expect("a line of JSON");
    let op = json!({"op": "answer", "ask": ask["ask"], "choice": choice});
    running.write(&format!("{op}\n"));
    ask
}
