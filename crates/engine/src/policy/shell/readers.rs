//! Commands that change nothing, as data: which options and operands keep them so, with examples that must and must not
//! match. A command that can write, run another program or set a variable appears only with those options shut out.

pub struct Reader {
    /// The command's first words.
    pub words: &'static str,
    pub options: Options,
    pub check: Check,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for the test"))]
    pub yes: Examples,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for the test"))]
    pub no: Examples,
}

pub enum Options {
    /// By whole name, before any `=`; `-1` stands for any count.
    Only(&'static [&'static str]),
    /// Long options by name or a beginning of it, short ones by letter wherever it stands.
    Except {
        long: &'static [&'static str],
        short: &'static str,
    },
}

pub enum Check {
    Any,
    /// No argument at all.
    Alone,
    NoOperands,
    OneOperand,
    /// Every operand is a `+format`.
    DateFormat,
    /// No operands unless `--list` says what they are.
    Listing,
    /// Nothing that a shell's own command might evaluate.
    Inert,
    Printf,
}

type Examples = &'static [&'static str];

const FREE: Options = Options::Except {
    long: &[],
    short: "",
};
const NO_OPTIONS: Options = Options::Only(&[]);
const GIT_DIFF: Options = Options::Except {
    long: &["--output", "--ext-diff", "--textconv", "--show-signature"],
    short: "",
};

const fn row(
    words: &'static str,
    options: Options,
    check: Check,
    yes: Examples,
    no: Examples,
) -> Reader {
    Reader {
        words,
        options,
        check,
        yes,
        no,
    }
}

const fn free(words: &'static str, yes: Examples) -> Reader {
    row(words, FREE, Check::Any, yes, &[])
}

const fn alone(words: &'static str, yes: Examples, no: Examples) -> Reader {
    row(words, FREE, Check::Alone, yes, no)
}

