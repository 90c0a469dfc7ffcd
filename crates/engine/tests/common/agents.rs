//! A session that delegates, and what its sub-agents answer.

use super::{Bench, Shown};
use ostler_engine::HubSettings;
use ostler_guard::Posture;
use ostler_testkit::{Captured, Server, Step};
use ostler_wire::Open;
use serde_json::Value;

pub fn trusting(options: &mut HubSettings) {
    options.run.interactive = true;
    options.permissions.policy.posture = Posture::Yolo;
}

/// The role that a request is sent in; none for the person's own session.
pub fn role(request: &Captured) -> Option<String> {
    let system = request.system_text();
    let (_, rest) = system.split_once("# Role: ")?;
    rest.lines().next().map(str::to_owned)
}

pub fn says(request: &Captured) -> String {
    let text = request.last_user_text();
    text.lines().last().unwrap_or_default().to_owned()
}

/// The person's session makes these calls, then ends; sub-agents answer by `child`.
pub fn delegating(
    calls: Vec<(&'static str, Value)>,
    child: impl Fn(&Captured) -> Step + Send + Sync + 'static,
) -> Server {
    Server::answering(move |request| match role(request) {
        Some(_) => child(request),
        None if request.tool_results().is_empty() => Step::answer().calls(calls.clone()),
        None => Step::answer().text("All done."),
    })
}

pub async fn outcome(bench: &Bench, change: impl Fn(&mut HubSettings)) -> Shown {
    let mut session = bench.open_with(Open::New, change).await;
    let shown = session.run("go").await;
    session.close().await;
    shown
}
