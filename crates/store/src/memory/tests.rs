//! Facts on a real disk: hand-made files, nonsense, races, faults, and what a session was told already.

mod recall;

use super::*;
use ostler_wire::Language;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

const PROJECT: &str = "app-00000000";

struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("memory").join(PROJECT)).unwrap();
        Self { dir }
    }

    /// As another process has it.
    fn memory(&self) -> Memory {
        Memory::new(self.dir.path(), PROJECT, Redactor::default())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("memory").join(PROJECT).join(name)
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Every file below the folder of the project, with its bytes.
    fn all(&self) -> Vec<(String, Vec<u8>)> {
        let walk = ignore::WalkBuilder::new(self.path(""))
            .hidden(false)
            .build();
        let files = walk
            .flatten()
            .filter(|e| e.file_type().is_some_and(|t| t.is_file()));
        let mut all: Vec<(String, Vec<u8>)> = files
            .map(|e| (e.path().display().to_string(), fs::read(e.path()).unwrap()))
            .collect();
        all.sort();
        all
    }
}

fn wish(name: &str, body: &str) -> Wish {
    Wish {
        name: Some(name.into()),
        body: Some(body.into()),
        ..Wish::default()
    }
}

fn names(facts: &[Fact]) -> Vec<&str> {
    let mut names: Vec<&str> = facts.iter().map(|f| f.name.as_str()).collect();
    names.sort_unstable();
    names
}

fn told_by(memory: &Memory, prompt: &str) -> Vec<String> {
    let recalled = memory.recall(prompt, &HashSet::new()).unwrap();
    recalled.names().into_iter().map(str::to_owned).collect()
}

#[test]
fn nothing_is_made_before_it_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory::new(dir.path(), PROJECT, Redactor::default());
    assert!(!memory.is_there());
    assert_eq!(memory.list(None).unwrap(), []);
    assert_eq!(
        memory
            .recall("the payment gateway", &HashSet::new())
            .unwrap()
            .block,
        None
    );
    assert_eq!(memory.archived().unwrap(), []);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn revisions_are_kept_and_stale_ones_refused() {
    let home = Home::new();
    let memory = home.memory();
    let first = memory.remember(&wish("Port", "It is 7741.")).unwrap();
    assert_eq!((first.revision, first.place), (1, Place::Project));
    let revise = |version: &str, body: &str| Wish {
        revises: Some((first.id.clone(), version.into())),
        body: Some(body.into()),
        ..Wish::default()
    };
    let second = memory
        .remember(&revise(&first.version(), "It is 7742."))
        .unwrap();
    assert_eq!(
        (second.revision, second.created == first.created),
        (2, true)
    );
    let stale = memory.remember(&revise(&first.version(), "It is 1."));
    assert!(
        matches!(&stale, Err(MemoryError::Stale { now, .. }) if *now == second.version()),
        "{stale:?}"
    );
    // By hand, without a word about it in the front matter.
    let text = home.get("port.md");
    home.put("port.md", text.replace("7742", "7743"));
    let by_hand = memory.read(&first.id).unwrap();
    assert_eq!(
        (by_hand.revision, by_hand.body.as_str()),
        (2, "It is 7743.")
    );
    let stale = memory.remember(&revise(&second.version(), "It is 1."));
    assert!(matches!(stale, Err(MemoryError::Stale { .. })), "{stale:?}");
    let third = memory
        .remember(&revise(&by_hand.version(), "It is 7744."))
        .unwrap();
    assert_eq!(third.revision, 3);
    let kept: Vec<String> = home
        .all()
        .into_iter()
        .map(|(_, bytes)| String::from_utf8(bytes).unwrap())
        .collect();
    for said in ["7741", "7743", "7744"] {
        assert!(
            kept.iter().any(|text| text.contains(said)),
            "{said} is lost"
        );
    }
}

