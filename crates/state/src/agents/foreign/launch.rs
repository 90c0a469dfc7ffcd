//! The sandbox of another agent's program: the settings of the session, with the project writable or not, what it keeps of
//! its own state writable, and the hosts of its vendor reachable.

use super::state::{OwnState, Record, Top};
use ostler_confine::{
    CommandPlace, Confined, GitFolders, SandboxMode, SandboxSettings, Services, SpawnError, Terms,
    spawn,
};
use ostler_host::sandbox::{self, Choice, Layer, Network};
use ostler_host::{Command, Exit, Process};
use ostler_tools::SandboxReport;
use ostler_tools::tool::ToolError;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What a program may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Its own state.
    pub state: Vec<OwnState>,
    /// Folders of its program and of what belongs to it, wherever they lie.
    pub programs: Vec<PathBuf>,
    /// Folders beside the project that it sees where little is seen, unless they are hidden, if somebody approved the task:
    /// the task itself names them.
    pub shown: Vec<PathBuf>,
    /// Hosts of its vendor, as in a `Net(…)` rule.
    pub hosts: Vec<String>,
    pub changes_project: bool,
    /// It may reach what rules allow, beside the hosts of its vendor.
    pub network: bool,
}

/// Who said that an agent may work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// A person, a rule, or the posture.
    #[default]
    Given,
    /// Nobody: it runs because the sandbox holds it, and sees no more than a reader.
    Held,
}

/// Starts the programs of one task. What holds them is kept until the task is over.
pub struct ForeignLauncher {
    services: Services,
    /// Folders that the person lets commands and tools change.
    granted: Vec<PathBuf>,
    approval: Approval,
    #[expect(clippy::vec_box, reason = "moved as it was made, in its box")]
    confined: Mutex<Vec<Box<Confined>>>,
    /// What the folders of state had at their top that are writable there.
    tops: Mutex<Vec<Top>>,
    /// The same on disk, for the next session if we are killed.
    records: Mutex<Vec<Record>>,
}

impl ForeignLauncher {
    pub fn new(services: Services, granted: Vec<PathBuf>, approval: Approval) -> Self {
        Self {
            services,
            granted,
            approval,
            confined: Mutex::default(),
            tops: Mutex::default(),
            records: Mutex::default(),
        }
    }

    pub async fn start(&self, command: Command, reach: &Reach) -> Result<Process, SpawnError> {
        if self.services.sandbox.place != CommandPlace::Here {
            let why = "Other agents' programs work on this machine alone, and the project lies at another place.";
            let refused = ToolError::new("place_unreachable", why);
            return Err(SpawnError::Terms(refused));
        }
        let mut services = self.services.clone();
        services.sandbox = self.settings(reach);
        if !reach.network {
            let policy = Arc::make_mut(&mut services.policy);
            policy.rules.allow.retain(|rule| !rule.is_about_hosts());
        }
        let state: Vec<PathBuf> = reach.state.iter().map(|one| one.path.clone()).collect();
        let sees_as_reader = self.approval == Approval::Held;
        let shown = reach.shown.iter().filter(|_| !sees_as_reader);
        let terms = Terms {
            hosts: reach.hosts.clone(),
            writable: reach.state.iter().flat_map(OwnState::open).collect(),
            sees_as_reader,
            shown: state
                .iter()
                .chain(&reach.programs)
                .chain(shown)
                .cloned()
                .collect(),
            readable: state,
            ..Terms::default()
        };
        self.remember(&reach.state).await;
        let spawned = spawn(&services, command, &terms).await?;
        let mut confined = self.confined.lock().unwrap_or_else(PoisonError::into_inner);
        confined.extend(spawned.confined);
        Ok(spawned.process)
    }

