//! What commands do, as data: those that run another command, those that change files, reach hosts, take privileges or
//! steer processes. Which commands change nothing is in `readers`. A command in no table may do anything.

use ostler_wire::Mark;

/// A command that runs the command in its own words.
pub struct Wrapper {
    pub name: &'static str,
    /// Short options without a value, by letter.
    pub flags: &'static str,
    /// Short options with one.
    pub valued: &'static str,
    pub long_flags: &'static [&'static str],
    pub long_valued: &'static [&'static str],
    /// Operands before the command.
    pub skip: usize,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The same command, only slower, quieter or later.
    Clear,
    /// The same, after assignments.
    Env,
    /// With other rights: an allow rule must name the wrapper too.
    Privilege,
    /// With further arguments that nobody knows.
    Feeds,
}

const fn clear(name: &'static str, flags: &'static str, valued: &'static str) -> Wrapper {
    Wrapper {
        name,
        flags,
        valued,
        long_flags: &[],
        long_valued: &[],
        skip: 0,
        kind: Kind::Clear,
    }
}

pub const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        long_flags: &[
            "--non-interactive",
            "--preserve-env",
            "--set-home",
            "--stdin",
            "--reset-timestamp",
            "--background",
        ],
        long_valued: &["--user", "--group", "--prompt", "--host"],
        kind: Kind::Privilege,
        ..clear("sudo", "nEHSkbAPB", "ughpCTU")
    },
    Wrapper {
        kind: Kind::Privilege,
        ..clear("doas", "nL", "uC")
    },
    Wrapper {
        kind: Kind::Privilege,
        long_valued: &["--user"],
        ..clear("pkexec", "", "")
    },
    Wrapper {
        kind: Kind::Privilege,
        skip: 1,
        ..clear("chroot", "", "")
    },
    Wrapper {
        kind: Kind::Env,
        long_flags: &["--ignore-environment", "--null", "--debug"],
        long_valued: &["--unset"],
        ..clear("env", "i0v", "u")
    },
    clear("nohup", "", ""),
    Wrapper {
        long_valued: &["--adjustment"],
        ..clear("nice", "0123456789", "n")
    },
    Wrapper {
        long_flags: &["--preserve-status", "--foreground", "--verbose"],
        long_valued: &["--signal", "--kill-after"],
        skip: 1,
        ..clear("timeout", "v", "sk")
    },
    Wrapper {
        long_flags: &["--verbose", "--portability"],
        ..clear("time", "pv", "f")
    },
    Wrapper {
        long_valued: &["--input", "--output", "--error"],
        ..clear("stdbuf", "", "ioe")
    },
    Wrapper {
        long_flags: &["--fork", "--wait", "--ctty"],
        ..clear("setsid", "fwc", "")
    },
    Wrapper {
        long_valued: &["--class", "--classdata"],
        ..clear("ionice", "t", "cn")
    },
    clear("command", "p", ""),
    clear("builtin", "", ""),
    clear("exec", "cl", "a"),
    Wrapper {
        long_flags: &[
            "--null",
            "--no-run-if-empty",
            "--verbose",
            "--interactive",
            "--exit",
            "--open-tty",
        ],
        long_valued: &["--max-args", "--max-procs", "--delimiter", "--max-chars"],
        kind: Kind::Feeds,
        ..clear("xargs", "0rtpxo", "InPLdsE")
    },
];

/// Run the script after `-c`, a file, or what comes in.
pub const SHELLS: &[&str] = &["sh", "bash", "dash", "ash"];

/// Run what their arguments or input say, in a language that is not read here.
pub const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "deno",
    "bun",
    "php",
    "lua",
    "tclsh",
    "osascript",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "ed",
    "ex",
    "vi",
    "vim",
    "nvim",
    "emacs",
    "gdb",
    "lldb",
    "sqlite3",
    "R",
    "Rscript",
    "source",
    ".",
    "zsh",
    "ksh",
    "mksh",
    "rbash",
    "busybox",
    "toybox",
    "fish",
    "csh",
    "tcsh",
    "pwsh",
    "at",
    "batch",
];

/// How a command treats its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Files {
    Write,
    /// The first operand is a mode or an owner.
    WriteAfterFirst,
    /// All but the last are read, the last is written or holds what is.
    CopyToLast,
    /// All are changed.
    Move,
}

