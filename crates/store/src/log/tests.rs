//! Logs as disks, crashes and other programs leave them.

use super::*;
use crate::testing::{numbered, user};
use ostler_wire::Notice;

fn notice(text: &str) -> Body {
    Body::Notice(Notice { text: text.into() })
}

fn text_of(entry: &Entry) -> String {
    match &entry.body {
        Body::Notice(n) => n.text.clone(),
        Body::Message(m) => m.text.clone(),
        other => panic!("no text in {other:?}"),
    }
}

fn texts(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(text_of).collect()
}

/// Three lines, numbered from 0.
fn three() -> Vec<String> {
    let entries = numbered(["a", "b", "c"].map(notice));
    entries.iter().map(|e| e.to_line().unwrap()).collect()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("project/5f0c.jsonl")
    }

    fn put(&self, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

#[test]
fn entries_are_numbered_chained_and_read_back() {
    let folder = Folder::new();
    let path = folder.path();
    let mut log = Log::plan(&path);
    assert!(log.is_empty() && !path.exists(), "a plan leaves no file");
    let first = log.append(vec![notice("a"), notice("b")]).unwrap();
    let second = log.append(vec![notice("c")]).unwrap();
    let chain: Vec<_> = first
        .iter()
        .chain(&second)
        .map(|e| (e.entry, e.parent))
        .collect();
    assert_eq!(chain, [(0, None), (1, Some(0)), (2, Some(1))]);
    let whole = std::fs::read_to_string(&path).unwrap();
    assert!(
        whole.ends_with("}\n") && whole.lines().count() == 3,
        "{whole}"
    );
    let (entries, damage) = read(&path).unwrap();
    let shown: Vec<Entry> = first.iter().chain(&second).map(|e| (**e).clone()).collect();
    assert_eq!((entries, damage), (shown, Damage::default()));
}

#[test]
fn a_session_has_one_writer() {
    let folder = Folder::new();
    let mut log = Log::plan(&folder.path());
    log.append(vec![notice("a")]).unwrap();
    let error = Log::open(&folder.path()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "Session 5f0c is open in another process. Close it there, or continue on a copy with `--fork 5f0c`."
    );
    drop(log);
    Log::open(&folder.path()).unwrap();
}

#[test]
fn late_readers_get_what_they_have_not_seen() {
    let folder = Folder::new();
    for mut log in [Log::plan(&folder.path()), Log::memory()] {
        let source = log.source();
        assert!(source.entries_after(None).is_empty());
        log.append(["a", "b", "c"].map(notice).to_vec()).unwrap();
        let after = |last| -> Vec<String> {
            source
                .entries_after(last)
                .iter()
                .map(|e| text_of(e))
                .collect()
        };
        assert_eq!(after(None), ["a", "b", "c"]);
        assert_eq!(after(Some(1)), ["c"]);
        assert_eq!(after(Some(2)), [""; 0]);
    }
}

#[track_caller]
fn check_read(bytes: &[u8], expect: &[&str], bad_lines: usize, torn: bool) {
    let folder = Folder::new();
    let path = folder.put(bytes);
    let (mut log, entries, damage) = Log::open(&path).unwrap();
    let shown = String::from_utf8_lossy(bytes);
    assert_eq!(texts(&entries), expect, "{shown}");
    assert_eq!(damage, Damage { bad_lines, torn }, "{shown}");
    assert_eq!(
        damage.notice(ostler_wire::Language::English).is_some(),
        bad_lines > 0 || torn
    );
    // Whatever it was, it goes on after it, and nothing that was there is touched.
    log.append(vec![notice("more")]).unwrap();
    let now = std::fs::read(&path).unwrap();
    assert!(now.starts_with(bytes), "{shown}");
    let (entries, _) = read(&path).unwrap();
    let more: Vec<&str> = expect.iter().copied().chain(["more"]).collect();
    assert_eq!(texts(&entries), more, "{shown}");
}

#[test]
fn damaged_files_open_and_go_on() {
    let lines = three();
    let [a, b, c] = [&lines[0], &lines[1], &lines[2]];
    let half = &c[..c.len() / 2];
    let nul = "\0".repeat(4096);
    for (text, expect, bad_lines, torn) in [
        (String::new(), &[][..], 0, false),
        ("\n\n".into(), &[], 0, false),
        (nul.clone(), &[], 1, false),
        (format!("{a}\n{b}\n{c}\n"), &["a", "b", "c"], 0, false),
        // The line break alone is missing.
        (format!("{a}\n{b}\n{c}"), &["a", "b", "c"], 0, false),
        (format!("{a}\n{b}\n{half}"), &["a", "b"], 0, true),
        (format!("{a}\n{b}\n{half}\n"), &["a", "b"], 1, false),
        (format!("{a}\n{half}\n{b}\n"), &["a", "b"], 1, false),
        (format!("{a}\r\n{b}\r\n"), &["a", "b"], 0, false),
        (
            format!("{a}\nnot json\n[1]\nnull\n{b}\n"),
            &["a", "b"],
            3,
            false,
        ),
        // Padding after a loss of power, before, between and instead of line breaks.
        (format!("{a}\n{b}\n{nul}"), &["a", "b"], 0, false),
        (format!("{a}\n{nul}{b}\n"), &["a", "b"], 0, false),
        (format!("{a}{nul}{b}\n"), &["a", "b"], 0, false),
        (format!("{a}\n{half}{nul}{b}\n"), &["a", "b"], 1, false),
        // A type of a later version is nobody's damage.
        (
            format!("{a}\n{{\"type\":\"hologram\",\"entry\":9}}\n{b}\n"),
            &["a", "b"],
            0,
            false,
        ),
    ] {
        check_read(text.as_bytes(), expect, bad_lines, torn);
    }
    let mut bytes = format!("{a}\n").into_bytes();
    bytes.extend(b"{\"type\":\"notice\",\"text\":\"\xff\xfe\"}\n");
    bytes.extend(format!("{b}\n").bytes());
    check_read(&bytes, &["a", "b"], 1, false);
}

#[test]
fn a_new_entry_gets_a_number_of_its_own() {
    let line = |number: &str| {
        format!("{{\"type\":\"notice\",\"entry\":{number},\"ts\":\"\",\"text\":\"x\"}}\n")
    };
    for (text, expect) in [
        (line("0"), 1),
        (line("7") + &line("3"), 8),
        (line("7") + "{\"type\":\"hologram\",\"entry\":9}\n", 10),
        // Numbers that no counter reaches are not believed.
        (line("3") + &line("18446744073709551615"), 5),
        (line("18446744073709551614"), 1),
        (
            line("3") + "{\"type\":\"hologram\",\"entry\":18446744073709551615}\n",
            5,
        ),
    ] {
        let folder = Folder::new();
        let (mut log, _, _) = Log::open(&folder.put(&text)).unwrap();
        let numbers: Vec<u64> = log
            .append(vec![notice("a"), notice("b")])
            .unwrap()
            .iter()
            .map(|e| e.entry)
            .collect();
        assert_eq!(numbers, [expect, expect + 1], "{text}");
    }
}

#[test]
fn a_large_log_is_read_like_a_small_one() {
    let pad = "x".repeat(1000);
    let bodies = (0..3000).map(|i| notice(&format!("{i} {pad}")));
    let entries = numbered(bodies);
    let lines: Vec<String> = entries.iter().map(|e| e.to_line().unwrap()).collect();
    let text = lines.join("\n") + "\n";
    assert!(text.len() > 2 * PARALLEL_FROM);
    let folder = Folder::new();
    let (read_back, damage) = read(&folder.put(&text)).unwrap();
    assert_eq!(damage, Damage::default());
    assert!(read_back == entries);

    // The same without numbers, as older tools wrote it.
    let plain: Vec<String> = lines
        .iter()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            line.as_object_mut()
                .unwrap()
                .retain(|key, _| key != "entry" && key != "parent");
            line.to_string()
        })
        .collect();
    let (read_back, _) = read(&folder.put(plain.join("\n") + "\n")).unwrap();
    assert!(read_back == entries);
}

