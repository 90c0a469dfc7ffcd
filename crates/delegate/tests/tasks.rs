//! One task for one role with fake agents: command lines, sessions, limits of time, output without end, agents that do not
//! stop, fallbacks, contracts.
#![cfg(target_os = "linux")]

mod common;

use common::{Scene, Seen, request};
use ostler_delegate::activity::{Activity, NoticeSource, Watcher};
use ostler_delegate::outcome::{Cost, FailureKind, Outcome};
use ostler_delegate::request::{Contract, Request};
use ostler_delegate::services::{MAX_DEPTH, OwnAgent, OwnAnswer, OwnTask};
use ostler_wire::BoxFuture;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A role `r` with an agent whose output is its message.
fn text_setup(more: Value) -> Value {
    let adapter = json!({"args_template": ["{{ prompt }}"], "output_parser": {"type": "text"}});
    let mut backend = json!({"adapter": adapter});
    for (key, value) in more.as_object().into_iter().flatten() {
        backend[key] = value.clone();
    }
    json!({"backend": {"claude": backend}, "roles": {"r": {"model": "claude/default"}}})
}

/// The same for an agent with sessions: its answer is `SESSION|MESSAGE`.
fn regex_setup() -> Value {
    let parser = json!({"type": "regex", "session_id_pattern": r"(?s)^([^|]+)\|(.*)$", "message_capture_group": 2});
    let adapter = json!({
        "args_template": ["{% if session_id %}--resume={{ session_id }}{% endif %}", "{{ prompt }}"],
        "output_parser": parser,
    });
    let role =
        json!({"model": "claude/default", "personas": {"description": "d", "prompt": "BE BRIEF"}});
    json!({
        "backend": {"claude": {"adapter": adapter}, "codex": {"adapter": adapter}},
        "roles": {"r": role, "other": {"model": "codex/default"}},
    })
}