pub struct Writer {
    pub name: &'static str,
    pub files: Files,
    pub mark: Option<Mark>,
}

const fn writer(name: &'static str, files: Files) -> Writer {
    Writer {
        name,
        files,
        mark: None,
    }
}

const fn deleter(name: &'static str, files: Files) -> Writer {
    Writer {
        name,
        files,
        mark: Some(Mark::Delete),
    }
}

pub const WRITERS: &[Writer] = &[
    writer("touch", Files::Write),
    writer("mkdir", Files::Write),
    writer("mkfifo", Files::Write),
    writer("mknod", Files::Write),
    writer("tee", Files::Write),
    writer("truncate", Files::Write),
    deleter("rm", Files::Write),
    deleter("rmdir", Files::Write),
    deleter("unlink", Files::Write),
    deleter("shred", Files::Write),
    deleter("trash", Files::Write),
    writer("chmod", Files::WriteAfterFirst),
    writer("chown", Files::WriteAfterFirst),
    writer("chgrp", Files::WriteAfterFirst),
    writer("chattr", Files::WriteAfterFirst),
    writer("setfacl", Files::WriteAfterFirst),
    writer("cp", Files::CopyToLast),
    writer("install", Files::CopyToLast),
    writer("ln", Files::CopyToLast),
    writer("link", Files::CopyToLast),
    deleter("mv", Files::Move),
];

/// Reach the hosts that their operands name.
pub const NET_OPERANDS: &[&str] = &[
    "curl",
    "wget",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "nc",
    "ncat",
    "netcat",
    "telnet",
    "ftp",
    "ping",
    "dig",
    "nslookup",
    "host",
    "whois",
    "traceroute",
    "mosh",
    "http",
    "https",
    "aria2c",
    "socat",
    "openssl",
];

/// Reach some host, by their first words.
pub const NET_ANY: &[&str] = &[
    "git push",
    "git pull",
    "git fetch",
    "git clone",
    "git ls-remote",
    "git remote update",
    "git submodule",
    "git lfs",
    "git svn",
    "git send-email",
    "gh",
    "glab",
    "hub",
    "npm install",
    "npm i",
    "npm ci",
    "npm publish",
    "npm update",
    "npm audit",
    "npm add",
    "npm exec",
    "npm login",
    "npx",
    "yarn",
    "pnpm",
    "bunx",
    "bun install",
    "bun add",
    "pip install",
    "pip3 install",
    "pip download",
    "pipx",
    "uv",
    "uvx",
    "poetry",
    "conda",
    "cargo install",
    "cargo fetch",
    "cargo publish",
    "cargo update",
    "cargo add",
    "cargo search",
    "cargo login",
    "go get",
    "go install",
    "go mod",
    "gem install",
    "bundle install",
    "composer",
    "apt",
    "apt-get",
    "yum",
    "dnf",
    "apk",
    "pacman",
    "brew",
    "snap",
    "flatpak",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "terraform",
    "aws",
    "gcloud",
    "az",
    "rustup update",
    "rustup install",
    "rustup toolchain",
    "mvn",
    "gradle",
    "heroku",
    "vercel",
    "twine",
];

pub const PRIVILEGE: &[&str] = &[
    "sudo", "doas", "su", "pkexec", "runuser", "chroot", "unshare", "nsenter", "mount", "umount",
    "setcap", "passwd", "useradd", "usermod", "userdel", "groupadd", "visudo", "sudoedit",
    "insmod", "modprobe", "rmmod", "sysctl", "iptables", "nft", "swapon", "swapoff", "losetup",
    "mkfs", "fdisk", "parted", "docker", "podman",
];

pub const PROCESS: &[&str] = &[
    "kill",
    "pkill",
    "killall",
    "killall5",
    "skill",
    "systemctl",
    "service",
    "initctl",
    "reboot",
    "shutdown",
    "halt",
    "poweroff",
    "init",
    "renice",
    "crontab",
    "at",
    "batch",
    "launchctl",
    "setsid",
    "nohup",
    "tmux",
    "screen",
    "strace",
    "ltrace",
    "ptrace",
    "fuser",
    "disown",
];

