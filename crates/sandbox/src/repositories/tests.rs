//! What is found in repositories after acts of a command, as paths below a project, and that it is gone once mended.

use super::*;
use rustix::fs::{Mode, OFlags};

fn put(top: &Path, name: &str, text: &str) {
    let path = top.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(super) fn repository(top: &Path, name: &str, config: &str) {
    put(top, &format!("{name}/HEAD"), "ref: refs/heads/main\n");
    put(top, &format!("{name}/config"), config);
    put(
        top,
        &format!("{name}/hooks/pre-commit.sample"),
        "#!/bin/sh\n",
    );
    for folder in ["objects", "refs/heads"] {
        fs::create_dir_all(top.join(name).join(folder)).unwrap();
    }
}

const PLAIN: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
pub(super) const EVIL: &str = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ./evil\n";

/// What is found after an act, as paths below the project; afterwards it is mended and nothing more is found.
fn after(act: impl FnOnce(&Path)) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    repository(&top, ".git", PLAIN);
    repository(&top, ".git/modules/lib", PLAIN);
    put(&top, "lib/.git", "gitdir: ../.git/modules/lib\n");
    repository(&top, "old/.git", EVIL);
    put(&top, "src/deep/file", "");
    let mut all = Repositories::new(&top);
    let later = SystemTime::now() + Duration::from_secs(60);
    assert_eq!(all.check(later), []);
    // Whatever is done now is the command's.
    let begin = SystemTime::UNIX_EPOCH;
    act(&top);
    let found = all.check(begin);
    for one in &found {
        all.mend(one).unwrap();
    }
    assert_eq!(all.check(begin), [], "mended");
    let name = |one: &Tampered| one.path.strip_prefix(&top).unwrap().display().to_string();
    found.iter().map(name).collect()
}

#[test]
fn whoever_finishes_a_repository_answers_for_what_was_in_it() {
    for (last, is_root) in [
        ("HEAD", false),
        ("objects", false),
        ("refs", false),
        ("HEAD", true),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let name = if is_root { "." } else { "c" };
        repository(&top, name, EVIL);
        let folder = top.join(name);
        put(&folder, "hooks/post-commit", "evil");
        let part = folder.join(last);
        let kept = dir.path().with_extension("kept");
        fs::rename(&part, &kept).unwrap();
        // All of it is older than the command that adds the last part.
        let mut all = Repositories::new(&top);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(all.check(later), []);
        assert_eq!(all.check(later), [], "as the person left it");
        fs::rename(&kept, &part).unwrap();
        let found = all.check(later);
        let paths: Vec<&Path> = found.iter().map(|one| one.path.as_path()).collect();
        let (config, hook) = (folder.join("config"), folder.join("hooks/post-commit"));
        let expect: [&Path; 2] = [&config, &hook];
        let real = paths.iter().map(|path| fs::canonicalize(path).unwrap());
        let wanted = expect.iter().map(|path| fs::canonicalize(path).unwrap());
        assert_eq!(
            real.collect::<Vec<_>>(),
            wanted.collect::<Vec<_>>(),
            "{last}"
        );
        for one in &found {
            all.mend(one).unwrap();
        }
        assert_eq!(all.check(SystemTime::UNIX_EPOCH), [], "mended: {last}");
    }
}

