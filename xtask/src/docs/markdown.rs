//! A Markdown file taken apart as far as the checks need it: prose, code, headings. Not a Markdown parser.

pub struct Document {
    /// Below the root, with `/`.
    pub path: String,
    pub lines: Vec<Line>,
}

pub struct Line {
    /// Counted from 1.
    pub number: usize,
    /// Without what stands in backticks; empty inside a code block.
    pub prose: String,
    /// What stands in backticks, or the whole line of a code block.
    pub code: Vec<String>,
}

impl Document {
    pub fn new(path: &str, text: &str) -> Self {
        let mut is_block = false;
        let mut lines = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let is_fence = line.trim_start().starts_with("```");
            let (prose, code) = match (is_fence, is_block) {
                (true, _) => (String::new(), Vec::new()),
                (false, true) => (String::new(), vec![line.to_owned()]),
                (false, false) => split(line),
            };
            is_block ^= is_fence;
            lines.push(Line {
                number: at + 1,
                prose,
                code,
            });
        }
        Self {
            path: path.to_owned(),
            lines,
        }
    }

    /// The anchors that headings make.
    pub fn anchors(&self) -> Vec<String> {
        let headings = self.lines.iter().filter(|line| line.prose.starts_with('#'));
        headings
            .map(|line| {
                let parts = line.prose.trim_start_matches('#').trim();
                let words = line.code.iter().fold(parts.to_owned(), |text, code| {
                    text.replacen('\u{0}', code, 1)
                });
                anchor(&words)
            })
            .collect()
    }
}

/// Prose with a NUL for each piece of code, and the pieces.
fn split(line: &str) -> (String, Vec<String>) {
    let (mut prose, mut code) = (String::new(), Vec::new());
    for (at, part) in line.split('`').enumerate() {
        match at % 2 {
            0 => prose.push_str(part),
            _ => {
                prose.push('\u{0}');
                code.push(part.to_owned());
            }
        }
    }
    (prose, code)
}

fn anchor(heading: &str) -> String {
    heading
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_code_and_headings() {
        let text =
            "# Exit `codes`, and more\ntext `ostler exec` [a](b)\n```\nostler -p\n```\nend\n";
        let document = Document::new("a.md", text);
        assert_eq!(document.anchors(), ["exit-codes-and-more"]);
        let code: Vec<&str> = document
            .lines
            .iter()
            .flat_map(|l| l.code.iter().map(String::as_str))
            .collect();
        assert_eq!(code, ["codes", "ostler exec", "ostler -p"]);
        assert_eq!(document.lines[1].prose, "text \u{0} [a](b)");
        assert_eq!(document.lines[5].prose, "end");
    }
}
