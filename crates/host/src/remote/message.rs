//! What the two ends say to each other. Every exchange has a number; the first message of it is a call.

use super::codec::{fields, variants};
use super::{hello, saves};
use crate::command::{Exit, Signal, Stdio};
use crate::search::{Found, Search};
use bytes::Bytes;
use ostler_checkpoint::{self as checkpoint, Order, Reply, Tree};
use ostler_files::Error;
use ostler_files::border::Border;
use ostler_files::{Content, Listing, RenameOptions, Renamed, Span, Stat, WriteOptions, Written};
use ostler_sandbox::proxy::{Asked, Reach};
use ostler_sandbox::{Layer, Policy};
use std::ffi::OsString;
use std::path::PathBuf;

/// Both ends speak the same number, or not with each other.
pub const PROTOCOL: u16 = 2;

/// What a place is like, as its helper says when it begins.
// tidy: plain data
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceFacts {
    pub protocol: u16,
    pub version: String,
    pub os: String,
    pub arch: String,
    /// The folder that the helper was started in: the home of the account over ssh, the working folder in a container.
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    pub env: Vec<(OsString, OsString)>,
    /// Ways to confine commands that work there, the strongest first.
    pub layers: Vec<Layer>,
    pub pid: u32,
    /// Where checkpoints lie there; none where the account has no home.
    pub checkpoints: Option<PathBuf>,
    /// Where sockets and waiting output of helpers lie.
    pub run: Option<PathBuf>,
    /// Protected files that were put back, because a helper was killed before it could do so.
    pub put_back: Vec<PathBuf>,
}

impl PlaceFacts {
    /// What this machine is like, for a helper that was started in this folder with this environment. Tries the sandbox.
    pub fn here(version: &str, cwd: PathBuf, env: Vec<(OsString, OsString)>) -> Self {
        let home = home(&env);
        Self {
            checkpoints: saves::folder(&env, home.as_deref()),
            run: hello::folder(&env, home.as_deref()),
            put_back: Vec::new(),
            protocol: PROTOCOL,
            version: version.to_owned(),
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            cwd,
            home,
            env,
            layers: ostler_sandbox::probe().layers.clone(),
            pid: std::process::id(),
        }
    }
}

/// The home of the account.
pub fn home(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let home = env.iter().find(|(name, _)| name == "HOME");
    let home = home.map(|(_, home)| PathBuf::from(home));
    home.filter(|home| home.is_absolute())
        .or_else(ostler_files::account_home)
}

fields!(PlaceFacts {
    protocol,
    version,
    os,
    arch,
    cwd,
    home,
    env,
    layers,
    pid,
    checkpoints,
    run,
    put_back
});

/// A command without its plan, which is made at the place.
#[derive(Clone, Debug)]
pub struct Start {
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    pub stdio: Stdio,
    pub policy: Option<Policy>,
    /// The hosts that it may reach, and by which token it is known.
    pub way: Option<(String, Reach)>,
}

fields!(Start {
    argv,
    cwd,
    env,
    stdio,
    policy,
    way
});

#[derive(Debug)]
pub enum Call {
    Stat {
        path: PathBuf,
    },
    Read {
        path: PathBuf,
        span: Span,
        border: Border,
    },
    Write {
        path: PathBuf,
        bytes: Bytes,
        options: WriteOptions,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
        options: RenameOptions,
    },
    List {
        path: PathBuf,
        most: usize,
        border: Border,
    },
    Search(Search),
    Start(Box<Start>),
    Ping,
    Checkpoint {
        tree: Box<Tree>,
        order: Box<Order>,
    },
}

variants!(Call {
    0 => Stat { path },
    1 => Read { path, span, border },
    2 => Write { path, bytes, options },
    3 => Rename { from, to, options },
    4 => List { path, most, border },
    5 => Search(search),
    6 => Start(start),
    7 => Ping,
    8 => Checkpoint { tree, order },
});

#[derive(Debug)]
pub enum Answer {
    Stat(Stat),
    Content(Content),
    Written(Written),
    Renamed(Renamed),
    Listing(Listing),
    Found(Found),
    Started { pid: i32 },
    Alive,
    Checkpoint(Box<Result<Reply, checkpoint::Error>>),
}

variants!(Answer {
    0 => Stat(stat),
    1 => Content(content),
    2 => Written(written),
    3 => Renamed(renamed),
    4 => Listing(listing),
    5 => Found(found),
    6 => Started { pid },
    7 => Alive,
    8 => Checkpoint(reply),
});

/// From here to the place.
#[derive(Debug)]
pub enum Down {
    Call(Box<Call>),
    Signal(Signal),
    Resize {
        rows: u16,
        cols: u16,
    },
    Input(Bytes),
    CloseInput,
    Taken(u32),
    WatchTree,
    KillLeftovers,
    /// Its process is dropped; what it left in the background is looked after as before.
    Drop,
}

variants!(Down {
    0 => Call(call),
    1 => Signal(signal),
    2 => Resize { rows, cols },
    3 => Input(bytes),
    4 => CloseInput,
    5 => Taken(bytes),
    6 => WatchTree,
    7 => KillLeftovers,
    8 => Drop,
});

/// From the place to here.
#[derive(Debug)]
pub enum Up {
    Answer(Result<Answer, Error>),
    Stdout(Bytes),
    Stderr(Bytes),
    /// So many bytes of input were used.
    InputTaken(u32),
    /// Nobody reads the input any more.
    InputClosed,
    Exited {
        exit: Exit,
        leftovers: bool,
    },
    LeftoversGone,
    TreeGone,
    /// The hosts that it asked for until its end.
    Asked(Vec<Asked>),
}

variants!(Up {
    0 => Answer(answer),
    1 => Stdout(bytes),
    2 => Stderr(bytes),
    3 => InputTaken(bytes),
    4 => InputClosed,
    5 => Exited { exit, leftovers },
    6 => LeftoversGone,
    7 => TreeGone,
    8 => Asked(hosts),
});
