//! The words of cells, one function each: what is counted, and in which form. The texts are those of the language;
//! numbers come formatted with them.

use ostler_wire::{Compaction, Decision, HERE, Language, PermissionChoice, Word, thousands};
use serde_json::Value;
use std::time::Duration;

pub fn bytes_left_out(bytes: usize) -> String {
    format!("[… +{} B]", thousands(bytes as u64))
}

pub fn more_lines(to: Language, lines: usize) -> String {
    to.many(Word::MoreLines, lines, &[&thousands(lines as u64)])
}

pub fn earlier_lines(to: Language, lines: usize) -> String {
    to.many(Word::EarlierLines, lines, &[&thousands(lines as u64)])
}

/// A fold of the transcript names the key that opens it.
pub fn folded_before(to: Language, lines: usize) -> String {
    to.fill(Word::FoldKey, &[&earlier_lines(to, lines)])
}

pub fn folded_after(to: Language, lines: usize) -> String {
    to.fill(Word::FoldKey, &[&more_lines(to, lines)])
}

pub fn more_rows(to: Language, rows: usize) -> String {
    to.many(Word::MoreRows, rows, &[&thousands(rows as u64)])
}

pub fn image(to: Language, name: &str) -> String {
    to.fill(Word::Picture, &[name])
}

pub fn lines(to: Language, lines: usize) -> String {
    to.many(Word::Lines, lines, &[&thousands(lines as u64)])
}

pub fn matches(to: Language, matches: usize) -> String {
    to.many(Word::Matches, matches, &[&thousands(matches as u64)])
}

pub fn files(to: Language, files: usize) -> String {
    to.many(Word::Files, files, &[&thousands(files as u64)])
}

pub fn entries(to: Language, entries: usize) -> String {
    to.many(Word::Entries, entries, &[&thousands(entries as u64)])
}

pub fn results(to: Language, results: usize) -> String {
    to.many(Word::Results, results, &[&thousands(results as u64)])
}

/// What happened, for an error of this kind: what it knows of the answer says more.
pub fn error_head(to: Language, kind: &str, details: &Value) -> String {
    match (kind, details["status"].as_u64(), details["tries"].as_u64()) {
        ("retryable", _, Some(tries)) => to.fill(Word::KindTries, &[&tries.to_string()]),
        ("fatal", Some(404), _) => to.say(Word::KindNotFound).to_owned(),
        ("fatal", Some(402), _) => to.say(Word::KindCredit).to_owned(),
        _ => to.say(kind_word(kind)).to_owned(),
    }
}

fn kind_word(kind: &str) -> Word {
    match kind {
        "auth" => Word::KindAuth,
        "retryable" => Word::KindRetryable,
        "overflow" => Word::KindOverflow,
        "login_required" => Word::KindLoginRequired,
        "invalid_response" => Word::KindInvalidResponse,
        "fatal" => Word::KindFatal,
        "budget" => Word::KindBudget,
        "max_steps" => Word::KindMaxSteps,
        "hook" => Word::KindHook,
        "refusal" => Word::KindRefusal,
        "empty_response" => Word::KindEmpty,
        "log" => Word::KindLog,
        _ => Word::KindOther,
    }
}

pub fn thought(to: Language, took: Option<Duration>) -> String {
    match took {
        Some(took) => to.fill(Word::ThoughtFor, &[&whole_time(took)]),
        None => to.say(Word::Thought).to_owned(),
    }
}

pub fn cell(to: Language, number: usize) -> String {
    to.fill(Word::NotebookCell, &[&number.to_string()])
}

pub fn exit(to: Language, code: i64) -> String {
    to.fill(Word::ExitCode, &[&code.to_string()])
}

pub fn job_runs(to: Language, id: &str) -> String {
    to.fill(Word::JobRuns, &[id])
}

pub fn job_ended(to: Language, id: &str, code: i64) -> String {
    to.fill(Word::JobEnded, &[id, &code.to_string()])
}

