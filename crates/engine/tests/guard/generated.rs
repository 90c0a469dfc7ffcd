//! Commands by chance, always the same for the same seed: rows of the table of readers with odd options, quotes,
//! expansions, redirections, wrappers and constructs of several shells, and known attacks. `tried` runs them.

use ostler_guard::shell::spec;

/// Numbers that are the same in every run.
pub struct Dice(u64);

impl Dice {
    /// A number of its own for each part of a run.
    pub fn of(seed: u64, part: usize) -> Self {
        let part = u64::try_from(part).unwrap_or(0) + 1;
        Self(seed ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub fn roll(&mut self, sides: usize) -> usize {
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
    "wc -l $(C)",
    "cat $(git ls-files)",
    "for x in $(git ls-files); do C; done",
    "for x in $(C); do head -1 \"$x\"; done",
    "for x in *; do C; done",
    "ls -l $(which C)",
    "x=$(C); echo \"$x\"",
    "x=$(C); $x",
    "[ \"$(C)\" = x ] && D",
    "[ -n \"$x\" ] || C",
    "cd $(C) && D",
    "git diff $(git merge-base HEAD HEAD) -- $(C)",
    "git diff --no-index a.txt $(C)",
    "C | tee /dev/null",
    "C | less",
    "C | python3 -m json.tool",
    "bash -n evil; C",
    "make -n; C",
    "C --help",
    "C --version",
    "touch --help; C",
    "echo ../outside/secret.txt | cat $(ls; sort)",
    "echo ../outside/secret.txt | xargs C",
    "printf '../outside/secret.txt\\n' | while read -r x; do C; done",
    "\\C",
    "C \\\n a.txt",
];
/// Rows that are slow, wait, look at the whole machine, or make a folder for their settings (top), which only their
/// sandbox keeps them from, or for their counters (java).
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
    "top",
    "java",
    "javac",
    "kotlinc",
    "scala",
    "sbt",
    "iostat",
    "mpstat",
    "dmesg",
];

/// What `*` stands for in a row: programs that write or run, built-ins, and words.
const PROGRAMS: &[&str] = &[
    "touch", "rm", "mkdir", "cp", "mv", "tee", "dd", "ln", "chmod", "sed", "awk", "sort", "tar",
    "gzip", "git", "find", "xargs", "sh", "bash", "eval", "exec", "source", "set", "export",
    "trap", "alias", "cd", "kill", "true", "install", "truncate", "split", "csplit", "shred",
    "mktemp", "mkfifo", "patch", "python3", "perl", "make", "ls", "list", "remote", "evil",
    "./evil", "config", "init", "clean", "gc", "stash", "branch", "tag", "commit",
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
    let words = row.words.iter().map(|word| match *word {
        "*" => dice.pick(PROGRAMS),
        word => word,
    });
    let mut out = words.collect::<Vec<_>>().join(" ");
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

/// The rows that commands are made of.
pub fn rows() -> Vec<&'static spec::Reader> {
    let mut rows: Vec<&'static spec::Reader> = spec::all()
        .filter(|row| {
            let first = row.words[0];
            let runs_code = row.runs_project_code() && first != "git" && first != "*";
            !LEFT_OUT.contains(&first) && !runs_code
        })
        .collect();
    rows.sort_by_key(|row| row.words.join(" "));
    rows
}

pub fn command(dice: &mut Dice, rows: &[&'static spec::Reader]) -> String {
    let (one, other) = (simple(dice, rows), simple(dice, rows));
    dice.pick(AROUND).replace('D', &other).replace('C', &one)
}
