//! What front ends send, taken in while work goes on: prompts wait, answers find their asks, an interrupt stops the turn.

use crate::agents::children::{Children, Ended, Report, What, post};
use ostler_context::clients::feed::Feed;
use ostler_wire::{Ask, AskAnswer, AskKind, Delta, Doing, Op, ReplyTo, SentOp, View, Word, clip};
use server_question::{ServerQuestion, ServerQuestions};
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

mod asks;
mod completion;
mod prompt;
pub mod server_question;
#[cfg(test)]
mod tests;

use asks::{escape, offered, random_name, withdraw_ask};
use completion::AtOnce;
use prompt::WaitingPrompts;
pub use prompt::{CommandLine, Prompt, Purpose};

/// Prompts that may wait for their turn.
const MAX_WAITING: usize = 256;
/// Characters of an answer that other clients are shown.
const MAX_ANSWER_SHOWN: usize = 200;
/// How long work that was told to stop may take before it is dropped.
const GRACE: Duration = Duration::from_millis(150);

/// What came first.
pub enum Attended<T> {
    Done(T),
    /// Something that need not wait for the work.
    News,
}

/// A question that was put.
pub struct Asked {
    pub id: String,
    turn: CancellationToken,
    receiver: oneshot::Receiver<AskAnswer>,
}

impl Asked {
    /// What the person says. A turn that is stopped waits for no answer.
    pub async fn answered(&mut self) -> Result<AskAnswer, Stopped> {
        tokio::select! {
            answer = &mut self.receiver => answer.map_err(|_| Stopped),
            () = self.turn.cancelled() => Err(Stopped),
        }
    }
}

/// The turn was stopped while the work went on; the work was dropped.
#[derive(Debug)]
pub struct Stopped;

/// Answers a command that waits for nothing; `None` where the command waits for its time.
pub type AnswerAtOnce = fn(&mut Inbox, &str) -> Option<View>;

/// Is called with each question that is shown to the person.
pub type Notify = Box<dyn Fn(&Ask) + Send + Sync>;

pub struct Inbox {
    ops: mpsc::Receiver<SentOp>,
    /// How many clients are attached.
    clients: watch::Receiver<usize>,
    prompts: WaitingPrompts,
    commands: VecDeque<Waiting>,
    waiting: HashMap<String, oneshot::Sender<AskAnswer>>,
    feed: Feed,
    pub children: Children,
    turn: CancellationToken,
    /// When work of a turn that was told to stop is dropped.
    overdue: Option<Instant>,
    asking: Asking,
    at_once: AtOnce,
    end: End,
}

/// A command that waits for its time.
struct Waiting {
    command: CommandLine,
    /// The person knows that it waits.
    told: bool,
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// Nothing more comes; what runs in the background ends by itself.
    Finishing,
    /// Nobody is there any more.
    Closed,
}

/// What is asked, and by whom beside us.
struct Asking {
    /// The number of the next ask.
    next: u64,
    /// Ends the ids of this inbox.
    process: String,
    /// For those who carry out calls elsewhere.
    sender: ServerQuestions,
    server_questions: mpsc::Receiver<ServerQuestion>,
    /// Called with each question that is shown.
    notify: Option<Notify>,
    /// Where what is asked about would happen, if that is another place.
    place: Option<String>,
}

/// The next thing to do between turns.
pub enum Next {
    Prompt(Prompt),
    Command(CommandLine),
    /// A child is through.
    Ended(Ended),
    Over,
}

impl Inbox {
    pub fn new(ops: mpsc::Receiver<SentOp>, feed: Feed, children: Children) -> Self {
        let (sender, server_questions) = mpsc::channel(server_question::MAX_WAITING);
        Self {
            ops,
            clients: feed.register().count(),
            prompts: WaitingPrompts::default(),
            commands: VecDeque::new(),
            waiting: HashMap::new(),
            feed,
            children,
            turn: CancellationToken::new(),
            overdue: None,
            asking: Asking {
                next: 1,
                process: random_name(),
                sender: ServerQuestions(sender),
                server_questions,
                notify: None,
                place: None,
            },
            at_once: AtOnce {
                command: |_, _| None,
                completions: None,
            },
            end: End::Open,
        }
    }

