//! The words that programs really get. The readers of the corpus run under dash and bash with recording programs as PATH,
//! and every call must be one that the analysis read.

use super::*;
use std::fs;
use std::process::{Command, Stdio};

const CORPUS: &str = include_str!("../corpus/commands.txt");
const TRACE: &str = include_str!("../corpus/trace.txt");

/// What a program was called with, for each call, as one text.
fn recorded(shell: &str, command: &str, top: &Path) -> Vec<String> {
    let log = top.join("log");
    fs::write(&log, "").unwrap();
    let mut process = Command::new(shell);
    process.args(["-c", command]).current_dir(top.join("repo"));
    process
        .env_clear()
        .env("PATH", top.join("bin"))
        .env("HOME", "/home/me")
        .env("LOG", &log);
    process
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = process.status();
    let text = fs::read_to_string(&log).unwrap_or_default();
    text.split('\u{1}')
        .filter(|call| !call.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "numbers for people who run it with --nocapture"
)]
fn shells_hand_over_the_words_that_were_read() {
    let top = tempfile::tempdir().unwrap();
    let (bin, repo) = (top.path().join("bin"), top.path().join("repo"));
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(&repo).unwrap();
    let stub = top.path().join("stub");
    let dash = ["/usr/bin/dash", "/bin/dash", "/bin/sh"]
        .into_iter()
        .find(|p| Path::new(p).exists())
        .unwrap();
    let text = format!(
        "#!{dash}\ncall=${{0##*/}}\nfor word; do call=\"$call $word\"; done\nprintf '%s\\001' \"$call\" >> \"$LOG\"\n"
    );
    fs::write(&stub, text).unwrap();
    let made = Command::new("chmod").arg("755").arg(&stub).status();
    assert!(made.is_ok_and(|status| status.success()));
    let root = Path::new("/repo");
    let lines = CORPUS
        .lines()
        .chain(TRACE.lines())
        .filter(|l| !l.starts_with("# "));
    let texts = lines
        .filter_map(|l| l.splitn(3, '\t').nth(2))
        .filter(|c| !c.contains('\\'))
        .map(str::to_owned);
    let examples = spec::all().flat_map(|row| row.yes.iter().map(|yes| (*yes).to_owned()));
    let (mut runs, mut wrong) = (0, Vec::new());
    for command in texts.chain(examples) {
        let place = Place {
            cwd: root.to_owned(),
            root,
            home: Some(Path::new("/home/me")),
            open: &[],
        };
        let segments = analyse(&command, &place);
        let plain = segments.iter().all(|s| s.read_only && s.needs.is_empty())
            && !command.contains(['$', '`', '{', '<'])
            && !command.contains("cd ")
            && !command.contains(" .*");
        if !plain {
            continue;
        }
        for word in segments.iter().flat_map(|s| s.argv.iter().chain(&s.also)) {
            let name = word.split(' ').next().unwrap_or_default();
            if !name.is_empty() && !name.contains('/') {
                let _ = fs::copy(&stub, bin.join(name));
            }
        }
        let known: Vec<&String> = segments
            .iter()
            .flat_map(|s| std::iter::once(&s.text).chain(&s.also))
            .collect();
        for shell in ["/bin/dash", "/bin/bash"]
            .into_iter()
            .filter(|s| Path::new(s).exists())
        {
            runs += 1;
            for call in recorded(shell, &command, top.path()) {
                let fed = call.starts_with("xargs") || known.iter().any(|k| **k == call);
                if !fed {
                    wrong.push(format!("{shell} {command}: {call:?}, not {known:?}"));
                }
            }
        }
    }
    eprintln!("{runs} runs, {} with other words", wrong.len());
    assert!(runs > 500, "{runs}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
