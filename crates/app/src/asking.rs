//! Puts an ask to the person on the terminal, as lines.

use ostler_wire::{Ask, AskKind, Choice, Op};
use std::io::{self, BufRead, Write};

/// Shows the ask on stderr and reads the answer from the terminal.
pub async fn on_terminal(ask: &Ask) -> io::Result<Op> {
    let text = question(ask);
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
pub fn question(ask: &Ask) -> String {
    let subject = crate::print::printable(&ask.subject);
    match ask.kind {
        AskKind::Permission | AskKind::Trust | AskKind::Plan | AskKind::Budget => {
            format!("{subject} -- approve? [y]es, [s]ession, [n]o (or why not): ")
        }
        AskKind::Question | AskKind::Elicitation => {
            let options: String = ask
                .options
                .iter()
                .enumerate()
                .map(|(i, c)| format!("  {}. {}\n", i + 1, crate::print::printable(&c.label)))
                .collect();
            let how = match (ask.options.is_empty(), ask.multi) {
                (true, _) => "answer: ",
                (false, false) => "number, or your own words: ",
                (false, true) => "numbers with commas, or your own words: ",
            };
            format!("{subject}\n{options}{how}")
        }
    }
}

/// What a typed line means. No answer is a no.
pub fn answer(ask: &Ask, line: &str) -> Op {
    let line = line.trim();
    let (choice, reason) = match ask.kind {
        AskKind::Permission | AskKind::Trust | AskKind::Plan | AskKind::Budget => {
            match line.to_lowercase().as_str() {
                "y" | "yes" => ("once".to_owned(), None),
                "s" | "session" => ("session".to_owned(), None),
                "" | "n" | "no" => ("deny".to_owned(), None),
                _ => ("deny".to_owned(), Some(line.to_owned())),
            }
        }
        AskKind::Question | AskKind::Elicitation => (chosen(&ask.options, line), None),
    };
    Op::Answer {
        ask: ask.ask.clone(),
        choice,
        reason,
    }
}

/// The answer of nobody: a no to a call, no words to a question.
pub fn unanswered(ask: &Ask) -> Op {
    let (choice, reason) = match ask.kind {
        AskKind::Permission | AskKind::Trust | AskKind::Plan | AskKind::Budget => {
            ("deny", Some("nobody is there to answer"))
        }
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
        for (ask, line, choice, reason) in [
            (&permission, "y\n", "once", None),
            (&permission, "S", "session", None),
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
    fn a_subject_cannot_drive_the_terminal() {
        assert!(!question(&ask(AskKind::Permission, &[])).contains('\u{1b}'));
    }
}
