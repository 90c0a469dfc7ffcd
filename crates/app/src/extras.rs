//! Slash commands that need more than a session: what the configuration says and what the machine lacks. The same things
//! as `ostler config` and `ostler doctor`, as views.

use crate::boot::Boot;
use crate::cmd::doctor;
use crate::config::show;
use ostler_engine::Extra;
use ostler_wire::{CommandInfo, Language, View, Word};
use std::sync::Arc;

/// Settings in one view.
const MAX_ROWS: usize = 500;

pub fn all(boot: &Arc<Boot>) -> Vec<Arc<dyn Extra>> {
    vec![
        Arc::new(Settings(boot.clone())),
        Arc::new(Doctor(boot.clone())),
    ]
}

struct Settings(Arc<Boot>);

impl Extra for Settings {
    fn info(&self, language: Language) -> CommandInfo {
        CommandInfo {
            name: "config".into(),
            help: language.say(Word::HelpConfig).into(),
            arguments: "[key]".into(),
        }
    }

    fn run(&self, words: &str, language: Language) -> View {
        let settings = show::settings(&self.0.loaded).into_iter();
        let rows: Vec<Vec<String>> = settings
            .filter(|setting| setting.key.starts_with(words))
            .map(|setting| vec![setting.key.clone(), setting.bare(), setting.origin])
            .take(MAX_ROWS)
            .collect();
        if rows.is_empty() {
            return View::Error(language.fill(Word::NoSetting, &[words]));
        }
        let columns = [Word::ColWhat, Word::ColValue, Word::ColFrom];
        View::Table {
            columns: columns.map(|word| language.say(word).to_owned()).to_vec(),
            rows,
        }
    }
}

struct Doctor(Arc<Boot>);

impl Extra for Doctor {
    fn info(&self, language: Language) -> CommandInfo {
        CommandInfo {
            name: "doctor".into(),
            help: language.say(Word::HelpDoctor).into(),
            arguments: String::new(),
        }
    }

    fn run(&self, _: &str, language: Language) -> View {
        let findings = doctor::findings(&self.0, None);
        let row = |finding: doctor::Finding| {
            let text = match finding.fix {
                Some(fix) => format!("{} → {fix}", finding.text.trim_end()),
                None => finding.text,
            };
            let word = match finding.status {
                doctor::Status::Ok => Word::StatusOk,
                doctor::Status::Note => Word::StatusNote,
                doctor::Status::Problem => Word::StatusProblem,
            };
            vec![language.say(word).to_owned(), finding.topic.into(), text]
        };
        View::Table {
            columns: Vec::new(),
            rows: findings.into_iter().map(row).collect(),
        }
    }
}
