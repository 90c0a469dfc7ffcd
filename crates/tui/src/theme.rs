//! What things look like, by the part they play, and the language of what is said. Cells name a role; a theme says the
//! style.

use crate::line::{Color, Style};
use ostler_wire::{Act, Action, Deed, Item, Language, List, Word};

/// The part a piece of text plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Text,
    /// Of little weight: hints, arguments, times.
    Faint,
    /// What the person said.
    User,
    Accent,
    Tool,
    Good,
    Warning,
    Error,
    Reasoning,
    Heading,
    Strong,
    Emphasis,
    Link,
    Quote,
    Code,
    /// Rule lines, borders of tables, bullets.
    Frame,
    Added,
    Removed,
    /// The words that differ within a changed line.
    AddedWord,
    RemovedWord,
    /// The chosen row of a menu.
    Chosen,
    /// Letters that a search matched.
    Match,
    Status,
}

/// What became of a row of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Removed,
}

/// Which of the built-in looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Colours of the person's own palette only.
    #[default]
    Ansi,
    Dark,
    Light,
    /// No colour; weight and underline stay.
    Mono,
}

impl Look {
    pub const ALL: [Self; 4] = [Self::Ansi, Self::Dark, Self::Light, Self::Mono];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ansi => "ansi",
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Mono => "mono",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|look| look.name() == name)
    }

    /// All of them, to choose from.
    pub fn list(now: Self, language: Language) -> List {
        let item = |look: Self| Item {
            label: look.name().into(),
            marked: look == now,
            actions: vec![Action {
                label: language.say(Word::ActUse).into(),
                act: Act::Do(Deed::Theme(look.name().into())),
            }],
            ..Item::default()
        };
        List {
            title: language.say(Word::ThemeTitle).into(),
            items: Self::ALL.map(item).to_vec(),
            ..List::default()
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    pub look: Look,
    pub language: Language,
}

impl Theme {
    pub const fn new(look: Look) -> Self {
        Self {
            look,
            language: Language::English,
        }
    }

    pub const fn speaking(self, language: Language) -> Self {
        Self { language, ..self }
    }

    pub fn style(&self, role: Role) -> Style {
        let shape = shape(role);
        match self.color(role) {
            Some(color) => Style {
                fg: Some(color),
                ..shape
            },
            None => shape,
        }
    }

    /// The ground of a changed row, and of its words that differ. Looks that do not know what they are drawn on have none.
    pub fn ground(&self, change: Change, is_word: bool) -> Option<Color> {
        let (dark, light) = match (change, is_word) {
            (Change::Added, false) => (0x16_2a_1a, 0xe2_f5_e4),
            (Change::Added, true) => (0x24_5a_30, 0xa9_e3_b0),
            (Change::Removed, false) => (0x33_18_1b, 0xfb_e6_e6),
            (Change::Removed, true) => (0x70_28_2e, 0xf4_b4_b4),
        };
        match self.look {
            Look::Dark => Some(rgb(dark)),
            Look::Light => Some(rgb(light)),
            Look::Ansi | Look::Mono => None,
        }
    }

    fn color(&self, role: Role) -> Option<Color> {
        let (ansi, dark, light) = palette(role)?;
        match self.look {
            Look::Ansi => Some(Color::Ansi(ansi)),
            Look::Dark => Some(rgb(dark)),
            Look::Light => Some(rgb(light)),
            Look::Mono => None,
        }
    }
}

fn rgb(hex: u32) -> Color {
    let [_, r, g, b] = hex.to_be_bytes();
    Color::Rgb(r, g, b)
}

/// Weight and form, which every look shares.
fn shape(role: Role) -> Style {
    let plain = Style::PLAIN;
    match role {
        Role::Heading | Role::Strong | Role::User | Role::Match => Style {
            bold: true,
            ..plain
        },
        Role::Emphasis | Role::Reasoning => Style {
            italic: true,
            ..plain
        },
        Role::Link => Style {
            underline: true,
            ..plain
        },
        Role::Faint | Role::Status | Role::Frame | Role::Quote => Style { dim: true, ..plain },
        Role::Chosen => Style {
            reverse: true,
            ..plain
        },
        Role::AddedWord | Role::RemovedWord => Style {
            bold: true,
            underline: true,
            ..plain
        },
        Role::Text
        | Role::Accent
        | Role::Tool
        | Role::Good
        | Role::Warning
        | Role::Error
        | Role::Code
        | Role::Added
        | Role::Removed => plain,
    }
}

/// Of the sixteen, on dark, on light.
fn palette(role: Role) -> Option<(u8, u32, u32)> {
    Some(match role {
        Role::Text
        | Role::Faint
        | Role::Strong
        | Role::Emphasis
        | Role::Status
        | Role::Chosen
        | Role::Frame
        | Role::Quote => return None,
        Role::User => (2, 0x8fd17a, 0x2f6f1f),
        Role::Accent | Role::Match => (6, 0x6cc7d9, 0x0b6a7d),
        Role::Tool => (3, 0xe0b864, 0x8a5a00),
        Role::Good => (2, 0x8fd17a, 0x2f6f1f),
        Role::Warning => (3, 0xe0b864, 0x8a5a00),
        Role::Error => (1, 0xf07a7a, 0xb02020),
        Role::Reasoning => (8, 0x909098, 0x6a6a72),
        Role::Heading => (5, 0xc8a2f0, 0x6a2fa0),
        Role::Link => (4, 0x7aa8f5, 0x1a4fb8),
        Role::Code => (6, 0x9ad0c0, 0x1f6a58),
        Role::Added | Role::AddedWord => (2, 0x8fd17a, 0x2f6f1f),
        Role::Removed | Role::RemovedWord => (1, 0xf07a7a, 0xb02020),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_have_names() {
        for look in Look::ALL {
            assert_eq!(Look::from_name(look.name()), Some(look));
        }
        let mono = Theme::new(Look::Mono).style(Role::Error);
        assert_eq!((mono.fg, mono.bg), (None, None));
    }
}
