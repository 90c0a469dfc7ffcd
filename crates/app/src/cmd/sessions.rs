//! `ostler sessions`: the command `sessions` on the command line. Going on with one is `resume`; files are written here.

use super::mcp::check_link;
use super::panel::{hub_context, print_view};
use crate::boot::Boot;
use crate::errors::UsageError;
use crate::exit::OK;
use crate::flags::{ExportFormat, Listing, Sessions};
use crate::lenient::Lenient;
use crate::output;
use anyhow::{Context as _, anyhow};
use ostler_config::files;
use ostler_config::schema::SessionLocation;
use ostler_config::text::Speak as _;
use ostler_config::units::ByteSize;
use ostler_engine::commands::{Collect, Prefixes, Projects, SessionsRequest, sessions};
use ostler_engine::store::DryRun;
use ostler_engine::{export, log};
use ostler_wire::{Report, View, Word};
use std::path::PathBuf;

pub fn run(start: Lenient, args: Sessions) -> anyhow::Result<u8> {
    let format = match &args {
        Sessions::List { format, .. }
        | Sessions::Show { format, .. }
        | Sessions::Search { format, .. } => *format,
        Sessions::Delete { .. } | Sessions::Gc { .. } | Sessions::Export { .. } => Listing::Text,
    };
    if let Sessions::Export { id, format, out } = args {
        return export_to(&start.warned(), &id, format, out);
    }
    let needs_all = matches!(args, Sessions::Gc { quota: None, .. });
    if !needs_all {
        start.say_fault();
    }
    match view(&start, &args)? {
        Some(view) => print_view(&view, format),
        None => Ok(OK),
    }
}

/// `None` for what writes a document.
pub fn view(start: &Lenient, args: &Sessions) -> anyhow::Result<Option<View>> {
    let boot = &start.boot;
    let request = match args {
        Sessions::Export { .. } => return Ok(None),
        Sessions::Show { id, .. } => return show(boot, id).map(Some),
        Sessions::List { all, .. } => SessionsRequest::List(match all {
            true => Projects::All,
            false => Projects::This,
        }),
        Sessions::Search { words, .. } => SessionsRequest::Search(words.clone()),
        Sessions::Delete { id } => SessionsRequest::Delete(id.clone()),
        Sessions::Gc { quota, dry_run } => {
            let quota = quota_of(start, quota.as_deref())?;
            SessionsRequest::Collect(Collect {
                quota: quota.0,
                written: quota.to_string(),
                dry_run: match dry_run {
                    true => DryRun::Yes,
                    false => DryRun::No,
                },
                prefixes: match boot.loaded.config.sessions.location {
                    SessionLocation::Home => Prefixes::Swept,
                    SessionLocation::Project => Prefixes::Left,
                },
            })
        }
    };
    Ok(Some(sessions(&hub_context(boot), &request)))
}

/// To read; programs read every entry.
fn show(boot: &Boot, id: &str) -> anyhow::Result<View> {
    let request = SessionsRequest::Show(id.to_owned());
    let view = sessions(&hub_context(boot), &request);
    let View::Report(report) = view else {
        return Ok(view);
    };
    let path = boot.store().find(id).map_err(|e| anyhow!(e))?;
    let (entries, _) = log::read(&path)?;
    Ok(View::Report(Report {
        value: serde_json::from_str(&export::json(&entries))?,
        ..report
    }))
}

/// With half a configuration the quota may be another one than the person set.
fn quota_of(start: &Lenient, written: Option<&str>) -> anyhow::Result<ByteSize> {
    let language = start.boot.language;
    let Some(written) = written else {
        return Ok(start.clone().strict()?.loaded.config.sessions.quota);
    };
    let quota = ByteSize::parse(written)
        .ok_or_else(|| UsageError(language.filled(Word::BadQuota, &[&written])))?;
    Ok(quota)
}

fn export_to(
    boot: &Boot,
    id: &str,
    format: ExportFormat,
    out: Option<PathBuf>,
) -> anyhow::Result<u8> {
    let language = boot.language;
    let path = boot.store().find(id).map_err(|e| anyhow!(e))?;
    let (entries, damage) = log::read(&path)?;
    if let Some(notice) = damage.notice(language) {
        output::say(&notice);
    }
    let document = match format {
        ExportFormat::Json => export::json(&entries),
        ExportFormat::Md => export::markdown(&log::branch(entries)),
        ExportFormat::Html => export::html(&log::branch(entries)),
    };
    let Some(out) = out else {
        output::print_foreign(&document)?;
        return Ok(OK);
    };
    let path = boot.places.cwd.join(&out);
    check_link(boot, &path)?;
    files::write_document(&path, document.as_bytes())
        .with_context(|| language.filled(Word::CannotBeWritten, &[&out.display()]))?;
    output::say(&language.filled(Word::Wrote, &[&out.display()]));
    Ok(OK)
}
