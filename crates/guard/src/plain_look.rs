//! The short list of exact command forms that run unasked where no layer of the sandbox works. It reads the text by
//! itself, in the part of the language that all shells share, and must agree with the analysis. It only ever takes away:
//! a command that is not on the list is asked about.

use ostler_wire::Segment;

/// Characters that mean themselves outside of quotes in every shell.
const PLAIN: &str = "_-./:=,@%+^";
/// The one redirection that is understood.
const SILENCED: &str = "2>/dev/null";

/// What may stand behind a command and its options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    None,
    /// Any words: files, revisions, patterns.
    Words,
}

/// Where a command may run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Anywhere,
    /// In the root of the project only: elsewhere a folder may bring settings that run programs.
    Root,
}

/// A command, and all that may be added to it.
struct Form {
    words: &'static [&'static str],
    /// Letters that may be combined behind one dash.
    letters: &'static str,
    /// Letters that take a value, in the same word or the next.
    valued: &'static str,
    /// Whole options, or their beginning up to and with `=`.
    long: &'static [&'static str],
    operands: Operands,
    place: Where,
}

// tidy: table
const FORMS: &[Form] = &[
    look(&["pwd"], "", "", &[], Operands::None),
    look(&["true"], "", "", &[], Operands::None),
    look(&["whoami"], "", "", &[], Operands::None),
    look(&["echo"], "", "", &[], Operands::Words),
    look(
        &["ls"],
        "1AFRSadhilprst",
        "",
        &["--all", "--almost-all", "--human-readable", "--recursive"],
        Operands::Words,
    ),
    look(&["cat"], "AEnsTbv", "", &["--number"], Operands::Words),
    look(
        &["head"],
        "qv0123456789",
        "nc",
        &["--lines=", "--bytes="],
        Operands::Words,
    ),
    look(
        &["tail"],
        "qv0123456789",
        "nc",
        &["--lines=", "--bytes="],
        Operands::Words,
    ),
    look(
        &["wc"],
        "Lclmw",
        "",
        &["--lines", "--words", "--bytes"],
        Operands::Words,
    ),
    look(
        &["grep"],
        "EFHILPacbhilnoqrsvwx",
        "ABCem",
        &[
            "--color=never",
            "--exclude=",
            "--exclude-dir=",
            "--include=",
            "--line-number",
            "--recursive",
            "--ignore-case",
        ],
        Operands::Words,
    ),
    look(
        &["rg"],
        "FHNPSUacilnosuvwx",
        "ABCegmtT",
        &[
            "--files",
            "--hidden",
            "--no-heading",
            "--glob=",
            "--type=",
            "--max-count=",
        ],
        Operands::Words,
    ),
    look(
        &["sort"],
        "Vbfhnru",
        "k",
        &["--numeric-sort", "--reverse", "--unique"],
        Operands::Words,
    ),
    look(&["uniq"], "cdiu", "", &["--count"], Operands::None),
    look(&["du"], "achkmsx", "d", &["--max-depth="], Operands::Words),
    look(&["df"], "hkPT", "", &[], Operands::Words),
    // Of git only what reads no object, index or file: settings of the repository name programs for filters, text
    // conversion, signatures, the file watcher, and for fetching an object that is missing.
    git(&["git", "branch", "--show-current"], "", &[]),
    git(&["git", "remote"], "v", &["--verbose"]),
    git(&["git", "rev-parse", "HEAD"], "", &[]),
    git(&["git", "rev-parse", "--short", "HEAD"], "", &[]),
    git(&["git", "rev-parse", "--abbrev-ref", "HEAD"], "", &[]),
    git(
        &["git", "rev-parse"],
        "",
        &[
            "--git-dir",
            "--is-inside-work-tree",
            "--show-prefix",
            "--show-toplevel",
        ],
    ),
];

const fn look(
    words: &'static [&'static str],
    letters: &'static str,
    valued: &'static str,
    long: &'static [&'static str],
    operands: Operands,
) -> Form {
    Form {
        words,
        letters,
        valued,
        long,
        operands,
        place: Where::Anywhere,
    }
}

const fn git(
    words: &'static [&'static str],
    letters: &'static str,
    long: &'static [&'static str],
) -> Form {
    Form {
        place: Where::Root,
        ..look(words, letters, "", long, Operands::None)
    }
}

