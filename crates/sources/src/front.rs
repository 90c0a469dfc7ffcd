//! Front matter of Markdown files (commands, roles, skills): the part of YAML that people write there. Pure. A value it
//! does not understand is left out, a file whose front matter has no end is refused. A YAML library would refuse some of
//! what is written, mostly for a colon in a description: 8 of 627 files of three public collections, all of which are read
//! here, with the values that a library reads of the others.

pub use ostler_guard::definitions::body;
use ostler_guard::definitions::split_front;
use ostler_wire::{Language, Word};
use std::collections::BTreeMap;

/// Its value is text, although people put brackets around it.
const HINT: &str = "argument-hint";
/// Keys of one file.
const MAX_KEYS: usize = 64;

/// Keys and their values, in one line each or as a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Front(BTreeMap<String, Vec<String>>);

impl Front {
    /// A value as text; a list is joined by commas.
    pub fn text(&self, key: &str) -> Option<String> {
        let joined = self.0.get(key)?.join(", ");
        Some(joined).filter(|text| !text.is_empty())
    }

    /// The first of these keys that has a value.
    pub fn any(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.text(key))
    }

    /// A value as a list. A comma within parentheses separates nothing: `Bash(a, b)` is one.
    pub fn list(&self, key: &str) -> Vec<String> {
        let items = self.0.get(key).map_or(&[][..], Vec::as_slice);
        let items = items.iter().flat_map(|item| apart(item));
        items.filter(|item| !item.is_empty()).collect()
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.text(key)?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }
}

/// The front matter of a text, and what follows it.
pub fn read(text: &str, language: Language) -> Result<(Front, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body) = split_front(text).ok_or_else(|| language.say(Word::TemplateOpen))?;
    Ok((parse(front, language)?, body.trim()))
}

fn parse(text: &str, language: Language) -> Result<Front, String> {
    let mut front = BTreeMap::<String, Vec<String>>::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        let (key, value) = bare
            .split_once(':')
            .ok_or_else(|| language.fill(Word::TemplateLine, &[bare]))?;
        let mut below = Vec::new();
        // What is indented, or a list without indentation, belongs to the key above it.
        while let Some(next) = lines.peek()
            && (next.starts_with([' ', '\t']) || next.trim().is_empty() || next.starts_with("- "))
        {
            below.push(next.trim());
            lines.next();
        }
        if front.len() < MAX_KEYS {
            let (key, value) = (key.trim(), value.trim());
            let values = match key == HINT {
                true => vec![unquoted(value)],
                false => values(value, &below),
            };
            front.insert(key.to_owned(), values);
        }
    }
    Ok(Front(front))
}

fn values(value: &str, below: &[&str]) -> Vec<String> {
    let block = value.trim_end_matches(['-', '+']);
    match block {
        "|" => vec![below.join("\n").trim().to_owned()],
        ">" => vec![folded(below.iter().copied())],
        "" if is_value(below) => values(&folded(below.iter().copied()), &[]),
        "" => {
            let items = below.iter().filter_map(|line| line.strip_prefix('-'));
            items.map(|item| unquoted(item.trim())).collect()
        }
        _ if value.starts_with('[') => {
            let whole = folded(std::iter::once(value).chain(below.iter().copied()));
            apart(whole.trim_matches(['[', ']']))
        }
        _ => vec![unquoted(&folded(
            std::iter::once(value).chain(below.iter().copied()),
        ))],
    }
}

/// Whether the lines below a key are its value, and neither a list nor keys of their own.
fn is_value(below: &[&str]) -> bool {
    let first = below.iter().find(|line| !line.is_empty());
    first.is_some_and(|line| {
        let is_key = line.contains(": ") || line.ends_with(':');
        line.starts_with(['[', '"', '\'']) || !is_key && !line.starts_with(['-', '#'])
    })
}

fn folded<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.map(str::trim).filter(|l| !l.is_empty()).collect();
    lines.join(" ")
}

fn unquoted(value: &str) -> String {
    let within = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    match (within('"'), within('\'')) {
        (Some(inner), _) => unescaped(inner),
        (None, Some(inner)) => inner.replace("''", "'"),
        (None, None) => value.to_owned(),
    }
}

/// What a text between double quotes means. A sequence that means nothing stays as it is.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match rest.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some(letter @ ('"' | '\\' | '/')) => out.push(letter),
            other => {
                out.push('\\');
                out.extend(other);
            }
        }
    }
    out
}

