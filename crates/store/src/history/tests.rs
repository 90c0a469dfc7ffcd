//! Searches over logs made by hand, over a bad index, and over a million lines (ignored; it prints figures).

use super::*;
use crate::testing::{result, tool_use, user};
use ostler_wire::{Body, Entry, Settings};
use serde_json::json;
use std::io::Write as _;

const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const B: &str = "bbbbbbbb-0000-4000-8000-000000000002";
const C: &str = "cccccccc-0000-4000-8000-000000000003";

/// A home with logs in it.
struct Shelf {
    dir: tempfile::TempDir,
    history: History,
}

impl Shelf {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let history = History {
            home: dir.path().join("home"),
            sessions: dir.path().join("home/sessions"),
            project: "here-00000000".into(),
            session: None,
        };
        std::fs::create_dir_all(&history.sessions).unwrap();
        Self { dir, history }
    }

    fn path(&self, project: &str, id: &str) -> PathBuf {
        match project {
            source::ARCHIVE => self.history.home.join(source::ARCHIVE),
            _ => self.history.sessions.join(project),
        }
        .join(format!("{id}.jsonl"))
    }

    /// Adds entries to a log.
    fn put(&self, project: &str, id: &str, bodies: Vec<Body>) {
        let path = self.path(project, id);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let first = text.lines().count() as u64;
        let mut file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(&path)
            .unwrap();
        for (n, body) in bodies.into_iter().enumerate() {
            let entry = Entry {
                entry: first + n as u64,
                parent: None,
                ts: "2026-11-15T10:00:00.000Z".into(),
                body,
            };
            writeln!(file, "{}", entry.to_line().unwrap()).unwrap();
        }
    }

    fn here(&self, id: &str, texts: &[&str]) {
        self.put("here-00000000", id, texts.iter().map(|t| user(t)).collect());
    }

    fn query(&self, text: &str, reach: Reach, words: Words) -> Found {
        let query = Query {
            text: text.into(),
            words,
            reach,
            limit: 10,
            patience: Duration::from_secs(60),
        };
        self.history.search(&query, &|| false).unwrap()
    }

    /// Hits as `a:0`, the best first.
    fn found(&self, text: &str) -> String {
        shown(&self.query(text, Reach::Project, Words::Any))
    }

    fn index(&self) -> PathBuf {
        index::place(&self.history.home)
    }
}

fn shown(found: &Found) -> String {
    let place = |hit: &Hit| format!("{}:{}", hit.session.get(..1).unwrap(), hit.entry);
    let places: Vec<String> = found.hits.iter().map(place).collect();
    places.join(" ")
}

#[test]
fn words_are_found_in_the_ways_people_write_them() {
    let shelf = Shelf::new();
    shelf.here(
        A,
        &[
            "Fix the parser in src/log_file.rs please",
            "parseConfigFile returns an Éclair",
            "修复了解析器的错误，因为内存泄漏",
            "nothing of interest",
        ],
    );
    let calls = vec![
        tool_use(
            "c",
            "bash",
            json!({"command": "cargo nextest run -p zebra"}),
        ),
        result("c", "error[E0308]: mismatched types in quagga"),
    ];
    shelf.put("here-00000000", A, calls);
    for (query, expect) in [
        ("parsers", "a:0"),
        ("PARSER", "a:0"),
        ("log_file.rs", "a:0"),
        ("file.rs", "a:0"),
        ("parse_config_file", "a:1"),
        ("parseconfigfile", "a:1"),
        ("config", "a:1"),
        ("eclair", "a:1"),
        ("解析器", "a:2"),
        ("解析器错误", "a:2"),
        ("漏", "a:2"),
        ("zebra", "a:4"),
        ("quagga E0308", "a:5"),
        ("\"nothing of\"", "a:3"),
        ("\"of nothing\"", ""),
        ("missing", ""),
    ] {
        assert_eq!(shelf.found(query), expect, "{query}");
    }
    let hit = &shelf.query("E0308", Reach::Project, Words::Any).hits[0];
    assert_eq!(
        (
            hit.role,
            hit.ts.as_str(),
            hit.title.as_str(),
            hit.text.as_str()
        ),
        (
            "result",
            "2026-11-15T10:00:00.000Z",
            "Fix the parser in src/log_file.rs please",
            "error[E0308]: mismatched types in quagga"
        )
    );
    for nothing in ["", "  ", "?!", "\"\""] {
        let query = Query {
            text: nothing.into(),
            words: Words::All,
            reach: Reach::Global,
            limit: 1,
            patience: Duration::ZERO,
        };
        let got = shelf.history.search(&query, &|| false);
        assert!(matches!(got, Err(HistoryError::NoWords)), "{nothing}");
    }
}

