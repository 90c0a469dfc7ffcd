//! Sessions of other agents as logs of ours.

use super::places;
use crate::boot::Boot;
use crate::cmd::choose::{self, Person, Picked};
use crate::errors::UsageError;
use crate::output;
use anyhow::anyhow;
use ostler_config::schema::SessionLocation;
use ostler_config::text::Speak as _;
use ostler_engine::store::Store;
use ostler_engine::taken::{self, TakenLog};
use ostler_engine::tools::{Tools, canonical_name, find_foreign_name, fit_arguments};
use ostler_import::{Agent, Conversation, Opener, OurTools, Ours, SessionRef, TOLD_FIRST};
use ostler_wire::{CallTitle, Column, ColumnKind, Table, View, Word};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// Sessions to choose from on a terminal.
const MAX_OFFERED: usize = 20;
/// Characters of a title.
const MAX_TITLE: usize = 70;

/// Whether a session is of this project.
pub fn is_near(boot: &Boot, session: &SessionRef) -> bool {
    let root = session
        .root
        .as_ref()
        .map(|root| ostler_host::real_path(root));
    root.is_some_and(|root| root == boot.places.root)
}

/// Takes sessions over and says how many became what.
pub fn take_all(boot: &Boot, agent: &Agent, sessions: &[SessionRef]) -> anyhow::Result<()> {
    let language = boot.language;
    let mut opener = Opener::default();
    let (mut new, mut grown, mut same, mut forked) = (0u32, 0u32, 0u32, 0u32);
    for session in sessions {
        match take(boot, agent, session, &mut opener) {
            Ok(Some((_, TakenLog::New))) => new += 1,
            Ok(Some((_, TakenLog::Grown(_)))) => grown += 1,
            Ok(Some((_, TakenLog::Same))) => same += 1,
            Ok(Some((id, TakenLog::Forked))) => {
                forked += 1;
                output::say(&language.filled(Word::ImportForked, &[&short(&id)]));
            }
            Ok(None) => {}
            Err(error) => {
                let name = output::one_line(&session.title);
                output::say(
                    &language.filled(Word::ImportSessionLeft, &[&name, &format!("{error:#}")]),
                );
            }
        }
    }
    let values: [&dyn ostler_config::text::Fill; 4] =
        [&new, &grown, &(same + forked), &agent.title];
    if !sessions.is_empty() {
        output::print_foreign(&language.filled(Word::ImportTookSessions, &values))?;
    }
    Ok(())
}

fn short(id: &str) -> String {
    id.get(..8).unwrap_or(id).to_owned()
}

/// The id that a session has here, and what became of its log; nothing if it belongs where no log of ours lies.
fn take(
    boot: &Boot,
    agent: &Agent,
    session: &SessionRef,
    opener: &mut Opener,
) -> anyhow::Result<Option<(String, TakenLog)>> {
    let language = boot.language;
    let conversation = opener.open(agent, session, &places(boot));
    let conversation = conversation.map_err(|why| anyhow!(why.say(language)))?;
    let id = ostler_import::log_id(agent, &conversation.id);
    let root = conversation
        .root
        .clone()
        .unwrap_or_else(|| boot.places.root.clone());
    let root = ostler_host::real_path(&root);
    let in_project = match boot.loaded.config.sessions.location {
        SessionLocation::Home => false,
        SessionLocation::Project => true,
    };
    if in_project && root != boot.places.root {
        let why = language.say(Word::ImportOtherProject);
        output::say(&format!("{}: {why}", output::one_line(&session.title)));
        return Ok(None);
    }
    tell_gaps(boot, agent, &conversation);
    let author = format!("{} {}", agent.title, conversation.version);
    let notice = language.filled(Word::ImportNotice, &[&author.trim(), &conversation.id]);
    let tools = OwnTools::new();
    let dated = ostler_import::bodies(agent, &conversation, (&tools, &notice, crate::VERSION));
    let store = Store::new(&boot.sessions_dir(), &root).of_home(&boot.places.home);
    let kept = (&boot.redactor, store.owners());
    let became = taken::write(&store.path_of(&id), dated, TOLD_FIRST, kept)
        .map_err(|error| anyhow!(error.say(language)))?;
    Ok(Some((id, became)))
}

/// What of a session could not be read, and whether its version is another one than was tried.
fn tell_gaps(boot: &Boot, agent: &Agent, conversation: &Conversation) {
    let language = boot.language;
    if conversation.unread > 0 {
        let values: [&dyn ostler_config::text::Fill; 2] = [&conversation.id, &conversation.unread];
        output::say(&language.filled(Word::ImportUnreadLines, &values));
    }
    if conversation.is_cut {
        output::say(&language.filled(Word::ImportCut, &[&conversation.id]));
    }
    let (theirs, known) = (major(&conversation.version), major(&agent.tested));
    if let (Some(theirs), Some(known)) = (theirs, known)
        && theirs > known
    {
        let values: [&dyn ostler_config::text::Fill; 3] =
            [&agent.title, &conversation.version, &agent.tested];
        output::say(&language.filled(Word::ImportNewer, &values));
    }
}

