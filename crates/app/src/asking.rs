//! Puts an ask to the person on the terminal, as lines. A line answers only if it is typed after the question could be
//! read; what outlives the session takes a second one.

use crate::line::typed::{Said, Typed, Want};
use crate::print::{printable, printable_block};
use ostler_host::keyboard::KeyByKey;
use ostler_wire::{Ask, AskKind, Choice, Language, Op, Word};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// A question that was printed less than this ago takes no answer. The line to answer on is printed then.
pub const GUARD: Duration = Duration::from_millis(500);

/// A question, ready to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    /// The start of the line that it is answered on.
    pub invitation: String,
}

impl Question {
    fn new(text: String) -> Self {
        let at = text.rfind('\n').map_or(0, |at| at + 1);
        let (text, invitation) = text.split_at(at);
        Self {
            text: text.to_owned(),
            invitation: invitation.to_owned(),
        }
    }
}

/// Shows the ask on stderr and reads the answer from the terminal.
pub async fn on_terminal(ask: &Ask, language: Language, lines: &mut Typed) -> io::Result<Op> {
    let mut confirmed: Option<Choice> = None;
    loop {
        let asked = match &confirmed {
            Some(choice) => confirmation(choice, language),
            None => question(ask, language),
        };
        let line = match put(&asked, lines).await? {
            Said::Line(line) | Said::Early(line) => line,
            Said::Over => return Ok(answer(ask, "")),
            Said::NoAnswer(line) => {
                writeln!(io::stderr(), "{}", no_answer(&line, language))?;
                continue;
            }
        };
        match confirmed.take() {
            Some(choice) if is_yes(&line) => return Ok(take(ask, &choice)),
            Some(_) => {}
            None => match to_confirm(ask, &line) {
                Some(choice) => confirmed = Some(choice.clone()),
                None => return Ok(answer(ask, &line)),
            },
        }
    }
}

async fn put(asked: &Question, lines: &mut Typed) -> io::Result<Said> {
    lines.set_aside();
    // A line that was begun before is seen to be one only if it comes key by key.
    let keys = KeyByKey::start(io::stdin());
    let mut err = io::stderr();
    write!(err, "{}", asked.text)?;
    err.flush()?;
    tokio::time::sleep(GUARD).await;
    while let Some(at) = lines.pauses_at(Instant::now()) {
        tokio::time::sleep_until(at.into()).await;
    }
    drop(keys);
    // What was typed meanwhile, or before anybody read it, is no answer.
    lines.set_aside();
    lines.open(Instant::now());
    write!(err, "{}", asked.invitation)?;
    err.flush()?;
    Ok(lines.next(Want::Answer).await)
}

/// What is said of a line that is no answer.
pub fn no_answer(line: &str, language: Language) -> String {
    language.fill(Word::LineNoAnswer, &[&printable(line)])
}

/// The question with its options, ready to print.
pub fn question(ask: &Ask, language: Language) -> Question {
    Question::new(question_at(ask, &sign(), language))
}

/// Whether it is to be saved for good.
pub fn confirmation(choice: &Choice, language: Language) -> Question {
    let what = choice.detail.as_ref().unwrap_or(&choice.label);
    let text = language.fill(Word::SaveLine, &[&one_line(what)]);
    Question::new(format!("{text}\n{}", language.say(Word::KeySave)))
}

/// The choice that this line names and that outlives the session.
pub fn to_confirm<'a>(ask: &'a Ask, line: &str) -> Option<&'a Choice> {
    let named = match ask.kind {
        AskKind::Permission | AskKind::Trust | AskKind::Budget => named(ask, line)?,
        AskKind::Plan | AskKind::Question | AskKind::Elicitation => return None,
    };
    let choice = ask.options.iter().find(|choice| choice.id == named);
    choice.filter(|choice| choice.outlives_session())
}

