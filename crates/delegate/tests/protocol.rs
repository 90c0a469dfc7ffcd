//! Agents that speak the Agent Client Protocol: what they tell, what they ask, how they are stopped, and what they do wrong.
#![cfg(target_os = "linux")]

mod common;

use common::{Scene, Seen, request};
use ostler_delegate::activity::{Activity, PermissionAnswer, PieceKind};
use ostler_delegate::outcome::{FailureKind, Outcome};
use ostler_delegate::request::Request;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// An agent in a shell: answers each method, and does at `session/prompt` what the test says. It notes what it was sent.
fn agent(opened: &Value, capabilities: &Value, prompt: &str) -> String {
    let template = r#"
log="$(dirname "$0")/log"; echo "$@" > "$log"
result() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
error() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"%s"}}\n' "$id" "$1" "$2"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":%s}}\n' "$1"; }
say() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; }
read_line() { IFS= read -r line && printf '%s\n' "$line" >> "$log"; }
while read_line; do
  id=$(printf '%s' "$line" | grep -o '"id":[^,}]*' | head -n 1 | cut -c 6-)
  case "$line" in
    *'"initialize"'*) result '{"protocolVersion":1,"agentCapabilities":CAPABILITIES}';;
    *'"session/new"'*) result 'OPENED';;
    *'"session/load"'*) say past; result '{}';;
    *'"session/resume"'*) result '{}';;
    *'"session/set_'*) result '{}';;
    *'"session/prompt"'*) PROMPT
    ;;
  esac
done
"#;
    template
        .replace("CAPABILITIES", &capabilities.to_string())
        .replace("OPENED", &opened.to_string())
        .replace("PROMPT", prompt)
}

fn plain() -> Value {
    json!({"sessionId": "s-1"})
}

fn setup(role: Value) -> Value {
    let mut full = json!({"model": "opencode/default"});
    for (key, value) in role.as_object().into_iter().flatten() {
        full[key] = value.clone();
    }
    let models = json!({"prov/m": {"options": {"variant": "high"}}});
    json!({"backend": {"opencode": {"models": models}, "claude": {}}, "roles": {"r": full}})
}

fn scene(role: Value, script: &str) -> Scene {
    Scene::new(setup(role)).cli("opencode", script)
}

fn log(scene: &Scene) -> String {
    std::fs::read_to_string(scene.path("bin/log")).unwrap()
}

fn failure(outcome: &Outcome) -> (FailureKind, &str) {
    let kind = outcome.failure.unwrap_or_else(|| panic!("{outcome:?}"));
    (kind, outcome.error.as_deref().unwrap())
}

const WORK: &str = r#"
update '{"sessionUpdate":"available_commands_update","availableCommands":[]}'
update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}'
update '{"sessionUpdate":"plan","entries":[{"content":"look","priority":"high","status":"completed"},{"content":"act","priority":"low","status":"in_progress"}]}'
say 'I look. '
update '{"sessionUpdate":"tool_call","toolCallId":"c1","title":"bash","kind":"execute","status":"pending","rawInput":{}}'
update '{"sessionUpdate":"tool_call_update","toolCallId":"c1","title":"ls","status":"in_progress","rawInput":{"command":"ls"}}'
update '{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"a.txt"}}]}'
update '{"sessionUpdate":"tool_call_update","toolCallId":"unknown","title":"cat a.txt","kind":"read","status":"failed","rawOutput":{"output":"no such file"}}'
update '{"sessionUpdate":"from_the_future","x":1}'
update '{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.5,"currency":"USD"}}'
say 'All '; say 'done.'
result '{"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":5,"totalTokens":15,"cachedReadTokens":3}}'
"#;

#[tokio::test]
async fn a_whole_task_is_told_as_it_happens() {
    let scene = scene(json!({}), &agent(&plain(), &json!({}), WORK));
    let (outcome, seen) = scene.three(request("r", "say hi")).await;
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.agent_messages, "All done.");
    assert_eq!(
        (outcome.session_id.as_str(), outcome.backend.as_str()),
        ("s-1", "opencode")
    );
    let cost = outcome.cost.unwrap();
    assert_eq!(
        (
            cost.usd,
            cost.input_tokens,
            cost.output_tokens,
            cost.cached_tokens
        ),
        (Some(0.5), 10, 5, 3)
    );
    assert_eq!(
        seen.short(),
        [
            "started opencode",
            "session s-1",
            "plan of 2",
            "reasoning hm",
            "message I look.",
            "call c1 ls Execute",
            "ok c1 a.txt",
            "call unknown cat a.txt Read",
            "failed unknown no such file",
            "usage 0/0",
            "usage 10/5",
            "message All done.",
        ]
    );
    let pieces = seen.all().into_iter().filter(
        |activity| matches!(activity, Activity::Piece(piece) if piece.kind == PieceKind::Message),
    );
    assert_eq!(pieces.count(), 3);
    assert!(log(&scene).starts_with("acp\n"), "{}", log(&scene));
}

