//! The git folders of a project: what no command may change in them, because git runs what it names, and what git writes
//! outside of the project. Reads the disk, changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

/// Of a git folder, because git runs what they name, or looks for that where they point. The last two are an older form of
/// settings.
const PROTECTED: [&str; 6] = [
    "hooks",
    SETTINGS,
    "config.worktree",
    "commondir",
    "remotes",
    "branches",
];
/// Commands change a copy of it, and what is harmless of that is taken over.
const SETTINGS: &str = "config";
/// What a rebase or another sequence has still to do: git runs programs that it names.
const PLANS: [&str; 4] = [
    "rebase-merge/git-rebase-todo",
    "rebase-merge/strategy",
    "sequencer/todo",
    "sequencer/opts",
];
/// Folders that git makes in its own.
const PARTS: [&str; 14] = [
    "hooks",
    "objects",
    "refs",
    "logs",
    "info",
    "modules",
    "remotes",
    "branches",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "rr-cache",
    "lfs",
    WORKTREES,
];
/// In a git folder, the git folders of its linked worktrees.
const WORKTREES: &str = "worktrees";
/// Of the git folder of a linked worktree. Its other files are always there: covered, `git worktree remove` would fail.
const IN_WORKTREE: &str = "config.worktree";
/// Most linked worktrees that are looked at.
const MAX_WORKTREES: usize = 256;
/// Most bytes of a `.git` file and of those it leads to.
const MAX_POINTER: u64 = 16 << 10;

/// The git folder of the root, which a worktree has elsewhere.
#[derive(Debug, Default, PartialEq)]
pub struct Git {
    pub protect: Vec<PathBuf>,
    /// What commands change and what is compared afterwards.
    pub compared: Vec<PathBuf>,
    /// Settings of the repository.
    pub settings: Vec<PathBuf>,
    /// What git writes for a worktree outside of the root.
    pub writable: Vec<PathBuf>,
}

impl Git {
    /// Of the project, which comes first, and of other folders that commands may write in. What the repositories of those
    /// have elsewhere stays closed.
    pub fn of_all(roots: &[PathBuf]) -> Self {
        let Some((root, others)) = roots.split_first() else {
            return Self::default();
        };
        let mut git = Self::of(root);
        for other in others.iter().map(|root| Self::of(root)) {
            for (to, from) in [
                (&mut git.protect, other.protect),
                (&mut git.compared, other.compared),
                (&mut git.settings, other.settings),
            ] {
                to.extend(from);
                to.sort();
                to.dedup();
            }
        }
        git
    }

    /// Of a git folder that lies in the root, or is it.
    fn of_folder(folder: &Path) -> Self {
        Self {
            protect: in_git(folder),
            compared: PLANS.map(|plan| folder.join(plan)).to_vec(),
            settings: vec![folder.join(SETTINGS)],
            writable: Vec::new(),
        }
    }

    /// Nothing where there is none yet: `git init` is to work.
    pub fn of(root: &Path) -> Self {
        let dot = root.join(".git");
        if dot.is_dir() {
            return Self::of_folder(&dot);
        }
        let Some(pointed) = pointer(&dot, "gitdir:") else {
            return match is_git_folder(root) {
                true => Self::of_folder(root),
                false => Self::default(),
            };
        };
        let mut protect = vec![dot.clone()];
        // One path for each file: what is named twice would be put back twice.
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let folder = real(root.join(pointed));
        protect.extend(in_git(&folder));
        let Some(common) = pointer(&folder.join("commondir"), "") else {
            return Self {
                protect,
                ..Self::default()
            };
        };
        let common = real(folder.join(common));
        protect.extend(in_git(&common));
        protect.sort();
        protect.dedup();
        // Anybody can write a file that points somewhere; only a worktree's folder points back.
        let back = pointer(&folder.join("gitdir"), "");
        let back = back.map(|back| real(folder.join(back)));
        let is_ours = back == Some(real(dot)) && folder.ancestors().nth(2) == Some(&common);
        if !is_ours {
            return Self {
                protect,
                ..Self::default()
            };
        }
        Self {
            protect,
            // The main tree has a plan of its own in the common folder.
            compared: [&folder, &common]
                .into_iter()
                .flat_map(|folder| PLANS.map(|plan| folder.join(plan)))
                .collect(),
            settings: vec![common.join(SETTINGS)],
            writable: vec![common],
        }
    }
}

/// The git folder that a folder is a part of, without being a repository or a working tree itself: what git runs and trusts
/// there cannot be told from what a command may change.
pub fn enclosing(folder: &Path) -> Option<PathBuf> {
    let folder = ostler_host::real_path(folder);
    if is_git_folder(&folder) {
        return None;
    }
    for above in folder.ancestors() {
        // A working tree, which may lie in a repository that has none.
        if above.join(".git").symlink_metadata().is_ok() {
            return None;
        }
        let parent = above.parent()?;
        let name = above.file_name()?;
        let is_part = PARTS.iter().any(|part| name == *part);
        if is_git_folder(parent) && (is_part || parent.file_name() == Some(".git".as_ref())) {
            return Some(parent.to_owned());
        }
    }
    None
}