/// The first two numbers of a version.
fn major(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split('.').map_while(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// Our tools, for what another agent called.
struct OwnTools {
    tools: Tools,
    names: Vec<String>,
}

impl OwnTools {
    fn new() -> Self {
        let tools = Tools::new(&[]);
        let names = tools.names().map(str::to_owned).collect();
        Self { tools, names }
    }
}

impl OwnTools {
    /// The call as a tool of ours would have it; nothing for one that it would refuse.
    fn call(&self, name: &str, input: &Value) -> Option<Ours> {
        let tool = self.tools.find(name)?;
        let (input, _) = fit_arguments(tool.name(), input)?.ok()?;
        let call = tool.read(&input).ok()?;
        let (about, subject) = (tool.about(), call.subject());
        Some(Ours {
            name: tool.name().to_owned(),
            input,
            form: about.result,
            title: Some(CallTitle {
                kind: about.kind,
                verb: about.verb,
                subject: ostler_wire::clip(&subject.text, ostler_engine::tool::MAX_SUBJECT),
                body: subject.body.map(Into::into),
                result: about.result,
            }),
        })
    }
}

impl OurTools for OwnTools {
    fn find(&self, name: &str, input: &Value) -> Option<Ours> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let own = match self.tools.find(name) {
            Some(tool) => tool.name().to_owned(),
            None => find_foreign_name(name, input, &names)?,
        };
        self.call(&own, input).or_else(|| {
            // One name there may be two tools here: the one of its kind that takes these arguments.
            let kind = self.tools.find(&own)?.about().kind;
            let mut others = self.tools.declarations().filter(|about| about.kind == kind);
            others.find_map(|about| self.call(&about.name, input))
        })
    }

    fn is_taken(&self, name: &str) -> bool {
        canonical_name(name).is_some()
    }
}

/// A session of another agent in a list.
#[derive(Serialize)]
struct Listed {
    id: String,
    title: String,
    updated: String,
    root: Option<PathBuf>,
    bytes: u64,
}

/// The sessions of an agent as a table; those of this project unless there are none.
fn table(boot: &Boot, agent: &Agent) -> Table {
    let language = boot.language;
    let (sessions, faults) = ostler_import::list(agent, &places(boot));
    let listed = |one: &SessionRef| Listed {
        id: one.id.clone(),
        title: output::one_line(&one.title)
            .chars()
            .take(MAX_TITLE)
            .collect(),
        updated: one.updated.clone(),
        root: one.root.clone(),
        bytes: one.bytes,
    };
    let records: Vec<Listed> = sessions.iter().map(listed).collect();
    let now = jiff::Timestamp::now();
    let columns = vec![
        Column::new(ColumnKind::Text, "id", language.say(Word::ColSession)),
        Column::new(ColumnKind::Time, "updated", language.say(Word::ColAge)),
        Column::new(ColumnKind::Text, "root", language.say(Word::ColProject)),
        Column::new(ColumnKind::Prose, "title", language.say(Word::ColTitle)),
    ];
    Table {
        empty: language.filled(Word::ImportNoSessions, &[&agent.title]),
        remarks: faults.iter().map(|why| why.say(language)).collect(),
        ..Table::of_records(columns, &records, |one| {
            let root = one.root.as_ref();
            let root = root.map(|root| boot.places.shown(root)).unwrap_or_default();
            let age = ostler_wire::format_age(&one.updated, now, language);
            vec![one.id.clone(), age, root, one.title.clone()]
        })
    }
}

/// What `ostler resume --from AGENT` is about: the session that the person names or chooses, taken over; nothing where the
/// list was the answer.
pub fn resume_theirs(boot: &Boot, name: &str, id: Option<&str>) -> anyhow::Result<Option<String>> {
    let language = boot.language;
    let agent = ostler_import::agent(name).ok_or_else(|| anyhow!(name.to_owned()))?;
    let (sessions, _) = ostler_import::list(agent, &places(boot));
    let session = match id {
        Some(id) => {
            let mut found = sessions.iter().filter(|one| one.id.starts_with(id));
            match (found.next(), found.next()) {
                (Some(one), None) => Some(one),
                (Some(_), Some(_)) => {
                    let why = language.filled(Word::ImportSeveral, &[&id, &agent.title]);
                    return Err(UsageError(why).into());
                }
                (None, _) => {
                    let why =
                        language.filled(Word::ImportNoSuchSession, &[&id, &agent.title, &name]);
                    return Err(anyhow!(why));
                }
            }
        }
        None if Person::look() == Person::Here => choose_session(boot, &sessions)?,
        None => None,
    };
    let Some(session) = session else {
        super::print_view(
            &View::Table(table(boot, agent)),
            crate::flags::Listing::Text,
        )?;
        return Ok(None);
    };
    let became = take(boot, agent, session, &mut Opener::default())?;
    if let Some((id, TakenLog::Forked)) = &became {
        output::say(&language.filled(Word::ImportForked, &[&short(id)]));
    }
    Ok(became.map(|(id, _)| id))
}

/// One of the newest, those of this project first.
fn choose_session<'a>(
    boot: &Boot,
    sessions: &'a [SessionRef],
) -> anyhow::Result<Option<&'a SessionRef>> {
    let (near, far): (Vec<_>, Vec<_>) = sessions.iter().partition(|one| is_near(boot, one));
    let offered: Vec<&SessionRef> = near.into_iter().chain(far).take(MAX_OFFERED).collect();
    let line = |one: &&SessionRef| {
        let title: String = output::one_line(&one.title)
            .chars()
            .take(MAX_TITLE)
            .collect();
        let root = one.root.as_ref().map(|root| boot.places.shown(root));
        let day = one.updated.get(..10).unwrap_or_default();
        format!("{day}  {title}  ({})", root.unwrap_or_default())
    };
    let options: Vec<String> = offered.iter().map(line).collect();
    if options.is_empty() {
        return Ok(None);
    }
    let language = boot.language;
    Ok(
        match choose::pick(language.say(Word::ImportWhich), &options, 0, language)? {
            Picked::Option(at) => offered.get(at).copied(),
            Picked::Other(id) => sessions.iter().find(|one| one.id.starts_with(&id)),
            Picked::Left => None,
        },
    )
}
