//! Model servers on this machine. Only `setup` looks for them, and only on the loopback address.

use crate::cmd::probe::{Answer, Endpoint, Probe};
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
    /// The command that starts it, where there is one for all.
    start: Option<String>,
    /// The command that fetches a first model.
    get_model: Option<String>,
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    pub name: String,
    pub base_url: String,
    pub models: Vec<String>,
}

/// A server that does not run, and how it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedServer {
    pub name: String,
    pub start: String,
}

/// The servers that can be started and are none of those that run.
pub fn stopped(running: &[LocalServer]) -> Vec<StoppedServer> {
    let runs = |row: &Row| running.iter().any(|server| server.name == row.name);
    let rows = table().into_iter().filter(|row| !runs(row));
    rows.filter_map(|row| {
        let (name, start) = (row.name, row.start?);
        Some(StoppedServer { name, start })
    })
    .collect()
}

/// The command that fetches a first model for a server.
pub fn get_model(name: &str) -> Option<String> {
    table().into_iter().find(|row| row.name == name)?.get_model
}

fn table() -> Vec<Row> {
    toml::from_str::<Table>(TABLE).map_or_else(|_| Vec::new(), |table| table.server)
}

/// Every usual port that a model server answers on. `kind` is the protocol they all speak.
pub async fn find(kind: &str, language: Language) -> Vec<LocalServer> {
    let Ok(probe) = Probe::direct(language) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for row in table() {
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
        let [first, ..] = table.server.as_slice() else {
            return;
        };
        let running = LocalServer {
            name: first.name.clone(),
            base_url: String::new(),
            models: Vec::new(),
        };
        assert_eq!(stopped(&[])[0].name, first.name);
        assert!(stopped(&[running]).is_empty());
        assert!(get_model(&first.name).is_some());
    }
}