#[test]
fn archived_facts_are_found_no_more_and_come_back_whole() {
    let home = Home::new();
    let memory = home.memory();
    let fact = memory
        .remember(&wish("Gateway", "The gateway is 7741."))
        .unwrap();
    assert_eq!(told_by(&memory, "the gateway?"), ["Gateway"]);
    memory.archive(&fact.id[..5], None).unwrap();
    assert_eq!(
        (told_by(&memory, "the gateway?"), memory.list(None).unwrap()),
        (vec![], vec![])
    );
    assert!(matches!(memory.read(&fact.id), Err(MemoryError::NoFact(_))));
    // Another of the same name and file meanwhile.
    let other = memory.remember(&wish("Gateway", "Another.")).unwrap();
    assert_eq!(memory.archived().unwrap(), std::slice::from_ref(&fact));
    assert_eq!(memory.restore(&fact.id).unwrap(), fact);
    assert!(matches!(
        memory.restore(&fact.id),
        Err(MemoryError::Exists { .. })
    ));
    assert_eq!(memory.read(&fact.id).unwrap(), fact);
    assert_eq!(memory.read(&other.id).unwrap(), other);
    assert!(matches!(
        memory.restore("nothing"),
        Err(MemoryError::NoFact(_))
    ));
}

#[test]
fn files_of_people_are_facts_and_are_revised_with_care() {
    let home = Home::new();
    home.put("ports.md", "# Ports\nThe gateway is 7741.\n");
    home.put(
        "team.md",
        "\u{feff}---\r\nname: Team\r\nowner: ann\r\n---\r\nAnn owns the zebra module.\r\n",
    );
    home.put("notes.txt", "no fact");
    let memory = home.memory();
    assert_eq!(names(&memory.list(None).unwrap()), ["Team", "ports"]);
    assert_eq!(told_by(&memory, "who owns zebra?"), ["Team"]);
    let team = memory.read("team").unwrap();
    let revised = Wish {
        revises: Some((team.id.clone(), team.version())),
        body: Some("Bob owns it.".into()),
        ..Wish::default()
    };
    memory.remember(&revised).unwrap();
    let text = home.get("team.md");
    assert!(
        text.starts_with("\u{feff}---\r\nid: team\r\nrevision: 2\r\nname: Team\r\n"),
        "{text:?}"
    );
    assert!(
        text.contains("owner: ann\r\n---\r\n\r\nBob owns it.\r\n"),
        "{text:?}"
    );
    // In place, which the folder does not show.
    home.put("ports.md", "The walrus is 7741.\n");
    assert_eq!(told_by(&memory, "where is the walrus?"), ["ports"]);
    assert_eq!(told_by(&memory, "where is the gateway?"), [""; 0]);
}

/// Files as an editor, a sync tool or a bad disk may leave them: none of them is a panic, and what can be read is
/// revised without losing a line of it.
#[test]
fn garbled_files_are_facts_that_survive_a_revision_or_no_facts() {
    const PIECES: [&str; 22] = [
        "---\n",
        "---",
        "\r\n",
        "\n",
        "\u{feff}",
        "id: x1\n",
        "id: x1\r\n",
        "name: n\n",
        "name:\n",
        "revision: 18446744073709551615\n",
        "revision: -3\n",
        "type: user\n",
        "type: [a, b]\n",
        "scope: global\n",
        "other: 'kept'\n",
        "# comment\n",
        "created: never\n",
        "words\n",
        "中文 \u{202e}\n",
        "\u{1b}[31m\n",
        ": :\n",
        "  - deep:\n",
    ];
    let mut seed = 3u64;
    let mut roll = move |most: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % most
    };
    let mut facts = 0;
    for _ in 0..20_000 {
        let mut text: Vec<u8> = Vec::new();
        for _ in 0..roll(14) {
            text.extend(PIECES[roll(PIECES.len())].as_bytes());
        }
        if roll(8) == 0 && !text.is_empty() {
            let at = roll(text.len());
            text[at] = roll(256) as u8;
        }
        let Ok(fact) = fact::parse("stem", &text, Place::Project) else {
            continue;
        };
        facts += 1;
        let next = Fact {
            revision: fact.revision.saturating_add(1),
            body: "revised".into(),
            ..fact.clone()
        };
        let written = fact::render(&next, Some(&text));
        let shown = String::from_utf8_lossy(&text).into_owned();
        let again = fact::parse("stem", &written, Place::Project)
            .unwrap_or_else(|fault| panic!("{fault:?}: {shown:?} became {written:?}"));
        assert_eq!(
            (&again.id, again.revision),
            (&next.id, next.revision),
            "{shown:?}"
        );
        assert_eq!(again.body.trim(), "revised", "{shown:?}");
        let plain = shown.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        if plain.starts_with("---\nother: 'kept'\n") {
            let written = String::from_utf8_lossy(&written);
            assert!(written.contains("other: 'kept'"), "{shown:?}");
        }
    }
    assert!(facts > 2_000, "{facts}");
}

