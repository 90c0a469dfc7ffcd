//! Several tasks at once, and what is told of a folder and of an agent.
#![cfg(target_os = "linux")]

mod common;

use common::{Scene, Seen, SeenGroup};
use ostler_delegate::Delegation;
use ostler_delegate::activity::{Group, Member, Watcher};
use ostler_delegate::outcome::{FailureKind, Outcome};
use ostler_delegate::request::{
    BatchRequest, InfoRequest, Participant, Request, RoundtableRequest,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// Waits until as many as `$WANTED` run, then answers; a task that says `fail` fails.
const TOGETHER: &str = r#"
folder="$(dirname "$0")/started"; mkdir -p "$folder"; : > "$folder/$$"
while [ "$(ls "$folder" | wc -l)" -lt 3 ]; do sleep 0.01; done
case "$*" in *fail*) echo "no luck" >&2; exit 1;; esac
printf 'answer to %s' "$*"
"#;

fn scene(script: &str) -> Scene {
    let adapter = json!({"args_template": ["{{ prompt }}"], "output_parser": {"type": "text"}});
    let role = |persona: &str| json!({"model": "claude/default", "personas": {"description": "d", "prompt": persona}});
    Scene::new(json!({
        "backend": {"claude": {"adapter": adapter, "models": {"m": {}}, "timeout_secs": 50}},
        "roles": {
            "a": role(""), "b": role(""), "c": role("AS C"),
            "oracle": {"model": "claude/m", "timeout_secs": 70},
            "off": {"model": "claude/gone", "enabled": false},
        },
    }))
    .cli("claude", script)
}

fn task(role: &str, prompt: &str) -> Request {
    Request {
        role: Some(role.to_owned()),
        prompt: prompt.to_owned(),
        ..Request::default()
    }
}

#[tokio::test]
async fn eight_tasks_run_at_once_and_two_of_them_fail() {
    let scene = scene(TOGETHER);
    let group = Arc::new(SeenGroup::default());
    let prompts = ["1", "2", "fail", "4", "5", "6", "7", "8"];
    let mut tasks: Vec<Request> = prompts.iter().map(|prompt| task("a", prompt)).collect();
    tasks[1].role = Some("nobody".to_owned());
    tasks[7].name = Some("last".to_owned());
    let batch = BatchRequest {
        tasks,
        ..BatchRequest::default()
    };
    let cancel = CancellationToken::new();
    let outcome = scene
        .delegation()
        .batch(&batch, group.clone(), &cancel)
        .await;
    assert!(!outcome.success);
    assert_eq!(outcome.error.as_deref(), Some("2 of 8 tasks failed"));
    let names: Vec<&str> = outcome
        .results
        .iter()
        .map(|result| result.name.as_str())
        .collect();
    assert_eq!(names, ["1", "2", "3", "4", "5", "6", "7", "last"]);
    for (result, prompt) in outcome.results.iter().zip(prompts) {
        match result.name.as_str() {
            "2" => assert_eq!(result.outcome.failure, Some(FailureKind::Request)),
            "3" => assert!(result.outcome.error.as_ref().unwrap().contains("no luck")),
            _ => assert_eq!(result.outcome.agent_messages, format!("answer to {prompt}")),
        }
    }
    // Tasks of one role do not wait for each other's session.
    let keys: std::collections::BTreeSet<_> = outcome
        .results
        .iter()
        .map(|result| &result.outcome.session_key)
        .collect();
    assert_eq!(keys.len(), 8);
    let log = group.log.lock().unwrap().clone();
    assert_eq!(
        log.iter()
            .filter(|line| line.starts_with("started "))
            .count(),
        8
    );
    assert_eq!(log.iter().filter(|line| line.starts_with("ok ")).count(), 6);
    assert_eq!(
        log.iter()
            .filter(|line| line.starts_with("failed "))
            .count(),
        2
    );
    assert!(log.contains(&"ok last a".to_owned()), "{log:?}");
}

