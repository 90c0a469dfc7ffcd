//! A command in the sandbox: its plan before, and afterwards what the sandbox refused or had to put back.
//! What commands may touch is settled by whoever fills `SandboxSettings`.

use crate::artifacts::Artifacts;
use crate::tool::{ToolError, ToolSettings};
#[cfg(unix)]
use ostler_host::sandbox::Watch;
use ostler_host::sandbox::{self, Plan, Policy, Subject};
use ostler_host::{Command, Exit};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// Changes that are told one by one; the rest is a number.
const MAX_TOLD: usize = 8;
/// Most bytes of a changed file that are kept before it is put back.
#[cfg(unix)]
const MAX_ASIDE: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// Where the system can; elsewhere commands run without, and the person is told once.
    Enforce,
    /// No command runs where the system cannot.
    Require,
    #[default]
    Off,
}

#[derive(Clone, Debug, Default)]
pub struct SandboxSettings {
    pub mode: SandboxMode,
    pub policy: Policy,
}

/// What holds for one command beyond the settings: less while planning, more by what was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// Nothing may be written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// Hosts that may be reached, as in a `Net(…)` rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<PathBuf>,
    /// Of what may not be read otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readable: Vec<PathBuf>,
    /// The socket of the ssh agent may be talked to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ssh_agent: bool,
}

/// What became of the wish to confine a command.
pub enum Outcome {
    /// Nobody wished it.
    Free,
    /// The system cannot; why.
    Unavailable(String),
    Confined(Confined),
}

/// A command that runs in the sandbox.
pub struct Confined {
    settings: Arc<ToolSettings>,
    plan: Arc<Plan>,
    #[cfg(unix)]
    watch: Option<Watch>,
    artifacts: Artifacts,
    call_id: String,
    cwd: PathBuf,
}

/// What the sandbox had to do with a command that has ended.
#[derive(Debug, Default)]
pub struct Verdict {
    denied: Option<sandbox::Denial>,
    changes: Vec<Change>,
}

/// A protected path that was changed all the same.
#[derive(Debug)]
struct Change {
    path: PathBuf,
    undone: bool,
    /// Where the changed file was kept.
    aside: Option<PathBuf>,
}

/// Makes the plan and remembers what it cannot hold. To be called right before the command, which `into` is to be given.
pub async fn prepare(
    settings: Arc<ToolSettings>,
    artifacts: Artifacts,
    call_id: String,
    cwd: PathBuf,
) -> Result<Outcome, ToolError> {
    let mode = settings.sandbox.mode;
    if mode == SandboxMode::Off {
        return Ok(Outcome::Free);
    }
    let work = move || match Plan::prepare(&settings.sandbox.policy) {
        Ok(plan) if plan.layer().is_none() => Ok(Outcome::Free),
        Ok(plan) => Ok(Outcome::Confined(Confined {
            #[cfg(unix)]
            watch: (!plan.loose().is_empty()).then(|| plan.watch()),
            plan: Arc::new(plan),
            settings,
            artifacts,
            call_id,
            cwd,
        })),
        Err(error) => Err(error),
    };
    let lost = |_| ToolError::new("sandbox_error", "The sandbox could not be prepared.");
    match tokio::task::spawn_blocking(work).await.map_err(lost)? {
        Ok(outcome) => Ok(outcome),
        Err(error @ sandbox::Error::Unavailable { .. }) => match mode {
            SandboxMode::Enforce | SandboxMode::Off => Ok(Outcome::Unavailable(error.to_string())),
            SandboxMode::Require => Err(ToolError::new(
                "sandbox_unavailable",
                format!("Not run: {error}."),
            )),
        },
        Err(
            error @ (sandbox::Error::Path { .. }
            | sandbox::Error::Conflict { .. }
            | sandbox::Error::TooMany { .. }
            | sandbox::Error::Kernel { .. }),
        ) => Err(ToolError::new(
            "sandbox_error",
            format!("Not run: {error}."),
        )),
    }
}

impl Confined {
    pub fn put_on(&self, command: &mut Command) {
        command.sandbox = Some(self.plan.clone());
    }

    /// Puts back what was changed against the rules, and looks for refusals in what the command said, `said` one after
    /// the other. To be called when the command and all that it started are gone.
    pub async fn end(self, exit: Exit, said: &[&str]) -> Verdict {
        let policy = &self.settings.sandbox.policy;
        let mut denials = said
            .iter()
            .filter_map(|text| sandbox::explain(policy, &self.cwd, exit, text));
        let denied = denials.next();
        Verdict {
            denied,
            changes: self.put_back().await,
        }
    }

