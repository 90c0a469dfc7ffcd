//! What goes wrong between us and a server, in words: what happened, where, and what to do. The codes are for programs and
//! stay as they are.

use crate::text;
use ostler_wire::{Why, Word};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::error::Error as StdError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Of what a server says goes wrong.
pub(crate) const MAX_SAID: usize = 2_000;
/// Of a page that a server answered with.
pub(crate) const MAX_PAGE: usize = 200;

type HttpError = StreamableHttpError<reqwest::Error>;

/// Names a kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCode {
    /// It cannot work the way it is configured.
    Settings,
    ProgramMissing,
    NotExecutable,
    NoFolder,
    /// The system or the sandbox did not let it start.
    NotStarted,
    /// The program ended.
    Ended,
    /// A message without end.
    TooLong,
    Timeout,
    /// An error of the protocol, in its own words.
    Refused,
    Revision,
    NotMcp,
    Login,
    NothingListens,
    UnknownHost,
    Tls,
    Unreachable,
    Closed,
    Redirect,
    ContentType,
    Status(u16),
}

impl FailureCode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::ProgramMissing => "program_missing",
            Self::NotExecutable => "not_executable",
            Self::NoFolder => "no_folder",
            Self::NotStarted => "not_started",
            Self::Ended => "ended",
            Self::TooLong => "too_long",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Revision => "protocol_version",
            Self::NotMcp => "not_mcp",
            Self::Login => "login_needed",
            Self::NothingListens => "connection_refused",
            Self::UnknownHost => "unknown_host",
            Self::Tls => "tls",
            Self::Unreachable => "unreachable",
            Self::Closed => "closed",
            Self::Redirect => "redirect",
            Self::ContentType => "content_type",
            Self::Status(_) => "http_status",
        }
    }

    pub fn status(self) -> Option<u16> {
        if let Self::Status(status) = self {
            return Some(status);
        }
        None
    }

    /// Whether asking in the older way may do better.
    pub(crate) fn may_differ(self) -> bool {
        let no_line = [
            Self::Login,
            Self::NothingListens,
            Self::UnknownHost,
            Self::Tls,
            Self::Unreachable,
            Self::Redirect,
            Self::Settings,
            Self::TooLong,
        ];
        !no_line.contains(&self)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: FailureCode,
    /// The end of a sentence.
    pub why: Why,
}

impl Failure {
    pub fn new(code: FailureCode, why: impl Into<Why>) -> Self {
        let why = why.into();
        Self { code, why }
    }

    fn ours<const N: usize>(code: FailureCode, word: Word<N>, values: [&str; N]) -> Self {
        Self::new(code, Why::ours(word, values.map(Why::from)))
    }
}

/// Why a connection does not stand, and whether another way may.
pub struct ConnectError {
    /// The same for programs.
    pub code: FailureCode,
    pub why: Why,
    /// Its words to whoever is to log in.
    pub challenge: Option<String>,
    pub(crate) again: bool,
}

impl ConnectError {
    pub(crate) fn finally(failure: Failure) -> Self {
        let Failure { code, why } = failure;
        Self {
            code,
            why,
            challenge: None,
            again: false,
        }
    }
}

/// Other ways to say who one is have no page to go to.
pub(crate) fn is_oauth(challenge: &str) -> bool {
    let scheme = challenge.trim_start().get(..6);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
}

pub(crate) fn login_hint(server: &str) -> Why {
    Why::ours(Word::McpLoginHint, [server.into()])
}

/// Where a server wanted to send us.
#[derive(Clone, Default)]
pub struct RedirectTarget(Arc<Mutex<Option<String>>>);