/// Says one thing after the other, each with its number.
const TALKS: &str = r#"
for prompt; do :; done
n=1
while [ $n -le 50 ]; do
  echo "{\"type\":\"assistant\",\"session_id\":\"s\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"$prompt $n\"}]}}"
  n=$((n + 1))
done
echo "{\"type\":\"result\",\"is_error\":false,\"result\":\"$prompt 50\",\"session_id\":\"s\"}"
"#;

/// Keeps what each task tells, in the order in which it comes.
#[derive(Default)]
struct Told(Arc<Mutex<BTreeMap<String, Arc<Seen>>>>);

impl Group for Told {
    fn started(&self, member: &Member) -> Arc<dyn Watcher> {
        let seen = Arc::new(Seen::default());
        self.0
            .lock()
            .unwrap()
            .insert(member.name.clone(), seen.clone());
        seen
    }

    fn finished(&self, _: &Member, _: &Outcome) {}
}

#[tokio::test]
async fn what_twenty_tell_at_once_keeps_its_order() {
    let role = json!({"model": "claude/default", "personas": {"description": "d", "prompt": ""}});
    let setup = json!({"backend": {"claude": {}}, "roles": {"a": role}});
    let scene = Scene::new(setup).cli("claude", TALKS);
    let prompts: Vec<String> = (1..=20).map(|number| format!("task {number}")).collect();
    let batch = BatchRequest {
        tasks: prompts.iter().map(|prompt| task("a", prompt)).collect(),
        ..BatchRequest::default()
    };
    let told = Arc::new(Told::default());
    let cancel = CancellationToken::new();
    let outcome = scene
        .delegation()
        .batch(&batch, told.clone(), &cancel)
        .await;
    assert_eq!(outcome.error, None);
    let said = outcome
        .results
        .iter()
        .map(|one| one.outcome.agent_messages.clone());
    let last: Vec<String> = prompts
        .iter()
        .map(|prompt| format!("{prompt} 50"))
        .collect();
    assert_eq!(said.collect::<Vec<_>>(), last);
    for (number, prompt) in prompts.iter().enumerate() {
        let seen = told.0.lock().unwrap()[&(number + 1).to_string()].clone();
        let told = seen.short().into_iter();
        let messages = told.filter(|line| line.starts_with("message "));
        let expect = (1..=50).map(|n| format!("message {prompt} {n}"));
        assert_eq!(messages.collect::<Vec<_>>(), expect.collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn three_take_part_in_a_round_table() {
    let scene = scene(TOGETHER);
    let group = Arc::new(SeenGroup::default());
    let who = |name: &str, role: Option<&str>| Participant {
        name: name.to_owned(),
        role: role.map(str::to_owned),
        force_new_session: false,
    };
    let request = RoundtableRequest {
        topic: "Tabs or spaces?".to_owned(),
        participants: vec![
            who("a", None),
            who("Bob", Some("b")),
            who("Carol", Some("c")),
        ],
        ..RoundtableRequest::default()
    };
    let cancel = CancellationToken::new();
    let outcome = scene
        .delegation()
        .roundtable(&request, group, &cancel)
        .await;
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.topic, "Tabs or spaces?");
    let names: Vec<&str> = outcome
        .contributions
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["a", "Bob", "Carol"]);
    let carol = &outcome.contributions[2].outcome;
    for part in [
        "AS C",
        "Tabs or spaces?",
        "You take part as `Carol`.",
        "a, Bob",
    ] {
        assert!(
            carol.agent_messages.contains(part),
            "{part}: {}",
            carol.agent_messages
        );
    }
    let json = serde_json::to_value(&outcome).unwrap();
    assert_eq!(json["contributions"][1]["name"], "Bob");
    assert_eq!(json["contributions"][1]["role"], "b");
    assert_eq!(json["contributions"][1]["success"], true);
}

#[tokio::test]
async fn groups_that_cannot_begin_say_why() {
    let scene = scene("echo no");
    let cancel = CancellationToken::new();
    let group = || Arc::new(SeenGroup::default());
    let delegation = scene.delegation();
    let empty = delegation
        .batch(&BatchRequest::default(), group(), &cancel)
        .await;
    assert_eq!(empty.error.as_deref(), Some("`tasks` is empty"));
    let roundtable = async |change: &dyn Fn(&mut RoundtableRequest)| {
        let mut request = RoundtableRequest {
            topic: "x".to_owned(),
            participants: vec![Participant {
                name: "a".to_owned(),
                ..Participant::default()
            }],
            ..RoundtableRequest::default()
        };
        change(&mut request);
        delegation
            .roundtable(&request, group(), &cancel)
            .await
            .error
            .unwrap_or_default()
    };
    assert_eq!(roundtable(&|_| {}).await, "");
    assert_eq!(
        roundtable(&|request| request.topic.clear()).await,
        "`TOPIC` is empty"
    );
    assert_eq!(
        roundtable(&|request| request.participants.clear()).await,
        "`participants` is empty"
    );
    assert!(
        roundtable(&|request| request.cd = Some("gone".into()))
            .await
            .contains("no folder")
    );
    // What did not begin before a cancel does not begin.
    let stopped = CancellationToken::new();
    stopped.cancel();
    let batch = BatchRequest {
        tasks: vec![task("a", "x")],
        ..BatchRequest::default()
    };
    let before = scene.launched().len();
    let outcome = delegation.batch(&batch, group(), &stopped).await;
    assert_eq!(
        outcome.results[0].outcome.failure,
        Some(FailureKind::Cancelled)
    );
    assert_eq!(scene.launched().len(), before);
}

#[tokio::test]
async fn info_tells_roles_agents_and_what_is_wrong() {
    let scene = scene("echo");
    let info = scene.delegation().info(&InfoRequest::default());
    assert!(info.success, "{info:?}");
    assert!(info.config_sources[0].ends_with(".three.json"));
    let role = |name: &str| info.roles.iter().find(|role| role.role == name).unwrap();
    let oracle = role("oracle");
    assert_eq!(
        (
            oracle.persona_source.as_str(),
            oracle.timeout_secs,
            oracle.backend.as_str()
        ),
        ("built-in", 70, "claude")
    );
    assert!(
        oracle
            .description
            .as_ref()
            .unwrap()
            .contains("architecture")
    );
    assert_eq!(
        (role("a").persona_source.as_str(), role("a").timeout_secs),
        ("config", 50)
    );
    assert!(
        role("off")
            .problem
            .as_ref()
            .unwrap()
            .contains("is disabled")
    );
    assert_eq!(info.backends[0].models, ["m"]);
    let wrong = InfoRequest {
        cd: Some("gone".to_owned()),
        client: None,
    };
    assert!(
        scene
            .delegation()
            .info(&wrong)
            .error
            .unwrap()
            .contains("no folder")
    );
}

#[tokio::test]
async fn an_agent_is_looked_at() {
    let script = r#"case "$*" in --version) echo "claude-code v2.1.3 (build)";; "auth status") exit 0;; esac"#;
    let scene = scene(script);
    let cancel = CancellationToken::new();
    let check = scene.delegation().check("claude", &cancel).await;
    assert_eq!(
        (check.version.as_deref(), check.logged_in, check.error),
        (Some("2.1.3"), Some(true), None)
    );
    assert!(check.path.unwrap().ends_with("bin/claude"));
    let out = scene.cli(
        "claude",
        r#"case "$*" in --version) echo 2.1.3;; *) exit 1;; esac"#,
    );
    let check = out.delegation().check("claude", &cancel).await;
    assert_eq!(check.logged_in, Some(false));
    assert!(check.hint.unwrap().contains("log in"));
    let check = out.delegation().check("codex", &cancel).await;
    assert_eq!(check.path, None);
    assert!(check.hint.unwrap().contains("npm install"));
    assert!(
        out.delegation()
            .check("gone", &cancel)
            .await
            .error
            .is_some()
    );
    assert_eq!(Delegation::backends().len(), 8);
}
