//! Setup as questions that any front end can put: the browser of `ostler serve` gets them one after the other, as it gets
//! the question of trust. Between two of them a provider may be tried, so the next one is waited for.

use super::desk::NAMES;
use super::with_client;
use crate::boot::Boot;
use crate::errors::Told as _;
use ostler_wire::{Ask, AskAnswer, HubError, Questions, TextUse, Word};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

/// One setup at a time, of the person whose configuration it writes.
pub struct SetupQuestions {
    boot: Arc<Boot>,
    running: Mutex<Option<Running>>,
}

struct Running {
    standing: Arc<watch::Sender<Standing>>,
    answers: mpsc::Sender<String>,
}

#[derive(Clone, Debug)]
enum Standing {
    /// It finds out what to ask next.
    Works,
    Asks(Arc<Ask>),
    /// It is over, with why where it failed.
    Over(Option<String>),
}

/// The end that setup holds.
pub struct Line {
    standing: Arc<watch::Sender<Standing>>,
    answers: mpsc::Receiver<String>,
    /// What is to be shown with the next question.
    remarks: Vec<String>,
}

impl Line {
    /// The answer to an ask; none where the person left it.
    pub async fn put(&mut self, mut ask: Ask) -> Option<String> {
        self.remarks.extend(ask.preview.take());
        let remarks = std::mem::take(&mut self.remarks).join("\n");
        ask.preview = Some(remarks).filter(|text| !text.is_empty());
        self.standing.send_replace(Standing::Asks(Arc::new(ask)));
        let answer = self.answers.recv().await?;
        Some(answer).filter(|answer| !answer.is_empty())
    }

    pub fn tell(&mut self, text: &str) {
        self.remarks.push(text.trim_end().to_owned());
    }
}

impl SetupQuestions {
    pub fn new(boot: Arc<Boot>) -> Self {
        Self {
            boot,
            running: Mutex::new(None),
        }
    }

    /// Whether an ask of this name is one of setup.
    pub fn is_one(ask: &str) -> bool {
        ask.starts_with(NAMES)
    }

    /// The question that stands, or the next one. None at the end; why it failed is said once.
    pub async fn next(&self) -> Result<Option<Arc<Ask>>, String> {
        let mut standing = self.start().subscribe();
        let now = standing.wait_for(|now| !matches!(now, Standing::Works));
        let now = now.await.map(|now| now.clone());
        match now {
            Ok(Standing::Asks(ask)) => Ok(Some(ask)),
            Ok(Standing::Over(why)) => {
                *self.lock() = None;
                why.map_or(Ok(None), Err)
            }
            Ok(Standing::Works) | Err(_) => Ok(None),
        }
    }

    /// Runs it, if it does not run yet.
    fn start(&self) -> Arc<watch::Sender<Standing>> {
        let mut running = self.lock();
        if let Some(running) = &*running {
            return running.standing.clone();
        }
        let standing = Arc::new(watch::Sender::new(Standing::Works));
        let (sender, answers) = mpsc::channel(1);
        let line = Line {
            standing: standing.clone(),
            answers,
            remarks: Vec::new(),
        };
        *running = Some(Running {
            standing: standing.clone(),
            answers: sender,
        });
        let (boot, over, runtime) = (self.boot.clone(), standing.clone(), Handle::current());
        // A thread of its own: a pool would keep the program from ending while it waits for an answer.
        std::thread::spawn(move || {
            let ended = runtime.block_on(with_client(&boot, line));
            let why = ended.err().map(|error| boot.language.told(&error));
            over.send_replace(Standing::Over(why));
        });
        standing
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Questions for SetupQuestions {
    fn questions(&self) -> Vec<Arc<Ask>> {
        let standing = self
            .lock()
            .as_ref()
            .map(|one| one.standing.borrow().clone());
        match standing {
            Some(Standing::Asks(ask)) => vec![ask],
            Some(Standing::Works | Standing::Over(_)) | None => Vec::new(),
        }
    }

    fn answer(&self, ask: &str, answer: &AskAnswer) -> Result<(), HubError> {
        let closed = || HubError(self.boot.language.say(Word::AskClosed).into());
        let open = self.questions().into_iter().find(|open| open.ask == ask);
        let open = open.ok_or_else(closed)?;
        let is_offered = open.options.iter().any(|choice| choice.id == answer.choice);
        let choice = match is_offered || open.text_use() == TextUse::Answer {
            true => answer.choice.trim(),
            false => "",
        };
        let running = self.lock();
        let running = running.as_ref().ok_or_else(closed)?;
        running.standing.send_replace(Standing::Works);
        let sent = running.answers.try_send(choice.to_owned());
        sent.map_err(|_| closed())
    }
}
