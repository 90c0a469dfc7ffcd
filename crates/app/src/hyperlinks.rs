//! Whether the terminal shows OSC 8 links, by what it says of itself in the environment. Nothing is asked of the terminal:
//! an answer that comes late would be typed into the next program.

use ostler_config::paths::Env;

/// Variables that a terminal sets, and the least number in them.
// tidy: table
const BY_VARIABLE: &[(&str, u64)] = &[
    ("ALACRITTY_WINDOW_ID", 0),
    ("DOMTERM", 0),
    ("GHOSTTY_RESOURCES_DIR", 0),
    ("KITTY_WINDOW_ID", 0),
    ("KONSOLE_VERSION", 201_200),
    ("VTE_VERSION", 5_000),
    ("WEZTERM_EXECUTABLE", 0),
    ("WT_SESSION", 0),
];

/// Names in `TERM_PROGRAM`, and the least version.
// tidy: table
const BY_PROGRAM: &[(&str, (u64, u64))] = &[
    ("Hyper", (2, 0)),
    ("Tabby", (0, 0)),
    ("WezTerm", (0, 0)),
    ("ghostty", (0, 0)),
    ("iTerm.app", (3, 1)),
    ("mintty", (0, 0)),
    ("rio", (0, 0)),
    ("tmux", (3, 4)),
    ("vscode", (1, 72)),
    ("zed", (0, 0)),
];

/// Names in `TERM`.
const BY_TERM: [&str; 7] = [
    "alacritty",
    "contour",
    "foot",
    "foot-extra",
    "wezterm",
    "xterm-ghostty",
    "xterm-kitty",
];

pub fn known(env: &Env) -> bool {
    let value = |name: &str| env.get(name).map(String::as_str).filter(|v| !v.is_empty());
    // The usual word of the person's own.
    if let Some(forced) = value("FORCE_HYPERLINK") {
        return forced != "0";
    }
    let term = value("TERM").unwrap_or_default();
    if term == "dumb" || value("STY").is_some() {
        return false;
    }
    let by_program = value("TERM_PROGRAM").is_some_and(|program| {
        let version = version(value("TERM_PROGRAM_VERSION").unwrap_or_default());
        let mut rows = BY_PROGRAM.iter();
        rows.any(|(name, least)| *name == program && version >= *least)
    });
    // Within tmux the terminal is tmux, whatever it was started from.
    if value("TMUX").is_some() {
        return by_program;
    }
    let by_variable = BY_VARIABLE.iter().any(|(name, least)| {
        value(name)
            .is_some_and(|found| *least == 0 || found.parse().is_ok_and(|n: u64| n >= *least))
    });
    by_program || by_variable || BY_TERM.contains(&term)
}

/// `3.4a` is 3 and 4.
fn version(text: &str) -> (u64, u64) {
    let number = |part: Option<&str>| {
        let digits = part.unwrap_or_default();
        let end = digits.find(|c: char| !c.is_ascii_digit());
        let digits = digits.get(..end.unwrap_or(digits.len()));
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let mut parts = text.split('.');
    (number(parts.next()), number(parts.next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_say_what_they_are() {
        for (variables, expect) in [
            (&[][..], false),
            (&[("TERM", "xterm-256color")], false),
            (&[("TERM", "foot")], true),
            (&[("VTE_VERSION", "4999")], false),
            (&[("VTE_VERSION", "7600")], true),
            (&[("WT_SESSION", "a-b")], true),
            (
                &[
                    ("TERM_PROGRAM", "iTerm.app"),
                    ("TERM_PROGRAM_VERSION", "3.0.1"),
                ],
                false,
            ),
            (
                &[
                    ("TERM_PROGRAM", "iTerm.app"),
                    ("TERM_PROGRAM_VERSION", "3.5.2"),
                ],
                true,
            ),
            (&[("TERM_PROGRAM", "Apple_Terminal")], false),
            // Within tmux only tmux counts.
            (&[("TMUX", "x"), ("VTE_VERSION", "7600")], false),
            (
                &[
                    ("TMUX", "x"),
                    ("TERM_PROGRAM", "tmux"),
                    ("TERM_PROGRAM_VERSION", "3.3a"),
                ],
                false,
            ),
            (
                &[
                    ("TMUX", "x"),
                    ("TERM_PROGRAM", "tmux"),
                    ("TERM_PROGRAM_VERSION", "3.4"),
                ],
                true,
            ),
            (&[("STY", "x"), ("VTE_VERSION", "7600")], false),
            (&[("FORCE_HYPERLINK", "1")], true),
            (&[("FORCE_HYPERLINK", "0"), ("TERM", "foot")], false),
        ] {
            let pair = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
            let env: Env = variables.iter().map(pair).collect();
            assert_eq!(known(&env), expect, "{variables:?}");
        }
    }
}
