//! `ostler import`: what other agents have, as one table, and what of it the person takes. Theirs is only read.

mod logs;
mod own;
mod plan;
mod take;

use super::choose::{self, Person};
use super::panel::{print_view, terminal_width};
use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::OK;
use crate::flags::Import;
use crate::lenient::Lenient;
use crate::output;
use ostler_config::files;
use ostler_config::text::Speak as _;
use ostler_import::{Agent, Kind, Places, SessionRef};
use ostler_wire::{Column, ColumnKind, Table, View, Word};
use plan::{Planned, Row, State};
use std::io::IsTerminal as _;

pub use logs::resume_theirs;

/// Below the home: that the person was asked once.
const ASKED: &str = "imports.json";

pub fn run(start: Lenient, args: Import) -> anyhow::Result<u8> {
    if args.dry_run {
        start.say_fault();
        return print_view(&view(&start.boot, &args), args.format);
    }
    let boot = start.strict()?;
    let person = Person::look();
    if person == Person::Away && !args.yes {
        let why = boot.language.say(Word::ImportAway).to_owned();
        return Err(UsageError(why).into());
    }
    let plans = plans(&boot, &args);
    output::print_foreign(&table(&boot, &plans).plain(terminal_width()))?;
    remark(&boot, &plans);
    for plan in &plans {
        one(&boot, plan, &args)?;
    }
    remember(&boot);
    Ok(OK)
}

/// The table alone.
pub fn view(boot: &Boot, args: &Import) -> View {
    let plans = plans(boot, args);
    let mut table = rows(boot, &plans);
    table.remarks = plans.iter().flat_map(|plan| plan.faults.clone()).collect();
    View::Table(table)
}

/// At the first start on a terminal: says what is there and asks whether to look at it. Nothing is taken by this answer.
/// Whether the configuration may be another one now.
pub async fn offer(
    boot: &Boot,
    ask: impl AsyncFnOnce(&str) -> anyhow::Result<bool>,
) -> anyhow::Result<bool> {
    let home = &boot.places.home;
    let is_new = |name: &str| !home.join(name).exists();
    let is_first = is_new(ASKED) && is_new("sessions") && !boot.places.user_config().exists();
    let is_wanted =
        is_first && boot.global.attach.url.is_none() && boot.machines.place.get().is_none();
    if !is_wanted || Person::look() == Person::Away || !std::io::stdout().is_terminal() {
        return Ok(false);
    }
    let places = places(boot);
    let here = ostler_import::agents().iter();
    let here: Vec<&Agent> = here.filter(|agent| agent.is_here(&places)).collect();
    if here.is_empty() {
        return Ok(false);
    }
    let language = boot.language;
    let names: Vec<&str> = here.iter().map(|agent| agent.title.as_str()).collect();
    let is_wanted = ask(&names.join(", ")).await?;
    remember(boot);
    if !is_wanted {
        output::say(language.say(Word::ImportLater));
        return Ok(false);
    }
    let args = Import::default();
    let plans = plans(boot, &args);
    output::say(&table(boot, &plans).plain(terminal_width()));
    remark(boot, &plans);
    for plan in &plans {
        one(boot, plan, &args)?;
    }
    Ok(true)
}

pub fn is_yes(answer: Option<&str>) -> bool {
    answer.is_some_and(|answer| matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes" | "是"))
}

/// The person was asked, or came by themselves: the start asks no more.
fn remember(boot: &Boot) {
    let path = boot.places.home.join(ASKED);
    if !path.exists() {
        // Where it cannot be written the question comes again.
        let _ = files::create(&path, b"{\"asked\": true}\n");
    }
}

/// Where the files of the person are, and which folders are not theirs.
pub fn places(boot: &Boot) -> Places {
    let mut others = crate::grants::granted(boot);
    others.push(boot.places.root.clone());
    let user_home = boot.places.user_home.clone().unwrap_or_default();
    // The person's own files are theirs also where the project is their home.
    others.retain(|folder| !user_home.starts_with(folder));
    Places {
        user_home,
        env: boot
            .env
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        others,
    }
}

/// What one agent has.
struct Plan {
    agent: &'static Agent,
    rows: Vec<Row>,
    sessions: Vec<SessionRef>,
    /// Of this project.
    near: usize,
    faults: Vec<String>,
}

fn plans(boot: &Boot, args: &Import) -> Vec<Plan> {
    let places = places(boot);
    let wanted = |agent: &&Agent| match args.from.is_empty() {
        true => agent.is_here(&places),
        false => args.from.contains(&agent.name),
    };
    let plan = |agent: &'static Agent| {
        let found = ostler_import::survey(agent, &places);
        let takes = |kind: Kind| args.take.is_empty() || args.take.iter().any(|k| k == kind.name());
        let (sessions, faults) = match takes(Kind::Session) {
            true => ostler_import::list(agent, &places),
            false => (Vec::new(), Vec::new()),
        };
        let planned = Planned::new(boot);
        let rows = found.items.into_iter().filter(|item| takes(item.kind));
        let faults = found.faults.iter().chain(&faults);
        Plan {
            agent,
            rows: rows.map(|item| planned.judge(agent, item)).collect(),
            near: sessions
                .iter()
                .filter(|one| logs::is_near(boot, one))
                .count(),
            sessions,
            faults: faults.map(|why| why.say(boot.language)).collect(),
        }
    };
    ostler_import::agents()
        .iter()
        .filter(wanted)
        .map(plan)
        .collect()
}

