//! What is wrong with the configuration, in words: errors with an excerpt of the file, notices
//! with a position, and guesses at what was meant. It renders; finding problems is done elsewhere.

use crate::text::phrase;
use ostler_wire::{Language, Why, Word};
use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::tree::{At, Place, Source, Sources, Span, boundary, position};

/// A longer line is named by its position only.
const MAX_EXCERPT: usize = 400;
/// Reports beyond this are counted, not shown.
const MAX_REPORTS: usize = 20;
/// Parts of a key's name that mark its value as secret.
const SECRET_PARTS: [&str; 6] = [
    "key",
    "token",
    "secret",
    "password",
    "authorization",
    "cookie",
];
/// Names with such a part that are no secrets: where one is kept or comes from, and numbers of tokens.
const NOT_SECRET: [&str; 5] = ["_env", "_file", "tokens", "first_token", "token_url"];

/// The configuration cannot be used. Its text is what a person should read.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigError {
    reports: Vec<Report>,
}

impl ConfigError {
    pub fn new(reports: Vec<Report>) -> Self {
        Self { reports }
    }

    pub fn render(&self, paint: Paint, language: Language) -> String {
        let mut out: Vec<String> = self
            .reports
            .iter()
            .take(MAX_REPORTS)
            .map(|report| report.render(paint, language))
            .collect();
        if let Some(more) = self.reports.len().checked_sub(MAX_REPORTS + 1) {
            out.push(phrase(Word::CfgMoreErrors, &[&(more + 1)]).say(language));
        }
        out.join("\n\n")
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Paint::Plain, Language::English))
    }
}

impl std::error::Error for ConfigError {}

/// Whether errors are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Plain,
    Color,
}

/// One error.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub title: Why,
    pub place: Option<Place>,
    excerpt: Option<Excerpt>,
    label: Why,
    help: Option<Why>,
}

#[derive(Debug, Clone, PartialEq)]
struct Excerpt {
    line: String,
    start: usize,
    end: usize,
}

impl Report {
    /// An error without a position in a file.
    pub fn plain(title: impl Into<Why>) -> Self {
        Self {
            title: title.into(),
            place: None,
            excerpt: None,
            label: "".into(),
            help: None,
        }
    }

    /// An error at a span of a source.
    pub fn at(sources: &Sources, at: At, span: Span, title: impl Into<Why>) -> Self {
        let source = sources.get(at.source);
        Self {
            place: Some(sources.place_of(at, span)),
            excerpt: excerpt(source, span),
            ..Self::plain(title)
        }
    }

    pub fn label(mut self, label: impl Into<Why>) -> Self {
        self.label = label.into();
        self
    }

    pub fn help(mut self, help: impl Into<Why>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn render(&self, paint: Paint, language: Language) -> String {
        let renderer = match paint {
            Paint::Plain => Renderer::plain(),
            Paint::Color => Renderer::styled(),
        };
        // The renderer sees to an excerpt's own control characters, not to those around it.
        let said = |why: &Why| safe(&why.say(language));
        let (title, label) = (said(&self.title), said(&self.label));
        let name = self.place.as_ref().map(|place| safe(&place.name));
        let name = name.as_deref().unwrap_or_default();
        let help = self.help.as_ref().map(said);
        let title = Level::ERROR
            .with_name(language.say(Word::CfgLevelError))
            .primary_title(title.as_str());
        let mut group = Group::with_title(title);
        match (&self.place, &self.excerpt) {
            (Some(place), Some(excerpt)) => {
                let mark = AnnotationKind::Primary.span(excerpt.start..excerpt.end);
                group = group.element(
                    Snippet::source(excerpt.line.as_str())
                        .line_start(place.position.map_or(1, |(line, _)| line))
                        .path(name)
                        .annotation(mark.label(label.as_str())),
                );
            }
            (Some(place), None) => {
                let mut origin = Origin::path(name);
                if let Some((line, column)) = place.position {
                    origin = origin.line(line).char_column(column);
                }
                group = group.element(origin);
            }
            (None, _) => {}
        }
        if let Some(help) = &help {
            group = group.element(
                Level::HELP
                    .with_name(language.say(Word::CfgLevelHelp))
                    .message(help.as_str()),
            );
        }
        renderer.render(&[group])
    }
}

fn safe(text: &str) -> String {
    ostler_wire::printable_block(&text.replace('\t', "\u{fffd}"))
}

/// The line a span starts on, with secrets covered; none when it is too long to show.
fn excerpt(source: &Source, span: Span) -> Option<Excerpt> {
    source.path.as_ref()?;
    let text = &source.text;
    let start = boundary(text, span.start);
    let end = boundary(text, span.end.max(start));
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..]
        .find('\n')
        .map_or(text.len(), |newline| start + newline);
    let line = text[line_start..line_end].trim_end_matches('\r');
    if line.len() > MAX_EXCERPT {
        return None;
    }
    let start = (start - line_start).min(line.len());
    // Some terminals obey these, and the renderer lets them through. The other character is as long.
    let line = line.replace(|c| ('\u{80}'..='\u{9f}').contains(&c), "\u{b7}");
    Some(Excerpt {
        line: covered(&line),
        start,
        end: (end - line_start).clamp(start, line.len()),
    })
}

