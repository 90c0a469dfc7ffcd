//! How many files a new kind of entry has to be written down in: those that list every kind. Whoever only wants some kinds
//! asks for them, so that a new one changes nothing there.

use super::Violation;
use super::source::Source;

/// Where the kinds are.
const KINDS: &str = "crates/wire/src/entry.rs";
/// The file of the kinds itself is one.
const MOST: usize = 6;

pub fn check(production: &[&Source]) -> Vec<Violation> {
    let places = places(production);
    if places.len() <= MOST {
        return Vec::new();
    }
    let message = format!(
        "a new kind of entry has {} places and may have {MOST}; ask for the kinds that are wanted (`if let Body::…`, \
         `body.prompt()`) in some of: {}",
        places.len(),
        places.join(", ")
    );
    vec![Violation {
        path: KINDS.into(),
        line: 1,
        message,
    }]
}

/// The files whose code names every kind.
pub fn places<'a>(production: &[&'a Source]) -> Vec<&'a str> {
    let kinds = production.iter().find(|source| source.path == KINDS);
    let kinds = kinds.map_or_else(Vec::new, |source| kinds_in(source));
    let names_all =
        |source: &&&Source| !kinds.is_empty() && kinds.iter().all(|kind| names(source, kind));
    production
        .iter()
        .filter(names_all)
        .map(|source| source.path.as_str())
        .collect()
}

fn kinds_in(source: &Source) -> Vec<&str> {
    let begins = |token: &usize| source.reads(*token, &["enum", "Body", "{"]);
    let Some(start) = (0..source.tokens()).find(begins) else {
        return Vec::new();
    };
    let within = start + 3..source.closing(start + 2);
    within
        .filter(|token| source.word(*token + 1) == "(" && source.word(*token + 3) == ")")
        .map(|token| source.word(token))
        .collect()
}

fn names(source: &Source, kind: &str) -> bool {
    let names = |token: &usize| {
        source.reads(*token, &["Body", "::", kind]) && !source.is_test(source.at(*token))
    };
    (0..source.tokens()).any(|token| names(&token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_list_every_kind_are_found() {
        let kinds = "pub enum Body {\n    A(One),\n    B(Two),\n}\n";
        let all = "fn f(b: Body) { match b { Body::A(_) | Body::B(_) => {} } }\n";
        let one = "fn f(b: Body) { if let Body::A(_) = b {} }\n#[cfg(test)]\nmod tests { fn g(b: Body) { Body::B(b); } }\n";
        let sources = [
            Source::new(KINDS, kinds),
            Source::new("crates/x/src/all.rs", all),
            Source::new("crates/x/src/one.rs", one),
        ];
        let sources: Vec<&Source> = sources.iter().collect();
        assert_eq!(places(&sources), ["crates/x/src/all.rs"]);
        assert!(check(&sources).is_empty());
        let many: Vec<Source> = (0..=MOST)
            .map(|n| Source::new(&format!("crates/x/src/a{n}.rs"), all))
            .collect();
        let many: Vec<&Source> = sources.iter().copied().chain(&many).collect();
        assert_eq!(check(&many).len(), 1);
    }
}
