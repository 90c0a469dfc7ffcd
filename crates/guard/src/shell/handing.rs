//! Options by which a command that an allow rule speaks of runs another one, as data. How they may be spelled is known in
//! `hidden`.

/// Options by which a command runs another, or takes its text from a file: an allow rule does not speak of these.
pub struct Handing {
    /// The command's first words.
    pub command: &'static str,
    /// Names without dashes; a beginning of one is that option.
    pub long: &'static [&'static str],
    /// Letters, alone or among others.
    pub short: &'static str,
    /// Harmless letters that take the rest of the word.
    pub valued: &'static str,
    /// Letters and names whose value is a file; inside of the project it is harmless.
    pub files: &'static [&'static str],
}

const fn handing(
    command: &'static str,
    long: &'static [&'static str],
    short: &'static str,
    valued: &'static str,
) -> Handing {
    Handing {
        command,
        long,
        short,
        valued,
        files: &[],
    }
}

const PACKAGE_SCRIPTS: &[&str] = &[
    "script-shell",
    "node-options",
    "shell",
    "userconfig",
    "globalconfig",
    "prefix",
    "editor",
    "viewer",
    "git",
    "init-module",
    "browser",
    "call",
    "config.",
    "use-yarnrc",
    "cwd",
    "dir",
];
/// Of compilers of C: what runs in the place of a part of them, and what is loaded into them.
const COMPILER_PARTS: &[&str] = &[
    "wrapper",
    "specs",
    "fplugin",
    "plugin",
    "fuse-ld",
    "ld-path",
    "load",
    "ccc-gcc-name",
];
/// Letters of theirs that take the rest of the word.
const COMPILER_VALUES: &str = "DUILlWoOx";
const JS_TESTS: &[&str] = &[
    "config",
    "require",
    "globalSetup",
    "rulesdir",
    "resolver",
    "runner",
    "transform",
    "setupFiles",
    "import",
    "loader",
    "testEnvironment",
    "resolve-plugins-relative-to",
    "plugin",
    "parser",
];

