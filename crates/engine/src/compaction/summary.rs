//! The part of a digest that only a model can write: one request beside the conversation, which continues its prompt so that
//! the provider's cache serves it, and leaves no trace in it. The definitions of the tools are part of that prompt and stay;
//! calls are forbidden where that costs nothing, and carried out nowhere.

use crate::budget::Hold;
use ostler_context::account::Account;
use ostler_context::clients::feed::Feed;
use ostler_context::conversation::{Conversation, Sent};
use ostler_context::digest::{Plan, Prose, boundary, bytes_of};
use ostler_context::sample::{Sampled, sample};
use ostler_llm::{Answer, AnswerPart, Calls, Error, Forbidding, TokenUsage};
use ostler_state::inbox::{Inbox, Stopped};
use ostler_wire::{Body, Compaction, Entry, Language, Message, Stop, Usage, Why, Word};
use tokio_util::sync::CancellationToken;

const INSTRUCTION: &str = include_str!("instruction.md");
/// Stands in for what a shortened conversation leaves out.
const LEFT_OUT: &str = "[Older work is left out here.]";
/// What the request is for, in usage and ledger.
pub const ROLE: &str = crate::budget::COMPACTION;

/// What is to be summed up.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    pub entries: &'a [Entry],
    /// The provider has refused it as it is.
    pub too_long: bool,
    pub focus: Option<&'a str>,
}

/// The parts of a session that a summary is made from and paid by.
#[derive(Clone, Copy)]
pub struct SummaryScope<'a> {
    pub conversation: &'a Conversation,
    pub account: &'a Account,
    pub feed: &'a Feed,
    pub language: Language,
}

pub enum Asked {
    Answered(Box<Summary>),
    Interrupted,
}

pub struct Summary {
    /// What it may cost, until it is booked.
    pub held: Vec<Hold>,
    /// Or why there is none.
    pub prose: Result<Prose, Why>,
    pub usage: Vec<Usage>,
}

/// How much of the conversation the model is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    All,
    Half,
}

/// Requests for one digest: all of the conversation or half of it, each with calls forbidden and without that.
const MAX_REQUESTS: usize = 4;

/// What is asked, with what the requests before it have led to.
struct Try {
    share: Share,
    calls: Calls,
    summary: Summary,
}

pub async fn ask(
    from: SummaryScope<'_>,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    material: Material<'_>,
) -> Asked {
    let forbidding = from.conversation.model.forbidding();
    let mut next = Try {
        share: match material.too_long {
            true => Share::Half,
            false => Share::All,
        },
        calls: match forbidding {
            Forbidding::Free => Calls::Forbidden,
            Forbidding::BreaksCache | Forbidding::Refused => Calls::Free,
        },
        summary: Summary {
            held: Vec::new(),
            prose: Err(Word::FoldTooLong.into()),
            usage: Vec::new(),
        },
    };
    let mut called = false;
    for _ in 0..MAX_REQUESTS {
        match request(from, inbox, cancel, material, &mut next).await {
            Reply::Interrupted => return Asked::Interrupted,
            Reply::Overflow if next.share == Share::All => next.share = Share::Half,
            // The endpoint knows no such field, perhaps. What else it may refuse it refuses again.
            Reply::Refused if next.calls == Calls::Forbidden && !called => next.calls = Calls::Free,
            // It went on with the work instead. Now it is worth the cache.
            Reply::Called if next.calls == Calls::Free && forbidding == Forbidding::BreaksCache => {
                (next.calls, called) = (Calls::Forbidden, true);
            }
            Reply::Answered | Reply::Overflow | Reply::Refused | Reply::Called => break,
        }
    }
    Asked::Answered(Box::new(next.summary))
}

enum Reply {
    /// With a digest or without; asking again would not help.
    Answered,
    Overflow,
    /// Something in the request is not to the endpoint's liking.
    Refused,
    /// It called tools, and said nothing.
    Called,
    Interrupted,
}

