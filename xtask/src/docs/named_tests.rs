//! Tests that documents name as `path/to/file.rs::name`: they exist.

use super::markdown::Document;
use std::path::Path;

pub fn check(documents: &[Document], root: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for document in documents {
        for line in &document.lines {
            for (file, name) in line.code.iter().filter_map(|code| code.split_once(".rs::")) {
                let text = std::fs::read_to_string(root.join(format!("{file}.rs")));
                let function = format!("fn {name}(");
                if !text.is_ok_and(|text| text.contains(&function)) {
                    let place = format!("{}:{}", document.path, line.number);
                    wrong.push(format!("{place}: there is no test {file}.rs::{name}"));
                }
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_test_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = "`src/docs/named_tests.rs::a_named_test_exists` `src/docs/named_tests.rs::gone` `src/gone.rs::x`";
        let wrong = check(&[Document::new("a.md", text)], root);
        assert_eq!(
            wrong,
            [
                "a.md:1: there is no test src/docs/named_tests.rs::gone",
                "a.md:1: there is no test src/gone.rs::x",
            ]
        );
    }
}
