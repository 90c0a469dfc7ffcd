//! Readers against what really happens. A generator makes commands of the table's rows with odd options, quotes,
//! expansions and shell constructs; what the analysis calls a reader is run by several shells in a throw-away folder,
//! and must neither change a file there or beside it nor show what lies outside or in the environment. Another check runs
//! the readers of the corpus with recording programs and compares the words that these really get.

use super::*;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// Commands in a usual run, and in a long one.
const COMMANDS: usize = 2000;
const MANY: usize = 100_000;
/// Commands between two looks at the files.
const BATCH: usize = 40;
const SECRET: &str = "s3cr3t-of-the-environment";
const OUTSIDE: &str = "text-of-a-file-outside";

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % sides.max(1)
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.roll(list.len())]
    }
}

const OPERANDS: &[&str] = &[
    "a.txt",
    "b.txt",
    "src/main.rs",
    "src",
    ".",
    "'c d.txt'",
    "*.txt",
    "*",
    "./*",
    "$x",
    "\"$x\"",
    "{a,b}.txt",
    "../outside/secret.txt",
    "$HOME/note",
    "~/note",
    "HEAD",
    "hello",
    "-",
    "--",
    "'s/hello/x/'",
    "'1p'",
    "'{print $1}'",
    ".a",
    "'$1 > 2'",
    "+%s",
    "1",
    "a.txt.gz",
    "'/h|x/'",
];
const HOSTILE: &[&str] = &[
    "-o",
    "-opwned",
    "--output=pwned",
    "-i",
    "-n -i",
    "--in-place",
    "-exec touch pwned ';'",
    "-delete",
    "-fprint pwned",
    "'1w pwned'",
    "'1e touch pwned'",
    "-e '1e touch pwned'",
    "-ne 'w pwned'",
    "'BEGIN{system(\"touch pwned\")}'",
    "-F : 'BEGIN{system(\"touch pwned\")}'",
    "'{print > \"pwned\"}'",
    "'{print $1 | \"touch pwned\"}'",
    "'s/h/touch pwned/e'",
    "pwned",
    "-r",
    "--ext-diff",
    "--textconv",
    "-T .",
    "--compress-program=./evil",
    "-S1 --compress-program ./evil",
    "--pre=./evil",
    "-O./evil",
    "-f a.txt",
    "--files0-from=a.txt",
    "-C",
    "-d x",
    "@a.txt",
    "+ ';'",
    "--outp=pwned",
    "-x touch pwned",
    "env",
    "'$ENV'",
    "-v SECRET_TOKEN",
    "SECRET_TOKEN",
    "e",
    "auxe",
    "-exec sort + -o pwned ';'",
    "-exec uniq a.txt + ';'",
    "-pwned",
    "/proc/self/environ",
];
const AROUND: &[&str] = &[
    "C",
    "C",
    "C",
    "C",
    "(C)",
    "{ C; }",
    "! C",
    "C | cat",
    "C 2>/dev/null",
    "C 2>&1 | head -3",
    "x=a.txt; C",
    "x=-o; C",
    "x=-o; x=-n & C",
    "x=ls; x=touch :; $x pwned; C",
    "if C; then C; fi",
    "for x in *.txt; do C; done",
    "for x in a.txt b.txt; do C; done",
    "echo \"$(C)\"",
    "echo `C`",
    "C & C",
    "C && D",
    "C || D",
    "C; D",
    "cat <<E\n$(C)\nE",
    "cat <<'E'\n$(touch pwned)\nE",
    "C &>/dev/null touch pwned",
    "[[ a || touch pwned ]]; C",
    "x=$'\\'; touch pwned; : \\''; C",
    "sh -c 'C'",
    "bash -c \"C\"",
    "timeout 5 C",
    "nice C",
    "env C",
    "env -i C",
    "command C",
    "find . -name a.txt -exec C ';'",
    "find . -name '*.txt' | xargs C",
    "ls | xargs C",
    "echo a.txt | xargs C",
    "echo touch pwned | xargs",
    "x='$(touch pwned)'; cat <<E\n${x@P}\nE\nC",
    "x='a[$(touch pwned)]'; C; echo $((x))",
    "case a in a) C;; esac",
    "while C; do break; done",
    "echo x | { x=touch; }; $x pwned; C",
    "cd src && C",
    "cd src; C",
    "C > pwned",
    "C >| pwned",
    "C <a.txt",
    "diff <(C) <(D)",
    "printf '%s\\n' \"$(C)\"",
    "printf %d 'a[$(touch pwned)]'; C",
    "test 'a[$(touch pwned)]' -eq 1; C",
    "IFS=; C",
    "PATH=.:$PATH; C",
    "GIT_PAGER=./evil C",
    "LC_ALL=C C",
    "echo ${SECRET_TOKEN}; C",
    "echo $SECRET_TOKEN",
    "eval C",
    "f() { C; }; f",
    "set -e; C",
    "C |& cat",
    "cat <<<x; C",
    "true && x=touch; C",
    "\\C",
    "C \\\n a.txt",
];
/// Rows that are slow, wait, or look at the whole machine.
const LEFT_OUT: &[&str] = &[
    "sleep",
    "lsof",
    "man",
    "apropos",
    "whatis",
    "apt",
    "apt-cache",
    "brew",
    "dpkg",
    "dpkg-query",
    "ps",
    "ss",
    "netstat",
    "lspci",
    "lsusb",
    "df",
    "cloc",
    "tokei",
    "scc",
    "gem",
    "terraform",
    "kubectl",
    "helm",
    "uptime",
    "date",
    "tail",
    "vmstat",
    "rpm",
    "pacman",
    "apk",
];