/// A sandbox of its own that does not work in ours is off where a role may do everything, and only there.
#[tokio::test]
async fn a_sandbox_that_cannot_nest_is_turned_off_for_those_who_may_do_everything() {
    let script = "say 'Word.'\nresult '{\"stopReason\":\"end_turn\"}'";
    for (capabilities, is_off) in [
        (json!({}), true),
        (json!({"filesystem": "read-only"}), false),
        (json!({"network": "deny"}), false),
        (json!({"shell": "deny"}), false),
    ] {
        let role = json!({"model": "reasonix/default", "capabilities": capabilities});
        let scene = Scene::new(json!({"backend": {"reasonix": {}}, "roles": {"r": role}}))
            .cli("reasonix", &agent(&plain(), &json!({}), script));
        let (outcome, _) = scene.three(request("r", "say hi")).await;
        assert_eq!(outcome.error, None);
        let told = log(&scene);
        assert_eq!(told.contains("danger-full-access"), is_off, "{told}");
    }
}

/// Arguments that come as text while the model writes them are those of the call.
#[tokio::test]
async fn arguments_may_come_as_text_before_the_call_runs() {
    let script = r#"
update '{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Bash","kind":"execute","status":"pending","content":[{"type":"content","content":{"type":"text","text":""}}]}'
update '{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"{\"command\":\"ec"}}]}'
update '{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"{\"command\":\"echo hi\"}"}}]}'
update '{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"hi"}}]}'
say 'Word.'
result '{"stopReason":"end_turn"}'"#;
    let scene = scene(json!({}), &agent(&plain(), &json!({}), script));
    let (outcome, seen) = scene.three(request("r", "say hi")).await;
    assert_eq!(outcome.error, None);
    let call = seen.all().into_iter().find_map(|activity| match activity {
        Activity::ToolStarted(call) => Some(call),
        _ => None,
    });
    assert_eq!(call.unwrap().input, Some(json!({"command": "echo hi"})));
    assert!(
        seen.short().contains(&"ok c1 hi".to_owned()),
        "{:?}",
        seen.short()
    );
}

/// What an agent says of its own settings is no part of its answer.
#[tokio::test]
async fn messages_that_are_no_words_are_left_out() {
    let script = "say '[MODE_UPDATE] plan'; say 'Word.'\nresult '{\"stopReason\":\"end_turn\"}'";
    let modes = json!({"sessionId": "s-1", "modes": {"availableModes": [{"id": "plan"}]}});
    let role = json!({"model": "gemini/default", "capabilities": {"filesystem": "read-only"}});
    let scene = Scene::new(json!({"backend": {"gemini": {}}, "roles": {"r": role}}))
        .cli("gemini", &agent(&modes, &json!({}), script));
    let (outcome, _) = scene.three(request("r", "say hi")).await;
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.agent_messages, "Word.");
}

#[tokio::test]
async fn sessions_go_on_and_their_past_is_not_told_again() {
    for (capabilities, method) in [
        (json!({"loadSession": true}), "session/load"),
        (
            json!({"loadSession": true, "sessionCapabilities": {"resume": {}}}),
            "session/resume",
        ),
    ] {
        let prompt = "say now; result '{\"stopReason\":\"end_turn\"}'";
        let scene = scene(json!({}), &agent(&plain(), &capabilities, prompt));
        let (first, _) = scene.three(request("r", "one")).await;
        assert_eq!((first.error, first.resumed), (None, false));
        let (second, seen) = scene.three(request("r", "two")).await;
        assert_eq!((second.error, second.resumed), (None, true));
        assert_eq!(second.agent_messages, "now");
        assert!(
            !seen.short().iter().any(|line| line.contains("past")),
            "{:?}",
            seen.short()
        );
        assert!(
            log(&scene).contains(&format!("\"{method}\"")),
            "{}",
            log(&scene)
        );
    }
    let scene = scene(json!({}), &agent(&plain(), &json!({}), "result '{}'"));
    let mut resuming = request("r", "two");
    resuming.session_id = Some("s-2".into());
    let (outcome, _) = scene.three(resuming.clone()).await;
    assert!(failure(&outcome).1.contains("names no conversation"));
    resuming.is_session_approved = true;
    let (outcome, _) = scene.three(resuming.clone()).await;
    assert!(failure(&outcome).1.contains("cannot go on with a session"));
    resuming.session_id = Some("--config=x".into());
    let (outcome, _) = scene.three(resuming).await;
    assert!(failure(&outcome).1.contains("not the form"));
}

