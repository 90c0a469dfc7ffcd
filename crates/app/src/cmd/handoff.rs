//! `ostler handoff`: what a fresh session needs to go on with the work of another one. It reads a log and writes a draft.

use super::mcp::check_link;
use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::OK;
use crate::flags::Handoff as Args;
use crate::output;
use crate::wiring;
use anyhow::{Context as _, anyhow};
use ostler_config::files;
use ostler_config::text::Speak as _;
use ostler_engine::Models as _;
use ostler_engine::budget::{Payer, Till, spent};
use ostler_engine::feed::Feed;
use ostler_engine::handoff::{self, Handoff};
use ostler_engine::ledger::{Ledger, Line};
use ostler_engine::log;
use ostler_engine::store::root_of;
use ostler_llm::Model;
use ostler_wire::{Entry, Word};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub async fn run(boot: &Boot, args: Args) -> anyhow::Result<u8> {
    let language = boot.language;
    if args.goal.trim().is_empty() {
        return Err(UsageError(language.say(Word::HandoffNoGoal).into()).into());
    }
    let store = boot.store();
    let path = match &args.from_session {
        Some(id) => store.find(id),
        None => store.last(),
    };
    let path = path.map_err(|e| anyhow!(e))?;
    let (entries, damage) = log::read(&path)?;
    if let Some(notice) = damage.notice(language) {
        output::say(&notice);
    }
    let entries = log::branch(entries);
    let own = boot.places.root.display().to_string();
    let root = root_of(&entries).map_or(own, str::to_owned);
    let mut document = Handoff::draft(&entries, &args.goal, &root);
    if !args.no_model {
        document = improved(boot, document, &path, &entries).await;
    }
    let document = document.render();
    let Some(out) = args.out else {
        output::print_foreign(&document)?;
        return Ok(OK);
    };
    let place = boot.places.cwd.join(&out);
    check_link(boot, &place)?;
    files::write_document(&place, document.as_bytes())
        .with_context(|| language.filled(Word::CannotBeWritten, &[&out.display()]))?;
    output::say(&language.filled(Word::Wrote, &[&out.display()]));
    Ok(OK)
}

/// What the model makes of the draft. Without one, or when it fails, the draft is good enough, and that is said.
async fn improved(boot: &Boot, draft: Handoff, path: &Path, entries: &[Entry]) -> Handoff {
    let language = boot.language;
    let wanted = boot.wanted_model();
    let model = boot.resolve(wanted.as_deref()).and_then(|target| {
        Model::new(Arc::new(target), wiring::transport(boot)).map_err(|e| e.say(language))
    });
    let model = match model {
        Ok(model) => model,
        Err(why) => {
            let why = why.lines().next().unwrap_or_default().to_owned();
            output::say(&language.filled(Word::HandoffNoModel, &[&why]));
            return draft;
        }
    };
    let session = path.file_stem().map(|s| s.to_string_lossy().into_owned());
    let session = session.unwrap_or_default();
    let budget = boot.budget();
    if let Err(why) = ostler_engine::cost::check_affordable(&budget, &model) {
        output::say(&language.filled(Word::HandoffNoModel, &[&why.say(language)]));
        return draft;
    }
    budget.remember(&session, spent(entries));
    let till = Till {
        budget: &budget,
        payer: Payer {
            session: &session,
            budget_session: &session,
            role: handoff::ROLE,
        },
    };
    let cancel = CancellationToken::new();
    let improved = draft
        .improved((&model, &Feed::default(), language), entries, &cancel, till)
        .await;
    if let Some(usage) = improved.usage.filter(|_| !boot.global.no_save) {
        // A ledger that cannot be written must not stop the work; `doctor` looks at it.
        let _ = Ledger::new(&boot.places.home).add(&Line {
            ts: log::now(),
            session: session.clone(),
            project: boot.store().project().to_owned(),
            role: handoff::ROLE.into(),
            // It is not in the log that it is about.
            budget_session: Some(session),
            tokens: (&usage).into(),
        });
    }
    if let Some(why) = improved.fault {
        output::say(&language.filled(Word::HandoffDraft, &[&why]));
    }
    improved.handoff
}