fn quoted(dice: &mut Dice, word: &str) -> String {
    let plain = word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-./=".contains(c));
    match dice.roll(8) {
        0 if plain => format!("'{word}'"),
        1 if plain => format!("\"{word}\""),
        2 if plain => format!("\\{word}"),
        3 if plain && word.len() > 1 => format!("{}''{}", &word[..1], &word[1..]),
        _ => word.to_owned(),
    }
}

fn simple(dice: &mut Dice, rows: &[&'static spec::Reader]) -> String {
    let row = rows[dice.roll(rows.len())];
    if dice.roll(4) == 0 && !row.yes.is_empty() {
        return row.yes[dice.roll(row.yes.len())].to_owned();
    }
    let mut out = row.words.join(" ");
    let options = row.option_names();
    for _ in 0..dice.roll(6) {
        let word = match dice.roll(10) {
            0..=3 if !options.is_empty() => {
                let (name, takes) = options[dice.roll(options.len())];
                let name = name.replace('#', "3");
                let value = dice.pick(&["1", "a.txt", "x", "-o", "2"]);
                match (takes, dice.roll(3)) {
                    (true, 0) => format!("{name} {value}"),
                    (true, 1) if name.starts_with("--") => format!("{name}={value}"),
                    (true, _) => format!("{name}{value}"),
                    (false, 0) if name.len() > 4 => name[..name.len() - 1].to_owned(),
                    (false, _) => name,
                }
            }
            4 => dice.pick(HOSTILE).to_owned(),
            _ => dice.pick(OPERANDS).to_owned(),
        };
        out.push(' ');
        out.push_str(&quoted(dice, &word));
    }
    out
}

fn command(dice: &mut Dice, rows: &[&'static spec::Reader]) -> String {
    let (one, other) = (simple(dice, rows), simple(dice, rows));
    dice.pick(AROUND).replace('D', &other).replace('C', &one)
}

/// Files with what shows that they were changed.
type Files = BTreeMap<PathBuf, (u64, Option<SystemTime>, bool)>;

/// Adds every file below.
fn snapshot(folder: &Path, out: &mut Files) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        if meta.is_dir() {
            snapshot(&path, out);
        }
        let size = if meta.is_dir() { 0 } else { meta.len() };
        let state = (size, meta.modified().ok(), meta.permissions().readonly());
        out.insert(path, state);
    }
}

