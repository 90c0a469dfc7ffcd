//! Predictions against what really happens: generated commands run under strace in an empty folder, and every file
//! they change must have been predicted, or the analysis must have said that it is not sure.

use ostler_guard::shell::{Place, analyse};
use ostler_guard::{Rule, Scope};
use ostler_wire::{Access, Segment};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

const CASES: u32 = 150;
const CALLS: &str = "trace=openat,open,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,truncate,chmod,fchmodat,mknod,mknodat";

fn name() -> impl Strategy<Value = String> {
    let names = [
        "a", "b", "sub/c", "'d e'", "\"f\"", "sub", "g{1,2}", "*", "sub/*", "$v", "\"$v\"", "./h",
        "\\i", "n''ew", "$'\\x6a'",
    ];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn simple() -> impl Strategy<Value = String> {
    let forms = [
        "touch N",
        "mkdir -p N",
        "rm -f N",
        "rm -rf N",
        "cp a N",
        "cp -r sub N",
        "mv a N",
        "mv -f b N",
        "ln -s a N",
        "ln a N",
        "tee N </dev/null",
        "echo x > N",
        "echo x >> N",
        "cat N",
        "ls N",
        "wc -l N",
        "grep -r x N",
        "sort N",
        "head -2 N",
        "cat < N",
        "find N -type f",
        "find sub -name c -delete",
        "find sub -exec touch {} +",
        "find . -name z -fprint N",
        "chmod 644 N",
        "rmdir N",
        "truncate -s 1 N",
        "v=N",
        "cd sub",
        "true",
        "echo N",
        "sed -n 1p N",
        "sort -o N a",
        "dd if=a of=N status=none",
        "cat <<E > N\nx\nE",
        ">N",
        "x=$(touch N)",
        "diff a N",
        "install -m 644 a N",
        "cp -t sub a N",
        "unlink N",
        "mkfifo N",
        "sed -i s/x/y/ N",
    ];
    (prop::sample::select(forms.to_vec()), name()).prop_map(|(form, name)| form.replace('N', &name))
}

fn wrapped() -> impl Strategy<Value = String> {
    let around = [
        "C",
        "C",
        "C",
        "(C)",
        "{ C; }",
        "if C; then true; fi",
        "for v in a b; do C; done",
        "! C",
        "echo $(C)",
        "C 2>/dev/null",
        "C | cat",
        "bash -c \"C\"",
        "eval \"C\"",
        "true && C",
        "false || C",
        "while C; do break; done",
        "case a in a) C;; esac",
        "f() { C; }; f",
        "C &> out",
        "cat <(C)",
    ];
    (prop::sample::select(around.to_vec()), simple())
        .prop_map(|(form, simple)| form.replace('C', &simple))
}

fn line() -> impl Strategy<Value = String> {
    let glue = prop::sample::select(vec!["; ", " && ", " || ", "\n", " | "]);
    prop::collection::vec((wrapped(), glue), 1..4).prop_map(|parts| {
        let last = parts.len().saturating_sub(1);
        parts
            .into_iter()
            .enumerate()
            .map(|(i, (command, glue))| if i == last { command } else { command + glue })
            .collect()
    })
}

/// The files that a command changed, or nothing when it cannot be watched here.
fn observe(command: &str, folder: &Path, log: &Path) -> Option<Vec<PathBuf>> {
    let setup = "mkdir -p sub && echo x > a && echo y > b && echo z > sub/c";
    let made = Command::new("bash")
        .args(["-c", setup])
        .current_dir(folder)
        .status()
        .ok()?;
    let mut strace = Command::new("strace");
    strace
        .args([
            "-f", "-y", "-qq", "-a", "1", "-s", "4096", "-e", CALLS, "-o",
        ])
        .arg(log);
    strace
        .args(["timeout", "2", "bash", "-c", command])
        .current_dir(folder);
    strace
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    strace.status().ok().filter(|_| made.success())?;
    let text = std::fs::read_to_string(log)
        .ok()
        .filter(|t| !t.is_empty())?;
    Some(
        text.lines()
            .flat_map(written)
            .filter(|p| !p.starts_with("/dev") && !p.starts_with("/proc"))
            .collect(),
    )
}

/// The paths that one line of the log says were changed.
pub(super) fn written(line: &str) -> Vec<PathBuf> {
    let Some((_, call)) = line.split_once(' ') else {
        return Vec::new();
    };
    let call = call.trim_start();
    let opened = call.starts_with("open");
    let changes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"]
        .iter()
        .any(|flag| call.contains(flag));
    if call.contains(") = -1") || !call.contains(") = ") || (opened && !changes) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut folder = PathBuf::new();
    let mut rest = call;
    // A folder in `<…>` belongs to the quoted name behind it.
    while let Some(at) = rest.find(['<', '"']) {
        let close = if rest[at..].starts_with('<') {
            '>'
        } else {
            '"'
        };
        let Some(end) = rest[at + 1..].find(close) else {
            break;
        };
        let piece = &rest[at + 1..at + 1 + end];
        rest = &rest[at + 2 + end..];
        if close == '>' {
            folder = piece.into();
        } else {
            out.push(folder.join(piece.trim_start_matches("./")));
        }
    }
    // Of two names a link leaves the first as it is.
    if call.starts_with("link") || call.starts_with("symlink") {
        out.drain(..1.min(out.len()));
    }
    out
}

fn predicted(path: &Path, segments: &[Segment], scope: &Scope) -> bool {
    let all = segments.iter().flat_map(|s| s.does.iter().chain(&s.needs));
    all.into_iter().any(|access| match access {
        Access::Write(p) => {
            // As a rule about the observed file would see the predicted one.
            let rule = Rule::parse(&format!("Edit({})", path.display()), "observed:1").unwrap();
            rule.touches_write(p, scope)
        }
        _ => false,
    })
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn every_change_was_predicted() {
    let probe = tempfile::tempdir().unwrap();
    let root = probe.path().canonicalize().unwrap();
    if observe("touch probe", &root, &root.join("log")).is_none_or(|seen| seen.is_empty()) {
        eprintln!("skipped: strace cannot watch commands here");
        return;
    }
    let config = ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(command in line())| {
        let folder = tempfile::tempdir().unwrap();
        let logs = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let place = Place { cwd: root.clone(), root: &root, home: None, open: &[] };
        let segments = analyse(&command, &place);
        // Somebody is asked, and knows that the list is not whole.
        let open = segments.iter().any(|s| s.is_unsure() || (!s.read_only && !s.names.is_empty()));
        if !open {
            let scope = Scope::new(root.clone(), None);
            for path in observe(&command, &root, &logs.path().join("log")).unwrap_or_default() {
                // Some calls tell no folder; there are only two.
                let expected = [root.join(&path), root.join("sub").join(&path)].iter().any(|p| predicted(p, &segments, &scope));
                prop_assert!(expected, "{command}\nchanged {}\n{segments:?}", path.display());
            }
        }
    });
}