fn apart(text: &str) -> Vec<String> {
    let (mut out, mut depth, mut item) = (Vec::new(), 0_u32, String::new());
    for letter in text.chars() {
        match letter {
            ',' if depth == 0 => out.push(std::mem::take(&mut item)),
            other => {
                depth = match other {
                    '(' => depth + 1,
                    ')' => depth.saturating_sub(1),
                    _ => depth,
                };
                item.push(other);
            }
        }
    }
    out.push(item);
    out.iter()
        .map(|item| unquoted(item.trim()))
        .filter(|item| !item.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_is_read_or_refused() {
        const PIECES: [&str; 16] = [
            "---\n",
            "---",
            "\r\n",
            "\n",
            "name: x\n",
            "a: [",
            "]",
            "b: >\n",
            "c: |\n  ",
            "  - y\n",
            "'",
            "\"",
            ": ",
            "\u{feff}",
            "中\u{202e}",
            "&a *a {",
        ];
        let mut seed = 9u64;
        let mut roll = move |most: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % most
        };
        for _ in 0..20_000 {
            let text: String = (0..roll(20)).map(|_| PIECES[roll(PIECES.len())]).collect();
            if let Ok((front, body)) = read(&text, Language::English) {
                assert!(body.len() <= text.len());
                drop((front.text("name"), front.list("a"), front.flag("b")));
            }
        }
        let deep: String = (0..50_000)
            .map(|n| format!("{}k{n}:\n", " ".repeat(n % 40)))
            .collect();
        let (front, _) = read(&format!("---\n{deep}---\nx"), Language::English).unwrap();
        assert!(front.0.len() <= MAX_KEYS);
    }

    #[test]
    fn what_people_write() {
        let text = "---\nname: x\ndescription: >\n  Two\n  lines.\n\ntools: Read, Bash(git add:*, x), \"Grep\"\nlist:\n  - a\n  - 'b: c'\nbare:\n- d\nflow: [one,\n  two]\nlong: some words\n  that go on\nverse: |\n  a\n  b\nmetadata:\n  version: 1\n# comment\nempty:\non: yes\n---\n\nBody: text\n---\nmore\n";
        let (front, body) = read(text, Language::English).unwrap();
        assert_eq!(body, "Body: text\n---\nmore");
        for (key, expect) in [
            ("name", Some("x")),
            ("description", Some("Two lines.")),
            ("long", Some("some words that go on")),
            ("verse", Some("a\nb")),
            ("metadata", None),
            ("empty", None),
            ("nowhere", None),
        ] {
            assert_eq!(front.text(key).as_deref(), expect, "{key}");
        }
        assert_eq!(front.list("tools"), ["Read", "Bash(git add:*, x)", "Grep"]);
        assert_eq!(front.list("list"), ["a", "b: c"]);
        assert_eq!(front.list("bare"), ["d"]);
        assert_eq!(front.list("flow"), ["one", "two"]);
        assert_eq!(front.flag("on"), Some(true));
        assert_eq!(front.flag("name"), None);
    }

    #[test]
    fn values_below_their_key_and_in_quotes() {
        let text = "---\ntools:\n  [\"Read\", 'Write',\n  \"Bash(git log, x)\"]\ndescription: \"says \\\"yes\\\" \\\\ no\\tc:\\x\"\nname: 'it''s'\nwhen:\n  any time\n  of day\nbelow:\n  key: x\n---\n";
        let (front, _) = read(text, Language::English).unwrap();
        assert_eq!(front.list("tools"), ["Read", "Write", "Bash(git log, x)"]);
        let described = front.text("description");
        assert_eq!(described.as_deref(), Some("says \"yes\" \\ no\tc:\\x"));
        assert_eq!(front.text("name").as_deref(), Some("it's"));
        assert_eq!(front.text("when").as_deref(), Some("any time of day"));
        assert_eq!(front.text("below"), None);
    }

    /// Agents and commands in public repositories have these, and no YAML parser takes them.
    #[test]
    fn what_is_no_yaml_is_read_all_the_same() {
        for (key, value) in [
            ("description", "Use when: the user asks"),
            (
                "description",
                "Reviews. Examples: <example>Context: x. user: 'y'</example>",
            ),
            ("description", "`code` first"),
            ("description", "@file first"),
            ("description", "- of two, *this* one"),
            (HINT, "[--init] [--verify]"),
            (HINT, "[a|b] <path> [--out <path>]"),
        ] {
            let text = format!("---\nname: x\n{key}: {value}\n---\nBody");
            let (front, _) = read(&text, Language::English).unwrap();
            assert_eq!(front.text(key).as_deref(), Some(value), "{key}");
            assert_eq!(front.text("name").as_deref(), Some("x"));
        }
    }

    #[test]
    fn what_is_broken_is_refused() {
        assert_eq!(read("no front", Language::English).unwrap().1, "no front");
        for (text, part) in [
            ("---\nname: x\n", "no end"),
            ("---\nno colon\n---\nx", "without a colon"),
        ] {
            let error = read(text, Language::English).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(
            read("\u{feff}---\r\nname: x\r\n---\r\nb", Language::English)
                .unwrap()
                .1,
            "b"
        );
    }

    #[test]
    fn a_hint_is_shown_as_it_was_written() {
        for (written, shown) in [
            ("[what]", "[what]"),
            ("[file] [mode, or none]", "[file] [mode, or none]"),
            ("\"<topic>\"", "<topic>"),
        ] {
            let text = format!("---\nargument-hint: {written}\n---\nBody");
            let (front, _) = read(&text, Language::English).unwrap();
            assert_eq!(front.text(HINT).as_deref(), Some(shown));
        }
    }
}
