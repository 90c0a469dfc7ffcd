//! What is done about prompts: the posture a session was started in, or what `/approve` made of it. Pure; the time comes in.

use super::Posture;
use ostler_wire::{Language, ToolDeclaration, ToolMark, Word};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    Posture(Posture),
    /// Commands run unless denied; for the rest the rules decide.
    Shell,
    /// What would have to be asked is refused.
    Never,
    /// Auto until then, ask afterwards.
    Until(Instant),
}

/// What `/approve` was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approve {
    Ask,
    All,
    None,
    For(Duration),
}

impl Approve {
    /// `ask`, `all`, `none`, or a duration such as `10m`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "ask" => Some(Approve::Ask),
            "all" => Some(Approve::All),
            "none" => Some(Approve::None),
            other => ostler_wire::parse_duration(other).map(Approve::For),
        }
    }

    pub fn stance(self, now: Instant) -> Stance {
        match self {
            Approve::Ask => Stance::Posture(Posture::Ask),
            Approve::All => Stance::Shell,
            Approve::None => Stance::Never,
            Approve::For(time) => match now.checked_add(time) {
                Some(end) => Stance::Until(end),
                None => Stance::Posture(Posture::Ask),
            },
        }
    }
}

impl Stance {
    /// The posture that a call of this tool is judged in.
    pub fn posture(self, tool: &ToolDeclaration, now: Instant) -> Posture {
        match self {
            Stance::Posture(posture) => posture,
            Stance::Shell if tool.has(ToolMark::RunsCommands) => Posture::Yolo,
            Stance::Until(end) if now < end => Posture::Auto,
            Stance::Shell | Stance::Until(_) | Stance::Never => Posture::Ask,
        }
    }

    pub fn refuses_prompts(self) -> bool {
        match self {
            Stance::Never => true,
            Stance::Posture(_) | Stance::Shell | Stance::Until(_) => false,
        }
    }

    /// For people.
    pub fn shown(self, now: Instant, language: Language) -> String {
        match self {
            Stance::Posture(posture) => posture.name().into(),
            Stance::Shell => language.say(Word::StanceShell).into(),
            Stance::Never => language.say(Word::StanceNever).into(),
            Stance::Until(end) => match end.checked_duration_since(now) {
                Some(left) if !left.is_zero() => {
                    language.fill(Word::StanceUntil, &[&time_shown(left)])
                }
                Some(_) | None => Posture::Ask.name().into(),
            },
        }
    }

    /// What another process makes of the name of a stance. One that it cannot tell, or that was for a while, is the
    /// strictest that asks.
    pub fn of_name(name: &str) -> Self {
        match name {
            "auto" => Stance::Posture(Posture::Auto),
            "yolo" => Stance::Posture(Posture::Yolo),
            other if other == Language::English.say(Word::StanceNever) => Stance::Never,
            _ => Stance::Posture(Posture::Ask),
        }
    }

    /// The stricter of two. What holds for a while, or for commands alone, counts as `ask`.
    pub fn stricter(self, other: Self) -> Self {
        let rank = |stance: Self| match stance {
            Stance::Never => 0,
            Stance::Posture(Posture::Ask) | Stance::Shell | Stance::Until(_) => 1,
            Stance::Posture(Posture::Auto) => 2,
            Stance::Posture(Posture::Yolo) => 3,
        };
        match rank(other) < rank(self) {
            true => other,
            false => self,
        }
    }

    /// For the log.
    pub fn name(self, now: Instant) -> String {
        self.shown(now, Language::English)
    }
}

/// `1h30m`, `3m12s`, rounded up to a second.
pub fn time_shown(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match (seconds / 3600, seconds % 3600 / 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, 0) => format!("{m}m"),
        (0, m, s) => format!("{m}m{s}s"),
        (h, 0, _) => format!("{h}h"),
        (h, m, _) => format!("{h}h{m}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tool;
    use Posture::{Ask, Auto, Yolo};

    #[test]
    fn what_approve_means() {
        let start = Instant::now();
        let later = |minutes: u64| start + Duration::from_secs(60 * minutes);
        for (text, at, shell, edit, refuses, name) in [
            ("ask", later(0), Ask, Ask, false, "ask"),
            ("all", later(99), Yolo, Ask, false, "yolo for commands"),
            ("NONE", later(0), Ask, Ask, true, "refuse"),
            ("10m", later(0), Auto, Auto, false, "auto for 10m"),
            ("10m", later(9), Auto, Auto, false, "auto for 1m"),
            ("10m", later(10), Ask, Ask, false, "ask"),
            ("1h30m", later(0), Auto, Auto, false, "auto for 1h30m"),
            ("0s", later(0), Ask, Ask, false, "ask"),
        ] {
            let stance = Approve::parse(text).unwrap().stance(start);
            let got = (
                stance.posture(tool("bash"), at),
                stance.posture(tool("edit_file"), at),
                stance.refuses_prompts(),
                stance.name(at),
            );
            assert_eq!(got, (shell, edit, refuses, name.to_owned()), "{text}");
        }
        for text in ["", "yes", "10", "10 parsecs", "-1m", "true"] {
            assert_eq!(Approve::parse(text), None, "{text}");
        }
    }
}