#[test]
fn repositories_that_a_command_makes_run_nothing() {
    let check = |act: &dyn Fn(&Path), expect: &[&str]| assert_eq!(after(act), expect);
    check(&|_| {}, &[]);
    check(&|top| repository(top, "new/.git", PLAIN), &[]);
    check(&|top| repository(top, "bare.git", PLAIN), &[]);
    check(
        &|top| repository(top, "new/.git", EVIL),
        &["new/.git/config"],
    );
    check(
        &|top| repository(top, "src/deep/.git", EVIL),
        &["src/deep/.git/config"],
    );
    // Without a working tree: whoever goes there and asks git runs it.
    check(
        &|top| repository(top, "docs/fixture", EVIL),
        &["docs/fixture/config"],
    );
    check(&|top| repository(top, ".", EVIL), &["config"]);
    // No repository belongs there, but a link of the project may lead to one.
    for place in [
        "info/r",
        "logs/r",
        "refs/r",
        "objects/r",
        "objects/ab",
        "objects/pack/r",
        "lfs/a/b/r",
        "rr-cache/r",
    ] {
        let (plain, linked) = (format!(".git/{place}"), format!(".git/{place}/.git"));
        for place in [plain, linked] {
            let config = format!("{place}/config");
            check(&|top| repository(top, &place, EVIL), &[&config]);
        }
    }
    check(
        &|top| put(top, "old/.git/hooks/pre-commit", "evil"),
        &["old/.git/hooks/pre-commit"],
    );
    check(
        &|top| put(top, "old/.git/config", &format!("{EVIL}\teditor = x\n")),
        &["old/.git/config"],
    );
    check(
        &|top| put(top, ".git/modules/lib/config", EVIL),
        &[".git/modules/lib/config"],
    );
    check(
        &|top| put(top, ".git/modules/lib/hooks/post-checkout", ""),
        &[".git/modules/lib/hooks/post-checkout"],
    );
    for name in ["remotes/origin", "branches/origin"] {
        let path = format!("old/.git/{name}");
        check(&|top| put(top, &path, "URL: ext::evil\n"), &[&path]);
    }
    check(
        &|top| put(top, "old/.git/commondir", "../../evil\n"),
        &["old/.git/commondir"],
    );
    check(
        &|top| put(top, "old/.git/config.worktree", EVIL),
        &["old/.git/config.worktree"],
    );
    // As git finds the rest, by links and by `commondir`, in one folder or in two.
    for (name, moved) in [("objects", "o"), ("refs", "r")] {
        check(
            &|top| {
                repository(top, "b", EVIL);
                fs::rename(top.join("b").join(name), top.join(moved)).unwrap();
                std::os::unix::fs::symlink(format!("../{moved}"), top.join("b").join(name))
                    .unwrap();
            },
            &["b/config", &format!("b/{name}")],
        );
    }
    check(
        &|top| {
            repository(top, "c", EVIL);
            fs::remove_file(top.join("c/HEAD")).unwrap();
            put(top, "h/HEAD", "ref: refs/heads/main\n");
            put(top, "h/commondir", "../c\n");
        },
        &["h/commondir", "c/config"],
    );
    check(
        &|top| {
            repository(top, "c", EVIL);
            fs::remove_file(top.join("c/HEAD")).unwrap();
            put(top, "c/worktrees/h/HEAD", "ref: refs/heads/main\n");
            put(top, "c/worktrees/h/commondir", "../..\n");
        },
        // It shares a repository whose settings are judged.
        &["c/config"],
    );
    check(
        &|top| {
            repository(top, ".git/modules/lfs", EVIL);
            put(top, "s/.git", "gitdir: ../.git/modules/lfs\n");
        },
        &[".git/modules/lfs/config"],
    );
    check(
        &|top| {
            repository(top, ".git/info/x", EVIL);
            put(top, "s/.git", "gitdir: ../.git/modules/../info/x\n");
        },
        // It is looked into wherever it lies.
        &[".git/info/x/config"],
    );
    check(
        &|top| {
            put(top, "plan/git-rebase-todo", "exec id\n");
            put(
                top,
                "old/.git/sequencer/opts",
                "[options]\n\tstrategy = ../x\n",
            );
            let link = top.join("old/.git/rebase-merge");
            std::os::unix::fs::symlink("../../plan", link).unwrap();
        },
        &["old/.git/rebase-merge", "old/.git/sequencer/opts"],
    );
    // No repository for git.
    check(
        &|top| {
            put(top, "rails/HEAD", "");
            put(top, "rails/config/x", "");
            put(top, "rails/hooks/x", "");
        },
        &[],
    );
    check(&|top| fs::remove_dir_all(top.join("old")).unwrap(), &[]);
    check(
        &|top| fs::rename(top.join("old"), top.join("moved")).unwrap(),
        &["moved/.git/config"],
    );
}