#[test]
fn the_best_is_kept_and_noise_dropped() {
    let shelf = Shelf::new();
    let mut texts = vec!["the purple hovercraft is called Zanzibar"];
    texts.extend(["the hovercraft moved a little further today, and nothing else did"; 1]);
    let noise: Vec<String> = (0..50)
        .map(|n| format!("call number {n} the usual"))
        .collect();
    texts.extend(noise.iter().map(String::as_str));
    shelf.here(A, &texts);
    assert_eq!(shelf.found("purple Zanzibar hovercraft"), "a:0");
    assert_eq!(shelf.found("hovercraft"), "a:0 a:1");
    let all = |text| shown(&shelf.query(text, Reach::Project, Words::All));
    assert_eq!(all("hovercraft the"), "a:0 a:1");
    assert_eq!(all("hovercraft Zanzibar missing"), "");
    let widely = |text: &str| {
        let query = Query {
            text: text.into(),
            words: Words::All,
            reach: Reach::Project,
            limit: 10,
            patience: Duration::from_secs(60),
        };
        shown(&shelf.history.search_widely(query, &|| false).unwrap())
    };
    assert_eq!(widely("hovercraft Zanzibar missing"), "a:0");
    assert_eq!(widely("hovercraft the"), "a:0 a:1");
    assert_eq!(widely("?!"), "");
}

#[test]
fn the_scope_and_the_asker_decide_what_is_looked_at() {
    let mut shelf = Shelf::new();
    shelf.here(
        A,
        &["zanzibar in the past", "what was said about zanzibar?"],
    );
    shelf.put("other-11111111", B, vec![user("zanzibar elsewhere")]);
    let archived = shelf.path(source::ARCHIVE, "c2026");
    std::fs::create_dir_all(archived.parent().unwrap()).unwrap();
    // The archive has a copy of the log and something of its own.
    let lines = [
        json!({"role": "user", "text": "zanzibar in the past"}),
        json!({"role": "assistant", "text": "zanzibar folded away"}),
    ];
    std::fs::write(archived, format!("{}\n{}\n", lines[0], lines[1])).unwrap();
    let places = |shelf: &Shelf, reach| {
        let found = shelf.query("zanzibar", reach, Words::Any);
        let mut places: Vec<String> = shown(&found).split(' ').map(str::to_owned).collect();
        places.sort();
        places.join(" ")
    };
    assert_eq!(places(&shelf, Reach::Project), "a:0 a:1");
    assert_eq!(places(&shelf, Reach::Global), "a:0 a:1 b:0 c:1");
    // Its own question is no answer.
    shelf.history.session = Some(A.into());
    assert_eq!(places(&shelf, Reach::Project), "a:0");
    shelf.history.session = Some(C.into());
    assert_eq!(places(&shelf, Reach::Project), "a:0 a:1");
}