/// Prints its session and its arguments; goes on with the session that it is given.
const ECHO: &str = r#"
session=new
case "$1" in --resume=*) session=${1#--resume=}; shift;; esac
printf '%s|%s' "$session" "$*"
"#;

fn failure(outcome: &Outcome) -> (FailureKind, &str) {
    let kind = outcome.failure.unwrap_or_else(|| panic!("{outcome:?}"));
    (kind, outcome.error.as_deref().unwrap())
}

#[tokio::test]
async fn sessions_are_remembered_by_key() {
    let scene = Scene::new(regex_setup())
        .cli("claude", ECHO)
        .cli("codex", ECHO);
    let three = async |change: &dyn Fn(&mut Request)| {
        let mut request = request("r", "task");
        change(&mut request);
        scene.three(request).await.0
    };
    let first = three(&|_| {}).await;
    assert_eq!(first.error, None);
    assert_eq!(first.agent_messages, "BE BRIEF\n\ntask");
    assert_eq!((first.session_id.as_str(), first.resumed), ("new", false));
    assert!(first.warnings.is_empty(), "{:?}", first.warnings);
    // The store, then an id of the call, then a new one whatever is given.
    let again = three(&|_| {}).await;
    assert_eq!((again.session_id.as_str(), again.resumed), ("new", true));
    assert_eq!(again.agent_messages, "task");
    assert_eq!(again.session_key, first.session_key);
    let unknown = three(&|request| request.session_id = Some("s-7".into())).await;
    assert_eq!(unknown.failure, Some(FailureKind::Request));
    let given = three(&|request| {
        request.session_id = Some("s-7".into());
        request.is_session_approved = true;
    });
    let given = given.await;
    assert_eq!((given.session_id.as_str(), given.resumed), ("s-7", true));
    let remembered = three(&|_| {}).await;
    assert_eq!(remembered.session_id, "s-7");
    let forced = three(&|request| {
        request.session_id = Some("s-7".into());
        request.force_new_session = true;
    })
    .await;
    assert_eq!((forced.session_id.as_str(), forced.resumed), ("new", false));
    assert!(
        forced.warnings[0].contains("SESSION_ID is ignored"),
        "{:?}",
        forced.warnings
    );
    assert!(forced.agent_messages.starts_with("BE BRIEF"));
    // Other conversations, clients, roles and keys have sessions of their own.
    for change in [
        &|request: &mut Request| request.conversation_id = Some("c2".into()) as _,
        &|request: &mut Request| request.client = Some("other".into()),
        &|request: &mut Request| request.session_key = Some("verbatim".into()),
        &|request: &mut Request| request.role = Some("other".into()),
    ] as [&dyn Fn(&mut Request); 4]
    {
        let outcome = three(change).await;
        assert!(!outcome.resumed);
        assert_ne!(outcome.session_key, first.session_key);
    }
    let verbatim = three(&|request| request.session_key = Some("verbatim".into())).await;
    assert_eq!(
        (verbatim.session_key.as_str(), verbatim.resumed),
        ("verbatim", true)
    );
}

#[tokio::test]
async fn without_a_conversation_a_warning_is_given() {
    let mut scene = Scene::new(regex_setup()).cli("claude", ECHO);
    scene.defaults.conversation_id = None;
    let (outcome, _) = scene.three(request("r", "task")).await;
    assert!(
        outcome.warnings[0].contains("conversation_id"),
        "{:?}",
        outcome.warnings
    );
    let json = serde_json::to_value(&outcome).unwrap();
    assert!(
        json["warnings"]
            .as_str()
            .unwrap()
            .contains("conversation_id")
    );
}

#[tokio::test]
async fn a_session_that_changes_or_is_gone_is_told() {
    let stream = r#"{"type":"result","session_id":"s-2","is_error":false,"result":"ok"}"#;
    let setup = json!({"backend": {"claude": {}}, "roles": {"r": {"model": "claude/default"}}});
    let scene = Scene::new(setup.clone()).prints("claude", stream, "", 0);
    let mut resuming = request("r", "task");
    resuming.session_id = Some("s-1".into());
    resuming.is_session_approved = true;
    let (outcome, _) = scene.three(resuming).await;
    assert_eq!(outcome.session_id, "s-2");
    assert!(
        outcome
            .warnings
            .iter()
            .any(|w| w.contains("another session: `s-2` instead of `s-1`"))
    );
    // One of the store that is gone is begun anew, one that was asked for is an error.
    let gone = r#"
case "$*" in *--resume*) echo "No conversation found with session ID" >&2; exit 1;; esac
echo '{"type":"result","session_id":"s-3","is_error":false,"result":"fresh"}'
"#;
    let scene = Scene::new(setup).cli("claude", gone);
    let (first, _) = scene.three(request("r", "task")).await;
    assert_eq!(first.session_id, "s-3");
    let (second, _) = scene.three(request("r", "task")).await;
    assert_eq!(
        (second.agent_messages.as_str(), second.resumed),
        ("fresh", false)
    );
    assert!(
        second.warnings.iter().any(|w| w.contains("`s-3` is gone")),
        "{:?}",
        second.warnings
    );
    let mut asked = request("r", "task");
    asked.session_id = Some("s-9".into());
    asked.is_session_approved = true;
    let (third, _) = scene.three(asked).await;
    assert!(failure(&third).1.contains("No conversation found"));
}

#[tokio::test]
async fn what_a_session_used_before_is_not_counted_again() {
    let script = r#"
case "$*" in *--resume*) usd=0.75; tokens=7;; *) usd=0.5; tokens=5;; esac
echo '{"type":"result","session_id":"s","is_error":false,"result":"ok","total_cost_usd":'$usd',"usage":{"input_tokens":'$tokens'}}'
"#;
    let setup = json!({"backend": {"claude": {}}, "roles": {"r": {"model": "claude/default"}}});
    let scene = Scene::new(setup).cli("claude", script);
    let cost = async || scene.three(request("r", "task")).await.0.cost.unwrap();
    let (first, second) = (cost().await, cost().await);
    assert_eq!((first.usd, first.input_tokens), (Some(0.5), 5));
    assert_eq!((second.usd, second.input_tokens), (Some(0.25), 7));
    assert_eq!(cost().await.usd, Some(0.0));
}

