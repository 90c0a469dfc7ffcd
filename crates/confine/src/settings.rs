//! What commands may touch, as the binary settles it for a session: plain data.

use ostler_host::Scratch;
use ostler_host::sandbox::{Layer, Network, Policy};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A reader's own folder for temporary files, where folders can be mounted for one command.
pub const SHARED_MEMORY: &str = "/dev/shm";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// Where the system can; elsewhere commands run without, and the person is told once.
    Enforce,
    /// No command runs where the system cannot.
    Require,
    #[default]
    Off,
}

/// Where commands run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandPlace {
    #[default]
    Here,
    /// At another place, whose helper confines them by this layer. Without one nothing does.
    Elsewhere(Option<Layer>),
}

// tidy: plain data
#[derive(Clone, Debug, Default)]
pub struct SandboxSettings {
    pub mode: SandboxMode,
    /// What holds for every command. Temporary files, caches and what readers see are added for each of them.
    pub policy: Policy,
    /// Of `policy.forbid_read`, what no grant opens.
    pub sealed: Vec<PathBuf>,
    /// Files and folders of our own that no command reads and no grant opens, except the artifacts of its session.
    pub stores: Vec<PathBuf>,
    /// Our own program, which has `CONNECT_MODE`.
    pub program: Option<PathBuf>,
    /// The person's caches of downloads, writable for a command that can reach a host.
    pub downloads: Vec<PathBuf>,
    /// Caches that commands have for themselves.
    pub caches: Option<Caches>,
    /// What a command sees that only reads.
    pub reader: Reader,
    /// Where commands put their temporary files.
    pub temp: Option<Temp>,
    pub git: GitFolders,
    /// Deny rules may be about files that could not all be looked at, and are not hidden.
    pub uncovered: bool,
    /// Where sessions write down what was there before their commands: a folder that no command can reach.
    pub records: Option<PathBuf>,
    pub place: CommandPlace,
}

/// The repository of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitFolders {
    /// Its settings, of which commands change a copy.
    pub settings: Vec<PathBuf>,
    /// Folders of it outside of the project, which commands may write to.
    pub elsewhere: Vec<PathBuf>,
    /// All folders in which commands may make or change repositories.
    pub roots: Vec<PathBuf>,
    /// What `~` means in settings.
    pub home: Option<PathBuf>,
}

/// Caches of the commands of one project, so that none of them can change what the person's own tools run later.
#[derive(Clone, Debug, Default)]
pub struct Caches {
    pub folder: PathBuf,
    /// Variables by which tools find theirs, and where in the folder.
    pub variables: Vec<(String, PathBuf)>,
}

/// What is seen by a command that runs unasked because it only reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// The home that is empty but for `shown`; `None` where the project is the home or holds it.
    pub home: Option<PathBuf>,
    /// Further folders of which only what is named is seen: those of other people's homes, data of the machine.
    pub others: Vec<PathBuf>,
    /// Toolchains and configuration below the home.
    pub shown: Vec<PathBuf>,
    /// Credentials that would be seen otherwise.
    pub hidden: Vec<PathBuf>,
}

/// The folder for temporary files of this run.
#[derive(Clone, Debug)]
pub struct Temp {
    pub scratch: Arc<Scratch>,
    /// Commands see it as `/tmp`. Otherwise at its own path, in `TMPDIR`.
    pub is_tmp: bool,
}

impl SandboxSettings {
    /// For a program that must not see what lies in `places`, which commands may change, and that changes nothing itself. Where
    /// folders can be mounted, it has one of its own for temporary files. Blocks.
    pub fn without(&self, places: &[PathBuf]) -> Self {
        let mut settings = self.clone();
        settings.downloads.clear();
        settings.caches = None;
        settings.temp = None;
        settings.git = GitFolders::default();
        let has_mounts = self.temp.as_ref().is_some_and(|temp| temp.is_tmp);
        let private = has_mounts.then(|| PathBuf::from(SHARED_MEMORY));
        let hidden = places
            .iter()
            .filter(|path| path.exists() && Some(*path) != private.as_ref());
        let hidden: Vec<PathBuf> = hidden.cloned().collect();
        let is_inner = |path: &Path| {
            hidden
                .iter()
                .any(|outer| path != outer && path.starts_with(outer))
        };
        let outer = hidden.iter().filter(|path| !is_inner(path)).cloned();
        let policy = &mut settings.policy;
        policy.forbid_read.extend(outer);
        policy.writable.clear();
        policy.protect.clear();
        policy.compared.clear();
        policy.private.extend(private);
        policy.network = Network::Off;
        settings
    }

    /// Folders outside of the project in which commands may make whatever they want, and the person keeps nothing.
    pub fn folders_of_commands(&self) -> Vec<PathBuf> {
        let caches = self.caches.iter().map(|caches| caches.folder.clone());
        let temp = self.temp.iter().map(|temp| temp.scratch.folder());
        let downloads = self.downloads.iter().cloned();
        caches.chain(temp).chain(downloads).collect()
    }

    /// The folder that commands see as `/tmp`, where they do.
    pub fn seen_as_tmp(&self) -> Option<PathBuf> {
        let temp = self.temp.as_ref().filter(|temp| temp.is_tmp);
        let temp = temp.filter(|_| self.mode != SandboxMode::Off);
        temp.map(|temp| temp.scratch.folder())
    }
}
