//! A fact and the Markdown file it lies in: front matter, then words. Pure. Files of people are read as they are: with or
//! without front matter, and keys that are not ours are kept.

use ostler_wire::{Language, Why, Word};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Bytes of a file that is read as a fact.
pub const MAX_FILE: u64 = 64 << 10;
/// Characters of an id, which is the name of a folder, too.
const MAX_ID: usize = 48;
/// Characters of a name or description that stand for those a file does not have.
const DERIVED: usize = 80;
/// Bytes of the digest of a file in the version of its fact.
const MARK: usize = 3;
const FENCE: &str = "---";
const BOM: char = '\u{feff}';

// What a fact is about. No doc comment: it would be in the schemas of tools.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    User,
    Feedback,
    #[default]
    Project,
    Reference,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::User, Kind::Feedback, Kind::Project, Kind::Reference];

    pub fn name(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Feedback => "feedback",
            Kind::Project => "project",
            Kind::Reference => "reference",
        }
    }
}

// Whose fact it is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    #[default]
    Project,
    /// Of every project.
    Global,
}

impl Place {
    pub fn name(self) -> &'static str {
        match self {
            Place::Project => "project",
            Place::Global => "global",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    pub id: String,
    pub revision: u64,
    pub name: String,
    pub description: String,
    pub kind: Kind,
    pub place: Place,
    pub created: String,
    pub updated: String,
    pub body: String,
    /// Of the file's bytes: a change by hand shows in it, whatever the revision says.
    pub mark: String,
}

impl Fact {
    /// What names this very text: `3-a1b2c3`. Whoever wants to change it has to have read it.
    pub fn version(&self) -> String {
        format!("{}-{}", self.revision, self.mark)
    }

    /// For people and previews.
    pub fn card(&self) -> String {
        let (kind, place) = (self.kind.name(), self.place.name());
        let mut out = format!("{} ({kind}, {place})\n", self.name);
        if !self.description.is_empty() {
            out.push_str(&self.description);
            out.push('\n');
        }
        if !self.body.is_empty() {
            out.push('\n');
            out.push_str(&self.body);
            out.push('\n');
        }
        out
    }
}

/// Why a file is no fact. It is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Large(u64),
    NotText,
    /// The front matter has no end.
    Cut,
    Empty,
    Id(String),
    /// Another file has its id.
    Double(String),
    Link,
    NotFile,
    Unread(Why),
    /// Of a folder: so many more than it may hold.
    Surplus(usize),
}

impl Fault {
    pub fn say(&self, language: Language) -> String {
        match self {
            Fault::Large(bytes) => {
                let most = MAX_FILE.to_string();
                language.fill(Word::FactLarge, &[&bytes.to_string(), &most])
            }
            Fault::NotText => language.say(Word::FactNotText).into(),
            Fault::Cut => language.say(Word::FactCut).into(),
            Fault::Empty => language.say(Word::FactEmpty).into(),
            Fault::Id(id) => language.fill(Word::FactBadId, &[id]),
            Fault::Double(other) => language.fill(Word::FactDouble, &[other]),
            Fault::Link => language.say(Word::FactLink).into(),
            Fault::NotFile => language.say(Word::FactNotFile).into(),
            Fault::Unread(why) => language.fill(Word::FactUnread, &[&why.say(language)]),
            Fault::Surplus(count) => count.to_string(),
        }
    }
}

/// A file taken apart.
struct Page<'a> {
    bom: bool,
    crlf: bool,
    /// Lines of the front matter without their ends.
    front: Vec<&'a str>,
    body: String,
}

