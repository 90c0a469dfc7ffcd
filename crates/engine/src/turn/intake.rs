//! A prompt is taken in by one list of steps, in order: what it is for, rules and servers as they are now, then the message
//! with its pictures, what it points at, what is recalled, and what hooks have to say to it.

use super::session_mention;
use crate::budget;
use crate::dispatch::{Sending, ask_to_send};
use crate::log::LogError;
use crate::tool::Typed as _;
use crate::tools::read_file::ReadFile;
use crate::turn::{auto_plan, goal, ingest};
use futures_util::future::BoxFuture;
use ostler_context::transcript::BYTES_PER_TOKEN;
use ostler_sources::briefing;
use ostler_sources::references::{Found, Library, PIPED, Voice};
use ostler_state::SessionState;
use ostler_state::checkpoints;
use ostler_state::hooks::{Greeting, Moment, Start};
use ostler_state::inbox::{Inbox, Prompt, Purpose, Stopped};
use ostler_state::servers;
use ostler_state::session::Opening;
use ostler_wire::{ATTACHED, Body, Deed, Message, Notice, View, Word};
use tokio_util::sync::CancellationToken;

/// A prompt on its way into the log.
pub struct Intake {
    pub prompt: Prompt,
    pub start: Start,
    /// What goes into the log before it.
    pub opening: Opening,
    cancel: CancellationToken,
    /// What it becomes.
    pub message: Message,
    /// What goes into the log beside it.
    pub notices: Vec<Body>,
}

impl Intake {
    pub fn new(prompt: Prompt, start: Start, opening: Opening, cancel: &CancellationToken) -> Self {
        Self {
            prompt,
            start,
            opening,
            cancel: cancel.clone(),
            message: Message::user(String::new()),
            notices: Vec::new(),
        }
    }

    /// Nobody said it: a goal goes on. It is a note, and no business of hooks.
    fn is_continuation(&self) -> bool {
        self.prompt.purpose == Purpose::Continuation
    }

    /// Where references are looked for: what the person wrote themselves.
    fn words(&self) -> String {
        let before =
            |text: &str, mark: &str| text.split(mark).next().unwrap_or_default().to_owned();
        let typed = || before(&before(&self.message.text, PIPED), ATTACHED);
        self.prompt.own_words.clone().unwrap_or_else(typed)
    }

    /// The same of what a file of the project put into it.
    fn project_words(&self) -> &str {
        self.prompt.project_words.as_deref().unwrap_or_default()
    }
}

/// A prompt that is not taken in.
pub struct Refused {
    pub cause: Cause,
    pub notices: Vec<Body>,
}

pub enum Cause {
    /// A hook said no, and why, for the person.
    Hook(String),
    /// It was stopped before all hooks had spoken. No request may have it then; it goes back to where it came from.
    Stopped(Box<Prompt>),
    /// The person stopped it instead of an answer to what it is for.
    Unsent,
    /// It is larger than the window, and the person does not want it sent. It goes back to where it came from.
    TooLarge(Box<Prompt>),
}

/// One step of the intake.
type Step = for<'a> fn(&'a mut SessionState, &'a mut Inbox, &'a mut Intake) -> Taken<'a>;
type Taken<'a> = BoxFuture<'a, Result<(), Refused>>;

/// Between turns.
const TURN_STEPS: &[Step] = &[admit_goal, plan_large_task, take_rules, take_servers];
/// For every message, also for one that comes while the model works.
const MESSAGE_STEPS: &[Step] = &[read_pictures, look_up_references, recall_memory];
/// What the person and their hooks have to say to it.
const TURN_WORDS: &[Step] = &[weigh, ask_hooks];
const STEERING_WORDS: &[Step] = &[ask_hooks];

/// Takes in a prompt that begins a turn.
pub async fn take_in(
    state: &mut SessionState,
    inbox: &mut Inbox,
    taken: &mut Intake,
) -> Result<(), Refused> {
    run(TURN_STEPS, state, inbox, taken).await?;
    if taken.is_continuation() {
        taken.message = Message::note(std::mem::take(&mut taken.prompt.text));
        return Ok(());
    }
    run(MESSAGE_STEPS, state, inbox, taken).await?;
    run(TURN_WORDS, state, inbox, taken).await
}

async fn run(
    steps: &[Step],
    state: &mut SessionState,
    inbox: &mut Inbox,
    taken: &mut Intake,
) -> Result<(), Refused> {
    for step in steps {
        step(state, inbox, taken).await?;
    }
    Ok(())
}

