//! Characters that do something else than show themselves. Text of models, files and servers may have them; what is shown
//! to a person may not. How they are made visible is up to who shows it.

/// Whether it drives a terminal, turns the reading direction, or cannot be seen at all. Line breaks and tabs do not count,
/// nor the joiners that scripts and emoji are written with.
pub fn is_tricky(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_ascii() => c.is_ascii_control(),
        c => c.is_control() || is_turning(c) || is_invisible(c),
    }
}

fn is_turning(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::is_tricky;

    #[test]
    fn what_people_write_is_not_tricky() {
        for text in [
            "plain\ttext\n",
            "标题 é ž",
            "👩\u{200d}💻 ❤\u{fe0f}",
            "می\u{200c}خواهم",
            "שלום",
        ] {
            assert!(!text.contains(is_tricky), "{text}");
        }
        let tricks = "\0\u{7}\u{8}\r\u{1b}\u{7f}\u{85}\u{9b}\u{200b}\u{200f}\u{202e}\u{2028}\u{2066}\u{feff}\u{e0041}";
        assert!(tricks.chars().all(is_tricky));
    }
}