impl RedirectTarget {
    pub fn at(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a server is, for whoever is to mend it.
pub(crate) struct Place {
    pub server: String,
    pub url: String,
    /// Where it wanted to send us.
    pub redirect: RedirectTarget,
}

/// Why a message did not get to an address, or no answer came back.
pub(crate) fn on_the_way(error: &(dyn StdError + 'static), place: &Place) -> Failure {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return of_http(error, place);
        }
        next = error.source();
    }
    Failure::new(FailureCode::Closed, text::cut(&chain(error), MAX_SAID))
}

fn of_http(error: &HttpError, place: &Place) -> Failure {
    let Place { url, .. } = place;
    match error {
        HttpError::Client(error) => of_line(error, url),
        HttpError::HttpStatus(error) => of_status(error.status, "", place),
        HttpError::UnexpectedServerResponse(said) => match status_in(said) {
            Some((status, page)) => of_status(status, page, place),
            None => Failure::ours(FailureCode::NotMcp, Word::McpNoMessage, [url]),
        },
        HttpError::UnexpectedContentType(Some(kind)) => {
            let kind = text::line(kind, MAX_PAGE);
            Failure::ours(FailureCode::ContentType, Word::McpWrongType, [url, &kind])
        }
        HttpError::UnexpectedContentType(None) | HttpError::Deserialize(_) => {
            Failure::ours(FailureCode::NotMcp, Word::McpNoMessage, [url])
        }
        HttpError::ReservedHeaderConflict(name) => {
            Failure::ours(FailureCode::Settings, Word::McpOurHeader, [name])
        }
        // Those that want a login by a page are told before.
        HttpError::AuthRequired(_) => of_status(401, "", place),
        HttpError::InsufficientScope(_) => of_status(403, "", place),
        HttpError::SessionExpired => Failure::new(FailureCode::Closed, Word::McpForgot),
        other => {
            let said = text::line(&chain(other), MAX_PAGE);
            Failure::ours(FailureCode::Closed, Word::McpHungUp, [url, &said])
        }
    }
}

/// The library has the status in its words alone.
fn status_in(said: &str) -> Option<(u16, &str)> {
    let rest = said.strip_prefix("HTTP ")?;
    let status = rest.get(..3)?.parse().ok()?;
    let page = rest.split_once(": ").map_or("", |(_, page)| page);
    Some((status, page))
}

pub(crate) fn of_status(status: u16, page: &str, place: &Place) -> Failure {
    let Place {
        server,
        url,
        redirect,
    } = place;
    let redirect = redirect.at().clone();
    let number = status.to_string();
    let page = text::line(page, MAX_PAGE);
    let of = |word| Failure::ours(FailureCode::Status(status), word, [url]);
    match (status, redirect) {
        (300..=399, Some(redirect)) => {
            Failure::ours(FailureCode::Redirect, Word::McpLedAway, [url, &redirect])
        }
        (300..=399, None) => {
            Failure::ours(FailureCode::Redirect, Word::McpLedSomewhere, [url, &number])
        }
        (401, _) => Failure::ours(
            FailureCode::Status(status),
            Word::McpUnknownYou,
            [url, server],
        ),
        (403, _) => Failure::ours(
            FailureCode::Status(status),
            Word::McpForbidden,
            [url, server],
        ),
        (404 | 410, _) => of(Word::McpNothingThere),
        (405, _) => of(Word::McpNoPost),
        (429, _) => of(Word::McpTooMany),
        (500.., _) => Failure::ours(
            FailureCode::Status(status),
            Word::McpItsFault,
            [url, &number],
        ),
        (_, _) if page.is_empty() => Failure::ours(
            FailureCode::Status(status),
            Word::McpBareStatus,
            [url, &number],
        ),
        (_, _) => Failure::ours(
            FailureCode::Status(status),
            Word::McpStatus,
            [url, &number, &page],
        ),
    }
}

pub(crate) fn of_line(error: &reqwest::Error, url: &str) -> Failure {
    let causes = || std::iter::successors(error.source(), |&error| error.source());
    let last = causes().last().map(ToString::to_string);
    let said = text::line(&last.unwrap_or_default(), MAX_PAGE);
    let io = causes().find_map(|e| e.downcast_ref::<std::io::Error>());
    let io = io.map(std::io::Error::kind);
    let refused = io == Some(std::io::ErrorKind::ConnectionRefused);
    let broke_off = url.starts_with("https:") && causes().any(ends_early);
    if let Some(tls) = causes().find_map(tls_in) {
        let why = Why::ours(Word::McpNoTls, [url.into(), tls_said(tls)]);
        return Failure::new(FailureCode::Tls, why);
    }
    match () {
        () if error.is_dns() => Failure::ours(FailureCode::UnknownHost, Word::McpNoHost, [url]),
        () if refused => Failure::ours(FailureCode::NothingListens, Word::McpNobody, [url]),
        () if error.is_connect() && broke_off => {
            let why = Why::ours(Word::McpNoTls, [url.into(), Word::McpNotTls.into()]);
            Failure::new(FailureCode::Tls, why)
        }
        () if error.is_connect() => {
            Failure::ours(FailureCode::Unreachable, Word::McpNoLine, [url, &said])
        }
        () => Failure::ours(FailureCode::Closed, Word::McpHungUp, [url, &said]),
    }
}

fn tls_said(error: &rustls::Error) -> Why {
    use rustls::CertificateError as Bad;
    let word = match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::UnknownIssuer => Word::McpCertIssuer,
            Bad::Expired | Bad::ExpiredContext { .. } => Word::McpCertExpired,
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => Word::McpCertName,
            _ => Word::McpCertOdd,
        },
        rustls::Error::InvalidMessage(_) => Word::McpNotTls,
        other => return text::line(&other.to_string(), MAX_PAGE).into(),
    };
    word.into()
}

/// Such errors travel inside others, which hide what they hold.
fn tls_in<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    let inner = error.downcast_ref::<std::io::Error>()?.get_ref()?;
    tls_in(inner)
}

fn ends_early(error: &(dyn StdError + 'static)) -> bool {
    let Some(io) = error.downcast_ref::<std::io::Error>() else {
        return false;
    };
    let inner = || io.get_ref().is_some_and(|inner| ends_early(inner));
    io.kind() == std::io::ErrorKind::UnexpectedEof || inner()
}

/// An error with what lies below it.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut out = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let said = deeper.to_string();
        if !out.contains(&said) {
            out.push_str(&format!(": {said}"));
        }
        cause = deeper.source();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_library_hold_a_status() {
        for (said, expect) in [
            (
                "HTTP 404 Not Found: <h1>no</h1>",
                Some((404, "<h1>no</h1>")),
            ),
            ("HTTP 418 I'm a teapot: ", Some((418, ""))),
            ("HTTP 40", None),
            ("HTTP é4: x", None),
            ("could not parse", None),
        ] {
            assert_eq!(status_in(said), expect, "{said}");
        }
    }
}
