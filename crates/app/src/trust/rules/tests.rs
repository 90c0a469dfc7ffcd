//! Where a saved rule ends up, and what that does to trust.

use super::*;
use crate::boot;
use crate::flags::Global;
use ostler_config::paths::{Env, Platform};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A home and a project.
struct Desk {
    directory: TempDir,
    global: Global,
}

impl Desk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("project")).unwrap();
        Self {
            directory,
            global: Global::default(),
        }
    }

    fn project(self, text: &str) -> Self {
        fs::write(self.places().project_config(), text).unwrap();
        self
    }

    fn user(self, text: &str) -> Self {
        fs::create_dir_all(self.places().home).unwrap();
        fs::write(self.places().user_config(), text).unwrap();
        self
    }

    /// Trusts the project as it is.
    fn trusted(self) -> Self {
        let items = self.load().workspace.items;
        let record = Record::new(Answer::Trusted, String::new(), &items, Language::English);
        let path = self.places().trust();
        let root = self.places().root;
        Book::load(&path).set(&path, &root, Some(record)).unwrap();
        self
    }

    fn places(&self) -> Places {
        let base = self.directory.path().canonicalize().unwrap();
        let home = base.join("home").display().to_string();
        let env = Env::from([("HOME".to_owned(), home)]);
        let root = base.join("project");
        Places::find(&env, &root, None, Platform::Unix).unwrap()
    }

    fn load(&self) -> Loaded {
        let book = Book::load(&self.places().trust());
        let approval = match self.global.trust_workspace {
            true => Approval::ThisRun,
            false => Approval::Recorded(book.record(&self.places().root)),
        };
        boot::load(&self.global, (&Env::new(), &self.places()), approval).unwrap()
    }

    fn store(&self) -> Saved {
        Saved {
            files: ConfigFiles {
                global: self.global.clone(),
                env: Env::new(),
                places: self.places(),
                language: Language::English,
            },
            repository: Repository::judge(&self.load(), &self.places()),
        }
    }

    fn state(&self) -> State {
        self.load().workspace.state
    }

    fn allowed(&self) -> Vec<String> {
        self.load().config.permissions.allow
    }

    fn clean(&self, text: &str) -> String {
        let base = self.directory.path().canonicalize().unwrap();
        text.replace(&base.display().to_string(), "")
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_rule_goes_to_the_persons_own_file_or_where_they_choose() {
    const UNTRUSTED: &str = "[permissions]\nallow = ['Bash(sh:*)']\n";
    const TIGHTENING: &str = "[permissions]\ndeny = ['Bash(rm:*)']\n";
    for (make, before, after) in [
        (
            (|| Desk::new()) as fn() -> Desk,
            State::NotNeeded,
            Some(State::Trusted),
        ),
        (
            || Desk::new().project(TIGHTENING),
            State::NotNeeded,
            Some(State::Trusted),
        ),
        (
            || Desk::new().project(UNTRUSTED).trusted(),
            State::Trusted,
            Some(State::Trusted),
        ),
        (|| Desk::new().project(UNTRUSTED), State::Untrusted, None),
    ] {
        for keep in Keep::ALL {
            let desk = make();
            let store = desk.store();
            let (file, state) = match (keep, after) {
                (Keep::Person, _) => ("~/.ostler/projects/project-", before),
                (Keep::Repository, Some(after)) => ("ostler.toml", after),
                (Keep::Repository, None) => {
                    assert_eq!(store.place(keep), None);
                    assert!(store.save("Bash(make)", keep).is_err());
                    continue;
                }
            };
            let place = desk.clean(&store.place(keep).unwrap());
            assert!(place.starts_with(file), "{place}");
            let saved = desk.clean(&store.save("bash(make test*)", keep).unwrap());
            assert!(saved.starts_with(&file.replace('~', "/home")), "{saved}");
            assert_eq!(desk.state(), state, "{file}");
            let rule = "Bash(make test:*)".to_owned();
            assert!(desk.allowed().contains(&rule), "{:?}", desk.allowed());
            // A second time changes nothing, in whichever form.
            let again = store.save("Bash(make test *)", keep).unwrap();
            assert!(again.ends_with("(it was there already)"), "{again}");
            assert_eq!(desk.allowed().iter().filter(|r| **r == rule).count(), 1);
            assert_eq!(desk.state(), state, "{file}");
        }
    }
}

#[test]
fn the_persons_own_file_is_for_rules_of_one_project() {
    let desk = Desk::new();
    desk.store().save("Edit(./src/a.rs)", Keep::Person).unwrap();
    let path = desk.places().local_rules();
    assert!(read(&path).contains("Edit(./src/a.rs)"));
    if let Some(mode) = ostler_host::mode_of(&path) {
        assert_eq!(mode & 0o777, 0o600);
        let folder = path.parent().and_then(ostler_host::mode_of).unwrap();
        assert_eq!(folder & 0o777, 0o700);
    }
    // A project of the same name elsewhere does not get it.
    let mut elsewhere = desk.places();
    elsewhere.root = "/elsewhere/project".into();
    assert_ne!(elsewhere.local_rules(), path);
    // Other settings take no effect there, and that is said.
    let text = read(&path).replace(
        "[permissions]",
        "[agent]\nmax_steps = 7\n[permissions]\nmode = 'allow'",
    );
    fs::write(&path, text).unwrap();
    let loaded = desk.load();
    assert_eq!(loaded.config.permissions.mode, Default::default());
    assert_ne!(loaded.config.agent.max_steps, 7);
    assert_eq!(loaded.config.permissions.allow, ["Edit(./src/a.rs)"]);
    assert!(
        loaded
            .notices
            .iter()
            .any(|n| n.text.to_string().contains("may only have"))
    );
}

#[test]
fn a_run_that_is_trusted_by_a_flag_blesses_nothing() {
    let mut desk = Desk::new().project("[permissions]\nallow = ['Bash(sh:*)']\n");
    desk.global.trust_workspace = true;
    let before = read(&desk.places().project_config());
    assert!(desk.store().save("Bash(ls)", Keep::Repository).is_err());
    assert_eq!(read(&desk.places().project_config()), before);
    desk.global.trust_workspace = false;
    assert_eq!(desk.state(), State::Untrusted);
}

#[test]
fn what_others_wrote_meanwhile_is_not_blessed() {
    let desk = Desk::new();
    let store = desk.store();
    store.save("Bash(ls)", Keep::Repository).unwrap();
    let path = desk.places().project_config();
    let evil = read(&path).replace("[\"Bash", "[\"Bash(curl:*)\", \"Bash");
    fs::write(&path, &evil).unwrap();
    let error = store.save("Bash(make)", Keep::Repository).unwrap_err();
    assert!(
        error.contains("has changed since it was trusted"),
        "{error}"
    );
    assert_eq!(read(&path), evil);
    assert_eq!(desk.state(), State::Changed);
    // A server beside the file is as foreign.
    let desk = Desk::new();
    let store = desk.store();
    let servers = r#"{"mcpServers": {"x": {"command": "sh"}}}"#;
    fs::write(desk.places().root.join(".mcp.json"), servers).unwrap();
    assert!(store.save("Bash(make)", Keep::Repository).is_err());
    assert!(!desk.places().project_config().exists());
    assert_eq!(desk.store().place(Keep::Repository), None);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_elsewhere_is_not_written_through() {
    let desk = Desk::new();
    let other = desk.directory.path().join("other.toml");
    fs::write(&other, "[agent]\n").unwrap();
    std::os::unix::fs::symlink(&other, desk.places().project_config()).unwrap();
    assert_eq!(desk.store().place(Keep::Repository), None);
    assert!(desk.store().save("Bash(ls)", Keep::Repository).is_err());
    assert_eq!(read(&other), "[agent]\n");
}

#[test]
fn in_the_persons_own_file_paths_are_absolute() {
    for (rule, expect) in [
        ("Edit(src/main.rs)", &["Edit(/project/src/main.rs)"][..]),
        ("Edit(./a)", &["Edit(/project/a)"]),
        (
            "Read(.env)",
            &["Read(/project/.env)", "Read(/project/**/.env)"],
        ),
        (
            "Edit(src/)",
            &["Edit(/project/src/)", "Edit(/project/**/src/)"],
        ),
        ("Edit(~/notes)", &["Edit(~/notes)"]),
        ("Edit(/tmp/x)", &["Edit(/tmp/x)"]),
        ("Edit", &["Edit"]),
        ("Bash(make:*)", &["Bash(make:*)"]),
        ("Net(a.b)", &["Net(a.b)"]),
        ("mcp__x__y", &["mcp__x__y"]),
    ] {
        let desk = Desk::new().project("[permissions]\nmode = 'allow'\n");
        let store = desk.store();
        store.put(&parse(rule).unwrap(), RuleLayer::User).unwrap();
        let got: Vec<String> = desk.allowed().iter().map(|r| desk.clean(r)).collect();
        assert_eq!(got, expect, "{rule}");
    }
}

#[test]
fn bad_rules_and_broken_files_are_refused_and_nothing_is_written() {
    let desk = Desk::new();
    for rule in ["Bash(ls", "", "B ash"] {
        let error = desk.store().save(rule, Keep::Repository).unwrap_err();
        assert!(error.starts_with("the rule cannot be read"), "{error}");
    }
    assert!(!desk.places().project_config().exists());
    let store = desk.store();
    let path = desk.places().project_config();
    for broken in ["[permissions\n", "[agent]\neffort = 7\n"] {
        fs::write(&path, broken).unwrap();
        assert!(store.save("Bash(ls)", Keep::Repository).is_err());
        assert_eq!(read(&path), broken);
        assert!(!desk.places().trust().exists());
    }
}

#[test]
fn saves_at_the_same_time_lose_nothing() {
    let desk = Desk::new().user("# mine\n");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let desk = &desk;
            scope.spawn(move || {
                for n in 0..5 {
                    let rule = format!("Bash(tool{thread} {n})");
                    desk.store().save(&rule, Keep::Repository).unwrap();
                }
            });
        }
    });
    assert_eq!(desk.allowed().len(), 20);
    assert_eq!(desk.state(), State::Trusted);
}