    pub async fn next(&mut self) -> Next {
        loop {
            if let Some(ended) = self.children.ended.pop_front() {
                return Next::Ended(ended);
            }
            if let Some(waiting) = self.commands.pop_front() {
                return Next::Command(waiting.command);
            }
            let prompt = self
                .prompts
                .steer
                .pop_front()
                .or_else(|| self.prompts.queue.pop_front());
            if let Some(prompt) = prompt {
                self.sync_queue();
                return Next::Prompt(prompt);
            }
            let over = match self.end {
                End::Open => false,
                End::Finishing => self.children.is_empty(),
                End::Closed => true,
            };
            if over {
                return Next::Over;
            }
            tokio::select! {
                Some(op) = self.ops.recv() => self.take(op),
                Ok(()) = self.clients.changed() => self.count_clients(),
                report = self.children.next() => self.hear(report),
                question = self.asking.server_questions.recv() => self.pass_on(question),
            }
        }
    }

    /// The last client has left: what it sent before is taken in, and nobody is there to answer.
    fn count_clients(&mut self) {
        if *self.clients.borrow_and_update() > 0 {
            return;
        }
        while let Ok(op) = self.ops.try_recv() {
            self.take(op);
        }
        self.close();
    }

    fn close(&mut self) {
        self.end = End::Closed;
        for (ask, _) in self.waiting.drain() {
            withdraw_ask(&self.feed, &ask);
        }
    }

    /// Tells clients which prompts wait, if that is not what they were told last.
    fn sync_queue(&mut self) {
        let waiting = self.prompts.steer.len() + self.prompts.queue.len();
        if waiting != self.prompts.shown {
            self.prompts.shown = waiting;
            let prompts = self.prompts.list();
            self.feed.delta(Delta::Queue { prompts });
        }
    }

    /// Sets what is called with each question that is shown.
    pub fn notify_with(&mut self, notify: Option<Notify>) {
        self.asking.notify = notify;
    }

    /// Questions about calls name this place from now on.
    pub fn name_place(&mut self, place: Option<String>) {
        self.asking.place = place;
    }

    fn show_ask(&self, ask: Arc<Ask>) {
        let ask = match &self.asking.place {
            Some(place) if ask.kind == AskKind::Permission => Arc::new(Ask {
                title: format!("{} · {place}", ask.title),
                ..Ask::clone(&ask)
            }),
            Some(_) | None => ask,
        };
        if let Some(notify) = &self.asking.notify {
            notify(&ask);
        }
        self.feed.ask(ask);
    }

    /// Where questions are handed in.
    pub fn server_questions(&self) -> ServerQuestions {
        self.asking.sender.clone()
    }

    fn pass_on(&mut self, question: Option<ServerQuestion>) {
        let Some(ServerQuestion { mut ask, reply }) = question.filter(|_| !self.is_closed()) else {
            return;
        };
        ask.ask = self.new_ask();
        let redactor = self.feed.redactor();
        ask.subject = redactor.text(ask.subject);
        ask.preview = ask.preview.map(|text| redactor.text(text));
        self.waiting.insert(ask.ask.clone(), reply);
        self.show_ask(Arc::new(ask));
    }

    /// What a child reports, made known to whoever is attached here.
    fn hear(&mut self, report: Option<Report>) {
        let Some(Report { child, what }) = report else {
            return;
        };
        match what {
            What::Started => self.show_progress(&child, 0),
            What::Doing(doing, tokens) => {
                self.children.is_at(&child, doing);
                self.show_progress(&child, tokens);
            }
            What::Asks(ask) => {
                let id = self.new_ask();
                self.children.is_at(&child, Doing::Asking);
                let from = self.children.called(&child, ask.from.as_deref());
                self.children
                    .relayed
                    .insert(id.clone(), (child, ask.ask.clone()));
                let mut relayed = Ask {
                    ask: id,
                    from: Some(from),
                    // The call is one of the child's.
                    call: None,
                    ..Ask::clone(&ask)
                };
                relayed.silence.escape = escape(&relayed);
                self.show_ask(Arc::new(relayed));
            }
            What::Saved(checkpoint) => self.children.saved(checkpoint),
            What::Refused(text) => self.children.refuse(&child, &text),
            What::Ended(ended) => {
                let feed = &self.feed;
                self.children.relayed.retain(|id, (asker, _)| {
                    let stays = *asker != child;
                    if !stays {
                        withdraw_ask(feed, id);
                    }
                    stays
                });
                self.children.end(ended);
            }
        }
        self.show_tasks();
    }

    fn show_progress(&mut self, child: &str, tokens: u64) {
        if let Some((id, name, text)) = self.children.progress(child, tokens) {
            self.feed.delta(Delta::Progress { id, name, text });
        }
    }

    pub fn show_tasks(&self) {
        self.feed.delta(Delta::Tasks {
            tasks: self.children.list(),
        });
    }