#[test]
fn a_failed_write_costs_only_itself() {
    let folder = Folder::new();
    let path = folder.path();
    let mut log = Log::plan(&path);
    log.append(vec![notice("a")]).unwrap();
    let writable = std::mem::replace(
        &mut log.sink,
        Sink::File {
            file: File::open(&path).unwrap(),
            path: path.clone(),
        },
    );
    let error = log
        .append(vec![notice("lost"), notice("lost too")])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("cannot be written") && error.contains("--no-save"),
        "{error}"
    );
    log.sink = writable;
    let entries = log.append(vec![notice("b")]).unwrap();
    // Part of the failed write may be on disk, so its numbers are not used again.
    assert_eq!((entries[0].entry, entries[0].parent), (3, Some(0)));
    let (entries, damage) = read(&path).unwrap();
    assert_eq!(
        (texts(&entries), damage),
        (vec!["a".into(), "b".into()], Damage::default())
    );
}

#[test]
fn a_part_of_a_failed_write_is_no_part_of_the_session() {
    let folder = Folder::new();
    let mut log = Log::plan(&folder.path());
    log.append(vec![notice("a")]).unwrap();
    // As a full disk leaves it: one line of a batch of two, and a piece of the other.
    let torn = numbered(["a", "half", "gone"].map(notice));
    let whole = torn[1].to_line().unwrap() + "\n";
    let piece = &torn[2].to_line().unwrap()[..20];
    std::fs::OpenOptions::new()
        .append(true)
        .open(folder.path())
        .unwrap()
        .write_all(format!("{whole}{piece}").as_bytes())
        .unwrap();
    (log.next, log.unended) = (3, true);
    log.append(vec![notice("b")]).unwrap();
    let (entries, damage) = read(&folder.path()).unwrap();
    assert_eq!(damage.bad_lines, 1);
    assert_eq!(texts(&branch(entries)), ["a", "b"]);
}

