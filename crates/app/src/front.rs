//! The conversation on a terminal: puts the terminal UI, the session and this machine together.

use crate::around::{Around, Places};
use crate::boot::Boot;
use crate::conversation::hub::{Attendance, ConversationHub};
use crate::conversation::questions::StartQuestions;
use crate::exit::{OK, TERMINATED};
use crate::looks;
use crate::prompts;
use anyhow::{Context as _, anyhow};
use ostler_host::signals::{Signals, Stop};
use ostler_tui::editor;
use ostler_tui::questions::{Asked, ask};
use ostler_tui::run::{Start, Welcome, run as show};
use ostler_tui::state::{Keys, Settings};
use ostler_wire::{Hub, Language, Open, Questions as _, Say, Word};
use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

pub async fn run(boot: Arc<Boot>, which: Open, first: Option<String>) -> anyhow::Result<u8> {
    let language = boot.language;
    let (boot, asked) = ask_first(boot).await?;
    if asked.is_over {
        return Ok(TERMINATED);
    }
    // The greeting says what is odd about the configuration.
    let hub = ConversationHub::start(boot.clone(), Attendance::Answers, |_| Ok(()))?;
    let host = boot.host();
    let mut start = start(&boot, language)?;
    start.greeting.extend(asked.errors);
    start.prompt = first;
    let client = hub.open(which).await?;
    let around = Around::new(places(&boot));
    let found = around.draft(&client.session_id);
    start.draft = found.text.or(asked.draft);
    if let Some(id) = found.elsewhere {
        let short = id.get(..8).unwrap_or(&id);
        start
            .greeting
            .push(language.fill(Word::DraftWaits, &[short]));
    }
    let mut signals = Signals::new()?;
    // Whatever becomes of us, the terminal is put right.
    let _ = host
        .guard_terminal(ostler_tui::terminal::RESET.as_bytes())
        .await;
    let panics = quiet_panics();
    let stopped = Cell::new(false);
    let stop = async {
        match signals.next().await {
            Stop::Terminate => stopped.set(true),
            // In raw mode Ctrl-C is a key; a signal comes from somewhere else.
            Stop::Interrupt => panic_if_asked(&boot),
        }
    };
    let out = io::BufWriter::with_capacity(1 << 16, io::stdout());
    let ended = Box::pin(show(&hub, client, around, start, out, stop)).await;
    let _ = host.release_terminal().await;
    hub.close().await;
    for told in panics.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let _ = writeln!(io::stderr(), "{told}");
    }
    // A terminal that was closed says so by an error before the signal comes.
    if stopped.get() || (ended.is_err() && !io::stdin().is_terminal()) {
        return Ok(TERMINATED);
    }
    let ended = ended.context(language.say(Word::NoTerminal))?;
    if boot.store().find(&ended.session).is_ok() {
        let id = ended.session.get(..8).unwrap_or(&ended.session);
        let _ = writeln!(io::stderr(), "ostler resume {id}");
    }
    Ok(OK)
}

/// What the person decides before a session opens, in the look of the terminal UI.
async fn ask_first(boot: Arc<Boot>) -> anyhow::Result<(Arc<Boot>, Asked)> {
    let questions = StartQuestions::new(boot.clone());
    if questions.questions().is_empty() {
        return Ok((boot, Asked::default()));
    }
    let (host, language) = (boot.host(), boot.language);
    let mut signals = Signals::new()?;
    let stop = async {
        signals.next().await;
    };
    // Whatever becomes of us, the terminal is put right.
    let reset = ostler_tui::terminal::RESET.as_bytes();
    let _ = host.guard_terminal(reset).await;
    let around = Around::new(places(&boot));
    let out = io::BufWriter::with_capacity(1 << 16, io::stdout());
    let asked = ask(&questions, &around, &start(&boot, language)?, out, stop).await;
    let _ = host.release_terminal().await;
    let asked = asked.context(language.say(Word::NoTerminal))?;
    Ok((questions.boot(), asked))
}

fn places(boot: &Boot) -> Places {
    Places {
        root: boot.places.root.clone(),
        user_home: boot.places.user_home.clone(),
        kept: prompts::folder(boot),
        programs: crate::grants::programs(boot),
        editor: ["VISUAL", "EDITOR"]
            .into_iter()
            .find_map(|name| boot.env.get(name).filter(|v| !v.trim().is_empty()).cloned()),
        sessions: boot.sessions_dir(),
        forgets: boot.global.no_save,
        border: Arc::new(crate::policy::border(boot)),
    }
}

