//! The words of cells, one function each, so that a language is changed in one place. Numbers come formatted with them.

use std::time::Duration;

pub fn bytes_left_out(bytes: usize) -> String {
    format!("[… {} more bytes of this line]", count(bytes))
}

pub fn more_lines(lines: usize) -> String {
    match lines {
        1 => "… 1 more line".into(),
        n => format!("… {} more lines", count(n)),
    }
}

pub fn earlier_lines(lines: usize) -> String {
    match lines {
        1 => "… +1 line".into(),
        n => format!("… +{} lines", count(n)),
    }
}

pub fn more_rows(rows: usize) -> String {
    match rows {
        1 => "… 1 more row".into(),
        n => format!("… {} more rows", count(n)),
    }
}

pub fn image(name: &str) -> String {
    format!("[image: {name}]")
}

pub fn lines(lines: usize) -> String {
    match lines {
        1 => "1 line".into(),
        n => format!("{} lines", count(n)),
    }
}

pub fn matches(matches: usize) -> String {
    match matches {
        1 => "1 match".into(),
        n => format!("{} matches", count(n)),
    }
}

pub fn files(files: usize) -> String {
    match files {
        1 => "1 file".into(),
        n => format!("{} files", count(n)),
    }
}

pub fn entries(entries: usize) -> String {
    match entries {
        1 => "1 entry".into(),
        n => format!("{} entries", count(n)),
    }
}

pub fn results(results: usize) -> String {
    match results {
        1 => "1 result".into(),
        n => format!("{} results", count(n)),
    }
}

pub fn thought(took: Option<Duration>) -> String {
    match took {
        Some(took) => format!("Thought for {}", whole_time(took)),
        None => "Thought".into(),
    }
}

pub fn thinking(so_far: Duration) -> String {
    format!("Thinking… {}", whole_time(so_far))
}

pub const ALERT_NOTE: &str = "Note";
pub const ALERT_TIP: &str = "Tip";
pub const ALERT_IMPORTANT: &str = "Important";
pub const ALERT_WARNING: &str = "Warning";
pub const ALERT_CAUTION: &str = "Caution";
pub const SHOWS_IT: &str = "ctrl-t shows it";
pub const DENIED: &str = "denied";
pub const BINARY: &str = "binary";
pub const STOPPED: &str = "interrupted";
pub const WAITS: &str = "waits for you";
pub const TIMED_OUT: &str = "timed out";
pub const CREATED: &str = "new file";
pub const OVERWROTE: &str = "overwritten";
pub const NO_OUTPUT: &str = "(no output)";
pub const NOT_COMPARED: &str = "(too large to compare)";
pub const TODO: &str = "Plan";
pub const INTERRUPTED: &str = "Interrupted";
pub const NOBODY_ANSWERED: &str = "nobody answered";

pub fn cell(number: usize) -> String {
    format!("cell {number}")
}

pub fn exit(code: i64) -> String {
    format!("exit {code}")
}

pub fn job_runs(id: &str) -> String {
    format!("job {id} runs")
}

pub fn job_ended(id: &str, code: i64) -> String {
    format!("job {id} ended: exit {code}")
}

pub fn job_killed(id: &str) -> String {
    format!("job {id} was ended")
}

pub fn retry(left: Duration, attempt: u32) -> String {
    format!("Trying again in {} (attempt {attempt})", whole_time(left))
}

pub fn approved(decision: &str) -> String {
    match decision {
        "once" => "Allowed once".into(),
        "session" => "Allowed for this session".into(),
        "always" => "Always allowed from now on".into(),
        "allow" => "Allowed".into(),
        "deny" => "Denied".into(),
        other => format!("Decided: {other}"),
    }
}

pub fn rule_saved(what: &str) -> String {
    format!("saved: {what}")
}

pub fn rule(rule: &str) -> String {
    format!("rule: {rule}")
}

pub const STOPPED_MAX_STEPS: &str =
    "Stopped: the limit of steps is reached. Say \"go on\" to continue.";
pub const STOPPED_EMPTY: &str = "The model gave an empty answer. Say it again, or in other words.";
pub const STOPPED_REFUSAL: &str = "The model refused to answer.";
pub const CUT_BY_LENGTH: &str =
    "The answer was cut: it reached the model's limit. Say \"go on\" to continue.";
pub const CUT_BY_CONNECTION: &str = "The answer was cut: the connection was lost.";

pub fn model_is(model: &str) -> String {
    format!("Model: {model}")
}

pub fn effort_is(effort: &str) -> String {
    format!("Effort: {effort}")
}

pub fn title_is(title: &str) -> String {
    format!("Title: {title}")
}

pub fn mode_is(mode: &str, posture: &str) -> String {
    format!("Mode: {mode}, permissions: {posture}")
}

pub fn usage_input(tokens: u64) -> String {
    format!("{} in", tokens_short(tokens))
}

pub fn usage_cached(percent: u64) -> String {
    format!("{percent}% cached")
}

pub fn usage_output(tokens: u64) -> String {
    format!("{} out", tokens_short(tokens))
}

/// `950`, `1.2k`, `34k`, `1.2M`.
pub fn tokens_short(tokens: u64) -> String {
    let short = |unit: f64, name: &str| {
        let value = tokens as f64 / unit;
        match value < 10.0 {
            true => format!("{value:.1}{name}"),
            false => format!("{value:.0}{name}"),
        }
    };
    match tokens {
        0..=999 => tokens.to_string(),
        1_000..=999_499 => short(1_000.0, "k"),
        _ => short(1_000_000.0, "M"),
    }
}

pub fn cost(usd: f64) -> String {
    match usd {
        c if c >= 1.0 => format!("${c:.2}"),
        c if c >= 0.001 => format!("${c:.3}"),
        c if c > 0.0 => "<$0.001".into(),
        _ => "$0".into(),
    }
}

/// `0.4 s`, `1.2 s`, `34 s`, `2 m 05 s`, `1 h 02 m`.
pub fn time(took: Duration) -> String {
    let seconds = took.as_secs();
    match seconds {
        0..=9 => {
            let tenths = took.as_millis() / 100;
            format!("{}.{} s", tenths / 10, tenths % 10)
        }
        10..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The same without tenths, rounded up: where time is counted it changes once a second.
fn whole_time(took: Duration) -> String {
    let seconds = took.as_secs() + u64::from(took.subsec_nanos() > 0);
    match seconds {
        0..=59 => format!("{seconds} s"),
        _ => time(Duration::from_secs(seconds)),
    }
}

pub fn size(bytes: u64) -> String {
    match bytes {
        0..=999 => format!("{bytes} B"),
        1_000..=999_999 => format!("{} kB", bytes / 1_000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// `1,234,567`
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (number, expect) in [
            (7, "7"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(number), expect);
        }
        for (tokens, expect) in [
            (950, "950"),
            (1_200, "1.2k"),
            (34_400, "34k"),
            (999_999, "1.0M"),
            (12_000_000, "12M"),
        ] {
            assert_eq!(tokens_short(tokens), expect);
        }
        for (millis, expect) in [
            (40, "0.0 s"),
            (1_250, "1.2 s"),
            (34_900, "34 s"),
            (125_000, "2 m 05 s"),
            (3_720_000, "1 h 02 m"),
        ] {
            assert_eq!(time(Duration::from_millis(millis)), expect);
        }
        for (usd, expect) in [
            (0.0, "$0"),
            (0.0004, "<$0.001"),
            (0.0123, "$0.012"),
            (3.456, "$3.46"),
        ] {
            assert_eq!(cost(usd), expect);
        }
        assert_eq!(size(34_500), "34 kB");
    }
}
