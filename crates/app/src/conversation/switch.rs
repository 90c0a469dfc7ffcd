//! `/host`: connects to the place that the person names, and makes the settings of a session there.

use super::hub::{Attendance, Guest, settings_of};
use crate::boot::Boot;
use crate::errors::Told as _;
use crate::flags::PlaceFlags;
use crate::place::{self, Desk};
use ostler_engine::{Arrival, Person, PlaceSwitch};
use ostler_wire::{BoxFuture, HERE, Say as _, Word};
use std::path::PathBuf;
use std::sync::Arc;

/// Another name of this machine.
const HERE_TOO: &str = "here";

pub struct Switch {
    /// The process as it was started.
    pub boot: Arc<Boot>,
    pub attendance: Attendance,
}

impl Switch {
    async fn arrive(&self, words: &str) -> anyhow::Result<Arrival> {
        let language = self.boot.language;
        let Some((flags, root)) = meaning(words, &self.boot) else {
            anyhow::bail!(language.say(Word::HostUsage).to_owned());
        };
        let boot = place::visit(&self.boot, flags, root).await?;
        let known = &self.boot.loaded.notices;
        let notices = boot.loaded.notices.iter();
        let notices = notices.filter(|notice| !known.contains(notice));
        let notices: Vec<String> = notices.map(|notice| notice.say(language)).collect();
        let (settings, more) = settings_of(&boot, self.attendance, Guest::default())?;
        Ok(Arrival {
            settings,
            notes: notices.into_iter().chain(more).collect(),
        })
    }
}

impl PlaceSwitch for Switch {
    fn go<'a>(
        &'a self,
        words: &'a str,
        person: Option<Arc<dyn Person>>,
    ) -> BoxFuture<'a, Result<Arrival, String>> {
        Box::pin(async move {
            if let Some(person) = person {
                self.meet(person);
            }
            let arrival = self.arrive(words).await;
            arrival.map_err(|error| self.boot.language.told(&error))
        })
    }

    fn meet(&self, person: Arc<dyn Person>) {
        place::seat(Desk::Session(person));
    }
}

/// What the words of `/host` name: `ssh me@box /srv/app`, `me@box`, a host of the configuration, `here`.
fn meaning(words: &str, boot: &Boot) -> Option<(PlaceFlags, Option<PathBuf>)> {
    let (first, rest) = split(words);
    let (name, folder) = split(rest);
    let mut flags = PlaceFlags::default();
    let slot = match first {
        "ssh" => Some(&mut flags.ssh),
        "container" => Some(&mut flags.container),
        "pod" => Some(&mut flags.pod),
        "image" => Some(&mut flags.image),
        "host" => Some(&mut flags.host),
        _ => None,
    };
    let folder_of = |words: &str| (!words.is_empty()).then(|| PathBuf::from(words));
    if let Some(slot) = slot {
        *slot = Some(name.to_owned());
        return (!name.is_empty()).then(|| (flags, folder_of(folder)));
    }
    let is_configured = boot.loaded.config.host.contains_key(first);
    if is_configured {
        flags.host = Some(first.to_owned());
    } else if first.contains('@') {
        flags.ssh = Some(first.to_owned());
    } else if first != HERE && first != HERE_TOO {
        return None;
    }
    Some((flags, folder_of(rest)))
}

/// The first word, and what follows it.
fn split(words: &str) -> (&str, &str) {
    let words = words.trim();
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    (first, rest.trim())
}