pub const READERS: &[Reader] = &[
    free("sleep", &["sleep 0.3", "sleep 1m"]),
    free("echo", &["echo", "echo -n done", "echo 'a $b'"]),
    free("true", &["true"]),
    free("false", &["false"]),
    free("pwd", &["pwd", "pwd -P"]),
    free("ls", &["ls", "ls -la src", "ls --color=never"]),
    free("cat", &["cat a b", "cat -n a"]),
    free("head", &["head -n 5 a", "head -c10 a"]),
    free("tail", &["tail -n +5 a", "tail -20 a"]),
    free("wc", &["wc -l a"]),
    free("nl", &["nl a"]),
    free("tac", &["tac a"]),
    free("od", &["od -c a"]),
    free("grep", &["grep -rn main src", "grep -E 'a|b' x"]),
    row(
        "rg",
        Options::Except {
            long: &["--pre", "--hostname-bin", "--search-zip"],
            short: "z",
        },
        Check::Any,
        &["rg -n main src", "rg --files", "rg -t rust 'fn \\w+'"],
        &[
            "rg --pre ./x a",
            "rg --pre=./x a",
            "rg -z a",
            "rg -nz a",
            "rg --hostname-bin=x a",
        ],
    ),
    row(
        "find",
        Options::Only(&[
            "-L",
            "-P",
            "-H",
            "-name",
            "-iname",
            "-path",
            "-ipath",
            "-wholename",
            "-regex",
            "-iregex",
            "-type",
            "-xtype",
            "-maxdepth",
            "-mindepth",
            "-depth",
            "-size",
            "-empty",
            "-mtime",
            "-mmin",
            "-atime",
            "-ctime",
            "-cmin",
            "-newer",
            "-perm",
            "-user",
            "-group",
            "-links",
            "-inum",
            "-readable",
            "-writable",
            "-executable",
            "-mount",
            "-xdev",
            "-prune",
            "-print",
            "-print0",
            "-printf",
            "-ls",
            "-quit",
            "-not",
            "-a",
            "-and",
            "-o",
            "-or",
            "-true",
            "-false",
        ]),
        Check::Any,
        &[
            "find",
            "find . -name '*.rs' -type f",
            "find src -maxdepth 2 -not -name x -print0",
        ],
        &[
            "find . -delete",
            "find . -exec rm {} +",
            "find . -execdir x",
            "find . -ok rm",
            "find . -okdir rm",
            "find . -fprint x",
            "find . -fprint0 x",
            "find . -fprintf x y",
            "find . -fls x",
            "find . -name *.rs",
        ],
    ),
    row(
        "test",
        Options::Only(&[
            "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-n", "-z", "-nt", "-ot", "-ef",
            "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-a", "-o",
        ]),
        Check::Inert,
        &["test -f a", "test 1 -lt 2", "test a = b"],
        &["test -v x", "test -v 'a[$(x)]'", "test 'a[$(x)]' -eq 1"],
    ),
    row(
        "printf",
        NO_OPTIONS,
        Check::Printf,
        &["printf '%s %5.2f%%' a 1", "printf x"],
        &[
            "printf -v PATH x",
            "printf 'ab%n' PATH",
            "printf '%5n' PATH",
            "printf %d 'a[$(x)]'",
            "printf %",
        ],
    ),
    row(
        "sort",
        Options::Except {
            long: &["--output", "--compress-program", "--temporary-directory"],
            short: "oT",
        },
        Check::Any,
        &["sort a", "sort -rn -k2 a", "sort --unique a"],
        &[
            "sort -o a a",
            "sort a -oa",
            "sort -uo a a",
            "sort --output=a a",
            "sort --out a a",
            "sort --compress-program=x a",
        ],
    ),
    row(
        "uniq",
        FREE,
        Check::OneOperand,
        &["uniq", "uniq -c a"],
        &["uniq a b", "uniq - b", "uniq -- -a b", "uniq -f 1 a"],
    ),
    row(
        "diff",
        Options::Except {
            long: &["--paginate"],
            short: "l",
        },
        Check::Any,
        &["diff -u a b", "diff --brief -r a b"],
        &["diff -l a b", "diff --paginate a b", "diff -ul a b"],
    ),
    free("cmp", &["cmp a b"]),
    free("comm", &["comm -12 a b"]),
    free("cut", &["cut -d: -f1 a"]),
    free("tr", &["tr a b"]),
    free("basename", &["basename a/b"]),
    free("dirname", &["dirname a/b"]),
    free("realpath", &["realpath a"]),
    free("readlink", &["readlink -f a"]),
    free("stat", &["stat -c %s a"]),
    row(
        "file",
        Options::Except {
            long: &["--compile", "--uncompress", "--uncompress-noreport"],
            short: "CzZ",
        },
        Check::Any,
        &["file a", "file -b --mime-type a"],
        &["file -C -m a", "file --compile -m a", "file -z a"],
    ),
    row(
        "tree",
        Options::Except {
            long: &["--output"],
            short: "oR",
        },
        Check::Any,
        &["tree", "tree -L 2 src"],
        &["tree -o x", "tree -L 1 -R -H x"],
    ),
    free("du", &["du -sh a"]),
    free("df", &["df -h"]),
    free("md5sum", &["md5sum a"]),
    free("sha256sum", &["sha256sum a"]),
    free("jq", &["jq .name package.json", "jq -r '.a | keys' x"]),
    free("seq", &["seq 3"]),
    free("which", &["which cargo"]),
    row(
        "command -v",
        NO_OPTIONS,
        Check::Any,
        &["command -v cargo"],
        &["command -v -p x"],
    ),
    free("uname", &["uname -a"]),
    free("id", &["id -u"]),
    free("whoami", &["whoami"]),
    free("nproc", &["nproc"]),
    free("uptime", &["uptime"]),
    free("ps", &["ps aux", "ps -ef"]),
    alone("env", &["env"], &["env ls", "env -i ls", "env A=1"]),
    free("printenv", &["printenv PATH"]),
    alone(
        "hostname",
        &["hostname"],
        &["hostname evil", "hostname -F x"],
    ),
    row(
        "date",
        Options::Only(&[
            "-u",
            "--utc",
            "-R",
            "-I",
            "-Iseconds",
            "--iso-8601",
            "--rfc-3339",
            "--rfc-email",
            "--date",
        ]),
        Check::DateFormat,
        &[
            "date",
            "date -u +%s",
            "date '+%F %T'",
            "date --date=yesterday",
        ],
        &[
            "date -s 12:00",
            "date --set=12:00",
            "date 01010000",
            "date -us x",
        ],
    ),
    free(
        "git status",
        &["git status", "git status -sb --porcelain=v2"],
    ),
    row(
        "git log",
        GIT_DIFF,
        Check::Any,
        &[
            "git log",
            "git log --oneline -20 --stat",
            "git log -p --format='%h %s' -- a",
        ],
        &[
            "git log --output=x",
            "git log --outp=x",
            "git log --ext-diff -p",
            "git log --textconv",
            "git log --show-signature",
            "git log --output x",
        ],
    ),
    row(
        "git diff",
        GIT_DIFF,
        Check::Any,
        &[
            "git diff",
            "git diff --stat HEAD",
            "git diff --no-ext-diff a b",
        ],
        &[
            "git diff --output=x",
            "git diff --out=x",
            "git diff --ext-diff",
            "git diff --textconv",
            "git difftool",
        ],
    ),
    row(
        "git show",
        GIT_DIFF,
        Check::Any,
        &["git show HEAD", "git show HEAD:src/a.rs"],
        &[
            "git show --output=x",
            "git show --ext-diff",
            "git show HEAD@{1}",
        ],
    ),
    row(
        "git blame",
        GIT_DIFF,
        Check::Any,
        &["git blame -L 1,5 a"],
        &["git blame --textconv a"],
    ),
    row(
        "git grep",
        Options::Except {
            long: &["--open-files-in-pager", "--textconv", "--ext-grep"],
            short: "O",
        },
        Check::Any,
        &["git grep -n main"],
        &["git grep -O./x a", "git grep -nO a", "git grep --open=x a"],
    ),
    row(
        "git branch",
        Options::Only(&[
            "-a",
            "--all",
            "-r",
            "--remotes",
            "-v",
            "-vv",
            "--verbose",
            "--list",
            "--show-current",
            "--contains",
            "--merged",
            "--no-merged",
            "--sort",
            "--format",
            "--points-at",
        ]),
        Check::Listing,
        &[
            "git branch",
            "git branch -a -vv",
            "git branch --show-current",
            "git branch --list 'a*'",
        ],
        &[
            "git branch x",
            "git branch -v x",
            "git branch -d x",
            "git branch -D x",
            "git branch --list -D x",
            "git branch -m x",
            "git branch --edit-description",
            "git branch --set-upstream-to=x",
            "git branch -f x",
        ],
    ),
    row(
        "git tag",
        Options::Only(&["-n", "--list", "--sort", "--contains", "--points-at"]),
        Check::Listing,
        &["git tag", "git tag --list 'v1*'"],
        &["git tag v1", "git tag -d v1", "git tag -a v1"],
    ),
    row(
        "git remote",
        Options::Only(&["-v", "--verbose"]),
        Check::NoOperands,
        &["git remote", "git remote -v"],
        &[
            "git remote add x y",
            "git remote update",
            "git remote -v show x",
        ],
    ),
    row(
        "git stash list",
        NO_OPTIONS,
        Check::NoOperands,
        &["git stash list"],
        &["git stash list --output=x"],
    ),
    row(
        "git worktree list",
        Options::Only(&["--porcelain", "-v"]),
        Check::NoOperands,
        &["git worktree list --porcelain"],
        &["git worktree list x"],
    ),
    free(
        "git rev-parse",
        &["git rev-parse HEAD", "git rev-parse --show-toplevel"],
    ),
    free("git ls-files", &["git ls-files -o --exclude-standard"]),
    free("git ls-tree", &["git ls-tree -r HEAD"]),
    free("git merge-base", &["git merge-base a b"]),
    row(
        "git cat-file",
        Options::Only(&["-p", "-t", "-s", "-e"]),
        Check::Any,
        &["git cat-file -p HEAD"],
        &[
            "git cat-file --filters HEAD:a",
            "git cat-file --textconv HEAD:a",
        ],
    ),
    row(
        "git describe",
        Options::Only(&[
            "--tags",
            "--always",
            "--dirty",
            "--long",
            "--all",
            "--abbrev",
            "--exact-match",
        ]),
        Check::Any,
        &["git describe --tags --always"],
        &["git describe --broken"],
    ),
    alone("git --version", &["git --version"], &["git --version x"]),
    row(
        "cargo metadata",
        Options::Only(&[
            "--no-deps",
            "--offline",
            "--locked",
            "--frozen",
            "--format-version",
            "-q",
            "--quiet",
        ]),
        Check::Any,
        &[
            "cargo metadata --no-deps --format-version 1",
            "cargo metadata --format-version=1",
        ],
        &[
            "cargo metadata --config build.rustc=x",
            "cargo metadata --manifest-path x",
        ],
    ),
    alone(
        "cargo --version",
        &["cargo --version"],
        &["cargo --version x"],
    ),
    alone(
        "rustc --version",
        &["rustc --version"],
        &["rustc --version x.rs"],
    ),
    alone("node --version", &["node --version"], &["node --version x"]),
    alone(
        "python3 --version",
        &["python3 --version"],
        &["python3 --version x"],
    ),
    alone("go version", &["go version"], &["go version x"]),
];
