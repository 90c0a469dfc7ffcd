//! Puts an ask to the person on the terminal, as lines. A line answers only if it is typed after the question could be
//! read; what outlives the session takes a second one.

use crate::input::{Said, Typed, Want};
use ostler_host::keyboard::{Hidden, KeyByKey};
use ostler_wire::{
    Ask, AskKind, Choice, Language, Op, Takes, Word, count_blanks, printable, printable_block,
};
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
        let line = match put(&asked, ask.kind, lines).await? {
            Said::Line(line) | Said::Early(line) => line,
            Said::Over => return Ok(ask.leave()),
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

async fn put(asked: &Question, kind: AskKind, lines: &mut Typed) -> io::Result<Said> {
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
    let hidden = match kind {
        AskKind::Secret => Hidden::start(io::stdin()),
        AskKind::Permission
        | AskKind::Question
        | AskKind::Plan
        | AskKind::Trust
        | AskKind::Elicitation
        | AskKind::Budget => None,
    };
    write!(err, "{}", asked.invitation)?;
    err.flush()?;
    let said = lines.next(Want::Answer).await;
    if hidden.is_some() {
        // The line end that was typed was not shown either.
        writeln!(err)?;
    }
    Ok(said)
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

/// The choice that this line names and that a second line has to confirm.
pub fn to_confirm<'a>(ask: &'a Ask, line: &str) -> Option<&'a Choice> {
    named(ask, line).filter(|choice| choice.confirm)
}

/// Whether a line is nothing but the name of an option.
pub fn is_answer(ask: &Ask, line: &str) -> bool {
    named(ask, line).is_some() || is_yes(line)
}

pub fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

/// `sign` stands before a command, as in the person's own shell.
fn question_at(ask: &Ask, sign: &str, language: Language) -> String {
    let mut text = String::new();
    if let Some(preview) = &ask.preview {
        text.push_str(printable_block(&count_blanks(preview)).trim_end());
        text.push_str("\n\n");
    }
    if let Some(child) = &ask.from {
        text.push_str(&format!("[{}] ", one_line(child)));
    }
    let is_usual = ask.title.is_empty() || ask.title == language.say(Word::WantsToRun);
    let command = ask.subject.strip_prefix("bash: ");
    if command.is_some() && !is_usual {
        // A heading that says more than what is run.
        text.push_str(&format!("{}\n", printable(&ask.title)));
    }
    text.push_str(&match command {
        Some(command) => format!("{sign} {}", one_line(command)),
        None => one_line(&ask.subject),
    });
    if ask.kind == AskKind::Permission {
        text.push_str(language.say(Word::Approve));
    }
    text.push('\n');
    match ask.is_approval() {
        true => text.push_str(&approval(ask, language)),
        false => {
            for (i, choice) in ask.options.iter().enumerate() {
                text.push_str(&format!("  {}. {}\n", i + 1, one_line(&choice.label)));
            }
            text.push_str(language.say(match (ask.options.is_empty(), ask.multi) {
                (true, _) if ask.kind == AskKind::Secret => Word::AnswerSecret,
                (true, _) => Word::AnswerWords,
                (false, false) => Word::AnswerNumber,
                (false, true) => Word::AnswerNumbers,
            }));
        }
    }
    text
}

/// The options, each with what exactly it would do. The line to answer on begins with the one that refuses.
fn approval(ask: &Ask, language: Language) -> String {
    let mut text = String::new();
    let mut last = None;
    for (at, choice) in ask.options.iter().enumerate() {
        let key = choice.key.map_or((at + 1).to_string(), String::from);
        let label = one_line(&choice.label);
        if choice.refuses && last.is_none() {
            let hint = choice.hint.as_deref().map(one_line);
            last = Some(match (choice.takes, hint) {
                (Takes::Reason, Some(hint)) => {
                    language.fill(Word::LineReason, &[&key, &label, &hint])
                }
                (Takes::Reason | Takes::Nothing | Takes::EditedText, _) => {
                    format!("[{key}] {label}: ")
                }
            });
            continue;
        }
        let detail = match (choice.takes, &choice.detail) {
            (Takes::EditedText, None) => Some(language.fill(Word::LineEdited, &[&key])),
            (Takes::EditedText | Takes::Nothing | Takes::Reason, detail) => {
                detail.as_deref().map(one_line)
            }
        };
        let detail = detail.map_or_else(String::new, |detail| format!(": {detail}"));
        text.push_str(&format!("  [{key}] {label}{detail}\n"));
    }
    format!("{text}  {}", last.unwrap_or_default())
}

/// On one line, with line breaks to be seen: they separate commands.
fn one_line(text: &str) -> String {
    printable(
        &count_blanks(text.trim_end())
            .replace("\r\n", "\n")
            .replace('\n', " ⏎ "),
    )
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
    if ask.kind == AskKind::Secret {
        return ask.answer(line.trim_end_matches(['\r', '\n']), None);
    }
    let line = line.trim();
    if !ask.is_approval() {
        return ask.answer(&chosen(&ask.options, line), None);
    }
    if let Some((choice, text)) = edited(ask, line) {
        return ask.answer(&choice.id, Some(text));
    }
    match (named(ask, line), ask.refusal()) {
        // A text that is to be edited has to be there.
        (Some(choice), _) if choice.takes != Takes::EditedText => ask.take(choice, None),
        (None, Some(no)) if no.takes == Takes::Reason && !line.is_empty() => {
            ask.answer(&no.id, Some(line.to_owned()))
        }
        (Some(_) | None, _) => ask.leave(),
    }
}