    /// To be called when all programs are gone. What was put back, and which hosts were refused.
    pub async fn end(&self) -> Vec<String> {
        let confined = {
            let mut confined = self.confined.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *confined)
        };
        let mut lines = Vec::new();
        for one in confined {
            let mut report = Box::pin(Confined::end(*one, Exit::LOST, &[])).await;
            report.denied = None;
            lines.extend(report.lines().lines().map(str::to_owned));
        }
        lines.extend(self.services.share.finish().await);
        let tops = {
            let mut tops = self.tops.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tops)
        };
        let aside = self.services.aside();
        let clean = move || -> Vec<String> {
            let tops = tops.iter().enumerate();
            let changes = tops.flat_map(|(number, top)| top.clean(aside.as_ref(), number));
            let changes = changes.collect();
            let report = SandboxReport {
                changes,
                ..SandboxReport::default()
            };
            report.lines().lines().map(str::to_owned).collect()
        };
        // It fails only when the runtime ends.
        let cleaned = tokio::task::spawn_blocking(clean).await;
        if let Ok(cleaned) = cleaned {
            lines.extend(cleaned);
            let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            records.drain(..).for_each(Record::remove);
        }
        lines
    }

    /// What is there at the top of folders of state before the first program of the task.
    async fn remember(&self, state: &[OwnState]) {
        let state = state.to_vec();
        let records = self.services.sandbox.records.clone();
        let known: Vec<PathBuf> = {
            let tops = self.tops.lock().unwrap_or_else(PoisonError::into_inner);
            tops.iter().map(|top| top.path().to_owned()).collect()
        };
        let look = move || {
            let mut found: Vec<Top> = state.iter().filter_map(Top::of).collect();
            found.retain(|top| !known.iter().any(|path| path == top.path()));
            // Who cannot write it down is looked after by what this process remembers.
            let record = records.map(|records| Record::write(&records, &found).ok().flatten());
            (found, record.flatten())
        };
        let found = tokio::task::spawn_blocking(look).await;
        let (found, record) = found.unwrap_or_default();
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.extend(record);
        drop(records);
        let mut tops = self.tops.lock().unwrap_or_else(PoisonError::into_inner);
        for top in found {
            if !tops.iter().any(|known| known.is_of(&top)) {
                tops.push(top);
            }
        }
    }

    fn settings(&self, reach: &Reach) -> SandboxSettings {
        let mut settings = self.services.sandbox.clone();
        if settings.mode == SandboxMode::Off {
            return settings;
        }
        settings
            .policy
            .visible
            .extend(reach.programs.iter().cloned());
        if settings.policy.network == Network::On && !reach.network {
            settings.policy.network = Network::Proxy;
        }
        // The person's programs run what lies in caches of downloads. The hosts of a vendor are no reason to change them.
        let rules = &self.services.policy.rules.allow;
        let downloads = reach.network && rules.iter().any(ostler_guard::Rule::is_about_hosts);
        if !(downloads && reach.changes_project && self.approval == Approval::Given) {
            settings.downloads.clear();
        }
        let mut settings = match reach.changes_project {
            true => settings,
            false => self.without_project(settings),
        };
        let fixed = reach.state.iter().flat_map(OwnState::fixed);
        settings.policy.protect.extend(fixed);
        let private = reach.state.iter().flat_map(|one| &one.private).cloned();
        match has_mounts(settings.policy.layer) {
            true => settings.policy.private.extend(private),
            false => settings.policy.compared.extend(private),
        }
        settings
    }

    /// The same for one that changes nothing of the project.
    fn without_project(&self, mut settings: SandboxSettings) -> SandboxSettings {
        let temp = settings.temp.as_ref().map(|temp| temp.scratch.folder());
        let is_temp = |path: &Path| temp.as_ref().is_some_and(|temp| path.starts_with(temp));
        let git = std::mem::take(&mut settings.git);
        let granted = self.granted.iter().chain(&git.elsewhere);
        let granted: Vec<PathBuf> = granted.map(|path| ostler_host::real_path(path)).collect();
        let policy = &mut settings.policy;
        policy.visible.extend(granted.iter().cloned());
        let (fixed, writable): (Vec<PathBuf>, Vec<PathBuf>) = std::mem::take(&mut policy.writable)
            .into_iter()
            .partition(|path| {
                let real = ostler_host::real_path(path);
                !is_temp(path) && granted.iter().any(|folder| real.starts_with(folder))
            });
        policy.writable = writable;
        // A link in the place of one of them would show something else.
        policy.fixed.extend(fixed);
        policy.protect.clear();
        policy.compared.clear();
        settings.git = GitFolders {
            home: git.home,
            ..GitFolders::default()
        };
        settings
    }
}

/// Whether the layer can show a folder that is another one.
fn has_mounts(layer: Choice) -> bool {
    match layer {
        Choice::Auto => sandbox::probe().layers.first() != Some(&Layer::Landlock),
        Choice::Landlock => false,
        Choice::Namespaces | Choice::Bubblewrap | Choice::Off => true,
    }
}