/// It may begin a goal, or go on with one.
fn admit_goal<'a>(
    state: &'a mut SessionState,
    inbox: &'a mut Inbox,
    taken: &'a mut Intake,
) -> Taken<'a> {
    Box::pin(async move {
        match goal::admit(state, inbox, &mut taken.prompt).await {
            Ok(notices) => taken.opening.entries.extend(notices),
            Err(Stopped) => {
                return Err(Refused {
                    cause: Cause::Unsent,
                    notices: Vec::new(),
                });
            }
        }
        Ok(())
    })
}

/// It may begin in plan mode, where the configuration wants that.
fn plan_large_task<'a>(
    state: &'a mut SessionState,
    _: &'a mut Inbox,
    taken: &'a mut Intake,
) -> Taken<'a> {
    taken
        .notices
        .extend(auto_plan::plan_first(state, &taken.prompt));
    Box::pin(async { Ok(()) })
}

/// Rules that were tightened meanwhile hold from now on.
fn take_rules<'a>(
    state: &'a mut SessionState,
    _: &'a mut Inbox,
    taken: &'a mut Intake,
) -> Taken<'a> {
    taken.opening.entries.extend(state.take_rule_news());
    Box::pin(async { Ok(()) })
}

/// Tools of servers that came or changed meanwhile.
fn take_servers<'a>(
    state: &'a mut SessionState,
    _: &'a mut Inbox,
    taken: &'a mut Intake,
) -> Taken<'a> {
    state.take_server_tools(&mut taken.opening);
    Box::pin(async { Ok(()) })
}

/// The message, with pictures that a model can look at.
fn read_pictures<'a>(
    state: &'a mut SessionState,
    _: &'a mut Inbox,
    taken: &'a mut Intake,
) -> Taken<'a> {
    let language = state.settings.language;
    Box::pin(async move {
        let (message, notices) = ingest::message(taken.prompt.clone(), language).await;
        taken.message = message;
        taken.notices.extend(notices);
        Ok(())
    })
}

/// What its words point at.
fn look_up_references<'a>(
    state: &'a mut SessionState,
    _: &'a mut Inbox,
    taken: &'a mut Intake,
) -> Taken<'a> {
    Box::pin(async move {
        let (words, project_words) = (taken.words(), taken.project_words());
        if words.contains('@') || project_words.contains('@') {
            let found = look_up(state, &words, project_words).await;
            if !found.blocks.is_empty() {
                taken.message.context = Some(found.blocks.join("\n"));
            }
            taken.message.images.extend(found.images);
            let notice = |text| Body::Notice(Notice { text });
            taken.notices.extend(found.notices.into_iter().map(notice));
        }
        let context = taken.prompt.context.clone();
        taken.message.context = briefing::join(context, taken.message.context.take());
        Ok(())
    })
}

/// What is remembered of what it is about. What a task is told was said by a model that knows.
fn recall_memory<'a>(
    state: &'a mut SessionState,
    _: &'a mut Inbox,
    taken: &'a mut Intake,
) -> Taken<'a> {
    Box::pin(async move {
        if state.account.role != budget::MAIN {
            return Ok(());
        }
        // It is about all that is said.
        let words = match taken.project_words() {
            "" => taken.words(),
            words => words.to_owned(),
        };
        let language = state.settings.language;
        let (notes, said) = state.settings.recall.recall(&words, language).await;
        taken.message.context = briefing::join(taken.message.context.take(), notes);
        taken.notices.extend(said.into_iter().map(Body::Notice));
        Ok(())
    })
}

/// Whether it is sent at all, if it alone is larger than the window: no compaction helps. Only where a person can be asked.
fn weigh<'a>(
    state: &'a mut SessionState,
    inbox: &'a mut Inbox,
    taken: &'a mut Intake,
) -> Taken<'a> {
    Box::pin(async move {
        state.settings.folding.gauge.agreed = false;
        let window = state.conversation.window();
        let context = taken.message.context.as_ref().map_or(0, String::len);
        let tokens = (taken.message.text.len() + context) as u64 / BYTES_PER_TOKEN;
        if window == 0 || tokens <= window || !state.settings.interactive {
            return Ok(());
        }
        let language = state.settings.language;
        let model = state.conversation.model.reference();
        let [shown, of] = [tokens, window].map(|n| n.to_string());
        let size = language.fill(Word::PromptOverWindow, &[&shown, &model, &of]);
        match ask_to_send(inbox, size, language).await {
            Sending::Send => {
                state.settings.folding.gauge.agreed = true;
                Ok(())
            }
            Sending::Stop => Err(Refused {
                cause: Cause::TooLarge(Box::new(taken.prompt.clone())),
                notices: Vec::new(),
            }),
        }
    })
}