/// Whether a line is nothing but the name of an option.
pub fn is_answer(ask: &Ask, line: &str) -> bool {
    named(ask, line).is_some() || is_yes(line)
}

pub fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The answer that takes this choice.
pub fn take(ask: &Ask, choice: &Choice) -> Op {
    Op::Answer {
        ask: ask.ask.clone(),
        choice: choice.id.clone(),
        reason: None,
    }
}

/// `sign` stands before a command, as in the person's own shell.
fn question_at(ask: &Ask, sign: &str, language: Language) -> String {
    let mut text = String::new();
    if let Some(preview) = &ask.preview {
        text.push_str(printable_block(preview).trim_end());
        text.push_str("\n\n");
    }
    if let Some(child) = &ask.from {
        text.push_str(&format!("[{}] ", printable(child)));
    }
    text.push_str(&match ask.subject.strip_prefix("bash: ") {
        Some(command) => format!("{sign} {}", one_line(command)),
        None => one_line(&ask.subject),
    });
    match ask.kind {
        AskKind::Budget => text.push_str(&budget(ask)),
        AskKind::Permission | AskKind::Trust => {
            text.push_str(language.say(Word::Approve));
            text.push('\n');
            text.push_str(&options(ask, language));
            text.push_str("  ");
            text.push_str(language.say(Word::KeyNo));
        }
        AskKind::Plan => {
            text.push('\n');
            text.push_str(language.say(Word::KeyPlan));
        }
        AskKind::Question | AskKind::Elicitation => {
            text.push('\n');
            for (i, choice) in ask.options.iter().enumerate() {
                text.push_str(&format!("  {}. {}\n", i + 1, printable(&choice.label)));
            }
            text.push_str(language.say(match (ask.options.is_empty(), ask.multi) {
                (true, _) => Word::AnswerWords,
                (false, false) => Word::AnswerNumber,
                (false, true) => Word::AnswerNumbers,
            }));
        }
    }
    text
}

/// What can be said beside no, each with what exactly it would do.
fn options(ask: &Ask, language: Language) -> String {
    let line = |(at, choice): (usize, &Choice)| {
        if choice.refuses() {
            return None;
        }
        let key = match KEYS.iter().find(|(id, _)| *id == choice.id) {
            Some((_, key)) => language.say(*key).to_owned(),
            None => format!("[{}] {}", at + 1, printable(&choice.label)),
        };
        let detail = choice.detail.as_deref().map(one_line);
        let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
        Some(format!("  {key}{detail}\n"))
    };
    ask.options.iter().enumerate().filter_map(line).collect()
}

/// Whether more may be spent.
fn budget(ask: &Ask) -> String {
    let line = |choice: &Choice| {
        let letter = match choice.id.as_str() {
            "deny" => 'n',
            _ => 'y',
        };
        let detail = choice.detail.as_deref().map(one_line);
        let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
        format!("\n  [{letter}] {}{detail}", printable(&choice.label))
    };
    let lines: String = ask.options.iter().map(line).collect();
    lines + ": "
}

/// Options of a permission, and the letters they go by.
const KEYS: [(&str, Word); 3] = [
    ("once", Word::KeyOnce),
    ("session", Word::KeySession),
    ("always", Word::KeyAlways),
];

/// On one line, with line breaks to be seen: they separate commands.
fn one_line(text: &str) -> String {
    printable(&text.trim_end().replace("\r\n", "\n").replace('\n', " ⏎ "))
}

/// `user@host$`, as far as it is known.
fn sign() -> String {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let user = var("USER").or_else(|| var("LOGNAME"));
    let host =
        var("HOSTNAME").or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let text = |value: Option<String>, default: &str| {
        printable(value.as_deref().map_or(default, str::trim))
    };
    format!("{}@{}$", text(user, "you"), text(host, "here"))
}

