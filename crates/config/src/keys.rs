//! Where a provider's key comes from, in a fixed order, and how one is saved. A key's text leaves
//! this module only as a [`Secret`].

use crate::text::phrase;
use ostler_files::{Border, Error};
use ostler_wire::{Why, Word};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use ostler_llm::Secret;
use url::Url;

use crate::files::{self, Access};
use crate::layers::Loaded;
use crate::paths::Env;
use crate::schema::ProviderConfig;
use crate::tree::Layer;

/// Works for whatever model is selected.
pub const OVERRIDE: &str = "OSTLER_API_KEY";
/// Keys are short; a larger file is the wrong one.
const MAX_KEY_FILE: u64 = 64 * 1024;
/// Bits of a file mode that let others in.
const OTHERS: u32 = 0o077;

/// A key and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub value: Secret,
    /// For people: "variable X", "/home/me/.ostler/.env (X)".
    pub source: Why,
    pub warning: Option<Why>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyError {
    Missing {
        provider: String,
        places: Vec<Why>,
    },
    File {
        provider: String,
        path: String,
        reason: Why,
    },
    Unsendable {
        provider: String,
        source_name: Why,
    },
}

impl From<&KeyError> for Why {
    fn from(error: &KeyError) -> Self {
        match error {
            KeyError::Missing { provider, places } => {
                phrase(Word::KeyNone, &[provider, &Why::list(places, ", ")])
            }
            KeyError::File {
                provider,
                path,
                reason,
            } => phrase(Word::KeyFile, &[provider, path, reason]),
            KeyError::Unsendable {
                provider,
                source_name,
            } => phrase(Word::KeyUnsendable, &[provider, source_name]),
        }
    }
}

as_converted!(KeyError);
ostler_wire::told_by_why!(KeyError);

/// What is known about a provider's key.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub provider: &'a str,
    /// Who decides where the key would be sent.
    pub layer: Layer,
    pub env_name: Option<&'a str>,
    pub file: Option<&'a str>,
    pub literal: Option<&'a str>,
}

/// The places that hold keys.
#[derive(Debug, Clone, Copy)]
pub struct KeyPlaces<'a> {
    pub env: &'a Env,
    pub dotenv: &'a Dotenv,
    /// `[auth] use_process_env`.
    pub process_env: ProcessEnv,
}

/// Whether variables of the process may supply keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnv {
    Use,
    Ignore,
}

/// Finds a provider's key. None when the provider names no place, so needs none.
pub fn find(wanted: Wanted<'_>, places: KeyPlaces<'_>) -> Result<Option<Key>, KeyError> {
    let mut looked = Vec::new();
    let set = |name: &str| {
        places
            .env
            .get(name)
            .filter(|value| !value.trim().is_empty())
    };
    match wanted.layer {
        // A project decides where this would go, so the general key stays out of it.
        Layer::Project => {}
        Layer::Default | Layer::User | Layer::Local | Layer::Environment | Layer::Flag => {
            if let Some(value) = set(OVERRIDE) {
                return wanted.key(value, phrase(Word::KeyInVariable, &[&OVERRIDE]));
            }
            looked.push(phrase(Word::KeyInVariable, &[&OVERRIDE]));
        }
    }
    if let Some(name) = wanted.env_name {
        let shown = format!("{} ({name})", places.dotenv.path.display());
        match places.dotenv.get(name) {
            Some(value) => return wanted.key(value, shown.into()),
            None => looked.push(shown.into()),
        }
        match (places.process_env, set(name)) {
            (ProcessEnv::Use, Some(value)) => {
                return wanted.key(value, phrase(Word::KeyInVariable, &[&name]));
            }
            (ProcessEnv::Use, None) => looked.push(phrase(Word::KeyInVariable, &[&name])),
            (ProcessEnv::Ignore, _) => looked.push(phrase(Word::KeyEnvOff, &[&name])),
        }
    }
    if let Some(path) = wanted.file {
        return wanted.read_file(path);
    }
    if let Some(literal) = wanted.literal.filter(|text| !text.trim().is_empty()) {
        let key = wanted.key(literal, Why::from(Word::KeyInFile))?;
        return Ok(key.map(|key| Key {
            warning: Some(phrase(
                Word::KeyMove,
                &[&wanted.provider, &places.dotenv.path.display()],
            )),
            ..key
        }));
    }
    match wanted.env_name {
        None => Ok(None),
        Some(_) => Err(KeyError::Missing {
            provider: wanted.provider.to_owned(),
            places: looked,
        }),
    }
}

