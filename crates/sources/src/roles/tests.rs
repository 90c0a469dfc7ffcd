//! Roles from every place, and what each may use.

use super::*;
use crate::Owner;
use ostler_tools::builtin::Tools;

fn loaded(files: &[(&str, &str)], configured: &[(&str, RoleSettings)]) -> (Roles, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let sources = ["near", "far"].map(|folder| Source {
        path: dir.path().join(folder),
        owner: Owner::Person,
    });
    let configured = configured.iter().map(|(n, s)| ((*n).to_owned(), s.clone()));
    let reader = Reader::unbound(Language::English);
    Roles::load(&sources, &configured.collect(), &reader)
}

#[test]
fn ours_are_there() {
    let (roles, notices) = loaded(&[], &[]);
    assert!(notices.is_empty());
    let names: Vec<(&str, bool)> = roles
        .offered()
        .map(|r| (r.name.as_str(), r.capabilities.read_only))
        .collect();
    let expect = [
        ("builder", false),
        ("critic", true),
        ("explore", true),
        ("oracle", true),
        ("researcher", true),
        ("reviewer", true),
        ("sprinter", false),
    ];
    assert_eq!(names, expect);
    assert!(roles.find("Explore").is_some() && roles.find(PLANNER).is_some());
    assert!(roles.listing().lines().count() == 7, "{}", roles.listing());
}

#[test]
fn files_and_configuration_are_laid_over_each_other() {
    let agent = "---\nname: reviewer\ndescription: Mine\ntools: Read, Grep, Bash(git:*)\nmodel: acme/x\n---\nBe kind.";
    let (roles, notices) = loaded(
        &[
            ("near/reviewer.md", agent),
            ("far/reviewer.md", "another"),
            ("far/plain.md", "Only words."),
            ("far/broken.md", "---\nname: x\n"),
            ("far/empty.md", "---\nname: y\n---\n"),
            ("far/odd name.md", "x"),
            ("far/two.md", "---\nfallback_models: acme/x, acme/y\n---\nx"),
            ("far/note.txt", "x"),
        ],
        &[
            (
                "reviewer",
                RoleSettings {
                    model: Some("ostler/acme/y".into()),
                    timeout_secs: Some(5),
                    ..RoleSettings::default()
                },
            ),
            (
                "bare",
                RoleSettings {
                    read_only: Some(true),
                    enabled: Some(false),
                    ..RoleSettings::default()
                },
            ),
        ],
    );
    assert_eq!(notices.len(), 4, "{notices:?}");
    assert!(
        notices
            .iter()
            .any(|n| n.contains("two.md is left out: `fallback_models` is not supported")),
        "{notices:?}"
    );
    let reviewer = roles.find("reviewer").unwrap();
    assert_eq!(
        (reviewer.persona.as_str(), reviewer.own_model()),
        ("Be kind.", Some("acme/y"))
    );
    assert_eq!(reviewer.time_limit(), Duration::from_secs(5));
    assert_eq!(reviewer.capabilities.tools, ["Read", "Grep", "Bash(git:*)"]);
    let bare = roles.find("bare").unwrap();
    assert!(bare.persona.is_empty() && bare.capabilities.read_only && !bare.enabled);
    assert!(roles.offered().all(|role| role.name != "bare"));
    assert_eq!(roles.find("plain").unwrap().persona, "Only words.");
}

#[test]
fn what_a_role_may_use() {
    let reads = || Capabilities {
        read_only: true,
        ..Capabilities::default()
    };
    let only = |tools: &[&str]| Capabilities {
        tools: tools.iter().map(|t| (*t).to_owned()).collect(),
        ..Capabilities::default()
    };
    for (caps, parent, with, without) in [
        (
            Capabilities::default(),
            &[][..],
            &["bash", "edit_file", "task", "fetch_url"][..],
            &["exit_plan_mode", "complete_step"][..],
        ),
        (
            reads(),
            &[],
            &["bash", "grep", "read_only_task", "read_only_skill"],
            &[
                "write_file",
                "edit_file",
                "task",
                "skill",
                "kill_job",
                "bash_input",
            ],
        ),
        (
            Capabilities {
                shell: false,
                network: false,
                ..reads()
            },
            &[],
            &["grep"],
            &["bash", "bash_output", "fetch_url", "web_search"],
        ),
        (
            only(&["Read", "Bash(git:*)", "write"]),
            &["!bash"],
            &["read_file", "write_file"],
            &["bash", "grep"],
        ),
        // A role gets nothing that its parent may not use, and an idle list is not everything.
        (
            only(&["bash"]),
            &["grep", "ls"],
            &[],
            &["bash", "grep", "ls"],
        ),
        (only(&["nonsense"]), &[], &[], &["bash", "grep"]),
        (
            reads(),
            &["grep", "write_file"],
            &["grep"],
            &["write_file", "ls"],
        ),
    ] {
        let parent: Vec<String> = parent.iter().map(|f| (*f).to_owned()).collect();
        let theirs = Tools::new(&parent);
        let filter = caps.filter(&parent, |name| theirs.allows(name));
        let tools = Tools::new(&filter);
        let names: Vec<&str> = tools.names().collect();
        for name in with {
            assert!(names.contains(name), "{caps:?}: no {name} in {names:?}");
        }
        for name in without {
            assert!(!names.contains(name), "{caps:?}: {name} in {names:?}");
        }
    }
}
