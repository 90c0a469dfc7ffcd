//! Errors in the person's language: those of our own crates and of the system by the table of texts, all others in their
//! own words.

use crate::auth::IssuerError;
use ostler_config::diagnose::{ConfigError, Paint};
use ostler_config::keys::{KeyError, SaveError};
use ostler_config::logins::StoreError;
use ostler_config::paths::NoHome;
use ostler_config::resolve::{LoginError, Redirected, ResolveError};
use ostler_config::show::GetError;
use ostler_config::text::Explained;
use ostler_config::trust::TrustError;
use ostler_wire::{Language, Say, Why, Word};
use std::error::Error;

/// A fault of the command line: exit code 2.
#[derive(Debug)]
pub struct UsageError(pub String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for UsageError {}

/// Tells errors in a language.
pub trait Told {
    /// The error and what lies behind it, one after the other.
    fn told(self, error: &anyhow::Error) -> String;
}

impl Told for Language {
    fn told(self, error: &anyhow::Error) -> String {
        let mut out = String::new();
        for cause in error.chain() {
            let said = known(cause, self).unwrap_or_else(|| cause.to_string());
            out = match out.is_empty() {
                true => said,
                // Some say themselves what is behind them.
                false if out.contains(&said) => out,
                false => self.fill(Word::Because, &[&out, &said]),
            };
        }
        out
    }
}

/// The text of an error that the table has words for.
fn known(cause: &(dyn Error + 'static), language: Language) -> Option<String> {
    if let Some(explained) = cause.downcast_ref::<Explained>() {
        return Some(explained.why.say(language));
    }
    if let Some(why) = cause.downcast_ref::<Why>() {
        return Some(why.say(language));
    }
    if let Some(error) = cause.downcast_ref::<ConfigError>() {
        return Some(error.render(Paint::Plain, language));
    }
    let tellers = [
        of::<std::io::Error>,
        of::<ostler_host::Error>,
        of::<ostler_host::sandbox::Error>,
        of::<ostler_engine::checkpoint::Error>,
        of::<ostler_engine::memory::MemoryError>,
        of::<ostler_guard::RuleError>,
        of::<KeyError>,
        of::<SaveError>,
        of::<NoHome>,
        of::<LoginError>,
        of::<Redirected>,
        of::<ResolveError>,
        of::<GetError>,
        of::<TrustError>,
        of::<IssuerError>,
        of::<StoreError>,
    ];
    tellers.iter().find_map(|tell| tell(cause, language))
}

fn of<T: Error + Say + 'static>(
    cause: &(dyn Error + 'static),
    language: Language,
) -> Option<String> {
    Some(cause.downcast_ref::<T>()?.say(language))
}