/// What hooks have to say to it.
fn ask_hooks<'a>(
    state: &'a mut SessionState,
    inbox: &'a mut Inbox,
    taken: &'a mut Intake,
) -> Taken<'a> {
    Box::pin(async move {
        let (start, cancel) = (taken.start, taken.cancel.clone());
        let greeting = greet(state, inbox, &taken.message.text, start, &cancel).await;
        let cause = match greeting.block {
            Some(why) => Some(Cause::Hook(
                state.settings.language.fill(Word::HookRefuses, &[&why]),
            )),
            None if greeting.unheard => Some(Cause::Stopped(Box::new(taken.prompt.clone()))),
            None => None,
        };
        if let Some(cause) = cause {
            let notices = greeting.notices;
            return Err(Refused { cause, notices });
        }
        taken.notices.extend(greeting.notices);
        let context = taken.message.context.take();
        taken.message.context = briefing::join(greeting.context, context);
        Ok(())
    })
}

/// What hooks have to say to a prompt. Prompts of a child are the business of its parent.
async fn greet(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prompt: &str,
    start: Start,
    cancel: &CancellationToken,
) -> Greeting {
    let mut greeting = Greeting::default();
    if state.is_child() {
        return greeting;
    }
    if start != Start::Not
        && let Some(mut session) = state.hook_session(Moment::SessionStart, cancel)
    {
        session.on_start(inbox, start, &mut greeting, cancel).await;
    }
    if greeting.block.is_none()
        && let Some(mut session) = state.hook_session(Moment::UserPrompt, cancel)
    {
        session
            .on_prompt(inbox, prompt, &mut greeting, cancel)
            .await;
    }
    greeting
}

/// The same for what is said while the model works.
pub async fn steer(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prompt: Prompt,
    cancel: &CancellationToken,
) -> Result<(), LogError> {
    let reply_to = prompt.reply_to.clone();
    let mut taken = Intake::new(prompt, Start::Not, Opening::default(), cancel);
    let taken_in = match run(MESSAGE_STEPS, state, inbox, &mut taken).await {
        Ok(()) => run(STEERING_WORDS, state, inbox, &mut taken).await,
        refused => refused,
    };
    if let Err(Refused { cause, mut notices }) = taken_in {
        match cause {
            Cause::Unsent => {}
            Cause::Hook(text) => {
                notices.push(Body::Notice(Notice { text }));
                // The client need not wait for its entry.
                let nothing = View::Do(Deed::Compose(String::new()));
                state.feed.reply(&reply_to, "", nothing);
            }
            // The next turn begins with it, as with what waits otherwise.
            Cause::Stopped(prompt) | Cause::TooLarge(prompt) => inbox.put_first(*prompt),
        }
        return state.commit(notices);
    }
    let Intake {
        message,
        notices: mut also,
        ..
    } = taken;
    let context = briefing::join(state.briefing(), message.context.clone());
    let mut bodies = checkpoints::after(state, inbox).await;
    state
        .services
        .checkpoints
        .begin(&message.text, state.feed.redactor());
    bodies.push(Body::Message(Message { context, ..message }));
    bodies.append(&mut also);
    state.commit(bodies)
}

/// What the words of a prompt point at, and what those that a file of the project put into it do.
async fn look_up(state: &SessionState, words: &str, project_words: &str) -> Found {
    let guard = state.guard(&ReadFile::ABOUT);
    let library = |voice| Library {
        host: state.services.host.as_ref(),
        scope: &state.scope,
        guard: &guard,
        language: state.settings.language,
        voice,
    };
    // What a task is told was said by a model.
    let voice = match state.account.role == budget::MAIN {
        true => state.settings.voice,
        false => Voice::Model,
    };
    let mut found = library(voice).look_up(words).await;
    let language = state.settings.language;
    let servers = state.services.servers.as_deref();
    let (resources, left_out) = match servers {
        Some(servers) => servers::resources(servers, words, language).await,
        None => Default::default(),
    };
    let mut by_project = library(Voice::Project)
        .look_up_but(project_words, words)
        .await;
    found.blocks.append(&mut by_project.blocks);
    found.blocks.extend(resources);
    // What a model says names no session of the person's.
    if voice == Voice::Person {
        let (sessions, left_out) = session_mention::look_up(state, words).await;
        found.blocks.extend(sessions);
        found.notices.extend(left_out);
    }
    found.images.append(&mut by_project.images);
    found.notices.append(&mut by_project.notices);
    found.notices.extend(left_out);
    let named =
        |words| servers.map_or_else(Vec::new, |servers| servers::named_resources(servers, words));
    let (others, own) = (named(project_words), named(words));
    let others = others.into_iter().filter(|name| !own.contains(name));
    let left_out = others.map(|name| language.fill(Word::RefResource, &[&name]));
    found.notices.extend(left_out);
    found
}
