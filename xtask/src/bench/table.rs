//! The figures, one a line, beside what they are held against.

use std::fmt;

/// How much a figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// That much over the reference.
    Over(f64),
    /// That many times the reference.
    Times(f64),
    /// That much, whatever the reference.
    Most(f64),
}

#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    ours: f64,
    reference: Option<f64>,
    bar: Bar,
}

impl Table {
    pub fn add(&mut self, what: &str, ours: f64, reference: Option<f64>, bar: Bar) {
        self.rows.push(Row {
            what: what.to_owned(),
            ours,
            reference,
            bar,
        });
    }
}

impl Row {
    /// The bar in words, and whether the figure stays under it.
    fn verdict(&self) -> (String, bool) {
        let reference = self.reference.unwrap_or(0.0);
        let (words, limit) = match self.bar {
            Bar::Over(more) => (format!("reference + {more}"), reference + more),
            Bar::Times(factor) => (format!("{factor} × reference"), reference * factor),
            Bar::Most(most) => (format!("{most}"), most),
        };
        (words, self.ours <= limit)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| figure | ours | reference | difference | ratio | at most | |"
        )?;
        writeln!(f, "|---|---:|---:|---:|---:|---|---|")?;
        for row in &self.rows {
            let (bar, is_kept) = row.verdict();
            let against = match row.reference {
                Some(reference) => format!(
                    "{reference:.2} | {:+.2} | {:.2}",
                    row.ours - reference,
                    row.ours / reference
                ),
                None => "– | – | –".into(),
            };
            let mark = if is_kept { "ok" } else { "over" };
            writeln!(
                f,
                "| {} | {:.2} | {against} | {bar} | {mark} |",
                row.what, row.ours
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_bars() {
        let mut table = Table::default();
        table.add("a, ms", 5.0, Some(4.0), Bar::Over(2.0));
        table.add("b, ms", 5.0, Some(2.0), Bar::Times(2.0));
        table.add("c, MB", 25.5, None, Bar::Most(20.0));
        assert_eq!(
            table.to_string(),
            "\
| figure | ours | reference | difference | ratio | at most | |
|---|---:|---:|---:|---:|---|---|
| a, ms | 5.00 | 4.00 | +1.00 | 1.25 | reference + 2 | ok |
| b, ms | 5.00 | 2.00 | +3.00 | 2.50 | 2 × reference | over |
| c, MB | 25.50 | – | – | – | 20 | over |
"
        );
    }
}
