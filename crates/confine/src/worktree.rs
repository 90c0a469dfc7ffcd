//! A git worktree for a child that writes: made outside of the repository on a branch of its own, and afterwards a report
//! of what lies there and whether it merges. Nothing of it is taken over here. How git runs is in `git`.

mod git;

use crate::{CallSandbox, CommandPlace};
use git::{Call, Git};
use ostler_host::checkpoint::Repository;
use ostler_host::read_small;
use ostler_tools::tool::ToolError;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Files that a report names.
const MAX_FILES: usize = 100;
/// Of a commit's first line.
const MAX_SUBJECT: usize = 72;
/// Bytes of the file that links a tree to its repository.
const MAX_LINK: u64 = 16 << 10;

/// How often one is made before it is given up: another program may be at the list of trees, too.
const TRIES: usize = 3;

/// The folder of branches below `refs/heads`.
const BRANCHES: &str = "ostler";

/// Held while the repository's list of trees is changed: git reads half-made ones of others and stops.
static LIST: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// What a child in a worktree has to know.
pub const PERSONA: &str = "\n\nYou work in a git worktree of your own, which begins at the last commit; others do not see your changes until they take them. Leave them in the files: they are committed for you at the end. Do not commit, switch branches or touch other worktrees.";

pub struct Worktree {
    /// Where the child works: the same place in the tree as its parent's root.
    pub root: PathBuf,
    /// Its tree and its git folder, which lies in that of the repository.
    own: Repository,
    /// The file that links one to the other, as git made it.
    link: Vec<u8>,
    branch: String,
    base: String,
    /// The repository's own tree.
    home: Repository,
}

impl Worktree {
    pub async fn add(sandbox: &CallSandbox, home: &Path) -> Result<Self, ToolError> {
        if sandbox.settings.place != CommandPlace::Here {
            let why = "Worktrees work on this machine alone, and the project lies at another place. Call it again without worktree.";
            return Err(ToolError::new("no_repository", why));
        }
        let at = sandbox.scope.root.clone();
        let none = |why: &str| {
            let hint = "A worktree needs a git repository with at least one commit. Call it again without worktree.";
            ToolError::new("no_repository", format!("{hint} git says: {why}"))
        };
        let repository = Repository::around(&at);
        let repository = repository.ok_or_else(|| none("there is no repository here."))?;
        let folder = home
            .join("worktrees")
            .join(ostler_store::sessions::project_name(&at));
        let git = Git::new(sandbox, folder.clone());
        let base = git.run(read(
            &repository,
            &["rev-parse", "--verify", "HEAD^{commit}"],
        ));
        let base = base.await.map_err(|why| none(&why))?;
        let base = base.trim().to_owned();
        let id = uuid::Uuid::new_v4().simple().to_string();
        let id = id.get(..8).unwrap_or(&id);
        let branch = format!("{BRANCHES}/{id}");
        let top = folder.join(id);
        let failed = |why: String| {
            ToolError::new(
                "worktree_error",
                format!("No worktree could be made: {why}"),
            )
        };
        ostler_host::private_dir(&folder).map_err(|e| failed(e.to_string()))?;
        let path = top.display().to_string();
        let args = ["worktree", "add", "--quiet", "-b", &branch, &path, &base];
        let mut made = Ok(String::new());
        for _ in 0..TRIES {
            let _alone = LIST.lock().await;
            let writable = [repository.common.clone(), folder.clone()];
            made = git.run(write(&repository, &args, &writable)).await;
            if made.is_ok() {
                break;
            }
            // A disk that fills up on the way leaves half a tree and a branch.
            remove(&git, &repository, &top, &branch).await;
        }
        made.map_err(failed)?;
        ostler_host::tighten(&top).map_err(|e| failed(e.to_string()))?;
        let top = top.canonicalize().unwrap_or(top);
        let own = Repository::around(&top).filter(|own| own.top == top);
        let own = own.ok_or_else(|| failed("git left no link to the repository.".into()))?;
        let below = at.strip_prefix(&repository.top).unwrap_or(Path::new(""));
        Ok(Self {
            root: top.join(below),
            link: link_of(&top).unwrap_or_default(),
            // What the tree says of the rest is not asked again.
            own: Repository {
                common: repository.common.clone(),
                ..own
            },
            branch,
            base,
            home: repository,
        })
    }

