//! Slash commands that need more than a session: what the configuration says, what the machine lacks, logins. The same
//! things as `ostler config`, `doctor`, `login` and `logout`, as views.

use crate::boot::Boot;
use crate::cmd::{config, doctor, login};
use crate::errors::Told as _;
use crate::flags;
use ostler_engine::{Extra, Tell};
use ostler_wire::{CommandGroup, CommandInfo, Language, View, Word};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// Lines that are pasted for a login and not looked at yet.
const PASTED: usize = 4;

/// `place` says where sessions work.
pub fn all(boot: &Arc<Boot>, place: String) -> Vec<Arc<dyn Extra>> {
    vec![
        Arc::new(Settings(boot.clone())),
        Arc::new(Doctor(boot.clone())),
        Arc::new(HostInfo(place)),
        Arc::new(LogIn {
            boot: boot.clone(),
            begun: Mutex::default(),
        }),
        Arc::new(LogOut(boot.clone())),
    ]
}

struct Settings(Arc<Boot>);

impl Extra for Settings {
    fn info(&self, language: Language) -> CommandInfo {
        CommandInfo {
            name: "config".into(),
            help: language.say(Word::HelpConfig).into(),
            arguments: "[key]".into(),
            group: CommandGroup::Inspect,
        }
    }

    fn run(&self, words: &str, language: Language, _: &Tell) -> View {
        config::settings_view(&self.0, words, language)
    }
}

struct Doctor(Arc<Boot>);

impl Extra for Doctor {
    fn info(&self, language: Language) -> CommandInfo {
        CommandInfo {
            name: "doctor".into(),
            help: language.say(Word::HelpDoctor).into(),
            arguments: String::new(),
            group: CommandGroup::Inspect,
        }
    }

    fn run(&self, _: &str, language: Language, _: &Tell) -> View {
        doctor::view(&doctor::findings(&self.0, None), language)
    }
}

/// Where the session works. With words the session itself answers, where it can go on at another place.
struct HostInfo(String);

impl Extra for HostInfo {
    fn info(&self, language: Language) -> CommandInfo {
        CommandInfo {
            name: "host".into(),
            help: language.say(Word::HelpHost).into(),
            arguments: "[ssh|container|pod|image|host NAME [folder]|here]".into(),
            group: CommandGroup::Session,
        }
    }

    fn run(&self, words: &str, language: Language, _: &Tell) -> View {
        match words.trim() {
            "" => View::Text(self.0.clone()),
            other => View::Error(language.fill(Word::HostFixed, &[other])),
        }
    }
}

struct LogIn {
    boot: Arc<Boot>,
    begun: Mutex<Option<Begun>>,
}

/// A login that waits for the person to come back from the browser.
struct Begun {
    work: AbortHandle,
    pasted: mpsc::Sender<String>,
}

impl Extra for LogIn {
    fn info(&self, language: Language) -> CommandInfo {
        CommandInfo {
            name: "login".into(),
            help: language.say(Word::HelpLogin).into(),
            arguments: "[provider]".into(),
            group: CommandGroup::Setup,
        }
    }

    fn run(&self, words: &str, language: Language, tell: &Tell) -> View {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if words.contains("://") {
            let waits = begun.as_ref().filter(|b| !b.work.is_finished());
            return match waits.map(|b| b.pasted.try_send(words.to_owned())) {
                Some(Ok(())) => View::Text(language.say(Word::LoginLooks).into()),
                Some(Err(_)) | None => View::Error(language.say(Word::LoginNone).into()),
            };
        }
        // Who begins anew has given the other one up.
        if let Some(old) = begun.take() {
            old.work.abort();
        }
        // Before anything that comes of it.
        tell.view(View::Text(language.say(Word::LoginBegins).into()));
        let (pasted, receiver) = mpsc::channel(PASTED);
        let (boot, tell, later) = (self.boot.clone(), tell.clone(), tell.clone());
        let args = flags::Login {
            provider: Some(words.to_owned()).filter(|w| !w.is_empty()),
            ..flags::Login::default()
        };
        let work = Handle::current().spawn(async move {
            let person = login::Person {
                language,
                say: Box::new(move |text| tell.view(View::Text(text.to_owned()))),
                pasted: Some(receiver),
                hint: Word::LoginSend,
            };
            later.view(match login::log_in(&boot, &args, person).await {
                Ok(text) => View::Text(text),
                Err(error) => View::Error(language.told(&error)),
            });
        });
        let work = work.abort_handle();
        *begun = Some(Begun { work, pasted });
        View::Group(Vec::new())
    }
}

struct LogOut(Arc<Boot>);

impl Extra for LogOut {
    fn info(&self, language: Language) -> CommandInfo {
        CommandInfo {
            name: "logout".into(),
            help: language.say(Word::HelpLogout).into(),
            arguments: "[provider]".into(),
            group: CommandGroup::Setup,
        }
    }

    fn run(&self, words: &str, language: Language, tell: &Tell) -> View {
        let provider = Some(words.to_owned()).filter(|w| !w.is_empty());
        let say = |text: &str| tell.view(View::Error(text.to_owned()));
        match Handle::current().block_on(login::log_out(&self.0, provider, language, &say)) {
            Ok(text) => View::Text(text),
            Err(error) => View::Error(language.told(&error)),
        }
    }
}