#[test]
fn links_are_no_way_around() {
    use std::os::unix::fs::symlink;
    let check = |act: &dyn Fn(&Path), expect: &[&str]| assert_eq!(after(act), expect);
    check(
        &|top| {
            repository(top, "new/.git", PLAIN);
            fs::remove_file(top.join("new/.git/config")).unwrap();
            put(top, "elsewhere", EVIL);
            symlink("../../elsewhere", top.join("new/.git/config")).unwrap();
        },
        &["new/.git/config"],
    );
    check(
        &|top| {
            repository(top, "new/.git", PLAIN);
            fs::remove_dir_all(top.join("new/.git/hooks")).unwrap();
            put(top, "elsewhere/pre-commit", "evil");
            symlink("../../elsewhere", top.join("new/.git/hooks")).unwrap();
        },
        &["new/.git/hooks"],
    );
    check(
        &|top| {
            repository(top, "hidden", EVIL);
            fs::create_dir(top.join("new")).unwrap();
            symlink("../hidden", top.join("new/.git")).unwrap();
        },
        &["hidden/config", "new/.git"],
    );
    check(
        &|top| {
            repository(top, "odd", EVIL);
            fs::remove_file(top.join("odd/HEAD")).unwrap();
            put(top, "new/.git", "gitdir: /tmp/x\n");
        },
        &["new/.git", "odd/config"],
    );
}

/// The git folder of a linked worktree, which lies outside of the project.
#[test]
fn a_git_folder_elsewhere_is_looked_through() {
    let check = |act: &dyn Fn(&Path), expect: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("bare");
        repository(&top, ".", PLAIN);
        repository(&top, "modules/lib", PLAIN);
        for name in ["mine", "other"] {
            put(&top, &format!("worktrees/{name}/HEAD"), "ref: x\n");
            put(&top, &format!("worktrees/{name}/commondir"), "../..\n");
            put(&top, &format!("worktrees/{name}/gitdir"), "/w/.git\n");
        }
        let mut all = Repositories::in_git_folder(&top);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(all.check(later), []);
        act(&top);
        let found = all.check(SystemTime::UNIX_EPOCH);
        for one in &found {
            all.mend(one).unwrap();
        }
        assert_eq!(all.check(SystemTime::UNIX_EPOCH), [], "mended");
        let name = |one: &Tampered| one.path.strip_prefix(&top).unwrap().display().to_string();
        assert_eq!(found.iter().map(name).collect::<Vec<_>>(), expect);
    };
    check(&|_| {}, &[]);
    check(
        &|top| put(top, "modules/lib/config", EVIL),
        &["modules/lib/config"],
    );
    check(
        &|top| put(top, "modules/lib/hooks/pre-commit", ""),
        &["modules/lib/hooks/pre-commit"],
    );
    check(
        &|top| repository(top, "modules/new", EVIL),
        &["modules/new/config"],
    );
    check(
        &|top| put(top, "worktrees/other/commondir", "/evil\n"),
        &["worktrees/other/commondir"],
    );
    check(
        &|top| put(top, "worktrees/other/gitdir", "/evil\n"),
        &["worktrees/other/gitdir"],
    );
    check(
        &|top| put(top, "worktrees/other/config.worktree", EVIL),
        &["worktrees/other/config.worktree"],
    );
    check(
        &|top| {
            put(
                top,
                "worktrees/other/rebase-merge/git-rebase-todo",
                "pick 1 a\nexec id\n",
            )
        },
        &["worktrees/other/rebase-merge/git-rebase-todo"],
    );
    check(
        &|top| {
            put(
                top,
                "worktrees/other/rebase-merge/git-rebase-todo",
                "pick 1 a\n",
            )
        },
        &[],
    );
    // What `git worktree add` makes.
    check(
        &|top| {
            put(top, "worktrees/new/HEAD", "ref: x\n");
            put(top, "worktrees/new/commondir", "../..\n");
            put(top, "worktrees/new/gitdir", "/new/.git\n");
        },
        &[],
    );
    check(&|top| put(top, "objects/x/HEAD", "x"), &[]);
}

/// The person's own git may bring the `HEAD`, from a commit that a command made.
#[test]
fn a_repository_without_a_head_is_judged() {
    let found = after(|top: &Path| {
        repository(top, "docs", EVIL);
        fs::remove_file(top.join("docs/HEAD")).unwrap();
    });
    assert_eq!(found, ["docs/config"]);
}

/// A session in a git folder, or with one added.
#[test]
fn a_git_folder_as_the_root_is_looked_through() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap().join(DOT_GIT);
    repository(&top, ".", PLAIN);
    let mut all = Repositories::new(&top);
    let later = SystemTime::now() + Duration::from_secs(60);
    assert_eq!(all.check(later), []);
    std::os::unix::fs::symlink("/etc/passwd", top.join("COMMIT_EDITMSG")).unwrap();
    repository(&top, "modules/new", EVIL);
    let found = all.check(SystemTime::UNIX_EPOCH);
    let name = |one: &Tampered| one.path.strip_prefix(&top).unwrap().display().to_string();
    let mut found: Vec<String> = found.iter().map(name).collect();
    found.sort();
    assert_eq!(found, ["COMMIT_EDITMSG", "modules/new/config"]);
}

