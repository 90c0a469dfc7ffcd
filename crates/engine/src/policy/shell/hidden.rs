//! Commands that stand among the words of others (`watch rm x`, `tar --to-command='rm x'`), for deny and ask rules to
//! find, and options that hand one over. What a wrapper surely runs is taken out of it in `simple`.

use super::commands;
use super::simple::joined;
use super::word::Word;

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
    let quoted = is(commands::RUNS_QUOTED) && !is(commands::PROSE);
    let mut out = Vec::new();
    for text in texts.iter().skip(1).take(MAX_HIDDEN) {
        if quoted && text.contains(char::is_whitespace) {
            out.extend(commands_in(text));
        } else if text.contains("$(") || text.contains('`') {
            out.extend(text.split(['(', ')', '`']).map(|t| t.trim().to_owned()));
        }
    }
    out
}

/// Words of a command that runs what it finds in files, as far as they may name places.
pub(super) fn outer_words(words: &[Word]) -> impl Iterator<Item = &str> {
    let texts: Vec<&str> = words.iter().map(|w| w.text.as_str()).collect();
    let runs = commands::RUNS_FILES
        .iter()
        .any(|entry| commands::starts(&texts, entry));
    let args = texts.into_iter().skip(1).filter(move |_| runs);
    let pieces = args.flat_map(|text| {
        // `-kC/x`: the value hangs on the letters.
        let hanging = text
            .starts_with('-')
            .then(|| text.find(['/', '.']))
            .flatten();
        let hanging = hanging.and_then(|at| text.get(at..));
        text.split(['=', ',']).chain(hanging)
    });
    pieces.filter(|piece| piece.contains('/') || piece.contains(".."))
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

/// An option by which the command runs another.
pub(super) fn hands_over(words: &[Word]) -> bool {
    let Some((name, args)) = words.split_first() else {
        return false;
    };
    if name.text == "make" && args.iter().any(|arg| is_make_text(&arg.text)) {
        return true;
    }
    let table = commands::RUNS_OPTION
        .iter()
        .find(|(command, _)| *command == name.text);
    table.is_some_and(|(_, options)| {
        // Behind `--` they are meant for somebody else.
        let mut own = args.iter().take_while(|arg| arg.text != "--");
        own.any(|arg| {
            let option = arg
                .text
                .split_once('=')
                .map_or(arg.text.as_str(), |(o, _)| o);
            options.contains(&option)
        })
    })
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