/// The answer that takes this choice.
pub fn take(ask: &Ask, choice: &Choice) -> Op {
    ask.take(choice, None)
}

/// The option that a line is the exact name of. One without a key goes by its number.
fn named<'a>(ask: &'a Ask, line: &str) -> Option<&'a Choice> {
    if !ask.is_approval() {
        return None;
    }
    let by_number = || {
        let at = line.trim().parse::<usize>().ok()?.checked_sub(1)?;
        let choice = ask.options.get(at)?;
        choice.key.is_none().then_some(at)
    };
    let at = ask.named(line).or_else(by_number)?;
    ask.options.get(at)
}

/// A choice that takes an edited text, and the text that follows its key or id.
fn edited<'a>(ask: &'a Ask, line: &str) -> Option<(&'a Choice, String)> {
    let (name, text) = line.split_once(' ')?;
    let choice = ask.options.get(ask.named(name)?)?;
    let text = text.trim().replace("\\n", "\n");
    (choice.takes == Takes::EditedText).then_some((choice, text))
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
    use ostler_wire::PermissionChoice::{Always, AlwaysProject, Deny, Once, Session};
    use ostler_wire::{PermissionChoice, PlanChoice, Silence};

    fn ask(kind: AskKind, options: Vec<Choice>) -> Ask {
        let no = options.iter().find(|choice| choice.refuses);
        Ask {
            ask: "a1".into(),
            kind,
            subject: "bash: rm x\u{1b}[2J".into(),
            silence: no.map_or_else(Silence::default, |no| Silence::refuses(&no.id)),
            options,
            free_text: true,
            ..Ask::default()
        }
    }

    fn choice(id: PermissionChoice) -> Choice {
        Choice::permission(id, id.id())
    }

    fn plan() -> Ask {
        let choice = |id: PlanChoice, label: &str| Choice::plan(id, label);
        let options = vec![
            choice(PlanChoice::Approve, "approve and go on"),
            choice(PlanChoice::Edit, "edit it first"),
            choice(PlanChoice::Keep, "keep planning").with_reason("what to change"),
        ];
        ask(AskKind::Plan, options)
    }

    #[test]
    fn lines_become_answers() {
        let permission = ask(
            AskKind::Permission,
            vec![
                choice(Once),
                choice(Session),
                choice(Always),
                choice(Deny).with_reason("why not"),
            ],
        );
        let colours = ["red", "blue"].map(|colour| Choice::new(colour, colour));
        let question = ask(AskKind::Question, colours.to_vec());
        let plan = plan();
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
            vec![
                choice(Once),
                choice(Always),
                choice(AlwaysProject),
                choice(Deny).with_reason("why not"),
            ],
        );
        for (line, choice, reason, lasts) in [
            ("y", "once", None, false),
            ("s", "deny", Some("s"), false),
            ("yes please", "deny", Some("yes please"), false),
            ("actually, no", "deny", Some("actually, no"), false),
            ("a", "always", None, true),
            ("3", "always_project", None, true),
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
        let detailed = choice(Always).with_detail("Bash(make) in config.toml");
        let asked = confirmation(&detailed, Language::English);
        assert_eq!(
            asked.text,
            "Save this for good? Bash(make) in config.toml\n"
        );
        let shown = question(&offered, Language::English).text;
        assert!(shown.contains("[3] always_project"), "{shown}");
    }

    #[test]
    fn what_a_yes_would_do_stands_above_it() {
        let permission = Ask {
            subject: "bash: make\nmake install".into(),
            preview: Some("-old\n+new\u{1b}[2J\n".into()),
            options: vec![
                choice(Once),
                choice(Session).with_detail("this exact command"),
                choice(Always).with_detail("Bash(make) in config.toml\n[y]es"),
                choice(Deny).with_reason("why not"),
            ],
            ..ask(AskKind::Permission, Vec::new())
        };
        assert_eq!(
            question_at(&permission, "me@box$", Language::English),
            "-old
+new\u{fffd}[2J

me@box$ make ⏎ make install -- approve?
  [y] once
  [s] session: this exact command
  [a] always: Bash(make) in config.toml ⏎ [y]es
  [n] deny, or why not: "
        );
        let plan = Ask {
            subject: "Carry out this plan?".into(),
            preview: Some("1. look\n2. leap".into()),
            ..plan()
        };
        assert_eq!(
            question_at(&plan, "me@box$", Language::English),
            "1. look
2. leap

Carry out this plan?
  [y] approve and go on
  [e] edit it first: e and the new text, \\n for a new line
  [n] keep planning, or what to change: "
        );
    }

    #[test]
    fn a_subject_cannot_drive_the_terminal() {
        let question = question(&ask(AskKind::Permission, Vec::new()), Language::English);
        assert!(!question.text.contains('\u{1b}'));
    }
}
