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
    /// Auto until then, afterwards as before.
    Until(Instant, Former),
}

/// The stance before one that holds for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Former {
    Posture(Posture),
    Shell,
    Never,
}

/// What `/approve` was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approve {
    Posture(Posture),
    All,
    None,
    For(Duration),
}

/// Names in the log and for other processes, in English whatever the person reads.
const SHELL: &str = "yolo for commands";
const NEVER: &str = "refuse";

impl Approve {
    /// `ask`, `edits`, `auto`, `yolo`, `all`, `none`, or a duration such as `10m`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        match text.as_str() {
            "all" => Some(Approve::All),
            "none" => Some(Approve::None),
            other => Posture::from_name(other)
                .map(Approve::Posture)
                .or_else(|| ostler_wire::parse_duration(other).map(Approve::For)),
        }
    }

    /// What holds from now on, where another one held before.
    pub fn stance(self, before: Stance, now: Instant) -> Stance {
        match self {
            Approve::Posture(posture) => Stance::Posture(posture),
            Approve::All => Stance::Shell,
            Approve::None => Stance::Never,
            Approve::For(time) => match now.checked_add(time) {
                Some(end) => Stance::Until(end, before.former()),
                None => before,
            },
        }
    }
}

impl Former {
    fn stance(self) -> Stance {
        match self {
            Self::Posture(posture) => Stance::Posture(posture),
            Self::Shell => Stance::Shell,
            Self::Never => Stance::Never,
        }
    }
}

impl Stance {
    fn former(self) -> Former {
        match self {
            Stance::Posture(posture) => Former::Posture(posture),
            Stance::Shell => Former::Shell,
            Stance::Never => Former::Never,
            Stance::Until(_, former) => former,
        }
    }

    /// The stance that holds at this time.
    pub fn at(self, now: Instant) -> Stance {
        match self {
            Stance::Until(end, former) if now >= end => former.stance(),
            Stance::Until(..) | Stance::Posture(_) | Stance::Shell | Stance::Never => self,
        }
    }

    /// The posture that a call of this tool is judged in.
    pub fn posture(self, tool: &ToolDeclaration, now: Instant) -> Posture {
        match self.at(now) {
            Stance::Posture(posture) => posture,
            Stance::Shell if tool.has(ToolMark::RunsCommands) => Posture::Yolo,
            Stance::Until(..) => Posture::Auto,
            Stance::Shell | Stance::Never => Posture::Ask,
        }
    }

    pub fn refuses_prompts(self, now: Instant) -> bool {
        match self.at(now) {
            Stance::Never => true,
            Stance::Posture(_) | Stance::Shell | Stance::Until(..) => false,
        }
    }

    /// For people.
    pub fn shown(self, now: Instant, language: Language) -> String {
        match self.at(now) {
            Stance::Posture(posture) => language.say(posture.word()).into(),
            Stance::Shell => language.say(Word::StanceShell).into(),
            Stance::Never => language.say(Word::StanceNever).into(),
            Stance::Until(end, _) => {
                let left = end.saturating_duration_since(now);
                language.fill(Word::StanceUntil, &[&time_shown(left)])
            }
        }
    }

    /// What another process makes of the name of a stance. One that it cannot tell, or that was for a while, is the
    /// strictest that asks.
    pub fn of_name(name: &str) -> Self {
        match Posture::from_name(name) {
            Some(posture) => Stance::Posture(posture),
            None if name == NEVER => Stance::Never,
            None => Stance::Posture(Posture::Ask),
        }
    }

    /// The stricter of two. What holds for a while, or for commands alone, counts as `ask`.
    pub fn stricter(self, other: Self) -> Self {
        let rank = |stance: Self| match stance {
            Stance::Never => 0,
            Stance::Posture(Posture::Ask) | Stance::Shell | Stance::Until(..) => 1,
            Stance::Posture(Posture::Edits) => 2,
            Stance::Posture(Posture::Auto) => 3,
            Stance::Posture(Posture::Yolo) => 4,
        };
        match rank(other) < rank(self) {
            true => other,
            false => self,
        }
    }

    /// For the log.
    pub fn name(self, now: Instant) -> String {
        match self.at(now) {
            Stance::Posture(posture) => posture.name().into(),
            Stance::Shell => SHELL.into(),
            Stance::Never => NEVER.into(),
            Stance::Until(end, _) => {
                format!(
                    "auto for {}",
                    time_shown(end.saturating_duration_since(now))
                )
            }
        }
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
    use Posture::{Ask, Auto, Edits, Yolo};

    #[test]
    fn what_approve_means() {
        let start = Instant::now();
        let later = |minutes: u64| start + Duration::from_secs(60 * minutes);
        for (text, at, shell, edit, refuses, name) in [
            ("ask", later(0), Ask, Ask, false, "ask"),
            ("edits", later(0), Edits, Edits, false, "edits"),
            ("auto", later(0), Auto, Auto, false, "auto"),
            ("yolo", later(0), Yolo, Yolo, false, "yolo"),
            ("all", later(99), Yolo, Ask, false, "yolo for commands"),
            ("NONE", later(0), Ask, Ask, true, "refuse"),
            ("10m", later(0), Auto, Auto, false, "auto for 10m"),
            ("10m", later(9), Auto, Auto, false, "auto for 1m"),
            ("10m", later(10), Edits, Edits, false, "edits"),
            ("1h30m", later(0), Auto, Auto, false, "auto for 1h30m"),
            ("0s", later(0), Edits, Edits, false, "edits"),
        ] {
            let before = Stance::Posture(Edits);
            let stance = Approve::parse(text).unwrap().stance(before, start);
            let got = (
                stance.posture(tool("bash"), at),
                stance.posture(tool("edit_file"), at),
                stance.refuses_prompts(at),
                stance.name(at),
            );
            assert_eq!(got, (shell, edit, refuses, name.to_owned()), "{text}");
        }
        for text in ["", "yes", "10", "10 parsecs", "-1m", "true"] {
            assert_eq!(Approve::parse(text), None, "{text}");
        }
    }

    #[test]
    fn after_a_while_it_is_as_before() {
        let start = Instant::now();
        let minute = Approve::parse("1m").unwrap();
        let end = start + Duration::from_secs(60);
        let refusing = minute.stance(Stance::Never, start);
        assert!(!refusing.refuses_prompts(start) && refusing.refuses_prompts(end));
        // A second one does not take the first for the former.
        let twice = minute.stance(minute.stance(Stance::Shell, start), start);
        assert_eq!(twice.name(end), SHELL);
    }
}