/// Whether the command runs in the root of the project.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cwd {
    Root,
    Elsewhere,
}

/// Whether a command is on the list, with every word of it. `segments` is what the analysis made of the same text.
pub fn is_plain_look(command: &str, segments: &[Segment], cwd: Cwd) -> bool {
    let Some(commands) = split(command) else {
        return false;
    };
    let agrees = |(words, segment): (&Vec<String>, &Segment)| {
        segment.read_only && segment.argv == *words && segment.needs.iter().all(is_read)
    };
    commands.len() == segments.len()
        && commands.iter().zip(segments).all(agrees)
        && commands.iter().all(|words| is_listed(words, cwd))
}

fn is_read(access: &ostler_wire::Access) -> bool {
    access.is_read_only()
}

fn is_listed(words: &[String], cwd: Cwd) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    FORMS.iter().any(|form| {
        let here = form.place == Where::Anywhere || cwd == Cwd::Root;
        here && words
            .strip_prefix(form.words)
            .is_some_and(|rest| form.takes(rest))
    })
}

impl Form {
    fn takes(&self, words: &[&str]) -> bool {
        let mut words = words.iter();
        let mut only_operands = false;
        while let Some(word) = words.next() {
            let is_option = word.len() > 1 && word.starts_with('-') && !only_operands;
            if *word == "--" && !only_operands {
                only_operands = true;
            } else if !is_option {
                if self.operands == Operands::None {
                    return false;
                }
            } else if word.starts_with("--") {
                let known = |long: &&str| match long.ends_with('=') {
                    true => word.starts_with(*long),
                    false => *word == *long,
                };
                if !self.long.iter().any(known) {
                    return false;
                }
            } else {
                match self.takes_letters(word) {
                    Some(Value::None) => {}
                    Some(Value::NextWord) if words.next().is_some() => {}
                    Some(Value::NextWord) | None => return false,
                }
            }
        }
        true
    }

    /// What a word of letters behind one dash wants from the next word; none when a letter is not listed.
    fn takes_letters(&self, word: &str) -> Option<Value> {
        let mut letters = word.chars().skip(1);
        while let Some(letter) = letters.next() {
            if self.valued.contains(letter) {
                return Some(match letters.next() {
                    Some(_) => Value::None,
                    None => Value::NextWord,
                });
            }
            if !self.letters.contains(letter) {
                return None;
            }
        }
        Some(Value::None)
    }
}

enum Value {
    None,
    NextWord,
}

/// The words of each command of a line that is joined by `|` and `&&` alone; none for any other text.
fn split(line: &str) -> Option<Vec<Vec<String>>> {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    let mut rest = line.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(SILENCED)
            && (after.is_empty() || after.starts_with([' ', '|', '&']))
        {
            rest = after.trim_start_matches(' ');
            continue;
        }
        let joint = ["&&", "|"]
            .iter()
            .find_map(|joint| rest.strip_prefix(joint));
        if let Some(after) = joint {
            if commands.last()?.is_empty() {
                return None;
            }
            commands.push(Vec::new());
            rest = after.trim_start_matches(' ');
            // A longer operator is another one.
            if rest.starts_with(['|', '&']) {
                return None;
            }
            continue;
        }
        let (word, after) = word(rest)?;
        commands.last_mut()?.push(word);
        rest = after.trim_start_matches(' ');
    }
    (!commands.last()?.is_empty()).then_some(commands)
}

