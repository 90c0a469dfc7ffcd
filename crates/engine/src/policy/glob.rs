//! Patterns of rules: `*` any run, `**` any depth, `?` one. Matching one subject, and telling whether a subject that is
//! itself a pattern could be one that matches. At most quadratic.

/// Glob match of the whole subject.
pub use ostler_host::glob_matches as matches;

/// Longer patterns are taken to overlap with everything.
const MAX_OVERLAP: usize = 512;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Char(char),
    One,
    Run,
}

/// Whether some text matches both patterns. A bracket stands for any one character.
pub fn overlap(a: &str, b: &str) -> bool {
    let (a, b) = (pieces(a), pieces(b));
    if a.len() > MAX_OVERLAP || b.len() > MAX_OVERLAP {
        return true;
    }
    // row[j]: whether a[..i] and b[..j] have a common text.
    let mut row = vec![false; b.len() + 1];
    for i in 0..=a.len() {
        let mut next = vec![false; b.len() + 1];
        for j in 0..=b.len() {
            let at = |v: &[bool], k: usize| v.get(k).copied().unwrap_or(false);
            let left = i.checked_sub(1).and_then(|k| a.get(k)).copied();
            let right = j.checked_sub(1).and_then(|k| b.get(k)).copied();
            let mut both = i == 0 && j == 0;
            both |= left == Some(Piece::Run) && at(&row, j);
            both |= right == Some(Piece::Run) && j > 0 && at(&next, j - 1);
            if let (Some(l), Some(r)) = (left, right) {
                both |= match (l, r) {
                    (Piece::Run, _) => at(&next, j - 1),
                    (_, Piece::Run) => at(&row, j),
                    (Piece::Char(x), Piece::Char(y)) => x == y && at(&row, j - 1),
                    (Piece::One, _) | (_, Piece::One) => at(&row, j - 1),
                };
            }
            if let Some(cell) = next.get_mut(j) {
                *cell = both;
            }
        }
        row = next;
    }
    row.last().copied().unwrap_or(false)
}

fn pieces(glob: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '*' if out.last() == Some(&Piece::Run) => {}
            '*' => out.push(Piece::Run),
            '?' => out.push(Piece::One),
            '[' => match rest.split_once(']') {
                Some((_, after)) => {
                    out.push(Piece::One);
                    rest = after;
                }
                None => out.push(Piece::Char('[')),
            },
            c => out.push(Piece::Char(c)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_overlap() {
        for (a, b, expect) in [
            ("a", "a", true),
            ("a", "b", false),
            (".e*", ".env", true),
            (".env", ".e*", true),
            (".[e]nv", ".env", true),
            (".e?v", ".env", true),
            ("*.rs", ".env", false),
            ("*.rs", "a*", true),
            ("*", "", true),
            ("a*b*c", "*x*", true),
            ("ab", "a", false),
            ("a[", "a[", true),
        ] {
            assert_eq!(overlap(a, b), expect, "{a} {b}");
            assert_eq!(overlap(b, a), expect, "{b} {a}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_match_is_an_overlap(glob in "[ab*?]{0,8}", subject in "[ab]{0,8}") {
            proptest::prop_assert_eq!(matches(&glob, &subject), overlap(&glob, &subject));
        }
    }
}
