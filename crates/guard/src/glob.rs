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

/// Whether a path has wildcards in it.
pub fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// One component; a pattern that starts with a wildcard finds no dot files.
pub fn part_matches(spec: &str, part: &str) -> bool {
    if matches(spec, part) {
        return true;
    }
    let hidden = spec.starts_with('.') && part.starts_with(['*', '?', '[']);
    is_pattern(part) && !hidden && overlap(spec, part)
}

/// Longer paths are taken to match every pattern.
const MAX_PARTS: usize = 128;

pub fn path_matches(glob: &str, path: &str) -> bool {
    let glob = glob.trim_end_matches('/');
    if is_pattern(path) && patterns_meet(glob, path) {
        return true;
    }
    // A folder's rule binds everything below it.
    matches(glob, path)
        || path
            .char_indices()
            .filter(|(_, c)| *c == '/')
            .any(|(i, _)| {
                path.get(..i)
                    .is_some_and(|parent| !parent.is_empty() && matches(glob, parent))
            })
}

/// Whether a path that is a pattern may become one that the rule speaks of, component by component.
fn patterns_meet(glob: &str, path: &str) -> bool {
    let (rule, path): (Vec<&str>, Vec<&str>) =
        (glob.split('/').collect(), path.split('/').collect());
    if rule.len() > MAX_PARTS || path.len() > MAX_PARTS {
        return true;
    }
    // below[j]: whether rule[i + 1..] meets path[j..].
    let mut below = vec![true; path.len() + 1];
    for (i, part) in rule.iter().enumerate().rev() {
        let mut here = vec![false; path.len() + 1];
        for j in (0..=path.len()).rev() {
            let at = |row: &[bool], j: usize| row.get(j).copied().unwrap_or(false);
            let met = match (*part, path.get(j).copied()) {
                (_, None) => rule
                    .get(i..)
                    .is_some_and(|rest| rest.iter().all(|p| *p == "**")),
                ("**", Some(_)) | (_, Some("**")) => at(&below, j) || at(&here, j + 1),
                (part, Some(have)) => part_matches(part, have) && at(&below, j + 1),
            };
            if let Some(cell) = here.get_mut(j) {
                *cell = met;
            }
        }
        below = here;
    }
    below.first().copied().unwrap_or(false)
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