#[tokio::test]
async fn model_options_and_mode_are_settings_of_the_session() {
    let opened = json!({
        "sessionId": "s-1",
        "modes": {"currentModeId": "build", "availableModes": [{"id": "build", "name": "Build"}, {"id": "plan", "name": "Plan"}]},
        "configOptions": [{"id": "model", "name": "Model", "type": "select", "currentValue": "x", "options": []}],
    });
    let prompt = "say ok; result '{\"stopReason\":\"end_turn\"}'";
    let role = json!({"model": "opencode/prov/m", "capabilities": {"filesystem": "read-only"}});
    let scene = scene(role, &agent(&opened, &json!({}), prompt));
    let (outcome, _) = scene.three(request("r", "x")).await;
    assert_eq!(outcome.error, None);
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    let log = log(&scene);
    for part in [
        r#""configId":"model","value":"prov/m""#,
        r#""configId":"effort","value":"high""#,
        r#""modeId":"plan""#,
    ] {
        let mirrored = part.split(',').all(|part| log.contains(part));
        assert!(mirrored, "{part} in {log}");
    }
    let env = &scene.launched()[0].env;
    let permission = env
        .iter()
        .find(|(name, _)| name == "OPENCODE_PERMISSION")
        .unwrap();
    let permission: Value = serde_json::from_str(&permission.1).unwrap();
    assert_eq!(
        (&permission["*"], &permission["read"]),
        (&json!("deny"), &json!("allow"))
    );
}

const ASKS: &str = r#"
prompt_id=$id
printf '{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{"sessionId":"s-1","options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Once","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}],"toolCall":{"toolCallId":"c1","title":"touch x","kind":"KIND","rawInput":{"command":"touch x"}}}}\n'
while read_line; do
  case "$line" in
    *'"id":77'*) said=$(printf '%s' "$line" | grep -o '"optionId":"[a-z]*"\|"outcome":"cancelled"' | tail -n 1 | tr -d '"'); break;;
    *session/cancel*) said=cancelled; break;;
  esac
done
id=$prompt_id
say "$said"
result '{"stopReason":"end_turn"}'
"#;

#[tokio::test]
async fn permissions_are_asked_of_the_watcher_and_limits_refuse_at_once() {
    let check =
        async |kind: &str, role: Value, answer: PermissionAnswer, expect: &str, asked: usize| {
            let scene = scene(
                role,
                &agent(&plain(), &json!({}), &ASKS.replace("KIND", kind)),
            );
            let seen = Seen::answering(answer);
            let cancel = CancellationToken::new();
            let outcome = scene
                .delegation()
                .three(&request("r", "x"), seen.clone(), &cancel)
                .await;
            assert_eq!(outcome.error, None);
            assert_eq!(outcome.agent_messages, expect, "{kind}");
            let questions = seen.asked.lock().unwrap().clone();
            assert_eq!(questions.len(), asked, "{kind}");
            for question in questions {
                assert_eq!(
                    (question.backend.as_str(), question.role.as_str()),
                    ("opencode", "r")
                );
                assert_eq!(question.tool.title, "touch x");
                assert_eq!(question.options.len(), 3);
            }
            assert!(
                seen.short()
                    .iter()
                    .any(|line| line.starts_with("call c1 touch x"))
            );
        };
    let free = || json!({});
    check(
        "execute",
        free(),
        PermissionAnswer::Allow,
        "optionId:once",
        1,
    )
    .await;
    check(
        "execute",
        free(),
        PermissionAnswer::Reject,
        "optionId:no",
        1,
    )
    .await;
    check(
        "execute",
        free(),
        PermissionAnswer::Chosen("always".into()),
        "optionId:always",
        1,
    )
    .await;
    check(
        "execute",
        free(),
        PermissionAnswer::Chosen("made up".into()),
        "outcome:cancelled",
        1,
    )
    .await;
    check(
        "execute",
        free(),
        PermissionAnswer::Cancelled,
        "outcome:cancelled",
        1,
    )
    .await;
    let no_shell = json!({"capabilities": {"shell": "deny"}});
    check(
        "execute",
        no_shell,
        PermissionAnswer::Allow,
        "optionId:no",
        0,
    )
    .await;
    let no_network = json!({"capabilities": {"network": "deny"}});
    check(
        "fetch",
        no_network,
        PermissionAnswer::Allow,
        "optionId:no",
        0,
    )
    .await;
    let reads = json!({"capabilities": {"filesystem": "read-only"}});
    check(
        "edit",
        reads.clone(),
        PermissionAnswer::Allow,
        "optionId:no",
        0,
    )
    .await;
    check(
        "execute",
        reads,
        PermissionAnswer::Allow,
        "optionId:once",
        1,
    )
    .await;
}

