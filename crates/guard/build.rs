//! Makes static tables of `commands/*.toml`, which say what shell commands do. A key that is not known, an option that is
//! written wrongly or a row that is there twice ends the build. What the columns mean is in `commands/README.md`.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

type Texts = Vec<String>;
type Sets<T> = BTreeMap<String, T>;

fn main() {
    println!("cargo::rerun-if-changed=commands");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("a folder for what is made"));
    let write = |name: &str, text: String| fs::write(out.join(name), text).expect("a table");
    write("readers.rs", readers());
    let wrappers: Wrappers = read(Path::new("commands/wrappers.toml"));
    let writers: Writers = read(Path::new("commands/writers.toml"));
    write("commands.rs", programs(&wrappers, &writers) + &lists());
    write(
        "handing.rs",
        handing(&read(Path::new("commands/handing.toml"))),
    );
}

fn read<T: DeserializeOwned>(file: &Path) -> T {
    let text = fs::read_to_string(file);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of tables");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReaderFile {
    #[serde(default)]
    sets: Sets<String>,
    #[serde(default)]
    exact: Texts,
    #[serde(default)]
    versions: Sets<Texts>,
    #[serde(default)]
    reader: Vec<Reader>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reader {
    command: String,
    style: Option<String>,
    #[serde(default)]
    options: String,
    operands: Option<String>,
    #[serde(default)]
    check: String,
    #[serde(default)]
    tags: Texts,
    yes: Texts,
    #[serde(default)]
    no: Texts,
}

/// The rows by their first word, those with more first words and fewer stars first.
fn readers() -> String {
    let mut table: BTreeMap<String, BTreeMap<(usize, usize, String), String>> = BTreeMap::new();
    for file in files("commands/readers") {
        let ReaderFile {
            sets,
            exact,
            versions,
            reader,
        } = read(&file);
        let mut add = |command: &str, row: String| {
            let words: Vec<&str> = command.split(' ').collect();
            let stars = words.iter().filter(|word| **word == "*").count();
            let rows = table.entry(words[0].to_owned()).or_default();
            let key = (usize::MAX - words.len(), stars, command.to_owned());
            let twice = rows.insert(key, row).is_some();
            assert!(!twice, "{}: `{command}` has two rows", file.display());
        };
        for command in exact {
            add(&command, bare_row(&command, "Tag::Code"));
        }
        for (program, options) in versions {
            for option in options {
                let command = format!("{program} {option}");
                add(&command, bare_row(&command, ""));
            }
        }
        for row in reader {
            assert!(!row.yes.is_empty(), "`{}` has no example", row.command);
            add(&row.command, reader_row(&row, &sets));
        }
    }
    let mut out = String::from("static ROWS: &[&[Reader]] = &[\n");
    for rows in table.values() {
        let rows: Vec<&str> = rows.values().map(String::as_str).collect();
        out += &format!("&[{}],\n", rows.join(",\n"));
    }
    out + "];\n"
}

/// A command with these very words.
fn bare_row(command: &str, tags: &str) -> String {
    let words = texts(command.split(' '));
    format!(
        "Reader {{ words: {words}, style: Style::Posix, options: &[], operands: Operands::None, check: \"\", \
         tags: &[{tags}], #[cfg(any(test, debug_assertions))] yes: &[], #[cfg(any(test, debug_assertions))] no: &[] }}"
    )
}

fn reader_row(row: &Reader, sets: &Sets<String>) -> String {
    let mut options: BTreeMap<String, String> = BTreeMap::new();
    for token in row.options.split_whitespace() {
        let shared = token.strip_prefix('$').map(|name| &sets[name]);
        let tokens = shared.map_or(token, String::as_str);
        options.extend(tokens.split_whitespace().map(option));
    }
    let options: Vec<String> = options.into_values().collect();
    let tags: Vec<String> = row.tags.iter().map(|tag| variant("Tag", tag)).collect();
    format!(
        "Reader {{ words: {}, style: {}, options: &[{}], operands: {}, check: {:?}, tags: &[{}], \
         #[cfg(any(test, debug_assertions))] yes: {}, #[cfg(any(test, debug_assertions))] no: {} }}",
        texts(row.command.split(' ')),
        variant("Style", row.style.as_deref().unwrap_or("posix")),
        options.join(", "),
        variant("Operands", row.operands.as_deref().unwrap_or("files")),
        row.check,
        tags.join(", "),
        texts(&row.yes),
        texts(&row.no),
    )
}

/// `-n`, `-n=` with a value, `-n==` with two, `-n=@` with a file, `-n?` with an attached value or none; then `:` and marks.
fn option(token: &str) -> (String, String) {
    let (form, marks) = token.split_once(':').unwrap_or((token, ""));
    let (form, file) = match form.strip_suffix('@') {
        Some(form) => (form, true),
        None => (form, false),
    };
    let (name, value) = if let Some(name) = form.strip_suffix("==") {
        (name, "Two")
    } else if let Some(name) = form.strip_suffix('=') {
        (name, "Yes")
    } else if let Some(name) = form.strip_suffix('?').filter(|name| name.len() > 1) {
        (name, "Maybe")
    } else {
        (form, "No")
    };
    let is_name = name.len() > 1 && name.starts_with(['-', '+']) && !name.contains(['=', '@', '$']);
    let is_marks = marks.chars().all(|letter| letter.is_ascii_lowercase());
    assert!(is_name && is_marks, "`{token}` is no option");
    let bits = marks
        .bytes()
        .fold(0u32, |bits, letter| bits | 1 << (letter - b'a'));
    let row = format!(
        "({name:?}, Takes {{ value: Value::{value}, file: {file}, marks: Marks({bits}) }})"
    );
    (name.to_owned(), row)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrappers {
    wrapper: Vec<Wrapper>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapper {
    name: String,
    kind: Option<String>,
    #[serde(default)]
    flags: String,
    #[serde(default)]
    valued: String,
    #[serde(default)]
    long_flags: Texts,
    #[serde(default)]
    long_valued: Texts,
    #[serde(default)]
    skip: usize,
    yes: Texts,
    no: Texts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Writers {
    writer: Vec<Writer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Writer {
    name: String,
    files: Option<String>,
    #[serde(default)]
    deletes: bool,
    yes: Texts,
    no: Texts,
}

fn programs(wrappers: &Wrappers, writers: &Writers) -> String {
    let mut out = String::from("pub static WRAPPERS: &[Wrapper] = &[\n");
    for row in &wrappers.wrapper {
        out += &format!(
            "Wrapper {{ name: {:?}, flags: {:?}, valued: {:?}, long_flags: {}, long_valued: {}, skip: {}, kind: {}, \
             #[cfg(test)] yes: {}, #[cfg(test)] no: {} }},\n",
            row.name,
            row.flags,
            row.valued,
            texts(&row.long_flags),
            texts(&row.long_valued),
            row.skip,
            variant("Kind", row.kind.as_deref().unwrap_or("clear")),
            texts(&row.yes),
            texts(&row.no),
        );
    }
    out += "];\npub static WRITERS: &[Writer] = &[\n";
    for row in &writers.writer {
        out += &format!(
            "Writer {{ name: {:?}, files: {}, deletes: {}, #[cfg(test)] yes: {}, #[cfg(test)] no: {} }},\n",
            row.name,
            variant("Files", row.files.as_deref().unwrap_or("write")),
            row.deletes,
            texts(&row.yes),
            texts(&row.no),
        );
    }
    out + "];\n"
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HandingFile {
    sets: Sets<Texts>,
    row: Vec<Handing>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Handing {
    command: String,
    #[serde(default)]
    long: Texts,
    #[serde(default)]
    short: String,
    #[serde(default)]
    valued: String,
    #[serde(default)]
    files: Texts,
    yes: Texts,
    no: Texts,
}

fn handing(file: &HandingFile) -> String {
    let mut out = String::from("pub static RUNS_OPTION: &[Handing] = &[\n");
    for row in &file.row {
        let shared = |name: &String| match name.strip_prefix('$') {
            Some(set) => file.sets[set].clone(),
            None => vec![name.clone()],
        };
        let long: Texts = row.long.iter().flat_map(shared).collect();
        out += &format!(
            "Handing {{ command: {:?}, long: {}, short: {:?}, valued: {:?}, files: {}, \
             #[cfg(test)] yes: {}, #[cfg(test)] no: {} }},\n",
            row.command,
            texts(&long),
            row.short,
            row.valued,
            texts(&row.files),
            texts(&row.yes),
            texts(&row.no),
        );
    }
    out + "];\n"
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    about: String,
    words: Option<Texts>,
    /// Names with one value each.
    pairs: Option<Sets<String>>,
    /// Names with a list each.
    parts: Option<Sets<Texts>>,
    yes: Texts,
    no: Texts,
}

fn lists() -> String {
    let mut all: Sets<List> = BTreeMap::new();
    for file in files("commands/lists") {
        for (name, list) in read::<Sets<List>>(&file) {
            let twice = all.insert(name.clone(), list).is_some();
            assert!(!twice, "{}: `{name}` is there twice", file.display());
        }
    }
    let mut out = String::new();
    let mut examples =
        String::from("#[cfg(test)]\npub static EXAMPLES: &[(&str, &[&str], &[&str])] = &[\n");
    for (name, list) in &all {
        let (kind, rows) = match (&list.words, &list.pairs, &list.parts) {
            (Some(words), None, None) => ("&str", texts(words)),
            (None, Some(pairs), None) => {
                let rows: Texts = pairs.iter().map(|pair| format!("{pair:?}")).collect();
                ("(&str, &str)", format!("&[{}]", rows.join(", ")))
            }
            (None, None, Some(parts)) => {
                let row =
                    |(name, words): (&String, &Texts)| format!("({name:?}, {})", texts(words));
                let rows: Texts = parts.iter().map(row).collect();
                ("(&str, &[&str])", format!("&[{}]", rows.join(", ")))
            }
            _ => panic!("`{name}` is words, pairs or parts"),
        };
        let about = &list.about;
        out += &format!("/// {about}\npub static {name}: &[{kind}] = {rows};\n");
        let (yes, no) = (texts(&list.yes), texts(&list.no));
        examples += &format!("({name:?}, {yes}, {no}),\n");
    }
    out + &examples + "];\n"
}

/// A list of texts as Rust writes it.
fn texts<T: AsRef<str>>(list: impl IntoIterator<Item = T>) -> String {
    let quoted = list.into_iter().map(|text| format!("{:?}", text.as_ref()));
    format!("&[{}]", quoted.collect::<Texts>().join(", "))
}

/// `copy_to_last` of `Files` is `Files::CopyToLast`.
fn variant(name: &str, value: &str) -> String {
    let parts = value.split('_').map(|part| {
        let (first, rest) = part.split_at(1);
        first.to_uppercase() + rest
    });
    format!("{name}::{}", parts.collect::<String>())
}
