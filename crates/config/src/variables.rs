//! References to variables in a text: `${NAME}` and `${NAME:-default}`. Finds them; what they stand for is decided elsewhere.

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    Text(&'a str),
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
    /// The rest, which begins with a `${` that is not closed.
    Open(&'a str),
}

/// The text in parts. Defaults hold no references.
pub fn parts(text: &str) -> Vec<Part<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if !before.is_empty() {
            out.push(Part::Text(before));
        }
        let Some((inner, after)) = after.split_once('}') else {
            out.push(Part::Open(rest.get(before.len()..).unwrap_or_default()));
            return out;
        };
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        out.push(Part::Variable { name, default });
        rest = after;
    }
    if !rest.is_empty() {
        out.push(Part::Text(rest));
    }
    out
}

/// The names of the variables that a text takes.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|part| match part {
        Part::Variable { name, .. } => Some(name),
        Part::Text(_) | Part::Open(_) => None,
    })
}

/// The text with everything but its references covered: a reference is no secret, and says which one is taken.
pub fn cover(text: &str, with: &str) -> String {
    let shown = |part: Part<'_>| match part {
        Part::Text(_) | Part::Open(_) => with.to_owned(),
        Part::Variable {
            name,
            default: Some(_),
        } => format!("${{{name}:-{with}}}"),
        Part::Variable {
            name,
            default: None,
        } => format!("${{{name}}}"),
    };
    parts(text).into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_shown_and_the_rest_is_covered() {
        for (text, shown, taken) in [
            ("", "", ""),
            ("secret", "*", ""),
            ("${A}", "${A}", "A"),
            ("Bearer ${A_B}", "*${A_B}", "A_B"),
            ("${A:-secret}x${B}", "${A:-*}*${B}", "A B"),
            ("${A:-${B}}", "${A:-*}*", "A"),
            ("${A}${A", "${A}*", "A"),
            ("$A {B}", "*", ""),
        ] {
            assert_eq!(cover(text, "*"), shown, "{text}");
            let found: Vec<&str> = names(text).collect();
            assert_eq!(found.join(" "), taken, "{text}");
        }
    }
}
