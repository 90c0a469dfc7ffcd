//! What is taken back: three prompts that change files, and a rewind to each of them, with what lies in the project then.

use std::path::Path;

/// What the project holds, by name: nothing for a file that is not there.
pub type Holds = [(&'static str, Option<&'static str>)];

pub struct Back {
    pub name: &'static str,
    /// The words after `/rewind`.
    pub words: &'static str,
    pub holds: &'static Holds,
}

/// Commands of three prompts, run by file tools and by the shell.
pub const PROMPTS: [&str; 3] = [
    "mkdir -p d; echo one > a; echo kept > d/b; chmod 600 d/b",
    "echo two >> a; rm d/b; ln -s a link; printf 'x\\000y' > bytes",
    "rm a; mkdir e; echo three > e/c; rm link",
];

pub const BACKS: [Back; 9] = [
    Back {
        name: "the last prompt",
        words: "3 code",
        holds: &[
            ("a", Some("one\ntwo\n")),
            ("d/b", None),
            ("e/c", None),
            ("bytes", Some("x\0y")),
        ],
    },
    Back {
        name: "undone",
        words: "undo",
        holds: &[("a", None), ("e/c", Some("three\n")), ("d/b", None)],
    },
    Back {
        name: "two prompts",
        words: "2 code",
        holds: &[
            ("a", Some("one\n")),
            ("d/b", Some("kept\n")),
            ("bytes", None),
            ("e/c", None),
        ],
    },
    Back {
        name: "undone again",
        words: "undo",
        holds: &[
            ("a", None),
            ("e/c", Some("three\n")),
            ("bytes", Some("x\0y")),
        ],
    },
    Back {
        name: "one file",
        words: "3 file a",
        holds: &[("a", Some("one\ntwo\n")), ("e/c", Some("three\n"))],
    },
    Back {
        name: "all prompts",
        words: "1 code",
        holds: &[
            ("a", None),
            ("d/b", None),
            ("e/c", None),
            ("bytes", None),
            ("seed", Some("seed\n")),
        ],
    },
    Back {
        name: "all undone",
        words: "undo",
        holds: &[("a", Some("one\ntwo\n")), ("e/c", Some("three\n"))],
    },
    Back {
        name: "no such prompt",
        words: "9 code",
        holds: &[("a", Some("one\ntwo\n")), ("e/c", Some("three\n"))],
    },
    Back {
        name: "no such word",
        words: "1 everything",
        holds: &[("a", Some("one\ntwo\n")), ("e/c", Some("three\n"))],
    },
];

/// What differs.
pub fn differences(project: &Path, back: &Back) -> Vec<String> {
    let look = |name: &str| std::fs::read_to_string(project.join(name)).ok();
    let wrong = back
        .holds
        .iter()
        .filter(|(name, text)| look(name).as_deref() != *text);
    wrong
        .map(|(name, text)| format!("{}: {name}: {text:?}, found {:?}", back.name, look(name)))
        .collect()
}
