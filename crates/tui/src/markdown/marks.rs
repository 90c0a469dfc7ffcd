//! What a line of markdown begins with: the marks that open, continue or close a block. Looks at one line alone.

/// The marker of a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    pub list: List,
    pub number: Option<u64>,
    /// Columns from which on a line belongs to the item.
    pub content: usize,
    pub is_empty: bool,
}

/// Items with equal kinds are of one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    Bullet(char),
    Ordered(char),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    pub mark: char,
    pub count: usize,
    pub indent: usize,
    pub info: String,
}

/// From this indentation on a line is no mark of a block but code.
const CODE: usize = 4;

pub fn is_blank(line: &str) -> bool {
    line.chars().all(|c| c == ' ' || c == '\t')
}

/// Columns before the first letter; a tab leads to a multiple of four.
pub fn indent(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns += CODE - columns % CODE,
            _ => break,
        }
    }
    columns
}

pub fn is_indented_code(line: &str) -> bool {
    indent(line) >= CODE
}

fn inner(line: &str) -> Option<&str> {
    (indent(line) < CODE).then(|| line.trim_start_matches([' ', '\t']))
}

pub fn fence(line: &str) -> Option<Fence> {
    let text = inner(line)?;
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let count = text.len() - rest.len();
    let info = rest.trim();
    (count >= 3 && !(mark == '`' && info.contains('`'))).then(|| Fence {
        mark,
        count,
        indent: indent(line),
        info: info.to_owned(),
    })
}

impl Fence {
    pub fn is_closed_by(&self, line: &str) -> bool {
        inner(line).is_some_and(|text| {
            let rest = text.trim_start_matches(self.mark);
            text.len() - rest.len() >= self.count && is_blank(rest)
        })
    }

    /// A line of the block without the indentation that its fence has.
    pub fn strip<'a>(&self, line: &'a str) -> &'a str {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        line.get(spaces.min(self.indent)..).unwrap_or(line)
    }
}

pub fn is_heading(line: &str) -> bool {
    inner(line).is_some_and(|text| {
        let rest = text.trim_start_matches('#');
        (1..=6).contains(&(text.len() - rest.len()))
            && (rest.is_empty() || rest.starts_with([' ', '\t']))
    })
}

pub fn is_rule(line: &str) -> bool {
    let Some(text) = inner(line) else {
        return false;
    };
    let Some(mark) = text.chars().next().filter(|c| matches!(c, '-' | '*' | '_')) else {
        return false;
    };
    let marks = text.chars().filter(|c| *c == mark).count();
    marks >= 3 && text.chars().all(|c| c == mark || c == ' ' || c == '\t')
}

/// `===` or `---` below a paragraph makes it a heading.
pub fn is_underline(line: &str) -> bool {
    inner(line).is_some_and(|text| {
        let text = text.trim_end();
        !text.is_empty() && (text.chars().all(|c| c == '=') || text.chars().all(|c| c == '-'))
    })
}

pub fn is_quote(line: &str) -> bool {
    inner(line).is_some_and(|text| text.starts_with('>'))
}

pub fn is_html(line: &str) -> bool {
    inner(line).is_some_and(|text| {
        let mut chars = text.chars();
        chars.next() == Some('<')
            && chars
                .next()
                .is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
    })
}

pub fn marker(line: &str) -> Option<Marker> {
    let text = inner(line)?;
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = text.get(digits..)?;
    let sign = rest.chars().next()?;
    let (list, number) = match (digits, sign) {
        (0, '-' | '*' | '+') => (List::Bullet(sign), None),
        (1..=9, '.' | ')') => (List::Ordered(sign), text.get(..digits)?.parse().ok()),
        _ => return None,
    };
    let after = rest.get(1..)?;
    let is_empty = is_blank(after);
    if !is_empty && !after.starts_with([' ', '\t']) {
        return None;
    }
    let start = indent(line) + digits + 1;
    // Much space behind the marker is code within the item.
    let gap = match indent(after) {
        gap @ 1..=CODE if !is_empty => gap,
        _ => 1,
    };
    Some(Marker {
        list,
        number,
        content: start + gap,
        is_empty,
    })
}

/// The second line of a table: `|---|:-:|`.
pub fn is_table_ruler(line: &str) -> bool {
    let text = line.trim();
    text.contains('-')
        && text.contains('|')
        && text
            .chars()
            .all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers() {
        let check = |line: &str, expect: Option<(List, Option<u64>, usize)>| {
            let got = marker(line).map(|m| (m.list, m.number, m.content));
            assert_eq!(got, expect, "{line}");
        };
        check("- a", Some((List::Bullet('-'), None, 2)));
        check("  *   a", Some((List::Bullet('*'), None, 6)));
        check("12) a", Some((List::Ordered(')'), Some(12), 4)));
        check("-      code", Some((List::Bullet('-'), None, 2)));
        check("+", Some((List::Bullet('+'), None, 2)));
        check("-a", None);
        check("    - a", None);
        check("1234567890. a", None);
        check("1.5", None);
    }

    #[test]
    fn fences() {
        let open = fence("  ```rust ignore").unwrap();
        assert_eq!((open.indent, open.info.as_str()), (2, "rust ignore"));
        assert!(open.is_closed_by("````  "));
        assert!(!open.is_closed_by("``` x"));
        assert!(!open.is_closed_by("~~~"));
        assert_eq!(open.strip("    x"), "  x");
        assert_eq!(open.strip(" x"), "x");
        for line in ["``", "``` a`b", "    ```"] {
            assert_eq!(fence(line), None, "{line}");
        }
    }

    #[test]
    fn other_lines() {
        for (test, yes, no) in [
            (is_heading as fn(&str) -> bool, "## a", "####### a"),
            (is_heading, "#", "#a"),
            (is_rule, "* * *", "**"),
            (is_rule, "---", "--a"),
            (is_underline, "===", "=-="),
            (is_quote, "  > a", "    > a"),
            (is_html, "<div>", "<3"),
            (is_table_ruler, "|:--|--:|", "| a |"),
        ] {
            assert!(test(yes), "{yes}");
            assert!(!test(no), "{no}");
        }
    }
}
