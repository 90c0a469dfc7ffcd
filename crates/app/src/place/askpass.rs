//! Questions of ssh: passwords, passphrases, whether the key of a host is right. ssh starts this program for each; that one asks
//! the process which started ssh, and that one the person. Answers are kept in memory, for a link that has to be made again;
//! they are written nowhere.

use crate::boot::Boot;
use crate::cmd::choose::{self, Person};
use crate::output;
use ostler_host::keyboard::Hidden;
use ostler_host::socket::{self, Connection, Listener};
use ostler_wire::{Language, Secret, Word};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Tells the program that ssh starts where to ask: a folder, a slash, the name of a socket.
const WHERE: &str = "OSTLER_SSH_QUESTIONS";
/// Below Ostler's home.
const FOLDER: &str = "questions";
/// Bytes of a question or an answer.
const MAX_TEXT: u64 = 8 << 10;
/// A question whose answer is a word that may be seen has this.
const OPEN: &str = "(yes/no";
/// What goes before an answer.
const ANSWERED: u8 = b'+';

/// To be called early in `main`.
pub fn run_if_asked() -> Option<ExitCode> {
    let place = PathBuf::from(std::env::var_os(WHERE)?);
    let question = std::env::args().nth(1).unwrap_or_default();
    Some(match put(&place, &question) {
        Ok(Some(answer)) => {
            let said = writeln!(io::stdout(), "{answer}");
            match said {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        Ok(None) | Err(_) => ExitCode::FAILURE,
    })
}

fn put(place: &Path, question: &str) -> io::Result<Option<String>> {
    let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut asked = socket::connect(folder, &name.to_string_lossy()).await?;
        // Which ssh it is: one that asks the same again was given the wrong answer.
        let asker = parent();
        asked
            .write_all(format!("{asker}\n{question}").as_bytes())
            .await?;
        asked.shutdown().await?;
        let mut answer = Vec::new();
        asked.take(MAX_TEXT).read_to_end(&mut answer).await?;
        let answer = answer
            .split_first()
            .filter(|(first, _)| **first == ANSWERED);
        Ok(answer.map(|(_, answer)| String::from_utf8_lossy(answer).into_owned()))
    })
}

#[cfg(unix)]
fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

#[cfg(not(unix))]
fn parent() -> u32 {
    0
}

/// Those of this process, once somebody wanted them.
static OPEN_QUESTIONS: OnceLock<Option<Questions>> = OnceLock::new();

/// Who answers the questions of ssh in this process; none where no person is there.
pub fn questions(boot: &Boot) -> Option<&'static Questions> {
    OPEN_QUESTIONS
        .get_or_init(|| Questions::open(boot))
        .as_ref()
}

/// From now on the terminal belongs to a session: only what was answered before is known.
pub fn only_remember() {
    if let Some(Some(questions)) = OPEN_QUESTIONS.get() {
        questions.state.may_ask.store(false, Ordering::Relaxed);
    }
}

/// Answers the questions of ssh as long as the process lives.
pub struct Questions {
    place: PathBuf,
    state: Arc<State>,
}

struct State {
    language: Language,
    /// The terminal is free: no session is shown on it.
    may_ask: AtomicBool,
    known: Mutex<HashMap<String, Known>>,
}

struct Known {
    answer: Secret,
    /// The ssh that has it already.
    given_to: String,
}

impl Questions {
    /// None where no person is there, or nothing can listen.
    fn open(boot: &Boot) -> Option<Self> {
        if Person::look() == Person::Away {
            return None;
        }
        let folder = boot.places.home.join(FOLDER);
        let name = format!("{}.sock", std::process::id());
        let listener = socket::listen(&folder, &name).ok()?;
        let state = Arc::new(State {
            language: boot.language,
            may_ask: AtomicBool::new(true),
            known: Mutex::default(),
        });
        tokio::spawn(serve(listener, state.clone()));
        Some(Self {
            place: folder.join(name),
            state,
        })
    }

