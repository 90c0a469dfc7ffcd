//! What the person decides before a session opens: whether they trust what the project's files bring. Any front end can put
//! it, as an ask; a session is then opened with the configuration that follows from the answers.

use crate::boot::Boot;
use crate::cmd::trust::{self, Choice, TrustQuestion};
use crate::errors::Told as _;
use crate::output;
use ostler_wire::{Ask, AskAnswer, HubError, Questions, Word};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct StartQuestions {
    state: Mutex<State>,
}

struct State {
    boot: Arc<Boot>,
    /// The question that the person put off, or whose answer could not be taken.
    put_off: Option<String>,
}

impl StartQuestions {
    pub fn new(boot: Arc<Boot>) -> Self {
        Self {
            state: Mutex::new(State {
                boot,
                put_off: None,
            }),
        }
    }

    /// The configuration as it is after the answers.
    pub fn boot(&self) -> Arc<Boot> {
        self.lock().boot.clone()
    }

    /// Puts them on the terminal, line by line. Who cannot be asked gets the notice that every start gives.
    pub fn ask_in_lines(&self) -> anyhow::Result<()> {
        loop {
            let question = self.lock().question();
            let Some(question) = question else {
                return Ok(());
            };
            let Some(choice) = question.ask_in_lines(self.boot().language)? else {
                return Ok(());
            };
            let answer = AskAnswer::from(choice.id());
            if let Err(HubError(why)) = self.answer(&question.ask.ask, &answer) {
                output::say(&why);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn question(&self) -> Option<TrustQuestion> {
        // Where the sessions are elsewhere, nothing of this folder is used.
        if self.boot.global.attach.url.is_some() {
            return None;
        }
        let question = trust::question(&self.boot)?;
        (self.put_off.as_ref() != Some(&question.ask.ask)).then_some(question)
    }
}

impl Questions for StartQuestions {
    fn questions(&self) -> Vec<Arc<Ask>> {
        let question = self.lock().question();
        question.map(|q| Arc::new(q.ask)).into_iter().collect()
    }

    fn answer(&self, ask: &str, answer: &AskAnswer) -> Result<(), HubError> {
        let mut state = self.lock();
        let language = state.boot.language;
        let open = state.question().filter(|question| question.ask.ask == ask);
        let Some(question) = open else {
            return Err(HubError(language.say(Word::AskClosed).into()));
        };
        // Whatever comes of it, it is not asked about the same content once more.
        state.put_off = Some(question.ask.ask.clone());
        let decided = match question.choice(&answer.choice) {
            Some(Choice::Trust) => trust::decide_now(&state.boot, Choice::Trust),
            Some(Choice::Never) => trust::decide_now(&state.boot, Choice::Never),
            Some(Choice::NotNow) | None => return Ok(()),
        };
        let now = decided.and_then(|()| state.boot.anew());
        match now {
            Ok(boot) => {
                state.boot = Arc::new(boot);
                Ok(())
            }
            Err(error) => Err(HubError(language.told(&error))),
        }
    }
}