/// Every key that any provider could use, from every place, whether or not it would win.
pub fn all(
    loaded: &Loaded,
    built_in: &[ProviderConfig],
    env: &Env,
    dotenv: &Dotenv,
) -> Vec<Secret> {
    // The file is for keys alone, so whatever else is in it is one, too.
    let mut secrets: Vec<Secret> = dotenv.values.values().cloned().collect();
    secrets.extend(env.get(OVERRIDE).map(Secret::new));
    let configured = loaded.config.providers.iter().chain(&loaded.below_project);
    for provider in built_in.iter().chain(configured) {
        let named = provider.api_key_env.as_ref().and_then(|name| env.get(name));
        secrets.extend(named.map(Secret::new));
        // One that cannot be read is found out when it is needed.
        let file = provider.api_key_file.as_ref();
        secrets.extend(file.and_then(|path| Some(Secret::new(read_small(Path::new(path)).ok()?))));
        secrets.extend(provider.api_key.as_ref().map(Secret::new));
        let url = provider
            .base_url
            .as_ref()
            .and_then(|url| Url::parse(url).ok());
        let headers = provider.headers.iter();
        secrets.extend(ostler_llm::secrets_beside_key(headers, url.as_ref()));
    }
    secrets
}

/// Files of the person that hold a provider's key. What is printed of one is covered, but not what is made of it.
pub fn held_in(loaded: &Loaded, user_config: PathBuf) -> Vec<PathBuf> {
    let providers = || loaded.config.providers.iter().chain(&loaded.below_project);
    let literal = providers().any(|provider| provider.api_key.is_some());
    let files = providers().filter_map(|provider| provider.api_key_file.as_ref());
    let files = files.map(PathBuf::from).filter(|path| path.is_absolute());
    files.chain(literal.then_some(user_config)).collect()
}

impl Wanted<'_> {
    fn key(self, value: &str, source: Why) -> Result<Option<Key>, KeyError> {
        let value = value.trim();
        if !value
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte == b' ')
        {
            return Err(KeyError::Unsendable {
                provider: self.provider.to_owned(),
                source_name: source,
            });
        }
        Ok(Some(Key {
            value: Secret::new(value),
            source,
            warning: None,
        }))
    }

    fn read_file(self, path: &str) -> Result<Option<Key>, KeyError> {
        let fail = |reason: Why| KeyError::File {
            provider: self.provider.to_owned(),
            path: path.to_owned(),
            reason,
        };
        let text = read_small(Path::new(path)).map_err(|error| fail((&error).into()))?;
        if text.trim().is_empty() {
            return Err(fail(Why::from(Word::IsEmpty)));
        }
        self.key(&text, phrase(Word::KeyInPath, &[&path]))
    }
}

fn read_small(path: &Path) -> io::Result<String> {
    // For the error of a file that is not there.
    fs::metadata(path)?;
    let read = ostler_files::read_bounded(path, MAX_KEY_FILE, &Border::none());
    match read {
        Ok(read) if !read.truncated => {
            let mut text = String::new();
            read.bytes.as_ref().read_to_string(&mut text)?;
            Ok(text)
        }
        Err(Error::Read { source, .. } | Error::Forbidden { source, .. }) => Err(source),
        Ok(_) | Err(_) => Err(io::Error::other(Why::from(Word::KeyNoFile))),
    }
}

/// The keys saved in `<home>/.env`.
#[derive(Debug, Clone, Default)]
pub struct Dotenv {
    pub path: PathBuf,
    values: BTreeMap<String, Secret>,
    /// What a person should know about the file.
    pub warnings: Vec<Why>,
}

