//! Durations as people write them: `10m`, `1h30m`, `500 ms`.

use std::time::Duration;

/// Longer ones are taken as this one.
pub const LONGEST_DURATION: Duration = Duration::from_secs(24 * 60 * 60);

/// A duration with its units, such as `10m`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let seconds = seconds_of(Some(text.trim()).filter(|text| !text.is_empty())?)?;
    let span = Duration::try_from_secs_f64(seconds).ok()?;
    Some(span.min(LONGEST_DURATION))
}

/// Seconds of `1h30m`, `1.5s`, `500 ms`.
pub fn seconds_of(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .filter(|at| *at > 0)?;
        let (number, after) = rest.split_at_checked(digits)?;
        let after = after.trim_start();
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, next) = after.split_at_checked(letters)?;
        let seconds = match unit {
            "ms" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * seconds;
        rest = next.trim_start();
    }
    Some(total)
}