#[test]
fn the_index_follows_the_logs() {
    let shelf = Shelf::new();
    shelf.here(A, &["first zanzibar"]);
    assert_eq!(shelf.found("zanzibar"), "a:0");
    shelf.here(A, &["nothing", "second zanzibar"]);
    let title = Settings {
        title: Some("Named".into()),
        ..Settings::default()
    };
    shelf.put("here-00000000", A, vec![Body::Settings(title)]);
    assert_eq!(shelf.found("second"), "a:2");
    assert_eq!(
        shelf.query("second", Reach::Project, Words::Any).hits[0].title,
        "Named"
    );

    // A line that is being written is read when it is whole.
    let path = shelf.path("here-00000000", A);
    let whole = std::fs::read_to_string(&path).unwrap();
    let line = r#"{"type":"message","role":"user","text":"third zanzibar"}"#;
    std::fs::write(&path, format!("{whole}{}", &line[..30])).unwrap();
    assert_eq!(shelf.found("third"), "");
    std::fs::write(&path, format!("{whole}{line}\n")).unwrap();
    assert_eq!(shelf.found("third"), "a:4");

    // Cut and written on past the old end, it is read anew.
    let cut = whole.lines().next().unwrap();
    let more = line.replace("third", &"fourth ".repeat(99));
    std::fs::write(&path, format!("{cut}\n{more}\n")).unwrap();
    assert_eq!(
        ["third", "fourth", "second", "first"].map(|word| shelf.found(word)),
        ["", "a:1", "", "a:0"]
    );

    // One that is another, shorter or not, is read anew.
    std::fs::remove_file(&path).unwrap();
    shelf.here(A, &["a new zanzibar"]);
    assert_eq!(shelf.found("zanzibar"), "a:0");
    assert_eq!(shelf.found("second"), "");
    let longer = "quagga ".repeat(200);
    std::fs::remove_file(&path).unwrap();
    shelf.here(A, &[&longer]);
    assert_eq!(
        (shelf.found("zanzibar"), shelf.found("quagga")),
        (String::new(), "a:0".into())
    );
    std::fs::remove_file(&path).unwrap();
    assert_eq!(shelf.found("quagga"), "");
    shelf.here(B, &["quagga"]);
    assert_eq!(shelf.found("quagga"), "b:0");
}

#[test]
fn a_bad_index_is_made_anew() {
    let shelf = Shelf::new();
    shelf.here(A, &["zanzibar", "more"]);
    let path = shelf.index();
    assert_eq!(shelf.found("zanzibar"), "a:0");
    let whole = std::fs::read(&path).unwrap();
    let fresh = |bytes: &[u8]| {
        index::remove(&path);
        std::fs::write(&path, bytes).unwrap();
    };
    let older = || {
        fresh(&[]);
        let db = rusqlite::Connection::open(&path).unwrap();
        db.execute_batch("CREATE TABLE log(x); PRAGMA user_version = 99")
            .unwrap();
    };
    let hollow = || {
        fresh(&[]);
        let db = rusqlite::Connection::open(&path).unwrap();
        db.execute_batch("PRAGMA user_version = 2").unwrap();
    };
    let garbled = || {
        let mut bytes = whole.clone();
        bytes.iter_mut().skip(4096).for_each(|b| *b = !*b);
        fresh(&bytes);
    };
    // Whether there was something wrong with it.
    let checks: [(&dyn Fn(), bool); 6] = [
        (
            &|| {
                fresh(b"this is no database, and it is long enough to be seen as none: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")
            },
            true,
        ),
        (&|| fresh(&[]), false),
        (&|| fresh(whole.get(..whole.len() / 2).unwrap()), true),
        (&older, false),
        (&hollow, true),
        (&garbled, true),
    ];
    for (n, (spoil, is_told)) in checks.into_iter().enumerate() {
        spoil();
        let first = shelf.query("zanzibar", Reach::Project, Words::Any);
        let remarks = match is_told {
            true => vec![Remark::Rebuilt],
            false => Vec::new(),
        };
        assert_eq!(
            (shown(&first), first.remarks),
            ("a:0".into(), remarks),
            "{n}"
        );
        let again = shelf.query("more", Reach::Project, Words::Any);
        assert_eq!(
            (shown(&again), again.remarks),
            ("a:1".into(), vec![]),
            "{n}"
        );
    }
}