fn page(bytes: &[u8]) -> Result<Page<'_>, Fault> {
    if bytes.len() as u64 > MAX_FILE {
        return Err(Fault::Large(bytes.len() as u64));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::NotText)?;
    if text.contains('\0') {
        return Err(Fault::NotText);
    }
    let stripped = text.strip_prefix(BOM);
    let (bom, text) = (stripped.is_some(), stripped.unwrap_or(text));
    let crlf = text.lines().next().is_some_and(|first| {
        text.get(first.len()..)
            .is_some_and(|rest| rest.starts_with("\r\n"))
    });
    let mut lines = text.split_inclusive('\n');
    let is_fence = |line: &str| line.trim_end() == FENCE;
    if !lines.next().is_some_and(is_fence) {
        return Ok(Page {
            bom,
            crlf,
            front: Vec::new(),
            body: plain(text),
        });
    }
    let mut front = Vec::new();
    let mut closed = false;
    for line in lines.by_ref() {
        if is_fence(line) {
            closed = true;
            break;
        }
        front.push(line.trim_end_matches(['\n', '\r']));
    }
    if !closed {
        return Err(Fault::Cut);
    }
    let body: String = lines.collect();
    Ok(Page {
        bom,
        crlf,
        front,
        body: plain(&body),
    })
}

fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").trim().to_owned()
}

/// The file of this name as a fact.
pub fn parse(stem: &str, bytes: &[u8], place: Place) -> Result<Fact, Fault> {
    let Page { front, body, .. } = page(bytes)?;
    let keys = keys(&front);
    let value = |wanted: &str| {
        let found = keys.iter().find(|key| key.name == wanted);
        found.map_or_else(String::new, |key| key.value(&front))
    };
    let (name, description) = (value("name"), value("description"));
    if body.is_empty() && name.is_empty() && description.is_empty() {
        return Err(Fault::Empty);
    }
    let own = value("id");
    let id = match own.is_empty() {
        true => id_of(stem),
        false if is_id(&own) => own,
        false => return Err(Fault::Id(own.chars().take(MAX_ID).collect())),
    };
    let kind = value("type");
    Ok(Fact {
        id,
        revision: value("revision").parse().unwrap_or(1),
        name: if name.is_empty() {
            stem.to_owned()
        } else {
            name
        },
        description: match description.is_empty() {
            true => first_line(&body),
            false => description,
        },
        kind: Kind::ALL
            .into_iter()
            .find(|known| known.name() == kind)
            .unwrap_or_default(),
        place,
        created: value("created"),
        updated: value("updated"),
        body,
        mark: mark(bytes),
    })
}

/// The file of a fact; what else stood in the one before is kept.
pub fn render(fact: &Fact, before: Option<&[u8]>) -> Vec<u8> {
    let before = before.and_then(|bytes| page(bytes).ok());
    let mut lines = vec![FENCE.to_owned()];
    let revision = fact.revision.to_string();
    for (key, value) in [
        ("id", fact.id.as_str()),
        ("revision", &revision),
        ("name", &fact.name),
        ("description", &fact.description),
        ("type", fact.kind.name()),
        ("scope", fact.place.name()),
        ("created", &fact.created),
        ("updated", &fact.updated),
    ] {
        lines.push(format!("{key}: {}", written(value)));
    }
    if let Some(page) = &before {
        let foreign = keys(&page.front);
        let foreign = foreign.iter().filter(|key| !OWN.contains(&key.name));
        lines.extend(foreign.flat_map(|key| key.lines(&page.front).map(str::to_owned)));
    }
    lines.push(FENCE.to_owned());
    lines.push(String::new());
    lines.extend(fact.body.lines().map(str::to_owned));
    let (bom, end) = match &before {
        Some(page) => (page.bom, if page.crlf { "\r\n" } else { "\n" }),
        None => (false, "\n"),
    };
    let mut out = String::new();
    if bom {
        out.push(BOM);
    }
    for line in lines {
        out.push_str(&line);
        out.push_str(end);
    }
    out.into_bytes()
}

const OWN: [&str; 8] = [
    "id",
    "revision",
    "name",
    "description",
    "type",
    "scope",
    "created",
    "updated",
];

/// A key of the front matter and the lines that belong to it.
struct Key<'a> {
    name: &'a str,
    first: usize,
    end: usize,
}