    #[cfg(unix)]
    async fn put_back(self) -> Vec<Change> {
        let Some(watch) = self.watch else {
            return Vec::new();
        };
        let work = move || {
            // Whoever changed it, perhaps the person meanwhile: nothing is lost.
            let aside: Vec<_> = watch
                .changed()
                .into_iter()
                .enumerate()
                .map(|(i, path)| {
                    let name = format!("protected-{}-{i}", self.call_id);
                    let kept = keep_aside(&self.artifacts, &name, &path);
                    (path, kept)
                })
                .collect();
            let change = |change: sandbox::Change| Change {
                undone: change.undone.is_ok(),
                aside: aside
                    .iter()
                    .find(|(path, _)| *path == change.path)
                    .and_then(|(_, kept)| kept.clone()),
                path: change.path,
            };
            watch.undo().into_iter().map(change).collect()
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_default()
    }

    #[cfg(not(unix))]
    async fn put_back(self) -> Vec<Change> {
        Vec::new()
    }
}

#[cfg(unix)]
fn keep_aside(artifacts: &Artifacts, name: &str, path: &Path) -> Option<PathBuf> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    if !meta.is_file() || meta.len() > MAX_ASIDE {
        return None;
    }
    artifacts.keep(name, &std::fs::read(path).ok()?).ok()
}

impl Verdict {
    /// Adds it to the data of a result.
    pub fn tell(&self, data: &mut Value) {
        if let Some(denial) = &self.denied {
            let what = match &denial.what {
                Subject::Path(path) => path.display().to_string(),
                Subject::Host(name) | Subject::Other(name) => name.clone(),
            };
            data["denied"] = json!({"what": what, "hint": denial.hint});
        }
        if !self.changes.is_empty() {
            let one = |change: &Change| {
                let mut one =
                    json!({"path": change.path.display().to_string(), "undone": change.undone});
                if let Some(aside) = &change.aside {
                    one["kept"] = aside.display().to_string().into();
                }
                one
            };
            data["protected"] = self.changes.iter().map(one).collect();
        }
    }

    /// The same as lines, for a log.
    pub fn lines(&self) -> String {
        let mut data = json!({});
        self.tell(&mut data);
        lines(&data).map(|line| format!("{line}\n")).collect()
    }
}

/// What the model reads of `Verdict::tell`.
pub fn lines(data: &Value) -> impl Iterator<Item = String> {
    let changes = data["protected"].as_array().map(|c| changes(c));
    let hint = data["denied"]["hint"].as_str();
    let denied = hint.map(|hint| format!("[sandbox: {hint}]"));
    changes.into_iter().chain(denied)
}

fn changes(changes: &[Value]) -> String {
    let told = changes.iter().take(MAX_TOLD).map(|change| {
        let path = change["path"].as_str().unwrap_or_default();
        match (change["undone"] == true, change["kept"].as_str()) {
            (true, Some(kept)) => format!("{path} was put back (as it was changed: {kept})"),
            (true, None) => format!("{path} was put back"),
            (false, _) => format!("{path} was changed and could not be put back"),
        }
    });
    let mut told: Vec<String> = told.collect();
    if changes.len() > MAX_TOLD {
        told.push(format!("and {} more", changes.len() - MAX_TOLD));
    }
    format!("[sandbox: protected from changes: {}]", told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_each() {
        let check = |data: Value, expect: &[&str]| {
            assert_eq!(lines(&data).collect::<Vec<_>>(), expect, "{data}");
        };
        check(json!({}), &[]);
        check(
            json!({"denied": {"what": "/etc/x", "hint": "no"}, "protected": [
                {"path": "/r/a", "undone": true},
                {"path": "/r/b", "undone": true, "kept": "/k/b"},
                {"path": "/r/c", "undone": false},
            ]}),
            &[
                "[sandbox: protected from changes: /r/a was put back, /r/b was put back (as it was changed: /k/b), /r/c was changed and could not be put back]",
                "[sandbox: no]",
            ],
        );
        let many: Vec<Value> = (0..MAX_TOLD + 2)
            .map(|_| json!({"path": "/r/a", "undone": true}))
            .collect();
        let line = lines(&json!({ "protected": many })).next().unwrap();
        assert!(line.ends_with("and 2 more]"), "{line}");
    }
}