#[test]
fn what_the_person_does_between_commands_stays() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let mut all = Repositories::new(&top);
    repository(&top, "theirs/.git", EVIL);
    let later = SystemTime::now() + Duration::from_secs(60);
    assert_eq!(all.check(later), []);
    assert_eq!(all.check(SystemTime::UNIX_EPOCH), []);
    // Settings that lay elsewhere before do not become theirs by being moved.
    repository(&top, "x/prepared", PLAIN);
    fs::remove_file(top.join("x/prepared/HEAD")).unwrap();
    put(&top, "x/prepared/config", EVIL);
    let between = changed(&top.join("x/prepared/config")).unwrap() + Duration::from_nanos(1);
    while fs::rename(top.join("x/prepared"), top.join("x/.git")).is_ok() {
        if changed(&top.join("x/.git")).unwrap() > between {
            break;
        }
        fs::rename(top.join("x/.git"), top.join("x/prepared")).unwrap();
    }
    assert_eq!(all.check(between).len(), 1);
}

/// However many folders there are, what lies near the top is found before all of them are looked at.
#[test]
fn upper_folders_are_looked_at_first() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let mut all = Repositories::new(&top);
    repository(&top, "sub/.git", EVIL);
    let (found, has_more) = all.check_upper(SystemTime::UNIX_EPOCH);
    assert!(!has_more && found.len() == 1, "{found:?}");
    for number in 0..MAX_UPPER {
        fs::create_dir_all(top.join(format!("many/{number}"))).unwrap();
    }
    repository(&top, "many/0/1/2/.git", EVIL);
    let (found, has_more) = all.check_upper(SystemTime::UNIX_EPOCH);
    assert!(has_more && found.len() == 1, "{found:?}");
    assert_eq!(all.check(SystemTime::UNIX_EPOCH).len(), 2);
}

/// A folder that is too deep for a path hides nothing that lies above, and is named.
#[test]
fn a_deep_folder_hides_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let mut all = Repositories::new(&top);
    repository(&top, "sub/.git", EVIL);
    let mut at = rustix::fs::open(&top, OFlags::DIRECTORY, Mode::empty()).unwrap();
    let name = "d".repeat(40);
    for _ in 0..150 {
        rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let found = all.check(SystemTime::UNIX_EPOCH);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].path, top.join("sub/.git/config"));
    assert_eq!(all.missed().len(), 1, "{:?}", all.missed());
    assert!(all.missed().iter().all(|path| path.starts_with(&top)));
    // One that is deep and can be reached is looked at like any other.
    let deep = "e/".repeat(600);
    repository(&top, &format!("{deep}.git"), EVIL);
    let found = all.check(SystemTime::UNIX_EPOCH);
    assert_eq!(found.len(), 2, "{found:?}");
}

/// What a command shut is opened; where that fails it is named.
#[test]
fn what_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let mut all = Repositories::new(&top);
    for number in 0..3 {
        fs::create_dir(top.join(format!("d{number}"))).unwrap();
    }
    assert_eq!(all.check(SystemTime::UNIX_EPOCH), []);
    assert!(all.missed().is_empty());
    let stamp = stamp(&top).unwrap().unwrap();
    let gone = walk::read(&top.join("none"), stamp, Area::Tree, &top);
    assert!(!gone.whole);
}

#[test]
fn mending_does_not_leave_the_project() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    put(&top, "out/.git/config", "theirs");
    fs::create_dir(top.join("in")).unwrap();
    let all = Repositories::new(&top.join("in"));
    std::os::unix::fs::symlink(top.join("out"), top.join("in/new")).unwrap();
    let tampered = Tampered {
        path: top.join("in/new/.git/config"),
        instead: Instead::Text(Vec::new()),
        refused: Vec::new(),
    };
    assert!(all.mend(&tampered).is_err());
    let kept = fs::read_to_string(top.join("out/.git/config")).unwrap();
    assert_eq!(kept, "theirs");
}