#[test]
fn facts_beyond_the_most_are_said_and_left_alone() {
    let home = Home::new();
    for n in 0..folder::MAX_FACTS + 3 {
        home.put(&format!("f{n:05}.md"), format!("fact {n}"));
    }
    // Also by one who finds the copy of the index.
    for _ in 0..2 {
        let memory = home.memory();
        memory.sweep();
        let left = memory.left_out().unwrap();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0].fault, Fault::Surplus(3));
        let text = left[0].say(Language::English);
        assert!(
            text.starts_with("3 facts in ") && text.contains("10000"),
            "{text}"
        );
    }
    assert!(home.path("f10002.md").exists());
    for n in 0..3 {
        fs::remove_file(home.path(&format!("f{n:05}.md"))).unwrap();
    }
    let memory = home.memory();
    memory.sweep();
    assert_eq!(memory.left_out().unwrap(), []);
}

#[test]
fn nonsense_is_left_out_said_and_left_alone() {
    let home = Home::new();
    home.put("good.md", "The gateway is 7741.");
    home.put(
        "random.md",
        (0..4000u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect::<Vec<u8>>(),
    );
    home.put("huge.md", vec![b'x'; 10 << 20]);
    home.put("cut.md", "---\nname: gateway\n");
    home.put("empty.md", "");
    home.put("evil.md", "---\nid: ../../../x\n---\ngateway");
    home.put("a-copy.md", "---\nid: same\n---\nzebra");
    home.put("b-copy.md", "---\nid: same\n---\nwalrus");
    fs::create_dir(home.path("folder.md")).unwrap();
    fs::write(home.dir.path().join("outside.md"), "gateway secrets").unwrap();
    symlink(home.dir.path().join("outside.md"), home.path("link.md")).unwrap();
    symlink("/nowhere", home.path("dangling.md")).unwrap();
    let before = home.all();
    let memory = home.memory();
    let facts = memory.list(None).unwrap();
    assert_eq!(names(&facts), ["a-copy", "good"]);
    let left: Vec<String> = memory
        .left_out()
        .unwrap()
        .iter()
        .map(|left| {
            let name = left
                .path
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned();
            format!("{name}: {}", left.fault.say(Language::English))
        })
        .collect();
    insta::assert_snapshot!(left.join("\n"), @r"
    b-copy.md: a-copy.md has the same id; remove the id line to make it a fact of its own
    cut.md: its front matter has no end; close it with a line of ---
    dangling.md: it is a link
    empty.md: it is empty
    evil.md: its id ../../../x has characters other than letters, digits, `-`, `_` and `.`
    folder.md: it is not a file
    huge.md: it has 10485760 bytes, more than 65536
    link.md: it is a link
    random.md: it is not text
    ");
    assert_eq!(told_by(&memory, "the gateway"), ["good"]);
    assert_eq!(told_by(&memory, "zebra or walrus"), ["a-copy"]);
    // Work around them touches none of them.
    let fact = memory
        .remember(&wish("random", "A walrus of its own."))
        .unwrap();
    memory.archive(&fact.id, None).unwrap();
    for (path, bytes) in before {
        assert_eq!(fs::read(&path).unwrap(), bytes, "{path}");
    }
    // A folder that is none.
    let other = Memory::new(home.dir.path(), "file-00000000", Redactor::default());
    fs::write(home.dir.path().join("memory/file-00000000"), "x").unwrap();
    assert!(other.list(None).is_err() && other.remember(&wish("a", "b")).is_err());
    assert_eq!(
        fs::read(home.dir.path().join("memory/file-00000000")).unwrap(),
        b"x"
    );
}

#[test]
fn what_was_told_is_not_told_again_until_it_changes() {
    let home = Home::new();
    let memory = home.memory();
    let fact = memory
        .remember(&wish("Gateway", "The gateway is 7741."))
        .unwrap();
    let first = memory.recall("the gateway", &HashSet::new()).unwrap();
    let block = first.block.unwrap();
    let known: HashSet<String> = told(&block).into_iter().collect();
    let again = memory.recall("the gateway", &known).unwrap();
    assert_eq!((again.block, again.why[0].fate), (None, Fate::Known));
    let revised = Wish {
        revises: Some((fact.id.clone(), fact.version())),
        body: Some("The gateway is 7742.".into()),
        ..Wish::default()
    };
    memory.remember(&revised).unwrap();
    let now = memory.recall("the gateway", &known).unwrap();
    assert!(now.block.unwrap().contains("7742"));
}

#[test]
fn projects_keep_apart_and_share_what_is_global() {
    let home = Home::new();
    let (one, other) = (
        home.memory(),
        Memory::new(home.dir.path(), "other-11111111", Redactor::default()),
    );
    one.remember(&wish("Here", "The gateway is 7741.")).unwrap();
    let global = Wish {
        place: Some(Place::Global),
        ..wish("Everywhere", "The gateway team is in Porto.")
    };
    one.remember(&global).unwrap();
    assert_eq!(names(&one.list(None).unwrap()), ["Everywhere", "Here"]);
    assert_eq!(names(&other.list(None).unwrap()), ["Everywhere"]);
    assert_eq!(
        names(&one.list(Some(Place::Global)).unwrap()),
        ["Everywhere"]
    );
    assert_eq!(told_by(&other, "which gateway?"), ["Everywhere"]);
}

#[test]
fn secrets_are_not_kept() {
    let home = Home::new();
    let redactor = Redactor::default();
    redactor.learn(["sk-topsecret-123456"]);
    let memory = Memory::new(home.dir.path(), PROJECT, redactor);
    memory
        .remember(&wish("Key sk-topsecret-123456", "Use sk-topsecret-123456."))
        .unwrap();
    for (path, bytes) in home.all() {
        let text = String::from_utf8(bytes).unwrap();
        assert!(
            !text.contains("topsecret") && !path.contains("topsecret"),
            "{path}: {text}"
        );
    }
}

#[test]
fn many_at_once_lose_nothing() {
    let home = Home::new();
    let base = home.memory().remember(&wish("Shared", "start")).unwrap();
    let won: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (home, base) = (&home, &base);
                scope.spawn(move || {
                    let memory = home.memory();
                    for n in 0..8 {
                        memory
                            .remember(&wish(&format!("Fact {worker} {n}"), "words"))
                            .unwrap();
                    }
                    // All read the same revision; one can write.
                    let wish = Wish {
                        revises: Some((base.id.clone(), base.version())),
                        body: Some(format!("by {worker}")),
                        ..Wish::default()
                    };
                    usize::from(memory.remember(&wish).is_ok())
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
    let memory = home.memory();
    assert_eq!(memory.list(None).unwrap().len(), 33);
    assert_eq!(memory.read(&base.id).unwrap().revision, 2);
    assert_eq!(memory.left_out().unwrap(), []);
}

#[test]
fn what_a_killed_process_left_is_swept_and_read_by_nobody() {
    let home = Home::new();
    home.put(".new-abc123", "---\nname: half");
    home.put(".history/x/1-abc.md", "old");
    let memory = home.memory();
    assert_eq!(memory.list(None).unwrap(), []);
    memory.remember(&wish("A", "b")).unwrap();
    assert!(!home.path(".new-abc123").exists());
    assert_eq!(home.get(".history/x/1-abc.md"), "old");
}

#[test]
fn a_disk_that_takes_nothing_changes_nothing() {
    let home = Home::new();
    let memory = home.memory();
    let fact = memory
        .remember(&wish("Gateway", "The gateway is 7741."))
        .unwrap();
    let before = home.get("gateway.md");
    // Nothing can be kept of the old revision where its folder should be.
    home.put(".history", "in the way");
    let revised = Wish {
        revises: Some((fact.id.clone(), fact.version())),
        body: Some("The gateway is 1.".into()),
        ..Wish::default()
    };
    let failed = memory.remember(&revised).unwrap_err();
    assert!(matches!(failed, MemoryError::Write { .. }), "{failed}");
    assert!(
        failed.to_string().ends_with("Nothing was changed."),
        "{failed}"
    );
    home.put(".archive", "in the way");
    assert!(matches!(
        memory.archive(&fact.id, None),
        Err(MemoryError::Write { .. })
    ));
    assert_eq!(home.get("gateway.md"), before);
    assert_eq!(memory.read(&fact.id).unwrap(), fact);
}

#[test]
fn a_copy_of_the_index_is_as_good_as_the_files() {
    let home = Home::new();
    for n in 0..400 {
        home.put(&format!("f{n}.md"), format!("Fact {n} about animal{n}."));
    }
    let memory = home.memory();
    assert_eq!(told_by(&memory, "animal7"), ["f7"]);
    let copy = home
        .dir
        .path()
        .join("cache/memory")
        .join(format!("{PROJECT}.idx"));
    assert!(copy.exists());
    // Old enough that a change of the folder shows.
    std::thread::sleep(Duration::from_millis(150));
    memory.sweep();
    let next = home.memory();
    assert_eq!(told_by(&next, "animal7"), ["f7"]);
    fs::remove_file(home.path("f7.md")).unwrap();
    home.put("new.md", "A unicorn.");
    for memory in [&next, &home.memory()] {
        assert_eq!(told_by(memory, "animal7"), [""; 0]);
        assert_eq!(told_by(memory, "unicorn"), ["new"]);
    }
    // In place: what is told is what is there, and the next look finds the new words.
    home.put("f8.md", "Fact 8 about a griffin.");
    assert_eq!(told_by(&next, "animal8"), [""; 0]);
    next.sweep();
    assert_eq!(told_by(&next, "griffin"), ["f8"]);
    for nonsense in [&b""[..], b"ostlmem1", &[7; 5000]] {
        fs::write(&copy, nonsense).unwrap();
        assert_eq!(told_by(&home.memory(), "unicorn"), ["new"]);
    }
}

/// A small file system, for as long as the test needs it.
#[cfg(target_os = "linux")]
struct Disk(PathBuf);

#[cfg(target_os = "linux")]
impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
    }
}

#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let home = Home::new();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "ostler-test"])
        .arg(home.path(""))
        .output();
    // Only some may mount.
    let refusal = match mounted {
        Ok(out) if out.status.success() => None,
        Ok(out) => Some(String::from_utf8_lossy(&out.stderr).trim().to_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = refusal {
        eprintln!("skipped: no small file system can be mounted here ({why})");
        return;
    }
    let _disk = Disk(home.path(""));
    let memory = home.memory();
    let fact = memory.remember(&wish("Gateway", "It is 7741.")).unwrap();
    let before = home.get("gateway.md");
    let mut size = 64 << 10;
    while fs::write(home.path("filler"), vec![0; size]).is_err() {
        size -= 1024;
    }
    let full = |result: Result<Fact, MemoryError>| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
    };
    full(memory.remember(&wish("More", "words")));
    full(memory.remember(&Wish {
        revises: Some((fact.id.clone(), fact.version())),
        body: Some("It is 1. ".repeat(600)),
        ..Wish::default()
    }));
    assert_eq!(home.get("gateway.md"), before);
    fs::remove_file(home.path("filler")).unwrap();
    memory.remember(&wish("More", "words")).unwrap();
    assert_eq!(names(&memory.list(None).unwrap()), ["Gateway", "More"]);
}
