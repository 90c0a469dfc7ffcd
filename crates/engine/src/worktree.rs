//! A git worktree for a child that writes: made outside of the repository on a branch of its own, and afterwards a report
//! of what lies there and whether it merges. Nothing of it is taken over here.

use crate::tool::{Context, ToolError};
use ostler_host::{Command, Output, Stdio};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of what git says.
const MAX_OUTPUT: usize = 1 << 20;
/// How long one call of git may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Files that a report names.
const MAX_FILES: usize = 100;
/// Of a commit's first line.
const MAX_SUBJECT: usize = 72;

/// How often one is made before it is given up: another program may be at the list of trees, too.
const TRIES: usize = 3;

/// Held while the repository's list of trees is changed: git reads half-made ones of others and stops.
static LIST: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// What a child in a worktree has to know.
pub const PERSONA: &str = "\n\nYou work in a git worktree of your own, which begins at the last commit; others do not see your changes until they take them. Leave them in the files: they are committed for you at the end. Do not commit, switch branches or touch other worktrees.";

pub struct Worktree {
    /// Where the child works: the same place in the tree as its parent's root.
    pub root: PathBuf,
    top: PathBuf,
    branch: String,
    base: String,
    /// The repository's own tree.
    home_root: PathBuf,
}

impl Worktree {
    pub async fn add(cx: &Context, home: &Path) -> Result<Self, ToolError> {
        let at = cx.scope.root.clone();
        let asked = git(cx, &at, &["rev-parse", "--show-prefix", "HEAD"]).await;
        let asked = asked.map_err(|why| {
            let hint = "A worktree needs a git repository with at least one commit. Call it again without worktree.";
            ToolError::new("no_repository", format!("{hint} git says: {why}"))
        })?;
        let mut lines = asked.lines();
        let (prefix, base) = (lines.next().unwrap_or_default(), lines.next());
        let base = base.unwrap_or_default().to_owned();
        let id = uuid::Uuid::new_v4().simple().to_string();
        let id = id.get(..8).unwrap_or(&id);
        let branch = format!("ostler/{id}");
        let project = crate::store::project_name(&at);
        let top = home.join("worktrees").join(project).join(id);
        let failed = |why: String| {
            ToolError::new(
                "worktree_error",
                format!("No worktree could be made: {why}"),
            )
        };
        if let Some(parent) = top.parent() {
            ostler_host::private_dir(parent).map_err(|e| failed(e.to_string()))?;
        }
        let path = top.display().to_string();
        let args = ["worktree", "add", "--quiet", "-b", &branch, &path, &base];
        let mut made = Ok(String::new());
        for _ in 0..TRIES {
            let _alone = LIST.lock().await;
            made = git(cx, &at, &args).await;
            if made.is_ok() {
                break;
            }
            // A disk that fills up on the way leaves half a tree and a branch.
            remove(cx, &at, &top, &branch).await;
        }
        made.map_err(failed)?;
        let top = top.canonicalize().unwrap_or(top);
        Ok(Self {
            root: top.join(prefix.trim_end_matches('/')),
            top,
            branch,
            base,
            home_root: at,
        })
    }

    /// Commits what lies there and reports it; a tree without changes is removed.
    pub async fn settle(self, cx: &Context, title: &str) -> Value {
        let report = self.report(cx, title).await;
        match report {
            Ok(None) => {
                let _alone = LIST.lock().await;
                remove(cx, &self.home_root, &self.top, &self.branch).await;
                json!({"unchanged": true})
            }
            Ok(Some(report)) => report,
            // What cannot be told is still there.
            Err(why) => json!({
                "path": self.top, "branch": self.branch, "error": why,
            }),
        }
    }

    async fn report(&self, cx: &Context, title: &str) -> Result<Option<Value>, String> {
        let top = &self.top;
        // Where its link to the repository is gone, git would take one further up for it.
        let found = git(cx, top, &["rev-parse", "--show-toplevel"]).await?;
        if Path::new(found.trim_end_matches('\n')) != top {
            return Err("it is no longer a worktree of the repository.".into());
        }
        git(cx, top, &["add", "--all"]).await?;
        let staged = git(cx, top, &["status", "--porcelain"]).await?;
        if !staged.trim().is_empty() {
            let subject: String = title.chars().take(MAX_SUBJECT).collect();
            let args = ["commit", "--quiet", "--no-verify", "-m", &subject];
            git(cx, top, &args).await?;
        }
        let tip = git(cx, top, &["rev-parse", "HEAD"]).await?;
        let tip = tip.trim();
        if tip == self.base {
            return Ok(None);
        }
        let changed = git(
            cx,
            top,
            &["diff", "--name-status", "--no-renames", &self.base, tip],
        )
        .await?;
        let files: Vec<&str> = changed.lines().collect();
        let mut report = json!({
            "path": self.top,
            "branch": self.branch,
            "files": files.iter().take(MAX_FILES).collect::<Vec<_>>(),
            "more_files": files.len().saturating_sub(MAX_FILES),
        });
        let names = ["diff", "--name-only", "--no-renames", "-z", &self.base, tip];
        let names = git(cx, top, &names).await?;
        let names: Vec<&str> = names.split('\0').filter(|n| !n.is_empty()).collect();
        let merges = self.merges(cx, tip, &names).await;
        if let (Some(report), Some(merges)) = (report.as_object_mut(), merges.as_object()) {
            report.extend(merges.clone());
        }
        Ok(Some(report))
    }