pub fn job_killed(to: Language, id: &str) -> String {
    to.fill(Word::JobKilled, &[id])
}

pub fn retry(to: Language, left: Duration, (failed, of): (u32, u32)) -> String {
    let (left, failed) = (whole_time(left), failed.to_string());
    match of {
        0 => to.fill(Word::TryingAgain, &[&left, &failed]),
        of => to.fill(Word::TryFailed, &[&failed, &of.to_string(), &left]),
    }
}

pub fn approved(to: Language, decision: &Decision) -> String {
    let word = match decision {
        Decision::Chosen(choice) => match choice {
            PermissionChoice::Once => Word::AllowedOnce,
            PermissionChoice::Session | PermissionChoice::SessionExact => Word::AllowedSession,
            PermissionChoice::Always | PermissionChoice::AlwaysProject => Word::AllowedAlways,
            PermissionChoice::Deny => Word::DeniedByYou,
        },
        Decision::Allowed => Word::Allowed,
        Decision::Other(other) => return to.fill(Word::Decided, &[other]),
    };
    to.say(word).to_owned()
}

pub fn rule_saved(to: Language, what: &str) -> String {
    to.fill(Word::RuleSaved, &[what])
}

pub fn rule(to: Language, rule: &str) -> String {
    to.fill(Word::RuleIs, &[rule])
}

pub fn model_is(to: Language, model: &str) -> String {
    to.fill(Word::ModelIs, &[model])
}

pub fn effort_is(to: Language, effort: &str) -> String {
    to.fill(Word::EffortIs, &[effort])
}

pub fn title_is(to: Language, title: &str) -> String {
    to.fill(Word::TitleIs, &[title])
}

pub fn place_is(to: Language, host: &str, root: &str) -> String {
    let host = if host == HERE {
        to.say(Word::HostHere)
    } else {
        host
    };
    to.fill(Word::PlaceNow, &[host, root])
}

pub fn mode_is(to: Language, mode: &str, posture: &str) -> String {
    let mode = mode_word(mode).map_or(mode, |word| to.say(word));
    to.fill(Word::ModeChanged, &[mode, &posture_shown(to, posture)])
}

/// As the log has it, in the language of the person: `auto for 10m`.
pub fn posture_shown(to: Language, posture: &str) -> String {
    match (posture_word(posture), posture.strip_prefix("auto for ")) {
        (Some(word), _) => to.say(word).to_owned(),
        (None, Some(time)) => to.fill(Word::StanceUntil, &[time]),
        (None, None) => posture.to_owned(),
    }
}

pub fn mode_word(mode: &str) -> Option<Word> {
    match mode {
        "normal" => Some(Word::ModeNormal),
        "plan" => Some(Word::ModePlan),
        "goal" => Some(Word::ModeGoal),
        _ => None,
    }
}

pub fn posture_word(posture: &str) -> Option<Word> {
    match posture {
        "ask" => Some(Word::PostureAsk),
        "edits" => Some(Word::PostureEdits),
        "auto" => Some(Word::PostureAuto),
        "yolo" => Some(Word::PostureYolo),
        "yolo for commands" => Some(Word::StanceShell),
        "refuse" => Some(Word::StanceNever),
        _ => None,
    }
}

pub fn folded(to: Language, compaction: &Compaction) -> String {
    let tokens = [compaction.tokens_before, compaction.tokens_after].map(tokens_short);
    let [answers, calls] = [compaction.answers, compaction.calls].map(|n| n.to_string());
    let [before, after] = tokens;
    to.fill(Word::FoldedWork, &[&answers, &calls, &before, &after])
}

pub fn usage_input(to: Language, tokens: u64) -> String {
    to.fill(Word::UsageInput, &[&tokens_short(tokens)])
}

pub fn usage_cached(to: Language, percent: u64) -> String {
    to.fill(Word::Cached, &[&percent.to_string()])
}

pub fn usage_output(to: Language, tokens: u64) -> String {
    to.fill(Word::UsageOutput, &[&tokens_short(tokens)])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
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
