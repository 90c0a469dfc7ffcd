//! Questions of ssh: passwords, passphrases, whether the key of a host is right. ssh starts this program for each; that one asks
//! the process which started ssh, and that one the person. Answers are kept in memory, for a link that has to be made again;
//! they are written nowhere.

use super::desk::desk;
use crate::boot::Boot;
use ostler_host::socket::{self, Connection, Listener};
use ostler_wire::{Language, Secret};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
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
    if OPEN_QUESTIONS.get().is_none() && desk().is_empty() {
        return None;
    }
    OPEN_QUESTIONS
        .get_or_init(|| Questions::open(boot))
        .as_ref()
}

/// Answers the questions of ssh as long as the process lives.
pub struct Questions {
    place: PathBuf,
}

struct State {
    language: Language,
    known: Mutex<HashMap<String, Known>>,
}

struct Known {
    answer: Secret,
    /// The ssh that has it already.
    given_to: String,
}

impl Questions {
    /// None where nothing can listen.
    fn open(boot: &Boot) -> Option<Self> {
        let folder = boot.places.home.join(FOLDER);
        let name = format!("{}.sock", std::process::id());
        let listener = socket::listen(&folder, &name).ok()?;
        let state = Arc::new(State {
            language: boot.language,
            known: Mutex::default(),
        });
        tokio::spawn(serve(listener, state));
        Some(Self {
            place: folder.join(name),
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
        // One at a time, as one would answer them.
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
        let answer = match question.contains(OPEN) {
            true => desk().word(question, self.language).await,
            false => desk().secret(question, self.language).await,
        };
        let answer = Secret::new(answer?);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_given_once_to_each_ssh() {
        let state = State {
            language: Language::English,
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
