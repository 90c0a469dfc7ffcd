//! Model servers on this machine. Only `setup` looks for them, and only on the loopback address.

use super::probe::{Answer, Endpoint, Probe};
use ostler_wire::Language;
use serde::Deserialize;
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::net::TcpStream;

const TABLE: &str = include_str!("local_servers.toml");
/// A server on this machine takes a connection at once or not at all.
const CONNECT: Duration = Duration::from_millis(300);
/// These ports are used by others too; who does not list models soon is not one of ours.
const LISTING: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize)]
struct Table {
    server: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    port: u16,
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    pub name: String,
    pub base_url: String,
    pub models: Vec<String>,
}

/// Every usual port that a model server answers on. `kind` is the protocol they all speak.
pub async fn find(kind: &str, language: Language) -> Vec<LocalServer> {
    let (Ok(table), Ok(probe)) = (toml::from_str::<Table>(TABLE), Probe::direct(language)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for row in table.server {
        let address = (Ipv4Addr::LOCALHOST, row.port);
        if !matches!(
            tokio::time::timeout(CONNECT, TcpStream::connect(address)).await,
            Ok(Ok(_))
        ) {
            continue;
        }
        let base_url = format!("http://127.0.0.1:{}/v1", row.port);
        let endpoint = Endpoint {
            provider: row.name.clone(),
            kind: kind.to_owned(),
            base_url: base_url.clone(),
            key: None,
            headers: Vec::new(),
        };
        if let Ok(Ok(Answer::Models(models))) =
            tokio::time::timeout(LISTING, probe.models(&endpoint)).await
        {
            found.push(LocalServer {
                name: row.name,
                base_url,
                models,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let table: Table = toml::from_str(TABLE).unwrap();
        assert_eq!(table.server.len(), 4);
    }
}
