//! Puts an ask to the person on the terminal, as lines.

use crate::print::{printable, printable_block};
use ostler_wire::{Ask, AskKind, Choice, Language, Op, Word};
use std::io::{self, BufRead, Write};

/// Shows the ask on stderr and reads the answer from the terminal.
pub async fn on_terminal(ask: &Ask, language: Language) -> io::Result<Op> {
    let text = question(ask, language);
    let line = tokio::task::spawn_blocking(move || {
        let mut err = io::stderr();
        write!(err, "{text}")?;
        err.flush()?;
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        Ok::<_, io::Error>(line)
    })
    .await
    .map_err(io::Error::other)??;
    Ok(answer(ask, &line))
}

/// The question with its options, ready to print.
pub fn question(ask: &Ask, language: Language) -> String {
    question_at(ask, &sign(), language)
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
    let line = |choice: &Choice| {
        let (_, key) = KEYS.iter().find(|(id, _)| *id == choice.id)?;
        let key = language.say(*key);
        let detail = choice.detail.as_deref().map(one_line);
        let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
        Some(format!("  {key}{detail}\n"))
    };
    ask.options.iter().filter_map(line).collect()
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
        AskKind::Permission | AskKind::Trust | AskKind::Budget => permission(line),
        AskKind::Plan => plan(line),
        AskKind::Question | AskKind::Elicitation => (chosen(&ask.options, line), None),
    };
    Op::Answer {
        ask: ask.ask.clone(),
        choice,
        reason,
    }
}

fn permission(line: &str) -> (String, Option<String>) {
    let choice = match line.to_lowercase().as_str() {
        "y" | "yes" => "once",
        "s" | "session" => "session",
        "a" | "always" => "always",
        "" | "n" | "no" => "deny",
        _ => return ("deny".into(), Some(line.to_owned())),
    };
    (choice.into(), None)
}

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
        assert!(!question(&ask(AskKind::Permission, &[]), Language::English).contains('\u{1b}'));
    }
}