#[test]
fn a_log_in_a_place_that_comes_later_can_be_made_then() {
    let folder = Folder::new();
    let parent = folder.path().parent().unwrap().to_owned();
    std::fs::write(&parent, "in the way").unwrap();
    let mut log = Log::plan(&folder.path());
    let error = log.append(vec![notice("a")]).unwrap_err();
    assert!(error.to_string().contains("cannot be created"), "{error}");
    std::fs::remove_file(&parent).unwrap();
    log.append(vec![notice("b")]).unwrap();
    assert_eq!(texts(&read(&folder.path()).unwrap().0), ["b"]);
}

/// `number:parent` for each line, and the texts of the branch; a line's text is its place.
#[track_caller]
fn check_branch(lines: &[(u64, Option<u64>)], expect: &[usize]) {
    let entries: Vec<Entry> = lines
        .iter()
        .enumerate()
        .map(|(place, (entry, parent))| Entry {
            entry: *entry,
            parent: *parent,
            ts: String::new(),
            body: user(&place.to_string()),
        })
        .collect();
    let expect: Vec<String> = expect.iter().map(usize::to_string).collect();
    assert_eq!(texts(&branch(entries)), expect, "{lines:?}");
}

#[test]
fn a_branch_follows_parents_and_survives_their_loss() {
    let p = Some;
    for (lines, expect) in [
        (&[][..], &[][..]),
        (&[(0, None)], &[0]),
        (&[(0, None), (1, p(0)), (2, p(1))], &[0, 1, 2]),
        // Rewound to 1, then on.
        (
            &[(0, None), (1, p(0)), (2, p(1)), (3, p(1)), (4, p(3))],
            &[0, 1, 3, 4],
        ),
        // Line 1 is lost: what followed it follows line 0.
        (&[(0, None), (2, p(1)), (3, p(2))], &[0, 1, 2]),
        // The first line is lost.
        (&[(1, p(0)), (2, p(1))], &[0, 1]),
        // Rewound to a line that is lost.
        (
            &[(0, None), (2, p(1)), (3, p(2)), (4, p(1)), (5, p(4))],
            &[0, 3, 4],
        ),
        // A parent that is not named is the line before.
        (&[(0, None), (1, p(0)), (2, None), (3, p(2))], &[0, 1, 2, 3]),
        // A garbled number costs its own line at most.
        (
            &[(0, None), (1, p(0)), (92, p(1)), (3, p(2)), (4, p(3))],
            &[0, 1, 3, 4],
        ),
        (
            &[(0, None), (1, p(0)), (2, p(1)), (0, p(2)), (4, p(3))],
            &[0, 1, 2, 4],
        ),
        (&[(0, None), (1, p(0)), (2, p(1)), (1, p(2))], &[0, 1, 2, 3]),
        // Parents that come later, or are the line itself.
        (&[(0, None), (1, p(2)), (2, p(1))], &[0, 1, 2]),
        (&[(0, p(0)), (1, p(1)), (2, p(9))], &[0, 1, 2]),
    ] {
        check_branch(lines, expect);
    }
}

