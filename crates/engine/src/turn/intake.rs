//! What the person says becomes a message: with what it points at, what is recalled, and what hooks have to say to it.

use crate::budget;
use crate::hooks::{Greeting, Moment, Start};
use crate::inbox::{Inbox, Prompt, Purpose};
use crate::log::LogError;
use crate::servers;
use crate::sources::briefing;
use crate::sources::references::{Found, Library, PIPED, Voice};
use crate::state::SessionState;
use crate::state::checkpoints;
use crate::tool::Typed as _;
use crate::tools::read_file::ReadFile;
use crate::turn::ingest;
use ostler_wire::{Body, Deed, Message, Notice, View, Word};
use tokio_util::sync::CancellationToken;

/// A message, and what goes into the log beside it.
pub type Heard = (Message, Vec<Body>);

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
}

/// Takes in a prompt. One that nobody said, by which a goal goes on, is a note, and no business of hooks.
pub async fn take_in(
    state: &mut SessionState,
    inbox: &mut Inbox,
    prompt: Prompt,
    start: Start,
    cancel: &CancellationToken,
) -> Result<Heard, Refused> {
    if prompt.purpose == Purpose::Continuation {
        return Ok((Message::note(prompt.text), Vec::new()));
    }
    let (message, mut notices) = heard(state, prompt.clone()).await;
    let greeting = greet(state, inbox, &message.text, start, cancel).await;
    let cause = match greeting.block {
        Some(why) => Some(Cause::Hook(
            state.settings.language.fill(Word::HookRefuses, &[&why]),
        )),
        None if greeting.unheard => Some(Cause::Stopped(Box::new(prompt))),
        None => None,
    };
    if let Some(cause) = cause {
        let notices = greeting.notices;
        return Err(Refused { cause, notices });
    }
    notices.extend(greeting.notices);
    let context = briefing::join(greeting.context, message.context.clone());
    Ok((Message { context, ..message }, notices))
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
    let (message, mut also) = match take_in(state, inbox, prompt, Start::Not, cancel).await {
        Ok(heard) => heard,
        Err(Refused { cause, mut notices }) => {
            match cause {
                Cause::Hook(text) => {
                    notices.push(Body::Notice(Notice { text }));
                    // The client need not wait for its entry.
                    let nothing = View::Do(Deed::Compose(String::new()));
                    state.feed.reply(&reply_to, "", nothing);
                }
                // The next turn begins with it, as with what waits otherwise.
                Cause::Stopped(prompt) => inbox.put_first(*prompt),
            }
            return state.commit(notices);
        }
    };
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

/// What the person said, with what they point at.
async fn heard(state: &mut SessionState, prompt: Prompt) -> Heard {
    let (own_words, context) = (prompt.own_words.clone(), prompt.context.clone());
    let project_words = prompt.project_words.clone().unwrap_or_default();
    let (mut message, mut notices) = ingest::message(prompt, state.settings.language).await;
    let words = own_words.unwrap_or_else(|| {
        let typed = message.text.split(PIPED).next();
        typed.unwrap_or_default().to_owned()
    });
    if words.contains('@') || project_words.contains('@') {
        let found = look_up(state, &words, &project_words).await;
        if !found.blocks.is_empty() {
            message.context = Some(found.blocks.join("\n"));
        }
        message.images.extend(found.images);
        let notice = |text| Body::Notice(Notice { text });
        notices.extend(found.notices.into_iter().map(notice));
    }
    // What is recalled is about all that is said.
    let words = match project_words.as_str() {
        "" => words,
        _ => project_words,
    };
    message.context = briefing::join(context, message.context);
    // What a task is told was said by somebody who knows.
    if state.account.role == budget::MAIN {
        let language = state.settings.language;
        let (notes, said) = state.settings.recall.recall(&words, language).await;
        message.context = briefing::join(message.context, notes);
        notices.extend(said.into_iter().map(Body::Notice));
    }
    (message, notices)
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
        true => Voice::Person,
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
