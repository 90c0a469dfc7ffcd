//! The command line of each agent: with nothing set, going on, reading only, without a shell or a network, with options,
//! more folders, and long prompts.
#![cfg(target_os = "linux")]

mod common;

use common::{Scene, request};
use ostler_delegate::request::Request;
use ostler_host::Stdio;
use serde_json::{Value, json};

struct Made {
    argv: String,
    env: Vec<(String, String)>,
    stdio: Stdio,
}

/// What is started for a role. An option that the protocol does not know has the command line used.
async fn made(
    agent: &str,
    model: Value,
    capabilities: Value,
    change: impl Fn(&Scene, &mut Request),
) -> Made {
    let mut options = json!({"by_line": true});
    for (name, value) in model.as_object().into_iter().flatten() {
        options[name] = value.clone();
    }
    let models = json!({"m": {"options": options}, "default": {"options": {"by_line": true}}});
    let name = if model.is_null() { "default" } else { "m" };
    let scene = Scene::new(json!({
        "backend": {agent: {"models": models}},
        "roles": {"r": {"model": format!("{agent}/{name}"), "capabilities": capabilities}},
    }))
    .cli(agent, "cat > /dev/null");
    let mut request = request("r", "P");
    change(&scene, &mut request);
    scene.three(request).await;
    let argv = scene.last_argv();
    let launched = scene.launched();
    let program = launched.last().unwrap();
    assert_eq!(program.confinement.backend, agent);
    assert!(!program.confinement.state.is_empty() && !program.confinement.hosts.is_empty());
    Made {
        argv: argv.replace(&scene.project().display().to_string(), "PROJECT"),
        env: program.env.clone(),
        stdio: program.stdio,
    }
}

#[tokio::test]
async fn as_they_are_by_default_and_with_a_session() {
    for (agent, fresh, resumed) in [
        (
            "claude",
            "claude -p --output-format stream-json --verbose --dangerously-skip-permissions -- P",
            "claude -p --output-format stream-json --verbose --resume S --dangerously-skip-permissions -- P",
        ),
        (
            "codex",
            "codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -- P",
            "codex exec resume --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox S -- P",
        ),
        (
            "opencode",
            "opencode run --format json --auto -- P",
            "opencode run --format json --auto -s S -- P",
        ),
        (
            "kimi",
            "kimi --output-format stream-json -p P",
            "kimi --output-format stream-json -S S -p P",
        ),
        (
            "gemini",
            "gemini -o stream-json --skip-trust --approval-mode yolo --prompt=P",
            "gemini -o stream-json --skip-trust --approval-mode yolo --resume S --prompt=P",
        ),
        (
            "qwen",
            "qwen -o stream-json --approval-mode yolo -p P",
            "qwen -o stream-json --approval-mode yolo --resume S -p P",
        ),
        (
            "pi",
            "pi -p --mode json -- P",
            "pi -p --mode json --session S -- P",
        ),
        (
            "reasonix",
            "reasonix run --output-format stream-json --permission-mode danger-full-access -- P",
            "reasonix run --output-format stream-json --permission-mode danger-full-access --resume S -- P",
        ),
    ] {
        let first = made(agent, Value::Null, json!({}), |_, _| {}).await;
        assert_eq!(first.argv, fresh);
        assert_eq!(first.stdio, Stdio::Pipes);
        let depth = ("OSTLER_DELEGATION_DEPTH".to_owned(), "1".to_owned());
        assert!(first.env.contains(&depth), "{:?}", first.env);
        let again = made(agent, Value::Null, json!({}), |_, request| {
            request.session_id = Some("S".to_owned());
            request.is_session_approved = true;
        });
        assert_eq!(again.await.argv, resumed);
    }
}

#[tokio::test]
async fn limits_are_flags_or_variables() {
    let reads = || json!({"filesystem": "read-only"});
    let no_shell = || json!({"shell": "deny"});
    let no_network = || json!({"network": "deny"});
    let one_tool = || json!({"tools": ["Read", "Grep"]});
    for (agent, capabilities, part) in [
        (
            "claude",
            reads(),
            "--permission-mode dontAsk --allowedTools Read,Grep,Glob,WebFetch,WebSearch --",
        ),
        (
            "claude",
            no_shell(),
            "--permission-mode acceptEdits --disallowedTools Bash --",
        ),
        (
            "claude",
            no_network(),
            "--dangerously-skip-permissions --disallowedTools WebFetch,WebSearch --",
        ),
        (
            "claude",
            one_tool(),
            "--permission-mode dontAsk --allowedTools Read,Grep --",
        ),
        ("codex", reads(), "-s read-only --"),
        (
            "codex",
            no_network(),
            "-s workspace-write -c sandbox_workspace_write.exclude_slash_tmp=true -c web_search=\"disabled\" --",
        ),
        ("opencode", reads(), "--agent plan --"),
        ("gemini", reads(), "--approval-mode plan "),
        ("gemini", no_shell(), "--approval-mode auto_edit "),
        ("gemini", one_tool(), "--allowed-tools Read,Grep "),
        ("qwen", reads(), "--approval-mode plan "),
        ("qwen", no_shell(), "--approval-mode auto-edit "),
        ("pi", reads(), "--tools read,grep,find,ls --"),
        ("pi", no_shell(), "--tools read,grep,find,ls,edit,write --"),
        ("pi", one_tool(), "--tools Read,Grep --"),
        ("reasonix", reads(), "--permission-mode read-only "),
        ("reasonix", no_shell(), "--permission-mode workspace-write "),
    ] {
        let made = made(agent, Value::Null, capabilities, |_, _| {}).await;
        assert!(made.argv.contains(part), "{part}\n  in {}", made.argv);
    }
    let resumed = made("codex", Value::Null, reads(), |_, request| {
        request.session_id = Some("S".to_owned());
        request.is_session_approved = true;
    });
    let argv = resumed.await.argv;
    assert!(
        argv.contains("-c sandbox_mode=\"read-only\" S --"),
        "{argv}"
    );
    let made = made(
        "opencode",
        Value::Null,
        json!({"shell": "deny", "network": "deny"}),
        |_, _| {},
    )
    .await;
    let (_, permission) = made
        .env
        .iter()
        .find(|(name, _)| name == "OPENCODE_PERMISSION")
        .unwrap();
    let expect = json!({"*": "allow", "bash": "deny", "webfetch": "deny", "websearch": "deny"});
    assert_eq!(serde_json::from_str::<Value>(permission).unwrap(), expect);
}

