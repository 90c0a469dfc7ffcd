//! Where a call works, and for whom: its folder, its client and conversation, and the configuration that holds there.

use super::Delegation;
use crate::outcome::FailureKind;
use crate::run::Failure;
use crate::services::LoadedSetup;
use crate::setup;
use std::path::PathBuf;

pub struct Place {
    /// Absolute; a folder.
    pub cwd: PathBuf,
    pub client: Option<String>,
    pub conversation_id: Option<String>,
}

/// A text that is not blank.
pub fn named(text: Option<&str>) -> Option<String> {
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    text.map(str::to_owned)
}

impl Delegation {
    pub(super) fn place(
        &self,
        cd: Option<&str>,
        client: Option<&str>,
        conversation_id: Option<&str>,
    ) -> Result<Place, Failure> {
        let own = &self.defaults;
        let folder = match named(cd) {
            Some(cd) => own.cwd.join(cd),
            None => own.cwd.clone(),
        };
        let cwd = folder.canonicalize().ok().filter(|folder| folder.is_dir());
        let Some(cwd) = cwd else {
            let why = format!("`cd` is no folder: {}", folder.display());
            return Err(Failure::new(FailureKind::Request, why));
        };
        Ok(Place {
            cwd,
            client: named(client).or(named(own.client.as_deref())),
            conversation_id: named(conversation_id).or(named(own.conversation_id.as_deref())),
        })
    }

    /// The configuration of a place, checked as a whole.
    pub(super) fn setup(&self, place: &Place) -> Result<LoadedSetup, Failure> {
        let loaded = self
            .services
            .setups
            .load(&place.cwd, place.client.as_deref());
        let checked = loaded.and_then(|loaded| setup::check(&loaded.setup).map(|()| loaded));
        checked.map_err(|error| {
            let why = format!("the configuration of agents cannot be used: {error}");
            Failure::new(FailureKind::Setup, why)
        })
    }
}
