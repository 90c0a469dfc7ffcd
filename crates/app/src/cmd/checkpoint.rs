//! `ostler checkpoint`: the command `checkpoint` on the command line. Bringing files back is watched here.

use super::panel::{hub_context, print_view};
use crate::boot::Boot;
use crate::errors::UsageError;
use crate::flags::{Checkpoint, Listing};
use crate::wiring::checkpoint_limits;
use anyhow::anyhow;
use ostler_config::text::Speak as _;
use ostler_config::units::ByteSize;
use ostler_engine::checkpoint::{
    Checkpoints, Error, Git, Guard, Ignored, Kept, Point, Report, Scope, There, Tree, TreeStore,
    Unseen, What,
};
use ostler_engine::commands::{CheckpointRequest, checkpoint, restored};
use ostler_engine::confine::{Services, WatchedCall};
use ostler_host::Host;
use ostler_wire::{View, Word};
use std::path::PathBuf;
use std::sync::Arc;

pub async fn run(boot: Arc<Boot>, args: Checkpoint) -> anyhow::Result<u8> {
    let format = match &args {
        Checkpoint::List { format }
        | Checkpoint::Show { format, .. }
        | Checkpoint::Diff { format, .. }
        | Checkpoint::Gc { format, .. } => *format,
        Checkpoint::Restore(args) => args.format,
        Checkpoint::Take { .. } => Listing::Text,
    };
    print_view(&view(&boot, args).await?, format)
}

pub async fn view(boot: &Arc<Boot>, args: Checkpoint) -> anyhow::Result<View> {
    let boot = boot.clone();
    // It reads and writes many files; the runtime has other things to do.
    tokio::task::spawn_blocking(move || blocking(&boot, args)).await?
}

fn blocking(boot: &Boot, args: Checkpoint) -> anyhow::Result<View> {
    let language = boot.language;
    let store = open(boot)?;
    let context = hub_context(boot);
    let request = match args {
        Checkpoint::List { .. } => CheckpointRequest::List,
        Checkpoint::Show { id, .. } => CheckpointRequest::Show(id),
        Checkpoint::Diff { from, to, .. } => {
            let to = to.map_or(Point::Now, Point::At);
            CheckpointRequest::Diff(from, to)
        }
        Checkpoint::Take { label, ignored } => {
            let label = label.unwrap_or_else(|| language.say(Word::CpByHand).into());
            let scope = Scope {
                ignored: match ignored {
                    true => Ignored::Saved,
                    false => Ignored::LeftOut,
                },
                ..Scope::default()
            };
            CheckpointRequest::Take(label, scope)
        }
        Checkpoint::Gc { quota, .. } => CheckpointRequest::Collect(bytes(boot, quota)?),
        Checkpoint::Restore(args) => {
            let place = boot.machines.place.get();
            let folder = place.map_or(&boot.places.cwd, |place| &place.root);
            let what = What {
                paths: args.paths.iter().map(|p| folder.join(p)).collect(),
                git: if args.git { Git::Restored } else { Git::Left },
            };
            let unseen = match (args.force, args.keep) {
                (true, _) => Unseen::Overwrite,
                (false, true) => Unseen::Keep,
                (false, false) => Unseen::Refuse,
            };
            let guard = Guard {
                expected: None,
                unseen,
            };
            let report = restore(boot, store, (args.id, &what, &guard))?;
            return Ok(restored(&context, &report));
        }
    };
    Ok(checkpoint(&context, &store, &request))
}

/// What checkpoints may take up.
fn bytes(boot: &Boot, quota: Option<String>) -> anyhow::Result<u64> {
    let language = boot.language;
    let Some(written) = quota else {
        return Ok(checkpoint_limits(boot).quota);
    };
    let size = ByteSize::parse(&written);
    let size = size.ok_or_else(|| UsageError(language.filled(Word::BadQuota, &[&written])))?;
    Ok(size.0)
}

/// Brings files back. A checkpoint may hold what a command left running wrote, so the result is judged like that of a
/// command: what is protected stays as it is unless the person names it, and repositories are cleaned.
fn restore(boot: &Boot, store: TreeStore, order: (u64, &What, &Guard)) -> anyhow::Result<Report> {
    let report = match store {
        TreeStore::Here(store) => restore_here(boot, &store, order)?,
        // The helper there looks at what came back.
        TreeStore::There(mut there) => {
            let (id, what, guard) = order;
            there.tree.protect.retain(|path| !what.paths.contains(path));
            TreeStore::There(there).restore(id, what, guard)
        }
    };
    let hint = boot.language.say(Word::CpKeepForce);
    report.map_err(|e| match e {
        Error::Unseen { .. } => anyhow!("{e}. {hint}"),
        other => other.into(),
    })
}

fn restore_here(
    boot: &Boot,
    store: &Checkpoints,
    (id, what, guard): (u64, &What, &Guard),
) -> anyhow::Result<Result<Report, Error>> {
    let mut sandbox = crate::sandbox::settings(boot)?;
    let is_named = |path: &PathBuf| what.paths.contains(path);
    sandbox.policy.protect.retain(|path| !is_named(path));
    sandbox.policy.compared.retain(|path| !is_named(path));
    let services = Services {
        call_id: "restore".into(),
        root: Some(boot.places.root.clone()),
        user_home: boot.places.user_home.clone(),
        ..Services::without_session(boot.host(), sandbox)
    };
    let runtime = tokio::runtime::Handle::current();
    let watched = runtime.block_on(WatchedCall::begin_restore(services));
    let report = store.restore(id, what, guard);
    let refused = watched.map(|watched| runtime.block_on(watched.end_wholly()));
    let mut report = match report {
        Ok(report) => report,
        Err(error) => return Ok(Err(error)),
    };
    for path in refused.into_iter().flatten() {
        let name = path.strip_prefix(&boot.places.root).unwrap_or(&path);
        let path = name.display().to_string();
        report.changed.retain(|changed| *changed != path);
        let why = Word::CpNotRestored.into();
        report.kept.push(Kept { path, why });
    }
    Ok(Ok(report))
}

/// The saved states of this project's tree.
pub fn open(boot: &Boot) -> anyhow::Result<TreeStore> {
    let limits = checkpoint_limits(boot);
    let dir = ostler_engine::store::checkpoints_dir(&boot.places.home, &boot.places.root);
    let Some(place) = boot.machines.place.get() else {
        let store = Checkpoints::open(&dir, &boot.places.root, limits)?;
        return Ok(TreeStore::Here(store));
    };
    let alone = || -> Arc<dyn Host> { Arc::new(place.remote.clone()) };
    let host = place.host.get().cloned().unwrap_or_else(alone);
    let runtime = tokio::runtime::Handle::current();
    Ok(TreeStore::There(There {
        name: place.name.clone(),
        ask: Arc::new(move |tree, order| runtime.block_on(host.checkpoint(tree, order))),
        tree: Tree {
            root: place.root.clone(),
            limits,
            protect: place.protected(),
        },
        dir,
    }))
}