impl Dotenv {
    /// Reads the file; a missing one is empty. `mode_of` gives the permission bits where the
    /// system has them.
    pub fn load(path: &Path, mode_of: fn(&Path) -> Option<u32>) -> Self {
        let mut dotenv = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        match read_small(path) {
            Ok(text) => dotenv.read(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return dotenv,
            Err(error) => dotenv.warn(phrase(Word::KeyUnread, &[&error])),
        }
        if let Some(mode) = mode_of(path)
            && mode & OTHERS != 0
        {
            dotenv.warn(phrase(
                Word::KeyOpen,
                &[&format_args!("{:03o}", mode & 0o777), &path.display()],
            ));
        }
        dotenv
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values
            .get(name)
            .map(Secret::reveal)
            .filter(|value| !value.trim().is_empty())
    }

    fn warn(&mut self, text: Why) {
        let path = format!("{}: ", self.path.display());
        self.warnings.push(Why::joined([path.into(), text]));
    }

    fn read(&mut self, text: &str) {
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            match parse_line(line) {
                Line::Empty => {}
                Line::Entry(name, value) => {
                    self.values.insert(name.to_owned(), Secret::new(value));
                }
                Line::Bad => self.warnings.push(phrase(
                    Word::KeyBadLine,
                    &[&self.path.display(), &(index + 1)],
                )),
            }
        }
    }
}

enum Line<'a> {
    Empty,
    Entry(&'a str, String),
    Bad,
}

fn parse_line(line: &str) -> Line<'_> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Line::Empty;
    }
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let Some((name, value)) = line.split_once('=') else {
        return Line::Bad;
    };
    let name = name.trim_end();
    if !is_name(name) {
        return Line::Bad;
    }
    match unquote(value.trim()) {
        Some(value) => Line::Entry(name, value),
        None => Line::Bad,
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `'literal'`, `"with \" escapes"`, or bare up to ` #`. None when a quote is not closed.
fn unquote(value: &str) -> Option<String> {
    if let Some(rest) = value.strip_prefix('\'') {
        let (inner, after) = rest.split_once('\'')?;
        return is_comment(after).then(|| inner.to_owned());
    }
    let Some(rest) = value.strip_prefix('"') else {
        let end = value.find(" #").unwrap_or(value.len());
        return Some(value.get(..end)?.trim_end().to_owned());
    };
    let mut out = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return is_comment(letters.as_str()).then_some(out),
            '\\' => match letters.next()? {
                'n' => out.push('\n'),
                other => out.push(other),
            },
            other => out.push(other),
        }
    }
    None
}

fn is_comment(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with('#')
}

/// A key could not be saved.
#[derive(Debug)]
pub enum SaveError {
    Name(String),
    Value,
    Write { path: String, error: io::Error },
}

impl From<&SaveError> for Why {
    fn from(error: &SaveError) -> Self {
        match error {
            SaveError::Name(name) => phrase(Word::KeyBadName, &[name]),
            SaveError::Value => Word::KeyOneLine.into(),
            SaveError::Write { path, error } => phrase(Word::CannotWrite, &[path, error]),
        }
    }
}

ostler_wire::told_by_why!(SaveError);

/// Saves a key in `<home>/.env`, readable by its owner alone; other lines stay as they are.
pub fn save_key(home: &Path, name: &str, value: &Secret) -> Result<PathBuf, SaveError> {
    let path = home.join(".env");
    let text = value.reveal().trim();
    if !is_name(name) {
        return Err(SaveError::Name(name.to_owned()));
    }
    if text.is_empty()
        || !text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte == b' ')
    {
        return Err(SaveError::Value);
    }
    let fail = |error: io::Error| SaveError::Write {
        path: path.display().to_string(),
        error,
    };
    let old = match read_small(&path) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fail(error)),
    };
    let new = with_entry(&old, name, text);
    files::write(&path, new.as_bytes(), Access::Private).map_err(fail)?;
    Ok(path)
}

/// The file with the entry replaced where it was, or added at the end.
fn with_entry(old: &str, name: &str, value: &str) -> String {
    let entry = format!("{name}={}", quote(value));
    let mut out = String::new();
    let mut done = false;
    for line in old.split_inclusive('\n') {
        let is_entry = matches!(parse_line(line), Line::Entry(there, _) if there == name);
        if !is_entry {
            out.push_str(line);
            continue;
        }
        // A second line of the same name would win over ours.
        if !done {
            let export = line.trim_start().starts_with("export ");
            let ending = line.get(line.trim_end_matches(['\r', '\n']).len()..);
            out.push_str(if export { "export " } else { "" });
            out.push_str(&entry);
            out.push_str(ending.filter(|ending| !ending.is_empty()).unwrap_or("\n"));
            done = true;
        }
    }
    if !done {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&entry);
        out.push('\n');
    }
    out
}

fn quote(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:+=@,~".contains(&byte);
    if value.bytes().all(plain) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}