/// Whether git takes a folder for that of a repository or of a linked worktree.
fn is_git_folder(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).exists();
    let has_head = folder.join("HEAD").symlink_metadata().is_ok();
    has_head && (has("commondir") || (has("objects") && has("refs")))
}

fn in_git(folder: &Path) -> Vec<PathBuf> {
    let mut paths = PROTECTED.map(|name| folder.join(name)).to_vec();
    let entries = fs::read_dir(folder.join(WORKTREES));
    let trees = entries.into_iter().flatten().flatten();
    for tree in trees.map(|entry| entry.path()).take(MAX_WORKTREES) {
        paths.push(tree.join(IN_WORKTREE));
    }
    paths
}

/// The path in a small file of one line.
fn pointer(file: &Path, prefix: &str) -> Option<PathBuf> {
    fs::symlink_metadata(file).ok().filter(|m| m.is_file())?;
    let read = ostler_host::read_bounded(file, MAX_POINTER, &ostler_host::Border::none());
    let read = read.ok().filter(|read| !read.truncated)?;
    let text = String::from_utf8(read.bytes.into()).ok()?;
    let path = text.strip_prefix(prefix)?.trim();
    (!path.is_empty()).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The repository is the project then; in a part of it nothing could be told apart.
    #[test]
    fn a_git_folder_is_a_project_and_its_parts_are_none() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in ["p/.git", "p/.git/modules/m", "bare"] {
            for part in ["objects", "refs/heads", "hooks"] {
                fs::create_dir_all(top.join(folder).join(part)).unwrap();
            }
            fs::write(top.join(folder).join("HEAD"), "ref: refs/heads/x\n").unwrap();
        }
        fs::create_dir_all(top.join("bare/tree/hooks")).unwrap();
        fs::write(top.join("bare/tree/.git"), "gitdir: ../x\n").unwrap();
        fs::create_dir_all(top.join("p/.git/other")).unwrap();
        for folder in ["p/.git", "p/.git/modules/m", "bare"] {
            let git = Git::of(&top.join(folder));
            assert!(
                git.protect.contains(&top.join(folder).join("hooks")),
                "{folder}"
            );
            assert_eq!(git.settings, [top.join(folder).join("config")]);
            assert_eq!(enclosing(&top.join(folder)), None, "{folder}");
        }
        for (folder, expect) in [
            ("p/.git/hooks", "p/.git"),
            ("p/.git/refs/heads", "p/.git"),
            ("p/.git/other", "p/.git"),
            ("p/.git/modules", "p/.git"),
            ("p/.git/modules/m/hooks", "p/.git/modules/m"),
            ("bare/refs/heads", "bare"),
        ] {
            assert_eq!(
                enclosing(&top.join(folder)),
                Some(top.join(expect)),
                "{folder}"
            );
        }
        for folder in ["p", "bare/tree", "bare/tree/hooks", "."] {
            assert_eq!(enclosing(&top.join(folder)), None, "{folder}");
        }
    }

    #[test]
    fn the_git_folder_of_a_worktree_is_found_and_a_forged_one_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let put = |name: &str, text: &str| {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let shown = |paths: Vec<PathBuf>| -> Vec<String> {
            let real = paths
                .iter()
                .map(|p| p.canonicalize().unwrap_or_else(|_| p.clone()));
            real.map(|p| p.strip_prefix(&top).unwrap().display().to_string())
                .collect()
        };
        put("main/.git/config", "");
        put("main/.git/worktrees/w/commondir", "../..\n");
        let back = top.join("w/.git").display().to_string();
        put("main/.git/worktrees/w/gitdir", &back);
        let folder = top.join("main/.git/worktrees/w").display().to_string();
        put("w/.git", &format!("gitdir: {folder}\n"));
        put("forged/.git", &format!("gitdir: {folder}\n"));
        put("none/file", "");
        assert_eq!(
            shown(Git::of(&top.join("main")).protect),
            [
                "main/.git/hooks",
                "main/.git/config",
                "main/.git/config.worktree",
                "main/.git/commondir",
                "main/.git/remotes",
                "main/.git/branches",
                "main/.git/worktrees/w/config.worktree",
            ]
        );
        let git = Git::of(&top.join("w"));
        let real = |path: &PathBuf| {
            let folder = path.parent().unwrap().canonicalize().unwrap();
            folder.join(path.file_name().unwrap())
        };
        let protect: Vec<PathBuf> = git.protect.iter().map(real).collect();
        for name in ["config", "config.worktree", "worktrees/w/config.worktree"] {
            assert!(
                protect.contains(&top.join("main/.git").join(name)),
                "{name}"
            );
        }
        assert_eq!(shown(git.writable), ["main/.git"]);
        assert_eq!(Git::of(&top.join("forged")).writable, [] as [PathBuf; 0]);
        assert_eq!(Git::of(&top.join("none")), Git::default());
    }
}
