//! Commands that stand among the words of others (`watch rm x`, `tar --to-command='rm x'`), for deny and ask rules to
//! find, and options that hand one over. What a wrapper surely runs is taken out of it in `simple`.

use super::commands;
use super::word::Word;
use super::wrappers::joined;

/// Words at which a command hidden among others may begin.
const MAX_HIDDEN: usize = 32;

/// What deny and ask rules try of a command that runs others: they bind whoever starts it.
pub(super) fn hidden(words: &[Word]) -> Vec<String> {
    let Some(name) = words.first() else {
        return Vec::new();
    };
    let base = name.text.rsplit('/').next().unwrap_or_default();
    let rest = words.iter().skip(1).map(|w| w.text.as_str());
    let texts: Vec<&str> = std::iter::once(base).chain(rest).collect();
    let is = |table: &[&str]| table.iter().any(|entry| commands::starts(&texts, entry));
    if is(commands::RUNS_WORDS) || base.starts_with("ld-linux") {
        return tails(words);
    }
    let mut out = match texts.as_slice() {
        ["git", args @ ..] => out_of_aliases(args),
        _ => Vec::new(),
    };
    let quoted = is(commands::RUNS_QUOTED) && !is(commands::PROSE);
    for text in texts.iter().skip(1).take(MAX_HIDDEN) {
        if quoted && text.contains(char::is_whitespace) {
            out.extend(commands_in(text));
        } else if text.contains("$(") || text.contains('`') {
            out.extend(text.split(['(', ')', '`']).map(|t| t.trim().to_owned()));
        }
    }
    out
}

/// `git -c alias.p=push p origin` is `git push origin`.
fn out_of_aliases(args: &[&str]) -> Vec<String> {
    let given = args.iter().filter_map(|arg| {
        let (name, meant) = arg.trim_start_matches("-c").split_once('=')?;
        Some((name.strip_prefix("alias.")?, meant))
    });
    given
        .filter_map(|(alias, meant)| {
            let at = args.iter().position(|arg| *arg == alias)?;
            let rest = args.get(at + 1..)?.iter().copied();
            let words: Vec<&str> = ["git", meant].into_iter().chain(rest).collect();
            Some(words.join(" "))
        })
        .collect()
}

/// Packs or copies folders with all that is in them.
pub(super) fn takes_trees(words: &[Word]) -> bool {
    let name = words.first().map(|w| w.text.rsplit('/').next());
    let rest = words.iter().skip(1).map(|w| w.text.as_str());
    let texts: Vec<&str> = name.flatten().into_iter().chain(rest).collect();
    commands::TREES
        .iter()
        .any(|entry| commands::starts(&texts, entry))
}

/// An option by which the command runs another, in any spelling. What stands behind a program that runs its words is
/// looked at as well.
pub(super) fn hands_over(words: &[Word]) -> bool {
    let texts: Vec<&str> = words.iter().map(|w| w.text.as_str()).collect();
    let runs_words = commands::RUNS_WORDS
        .iter()
        .chain(commands::RUNS_PACKAGES)
        .any(|entry| commands::starts(&texts, entry));
    let inner = if runs_words { texts.len() } else { 1 };
    (0..inner.min(MAX_HIDDEN)).any(|at| texts.get(at..).is_some_and(is_handing_over))
}

fn is_handing_over(texts: &[&str]) -> bool {
    let Some((name, args)) = texts.split_first() else {
        return false;
    };
    if *name == "git" && is_git_elsewhere(args) {
        return true;
    }
    let own: Vec<&str> = match *name == "git" {
        true => std::iter::once("git")
            .chain(super::leads::past_git_options(args).iter().copied())
            .collect(),
        false => texts.to_vec(),
    };
    let variable = |arg: &&str| {
        let name = arg.split_once('=').map_or("", |(name, _)| name);
        commands::MAKE_VARIABLES.contains(&name.trim_end_matches([':', '+', '?']))
    };
    if *name == "make" && args.iter().any(|arg| is_make_text(arg) || variable(arg)) {
        return true;
    }
    let fits = |row: &&commands::Handing| commands::starts(&own, row.command);
    let table = commands::RUNS_OPTION.iter().filter(fits);
    table.into_iter().any(|row| {
        // Behind `--` they are meant for somebody else.
        let own: Vec<&str> = args
            .iter()
            .copied()
            .take_while(|arg| *arg != "--" && *arg != "-args")
            .collect();
        own.iter().enumerate().any(|(i, arg)| {
            let next = own.get(i + 1).copied();
            is_handing(row, arg, next)
        })
    })
}

