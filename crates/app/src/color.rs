//! The few colours of the line output.

use ostler_config::paths::Env;
use ostler_config::units::ColorChoice;
use std::io::{self, IsTerminal as _};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Green,
    Yellow,
    Grey,
    Cyan,
    Red,
}

/// Whether colours are used at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Colour,
    None,
}

impl Paint {
    pub fn with(self, ink: Ink, text: &str) -> String {
        let code = match (self, ink) {
            (Paint::None, _) | (Paint::Colour, Ink::Plain) => return text.to_owned(),
            (Paint::Colour, Ink::Green) => "32",
            (Paint::Colour, Ink::Yellow) => "33",
            (Paint::Colour, Ink::Grey) => "90",
            (Paint::Colour, Ink::Cyan) => "36",
            (Paint::Colour, Ink::Red) => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The colours of what goes to stderr.
pub fn for_stderr(choice: ColorChoice, env: &Env) -> Paint {
    match choice {
        ColorChoice::Never => Paint::None,
        ColorChoice::Always => Paint::Colour,
        ColorChoice::Auto if liked(env) && io::stderr().is_terminal() => Paint::Colour,
        ColorChoice::Auto => Paint::None,
    }
}

/// Whether the environment lets a terminal be painted.
pub fn liked(env: &Env) -> bool {
    let value = |name: &str| env.get(name).map_or("", String::as_str);
    value("NO_COLOR").is_empty() && value("TERM") != "dumb"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_no_colours_gets_none() {
        for (variables, expect) in [
            (&[][..], true),
            (&[("TERM", "xterm")], true),
            (&[("NO_COLOR", "")], true),
            (&[("NO_COLOR", "1")], false),
            (&[("TERM", "dumb")], false),
        ] {
            let pair = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
            let env: Env = variables.iter().map(pair).collect();
            assert_eq!(liked(&env), expect, "{variables:?}");
        }
    }
}