// tidy: table
pub const RUNS_OPTION: &[Handing] = &[
    handing(
        "go",
        &[
            "exec",
            "toolexec",
            "vettool",
            "overlay",
            "modfile",
            "gccgoflags",
            "asmflags",
            "pkgdir",
        ],
        "",
        "",
    ),
    handing("make", &["eval"], "E", "fCIjoWl"),
    handing("cargo", &["config"], "", "pFjZ"),
    handing("npm", PACKAGE_SCRIPTS, "C", "w"),
    handing("pnpm", PACKAGE_SCRIPTS, "C", "F"),
    handing("yarn", PACKAGE_SCRIPTS, "", ""),
    handing(
        "pytest",
        &[
            "override-ini",
            "config-file",
            "rootdir",
            "confcutdir",
            "pdbcls",
            "basetemp",
            "junitxml",
            "junit-xml",
            "log-file",
            "pastebin",
            "tx",
            "rsyncdir",
            "px",
            "cov-config",
            "debug",
            "import-mode",
            "html",
            "report-log",
        ],
        "poc",
        "kmrWn",
    ),
    Handing {
        files: &["-F", "-t", "file", "template", "pathspec-from-file"],
        ..handing("git commit", &["gpg-sign", "edit"], "Se", "mCcu")
    },
    handing("git add", &["pathspec-from-file", "edit"], "e", ""),
    handing(
        "git rebase",
        &["exec", "interactive", "edit-todo", "strategy"],
        "xis",
        "X",
    ),
    handing(
        "git clone",
        &["upload-pack", "config", "template"],
        "uc",
        "obj",
    ),
    handing("git grep", &["open-files-in-pager"], "O", "eABCfm"),
    handing("git difftool", &["extcmd", "tool"], "xt", ""),
    handing(
        "git",
        &[
            "upload-pack",
            "receive-pack",
            "exec",
            "open-files-in-pager",
            "ext-diff",
            "textconv",
            "output",
            "pathspec-from-file",
        ],
        "",
        "",
    ),
    handing(
        "tar",
        &[
            "to-command",
            "checkpoint-action",
            "use-compress-program",
            "info-script",
            "new-volume-script",
            "rsh-command",
            "rmt-command",
        ],
        "IF",
        "fCTX",
    ),
    handing("find", &["fls", "fprint", "fprint0", "fprintf"], "", ""),
    handing("docker exec", &["env-file"], "", ""),
    handing("podman exec", &["env-file"], "", ""),
    handing("rsync", &["rsh", "rsync-path"], "e", ""),
    handing("ssh", &[], "oF", "pil"),
    handing("scp", &[], "oFS", "Pi"),
    handing("curl", &["config", "output", "upload-file"], "KoT", "HXdA"),
    handing(
        "sort",
        &["compress-program", "output", "temporary-directory"],
        "oT",
        "kt",
    ),
    handing("rg", &["pre", "hostname-bin"], "", "gtTeABC"),
    handing("fd", &["exec", "exec-batch"], "xX", "edtE"),
    handing(
        "man",
        &["pager", "preprocessor", "html", "local-file"],
        "PpHl",
        "",
    ),
    handing("gcc", COMPILER_PARTS, "B", COMPILER_VALUES),
    handing("g++", COMPILER_PARTS, "B", COMPILER_VALUES),
    handing("cc", COMPILER_PARTS, "B", COMPILER_VALUES),
    handing("c++", COMPILER_PARTS, "B", COMPILER_VALUES),
    handing("clang", COMPILER_PARTS, "B", COMPILER_VALUES),
    handing("clang++", COMPILER_PARTS, "B", COMPILER_VALUES),
    handing("rustc", &["codegen", "sysroot"], "CZ", "ALOloW"),
    handing(
        "rustdoc",
        &[
            "test-builder",
            "test-runtool",
            "runtool",
            "codegen",
            "sysroot",
        ],
        "CZ",
        "ALo",
    ),
    handing(
        "pandoc",
        &["filter", "lua-filter", "pdf-engine", "defaults", "data-dir"],
        "FLd",
        "ftrowTVMHBAc",
    ),
    handing("cmake", &[], "PCE", "DSBG"),
    handing("ninja", &[], "f", "jC"),
    handing("jest", JS_TESTS, "c", "t"),
    handing("vitest", JS_TESTS, "c", "t"),
    handing("mocha", JS_TESTS, "r", "g"),
    handing("eslint", JS_TESTS, "c", ""),
    handing(
        "node",
        &[
            "require",
            "import",
            "loader",
            "experimental-loader",
            "eval",
            "print",
        ],
        "rep",
        "",
    ),
    handing(
        "gradle",
        &["init-script", "build-file", "settings-file"],
        "Ibc",
        "xDP",
    ),
    handing("mvn", &["file", "settings"], "fs", "PD"),
    handing("tox", &["conf"], "cx", "e"),
    handing("rspec", &["require", "options"], "rIO", "et"),
    handing("phpunit", &["configuration", "bootstrap"], "cd", ""),
    handing("rake", &["rakefile", "require", "execute"], "frep", ""),
];

/// Options of git before its command that say which programs and which repository it uses.
pub const GIT_PLACES: &[&str] = &[
    "--config-env",
    "--exec-path",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];
/// Settings for one git command that run no program: whole ones, keys, and sections.
pub const GIT_SETTINGS: &[&str] = &[
    "advice.",
    "color.",
    "commit.gpgsign=false",
    "core.autocrlf",
    "core.filemode",
    "core.pager=cat",
    "core.quotepath",
    "diff.renames",
    "gc.auto",
    "init.defaultbranch",
    "log.showsignature=false",
    "pull.rebase",
    "push.default",
    "tag.gpgsign=false",
    "user.email",
    "user.name",
];

/// Variables that `make` takes from its words and that change what runs.
pub const MAKE_VARIABLES: &[&str] = &[
    ".SHELLFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFLAGS",
    "MAKEFILES",
    "SHELL",
    "MAKE",
];