fn rows(boot: &Boot, plans: &[Plan]) -> Table {
    let language = boot.language;
    let column = |key, word| Column::new(ColumnKind::Text, key, language.say(word));
    let columns = vec![
        column("agent", Word::ImportColAgent),
        column("kind", Word::ImportColKind),
        column("name", Word::ColName),
        column("state", Word::ImportColState),
        column("becomes", Word::ImportColBecomes),
    ];
    let mut records = Vec::new();
    for plan in plans {
        records.extend(plan.rows.iter().map(|row| row.record(plan.agent, language)));
        records.extend(plan.sessions_record(boot));
    }
    Table {
        empty: language.say(Word::ImportNothing).into(),
        ..Table::of_records(columns, &records, |record| {
            let shown = plan::state_word(record.state);
            vec![
                record.agent.clone(),
                record.kind.to_owned(),
                output::one_line(&record.name),
                language.say(shown).to_owned(),
                output::one_line(&record.becomes),
            ]
        })
    }
}

fn table(boot: &Boot, plans: &[Plan]) -> View {
    View::Table(rows(boot, plans))
}

fn remark(boot: &Boot, plans: &[Plan]) {
    let language = boot.language;
    for plan in plans {
        plan.faults.iter().for_each(|fault| output::say(fault));
        if plan.agent.tested.is_empty() {
            output::say(&language.filled(Word::ImportUntested, &[&plan.agent.title]));
        }
    }
}

impl Plan {
    /// The sessions as one row.
    fn sessions_record(&self, boot: &Boot) -> Option<plan::Record> {
        let bytes: u64 = self.sessions.iter().map(|one| one.bytes).sum();
        let values: [&dyn ostler_config::text::Fill; 3] =
            [&self.sessions.len(), &self.near, &output::size(bytes)];
        (!self.sessions.is_empty()).then(|| plan::Record {
            agent: self.agent.name.clone(),
            kind: Kind::Session.name(),
            name: self.sessions.len().to_string(),
            state: State::New,
            becomes: boot.language.filled(Word::ImportSessionsRow, &values),
            from: String::new(),
            remarks: Vec::new(),
            sessions: Some(self.sessions.len()),
            near: Some(self.near),
        })
    }
}

/// Takes what the person wants of one agent, kind by kind.
fn one(boot: &Boot, plan: &Plan, args: &Import) -> anyhow::Result<()> {
    // What was taken of another agent is here by now.
    let now = boot.anew()?;
    let planned = Planned::new(&now);
    let items = plan.rows.iter().map(|row| row.item.clone());
    let rows: Vec<Row> = items.map(|item| planned.judge(plan.agent, item)).collect();
    for kind in Kind::ALL {
        let is_new = |row: &&Row| row.item.kind == kind && row.state == State::New;
        let new: Vec<&Row> = rows.iter().filter(is_new).collect();
        if !new.is_empty() && is_wanted(boot, (plan.agent, kind), &new, args)? {
            for row in new {
                take::take(boot, plan.agent, row)?;
            }
        }
    }
    if plan.sessions.is_empty() {
        return Ok(());
    }
    let chosen = sessions_wanted(boot, plan, args)?;
    logs::take_all(boot, plan.agent, &chosen)
}

/// Whether the person wants the things of a kind. What acts is shown whole before.
fn is_wanted(
    boot: &Boot,
    (agent, kind): (&Agent, Kind),
    new: &[&Row],
    args: &Import,
) -> anyhow::Result<bool> {
    let language = boot.language;
    let values: [&dyn ostler_config::text::Fill; 3] = [&new.len(), &kind.name(), &agent.title];
    if kind.is_active() {
        output::say(&language.filled(Word::ImportShown, &values));
        for row in new {
            output::say(&output::visible(&row.whole(language)));
        }
    }
    if args.yes {
        let is_named = args.take.iter().any(|name| name == kind.name());
        if kind.is_active() && !is_named {
            output::say(&language.filled(Word::ImportNotNamed, &[&kind.name(), &kind.name()]));
            return Ok(false);
        }
        return Ok(true);
    }
    let question = language.filled(Word::ImportAsk, &values);
    let answer = match kind.is_active() {
        true => choose::ask_fresh(&question, language)?,
        false => choose::ask(&question)?,
    };
    Ok(is_yes(answer.as_deref()))
}

fn sessions_wanted(boot: &Boot, plan: &Plan, args: &Import) -> anyhow::Result<Vec<SessionRef>> {
    let language = boot.language;
    let near = || {
        plan.sessions
            .iter()
            .filter(|one| logs::is_near(boot, one))
            .cloned()
    };
    if args.all {
        return Ok(plan.sessions.clone());
    }
    if args.yes {
        return Ok(near().collect());
    }
    let values: [&dyn ostler_config::text::Fill; 3] =
        [&plan.near, &plan.sessions.len(), &plan.agent.title];
    let answer = choose::ask(&language.filled(Word::ImportAskSessions, &values))?;
    Ok(
        match answer.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("a" | "all") => plan.sessions.clone(),
            Some("p" | "y" | "yes") => near().collect(),
            Some(_) | None => Vec::new(),
        },
    )
}
