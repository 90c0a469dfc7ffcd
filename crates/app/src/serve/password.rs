//! Asks for the password of `ostler serve`, and hashes it.

use crate::secret::read_secret;
use anyhow::anyhow;
use ostler_wire::{Language, Word};

/// The password, as a line of stdin.
pub fn read(language: Language) -> anyhow::Result<String> {
    read_secret(Word::ServePassword, language)
}

pub fn hash(password: &str, language: Language) -> anyhow::Result<String> {
    let hash = ostler_serve::hash_password(password);
    hash.ok_or_else(|| anyhow!(language.say(Word::ServeNoPassword)))
}
