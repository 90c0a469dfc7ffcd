//! What a session is called in lists.

/// Characters of a prompt that make a title.
const TITLE_CHARS: usize = 60;

/// The first line of a prompt, cut to the length of a title.
pub fn title_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|l| !l.is_empty())?;
    let mut title: String = line.chars().take(TITLE_CHARS).collect();
    if line.chars().count() > TITLE_CHARS {
        title.push('…');
    }
    Some(title)
}