fn start(boot: &Boot, language: Language) -> anyhow::Result<Start> {
    let ui = &boot.loaded.config.ui;
    let places = places(boot);
    let mut keys = Keys::default();
    for (action, names) in &ui.keys {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        keys.bind(action, &names)
            .map_err(|e| anyhow!("`ui.keys`: {e}"))?;
    }
    let notices = boot.loaded.notices.iter();
    let mut greeting: Vec<String> = notices.map(|notice| notice.say(language)).collect();
    greeting.extend(boot.dotenv.warnings.iter().map(|text| text.say(language)));
    let say = |word: Word| language.say(word).to_owned();
    Ok(Start {
        settings: Settings {
            look: looks::look(boot)?,
            language,
            show_reasoning: boot.loaded.config.display.show_reasoning,
            notify: ui.notify,
            status_line: ui.status_line.clone(),
            keys: keys.global,
            title: title(boot),
        },
        editor: editor::Options {
            history: places.history(),
            keys: keys.composer,
            vim: ui.vim,
            labels: editor::Labels {
                paste: say(Word::PasteChip),
                paste_line: say(Word::PasteLineChip),
                image: say(Word::ImageChip),
                search: language.fill(Word::HistorySearch, &[""]),
            },
        },
        draft: None,
        welcome: Some(Welcome {
            name: format!("Ostler {}", crate::VERSION),
            effort: boot
                .loaded
                .config
                .agent
                .effort
                .map(|effort| crate::wiring::effort(effort).name().to_owned()),
            folder: shown_root(boot),
            host: boot.machines.name(),
            branch: match elsewhere(boot) {
                Some(_) => None,
                None => crate::around::branch(&boot.places.root),
            },
        }),
        greeting,
        prompt: None,
        narrowed: looks::narrowed(boot),
        links: looks::links(boot),
    })
}

/// The server whose session it is, without how it is spoken to.
fn elsewhere(boot: &Boot) -> Option<&str> {
    let remote = boot.global.attach.remote.as_ref()?;
    let (_, name) = remote.origin.split_once("://")?;
    Some(name)
}

/// The root, with `~` for the home of the person. Of a session elsewhere no folder here says anything.
fn shown_root(boot: &Boot) -> String {
    if let Some(server) = elsewhere(boot) {
        return server.to_owned();
    }
    if let Some(place) = boot.machines.place.get() {
        return format!("({}) {}", place.name, place.root.display());
    }
    let root = &boot.places.root;
    let home = boot.places.user_home.as_ref();
    match home.and_then(|home| root.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".into(),
        Some(rest) => format!("~/{}", rest.display()),
        None => root.display().to_string(),
    }
}

fn title(boot: &Boot) -> String {
    if let Some(server) = elsewhere(boot) {
        return format!("ostler {server}");
    }
    let root = match boot.machines.place.get() {
        Some(place) => &place.root,
        None => &boot.places.root,
    };
    let folder = root.file_name();
    let folder = folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let place = boot.machines.name().map(|name| format!(" ({name})"));
    let place = place.unwrap_or_default();
    format!("ostler {folder}{place}").trim_end().to_owned()
}

/// Panics of other threads that are told at the end.
const MAX_PANICS: usize = 8;

/// A panic on our own thread ends the conversation: the terminal is put right before anything is said. One on another
/// thread is an error of whoever waits for it, and is not written across the screen; it is told at the end.
fn quiet_panics() -> Arc<Mutex<Vec<String>>> {
    let usual = std::panic::take_hook();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let told = kept.clone();
    let own = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() != own {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() < MAX_PANICS {
                told.push(info.to_string());
            }
            return;
        }
        let mut out = io::stdout();
        let _ = out.write_all(ostler_tui::terminal::RESET.as_bytes());
        let _ = out.flush();
        let _ = ostler_tui::terminal::cook();
        usual(info);
    }));
    kept
}

/// Only a debug build can be asked, by the test that looks at the terminal after a panic.
fn panic_if_asked(boot: &Boot) {
    let asked = cfg!(debug_assertions) && boot.env.contains_key("OSTLER_TEST_PANIC");
    assert!(!asked, "OSTLER_TEST_PANIC");
}