/// Environment that changes only what is printed, when its value is a plain word.
pub const HARMLESS_ENV: &[&str] = &[
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_COLLATE",
    "LC_MESSAGES",
    "TZ",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "COLUMNS",
    "LINES",
    "TERM",
    "CI",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "CARGO_TERM_COLOR",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "NODE_ENV",
    "GIT_OPTIONAL_LOCKS",
    "DEBUG",
    "VERBOSE",
];

/// The same, with the one value that makes them harmless.
pub const HARMLESS_PAIRS: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Run a command that stands among their words, where this table of wrappers does not say which words it is.
pub const RUNS_WORDS: &[&str] = &[
    "busybox",
    "toybox",
    "parallel",
    "zsh",
    "ksh",
    "mksh",
    "rbash",
    "chrt",
    "taskset",
    "numactl",
    "prlimit",
    "unshare",
    "nsenter",
    "flock",
    "watch",
    "strace",
    "ltrace",
    "perf",
    "valgrind",
    "runuser",
    "su",
    "proot",
    "fakeroot",
    "systemd-run",
    "firejail",
    "bwrap",
    "catchsegv",
    "setarch",
    "linux32",
    "linux64",
    "rlwrap",
    "unbuffer",
    "entr",
    "direnv exec",
    "poetry run",
    "pipenv run",
    "uv run",
    "npx",
    "npm exec",
    "bundle exec",
    "docker run",
    "docker exec",
    "podman run",
    "podman exec",
    "kubectl exec",
    "ssh",
    "tmux",
    "screen",
    "fd",
    "git bisect",
    "coproc",
];

/// Run a command that one word of theirs holds, whole or behind `=` or `!`.
pub const RUNS_QUOTED: &[&str] = &[
    "alias",
    "awk",
    "complete",
    "emacs",
    "ex",
    "gdb",
    "git",
    "go",
    "make",
    "man",
    "nix-shell",
    "perl",
    "psql",
    "python",
    "python3",
    "rsync",
    "ruby",
    "node",
    "script",
    "sed",
    "sort",
    "sqlite3",
    "tar",
    "trap",
    "vi",
    "vim",
    "zip",
];

/// Run a program of a package that stands among their words.
pub const RUNS_PACKAGES: &[&str] = &[
    "bunx",
    "hatch run",
    "pdm run",
    "pnpm dlx",
    "pnpm exec",
    "python -m",
    "python3 -m",
    "rye run",
    "uvx",
    "yarn dlx",
    "yarn exec",
];

/// Run what stands in files or at addresses that their words may name. An allow rule speaks of those in the project.
pub const RUNS_FILES: &[&str] = &[
    "bazel",
    "bun",
    "bundle",
    "bunx",
    "cargo",
    "cmake",
    "composer",
    "ctest",
    "deno",
    "docker compose",
    "docker-compose",
    "dotnet",
    "go",
    "gradle",
    "just",
    "make",
    "meson",
    "mvn",
    "ninja",
    "npm",
    "npx",
    "nx",
    "pip",
    "pip3",
    "pnpm",
    "podman compose",
    "poetry",
    "pytest",
    "rake",
    "swift",
    "task",
    "terraform",
    "tofu",
    "tox",
    "turbo",
    "uv",
    "uvx",
    "yarn",
];

/// Take folders with all that is in them, in words that are not understood.
pub const TREES: &[&str] = &["7z", "bsdtar", "git mv", "rsync", "scp", "tar", "zip"];

/// Words of which a word in quotes is prose.
pub const PROSE: &[&str] = &[
    "git commit",
    "git tag",
    "git notes",
    "git merge",
    "git stash",
];

/// First words after which more words change how much is done, not what: what is granted beyond the exact command.
/// `_` stands for one word that must be named.
pub const PREFIXES: &[&str] = &[
    "cargo bench",
    "cargo build",
    "cargo check",
    "cargo clippy",
    "cargo doc",
    "cargo fmt",
    "cargo nextest run",
    "cargo test",
    "git add",
    "git commit",
    "go build",
    "go fmt",
    "go test",
    "go vet",
    "make",
    "npm run _",
    "npm test",
    "pnpm run _",
    "pnpm test",
    "pytest",
    "yarn run _",
    "yarn test",
];

/// Whether the command's first words are these.
pub fn starts(words: &[&str], entry: &str) -> bool {
    let mut have = words.iter();
    entry.split(' ').all(|word| have.next() == Some(&word))
}
