//! How full the window of the model is, and what the settings say is done about it.

use ostler_wire::Body;
use std::mem::{Discriminant, discriminant};
use std::path::PathBuf;

/// The share of the prompt that a fold must save when the person did not ask for it.
pub const MIN_SHARE_SAVED: u64 = 10;

/// What is done when the window fills up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    #[default]
    Compact,
    /// A handoff is offered.
    Handoff,
    /// It is told, no more.
    Warn,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextSettings {
    pub strategy: Strategy,
    /// How full the window is when work is folded.
    pub ratio: f64,
    /// Bytes that the originals of all sessions may take.
    pub archive_quota: u64,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            strategy: Strategy::Compact,
            ratio: 0.8,
            archive_quota: 500_000_000,
        }
    }
}

/// What folding goes by in a session.
pub struct Folding {
    pub settings: ContextSettings,
    pub gauge: Gauge,
    /// Where what is folded is archived; nowhere when nothing is saved.
    pub archive: Option<PathBuf>,
}

impl Folding {
    pub fn new(settings: ContextSettings, archive: Option<PathBuf>) -> Self {
        Self {
            settings,
            gauge: Gauge::default(),
            archive,
        }
    }
}

/// How full the window was at the last request, and what was said about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauge {
    pub tokens: Option<u64>,
    pub warned: bool,
    /// What to do about it, once.
    pub asked: bool,
    /// The person wants the prompt sent, although it alone is larger than the window.
    pub agreed: bool,
    /// Why nothing was folded, as the person was told.
    pub told: Option<Discriminant<Pointless>>,
    /// The window and the bytes of the prompt when a fold was of no use.
    pub tried: Option<(u64, u64)>,
}

impl Gauge {
    pub fn note(&mut self, body: &Body) {
        if let Body::Usage(usage) = body
            && usage.role.is_none()
        {
            self.tokens = Some(usage.input + usage.output).filter(|tokens| *tokens > 0);
        }
        if let Body::Compaction(_) = body {
            *self = Self::default();
        }
    }

    /// Whether too little has changed since the last time to look through the log again.
    pub fn is_hopeless(&self, window: u64, bytes: u64) -> bool {
        let least = |before: u64| before + before / MIN_SHARE_SAVED;
        self.tried
            .is_some_and(|(then, before)| then == window && bytes < least(before))
    }

    /// Whether this is news for the person.
    pub fn tells(&mut self, why: Pointless) -> bool {
        let why = discriminant(&why);
        self.told.replace(why) != Some(why)
    }
}

/// Why a fold would be of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointless {
    /// There is next to nothing to fold.
    Little,
    /// What no fold takes fills the window.
    Pinned { tokens: u64 },
}