#[tokio::test]
async fn refusals_are_named_when_time_runs_out() {
    let script = r#"
printf '\033[93mRetrying in 60s (attempt 1/10): [API Error: 429 too many]\033[0m\n' >&2
echo 'Retrying in 60s (attempt 2/10): [API Error: 429 too many]' >&2
sleep 1000"#;
    let models = json!({"m": {"options": {"by_line": true}}});
    let setup = json!({"backend": {"qwen": {"models": models}}, "roles": {"r": {"model": "qwen/m", "timeout_secs": 1}}});
    let scene = Scene::new(setup).cli("qwen", script);
    let (outcome, _) = scene.three(request("r", "task")).await;
    let (kind, why) = failure(&outcome);
    assert_eq!(kind, FailureKind::Timeout);
    assert!(
        why.contains("its vendor refused 2 times, the last time: [API Error: 429 too many]"),
        "{why}"
    );
    assert!(!why.contains('\u{1b}'), "{why}");
}

#[tokio::test]
async fn two_calls_with_one_key_do_not_overlap() {
    let log =
        "log=$(dirname \"$0\")/log; echo begin >> $log; sleep 0.2; echo end >> $log; echo 's|m'";
    let scene = Scene::new(regex_setup()).cli("claude", log);
    let delegation = scene.delegation();
    let cancel = CancellationToken::new();
    let request = request("r", "task");
    let watcher = || Arc::new(Seen::default());
    let (one, two, three) = tokio::join!(
        delegation.three(&request, watcher(), &cancel),
        delegation.three(&request, watcher(), &cancel),
        delegation.three(&request, watcher(), &cancel),
    );
    assert!(one.success && two.success && three.success);
    let log = std::fs::read_to_string(scene.path("bin/log")).unwrap();
    assert_eq!(log, "begin\nend\n".repeat(3));
    // A call that waits is as easily stopped as one that runs.
    let hang = Scene::new(regex_setup()).cli("claude", "sleep 100");
    let delegation = hang.delegation();
    let first = CancellationToken::new();
    let mut short = request.clone();
    short.timeout_secs = Some(1);
    let running = delegation.three(&request, watcher(), &first);
    let waiting = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let outcome = delegation.three(&short, watcher(), &cancel).await;
        first.cancel();
        outcome
    };
    let (running, waiting) = tokio::join!(running, waiting);
    assert_eq!(failure(&running).0, FailureKind::Cancelled);
    let (kind, why) = failure(&waiting);
    assert_eq!(kind, FailureKind::Timeout);
    assert!(
        why.contains("another call works with the session key"),
        "{why}"
    );
}

/// Whether a process with this id lives.
fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid.trim()).join("stat").exists()
}