#[test]
fn removing_looks_in_both_files_and_forgets() {
    let desk = Desk::new()
        .user("[permissions]\nallow = ['bash(ls*)', 'Net'] # mine\ndeny = ['Bash(rm:*)']\n");
    let store = desk.store();
    store.save("Bash(ls:*)", Keep::Repository).unwrap();
    store.save("Bash(make)", Keep::Repository).unwrap();
    store.save("Bash(ls:*)", Keep::Person).unwrap();
    let removed = store.remove("Bash(ls *)", &layers(None)).unwrap();
    let local = desk.clean(&removed[1].file);
    assert!(
        local.starts_with("/home/.ostler/projects/project-"),
        "{local}"
    );
    let places: Vec<_> = removed
        .iter()
        .map(|r| (desk.clean(&r.file), r.list, r.text.as_str()))
        .collect();
    let user = "/home/.ostler/config.toml".to_owned();
    assert_eq!(
        places,
        [
            (user, RuleList::Allow, "bash(ls*)"),
            (local, RuleList::Allow, "Bash(ls:*)"),
            ("ostler.toml".into(), RuleList::Allow, "Bash(ls:*)"),
        ]
    );
    assert_eq!(desk.allowed(), ["Net", "Bash(make)"]);
    assert_eq!(desk.state(), State::Trusted);
    assert!(
        store
            .remove("Bash(ls *)", &layers(None))
            .unwrap()
            .is_empty()
    );
    // Whoever puts it back did not get the person's word for it.
    let path = desk.places().project_config();
    fs::write(&path, read(&path).replace("Bash(make)", "Bash(ls:*)")).unwrap();
    assert_eq!(desk.state(), State::Changed);
    assert_eq!(
        store.remove("Bash(rm:*)", &layers(None)).unwrap()[0].list,
        RuleList::Deny
    );
}
