//! The part of a digest that only a model can write: one request beside the conversation, which continues its prompt so that
//! the provider's cache serves it, and leaves no trace in it.

use super::digest::Prose;
use super::past;
use crate::budget::Hold;
use crate::conversation::{Conversation, Sent};
use crate::desk::Desk;
use crate::inbox::{Inbox, Stopped};
use crate::sample::{Sampled, sample};
use ostler_llm::{Answer, AnswerPart, Error, TokenUsage};
use ostler_wire::{Body, Compaction, Entry, Message, Stop, Usage};
use tokio_util::sync::CancellationToken;

const INSTRUCTION: &str = include_str!("instruction.md");
/// Stands in for what a shortened conversation leaves out.
const LEFT_OUT: &str = "[Older work is left out here.]";
/// What the request is for, in usage and ledger.
pub const ROLE: &str = "compaction";

/// What is to be summed up.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    pub entries: &'a [Entry],
    /// The provider has refused it as it is.
    pub too_long: bool,
    pub focus: Option<&'a str>,
}

pub enum Asked {
    Answered(Box<Summary>),
    Interrupted,
}

pub struct Summary {
    /// What it may cost, until it is booked.
    pub held: Option<Hold>,
    /// Or why there is none.
    pub prose: Result<Prose, String>,
    pub usage: Option<Usage>,
}

impl Asked {
    fn answered(held: Option<Hold>, prose: Result<Prose, String>, usage: Option<Usage>) -> Self {
        Asked::Answered(Box::new(Summary { held, prose, usage }))
    }
}

/// How much of the conversation the model is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    All,
    Half,
}

pub async fn ask(
    desk: &Desk,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    material: Material<'_>,
) -> Asked {
    if !material.too_long {
        match request(desk, inbox, cancel, material, Share::All).await {
            Reply::Overflow => {}
            Reply::Of(asked) => return asked,
        }
    }
    match request(desk, inbox, cancel, material, Share::Half).await {
        Reply::Overflow => Asked::answered(None, Err("it is too long for the model".into()), None),
        Reply::Of(asked) => asked,
    }
}

enum Reply {
    Of(Asked),
    Overflow,
}

async fn request(
    desk: &Desk,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    material: Material<'_>,
    share: Share,
) -> Reply {
    let (mut conversation, at) = shown(desk, material, share);
    let focus = material.focus.map_or_else(String::new, |focus| {
        format!("\n\n[The person wants it to look after this: {focus}]")
    });
    conversation.push(&Entry {
        entry: at,
        parent: None,
        ts: String::new(),
        body: Body::Message(Message::note(format!("{}{focus}", INSTRUCTION.trim_end()))),
    });
    let payer = desk.account.payer_in(Some(ROLE));
    let worst = desk.worst_of(&conversation);
    // Nobody is asked about it: without a model's words there is still a digest.
    let held = match desk.account.budget.hold(payer, worst) {
        Ok(held) => held,
        Err(breach) => {
            return Reply::Of(Asked::answered(
                None,
                Err(breach.message(desk.manner.language)),
                None,
            ));
        }
    };
    let (body, sent) = conversation.request();
    let feed = desk.feed.hushed();
    let sampling = sample(&conversation.model, body, &feed, cancel);
    let answer = match inbox.attend(sampling).await {
        Err(Stopped) => return Reply::Of(Asked::Interrupted),
        Ok(Sampled::Interrupted(partial)) => {
            // It is paid for all the same.
            if let Some(usage) = usage(desk, &partial, &sent) {
                desk.book(&usage);
            }
            return Reply::Of(Asked::Interrupted);
        }
        Ok(Sampled::Failed(_, Error::Overflow { .. })) => return Reply::Overflow,
        Ok(Sampled::Failed(partial, error) | Sampled::Cut(partial, error)) => {
            let usage = usage(desk, &partial, &sent);
            return Reply::Of(Asked::answered(Some(held), Err(error.to_string()), usage));
        }
        Ok(Sampled::Whole(answer)) => answer,
    };
    let usage = usage(desk, &answer, &sent);
    Reply::Of(Asked::answered(Some(held), prose(&answer), usage))
}

/// A conversation of the same past. Half of it has the person's words and the latest work.
fn shown(desk: &Desk, material: Material<'_>, share: Share) -> (Conversation, u64) {
    let mut conversation = desk.conversation.anew();
    let entries = material.entries;
    let at = entries.last().map_or(0, |e| e.entry) + 1;
    if share == Share::All {
        conversation.read(entries);
        return (conversation, at);
    }
    let open = entries
        .get(past::Plan::of(entries).end..)
        .unwrap_or_default();
    let half = open.iter().map(|e| past::bytes_of(&e.body)).sum::<usize>() / 2;
    let place = past::boundary(entries, entries.len(), half);
    let through = place.checked_sub(1).and_then(|i| entries.get(i));
    let mut entries = entries.to_vec();
    entries.push(Entry {
        entry: at,
        parent: None,
        ts: String::new(),
        body: Body::Compaction(Compaction {
            through: through.map_or(0, |e| e.entry),
            digest: LEFT_OUT.into(),
            ..Compaction::default()
        }),
    });
    conversation.read(&entries);
    (conversation, at + 1)
}

/// What the answer says. Calls in it are nobody's.
fn prose(answer: &Answer) -> Result<Prose, String> {
    if answer.stop == Some(Stop::Refusal) {
        return Err("it refused".into());
    }
    let text: String = answer
        .parts
        .iter()
        .filter_map(|part| match part {
            AnswerPart::Text { text, .. } => Some(text.as_str()),
            AnswerPart::Reasoning { .. } | AnswerPart::Call { .. } => None,
        })
        .collect();
    if text.trim().is_empty() {
        return Err("its answer was empty".into());
    }
    Prose::parse(&text).ok_or_else(|| "its answer was none of what it was asked for".into())
}

fn usage(desk: &Desk, answer: &Answer, sent: &Sent) -> Option<Usage> {
    let tokens = answer.usage.plus(answer.wasted);
    (tokens != TokenUsage::default()).then(|| Usage {
        role: Some(ROLE.into()),
        broke: None,
        ..desk.usage(&tokens, sent)
    })
}
