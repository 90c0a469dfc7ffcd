//! Programs that run another command (`env`, `sudo`, `nohup`, `sh -c`, `xargs`): one is taken off at a time, and what it
//! means for the command inside is noted.

use super::commands::{Kind, SHELLS, WRAPPERS, Wrapper};
use super::dialect::Dialect;
use super::effects;
use super::feed::{self, Fed};
use super::word::Word;
use ostler_wire::Mark;

/// Name, value where known, and raw text of an assignment before a command.
pub type Assigned = (String, Option<String>, String);

/// What was peeled off.
#[derive(Default)]
pub struct Peeled {
    /// The command's forms with fewer and fewer wrappers.
    pub forms: Vec<String>,
    pub marks: Vec<Mark>,
    /// An allow rule must name this form, not the command inside.
    pub bound: Option<Vec<Word>>,
    pub env: Vec<Assigned>,
    /// The environment by which readers are kept from writing is taken away.
    pub cleared: bool,
    /// What comes in, for a command that takes it as its arguments.
    pub fed: Option<Fed>,
}

pub enum Inside {
    Command(Vec<Word>),
    /// A shell text of its own.
    Script(String, Option<Dialect>),
    Unsure,
}

/// One wrapper less, or `None` when there is none.
pub fn peel(words: &[Word], peeled: &mut Peeled) -> Option<Inside> {
    let (name, args) = words.split_first()?;
    let base = name.text.rsplit('/').next().unwrap_or_default();
    if !name.known || name.glob {
        return None;
    }
    if base == "eval" {
        return Some(match args.iter().all(Word::is_sure) {
            true => Inside::Script(joined(args), None),
            false => Inside::Unsure,
        });
    }
    if SHELLS.contains(&base) {
        return shell_script(base, args);
    }
    let wrapper = WRAPPERS.iter().find(|w| w.name == base)?;
    // It speaks of itself then.
    let told = |word: &Word| word.is_sure() && matches!(word.text.as_str(), "--help" | "--version");
    if wrapper.kind != Kind::Privilege && matches!(args, [one] if told(one)) {
        return None;
    }
    // A wrapper alone is a command of its own: `env` prints, `exec >x` redirects.
    let looks = base == "command"
        && args
            .first()
            .is_some_and(|a| matches!(a.text.as_str(), "-v" | "-V"));
    if args.is_empty() || looks {
        return None;
    }
    let Some(inner) = past_options(wrapper, args, peeled) else {
        return Some(Inside::Unsure);
    };
    if inner.is_empty() {
        return None;
    }
    let own = args.len().saturating_sub(inner.len());
    let mut inner = inner.to_vec();
    match wrapper.kind {
        Kind::Env => {
            let clears = |w: &Word| w.text.starts_with('-') && w.text != "--";
            peeled.cleared |= args.iter().take(own).any(clears);
        }
        Kind::Clear => {}
        Kind::Privilege => {
            peeled.marks.push(Mark::Privilege);
            peeled.bound.get_or_insert_with(|| words.to_vec());
        }
        Kind::Feeds => feed::give(args, &mut inner, peeled.fed.as_ref()),
    }
    if name.text != base {
        peeled.marks.push(Mark::Unsure);
    }
    if matches!(base, "setsid" | "nohup") {
        peeled.marks.push(Mark::Process);
        peeled.bound.get_or_insert_with(|| words.to_vec());
    }
    Some(Inside::Command(inner))
}

/// The words behind a wrapper's options, operands and assignments.
fn past_options<'w>(
    wrapper: &Wrapper,
    args: &'w [Word],
    peeled: &mut Peeled,
) -> Option<&'w [Word]> {
    let mut rest = args;
    while let Some((word, after)) = rest.split_first() {
        let text = word.text.as_str();
        // `env -` is `env -i`.
        let dash = wrapper.kind == Kind::Env && text == "-";
        if dash {
            rest = after;
            continue;
        }
        if !effects::is_option(text) {
            break;
        }
        if !word.is_sure() {
            return None;
        }
        rest = after;
        if text == "--" {
            break;
        }
        let takes = match text.strip_prefix("--") {
            Some(_) => match text.split_once('=') {
                Some((name, _)) => wrapper.long_valued.contains(&name).then_some(0)?,
                None if wrapper.long_flags.contains(&text) => 0,
                None => wrapper.long_valued.contains(&text).then_some(1)?,
            },
            None => short_takes(wrapper, text)?,
        };
        rest = rest.get(takes..)?;
    }
    if matches!(wrapper.kind, Kind::Env | Kind::Privilege) {
        while let Some((word, after)) = rest.split_first() {
            let Some((name, value)) = word.text.split_once('=').filter(|(n, _)| is_variable(n))
            else {
                break;
            };
            let value = word.is_sure().then(|| value.to_owned());
            peeled.env.push((name.to_owned(), value, word.text.clone()));
            rest = after;
        }
    }
    let skipped = rest.get(..wrapper.skip)?;
    if !skipped.iter().all(Word::is_sure) {
        return None;
    }
    rest.get(wrapper.skip..)
}

/// How many further words a cluster of short options takes; `None` when one is not known.
fn short_takes(wrapper: &Wrapper, cluster: &str) -> Option<usize> {
    let letters = cluster.get(1..)?;
    for (i, letter) in letters.char_indices() {
        if wrapper.valued.contains(letter) {
            let attached = i + letter.len_utf8() < letters.len();
            return Some(usize::from(!attached));
        }
        if !wrapper.flags.contains(letter) {
            return None;
        }
    }
    Some(0)
}

/// `sh -c script`. A login or interactive shell reads files first; a shell without `-c` runs a file or its input.
fn shell_script(base: &str, args: &[Word]) -> Option<Inside> {
    let dialect = match base {
        "bash" => Dialect::Bash,
        _ => Dialect::Any,
    };
    // It is looked at, not run.
    let checked = |word: &Word| word.is_sure() && !word.text.starts_with(['-', '+']);
    if let [option, files @ ..] = args
        && option.is_sure()
        && option.text == "-n"
        && !files.is_empty()
        && files.iter().all(checked)
    {
        return None;
    }
    let mut rest = args.iter();
    let mut has_c = false;
    for word in rest.by_ref() {
        let text = word.text.as_str();
        if !word.is_sure() {
            return Some(Inside::Unsure);
        }
        let Some(letters) = text.strip_prefix('-') else {
            return match has_c && args.iter().all(Word::is_sure) {
                true => Some(Inside::Script(text.to_owned(), Some(dialect))),
                false => Some(Inside::Unsure),
            };
        };
        if letters.is_empty() || !letters.chars().all(|c| "ceuxv".contains(c)) {
            let version = matches!(text, "--version" | "--help") && args.len() == 1;
            return (!version).then_some(Inside::Unsure);
        }
        has_c |= letters.contains('c');
    }
    Some(Inside::Unsure)
}

pub fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub fn joined(words: &[Word]) -> String {
    words
        .iter()
        .map(|w| w.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}