#[test]
fn where_nothing_can_be_written_the_search_still_works() {
    let shelf = Shelf::new();
    shelf.here(A, &["zanzibar"]);
    // A file where the folder should be.
    std::fs::write(shelf.history.home.join("cache"), "").unwrap();
    let found = shelf.query("zanzibar", Reach::Project, Words::Any);
    assert_eq!(shown(&found), "a:0");
    let notice = found.notice(Language::English).unwrap();
    assert!(
        notice.starts_with("The index cannot be saved at "),
        "{notice}"
    );
}

#[test]
fn a_busy_index_gives_what_is_there() {
    let shelf = Shelf::new();
    shelf.here(A, &["zanzibar one"]);
    assert_eq!(shelf.found("zanzibar"), "a:0");
    let other = rusqlite::Connection::open(shelf.index()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    shelf.here(A, &["zanzibar two"]);
    let found = shelf.query("zanzibar", Reach::Project, Words::Any);
    assert_eq!(
        (shown(&found), found.remarks),
        ("a:0".into(), vec![Remark::Busy { logs: 1, of: 1 }])
    );
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(shelf.query("two", Reach::Project, Words::Any).remarks, []);
}

#[test]
fn an_index_that_is_held_by_another_is_done_without() {
    let shelf = Shelf::new();
    shelf.here(A, &["zanzibar one"]);
    assert_eq!(shelf.found("zanzibar"), "a:0");
    let other = rusqlite::Connection::open(shelf.index()).unwrap();
    let held = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM doc; ROLLBACK";
    other.execute_batch(held).unwrap();
    let found = shelf.query("zanzibar", Reach::Project, Words::Any);
    assert_eq!(shown(&found), "a:0");
    assert!(
        matches!(found.remarks.as_slice(), [Remark::Unkept { .. }]),
        "{:?}",
        found.remarks
    );
    drop(other);
    let found = shelf.query("zanzibar", Reach::Project, Words::Any);
    assert_eq!((shown(&found), found.remarks), ("a:0".into(), vec![]));
}

#[test]
fn no_query_is_a_program() {
    let shelf = Shelf::new();
    shelf.here(A, &["zanzibar and what else", "😀 party 🎉 時間"]);
    for query in [
        "zanzibar AND",
        "AND OR NOT zanzibar",
        "NEAR( zanzibar, 2)",
        "zanzibar*",
        "-zanzibar",
        "^zanzibar",
        "text: zanzibar",
        "\"zanzibar",
        "zanzibar\"\"\"",
        "'; DROP TABLE words; -- zanzibar",
        "zanzibar) OR (1",
        "{zanzibar}",
        "zanzibar \0\u{1b}[2J",
        "😀zanzibar😀",
        &format!("zanzibar {}", "x ".repeat(50_000)),
        &format!("zanzibar {}", "字".repeat(50_000)),
    ] {
        let found = shelf.found(query);
        assert!(found.starts_with("a:0"), "{query}: {found}");
    }
    assert_eq!(shelf.found("party"), "a:1");
    assert_eq!(shelf.found("時間"), "a:1");
    assert_eq!(shelf.found("party 😀"), "a:1");
}

#[test]
fn what_is_no_entry_hides_none() {
    let shelf = Shelf::new();
    shelf.here(A, &["first zanzibar"]);
    let path = shelf.path("here-00000000", A);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend(b"\xff\xfe\0garbage\n{\"type\":\"message\"\n[[[[[[\n\n");
    bytes.extend(vec![b'x'; 9 << 20]);
    bytes.extend("\n{\"type\":\"message\",\"entry\":18446744073709551615,\"role\":\"user\",\"text\":\"huge number\"}\n".bytes());
    bytes.extend("{\"type\":\"message\",\"role\":\"user\",\"text\":\"last quagga\"}\n".bytes());
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(shelf.path("here-00000000", B), [0; 4096]).unwrap();
    std::fs::write(shelf.path("here-00000000", C), "").unwrap();
    assert_eq!(shelf.found("first"), "a:0");
    assert!(shelf.found("quagga").starts_with("a:"));
    assert!(shelf.found("huge").starts_with("a:"));
    let hit = &shelf.query("quagga", Reach::Project, Words::Any).hits[0];
    let near = shelf
        .history
        .around(A, hit.entry, 1, Reach::Global)
        .unwrap();
    assert!(near.iter().any(|n| n.text == "last quagga"), "{near:?}");
}

#[test]
fn a_log_that_goes_away_meanwhile_is_not_found() {
    let shelf = Shelf::new();
    shelf.here(A, &["zanzibar here"]);
    shelf.here(B, &["zanzibar there"]);
    shelf.found("zanzibar");
    let query = Query {
        text: "zanzibar".into(),
        words: Words::Any,
        reach: Reach::Project,
        limit: 9,
        patience: Duration::from_secs(60),
    };
    let path = shelf.path("here-00000000", A);
    let deleting = || {
        let _ = std::fs::remove_file(&path);
        false
    };
    let found = shelf.history.search(&query, &deleting).unwrap();
    assert_eq!(shown(&found), "b:0");
}

#[test]
fn work_goes_on_where_it_stopped() {
    let shelf = Shelf::new();
    shelf.here(A, &["zanzibar"; 3]);
    shelf.here(B, &["quagga"]);
    let query = |text: &str, patience| Query {
        text: text.into(),
        words: Words::Any,
        reach: Reach::Project,
        limit: 9,
        patience,
    };
    let none = shelf
        .history
        .search(&query("quagga", Duration::ZERO), &|| false);
    assert_eq!(
        none.unwrap(),
        Found {
            hits: Vec::new(),
            remarks: vec![Remark::Behind { logs: 2, of: 2 }],
        }
    );
    let stopped = shelf
        .history
        .search(&query("quagga", Duration::from_secs(60)), &|| true);
    assert_eq!(stopped.unwrap().hits, []);
    assert_eq!(shelf.found("quagga"), "b:0");
}

#[test]
fn many_at_once_find_everything_once() {
    let shelf = Shelf::new();
    for n in 0..20 {
        let id = format!("{:08x}-0000-4000-8000-000000000000", n);
        let texts: Vec<String> = (0..200).map(|i| format!("needle{n}x{i} common")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        shelf.here(&id, &texts);
    }
    std::thread::scope(|scope| {
        for n in 0..4 {
            let shelf = &shelf;
            scope.spawn(move || {
                for i in 0..5 {
                    let _ = shelf.query(&format!("needle{n}x{i}"), Reach::Project, Words::Any);
                }
            });
        }
    });
    for n in [0, 7, 19] {
        let found = shelf.query(&format!("needle{n}x199"), Reach::Project, Words::Any);
        assert_eq!((found.hits.len(), found.hits[0].entry), (1, 199), "{n}");
    }
    let db = rusqlite::Connection::open(shelf.index()).unwrap();
    let docs: i64 = db
        .query_row("SELECT count(*) FROM doc", [], |r| r.get(0))
        .unwrap();
    assert_eq!(docs, 4000);
}

#[test]
fn what_stands_around_a_hit_is_shown() {
    let shelf = Shelf::new();
    let texts: Vec<String> = (0..20).map(|n| format!("message {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    shelf.here(A, &texts);
    shelf.here(B, &[&"y".repeat(5000)]);
    shelf.put("other-11111111", "aaab0000", vec![user("x")]);
    let around = |session: &str, entry, side| match shelf.history.around(
        session,
        entry,
        side,
        Reach::Global,
    ) {
        Ok(near) => {
            let numbers: Vec<String> = near.iter().map(|n| n.entry.to_string()).collect();
            numbers.join(" ")
        }
        Err(error) => error.to_string(),
    };
    for (session, entry, side, expect) in [
        (A, 10, 2, "8 9 10 11 12"),
        ("aaaaa", 0, 2, "0 1 2"),
        (A, 19, 2, "17 18 19"),
        (A, 5, 0, "5"),
        ("aaab", 0, 6, "0"),
        (A, 99, 2, &format!("Session {A} has no entry 99 with text.")),
        (
            "aaa",
            1,
            2,
            "2 sessions begin with aaa; write more of the id.",
        ),
        (
            "dddd",
            1,
            2,
            "There is no session dddd in the history; take one from a search.",
        ),
        (
            "",
            1,
            2,
            "There is no session  in the history; take one from a search.",
        ),
        (
            "../../x",
            1,
            2,
            "There is no session ../../x in the history; take one from a search.",
        ),
    ] {
        assert_eq!(around(session, entry, side), expect);
    }
    let long = shelf.history.around(B, 0, 1, Reach::Global).unwrap();
    assert_eq!(long[0].text.chars().count(), MAX_MESSAGE + 1);
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    /// Small numbers more often than large ones.
    fn often_small(&mut self, most: u64) -> u64 {
        let most = self.below(most) + 1;
        let most = self.below(most) + 1;
        self.below(most)
    }
}

/// Lines of talk, every second one in Chinese, with needles among them.
fn talk(shelf: &Shelf, logs: u64, lines: u64) {
    let mut dice = Dice(7);
    for log in 0..logs {
        let project = match log % 4 {
            0 => "here-00000000".to_owned(),
            n => format!("other-{n:08}"),
        };
        let path = shelf.path(&project, &format!("{log:08x}-0000-4000-8000-000000000000"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
        for line in 0..lines {
            let mut text = String::new();
            for _ in 0..12 + dice.below(20) {
                match line % 2 {
                    0 => text.push_str(&format!("word{} ", dice.often_small(30_000))),
                    _ => text.push(char::from_u32(0x4e00 + dice.often_small(3000) as u32).unwrap()),
                }
            }
            if line == lines / 2 {
                text.push_str(&format!("the hovercraft of Zanzibar{log} "));
                text.push_str(&format!("紫色河马计划{log}号 "));
            }
            writeln!(
                file,
                r#"{{"type":"message","entry":{line},"parent":null,"ts":"2026-11-15T10:00:00.000Z","role":"user","text":"{text}"}}"#
            )
            .unwrap();
        }
    }
}

/// Every needle is found where it lies, and nothing else.
fn check_needles(shelf: &Shelf, logs: &[u64], lines: u64) {
    for log in logs {
        let id = format!("{log:08x}-0000-4000-8000-000000000000");
        for (query, words) in [
            (format!("word3 hovercraft zanzibar{log}"), Words::Any),
            (
                format!("what was the hovercraft of Zanzibar{log}?"),
                Words::Any,
            ),
            (format!("hovercraft zanzibar{log}"), Words::All),
            (format!("紫色河马计划 {log}号 zanzibar{log}"), Words::Any),
            (format!("紫色河马 zanzibar{log}"), Words::All),
        ] {
            let found = shelf.query(&query, Reach::Global, words);
            let best = found.hits.first().map(|h| (h.session.as_str(), h.entry));
            assert_eq!(best, Some((id.as_str(), lines / 2)), "{query}: {found:?}");
            assert!(
                found.hits[0].text.contains(&format!("Zanzibar{log} ")) || query.contains('紫'),
                "{found:?}"
            );
        }
    }
    let chinese = shelf.query("紫色河马计划", Reach::Project, Words::Any);
    assert_eq!(chinese.hits.len(), 10);
    assert!(
        chinese
            .hits
            .iter()
            .all(|h| h.entry == lines / 2 && h.project == shelf.history.project)
    );
    assert_eq!(
        shown(&shelf.query("紫色河马计戈", Reach::Global, Words::All)),
        ""
    );
}

#[test]
fn needles_are_found_among_many_lines() {
    let shelf = Shelf::new();
    talk(&shelf, 44, 100);
    check_needles(&shelf, &[0, 17, 43], 100);
}

/// Milliseconds.
fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// How long it takes to look through every log for some bytes, as whoever has no index would.
fn scanned(shelf: &Shelf, needle: &str) -> Duration {
    let start = Instant::now();
    let mut found = 0;
    for source in source::all(&shelf.history.sessions, &shelf.history.home) {
        let bytes = std::fs::read(source.path).unwrap();
        found += memchr::memmem::find_iter(&bytes, needle).count();
    }
    assert!(found > 0);
    start.elapsed()
}

#[test]
#[ignore = "takes minutes; prints figures: cargo test --release -p ostler-store a_million_lines -- --ignored --nocapture"]
#[expect(clippy::print_stdout, reason = "it is there for its figures")]
fn a_million_lines() {
    const LINES: u32 = 1_000_000;
    const MORE: u32 = 1_000;
    let shelf = Shelf::new();
    talk(&shelf, 400, 2500);
    let start = Instant::now();
    let mut passes = 0;
    loop {
        passes += 1;
        let query = Query {
            text: "zanzibar1".into(),
            words: Words::Any,
            reach: Reach::Global,
            limit: 10,
            patience: Duration::from_secs(2),
        };
        let found = shelf.history.search(&query, &|| false).unwrap();
        if found.remarks.is_empty() {
            break;
        }
    }
    let made = ms(start.elapsed()) / f64::from(LINES);
    println!(
        "made: {made:.3} ms per line (bar 1), {passes} searches, {} MB",
        std::fs::metadata(shelf.index()).unwrap().len() >> 20
    );
    check_needles(&shelf, &[0, 200, 399], 2500);
    let scan = ms(scanned(&shelf, "Zanzibar200 "));
    let mut slowest = 0.0_f64;
    for text in [
        "zanzibar200",
        "hovercraft zanzibar7",
        "word3 word5 zanzibar17 word0",
        "word0",
        "word0 word1 word2",
        "the word10 of the word100 in word1000",
        "word9000 word12000",
        "紫色河马计划",
        "一丁七",
        "一",
        "nothing here",
    ] {
        for (reach, words) in [
            (Reach::Global, Words::Any),
            (Reach::Project, Words::Any),
            (Reach::Global, Words::All),
        ] {
            let mut times: Vec<f64> = (0..5)
                .map(|_| {
                    let start = Instant::now();
                    shelf.query(text, reach, words);
                    ms(start.elapsed())
                })
                .collect();
            times.sort_by(f64::total_cmp);
            slowest = slowest.max(times[4]);
            println!(
                "{text:40} {reach:?} {words:?}: {:.1} ms, slowest {:.1}",
                times[2], times[4]
            );
        }
    }
    println!(
        "slowest search: {slowest:.1} ms (bar 100), {:.3} of reading all logs ({scan:.0} ms)",
        slowest / scan
    );
    let texts: Vec<String> = (0..MORE)
        .map(|n| format!("appended zanzibarnew{n}"))
        .collect();
    let put = |texts: &[String]| {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        shelf.here(A, &texts);
        let last = texts.last().unwrap().rsplit(' ').next().unwrap();
        let start = Instant::now();
        assert!(shelf.found(last).starts_with("a:"));
        let both = start.elapsed();
        let start = Instant::now();
        shelf.found(last);
        ms(both.saturating_sub(start.elapsed()))
    };
    let many = put(&texts) / f64::from(MORE);
    let mut ones: Vec<f64> = (0..21)
        .map(|n| put(&[format!("appended zanzibarone{n}")]))
        .collect();
    ones.sort_by(f64::total_cmp);
    let (one, worst) = (ones[10], ones[20]);
    println!(
        "one more entry: {one:.2} ms, slowest {worst:.2} (bar 1); a thousand: {many:.3} ms each"
    );
    drop(shelf.dir);
}
