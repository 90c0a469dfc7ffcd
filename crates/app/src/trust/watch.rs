//! Deny and ask rules that the person adds to a configuration file while a session runs hold from its next turn.
//! Everything else of a changed file waits for the next session: a session does not get looser under the person's hands.

use super::ConfigFiles;
use crate::boot::Boot;
use ostler_config::diagnose::Paint;
use ostler_config::files::{Stamp, stamp};
use ostler_config::layers::{Loaded, RuleList};
use ostler_config::trust::Approval;
use ostler_engine::{RuleNews, RuleWatch};
use ostler_guard::Rule;
use ostler_wire::printable;
use ostler_wire::{Language, Say as _, Word};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

pub struct Watch {
    files: ConfigFiles,
    language: Language,
    seen: Mutex<Seen>,
}

struct Seen {
    files: Vec<(PathBuf, Stamp)>,
    rules: Vec<(RuleList, String)>,
}

impl Watch {
    pub fn new(boot: &Boot) -> Self {
        Self {
            files: ConfigFiles::new(boot),
            language: boot.language,
            seen: Mutex::new(Seen {
                files: boot.loaded.files.clone(),
                rules: boot
                    .loaded
                    .rules()
                    .into_iter()
                    .map(|rule| (rule.list, rule.text))
                    .collect(),
            }),
        }
    }

    fn load(&self) -> Result<Loaded, String> {
        // Neither list needs trust.
        let approval = Approval::Recorded(None);
        self.files.load(approval).map_err(|error| {
            let text = error.render(Paint::Plain, self.language);
            text.lines()
                .take(2)
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(" ")
        })
    }
}

impl RuleWatch for Watch {
    fn news(&self) -> Option<RuleNews> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.files.iter().all(|(path, old)| stamp(path) == *old) {
            return None;
        }
        for (path, old) in &mut seen.files {
            *old = stamp(path);
        }
        let mut news = RuleNews::default();
        let loaded = match self.load() {
            Ok(loaded) => loaded,
            Err(why) => {
                news.notice = printable(&self.language.fill(Word::RulesBroken, &[&why]));
                return Some(news);
            }
        };
        let mut told = Vec::new();
        for rule in loaded.rules() {
            let key = (rule.list, rule.text.clone());
            if rule.list == RuleList::Allow || seen.rules.contains(&key) {
                continue;
            }
            seen.rules.push(key);
            let place = rule.place.to_string();
            match Rule::parse(&rule.text, &place) {
                Ok(parsed) => {
                    told.push(format!("{} {} ({place})", rule.list.key(), rule.text));
                    match rule.list {
                        RuleList::Deny => news.deny.push(parsed),
                        RuleList::Ask => news.ask.push(parsed),
                        RuleList::Allow => {}
                    }
                }
                Err(error) => told.push(error.say(self.language)),
            }
        }
        if told.is_empty() {
            return None;
        }
        news.notice = printable(&self.language.fill(Word::RulesNew, &[&told.join("; ")]));
        Some(news)
    }
}