#[test]
fn damage_is_told_in_a_sentence() {
    let say = |bad_lines, torn| Damage { bad_lines, torn }.notice(ostler_wire::Language::English);
    assert_eq!(say(0, false), None);
    assert_eq!(
        say(0, true).unwrap(),
        "The last entry of this session was cut off and is lost."
    );
    assert_eq!(
        say(1, false).unwrap(),
        "1 unreadable line of this session log was left out."
    );
    assert_eq!(
        say(2, true).unwrap(),
        "2 unreadable lines of this session log were left out, and the last entry was cut off."
    );
}

#[cfg(unix)]
#[test]
fn only_files_are_logs() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("a.jsonl");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    assert!(read(&link).is_err());
    assert!(Log::open(&link).is_err());
    assert!(check_free(&link).is_ok());
}

#[test]
fn a_page_from_the_end_of_a_long_log_is_that_of_the_whole() {
    let folder = Folder::new();
    let path = folder.path();
    let mut log = Log::plan(&path);
    let long = |n: usize| notice(&format!("{n} {}", "x".repeat(1000)));
    log.append((0..3000).map(long).collect()).unwrap();
    let whole = |before: Option<u64>, limit: usize| {
        let mut all = branch(read(&path).unwrap().0);
        all.retain(|entry| before.is_none_or(|before| entry.entry < before));
        let older = all.len().saturating_sub(limit);
        (texts(&all[older..]), older > 0)
    };
    let paged = |before: Option<u64>, limit: usize| {
        let (entries, more) = page(&path, before, limit).unwrap();
        (texts(&entries), more)
    };
    let same = |what: &str| {
        for limit in [1, 200, 900, 2900, 3000, 5000] {
            assert_eq!(paged(None, limit), whole(None, limit), "{what}, {limit}");
        }
        assert_eq!(paged(Some(1500), 10), whole(Some(1500), 10), "{what}");
    };
    same("one branch");
    assert!(tail(&path, 200).unwrap().is_some(), "only the end was read");
    assert!(tail(&path, 2900).unwrap().is_none());
    // What was left by a rewind is not there, wherever it lies.
    log.set_head(100);
    log.append(vec![notice("another way")]).unwrap();
    assert_eq!(paged(None, 2).0[1], "another way");
    same("two branches");
    log.append((0..1500).map(long).collect()).unwrap();
    same("far behind the fork");
    // A line that is cut, or none, in the end.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"nonsense\n{\"type\": \"noti");
    std::fs::write(&path, bytes).unwrap();
    same("a torn end");
    assert!(page(&path.with_extension("gone"), None, 5).is_err());
}