    /// An id that no ask of another process has: after a change of the owner an old answer must not meet a new question.
    fn new_ask(&mut self) -> String {
        let id = format!("a{}-{}", self.asking.next, self.asking.process);
        self.asking.next += 1;
        id
    }

    /// A new turn begins; its token stops everything in it.
    pub fn begin_turn(&mut self) -> CancellationToken {
        // Whoever asked in the turn before and was stopped wants to know no longer.
        let feed = &self.feed;
        self.waiting.retain(|id, reply| {
            if reply.is_closed() {
                withdraw_ask(feed, id);
            }
            !reply.is_closed()
        });
        self.turn = CancellationToken::new();
        self.overdue = None;
        self.turn.clone()
    }

    /// The token of the running turn.
    pub fn turn(&self) -> CancellationToken {
        self.turn.clone()
    }

    /// Prompts that want to be heard by the running turn.
    pub fn steering(&mut self) -> Vec<Prompt> {
        let all: Vec<Prompt> = self.prompts.steer.drain(..).collect();
        self.sync_queue();
        all
    }

    pub fn has_steering(&self) -> bool {
        !self.prompts.steer.is_empty()
    }

    /// Whether nothing waits for its turn, and nobody has left.
    pub fn is_quiet(&mut self) -> bool {
        self.listen();
        let waits = [&self.prompts.steer, &self.prompts.queue]
            .iter()
            .any(|q| !q.is_empty());
        !waits && self.commands.is_empty() && self.children.ended.is_empty() && !self.is_closed()
    }

    /// Takes in what has come so far.
    fn listen(&mut self) {
        while !self.is_closed()
            && let Ok(op) = self.ops.try_recv()
        {
            self.take(op);
        }
        if *self.clients.borrow() == 0 && self.end == End::Open {
            self.close();
        }
        while let Some(report) = self.children.try_next() {
            self.hear(Some(report));
        }
    }

    /// Commands that came in so far and need not wait for the end of the turn.
    pub fn commands(&mut self, wanted: impl Fn(&str) -> bool) -> Vec<CommandLine> {
        self.listen();
        let all = self.commands.drain(..);
        let (now, later): (Vec<_>, Vec<_>) = all.partition(|waiting| wanted(&waiting.command.line));
        self.commands.extend(later);
        now.into_iter().map(|waiting| waiting.command).collect()
    }

    /// Commands that wait, and nobody has said so yet.
    pub fn untold(&mut self) -> Vec<CommandLine> {
        let untold = self.commands.iter_mut().filter(|waiting| !waiting.told);
        untold
            .map(|waiting| {
                waiting.told = true;
                waiting.command.clone()
            })
            .collect()
    }

    /// Whether something has come that `answer_commands` would see to.
    fn has_news(&self) -> bool {
        !self.children.ended.is_empty() || self.commands.iter().any(|waiting| !waiting.told)
    }

    fn is_closed(&self) -> bool {
        self.end == End::Closed
    }

    /// A prompt that goes before all that wait.
    pub fn put_first(&mut self, prompt: Prompt) {
        if self.prompts.queue.len() < MAX_WAITING {
            self.prompts.queue.push_front(prompt);
        }
    }

    /// Drives work of the turn while ops come in. Work that ignores a stop for too long is dropped.
    pub async fn attend<F: Future>(&mut self, work: F) -> Result<F::Output, Stopped> {
        let mut work = std::pin::pin!(work);
        loop {
            if let Attended::Done(output) = self.attend_until(work.as_mut(), |_| false).await? {
                return Ok(output);
            }
        }
    }

    /// The same, for those who see to commands meanwhile: `News` when there are some.
    pub async fn attend_to_news<F: Future>(
        &mut self,
        work: Pin<&mut F>,
    ) -> Result<Attended<F::Output>, Stopped> {
        self.attend_until(work, Self::has_news).await
    }

    async fn attend_until<F: Future>(
        &mut self,
        mut work: Pin<&mut F>,
        is_enough: fn(&Self) -> bool,
    ) -> Result<Attended<F::Output>, Stopped> {
        loop {
            if is_enough(self) {
                return Ok(Attended::News);
            }
            let overdue = self.overdue;
            let patience = tokio::time::sleep_until(overdue.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                output = &mut work => return Ok(Attended::Done(output)),
                Some(op) = self.ops.recv(), if self.end != End::Closed => {
                    self.take(op);
                    self.sync_queue();
                }
                Ok(()) = self.clients.changed(), if self.end != End::Closed => self.count_clients(),
                report = self.children.next() => self.hear(report),
                question = self.asking.server_questions.recv() => self.pass_on(question),
                () = patience, if overdue.is_some() => return Err(Stopped),
            }
        }
    }

