//! What is known of a model by its name: window, price and abilities, from the rows of `data/models.toml`.

use crate::{Price, rows};
use serde::Deserialize;

const TABLE: &str = include_str!("../data/models.toml");

#[derive(Clone, Debug, PartialEq)]
pub struct ModelFacts {
    /// Tokens.
    pub window: u64,
    pub max_output: Option<u64>,
    pub price: Option<Price>,
    pub reasoning: bool,
    pub images: bool,
}

#[derive(Deserialize)]
struct Row {
    window: u64,
    max_output: Option<u64>,
    price: Option<Price>,
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    images: bool,
}

/// The first row that fits, in file order. Case does not matter, nor does a vendor's name before the last `/`.
pub fn lookup(model: &str) -> Option<ModelFacts> {
    lookup_in(TABLE, model)
}

fn lookup_in(table: &str, model: &str) -> Option<ModelFacts> {
    let id = model.to_lowercase();
    let row: Row = rows::parse(rows::rows(table, "model").find(|row| rows::fits(row, &id))?)?;
    Some(ModelFacts {
        window: row.window,
        max_output: row.max_output,
        price: row.price,
        reasoning: row.reasoning,
        images: row.images,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
[[model]]
exact = "a-1"
window = 1

[[model]]
prefix = "a-1-mini"
window = 2
max_output = 7
price = { input = 1.5, output = 6 }
images = true

[[model]]
contains = "a-1"
window = 3
reasoning = true

[[model]]
prefix = "vendor/b"
window = 4
"#;

    #[test]
    fn the_first_row_that_fits_wins() {
        for (model, window) in [
            ("a-1", Some(1)),
            ("A-1", Some(1)),
            ("vendor/A-1", Some(1)),
            ("x/y/a-1-mini:free", Some(2)),
            ("my-a-1-tuned", Some(3)),
            ("vendor/b2", Some(4)),
            ("b2", None),
            ("", None),
            ("/", None),
        ] {
            let found = lookup_in(SMALL, model).map(|facts| facts.window);
            assert_eq!(found, window, "{model}");
        }
        let facts = lookup_in(SMALL, "a-1-mini").unwrap();
        let price = Price {
            input: 1.5,
            output: 6.0,
            ..Price::default()
        };
        let expect = ModelFacts {
            window: 2,
            max_output: Some(7),
            price: Some(price),
            reasoning: false,
            images: true,
        };
        assert_eq!(facts, expect);
    }

    #[test]
    fn every_row_of_the_table_can_be_reached_and_read() {
        #[derive(Deserialize)]
        struct Table {
            model: Vec<toml::Table>,
        }
        let whole: Table = toml::from_str(TABLE).unwrap();
        let rows: Vec<&str> = rows::rows(TABLE, "model").collect();
        assert_eq!(rows.len(), whole.model.len());
        let keys = ["window", "max_output", "price", "reasoning", "images"];
        for (row, table) in rows.into_iter().zip(&whole.model) {
            let rules: Vec<&str> = ["exact", "prefix", "contains"]
                .iter()
                .filter_map(|key| table.get(*key)?.as_str())
                .collect();
            let [rule] = rules[..] else {
                panic!("not one rule in {row}");
            };
            assert!(rows::fits(row, rule), "{row}");
            assert_eq!(rule, rule.to_lowercase());
            assert_eq!(
                rows::rows(TABLE, "model").find(|r| rows::fits(r, rule)),
                Some(row)
            );
            let read: Row = rows::parse(row).unwrap_or_else(|| panic!("{row}"));
            assert!(
                read.max_output.is_none_or(|max| max <= read.window),
                "{row}"
            );
            assert!(table.len() <= keys.len() + 1);
        }
    }

    #[test]
    fn every_built_in_model_is_known() {
        for provider in crate::builtin_providers() {
            for model in &provider.models {
                assert!(lookup(model).is_some(), "{model}");
            }
        }
    }
}
