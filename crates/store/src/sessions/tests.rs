//! Sessions as files in a folder, some of them odd.

use super::*;
use crate::log::Log;
use crate::testing::{numbered, user};
use ostler_wire::{Settings, Usage};
use std::time::{Duration, SystemTime};

const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const B: &str = "aaaabbbb-0000-4000-8000-000000000002";
const C: &str = "cccccccc-0000-4000-8000-000000000003";

struct Shelf {
    dir: tempfile::TempDir,
    store: Store,
}

impl Shelf {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path(), Path::new("/code/app"));
        Self { dir, store }
    }

    fn elsewhere(&self) -> Store {
        Store::new(self.dir.path(), Path::new("/other/app"))
    }

    /// A log that was last written so many hours ago.
    fn put(&self, store: &Store, id: &str, hours: u64, bodies: Vec<Body>) {
        let path = store.path_of(id);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut entries = numbered(bodies);
        for entry in &mut entries {
            entry.ts = format!("2026-11-15T{:02}:00:00.000Z", 23 - hours);
        }
        let lines: Vec<String> = entries
            .iter()
            .map(|e| e.to_line().unwrap() + "\n")
            .collect();
        fs::write(&path, lines.concat()).unwrap();
        let then = SystemTime::now() - Duration::from_secs(hours * 3600);
        fs::File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .set_modified(then)
            .unwrap();
    }
}

fn titled(title: &str) -> Body {
    Body::Settings(Settings {
        title: Some(title.into()),
        ..Settings::default()
    })
}

fn cost(cost: Option<f64>) -> Body {
    Body::Usage(Usage {
        cost,
        ..Usage::default()
    })
}

#[test]
fn projects_have_a_name_and_a_hash() {
    for (root, name) in [
        ("/code/app", "app-"),
        ("/code/my app é/", "my_app_é-"),
        ("/", "root-"),
    ] {
        let project = project_name(Path::new(root));
        let hash = project
            .strip_prefix(name)
            .unwrap_or_else(|| panic!("{project}"));
        assert!(
            hash.len() == 8 && hash.chars().all(|c| c.is_ascii_hexdigit()),
            "{project}"
        );
    }
    assert_ne!(
        project_name(Path::new("/a/x")),
        project_name(Path::new("/b/x"))
    );
    assert!(project_name(Path::new(&format!("/{}", "x".repeat(255)))).len() < 80);
}

#[test]
fn a_session_is_found_by_a_unique_beginning_of_its_id_in_any_project() {
    let shelf = Shelf::new();
    shelf.put(&shelf.store, A, 1, vec![user("a")]);
    shelf.put(&shelf.elsewhere(), B, 2, vec![user("b")]);
    for id in [A, "aaaaaaaa", "aaaaa"] {
        assert_eq!(shelf.store.find(id), Ok(shelf.store.path_of(A)), "{id}");
    }
    assert_eq!(shelf.store.find("aaaab"), Ok(shelf.elsewhere().path_of(B)));
    for (id, expect) in [
        ("aaaa", "2 sessions begin with aaaa; write more of the id."),
        (
            "dddd",
            "There is no session dddd. `ostler sessions list` shows them.",
        ),
        ("aaa", "`aaa` is not a session id."),
        ("../../etc", "`../../etc` is not a session id."),
        ("", "`` is not a session id."),
    ] {
        let error = shelf.store.find(id).unwrap_err();
        assert!(error.starts_with(expect), "{error}");
    }
}

#[test]
fn the_last_session_is_the_newest_of_this_project() {
    let shelf = Shelf::new();
    assert!(
        shelf
            .store
            .last()
            .unwrap_err()
            .contains("project has no session yet")
    );
    shelf.put(&shelf.store, A, 3, vec![user("a")]);
    shelf.put(&shelf.store, B, 2, vec![user("b")]);
    shelf.put(&shelf.elsewhere(), C, 1, vec![user("c")]);
    assert_eq!(shelf.store.last(), Ok(shelf.store.path_of(B)));
}