    /// Puts a question to whoever is attached and waits for the answer. Nobody left to answer is a stop.
    pub async fn ask(&mut self, ask: Ask) -> Result<AskAnswer, Stopped> {
        let mut asked = self.put_ask(ask)?;
        let answer = self.attend(asked.answered()).await;
        self.asked(&asked.id);
        answer?
    }

    /// Puts a question; `asked` is to follow, however it ends.
    pub fn put_ask(&mut self, mut ask: Ask) -> Result<Asked, Stopped> {
        if self.is_closed() {
            return Err(Stopped);
        }
        ask.ask = self.new_ask();
        // A file that is shown before it is changed may hold what nobody should see.
        let redactor = self.feed.redactor();
        ask.subject = redactor.text(ask.subject);
        ask.preview = ask.preview.map(|text| redactor.text(text));
        let id = ask.ask.clone();
        let (sender, receiver) = oneshot::channel();
        self.waiting.insert(id.clone(), sender);
        self.show_ask(Arc::new(ask));
        Ok(Asked {
            id,
            turn: self.turn.clone(),
            receiver,
        })
    }

    /// A question waits no longer.
    pub fn asked(&mut self, id: &str) {
        if self.waiting.remove(id).is_some() {
            withdraw_ask(&self.feed, id);
        }
    }

    fn full(&self, word: Word<1>) -> String {
        let most = MAX_WAITING.to_string();
        self.children.language.fill(word, &[&most])
    }

    fn take(&mut self, sent: SentOp) {
        let reply_to = sent.reply_to;
        match sent.op.parsed() {
            Op::Say {
                text,
                delivery,
                images,
            }
            | Op::Prompt {
                text,
                delivery,
                images,
            } => {
                let prompt = Prompt {
                    text,
                    images,
                    reply_to,
                    ..Prompt::default()
                };
                self.put(prompt, delivery);
            }
            Op::Answer {
                ask,
                choice,
                reason,
            } => self.take_answer(&reply_to, ask, AskAnswer { choice, reason }),
            Op::Interrupt => {
                // Asked a second time, it is not waited for any longer.
                let patience = match self.turn.is_cancelled() {
                    true => Duration::ZERO,
                    false => GRACE,
                };
                self.overdue = Some(Instant::now() + patience);
                self.turn.cancel();
            }
            Op::Command { line } => self.take_command(CommandLine { line, reply_to }),
            Op::Complete(request) => self.complete(request, reply_to),
            Op::Finish if self.end == End::Open => self.end = End::Finishing,
            Op::Finish => {}
            Op::Close => self.close(),
        }
    }

    fn take_answer(&mut self, from: &ReplyTo, ask: String, answer: AskAnswer) {
        // It was taken before the connection of its client was lost.
        if self.prompts.is_repeated(from) {
            return;
        }
        let open = self.feed.register().open_asks();
        let open = open.into_iter().find(|open| open.ask == ask);
        let answer = match &open {
            Some(open) => offered(open, answer),
            None => answer,
        };
        let close = |feed: &Feed| {
            let answer = open.as_ref().map(|open| open.describe(&answer.choice));
            feed.delta(Delta::AskClosed {
                ask: ask.clone(),
                by: Some(from.client),
                answer: answer.map(|text| clip(&text, MAX_ANSWER_SHOWN)),
            });
        };
        if let Some((child, theirs)) = self.children.relayed.remove(&ask) {
            close(&self.feed);
            if let Some(ops) = self.children.ops(&child) {
                let AskAnswer { choice, reason } = answer;
                let ask = theirs;
                post(
                    &ops,
                    Op::Answer {
                        ask,
                        choice,
                        reason,
                    },
                );
            }
        } else if let Some(waiting) = self.waiting.remove(&ask) {
            close(&self.feed);
            // The asker may have been stopped a moment ago.
            let _ = waiting.send(answer);
        } else {
            let late = self.children.language.say(Word::AskClosed);
            self.feed.reply(from, "", View::Error(late.into()));
        }
    }

    fn take_command(&mut self, command: CommandLine) {
        let CommandLine { line, reply_to } = &command;
        if let Some(view) = (self.at_once.command)(self, line) {
            self.feed.reply(reply_to, line, view);
        } else if self.commands.len() < MAX_WAITING {
            self.commands.push_back(Waiting {
                command,
                told: false,
            });
        } else {
            let refused = View::Error(self.full(Word::CommandsFull));
            self.feed.reply(reply_to, line, refused);
        }
    }
}