#[tokio::test]
async fn models_and_options_are_passed_on() {
    for (agent, options, part) in [
        (
            "claude",
            json!({"effort": "high", "max_budget_usd": 2.5}),
            "--model m --effort high --max-budget-usd 2.5",
        ),
        (
            "codex",
            json!({"model_reasoning_effort": "high"}),
            "-m m -c model_reasoning_effort=\"high\"",
        ),
        ("opencode", json!({"variant": "max"}), "-m m --variant max"),
        ("kimi", json!({}), "-m m"),
        ("gemini", json!({}), "-m m"),
        (
            "qwen",
            json!({"auth_type": "openai", "max_wall_time": "10s"}),
            "-m m --auth-type openai --max-wall-time 10s",
        ),
        ("pi", json!({"thinking": "low"}), "--model m --thinking low"),
        (
            "reasonix",
            json!({"max_steps": 7}),
            "--model m --max-steps 7",
        ),
    ] {
        let made = made(agent, options, json!({}), |_, _| {}).await;
        assert!(made.argv.contains(part), "{part}\n  in {}", made.argv);
    }
    // A provider before the model is a flag of its own.
    let setup = json!({
        "backend": {"pi": {"models": {"prov/a/b": {}}}},
        "roles": {"r": {"model": "pi/prov/a/b"}},
    });
    let scene = Scene::new(setup).cli("pi", "");
    scene.three(request("r", "P")).await;
    assert_eq!(
        scene.last_argv(),
        "pi -p --mode json --provider prov --model a/b -- P"
    );
}

#[tokio::test]
async fn variants_go_over_options() {
    let setup = json!({
        "backend": {"claude": {"models": {
            "m": {"options": {"effort": "low", "max_budget_usd": 1}, "variants": {"high": {"effort": "high"}}},
            "at@home": {"options": {"effort": "none"}},
        }}},
        "roles": {"r": {"model": "claude/m@high"}, "at": {"model": "claude/at@home"}},
    });
    let scene = Scene::new(setup).cli("claude", "");
    let (outcome, _) = scene.three(request("r", "P")).await;
    assert!(
        scene
            .last_argv()
            .contains("--model m --effort high --max-budget-usd 1 ")
    );
    assert_eq!(outcome.model.as_deref(), Some("m@high"));
    scene.three(request("at", "P")).await;
    assert!(scene.last_argv().contains("--model at@home --effort none "));
}

#[tokio::test]
async fn folders_of_the_prompt_are_added() {
    for (agent, before) in [
        ("claude", "--add-dir "),
        ("codex", "--add-dir "),
        ("kimi", "--add-dir "),
        ("gemini", "--include-directories "),
        ("qwen", "--add-dir "),
        ("reasonix", "--add-dir "),
    ] {
        let other = tempfile::tempdir().unwrap();
        let other = other.path().canonicalize().unwrap();
        let path = other.display().to_string();
        let made = made(agent, Value::Null, json!({}), |_, request| {
            request.prompt = format!("Look at {path}.");
        });
        let argv = made.await.argv;
        assert!(argv.contains(&format!("{before}{path} ")), "{argv}");
    }
}

#[tokio::test]
async fn long_prompts_go_through_stdin_where_that_is_read() {
    let long = "x".repeat(40_000);
    for (agent, end) in [
        ("claude", "--dangerously-skip-permissions"),
        ("codex", "--dangerously-bypass-approvals-and-sandbox -"),
        ("opencode", "--auto"),
        ("gemini", "--approval-mode yolo"),
        ("qwen", "--approval-mode yolo"),
        ("pi", "--mode json"),
        ("reasonix", "danger-full-access"),
    ] {
        let made = made(agent, Value::Null, json!({}), |_, request| {
            request.prompt = long.clone()
        })
        .await;
        assert!(made.argv.ends_with(end), "{}", made.argv);
        assert_eq!(made.stdio, Stdio::PipesWithStdin, "{agent}");
    }
    // It would take this prompt for a flag.
    let dashes = made("qwen", Value::Null, json!({}), |_, request| {
        request.prompt = "--x".to_owned()
    })
    .await;
    assert_eq!(dashes.stdio, Stdio::PipesWithStdin);
    let kimi = made("kimi", Value::Null, json!({}), |_, request| {
        request.prompt = long.clone()
    })
    .await;
    assert!(kimi.argv.ends_with("xxx"));
}