#[test]
fn lists_show_title_age_turns_and_cost_newest_first() {
    let shelf = Shelf::new();
    shelf.put(
        &shelf.store,
        A,
        3,
        vec![
            user("fix it\nplease"),
            cost(Some(0.5)),
            cost(None),
            user("more"),
            cost(Some(0.25)),
        ],
    );
    shelf.put(
        &shelf.store,
        B,
        2,
        vec![user("first"), titled("given"), cost(None)],
    );
    shelf.put(&shelf.elsewhere(), C, 1, vec![]);
    fs::write(shelf.store.path_of(A).with_extension("txt"), "not a log").unwrap();
    let rows = |list: Vec<SessionInfo>| -> Vec<(String, String, u64, Option<f64>)> {
        list.into_iter()
            .map(|i| (i.id, i.title, i.turns, i.cost))
            .collect()
    };
    let row = |id: &str, title: &str, turns, cost| (id.to_owned(), title.to_owned(), turns, cost);
    let own = [row(B, "given", 1, None), row(A, "fix it", 2, Some(0.75))];
    assert_eq!(rows(shelf.store.list().unwrap()), own);
    // A log without entries has no time either, and comes last.
    let all = [&own[..], &[row(C, "(no prompt)", 0, None)]].concat();
    assert_eq!(rows(shelf.store.list_all().unwrap()), all);
}

#[test]
fn titles_are_one_line_of_bounded_length() {
    let title_of = |body: Body| title(&numbered([body]));
    assert_eq!(title_of(user("\n\n  what?  \nmore")), "what?");
    assert_eq!(title_of(user("  \n")), "(no prompt)");
    assert_eq!(title_of(user(&"é".repeat(60))), "é".repeat(60));
    assert_eq!(title_of(user(&"é".repeat(61))), "é".repeat(60) + "…");
    assert_eq!(
        title(&numbered([titled("one"), titled("two"), user("p")])),
        "two"
    );
}

#[test]
fn deleting_takes_what_lies_beside_the_log() {
    let shelf = Shelf::new();
    shelf.put(&shelf.store, A, 1, vec![user("a")]);
    let beside = shelf.store.folder_of(A);
    fs::create_dir_all(&beside).unwrap();
    fs::write(beside.join("out.txt"), "x").unwrap();
    assert_eq!(shelf.store.delete("aaaaaaaa"), Ok(A.into()));
    assert!(!beside.exists() && !shelf.store.path_of(A).exists());
    assert!(shelf.store.delete(A).is_err());
}

#[test]
fn the_oldest_go_first_until_the_rest_fits() {
    let shelf = Shelf::new();
    for (id, hours) in [(A, 3), (B, 2), (C, 1)] {
        shelf.put(&shelf.store, id, hours, vec![user("x")]);
    }
    fs::create_dir_all(shelf.store.folder_of(A)).unwrap();
    fs::write(shelf.store.folder_of(A).join("big"), vec![0; 10_000]).unwrap();
    let one = fs::metadata(shelf.store.path_of(B)).unwrap().len();
    let gone = |quota, dry_run| -> Vec<String> {
        shelf
            .store
            .gc(quota, dry_run)
            .into_iter()
            .map(|(id, _)| id)
            .collect()
    };
    assert_eq!(gone(100_000, DryRun::No), [""; 0]);
    assert_eq!(gone(2 * one, DryRun::Yes), [A]);
    assert_eq!(
        shelf.store.gc(0, DryRun::Yes),
        [(A.to_owned(), one + 10_000), (B.to_owned(), one)]
    );
    assert!(shelf.store.path_of(A).exists());
    // One that is open stays, and so does the newest.
    let open = Log::open(&shelf.store.path_of(A)).unwrap();
    assert_eq!(gone(0, DryRun::No), [B]);
    drop(open);
    assert_eq!(gone(0, DryRun::No), [A]);
    assert_eq!(gone(0, DryRun::No), [""; 0]);
    assert!(shelf.store.path_of(C).exists());
}