async fn wait_for(path: &Path) -> String {
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

#[tokio::test]
async fn what_hangs_is_stopped_with_all_that_it_started() {
    // A child in its own session, and one that ignores polite signals; the agent itself ignores them, too.
    let script = r#"
trap '' TERM INT
setsid sleep 1000 & echo $! > "$(dirname "$0")/child"
sh -c "trap '' TERM INT; sleep 1000" & echo $! >> "$(dirname "$0")/child"
echo $$ > "$(dirname "$0")/self"
echo half an answer
while true; do sleep 1000; done
"#;
    for by_cancel in [true, false] {
        let scene = Scene::new(text_setup(json!({}))).cli("claude", script);
        let mut request = request("r", "task");
        request.timeout_secs = Some(if by_cancel { 600 } else { 1 });
        let cancel = CancellationToken::new();
        let delegation = scene.delegation();
        let call = delegation.three(&request, Arc::new(Seen::default()), &cancel);
        let stop = async {
            let own = wait_for(&scene.path("bin/self")).await;
            assert!(is_alive(&own));
            if by_cancel {
                cancel.cancel();
            }
        };
        let (outcome, ()) = tokio::join!(call, stop);
        let expect = if by_cancel {
            FailureKind::Cancelled
        } else {
            FailureKind::Timeout
        };
        let (kind, why) = failure(&outcome);
        assert_eq!(kind, expect, "{why}");
        assert!(why.contains("command: claude <prompt>"), "{why}");
        assert_eq!(outcome.agent_messages, "half an answer");
        let pids = std::fs::read_to_string(scene.path("bin/child")).unwrap()
            + &std::fs::read_to_string(scene.path("bin/self")).unwrap();
        assert_eq!(
            pids.lines().filter(|pid| is_alive(pid)).count(),
            0,
            "{pids}"
        );
    }
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_with_the_agent() {
    let script =
        "setsid sleep 1000 >/dev/null 2>&1 & echo $! > \"$(dirname \"$0\")/child\"; echo done";
    let scene = Scene::new(text_setup(json!({}))).cli("claude", script);
    let (outcome, _) = scene.three(request("r", "task")).await;
    assert_eq!(outcome.agent_messages, "done");
    let pid = std::fs::read_to_string(scene.path("bin/child")).unwrap();
    assert!(!is_alive(&pid), "{pid}");
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing() {
    let script = "echo $$ > \"$(dirname \"$0\")/self\"; exec sleep 1000";
    let scene = Scene::new(text_setup(json!({}))).cli("claude", script);
    let delegation = scene.delegation();
    let (request, cancel) = (request("r", "task"), CancellationToken::new());
    let mut call = Box::pin(delegation.three(&request, Arc::new(Seen::default()), &cancel));
    let file = scene.path("bin/self");
    let pid = tokio::select! {
        _ = &mut call => panic!("it ended"),
        pid = wait_for(&file) => pid,
    };
    drop(call);
    while is_alive(&pid) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn an_agent_that_is_killed_says_so() {
    let scene = Scene::new(text_setup(json!({}))).cli("claude", "echo half; kill -9 $$");
    let (outcome, _) = scene.three(request("r", "task")).await;
    let (kind, why) = failure(&outcome);
    assert_eq!(kind, FailureKind::Agent);
    assert!(why.contains("killed by signal 9"), "{why}");
}

#[tokio::test]
async fn floods_are_bounded() {
    // More than may be parsed as a whole.
    let scene = Scene::new(text_setup(json!({}))).cli("claude", "yes | head -c 20000000");
    let (outcome, _) = scene.three(request("r", "task")).await;
    assert!(failure(&outcome).1.contains("more than 16 MiB"));
    // A line without end, then an answer: the line is left out, the answer counts.
    let setup = json!({"backend": {"claude": {}}, "roles": {"r": {"model": "claude/default"}}});
    let flood = r#"yes | tr -d '\n' | head -c 20000000; echo
yes warning | head -n 5000 >&2
yes nonsense | head -n 5000
echo '{"type":"result","session_id":"s","is_error":false,"result":"ok"}'"#;
    let scene = Scene::new(setup).cli("claude", flood);
    let (outcome, seen) = scene.three(request("r", "task")).await;
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.agent_messages, "ok");
    let notices = seen
        .all()
        .into_iter()
        .filter_map(|activity| match activity {
            Activity::Notice(notice) => Some(notice),
            _ => None,
        });
    let notices: Vec<_> = notices.collect();
    assert!(notices.len() <= 200, "{}", notices.len());
    let left_out = |text: &str| text.contains("too long and was left out");
    assert!(
        notices
            .iter()
            .any(|notice| notice.from == NoticeSource::Ours && left_out(&notice.text))
    );
}

#[tokio::test]
async fn prompts_go_one_way_only() {
    let echo = r#"printf 'args:%s\n' "$#"; for a in "$@"; do printf '%.20s\n' "$a"; done; printf 'stdin:'; head -c 20"#;
    let adapter = |transport: &str| {
        json!({"adapter": {
            "args_template": ["-p", "{{ prompt }}", "{{ prompt_transport }}"],
            "output_parser": {"type": "text"},
            "prompt_transport": transport,
            "prompt_max_chars": 10,
        }})
    };
    let check = async |transport: &str, prompt: &str, expect: &str| {
        let scene = Scene::new(text_setup(adapter(transport))).cli("claude", echo);
        let (outcome, _) = scene.three(request("r", prompt)).await;
        assert_eq!(outcome.agent_messages, expect, "{transport} {prompt}");
    };
    check(
        "arg",
        "a long prompt",
        "args:3\n-p\na long prompt\narg\nstdin:",
    )
    .await;
    check("stdin", "short", "args:2\n-p\nstdin\nstdin:short").await;
    check("auto", "short", "args:3\n-p\nshort\narg\nstdin:").await;
    check(
        "auto",
        "a long prompt",
        "args:2\n-p\nstdin\nstdin:a long prompt",
    )
    .await;
    // Longer than the system takes as an argument.
    let scene = Scene::new(text_setup(adapter("arg"))).cli("claude", echo);
    let (outcome, _) = scene.three(request("r", &"x".repeat(200_000))).await;
    let (kind, why) = failure(&outcome);
    assert_eq!(kind, FailureKind::Request);
    assert!(why.contains("too long for an argument"), "{why}");
    assert!(scene.launched().is_empty());
}

#[tokio::test]
async fn large_prompts_go_through_stdin_while_output_is_read() {
    // It prints before it has read all, and reads after it has printed much.
    let script = "head -c 1000 > /dev/null; yes line | head -c 300000; cat | wc -c";
    let setup = text_setup(json!({"adapter": {
        "args_template": [], "output_parser": {"type": "text"}, "prompt_transport": "stdin",
    }}));
    let scene = Scene::new(setup).cli("claude", script);
    let (outcome, _) = scene.three(request("r", &"x".repeat(1_000_000))).await;
    assert_eq!(outcome.error, None);
    assert!(outcome.agent_messages.trim().len() > 290_000);
    // One that does not read at all is no failure.
    let scene = Scene::new(text_setup(json!({"adapter": {
        "args_template": [], "output_parser": {"type": "text"}, "prompt_transport": "stdin",
    }})))
    .cli("claude", "echo ok");
    let (outcome, _) = scene.three(request("r", &"x".repeat(1_000_000))).await;
    assert_eq!(outcome.agent_messages, "ok");
}

#[tokio::test]
async fn an_agent_that_is_refused_again_and_again_is_given_up_for_its_fallback() {
    let waits = r#"
echo '{"type":"system","subtype":"api_retry","attempt":1,"error_status":429,"error":"rate_limit"}'
echo '{"type":"system","subtype":"api_retry","attempt":2,"error_status":429,"error":"rate_limit"}'
sleep 1000"#;
    let spare = r#"{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"type":"agent_message","text":"instead"}}
{"type":"turn.completed","usage":{}}"#;
    let setup = json!({
        "backend": {
            "claude": {"fallback": {"model": "codex/default", "patterns": ["429"]}},
            "codex": {},
        },
        "roles": {"r": {"model": "claude/default", "capabilities": {"filesystem": "read-only"}}},
    });
    let scene = Scene::new(setup)
        .cli("claude", waits)
        .prints("codex", spare, "", 0);
    let (outcome, _) = scene.three(request("r", "task")).await;
    assert_eq!(outcome.error, None);
    assert_eq!(
        (outcome.backend.as_str(), outcome.agent_messages.as_str()),
        ("codex", "instead")
    );
    // The role's capabilities go with it.
    assert!(
        scene.last_argv().contains("-s read-only"),
        "{}",
        scene.last_argv()
    );
    let first = &scene.launched()[0].env;
    assert!(
        first.contains(&("CLAUDE_CODE_MAX_RETRIES".into(), "2".into())),
        "{first:?}"
    );
}

#[tokio::test]
async fn a_fallback_runs_once_and_only_for_its_patterns() {
    let fails = "echo '429 too many' >&2; exit 1";
    let adapter = json!({"args_template": ["{{ prompt }}"], "output_parser": {"type": "text"}});
    let only_writes = json!({"args_template": ["x"], "output_parser": {"type": "text"}, "filesystem_capabilities": ["read-write"]});
    let setup = |pattern: &str, spare: Value| {
        json!({
            "backend": {
                "claude": {"adapter": adapter, "fallback": {"model": "codex/default", "patterns": [pattern]}},
                "codex": {"adapter": spare, "fallback": {"model": "claude/default", "patterns": [pattern]}},
            },
            "roles": {"r": {"model": "claude/default", "capabilities": {"filesystem": "read-only"}}},
        })
    };
    let both = |setup: Value| Scene::new(setup).cli("claude", fails).cli("codex", fails);
    // A circle ends after one step.
    let scene = both(setup("TOO MANY", adapter.clone()));
    let (outcome, _) = scene.three(request("r", "task")).await;
    assert_eq!(scene.launched().len(), 2);
    assert_eq!(
        (outcome.backend.as_str(), outcome.success),
        ("codex", false)
    );
    let scene = both(setup("other words", adapter.clone()));
    let (outcome, _) = scene.three(request("r", "task")).await;
    assert_eq!(
        (scene.launched().len(), outcome.backend.as_str()),
        (1, "claude")
    );
    // A target that cannot do what the role needs is left out, and that is said.
    let scene = both(setup("429", only_writes));
    let (outcome, _) = scene.three(request("r", "task")).await;
    assert_eq!(scene.launched().len(), 1);
    assert!(
        outcome.warnings.iter().any(|w| w.contains("is left out")),
        "{:?}",
        outcome.warnings
    );
}

#[tokio::test]
async fn agents_are_told_how_deep_they_are_and_no_deeper_than_that() {
    let echo = "echo \"depth $OSTLER_DELEGATION_DEPTH\"";
    let mut scene = Scene::new(text_setup(json!({}))).cli("claude", echo);
    for depth in 0..MAX_DEPTH {
        scene.defaults.depth = depth;
        let (outcome, _) = scene.three(request("r", "task")).await;
        assert_eq!(outcome.agent_messages, format!("depth {}", depth + 1));
    }
    scene.defaults.depth = MAX_DEPTH;
    let (outcome, _) = scene.three(request("r", "task")).await;
    assert!(failure(&outcome).1.contains("no deeper than 2"));
}

#[tokio::test]
async fn requests_that_cannot_be_carried_out_say_why() {
    let setup = json!({
        "backend": {"claude": {"models": {"m": {"variants": {"high": {}}}}}, "kimi": {}},
        "roles": {
            "off": {"model": "claude/default", "enabled": false},
            "model": {"model": "claude/unknown"},
            "variant": {"model": "claude/m@low"},
            "own": {"model": "ostler/vendor/model"},
            "r": {"model": "claude/default"},
        },
    });
    let scene = Scene::new(setup);
    let check = async |request: Request, says: &str| {
        let (outcome, _) = scene.three(request).await;
        let (kind, why) = failure(&outcome);
        assert_eq!(kind, FailureKind::Request, "{why}");
        assert!(why.contains(says), "{why}");
    };
    check(request("off", "x"), "is disabled").await;
    check(
        request("model", "x"),
        "`unknown` is no model of `backend.claude.models`",
    )
    .await;
    check(request("variant", "x"), "no variant `low` (variants: high)").await;
    check(
        request("gone", "x"),
        "there is no role `gone` (roles: model, off, own, r, variant)",
    )
    .await;
    check(request("", "x"), "`role` is missing").await;
    check(request("r", " \n"), "`PROMPT` is empty").await;
    check(request("own", "x"), "cannot be called as a worker").await;
    let mut elsewhere = request("r", "x");
    elsewhere.cd = Some("no/such/folder".into());
    check(elsewhere, "`cd` is no folder").await;
    // It is not installed.
    let (outcome, _) = scene.three(request("r", "x")).await;
    let (kind, why) = failure(&outcome);
    assert_eq!(kind, FailureKind::NotStarted);
    assert!(
        why.contains("`claude` could not be started") && why.contains("npm install"),
        "{why}"
    );
}

#[tokio::test]
async fn contracts_are_held() {
    let diff = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n";
    let run = async |answer: &str, change: &dyn Fn(&mut Request)| {
        let scene = Scene::new(text_setup(json!({}))).prints("claude", answer, "", 0);
        std::fs::remove_dir(scene.project().join(".git")).unwrap();
        let made = std::process::Command::new("git")
            .args(["init", "-q"])
            .arg(scene.project())
            .status();
        assert!(made.unwrap().success());
        std::fs::write(scene.project().join("a.txt"), "old\n").unwrap();
        let mut request = request("r", "task");
        request.contract = Some(Contract::PatchWithCitations);
        request.validate_patch = true;
        change(&mut request);
        scene.three(request).await.0
    };
    let good = format!("PATCH\n```diff\n{diff}```\nCITATIONS\n- a.txt:1\n");
    let outcome = run(&good, &|_| {}).await;
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.contract.as_deref(), Some("patch_with_citations"));
    assert_eq!(outcome.patch_format.as_deref(), Some("unified_diff"));
    assert_eq!(outcome.patch_apply_check_ok, Some(true));
    let stale = good.replace("-old", "-other");
    let outcome = run(&stale, &|_| {}).await;
    let (kind, why) = failure(&outcome);
    assert_eq!(kind, FailureKind::Contract);
    assert!(
        why.contains("does not apply") && why.contains("a.txt"),
        "{why}"
    );
    assert_eq!(outcome.patch_apply_check_ok, Some(false));
    assert!(outcome.patch_apply_check_output.unwrap().contains("a.txt"));
    assert!(outcome.agent_messages.contains("-other"));
    let outcome = run(&stale, &|request| request.validate_patch = false).await;
    assert_eq!((outcome.error, outcome.patch_apply_check_ok), (None, None));
    let outcome = run(diff, &|request| request.contract = None).await;
    assert_eq!(
        (outcome.error, outcome.patch_apply_check_ok),
        (None, Some(true))
    );
    let outcome = run("no patch", &|_| {}).await;
    assert_eq!(
        outcome.contract_errors.len(),
        3,
        "{:?}",
        outcome.contract_errors
    );
    let outcome = run("no patch", &|request| {
        request.contract = None;
        request.validate_patch = false;
    })
    .await;
    assert!(outcome.success && outcome.patch_format.is_none());
}

/// Our own agent, which says what it was given.
struct Own(Mutex<Vec<OwnTask>>);

impl OwnAgent for Own {
    fn run<'a>(
        &'a self,
        task: OwnTask,
        watcher: &'a Arc<dyn Watcher>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<OwnAnswer, String>> {
        self.0.lock().unwrap().push(task.clone());
        Box::pin(async move {
            if task.prompt.contains("hang") {
                cancel.cancelled().await;
            }
            if task.prompt.contains("fail") {
                return Err("no key for it".to_owned());
            }
            watcher.activity(Activity::Message("done".to_owned()));
            Ok(OwnAnswer {
                session: "own-1".to_owned(),
                message: "done".to_owned(),
                cost: Some(Cost::default()),
                error: None,
            })
        })
    }
}

#[tokio::test]
async fn our_own_agent_is_a_backend_too() {
    let setup = json!({"backend": {}, "roles": {"sprinter": {"model": "ostler/vendor/a/model@x"}}});
    let mut scene = Scene::new(setup);
    let own = Arc::new(Own(Mutex::default()));
    scene.own = Some(own.clone());
    let (outcome, seen) = scene.three(request("sprinter", "task")).await;
    assert_eq!(outcome.error, None);
    assert_eq!(
        (outcome.backend.as_str(), outcome.session_id.as_str()),
        ("ostler", "own-1")
    );
    assert_eq!(outcome.model.as_deref(), Some("vendor/a/model@x"));
    assert_eq!(seen.short(), ["started ostler", "message done"]);
    let (again, _) = scene.three(request("sprinter", "task")).await;
    assert!(again.resumed);
    let tasks = own.0.lock().unwrap().clone();
    assert!(
        tasks[0].prompt.starts_with("You are the sprinter")
            && tasks[0].prompt.ends_with("\n\ntask")
    );
    assert_eq!(
        (tasks[1].prompt.as_str(), tasks[1].session.as_deref()),
        ("task", Some("own-1"))
    );
    let (failed, _) = scene.three(request("sprinter", "fail")).await;
    assert!(failure(&failed).1.contains("no key for it"));
    let mut hang = request("sprinter", "hang");
    hang.timeout_secs = Some(1);
    let (stopped, _) = scene.three(hang).await;
    assert_eq!(failure(&stopped).0, FailureKind::Timeout);
}