    /// Commits what lies there and reports it; a tree without changes is removed.
    pub async fn settle(self, sandbox: &CallSandbox, title: &str) -> Value {
        let folder = self.own.top.parent().unwrap_or(&self.own.top).to_owned();
        let git = Git::new(sandbox, folder);
        let report = self.report(&git, title).await;
        match report {
            Ok(None) => {
                let _alone = LIST.lock().await;
                remove(&git, &self.home, &self.own.top, &self.branch).await;
                json!({"unchanged": true})
            }
            Ok(Some(report)) => report,
            // What cannot be told is still there.
            Err(why) => json!({
                "path": self.own.top, "branch": self.branch, "error": why,
            }),
        }
    }

    async fn report(&self, git: &Git, title: &str) -> Result<Option<Value>, String> {
        // Where its link to the repository is gone, it is somebody else's tree.
        if link_of(&self.own.top).as_ref() != Some(&self.link) {
            return Err("it is no longer a worktree of the repository.".into());
        }
        let (tip, nested) = self.commit(git, title).await?;
        if tip == self.base && nested.is_empty() {
            return Ok(None);
        }
        let changed = |format: &'static [&'static str]| {
            let diff = ["diff-tree", "-r", "--no-renames"];
            let args = [&diff[..], format, &[&self.base, &tip]].concat();
            async move { git.run(read(&self.own, &args)).await }
        };
        let files = changed(&["--name-status"]).await?;
        let files: Vec<&str> = files.lines().collect();
        let mut report = json!({
            "path": self.own.top,
            "branch": self.branch,
            "files": files.iter().take(MAX_FILES).collect::<Vec<_>>(),
            "more_files": files.len().saturating_sub(MAX_FILES),
        });
        let names = changed(&["--name-only", "-z"]).await?;
        let names: Vec<&str> = names.split('\0').filter(|n| !n.is_empty()).collect();
        let merges = self.merges(git, &tip, &names).await;
        if let (Some(report), Some(merges)) = (report.as_object_mut(), merges.as_object()) {
            report.extend(merges.clone());
            if !nested.is_empty() {
                report.insert("left_out".into(), json!(nested));
            }
        }
        Ok(Some(report))
    }

    /// Commits all of the tree but repositories inside of it: a commit that names one makes git look into it later, and run
    /// what it says there. The tip, and those repositories.
    async fn commit(&self, git: &Git, title: &str) -> Result<(String, Vec<String>), String> {
        let own = &self.own;
        // Contents may go through a filter of the person's, such as that of large files.
        let content = [
            own.common.join("objects"),
            own.dir.clone(),
            own.common.join("lfs"),
        ];
        let content: Vec<PathBuf> = content.into_iter().filter(|path| path.exists()).collect();
        let list = ["ls-files", "-z", "--others", "--modified", "--deleted"];
        let list = [&list[..], &["--exclude-standard"]].concat();
        let names = git.print(read(own, &list)).await?;
        let names = names.split(|byte| *byte == 0).filter(|n| !n.is_empty());
        let (nested, names): (Vec<&[u8]>, Vec<&[u8]>) = names.partition(|n| n.ends_with(b"/"));
        if !names.is_empty() {
            let index = ["update-index", "-z", "--add", "--remove", "--replace"];
            let index = [&index[..], &["--stdin"]].concat();
            let input = &[&names.join(&0)[..], b"\0"].concat();
            let call = write(own, &index, &content);
            git.run(Call { input, ..call }).await?;
        }
        let tree = git.run(write(own, &["write-tree"], &content)).await?;
        let asked = git.run(read(own, &["rev-parse", "HEAD^{commit}", "HEAD^{tree}"]));
        let asked = asked.await?;
        let (tip, before) = asked.trim().split_once('\n').unwrap_or((asked.trim(), ""));
        let nested = nested.iter().take(MAX_FILES);
        let nested = nested.map(|n| String::from_utf8_lossy(n).trim_end_matches('/').to_owned());
        let nested: Vec<String> = nested.collect();
        if tree.trim() == before {
            return Ok((tip.to_owned(), nested));
        }
        let subject: String = title.chars().take(MAX_SUBJECT).collect();
        let args = ["commit-tree", tree.trim(), "-p", tip, "-m", &subject];
        let made = git.run(write(own, &args, &content)).await?;
        let made = made.trim().to_owned();
        self.move_branch(git, &made).await?;
        Ok((made, nested))
    }

    async fn move_branch(&self, git: &Git, tip: &str) -> Result<(), String> {
        let Repository { dir, common, .. } = &self.own;
        let (refs, log) = (
            common.join("refs/heads").join(BRANCHES),
            common.join("logs/refs/heads").join(BRANCHES),
        );
        // Git removes a folder whose branches it has packed.
        if refs.parent().is_some_and(Path::exists) {
            fs::create_dir_all(&refs).map_err(|e| e.to_string())?;
        }
        let all = [refs, log, dir.clone(), common.join("reftable")];
        let writable: Vec<PathBuf> = all.into_iter().filter(|path| path.exists()).collect();
        let name = format!("refs/heads/{}", self.branch);
        let args = ["update-ref", "-m", "ostler: commit", &name, tip];
        let moved = git.run(write(&self.own, &args, &writable)).await;
        moved.map(drop)
    }

    /// Whether it merges with what the repository has now, and what lies uncommitted in its way.
    async fn merges(&self, git: &Git, tip: &str, files: &[&str]) -> Value {
        let args = [
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "HEAD",
            tip,
        ];
        let objects = [self.home.common.join("objects")];
        let call = write(&self.home, &args, &objects);
        let (clean, conflicts) = match git.attempt(call).await {
            Ok(said) if said.success => (Some(true), Vec::new()),
            Ok(said) => {
                let text = String::from_utf8_lossy(&said.stdout).into_owned();
                let names = text.lines().skip(1).take(MAX_FILES);
                let names: Vec<String> = names.map(str::to_owned).collect();
                // An old git does not know how to try.
                (Some(false).filter(|_| !names.is_empty()), names)
            }
            Err(_) => (None, Vec::new()),
        };
        let status = ["status", "--porcelain", "-z", "--no-renames"];
        let more = ["--untracked-files=all", "--ignore-submodules=all"];
        let status = [&status[..], &more].concat();
        let dirty = git.run(read(&self.home, &status)).await;
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

/// A call that changes nothing.
fn read<'a>(repository: &'a Repository, args: &'a [&'a str]) -> Call<'a> {
    write(repository, args, &[])
}

/// A call that may change these paths and what lies below them.
fn write<'a>(repository: &'a Repository, args: &'a [&'a str], writable: &'a [PathBuf]) -> Call<'a> {
    Call {
        repository,
        args,
        writable,
        input: &[],
    }
}

fn link_of(top: &Path) -> Option<Vec<u8>> {
    read_small(&top.join(".git"), MAX_LINK)
}

async fn remove(git: &Git, repository: &Repository, top: &Path, branch: &str) {
    let path = top.display().to_string();
    let folder = top.parent().unwrap_or(top).to_owned();
    let name = format!("refs/heads/{branch}");
    for args in [
        &["worktree", "remove", "--force", &path][..],
        &["update-ref", "-d", &name],
    ] {
        let writable = [repository.common.clone(), folder.clone()];
        // What cannot be removed is in nobody's way.
        let _ = git.run(write(repository, args, &writable)).await;
    }
}
