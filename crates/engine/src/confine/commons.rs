//! What the commands of one session have in common: their network, made with the first of them, and the proxy on it.

use crate::proxy::Proxy;
use ostler_host::sandbox::{Choice, Error, SharedNetwork};
use std::io;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Dropping it ends the proxy; the network goes with the last command in it.
#[derive(Default)]
pub struct Commons {
    made: OnceCell<Option<Common>>,
}

pub struct Common {
    pub network: Arc<SharedNetwork>,
    pub proxy: Proxy,
}

impl Commons {
    /// `None` where the layer has no network to share. What could not be made is tried again by the next command.
    pub async fn get(&self, layer: Choice) -> Result<Option<&Common>, Error> {
        let made = self.made.get_or_try_init(|| make(layer)).await?;
        Ok(made.as_ref())
    }
}

async fn make(layer: Choice) -> Result<Option<Common>, Error> {
    let opened = tokio::task::spawn_blocking(move || SharedNetwork::open(layer));
    let lost = |_| Error::Network {
        source: io::ErrorKind::Interrupted.into(),
    };
    let Some((network, door)) = opened.await.map_err(lost)?? else {
        return Ok(None);
    };
    let proxy = Proxy::start(door).map_err(|source| Error::Network { source })?;
    Ok(Some(Common {
        network: Arc::new(network),
        proxy,
    }))
}