/// Whether git is told of other programs, of another repository than the one it stands in, or of an address that is a
/// program.
fn is_git_elsewhere(args: &[&str]) -> bool {
    let mut rest = args.iter().copied();
    while let Some(arg) = rest.next().filter(|arg| arg.starts_with('-')) {
        let is_place = |place: &&str| {
            let value = arg.strip_prefix(*place);
            value.is_some_and(|value| value.is_empty() || value.starts_with('='))
        };
        if commands::GIT_PLACES.iter().any(is_place) {
            return true;
        }
        if arg == "-c" && !rest.next().is_some_and(is_harmless_setting) {
            return true;
        }
    }
    args.iter().enumerate().any(|(at, arg)| {
        let helper = arg.split_once("::").map(|(helper, _)| helper);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "+.-_".contains(c);
        helper.is_some_and(|h| !h.is_empty() && !h.starts_with('-') && h.chars().all(is_name))
            && !super::leads::is_text("git", args, at)
    })
}

/// A setting for one command that runs no program.
fn is_harmless_setting(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    let key = setting.split('=').next().unwrap_or_default();
    commands::GIT_SETTINGS.iter().any(|known| match known {
        whole if whole.contains('=') => *whole == setting,
        section if section.ends_with('.') => key.starts_with(*section),
        name => *name == key,
    })
}

fn is_handing(row: &commands::Handing, arg: &str, next: Option<&str>) -> bool {
    let dashes = arg.len() - arg.trim_start_matches('-').len();
    if !(1..=2).contains(&dashes) || arg.len() == dashes {
        return false;
    }
    let (name, value) = match arg.split_once('=') {
        Some((name, value)) => (name.trim_start_matches('-'), Some(value)),
        None => (arg.trim_start_matches('-'), None),
    };
    if row.command == "go" {
        let link = matches!(name, "ldflags" | "gcflags");
        return row.long.contains(&name) || link && !value.or(next).is_some_and(is_plain_build);
    }
    let is = |known: &&str| {
        known.trim_end_matches('.') == name
            || known.ends_with('.') && name.starts_with(*known)
            || name.len() > 1 && known.starts_with(name)
    };
    let mut files = row.files.iter().filter(|f| !f.starts_with('-'));
    if dashes == 2 {
        let outside = || value.or(next).is_none_or(|file| !is_inside(file));
        return row.long.iter().any(&is) || files.any(is) && outside();
    }
    // Some programs take one dash for two.
    if dashes == 1 && name.len() > 2 && row.long.contains(&name) {
        return true;
    }
    for (at, letter) in name.char_indices() {
        let rest = name.get(at + letter.len_utf8()..).filter(|v| !v.is_empty());
        // The value may hold an equals sign of its own.
        let rest = rest.map(|_| {
            arg.get(dashes + at + letter.len_utf8()..)
                .unwrap_or_default()
        });
        if row.files.contains(&format!("-{letter}").as_str()) {
            return rest.or(next).is_none_or(|file| !is_inside(file));
        }
        if row.short.contains(letter) {
            return true;
        }
        if row.valued.contains(letter) {
            return false;
        }
    }
    false
}

fn is_inside(file: &str) -> bool {
    !file.starts_with(['/', '~'])
        && !file.split('/').any(|part| part == "..")
        && (file == "-" || !file.starts_with('-'))
}

/// Flags of a Go compiler or linker that name no program and no file.
fn is_plain_build(flags: &str) -> bool {
    let mut rest = flags.split_whitespace();
    while let Some(flag) = rest.next() {
        match flag.trim_start_matches("all=") {
            "-s" | "-w" | "-N" | "-l" | "-m" | "" => {}
            "-X" if rest.next().is_some_and(|set| set.contains('=')) => {}
            _ => return false,
        }
    }
    true
}

/// A makefile from the standard input, or a variable whose value make or a shell would take apart.
fn is_make_text(arg: &str) -> bool {
    let from_input =
        arg == "-" || arg.ends_with("=-") || arg.starts_with('-') && arg.ends_with("f-");
    from_input || arg.contains(|c: char| c.is_whitespace() || "$`;|&<>(){}!\"'\\".contains(c))
}

/// Every rest of the words, and what a word with blanks holds.
pub(super) fn tails(words: &[Word]) -> Vec<String> {
    let mut out = Vec::new();
    for (i, word) in words.iter().enumerate().skip(1).take(MAX_HIDDEN) {
        out.push(joined(words.get(i..).unwrap_or_default()));
        if word.text.contains(char::is_whitespace) {
            out.extend(commands_in(&word.text));
        }
    }
    out
}

/// The pieces of a text that a shell or an editor may take for commands.
fn commands_in(text: &str) -> impl Iterator<Item = String> {
    let pieces = text.split(|c: char| "\n;|&(){}`=!\"'/".contains(c));
    // `1e rm x`, `.shell rm x`: a word of the other language first.
    pieces.flat_map(|piece| {
        let piece = piece.trim();
        let after = piece.split_once(char::is_whitespace).map(|(_, rest)| rest);
        [Some(piece), after]
            .into_iter()
            .flatten()
            .map(|p| p.trim().to_owned())
            .collect::<Vec<_>>()
    })
}