/// Whether the value of a key of this name should stay hidden.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
        && !NOT_SECRET.iter().any(|part| name.contains(part))
}

/// The line with everything after a secret key replaced, byte for byte, so that columns stay.
fn covered(line: &str) -> String {
    let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-';
    let secret = line.match_indices('=').find(|(equals, _)| {
        let name = line[..*equals].trim_end().trim_end_matches(['"', '\'']);
        is_secret(name.rsplit(is_end).next().unwrap_or_default())
    });
    let Some((equals, _)) = secret else {
        return line.to_owned();
    };
    let (shown, hidden) = line.split_at(equals + 1);
    let hidden: String = hidden
        .bytes()
        .map(|byte| match byte {
            b' ' | b'"' | b'\'' => char::from(byte),
            _ => '*',
        })
        .collect();
    format!("{shown}{hidden}")
}

/// How loud a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Notice,
    Warning,
}

/// Something a person should know, though the configuration works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub severity: Severity,
    pub place: Option<Place>,
    pub text: Why,
}

impl Notice {
    pub fn warning(place: Place, text: impl Into<Why>) -> Self {
        Self {
            severity: Severity::Warning,
            place: Some(place),
            text: text.into(),
        }
    }

    /// A warning about no place in a file.
    pub fn plain(text: impl Into<Why>) -> Self {
        Self {
            severity: Severity::Warning,
            place: None,
            text: text.into(),
        }
    }

    pub fn note(place: Place, text: impl Into<Why>) -> Self {
        Self {
            severity: Severity::Notice,
            place: Some(place),
            text: text.into(),
        }
    }
}

impl From<&Notice> for Why {
    fn from(notice: &Notice) -> Self {
        match &notice.place {
            Some(place) => Self::joined([format!("{place}: ").into(), notice.text.clone()]),
            None => notice.text.clone(),
        }
    }
}

/// The candidate a misspelt word most likely stands for.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Nobody misspells a longer one, and the comparison is quadratic.
    const MAX_WORD: usize = 64;
    if word.is_empty() || word.len() > MAX_WORD {
        return None;
    }
    let plain = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let wanted = plain(word);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_WORD)
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&wanted, &plain(candidate));
            (distance, candidate)
        })
        .filter(|(distance, candidate)| {
            let shorter = wanted.chars().count().min(candidate.chars().count());
            *distance <= (shorter / 3).max(1) && *distance < shorter
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Reads a file's bytes as text: a byte order mark is dropped, anything but UTF-8 is an error.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<String, Box<Report>> {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            let position = position(&before, before.len());
            let mut report =
                Report::plain(Why::from(Word::CfgNoUtf8)).help(Why::from(Word::CfgSaveUtf8));
            report.place = Some(Place {
                name: name.to_owned(),
                position: Some(position),
            });
            return Err(Box::new(report));
        }
    };
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// An error about a file as a whole.
pub fn file_report(name: &str, title: impl Into<Why>, help: impl Into<Why>) -> Report {
    let mut report = Report::plain(title).help(help);
    report.place = Some(Place {
        name: name.to_owned(),
        position: None,
    });
    report
}
