//! What a place is like, for `ostler doctor` with the flags of a place: whether it is reached, what confines commands there,
//! and which programs it has.

use super::reach::{self, Consent};
use crate::boot::Boot;
use crate::cmd::doctor::{Finding, Status};
use crate::errors::Told as _;
use crate::location::Target;
use ostler_host::remote::Remote;
use ostler_host::{Command, Host as _, Output, Stdio};
use ostler_wire::{Word, printable};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const TOPIC: &str = "place";
/// How long the programs of a place may be looked for.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of what the script prints.
const MAX_SAID: usize = 4096;
/// Seconds by which two clocks may differ before programs there are confused by it.
const MAX_SKEW: u64 = 120;
/// Kilobytes that should be free there.
const MIN_FREE: u64 = 200 << 10;
/// Programs that make a difference, and whether they are there; the clock, and the room in the folder.
const SCRIPT: &str = r#"for p in git tmux; do command -v $p >/dev/null 2>&1 && echo "has $p" || echo "lacks $p"; done; echo "clock $(date +%s)"; echo "room $(df -Pk . 2>/dev/null | awk 'NR==2 {print $4}')""#;

/// Nothing without the flags of a place.
pub async fn findings(boot: &Boot) -> Vec<Finding> {
    let target = match Target::of(&boot.global.place, boot.language) {
        Ok(Some(target)) => target,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![Finding::new(Status::Problem, TOPIC, error.0)],
    };
    match reach::connect(boot, &target, Consent::Asked).await {
        Ok(remote) => describe(boot, &target, &remote).await,
        Err(error) => {
            let text = boot.language.told(&error);
            vec![Finding::new(Status::Problem, TOPIC, text)]
        }
    }
}

async fn describe(boot: &Boot, target: &Target, remote: &Remote) -> Vec<Finding> {
    let language = boot.language;
    let facts = remote.facts();
    let begun = Instant::now();
    // What it says is of no interest, how long it takes is.
    let _stat = remote.stat(&facts.cwd).await;
    let took = format!("{:.1}", begun.elapsed().as_secs_f64() * 1000.0);
    let system = format!("{} {}", facts.os, facts.arch);
    let folder = printable(&facts.cwd.display().to_string());
    let values = [&*target.label(), &*printable(&system), &*folder, &*took];
    let mut findings = vec![Finding::ok(
        TOPIC,
        language.fill(Word::PlaceReached, &values),
    )];
    let layers: Vec<&str> = facts.layers.iter().map(|layer| layer.name()).collect();
    findings.push(match (layers.as_slice(), target.has_project_here()) {
        ([], true) => Finding::ok(TOPIC, language.say(Word::PlaceContainerHolds)),
        ([], false) => Finding::new(Status::Note, TOPIC, language.say(Word::PlaceNoSandbox)),
        (names, _) => Finding::ok(
            TOPIC,
            language.fill(Word::PlaceSandboxIs, &[&names.join(", ")]),
        ),
    });
    findings.extend(programs(boot, remote).await);
    findings
}

async fn programs(boot: &Boot, remote: &Remote) -> Vec<Finding> {
    let language = boot.language;
    let said = tokio::time::timeout(PATIENCE, said(remote)).await;
    let said = said.unwrap_or_default();
    let lines = || said.lines().filter_map(|line| line.split_once(' '));
    let number = |name: &str| {
        let mut values = lines().filter(|(key, _)| *key == name);
        values
            .next()
            .and_then(|(_, value)| value.trim().parse::<u64>().ok())
    };
    let listed = |wanted: &str| {
        let found = lines().filter(|(key, _)| *key == wanted);
        found
            .map(|(_, name)| name.to_owned())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut findings = Vec::new();
    let (has, lacks) = (listed("has"), listed("lacks"));
    if !has.is_empty() {
        findings.push(Finding::ok(TOPIC, language.fill(Word::PlaceHas, &[&has])));
    }
    if !lacks.is_empty() {
        let text = language.fill(Word::PlaceLacks, &[&lacks]);
        findings.push(Finding::new(Status::Note, TOPIC, text));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    if let Some(skew) = number("clock").map(|there| there.abs_diff(now))
        && skew > MAX_SKEW
    {
        let text = language.fill(Word::PlaceClock, &[&skew.to_string()]);
        findings.push(Finding::new(Status::Note, TOPIC, text));
    }
    if let Some(room) = number("room").filter(|room| *room < MIN_FREE) {
        let text = language.fill(Word::PlaceRoom, &[&(room >> 10).to_string()]);
        findings.push(Finding::new(Status::Problem, TOPIC, text));
    }
    findings
}

async fn said(remote: &Remote) -> String {
    let facts = remote.facts();
    let command = Command {
        argv: ["sh", "-c", SCRIPT].map(Into::into).to_vec(),
        cwd: facts.cwd.clone(),
        env: facts.env.clone(),
        stdio: Stdio::Pipes,
        sandbox: None,
    };
    let Ok(mut process) = remote.spawn(command).await else {
        return String::new();
    };
    let mut said = Vec::new();
    loop {
        match process.next().await {
            Output::Stdout(bytes) if said.len() < MAX_SAID => said.extend_from_slice(&bytes),
            Output::Stdout(_) | Output::Stderr(_) => {}
            Output::Exited(_) => return String::from_utf8_lossy(&said).into_owned(),
        }
    }
}