#[tokio::test]
async fn a_question_that_nobody_answers_ends_with_the_call() {
    let script = agent(&plain(), &json!({}), &ASKS.replace("KIND", "execute"));
    let scene = scene(json!({}), &script);
    let seen = Arc::new(Seen::default());
    let cancel = CancellationToken::new();
    let (request, delegation) = (request("r", "x"), scene.delegation());
    let call = delegation.three(&request, seen.clone(), &cancel);
    let stop = async {
        while seen.asked.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(call, stop);
    assert_eq!(failure(&outcome).0, FailureKind::Cancelled);
    assert_eq!(outcome.session_id, "s-1");
}

#[tokio::test]
async fn every_phase_can_be_cancelled_and_runs_out_of_time() {
    let hang = "while true; do sleep 1000; done";
    let whole = agent(&plain(), &json!({}), hang);
    let scripts = [
        hang.to_owned(),
        whole.replace(
            r#"*'"session/new"'*) result"#,
            r#"*'"session/new"'*) sleep 1000; result"#,
        ),
        whole,
    ];
    for (phase, script) in scripts.iter().enumerate() {
        let scene = scene(
            json!({}),
            &format!("echo $$ > \"$(dirname \"$0\")/self\"; trap '' TERM\n{script}"),
        );
        let mut request = request("r", "x");
        request.timeout_secs = Some(1);
        let (outcome, _) = scene.three(request.clone()).await;
        let (kind, why) = failure(&outcome);
        assert_eq!(kind, FailureKind::Timeout, "{phase}");
        assert!(why.contains("command: opencode acp"), "{why}");
        let pid = std::fs::read_to_string(scene.path("bin/self")).unwrap();
        assert!(
            !std::path::Path::new("/proc")
                .join(pid.trim())
                .join("stat")
                .exists()
        );
        request.timeout_secs = None;
        let cancel = CancellationToken::new();
        let later = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            cancel.cancel();
        };
        let delegation = scene.delegation();
        let call = delegation.three(&request, Arc::new(Seen::default()), &cancel);
        let (outcome, ()) = tokio::join!(call, later);
        assert_eq!(failure(&outcome).0, FailureKind::Cancelled, "{phase}");
    }
}