struct Fixture {
    top: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let setup = format!(
            "mkdir -p repo/src outside home && cd repo && printf 'hello world\\n3 4\\n' > a.txt && echo b > b.txt \
             && echo c > 'c d.txt' && echo 'fn main() {{}}' > src/main.rs && echo {OUTSIDE} > ../outside/secret.txt \
             && echo note > ../home/note && printf '#!/bin/sh\\ntouch pwned\\n' > evil && chmod +x evil \
             && printf '#!/bin/sh\\ntouch pwned\\n' > ls && chmod +x ls && touch -- -opwned && gzip -k a.txt; \
             git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x; true"
        );
        let made = Command::new("bash")
            .args(["-c", &setup])
            .current_dir(top.path())
            .env("HOME", top.path().join("home"))
            .status();
        assert!(made.is_ok_and(|s| s.success()));
        Self { top }
    }

    fn root(&self) -> PathBuf {
        self.top.path().canonicalize().unwrap().join("repo")
    }

    fn files(&self) -> Files {
        let mut out = BTreeMap::new();
        snapshot(self.top.path(), &mut out);
        out
    }

    /// What the command printed.
    fn run(&self, shell: &[&str], command: &str) -> String {
        let mut process = Command::new("timeout");
        process
            .args(["-k", "1", "5"])
            .args(shell)
            .arg(command)
            .current_dir(self.root());
        process
            .env("HOME", self.top.path().join("home"))
            .env("SECRET_TOKEN", SECRET)
            .env("GIT_OPTIONAL_LOCKS", "0");
        let output = process.stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    }
}

fn is_reader(command: &str, root: &Path, home: &Path) -> bool {
    let place = Place {
        cwd: root.to_owned(),
        root,
        home: Some(home),
        open: &[],
    };
    accesses(analyse(command, &place))
        .iter()
        .all(Access::is_read_only)
}

const SHELLS: &[&[&str]] = &[
    &["dash", "-c"],
    &["bash", "-c"],
    &["bash", "-c", "exec -a sh zsh -c \"$0\""],
    &["ksh", "-c"],
];

fn is_there(program: &str) -> bool {
    let mut process = Command::new(program);
    process.args(["-c", "true"]).stdin(Stdio::null());
    process.status().is_ok_and(|status| status.success())
}

/// Runs the commands one after the other; those that changed something or showed what they should not.
fn harm(fixture: &Fixture, shell: &[&str], commands: &[String]) -> Vec<String> {
    let before = fixture.files();
    let mut out = Vec::new();
    for command in commands {
        let shown = fixture.run(shell, command);
        // The words themselves may be shown.
        if shown.contains(SECRET) || shown.contains(OUTSIDE) {
            out.push(format!("{shell:?} shows a secret: {command}"));
        }
    }
    if fixture.files() == before {
        return out;
    }
    match commands {
        [one] => out.push(format!("{shell:?} changes files: {one}")),
        _ => {
            for command in commands {
                out.extend(harm(&Fixture::new(), shell, std::slice::from_ref(command)));
            }
        }
    }
    out
}

#[test]
fn what_is_called_a_reader_changes_nothing() {
    try_commands(COMMANDS, 0x5eed_1234);
}

#[test]
#[ignore = "takes a quarter of an hour; run by hand for docs/measurements.md"]
fn what_is_called_a_reader_changes_nothing_at_length() {
    try_commands(MANY, 0x0b5e_55ed);
}

#[expect(
    clippy::print_stderr,
    reason = "numbers for people who run it with --nocapture"
)]
fn try_commands(wanted: usize, seed: u64) {
    if !["bash", "dash"].into_iter().all(is_there) {
        eprintln!("skipped: bash and dash are not both here");
        return;
    }
    let mut rows: Vec<&'static spec::Reader> = spec::all()
        .filter(|row| {
            !LEFT_OUT.contains(&row.words[0]) && (!row.runs_project_code() || row.words[0] == "git")
        })
        .collect();
    rows.sort_by_key(|row| row.words.join(" "));
    let mut dice = Dice(seed);
    let shells: Vec<&[&str]> = SHELLS
        .iter()
        .copied()
        .filter(|s| is_there(s[0]) && (s.len() < 3 || is_there("zsh")))
        .collect();
    let (mut readers, mut wrong, mut batch) = (0, Vec::new(), Vec::new());
    let probe = Fixture::new();
    let (root, home) = (probe.root(), probe.root().with_file_name("home"));
    for n in 0..wanted {
        let command = command(&mut dice, &rows);
        if is_reader(&command, &root, &home) {
            readers += 1;
            batch.push(command);
        }
        if batch.len() >= BATCH || n + 1 == wanted {
            // The paths of the analysis are those of the probe; the texts name none of them.
            let shell = shells[dice.roll(shells.len())];
            wrong.extend(harm(&probe, shell, &batch));
            batch.clear();
            if wrong.len() > 20 {
                break;
            }
        }
    }
    eprintln!(
        "{wanted} commands, {readers} readers, {} of them with an effect",
        wrong.len()
    );
    assert!(readers * 20 > wanted, "{readers} readers of {wanted}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

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