impl<'a> Key<'a> {
    fn lines<'b>(&self, front: &'b [&'a str]) -> impl Iterator<Item = &'a str> + use<'a, 'b> {
        let lines = front.get(self.first..self.end).unwrap_or_default();
        lines.iter().copied()
    }

    fn value(&self, front: &[&str]) -> String {
        let mut lines = self.lines(front);
        let first = lines.next().and_then(|line| line.split_once(':'));
        let first = first.map_or("", |(_, value)| value.trim());
        let more: Vec<&str> = lines.map(str::trim).filter(|l| !l.is_empty()).collect();
        // A text over several lines, as YAML writes it.
        let folded = first.is_empty() || (first.starts_with(['>', '|']) && first.len() <= 2);
        match folded && !more.is_empty() {
            true => more.join(" "),
            false => unquoted(first),
        }
    }
}

fn keys<'a>(front: &[&'a str]) -> Vec<Key<'a>> {
    let mut keys: Vec<Key<'a>> = Vec::new();
    for (at, line) in front.iter().enumerate() {
        let begins = !line.starts_with([' ', '\t', '#', '-']);
        let name = line.split_once(':').filter(|_| begins).map(|(key, _)| key);
        match (name, keys.last_mut()) {
            (Some(name), _) => keys.push(Key {
                name: name.trim(),
                first: at,
                end: at + 1,
            }),
            (None, Some(last)) => last.end = at + 1,
            (None, None) => keys.push(Key {
                name: "",
                first: at,
                end: at + 1,
            }),
        }
    }
    keys
}

fn unquoted(value: &str) -> String {
    if value.starts_with('"')
        && let Ok(text) = serde_json::from_str::<String>(value)
    {
        return text;
    }
    let inner = value
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    inner.map_or_else(|| value.to_owned(), |inner| inner.replace("''", "'"))
}

/// A value on one line, quoted where other readers of YAML would read something else.
fn written(value: &str) -> String {
    let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
    let odd = line.starts_with(|c: char| "\"'[]{}#&*!|>%@`-?:,".contains(c))
        || line.contains(": ")
        || line.contains(" #")
        || line.ends_with(':');
    match odd {
        true => serde_json::Value::String(line).to_string(),
        false => line,
    }
}

pub fn is_id(id: &str) -> bool {
    let fine = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    !id.is_empty() && id.chars().count() <= MAX_ID && !id.starts_with('.') && id.chars().all(fine)
}

/// The id of a file that has none of its own.
fn id_of(stem: &str) -> String {
    let fine = |c: char| match c.is_alphanumeric() || "-_.".contains(c) {
        true => c,
        false => '-',
    };
    let id: String = stem.chars().take(MAX_ID).map(fine).collect();
    let id = id.trim_start_matches('.');
    match id.is_empty() {
        true => "fact".into(),
        false => id.to_owned(),
    }
}

/// A name for a file, as people would write it.
pub fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c.is_alphanumeric() {
            true => out.push(c),
            false if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            false => {}
        }
        if out.chars().count() >= MAX_ID {
            break;
        }
    }
    let out = out.trim_end_matches('-');
    match out.is_empty() {
        true => "fact".into(),
        false => out.to_owned(),
    }
}

fn first_line(body: &str) -> String {
    let lines = body
        .lines()
        .map(|l| l.trim_start_matches(['#', ' ', '-', '*']));
    let first = lines.into_iter().find(|line| !line.trim().is_empty());
    first
        .unwrap_or_default()
        .trim()
        .chars()
        .take(DERIVED)
        .collect()
}