#[tokio::test]
async fn what_agents_do_wrong_is_told() {
    let with = |prompt: &str| agent(&plain(), &json!({}), prompt);
    let login = agent(&plain(), &json!({}), "").replace(
        r#"*'"session/new"'*) result '{"sessionId":"s-1"}'"#,
        r#"*'"session/new"'*) error -32000 'Authentication required'"#,
    );
    for (script, says) in [
        (
            "echo 'not logged in' >&2; exit 3".to_owned(),
            "ended in the middle (exit code 3)",
        ),
        (
            "echo 'not logged in' >&2; exit 3".to_owned(),
            "it printed: not logged in",
        ),
        (
            "cat > /dev/null & echo garbage; kill -9 $$".to_owned(),
            "killed by signal 9",
        ),
        (login, "Authentication required: run `opencode auth login`"),
        (
            with("error -32603 '429 too many'"),
            "failed (session/prompt): 429 too many",
        ),
        (
            with("result '{\"stopReason\":\"end_turn\"}'"),
            "ended without an answer",
        ),
        (
            with("say no; result '{\"stopReason\":\"refusal\"}'"),
            "refused the task",
        ),
        (
            with("say half; exit 0"),
            "ended in the middle (exit code 0)",
        ),
        (with("echo 'bad {json'; exit 1"), "it printed: bad {json"),
    ] {
        let scene = scene(json!({}), &script);
        let (outcome, _) = scene.three(request("r", "x")).await;
        let (kind, why) = failure(&outcome);
        assert_eq!(kind, FailureKind::Agent, "{why}");
        assert!(why.contains(says), "{says} in {why}");
        assert!(why.contains("command: opencode acp"), "{why}");
    }
    // Noise between messages, requests that nobody knows, and messages that make no sense cost nothing.
    let noisy = with(
        r#"echo 'just text'; echo '{"no":"message"}'; echo '{"jsonrpc":"2.0","id":5,"method":"fs/read_text_file","params":{}}'; echo '{"jsonrpc":"2.0","method":"session/update","params":7}'; say ok; result '{"stopReason":"end_turn"}'"#,
    );
    let scene = scene(json!({}), &noisy);
    let (outcome, _) = scene.three(request("r", "x")).await;
    assert_eq!(
        (outcome.error, outcome.agent_messages.as_str()),
        (None, "ok")
    );
}

#[tokio::test]
async fn a_failure_over_the_protocol_has_a_fallback_too() {
    let mut setup = setup(json!({}));
    setup["backend"]["opencode"]["fallback"] =
        json!({"model": "claude/default", "patterns": ["429"]});
    let script = agent(&plain(), &json!({}), "error -32603 '429 too many'");
    let spare = r#"{"type":"result","session_id":"s-2","is_error":false,"result":"instead"}"#;
    let scene = Scene::new(setup)
        .cli("opencode", &script)
        .prints("claude", spare, "", 0);
    let (outcome, _) = scene.three(request("r", "x")).await;
    assert_eq!(
        (outcome.error, outcome.agent_messages.as_str()),
        (None, "instead")
    );
    assert!(
        outcome.warnings[0].starts_with("model fallback used: opencode/default -> claude/default")
    );
}

#[tokio::test]
async fn any_command_that_speaks_it_is_a_backend() {
    let prompt = "say ok; result '{\"stopReason\":\"end_turn\"}'";
    let setup =
        json!({"backend": {}, "roles": {"r": {"model": "acp:my-agent --flag 'two words'"}}});
    let scene = Scene::new(setup).cli("my-agent", &agent(&plain(), &json!({}), prompt));
    let (outcome, _) = scene.three(request("r", "x")).await;
    assert_eq!(
        (outcome.error, outcome.agent_messages.as_str()),
        (None, "ok")
    );
    assert_eq!(outcome.backend, "acp:my-agent --flag 'two words'");
    assert_eq!(scene.last_argv(), "my-agent --flag two words");
    // The same without a role.
    let cancel = CancellationToken::new();
    let seen = Arc::new(Seen::default());
    let wish = Request {
        prompt: "x".into(),
        ..Request::default()
    };
    let delegation = scene.delegation();
    let model = "acp:my-agent";
    let outcome = delegation
        .direct(model, Default::default(), &wish, seen, &cancel)
        .await;
    assert_eq!(
        (outcome.error, outcome.agent_messages.as_str()),
        (None, "ok")
    );
}

#[tokio::test]
async fn the_command_line_is_used_where_the_protocol_cannot_say_it_all() {
    let stream = r#"{"type":"text","sessionID":"s-1","part":{"type":"text","text":"by line"}}
{"type":"step_finish","sessionID":"s-1","part":{"reason":"stop","tokens":{}}}"#;
    let adapter = json!({"args_template": ["{{ prompt }}"], "output_parser": {"type": "text"}});
    for (backend, expect) in [
        (
            json!({"models": {"m": {"options": {"unknown": 1}}}}),
            "by line",
        ),
        (json!({"models": {"m": {}}, "adapter": adapter}), stream),
    ] {
        let setup =
            json!({"backend": {"opencode": backend}, "roles": {"r": {"model": "opencode/m"}}});
        let scene = Scene::new(setup).prints("opencode", stream, "", 0);
        let (outcome, _) = scene.three(request("r", "x")).await;
        assert_eq!(
            (outcome.error, outcome.agent_messages.as_str()),
            (None, expect)
        );
        assert!(!scene.last_argv().starts_with("opencode acp"));
    }
}
