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
use ostler_wire::Word;
use std::path::PathBuf;
use std::sync::Arc;

pub async fn run(start: Lenient, args: Sessions) -> anyhow::Result<u8> {
    let (boot, request, format) = match args {
        Sessions::Export { id, format, out } => {
            return export_to(&start.warned(), &id, format, out);
        }
        Sessions::Show {
            id,
            format: Listing::Json,
        } => return export_to(&start.warned(), &id, ExportFormat::Json, None),
        Sessions::Show { id, format } => (start.warned(), SessionsRequest::Show(id), format),
        Sessions::List { all, format } => {
            let projects = if all { Projects::All } else { Projects::This };
            (start.warned(), SessionsRequest::List(projects), format)
        }
        Sessions::Search { words, format } => {
            (start.warned(), SessionsRequest::Search(words), format)
        }
        Sessions::Delete { id } => (start.warned(), SessionsRequest::Delete(id), Listing::Text),
        Sessions::Gc { quota, dry_run } => {
            let (boot, quota) = quota_of(start, quota)?;
            let request = SessionsRequest::Collect(Collect {
                quota: quota.0,
                written: quota.to_string(),
                dry_run: if dry_run { DryRun::Yes } else { DryRun::No },
                prefixes: match boot.loaded.config.sessions.location {
                    SessionLocation::Home => Prefixes::Swept,
                    SessionLocation::Project => Prefixes::Left,
                },
            });
            (boot, request, Listing::Text)
        }
    };
    print_view(&sessions(&hub_context(&boot), &request), format)
}

/// With half a configuration the quota may be another one than the person set.
fn quota_of(start: Lenient, written: Option<String>) -> anyhow::Result<(Arc<Boot>, ByteSize)> {
    let language = start.boot.language;
    let Some(written) = written else {
        let boot = start.strict()?;
        let quota = boot.loaded.config.sessions.quota;
        return Ok((boot, quota));
    };
    let quota = ByteSize::parse(&written)
        .ok_or_else(|| UsageError(language.filled(Word::BadQuota, &[&written])))?;
    Ok((start.warned(), quota))
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
