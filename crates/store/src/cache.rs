//! What became of the prompt cache in a recorded session: `cache why` and `cache check`. Pure over the log.

use ostler_wire::{Break, Entry, Language, Usage, Word};

/// Causes that somebody asked for: they break the prefix, but not unseen.
const PLANNED: &[&str] = &["model", "rewind", "compaction"];

/// One request of the session.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Request {
    pub entry: u64,
    pub model: String,
    pub prompt_bytes: u64,
    pub shared_bytes: u64,
    pub input: u64,
    pub cached: u64,
    #[serde(rename = "break", skip_serializing_if = "Option::is_none")]
    pub broke: Option<Break>,
}

pub fn requests(entries: &[Entry]) -> Vec<Request> {
    steps(entries)
        .map(|(entry, usage)| Request {
            entry,
            model: format!("{}/{}", usage.provider, usage.model),
            prompt_bytes: usage.prompt_bytes,
            shared_bytes: usage.shared_bytes,
            input: usage.input,
            cached: usage.cached,
            broke: usage.broke.clone(),
        })
        .collect()
}

/// The places where a prompt did not contain the one before as its beginning, other than by request.
pub fn unplanned_breaks(entries: &[Entry], language: Language) -> Vec<String> {
    let mut found = Vec::new();
    let mut before: Option<u64> = None;
    for (entry, usage) in steps(entries) {
        match (&usage.broke, before) {
            (Some(broke), _) if PLANNED.contains(&broke.cause.as_str()) => {}
            (Some(broke), _) => {
                let [entry, at, lost] = [entry, broke.at, broke.lost_tokens].map(|n| n.to_string());
                let values = [&*entry, &*at, &*broke.owner, &*broke.cause, &*lost];
                found.push(language.fill(Word::CacheBroke, &values));
            }
            (None, Some(before)) if usage.shared_bytes < before => {
                let values = [entry, usage.shared_bytes, before].map(|n| n.to_string());
                let [entry, shared, before] = values.each_ref().map(String::as_str);
                found.push(language.fill(Word::CacheShares, &[entry, shared, before]));
            }
            (None, Some(_) | None) => {}
        }
        before = Some(usage.prompt_bytes);
    }
    found
}

/// Share of prompt tokens that the provider says it had cached.
pub fn hit_rate(entries: &[Entry]) -> Option<f64> {
    let (input, cached) =
        usages(entries).fold((0, 0), |(i, c), (_, u)| (i + u.input, c + u.cached));
    (input > 0).then(|| cached as f64 / input as f64)
}

/// Requests of the conversation itself. What was asked beside it is not continued by anything.
fn steps(entries: &[Entry]) -> impl Iterator<Item = (u64, &Usage)> {
    usages(entries).filter(|(_, usage)| usage.role.is_none())
}

fn usages(entries: &[Entry]) -> impl Iterator<Item = (u64, &Usage)> {
    entries
        .iter()
        .filter_map(|e| Some((e.entry, e.body.usage()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{numbered, user};
    use ostler_wire::Body;

    fn usage(prompt_bytes: u64, shared_bytes: u64, cause: Option<&str>) -> Body {
        Body::Usage(Usage {
            provider: "p".into(),
            model: "m".into(),
            input: 100,
            cached: 25,
            prompt_bytes,
            shared_bytes,
            broke: cause.map(|cause| Break {
                at: shared_bytes,
                owner: "entry 3".into(),
                cause: cause.into(),
                lost_tokens: 7,
                cost: None,
            }),
            ..Usage::default()
        })
    }

    #[test]
    fn only_breaks_that_nobody_asked_for_are_reported() {
        for (usages, expect) in [
            (vec![], &[][..]),
            (
                vec![usage(10, 0, None), usage(20, 10, None), usage(30, 20, None)],
                &[],
            ),
            (
                vec![
                    usage(10, 0, None),
                    usage(20, 0, Some("model")),
                    usage(30, 20, None),
                ],
                &[],
            ),
            (
                vec![
                    usage(10, 0, None),
                    usage(20, 4, Some("rewind")),
                    usage(9, 0, Some("compaction")),
                ],
                &[],
            ),
            (
                vec![usage(10, 0, None), usage(20, 4, Some("rendering"))],
                &[
                    "entry 2: the prompt broke at byte 4 (entry 3), cause: rendering; about 7 tokens were read again",
                ],
            ),
            (
                vec![usage(10, 0, None), usage(20, 9, None), usage(30, 20, None)],
                &["entry 2: only 9 of the 10 bytes of the previous prompt are shared"],
            ),
        ] {
            let entries = numbered(std::iter::once(user("go")).chain(usages));
            assert_eq!(unplanned_breaks(&entries, Language::English), expect);
        }
    }

    #[test]
    fn requests_and_the_rate_of_hits() {
        let entries = numbered([user("go"), usage(10, 0, None), usage(20, 10, None)]);
        let rows: Vec<_> = requests(&entries)
            .into_iter()
            .map(|r| (r.entry, r.model, r.prompt_bytes, r.shared_bytes))
            .collect();
        assert_eq!(
            rows,
            [(1, "p/m".to_owned(), 10, 0), (2, "p/m".to_owned(), 20, 10)]
        );
        assert_eq!(hit_rate(&entries), Some(0.25));
        assert_eq!(hit_rate(&[]), None);
    }
}
