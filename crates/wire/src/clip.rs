//! Text that is quoted or named somewhere, cut to a length.

/// At most `most` characters of a text, with an ellipsis where some were left out.
pub fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
