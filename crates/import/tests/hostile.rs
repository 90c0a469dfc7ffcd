//! Files that were made to hurt: each ends in a sentence or is passed over, and nothing of theirs changes.
#![cfg(unix)]

use ostler_import::{Opener, Places, agent, agents, list, survey};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

fn places(home: &Path) -> Places {
    Places {
        user_home: home.to_owned(),
        others: vec![home.join("project")],
        ..Places::default()
    }
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn faults(home: &Path, name: &str) -> Vec<String> {
    let found = survey(agent(name).unwrap(), &places(home));
    found.faults.iter().map(ToString::to_string).collect()
}

#[test]
fn settings_that_cannot_be_read_are_named() {
    for (bytes, says) in [
        ("[".repeat(1 << 20).into_bytes(), "recursion limit"),
        (vec![b'x'; 5 << 20], "too large"),
        (vec![0xff, 0xfe, 0x00], "UTF-8"),
        (b"{\"mcpServers\": {".to_vec(), "EOF"),
    ] {
        let home = tempfile::tempdir().unwrap();
        write(&home.path().join(".gemini/settings.json"), &bytes);
        let faults = faults(home.path(), "gemini");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(
            faults[0].contains("settings.json") && faults[0].contains(says),
            "{faults:?}"
        );
    }
}

#[test]
fn a_device_a_folder_and_a_file_of_the_project_are_not_settings() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".claude/settings.json");
    fs::create_dir_all(home.path().join(".claude")).unwrap();
    symlink("/dev/zero", &file).unwrap();
    assert_eq!(faults(home.path(), "claude").len(), 1);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(faults(home.path(), "claude").len(), 1);
    fs::remove_dir(&file).unwrap();
    let theirs = home.path().join("project/settings.json");
    write(&theirs, "{\"permissions\": {\"allow\": [\"Bash\"]}}");
    symlink(&theirs, &file).unwrap();
    let found = survey(agent("claude").unwrap(), &places(home.path()));
    assert_eq!(found.items, []);
    assert!(
        found.faults[0]
            .to_string()
            .contains("does not count as yours")
    );
}

#[test]
fn logs_of_nonsense_are_read_without_harm() {
    let home = tempfile::tempdir().unwrap();
    let circle = "{\"uuid\":\"a\",\"parentUuid\":\"b\",\"message\":{\"role\":\"user\",\"content\":\"one\"}}\n{\"uuid\":\"b\",\"parentUuid\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"two\"}}\n";
    let deep = format!("{{\"a\":{}\n", "[".repeat(200_000));
    let mut bytes = circle.as_bytes().to_vec();
    bytes.extend(deep.as_bytes());
    bytes.extend(b"\xff\xfe garbage\n\n\nnull\n7\n\"text\"\n{\"uuid\":3,\"message\":[]}\n{\"uu");
    write(&home.path().join(".claude/projects/p/one.jsonl"), &bytes);
    let places = places(home.path());
    let claude = agent("claude").unwrap();
    let (sessions, faults) = list(claude, &places);
    assert_eq!((sessions.len(), faults.len()), (1, 0));
    let read = Opener::default()
        .open(claude, &sessions[0], &places)
        .unwrap();
    assert_eq!(read.steps.len(), 2);
    assert_eq!(read.unread, 3);
}

#[test]
fn nonsense_in_every_place_panics_nowhere() {
    const PIECES: [&str; 12] = [
        "{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"a\",\"message\":{\"role\":\"assistant\",\"content\":[{}]}}\n",
        "{\"role\":\"user\",\"content\":[{\"type\":\"toolResponse\"}]}\n",
        "{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\"}}\n",
        "{\"type\":\"gemini\",\"id\":\"x\",\"toolCalls\":[{\"status\":\"success\"}]}\n",
        "{\"messages\":[1,null,{}]}\n",
        "{\"timestamp\":1e300,\"type\":\"compacted\",\"payload\":{}}\n",
        "RX4F\u{0}\u{0}\u{0}\u{5}",
        "{\n",
        "[]\n",
        "\u{0}\u{0}",
        "{\"mcpServers\":{\"a\":{\"command\":[]}},\"hooks\":{\"Stop\":[{\"hooks\":[{}]}]}}",
        "a = [{b = 1}]\n",
    ];
    let mut seed = 7_u64;
    let mut roll = move |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % most
    };
    for _ in 0..12 {
        let home = tempfile::tempdir().unwrap();
        let places = places(home.path());
        for agent in agents() {
            let rows = agent.settings.iter().map(|one| one.file.as_str());
            let rows = rows.chain(agent.sessions.iter().map(|one| one.files.as_str()));
            for row in rows.chain(agent.prose.iter().map(|one| one.files.as_str())) {
                let path = agent.path(&row.replace("**", "deep").replace('*', "x"), &places);
                let text: String = (0..roll(5)).map(|_| PIECES[roll(PIECES.len())]).collect();
                write(&path, text);
            }
            drop(survey(agent, &places));
            for session in list(agent, &places).0 {
                drop(Opener::default().open(agent, &session, &places));
            }
        }
    }
}