/// What a typed line means. No answer is a no.
pub fn answer(ask: &Ask, line: &str) -> Op {
    let line = line.trim();
    let (choice, reason) = match ask.kind {
        AskKind::Permission | AskKind::Trust | AskKind::Budget => permission(ask, line),
        AskKind::Plan => plan(line),
        AskKind::Question | AskKind::Elicitation => (chosen(&ask.options, line), None),
    };
    Op::Answer {
        ask: ask.ask.clone(),
        choice,
        reason,
    }
}

fn permission(ask: &Ask, line: &str) -> (String, Option<String>) {
    match named(ask, line) {
        Some(id) => (id.to_owned(), None),
        None if line.is_empty() => ("deny".into(), None),
        None => ("deny".into(), Some(line.to_owned())),
    }
}

/// The option that a line is the exact name of.
fn named<'a>(ask: &'a Ask, line: &str) -> Option<&'a str> {
    let line = line.trim().to_lowercase();
    let names = NAMES.iter().find(|(name, _)| *name == line);
    let offered = |id: &str| ask.options.iter().any(|choice| choice.id == id);
    match names {
        Some((_, id)) => Some(*id).filter(|id| ask.options.is_empty() || offered(id)),
        None => {
            let at = line.parse::<usize>().ok()?.checked_sub(1)?;
            let choice = ask.options.get(at)?;
            let has_letter = NAMES.iter().any(|(_, id)| *id == choice.id);
            Some(choice.id.as_str()).filter(|_| !has_letter)
        }
    }
}

/// What is typed for the options that have a letter.
const NAMES: [(&str, &str); 8] = [
    ("y", "once"),
    ("yes", "once"),
    ("s", "session"),
    ("session", "session"),
    ("a", "always"),
    ("always", "always"),
    ("n", "deny"),
    ("no", "deny"),
];

fn plan(line: &str) -> (String, Option<String>) {
    let edited = ["e ", "edit "]
        .iter()
        .find_map(|verb| line.strip_prefix(verb))
        .map(|plan| plan.trim().replace("\\n", "\n"));
    match (line.to_lowercase().as_str(), edited) {
        (_, Some(plan)) => ("edit".into(), Some(plan)),
        ("y" | "yes", None) => ("approve".into(), None),
        ("" | "n" | "no" | "e" | "edit", None) => ("keep".into(), None),
        (_, None) => ("keep".into(), Some(line.to_owned())),
    }
}

/// The answer of nobody: a no to a call, no words to a question.
pub fn unanswered(ask: &Ask) -> Op {
    let (choice, reason) = match ask.kind {
        AskKind::Permission | AskKind::Trust | AskKind::Budget => {
            ("deny", Some("nobody is there to answer"))
        }
        AskKind::Plan => ("keep", Some("nobody is there to approve it")),
        AskKind::Question | AskKind::Elicitation => ("", None),
    };
    Op::Answer {
        ask: ask.ask.clone(),
        choice: choice.into(),
        reason: reason.map(Into::into),
    }
}

