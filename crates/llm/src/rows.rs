//! Reads single `[[name]]` blocks of the compiled-in TOML tables, so that looking one thing up does not parse them whole.

use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// The `[[name]]` blocks of `text` in file order, each from its header to the next block. Sub-tables (`[name.x]`) stay inside.
pub(crate) fn rows<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let after_break = memchr::memmem::find_iter(text.as_bytes(), b"\n[[").map(|at| at + 1);
    let mut starts = text
        .starts_with("[[")
        .then_some(0)
        .into_iter()
        .chain(after_break)
        .filter_map(|at| {
            let header = text.get(at + 2..)?.split_once("]]")?.0;
            (!header.contains(['.', '\n'])).then_some((at, header))
        })
        .peekable();
    std::iter::from_fn(move || {
        loop {
            let (at, header) = starts.next()?;
            if header == name {
                let end = starts.peek().map_or(text.len(), |(next, _)| *next);
                return text.get(at..end);
            }
        }
    })
}

/// One block as a value. `None` for a block that is not what the reader expects; tests hold that there is none.
pub(crate) fn parse<T: DeserializeOwned>(row: &str) -> Option<T> {
    let mut table: BTreeMap<String, Vec<T>> = toml::from_str(row).ok()?;
    table.pop_first()?.1.pop()
}

/// Whether the row's `exact`, `prefix` or `contains` fits a model's id in lower case, with or without a vendor's name before
/// its last `/`. Reads only the rule's own line, so that a lookup parses no more than the row it takes.
pub(crate) fn fits(row: &str, id: &str) -> bool {
    let bare = id.rsplit('/').next().unwrap_or(id);
    let any = |pattern: &str, test: fn(&str, &str) -> bool| {
        !pattern.is_empty() && (test(id, pattern) || test(bare, pattern))
    };
    let mut rules = row.lines().filter_map(|line| {
        let (key, value) = line.split_once(" = \"")?;
        let pattern = value.split('"').next()?;
        Some(match key {
            "exact" => any(pattern, |id, pattern| id == pattern),
            "prefix" => any(pattern, |id, pattern| id.starts_with(pattern)),
            "contains" => any(pattern, |id, pattern| id.contains(pattern)),
            _ => return None,
        })
    });
    rules.next().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    #[test]
    fn blocks_are_found_by_name() {
        let text = "# [[a]]\n[[a]]\nx = 1\ny = [\n  [[2]],\n]\n[a.sub]\nz = 3\n[[b]]\nx = 2\n[[a]]\nx = 4\n[[a.more]]\n";
        let found: Vec<_> = super::rows(text, "a").collect();
        assert_eq!(
            found,
            [
                "[[a]]\nx = 1\ny = [\n  [[2]],\n]\n[a.sub]\nz = 3\n",
                "[[a]]\nx = 4\n[[a.more]]\n"
            ]
        );
        let first: toml::Table = super::parse(found[0]).unwrap();
        assert_eq!(first["sub"]["z"], toml::Value::Integer(3));
        assert_eq!(super::rows(text, "c").count(), 0);
    }
}
