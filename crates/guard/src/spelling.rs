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

/// Whether the command begins with these words when options between them do not count, each with a value or without:
/// `git -c a.b=c --no-pager push` begins with `git push`.
pub fn names_words(command: &str, words: &str) -> bool {
    let have: Vec<&str> = command.split_whitespace().collect();
    let mut starts = vec![0];
    for (nth, word) in words.split_whitespace().enumerate() {
        let mut next: Vec<usize> = Vec::new();
        for start in std::mem::take(&mut starts) {
            let mut at = vec![start];
            let mut seen = 0;
            while let Some(i) = at.get(seen).copied() {
                seen += 1;
                if have.get(i) == Some(&word) && !next.contains(&(i + 1)) {
                    next.push(i + 1);
                }
                let is_skipped = nth > 0 && have.get(i).is_some_and(|word| is_option(word));
                let further = [i + 1, i + 2].into_iter().filter(|_| is_skipped);
                for one in further.filter(|one| *one < have.len()) {
                    if !at.contains(&one) {
                        at.push(one);
                    }
                }
            }
        }
        starts = next;
    }
    !starts.is_empty()
}

/// The command without the options behind its name, each with a value or without.
pub fn without_options(command: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let mut begins = vec![1];
    let mut seen = 0;
    while let Some(i) = begins.get(seen).copied() {
        seen += 1;
        if words.get(i).is_some_and(|word| is_option(word)) {
            let further = [i + 1, i + 2].into_iter().filter(|one| *one < words.len());
            let new: Vec<usize> = further.filter(|one| !begins.contains(one)).collect();
            begins.extend(new);
        }
    }
    let begins = begins.into_iter().filter(|i| *i > 1);
    begins
        .filter_map(|i| {
            let rest = words.get(i..)?.iter();
            Some(
                words
                    .first()
                    .into_iter()
                    .chain(rest)
                    .copied()
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        })
        .collect::<Vec<_>>()
        .into_iter()
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

/// One spelling for all that mean the same host: `EVIL.com.`, `0x7f.1`, `[::ffff:127.0.0.1]`.
pub fn plain_host(host: &str) -> String {
    let lower = host.trim_end_matches('.').to_ascii_lowercase();
    if lower.contains(['*', '?']) {
        return lower;
    }
    let bracketed = match lower.contains(':') && !lower.starts_with('[') {
        true => format!("[{lower}]"),
        false => lower.clone(),
    };
    match url::Host::parse(&bracketed) {
        Ok(url::Host::Domain(name)) => name,
        Ok(url::Host::Ipv4(address)) => address.to_string(),
        Ok(url::Host::Ipv6(address)) => match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => address.to_string(),
        },
        Err(_) => lower,
    }
}

pub fn host_and_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (host, Some(port))
        }
        Some(_) | None => (text, None),
    }
}