pub fn mark(bytes: &[u8]) -> String {
    ostler_wire::hex::short(&Sha256::digest(bytes), MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Fact, Fault> {
        parse("my notes", text.as_bytes(), Place::Project)
    }

    #[test]
    fn files_of_people_are_facts() {
        let whole = "---\nid: a1\nrevision: 3\nname: \"Ports: all\"\ndescription: which\ntype: reference\nscope: project\ncreated: c\nupdated: u\n---\n\nThe gateway is 7741.\n";
        for text in [
            whole.to_owned(),
            whole.replace('\n', "\r\n"),
            format!("\u{feff}{whole}"),
            whole.replace("---\n\n", "tags:\n  - x\n---\n"),
            whole.replace("which", ">\n  which"),
        ] {
            let fact = read(&text).unwrap();
            let expect = Fact {
                id: "a1".into(),
                revision: 3,
                name: "Ports: all".into(),
                description: "which".into(),
                kind: Kind::Reference,
                place: Place::Project,
                created: "c".into(),
                updated: "u".into(),
                body: "The gateway is 7741.".into(),
                mark: fact.mark.clone(),
            };
            assert_eq!(fact, expect, "{text}");
        }
        for (text, id, name, description, body) in [
            (
                "# Deploys\nGo to staging.",
                "my-notes",
                "my notes",
                "Deploys",
                "# Deploys\nGo to staging.",
            ),
            ("---\nname: x\n---\n", "my-notes", "x", "", ""),
            (
                "---\ntype: nonsense\nrevision: many\n---\nb",
                "my-notes",
                "my notes",
                "b",
                "b",
            ),
            (
                "---\nname: 'it''s'\nid: Ü-1.b\n---\nb",
                "Ü-1.b",
                "it's",
                "b",
                "b",
            ),
            ("--- \n---\nb", "my-notes", "my notes", "b", "b"),
        ] {
            let fact = read(text).unwrap();
            let got = (
                fact.id.as_str(),
                fact.name.as_str(),
                fact.description.as_str(),
                fact.body.as_str(),
            );
            assert_eq!(got, (id, name, description, body), "{text}");
            assert_eq!((fact.revision, fact.kind), (1, Kind::Project), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_fact() {
        for (bytes, expect) in [
            (&b"\xff\xfe\x00"[..], Fault::NotText),
            (b"text\0text", Fault::NotText),
            (b"", Fault::Empty),
            (b"---\n---\n \n", Fault::Empty),
            (b"---\nname: x\n", Fault::Cut),
            (b"---\nid: ../../x\n---\nb", Fault::Id("../../x".into())),
            (b"---\nid: .hidden\n---\nb", Fault::Id(".hidden".into())),
        ] {
            assert_eq!(parse("x", bytes, Place::Project), Err(expect));
        }
        let large = vec![b'x'; MAX_FILE as usize + 1];
        assert_eq!(
            parse("x", &large, Place::Global),
            Err(Fault::Large(MAX_FILE + 1))
        );
    }

    #[test]
    fn what_is_written_reads_back_and_keeps_what_was_not_ours() {
        let before = "\u{feff}---\r\n# mine\r\nid: old\r\ntags:\r\n  - a\r\nname: gone\r\n---\r\nold words\r\n";
        for name in [
            "plain",
            "with: colon",
            "\"quoted\"",
            "- dash",
            "中文 #1",
            "it's",
            "a # b",
        ] {
            for before in [None, Some(before.as_bytes())] {
                let fact = Fact {
                    id: "i1".into(),
                    revision: 2,
                    name: name.into(),
                    description: "d".into(),
                    body: "one\n\n---\ntwo".into(),
                    created: "c".into(),
                    updated: "u".into(),
                    ..Fact::default()
                };
                let bytes = render(&fact, before);
                let read = parse("x", &bytes, Place::Project).unwrap();
                let expect = Fact {
                    mark: read.mark.clone(),
                    ..fact
                };
                assert_eq!(read, expect);
                let text = String::from_utf8(bytes).unwrap();
                let kept = text.contains("# mine\r\ntags:\r\n  - a\r\n---\r\n");
                assert_eq!(kept, before.is_some(), "{text}");
                assert_eq!(text.starts_with(BOM), before.is_some());
            }
        }
    }

    #[test]
    fn ids_and_file_names() {
        for (name, expect) in [
            ("Deploys go through staging!", "deploys-go-through-staging"),
            ("部署 流程", "部署-流程"),
            ("../..", "fact"),
            ("", "fact"),
        ] {
            assert_eq!(slug(name), expect);
        }
        assert_eq!(slug(&"x".repeat(500)).len(), MAX_ID);
        assert_eq!(id_of("..a b/c"), "a-b-c");
        assert!(is_id(&id_of("...")));
    }
}