    /// What ssh gets in its environment.
    pub fn variables(&self, boot: &Boot) -> Option<Vec<(OsString, OsString)>> {
        let has_screen = boot.env.contains_key("DISPLAY");
        let program = std::env::current_exe().ok()?;
        let mut env = vec![
            ("SSH_ASKPASS".into(), program.into()),
            ("SSH_ASKPASS_REQUIRE".into(), "force".into()),
            (WHERE.into(), self.place.clone().into()),
        ];
        if !has_screen {
            // Older ones ask only where they believe in a screen.
            env.push(("DISPLAY".into(), ":0".into()));
        }
        Some(env)
    }
}

async fn serve(listener: Listener, state: Arc<State>) {
    while let Ok(connection) = listener.accept_started().await {
        // One at a time: there is one terminal.
        let _gone = answer(connection, &state).await;
    }
}

async fn answer(mut connection: Connection, state: &Arc<State>) -> io::Result<()> {
    let mut text = Vec::new();
    (&mut connection)
        .take(MAX_TEXT)
        .read_to_end(&mut text)
        .await?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (asker, question) = text.split_once('\n').unwrap_or(("", &text));
    if let Some(answer) = state.answer(asker, question).await {
        connection.write_all(&[ANSWERED]).await?;
        connection.write_all(answer.reveal().as_bytes()).await?;
    }
    connection.shutdown().await
}

impl State {
    async fn answer(self: &Arc<Self>, asker: &str, question: &str) -> Option<Secret> {
        if let Some(known) = self.remembered(asker, question) {
            return Some(known);
        }
        if !self.may_ask.load(Ordering::Relaxed) {
            return None;
        }
        let (language, asked) = (self.language, question.to_owned());
        let answer = tokio::task::spawn_blocking(move || ask(&asked, language));
        let answer = Secret::new(answer.await.ok()??);
        let known = Known {
            answer: answer.clone(),
            given_to: asker.to_owned(),
        };
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(question.to_owned(), known);
        Some(answer)
    }

    /// What was answered before, once for each ssh.
    fn remembered(&self, asker: &str, question: &str) -> Option<Secret> {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get_mut(question)?;
        if known.given_to == asker {
            all.remove(question);
            return None;
        }
        known.given_to = asker.to_owned();
        Some(known.answer.clone())
    }
}

/// Puts it on the terminal. Blocks.
fn ask(question: &str, language: Language) -> Option<String> {
    if question.contains(OPEN) {
        let answer = choose::ask_fresh(&format!("{question} "), language);
        return answer.ok().flatten();
    }
    let stdin = io::stdin();
    let hidden = Hidden::start(&stdin)?;
    let mut err = io::stderr();
    let shown = output::visible(question.trim_end());
    write!(err, "{} {shown} ", language.say(Word::PlaceSshAsks)).ok()?;
    err.flush().ok()?;
    let mut line = String::new();
    let read = stdin.lock().take(MAX_TEXT).read_line(&mut line);
    drop(hidden);
    writeln!(err).ok()?;
    match read {
        Ok(1..) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
        Ok(0) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_given_once_to_each_ssh() {
        let state = State {
            language: Language::English,
            may_ask: AtomicBool::new(false),
            known: Mutex::default(),
        };
        let known = Known {
            answer: Secret::new("word"),
            given_to: "1".into(),
        };
        state
            .known
            .lock()
            .unwrap()
            .insert("Password:".into(), known);
        let answer = |asker: &str, question: &str| {
            let known = state.remembered(asker, question);
            known.map(|known| known.reveal().to_owned())
        };
        assert_eq!(answer("2", "Other:"), None);
        assert_eq!(answer("2", "Password:").as_deref(), Some("word"));
        assert_eq!(answer("3", "Password:").as_deref(), Some("word"));
        // It was wrong, and nobody is to be locked out by it.
        assert_eq!(answer("3", "Password:"), None);
        assert_eq!(answer("4", "Password:"), None);
    }
}
