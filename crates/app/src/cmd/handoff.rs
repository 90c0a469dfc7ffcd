//! `ostler handoff`: what a fresh session needs to go on with the work of another one. It reads a log and writes a draft.

use super::text;
use crate::boot::{Boot, UsageError};
use crate::config::files::{self, Access};
use crate::exec::OK;
use crate::flags::Handoff as Args;
use anyhow::{Context as _, anyhow};
use ostler_engine::Models as _;
use ostler_engine::handoff::{self, Handoff};
use ostler_engine::ledger::{Ledger, Line};
use ostler_engine::log;
use ostler_llm::Model;
use ostler_wire::{Body, Entry};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub async fn run(boot: &Boot, args: Args) -> anyhow::Result<u8> {
    if args.goal.trim().is_empty() {
        return Err(UsageError("--goal is empty; say what the next session is for".into()).into());
    }
    let store = boot.store();
    let path = match &args.from_session {
        Some(id) => store.find(id),
        None => store.last(),
    };
    let path = path.map_err(|e| anyhow!(e))?;
    let (entries, damage) = log::read(&path)?;
    if let Some(notice) = damage.notice() {
        text::say(&notice);
    }
    let entries = log::branch(entries);
    let mut document = Handoff::draft(&entries, &args.goal, &root(boot, &entries));
    if !args.no_model {
        document = improved(boot, document, &path, &entries).await;
    }
    let document = document.render();
    let Some(out) = args.out else {
        text::print_foreign(&document)?;
        return Ok(OK);
    };
    let place = boot.places.cwd.join(&out);
    files::write(&place, document.as_bytes(), Access::AsBefore)
        .with_context(|| format!("{} cannot be written", out.display()))?;
    text::say(&format!("Wrote {}", out.display()));
    Ok(OK)
}

/// What the model makes of the draft. Without one, or when it fails, the draft is good enough, and that is said.
async fn improved(boot: &Boot, draft: Handoff, path: &Path, entries: &[Entry]) -> Handoff {
    let wanted = boot.wanted_model();
    let model = boot.resolve(wanted.as_deref()).and_then(|target| {
        Model::new(Arc::new(target), boot.transport()).map_err(|e| e.to_string())
    });
    let model = match model {
        Ok(model) => model,
        Err(why) => {
            let why = why.lines().next().unwrap_or_default().to_owned();
            text::say(&format!("Without a model, from the log alone: {why}"));
            return draft;
        }
    };
    let improved = draft
        .improved(&model, entries, &CancellationToken::new())
        .await;
    if let Some(usage) = improved.usage.filter(|_| !boot.global.no_save) {
        let session = path.file_stem().map(|s| s.to_string_lossy().into_owned());
        // A ledger that cannot be written must not stop the work; `doctor` looks at it.
        let _ = Ledger::new(&boot.places.home).add(&Line {
            ts: log::now(),
            session: session.unwrap_or_default(),
            project: boot.store().project().to_owned(),
            role: handoff::ROLE.into(),
            purse: None,
            tokens: (&usage).into(),
        });
    }
    if let Some(why) = improved.fault {
        text::say(&format!(
            "The model's words could not be used ({why}); this is from the log alone."
        ));
    }
    improved.handoff
}

/// Where the session worked.
fn root(boot: &Boot, entries: &[Entry]) -> String {
    let mut roots = entries.iter().rev().filter_map(|entry| {
        if let Body::Meta(meta) = &entry.body {
            Some(meta.root.clone()).filter(|root| !root.is_empty())
        } else {
            None
        }
    });
    let own = boot.places.root.display().to_string();
    roots.next().unwrap_or(own)
}