    /// Whether it merges with what the repository has now, and what lies uncommitted in its way.
    async fn merges(&self, cx: &Context, tip: &str, files: &[&str]) -> Value {
        let at = &self.home_root;
        let args = [
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "HEAD",
            tip,
        ];
        let (clean, conflicts) = match try_git(cx, at, &args).await {
            Ok((true, _)) => (Some(true), Vec::new()),
            Ok((false, said)) => {
                let names = said.stdout.lines().skip(1).take(MAX_FILES);
                let names: Vec<String> = names.map(str::to_owned).collect();
                // An old git does not know how to try.
                (Some(false).filter(|_| !names.is_empty()), names)
            }
            Err(_) => (None, Vec::new()),
        };
        let status = ["status", "--porcelain", "-z", "--no-renames"];
        let dirty = git(cx, at, &[&status[..], &["--untracked-files=all"]].concat()).await;
        let dirty = dirty.unwrap_or_default();
        let dirty: Vec<&str> = dirty.split('\0').filter_map(|name| name.get(3..)).collect();
        let changed = files.iter().copied();
        let in_the_way: Vec<&str> = changed
            .filter(|name| dirty.contains(name))
            .take(MAX_FILES)
            .collect();
        json!({
            "clean": clean,
            "conflicts": conflicts,
            "in_the_way": in_the_way,
        })
    }
}

async fn remove(cx: &Context, repository: &Path, top: &Path, branch: &str) {
    let path = top.display().to_string();
    for args in [
        &["worktree", "remove", "--force", &path][..],
        &["branch", "-D", "--quiet", branch],
    ] {
        // What cannot be removed is in nobody's way.
        let _ = git(cx, repository, args).await;
    }
}

/// The report in words.
pub fn said(report: &Value) -> String {
    let text = |key: &str| report[key].as_str().unwrap_or_default();
    let list = |key: &str| -> Vec<String> {
        let items = report[key].as_array().map(Vec::as_slice);
        let items = items.unwrap_or_default().iter().filter_map(Value::as_str);
        items.map(|item| item.replace('\t', " ")).collect()
    };
    let (path, branch) = (text("path"), text("branch"));
    if report["unchanged"] == true {
        return "\n[It changed no file; its worktree is removed.]".into();
    }
    if let Some(why) = report["error"].as_str() {
        return format!("\n[Its worktree {path} (branch {branch}) could not be looked at: {why}]");
    }
    let mut out = format!("\n[Its changes are committed on the branch {branch}, in {path}:");
    for file in list("files") {
        out.push_str(&format!("\n  {file}"));
    }
    if let Some(more @ 1..) = report["more_files"].as_u64() {
        out.push_str(&format!("\n  and {more} more"));
    }
    out.push('\n');
    out.push_str(&match report["clean"].as_bool() {
        Some(true) => "It merges cleanly into HEAD.".to_owned(),
        Some(false) => format!(
            "It conflicts with HEAD in: {}.",
            list("conflicts").join(", ")
        ),
        None => "Whether it merges could not be tried.".to_owned(),
    });
    let in_the_way = list("in_the_way");
    if !in_the_way.is_empty() {
        let names = in_the_way.join(", ");
        out.push_str(&format!(" Uncommitted changes are in the way: {names}."));
    }
    out.push_str(&format!(
        " Look: git diff HEAD...{branch}. Take: git merge {branch}. Drop: git worktree remove --force {path} && git branch -D {branch}.]"
    ));
    out
}

struct Said {
    stdout: String,
    stderr: String,
}

async fn git(cx: &Context, at: &Path, args: &[&str]) -> Result<String, String> {
    match try_git(cx, at, args).await? {
        (true, said) => Ok(said.stdout),
        (false, said) => {
            let lines: Vec<&str> = said.stderr.lines().collect();
            Err(lines.join(" ").trim().to_owned())
        }
    }
}

/// Whether it went well, and what it said. It runs no hook and asks nobody.
async fn try_git(cx: &Context, at: &Path, args: &[&str]) -> Result<(bool, Said), String> {
    let quiet = [
        "git",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.quotePath=false",
        "-c",
        "commit.gpgSign=false",
        "-c",
        "user.name=Ostler",
        "-c",
        "user.email=ostler@localhost",
    ];
    let command = Command {
        argv: quiet.iter().chain(args).map(OsString::from).collect(),
        cwd: at.to_owned(),
        env: cx.settings.env.clone(),
        stdio: Stdio::Pipes,
        sandbox: None,
    };
    let mut process = cx.host.spawn(command).await.map_err(|e| e.to_string())?;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let running = async {
        loop {
            match process.next().await {
                Output::Stdout(bytes) => keep(&mut out, &bytes),
                Output::Stderr(bytes) => keep(&mut err, &bytes),
                Output::Exited(exit) => break exit,
            }
        }
    };
    let exit = tokio::time::timeout(PATIENCE, running).await;
    let exit = exit.map_err(|_| "git did not end in time".to_owned())?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let said = Said {
        stdout: text(out),
        stderr: text(err),
    };
    Ok((exit.success(), said))
}

fn keep(all: &mut Vec<u8>, bytes: &[u8]) {
    let room = MAX_OUTPUT.saturating_sub(all.len());
    all.extend(bytes.iter().take(room));
}