/// The first word of a text, and what is behind it.
fn word(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match c {
            ' ' | '|' | '&' => break,
            '\'' | '"' => {
                let (inner, after) = rest.get(1..)?.split_once(c)?;
                let special = |c: char| c.is_control() || "\\$`!".contains(c);
                let plain = match c {
                    '\'' => !inner.contains(char::is_control),
                    _ => !inner.contains(special),
                };
                plain.then_some(())?;
                out.push_str(inner);
                rest = after;
            }
            c if c.is_alphanumeric() || PLAIN.contains(c) => {
                out.push(c);
                rest = rest.get(c.len_utf8()..)?;
            }
            _ => return None,
        }
    }
    // A word that begins with nothing plain, such as an operator, is none.
    (rest.len() < text.len()).then_some((out, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{Place, analyse};
    use std::path::Path;

    fn check(command: &str, cwd: Cwd) -> bool {
        let root = Path::new("/repo");
        let place = Place {
            cwd: match cwd {
                Cwd::Root => root.into(),
                Cwd::Elsewhere => root.join("sub"),
            },
            root,
            home: None,
            open: &[],
        };
        is_plain_look(command, &analyse(command, &place), cwd)
    }

    #[test]
    fn these_run_unasked_without_a_sandbox() {
        for command in [
            "pwd",
            "ls",
            "ls -la src",
            "cat README.md",
            "cat 'a file.txt' \"b file.txt\"",
            "head -20 src/main.rs",
            "head -n 20 src/main.rs",
            "tail -n5 a.txt",
            "wc -l a.txt",
            "grep -rn 'fn main' src",
            "grep -A 3 -e x a.txt",
            "rg -n TODO src | head -20",
            "ls | wc -l",
            "ls 2>/dev/null",
            "git rev-parse HEAD && git branch --show-current",
            "git rev-parse --abbrev-ref HEAD",
            "git rev-parse --show-toplevel",
            "git rev-parse --short HEAD",
            "git remote -v",
            "sort a.txt | uniq -c | sort -rn",
            "echo done",
        ] {
            assert!(check(command, Cwd::Root), "{command}");
        }
        assert!(check("ls -la", Cwd::Elsewhere));
    }

    #[test]
    fn these_are_asked_without_a_sandbox() {
        for command in [
            "",
            "ls &>/dev/null rm -rf src",
            "ls; rm a",
            "ls & rm a",
            "ls || rm a",
            "ls |& cat",
            "ls\nrm a",
            "ls > out",
            "ls 2>/dev/nullx",
            "cat < a.txt",
            "cat <<E\nx\nE",
            "ls $(rm a)",
            "ls `rm a`",
            "ls $'a'",
            "ls \"$x\"",
            "ls *",
            "ls ~",
            "ls {a,b}",
            "x=1 ls",
            "x=1",
            "[[ a || b ]]",
            "echo !x",
            "sort -o a b",
            "sort --compress-program=x a",
            "uniq a b",
            "tail -f a",
            "grep -f .env a",
            "rg --pre x a",
            "rg -z a",
            "find . -name a",
            "awk 1 a",
            "sed -n 1p a",
            "env",
            "printenv",
            "git branch new",
            "git tag new",
            "git remote show origin",
            // Clean filters and the file watcher.
            "git status",
            "git status --short",
            "git diff",
            "git diff --stat",
            "git diff --no-ext-diff --no-textconv",
            // The file watcher: whatever reads the index.
            "git ls-files",
            "git diff --no-ext-diff --no-textconv --cached",
            // Drivers and converters of diffs.
            "git diff HEAD^ HEAD",
            "git show HEAD",
            "git log -p",
            // `log.showSignature` and `format.pretty`.
            "git log",
            "git log --oneline -5",
            // The fetch of a missing object, by the program that the repository's settings name.
            "git log --oneline --no-ext-diff --no-textconv",
            "git diff --no-ext-diff --no-textconv HEAD^ HEAD --",
            "git show --no-ext-diff --no-textconv HEAD",
            "git rev-parse HEAD^",
            "git rev-parse main",
            "git ls-tree HEAD",
            "git branch -v",
            // `branch.sort` and `tag.sort` read objects, also beside another order.
            "git branch",
            "git branch -a",
            "git tag -l",
            "git branch --sort=refname",
            "git diff --output=x",
            "git -C sub status",
            "git log --format=%G?",
            "git show --ext-diff",
            "git push",
            "git",
            "cargo metadata",
            "go list",
            "npm ls",
            "cat /etc/shadow",
            "sh -c ls",
            "xargs ls",
            "timeout 5 ls",
            "cd sub && ls",
            "| ls",
            "ls |",
            "'ls",
        ] {
            assert!(!check(command, Cwd::Root), "{command}");
        }
        // A folder of the project may be a repository of its own.
        assert!(check("git rev-parse HEAD", Cwd::Root));
        assert!(!check("git rev-parse HEAD", Cwd::Elsewhere));
    }
}