/// Numbers stand for options; anything else is taken as it is.
fn chosen(options: &[Choice], line: &str) -> String {
    let numbers: Option<Vec<&str>> = line
        .split(',')
        .map(|n| {
            let i = n.trim().parse::<usize>().ok()?.checked_sub(1)?;
            options.get(i).map(|c| c.id.as_str())
        })
        .collect();
    match numbers {
        Some(ids) if !ids.is_empty() => ids.join(", "),
        Some(_) | None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(kind: AskKind, options: &[&str]) -> Ask {
        let choice = |o: &&str| Choice::new(*o, *o);
        Ask {
            ask: "a1".into(),
            kind,
            subject: "bash: rm x\u{1b}[2J".into(),
            options: options.iter().map(choice).collect(),
            free_text: true,
            ..Ask::default()
        }
    }

    #[test]
    fn lines_become_answers() {
        let permission = ask(AskKind::Permission, &[]);
        let question = ask(AskKind::Question, &["red", "blue"]);
        let plan = ask(AskKind::Plan, &[]);
        for (ask, line, choice, reason) in [
            (&permission, "y\n", "once", None),
            (&permission, "S", "session", None),
            (&permission, "always", "always", None),
            (&plan, "y", "approve", None),
            (&plan, "e 1. a\\n2. b", "edit", Some("1. a\n2. b")),
            (&plan, "e", "keep", None),
            (&plan, "", "keep", None),
            (&plan, "test it too", "keep", Some("test it too")),
            (&permission, "", "deny", None),
            (
                &permission,
                "use trash instead",
                "deny",
                Some("use trash instead"),
            ),
            (&question, "2\n", "blue", None),
            (&question, "1, 2", "red, blue", None),
            (&question, "9", "9", None),
            (&question, "green", "green", None),
        ] {
            let expect = Op::Answer {
                ask: "a1".into(),
                choice: choice.into(),
                reason: reason.map(Into::into),
            };
            assert_eq!(answer(ask, line), expect, "{line}");
        }
    }

    #[test]
    fn only_what_is_offered_is_an_answer() {
        let offered = ask(
            AskKind::Permission,
            &["once", "always", "always_repository", "deny"],
        );
        for (line, choice, reason, lasts) in [
            ("y", "once", None, false),
            ("s", "deny", Some("s"), false),
            ("yes please", "deny", Some("yes please"), false),
            ("actually, no", "deny", Some("actually, no"), false),
            ("a", "always", None, true),
            ("3", "always_repository", None, true),
            ("1", "deny", Some("1"), false),
            ("9", "deny", Some("9"), false),
        ] {
            let expect = Op::Answer {
                ask: "a1".into(),
                choice: choice.into(),
                reason: reason.map(Into::into),
            };
            assert_eq!(answer(&offered, line), expect, "{line}");
            assert_eq!(to_confirm(&offered, line).is_some(), lasts, "{line}");
        }
        let detailed = Choice {
            detail: Some("Bash(make) in config.toml".into()),
            ..Choice::new("always", "always")
        };
        let asked = confirmation(&detailed, Language::English);
        assert_eq!(
            asked.text,
            "Save this for good? Bash(make) in config.toml\n"
        );
        let shown = question(&offered, Language::English).text;
        assert!(shown.contains("[3] always_repository"), "{shown}");
    }

    #[test]
    fn what_a_yes_would_do_stands_above_it() {
        let detailed = |id: &str, detail: &str| Choice {
            detail: Some(detail.into()),
            ..Choice::new(id, id)
        };
        let permission = Ask {
            subject: "bash: make\nmake install".into(),
            preview: Some("-old\n+new\u{1b}[2J\n".into()),
            options: vec![
                Choice::new("once", "allow once"),
                detailed("session", "this exact command"),
                detailed("always", "Bash(make) in config.toml\n[y]es"),
                Choice::new("deny", "deny"),
            ],
            ..ask(AskKind::Permission, &[])
        };
        assert_eq!(
            question_at(&permission, "me@box$", Language::English),
            "-old
+new\u{fffd}[2J

me@box$ make ⏎ make install -- approve?
  [y]es, once
  [s]ession: this exact command
  [a]lways: Bash(make) in config.toml ⏎ [y]es
  [n]o, or why not: "
        );
        let plan = Ask {
            subject: "Carry out this plan?".into(),
            preview: Some("1. look\n2. leap".into()),
            ..ask(AskKind::Plan, &[])
        };
        assert_eq!(
            question_at(&plan, "me@box$", Language::English),
            "1. look
2. leap

Carry out this plan?
  [y]es
  [e]dit: e and the plan as it shall be, \\n for a new line
  [n]o, keep planning, or what to change: "
        );
    }

    #[test]
    fn a_subject_cannot_drive_the_terminal() {
        let question = question(&ask(AskKind::Permission, &[]), Language::English);
        assert!(!question.text.contains('\u{1b}'));
    }
}
