//! What requests took and cost, summed up for charts: the lines of the ledger by day, project and model.

use crate::boot::Boot;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use ostler_engine::ledger::{Ledger, Line};
use ostler_serve::backend::{Fault, Refusal, UsageRow};
use ostler_wire::Say as _;
use std::collections::BTreeMap;

pub fn rows(boot: &Boot, days: u16) -> Result<Vec<UsageRow>, Refusal> {
    let lines = Ledger::new(&boot.places.home).lines();
    let lines = lines.map_err(|e| Refusal::new(Fault::Failed, e.say(boot.language)))?;
    let zone = TimeZone::system();
    let today = Timestamp::now().to_zoned(zone.clone()).date();
    let first = today.saturating_sub((i64::from(days) - 1).days());
    Ok(sums(lines, &zone, &first.to_string()))
}

/// From the first day on, in order.
fn sums(lines: Vec<Line>, zone: &TimeZone, first: &str) -> Vec<UsageRow> {
    let mut rows: BTreeMap<(String, String, String), UsageRow> = BTreeMap::new();
    for Line {
        ts,
        project,
        tokens,
        ..
    } in lines
    {
        // A line without a time is of no day.
        let Ok(at) = ts.parse::<Timestamp>() else {
            continue;
        };
        let day = at.to_zoned(zone.clone()).date().to_string();
        if day.as_str() < first {
            continue;
        }
        let model = format!("{}/{}", tokens.provider, tokens.model);
        let key = (day.clone(), project.clone(), model.clone());
        let row = rows.entry(key).or_insert_with(|| UsageRow {
            day,
            project,
            model,
            ..UsageRow::default()
        });
        row.requests += 1;
        row.input = row.input.saturating_add(tokens.input);
        row.cached = row.cached.saturating_add(tokens.cached);
        row.cache_write = row.cache_write.saturating_add(tokens.cache_write);
        row.output = row.output.saturating_add(tokens.output);
        row.cost = match (row.cost, tokens.cost) {
            (Some(sum), Some(more)) => Some(sum + more),
            (sum, more) => sum.or(more),
        };
    }
    rows.into_values().collect()
}
