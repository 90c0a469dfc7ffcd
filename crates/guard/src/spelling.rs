//! Spellings that mean the same command or the same host, for rules.

/// `do rm x`: the command behind a word of the shell's own.
pub fn past_keyword(piece: &str) -> &str {
    let piece = piece.trim();
    ["do ", "then ", "else ", "time "]
        .iter()
        .find_map(|word| piece.strip_prefix(word))
        .unwrap_or(piece)
        .trim_start()
}

pub fn starts_with_words(command: &str, words: &str) -> bool {
    let mut have = command.split_whitespace();
    words
        .split_whitespace()
        .all(|word| have.next() == Some(word))
}

/// Whether the command begins with these words when options between them do not count: `git -c a.b=c --no-pager push`
/// begins with `git push`.
pub fn names_words(command: &str, words: &str) -> bool {
    let have: Vec<&str> = command.split_whitespace().collect();
    let mut words = words.split_whitespace();
    let mut ends = match words.next() {
        Some(first) if have.first() == Some(&first) => vec![1],
        Some(_) => return false,
        None => return true,
    };
    for word in words {
        let begins = ends.iter().flat_map(|end| past_options(&have, *end));
        let fits = begins.filter(|i| have.get(*i) == Some(&word));
        ends = fits.map(|i| i + 1).collect();
        ends.dedup();
    }
    !ends.is_empty()
}

/// The command without the options behind its name.
pub fn without_options(command: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let begins = past_options(&words, 1).into_iter().skip(1);
    begins.map(move |i| {
        let kept = words.iter().take(1).chain(words.iter().skip(i));
        kept.copied().collect::<Vec<_>>().join(" ")
    })
}

/// Where a command may go on from this word when options are left out, each with a value or without.
fn past_options(words: &[&str], from: usize) -> Vec<usize> {
    let mut found = vec![from];
    let mut seen = 0;
    while let Some(i) = found.get(seen).copied() {
        seen += 1;
        if words.get(i).is_some_and(|word| is_option(word)) {
            let further = [i + 1, i + 2].into_iter().filter(|i| *i < words.len());
            let new: Vec<usize> = further.filter(|i| !found.contains(i)).collect();
            found.extend(new);
        }
    }
    found
}

/// `+toolchain` is one, too.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with(['-', '+'])
}

/// The first word reduced to its last path component, without escapes or quotes.
pub fn without_path(command: &str) -> String {
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or_default();
    let first: String = first.chars().filter(|c| !"\\'\"".contains(*c)).collect();
    let name = first.rsplit('/').next().unwrap_or_default().to_owned();
    words.fold(name, |text, word| text + " " + word)
}