/// Sends one, and notes what comes of it in the summary.
async fn request(
    from: SummaryScope<'_>,
    inbox: &mut Inbox,
    cancel: &CancellationToken,
    material: Material<'_>,
    next: &mut Try,
) -> Reply {
    let (mut conversation, at) = shown(from.conversation, material, next.share);
    if next.calls == Calls::Forbidden {
        conversation.forbid_calls();
    }
    let focus = material.focus.map_or_else(String::new, |focus| {
        format!("\n\n[The person wants it to look after this: {focus}]")
    });
    conversation.push(&Entry {
        entry: at,
        parent: None,
        ts: String::new(),
        body: Body::Message(Message::note(format!("{}{focus}", INSTRUCTION.trim_end()))),
    });
    let (account, language) = (from.account, from.language);
    let payer = account.payer_in(Some(ROLE));
    let worst = account.worst_of(&conversation);
    let summary = &mut next.summary;
    // Nobody is asked about it: without a model's words there is still a digest.
    match account.budget.hold(payer, worst) {
        Ok(held) => summary.held.push(held),
        Err(breach) => {
            summary.prose = Err(breach.message(language).into());
            return Reply::Answered;
        }
    }
    let (body, sent) = conversation.request();
    let feed = from.feed.hushed();
    let sampling = sample(&conversation.model, body, &feed, language, cancel);
    let (answer, error) = match inbox.attend(sampling).await {
        Err(Stopped) => (Answer::default(), None),
        Ok(Sampled::Interrupted(partial)) => (partial, None),
        Ok(Sampled::Failed(partial, error) | Sampled::Cut(partial, error)) => {
            (partial, Some(error))
        }
        Ok(Sampled::Whole(answer)) => {
            summary
                .usage
                .extend(usage(from.conversation, &answer, &sent));
            summary.prose = prose(&answer);
            return match summary.prose {
                Err(_) if calls(&answer) => Reply::Called,
                Err(_) | Ok(_) => Reply::Answered,
            };
        }
    };
    summary
        .usage
        .extend(usage(from.conversation, &answer, &sent));
    let Some(error) = error else {
        // It is paid for all the same.
        summary.usage.iter().for_each(|usage| account.book(usage));
        account.show_budget(from.feed);
        return Reply::Interrupted;
    };
    match error {
        Error::Overflow { .. } => Reply::Overflow,
        Error::Fatal { ref status, .. } if matches!(status, Some(400 | 404 | 422)) => {
            summary.prose = Err(error.why().clone());
            Reply::Refused
        }
        Error::Retryable { .. }
        | Error::Replay { .. }
        | Error::Auth { .. }
        | Error::LoginRequired { .. }
        | Error::InvalidResponse { .. }
        | Error::Garbled { .. }
        | Error::Fatal { .. } => {
            summary.prose = Err(error.why().clone());
            Reply::Answered
        }
    }
}

fn calls(answer: &Answer) -> bool {
    let is_call = |part: &AnswerPart| matches!(part, AnswerPart::Call { .. });
    answer.parts.iter().any(is_call)
}

/// A conversation of the same past. Half of it has the person's words and the latest work.
fn shown(of: &Conversation, material: Material<'_>, share: Share) -> (Conversation, u64) {
    let mut conversation = of.anew();
    let entries = material.entries;
    let at = entries.last().map_or(0, |e| e.entry) + 1;
    if share == Share::All {
        conversation.read(entries);
        return (conversation, at);
    }
    let open = entries.get(Plan::of(entries).end..).unwrap_or_default();
    let half = open.iter().map(|e| bytes_of(&e.body)).sum::<usize>() / 2;
    let place = boundary(entries, entries.len(), half);
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
fn prose(answer: &Answer) -> Result<Prose, Why> {
    if answer.stop == Some(Stop::Refusal) {
        return Err(Word::ModelRefused.into());
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
        return Err(match calls(answer) {
            true => Word::FoldCalled.into(),
            false => Word::FoldEmpty.into(),
        });
    }
    Prose::parse(&text).ok_or_else(|| Word::HandoffOffTopic.into())
}

fn usage(conversation: &Conversation, answer: &Answer, sent: &Sent) -> Option<Usage> {
    let tokens = answer.usage.plus(answer.wasted);
    (tokens != TokenUsage::default()).then(|| Usage {
        role: Some(ROLE.into()),
        broke: None,
        ..conversation.usage(&tokens, sent)
    })
}
