//! The few colours of the line output.

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
