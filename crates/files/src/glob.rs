//! The patterns of path rules: `*` any run of characters, `?` one. At most quadratic, and without allocation.

/// Whether the pattern fits the whole subject.
pub fn matches(glob: &str, subject: &str) -> bool {
    let (mut glob, mut subject) = (glob, subject);
    // What follows the last star, and what it was compared with.
    let mut retry: Option<(&str, &str)> = None;
    loop {
        if let Some(rest) = glob.strip_prefix('*') {
            glob = rest.trim_start_matches('*');
            retry = Some((glob, subject));
            continue;
        }
        let (wanted, have) = (first(glob), first(subject));
        match (wanted, have) {
            (None, None) => return true,
            (Some((wanted, rest)), Some((have, after))) if wanted == '?' || wanted == have => {
                (glob, subject) = (rest, after);
            }
            (Some(_) | None, _) => {
                // The star takes one character more.
                let Some((after_star, from)) = retry else {
                    return false;
                };
                let Some((_, from)) = first(from) else {
                    return false;
                };
                retry = Some((after_star, from));
                (glob, subject) = (after_star, from);
            }
        }
    }
}

fn first(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    chars.next().map(|first| (first, chars.as_str()))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (glob, subject, expect) in [
            ("", "", true),
            ("", "a", false),
            ("a", "", false),
            ("*", "", true),
            ("**", "a/b", true),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*.rs", "a.rs.rs", true),
            ("a?c", "a\u{17e}c", true),
            ("?", "", false),
            ("a*b*c", "a1b2b3c", true),
            ("*a", "ba", true),
            ("*ab", "aab", true),
            ("x*", "ax", false),
        ] {
            assert_eq!(matches(glob, subject), expect, "{glob} {subject}");
        }
    }
}
