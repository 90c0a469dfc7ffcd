//! The side that owns the session: one connection is one client.

use crate::frame::{
    Attached, Fetch, FetchWhat, Fetched, FromClient, Hello, LineReader, PROTOCOL, Pong, Refusal,
    Welcome, to_line,
};
use ostler_wire::{BoxFuture, Client, Delta, Event, HubError, Op};
use std::io;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

/// Opens another client of a session that runs here.
pub trait Attach: Send + Sync {
    fn attach(
        &self,
        session: String,
        after: Option<u64>,
    ) -> BoxFuture<'_, Result<Client, HubError>>;
    /// The time, for events that carry none of their own.
    fn now(&self) -> String;
}

/// Serves one client until it leaves or the session is over.
pub async fn serve<S>(stream: S, version: &str, sessions: &dyn Attach) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite,
{
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = LineReader::new(BufReader::new(reader));
    let Some(line) = reader.next().await? else {
        return Ok(());
    };
    if !line.starts_with("{\"attach\"") {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no greeting"));
    }
    // A greeting that cannot be read is one of another version.
    let wanted = serde_json::from_str::<Hello>(&line).ok();
    let is_ours =
        |hello: &Hello| hello.attach.protocol == PROTOCOL && hello.attach.version == version;
    let Some(Hello { attach: wanted }) = wanted.filter(is_ours) else {
        let version = version.to_owned();
        let protocol = PROTOCOL;
        return refuse(&mut writer, Refusal::Version { protocol, version }).await;
    };
    let mut client = match sessions.attach(wanted.session, wanted.after).await {
        Ok(client) => client,
        Err(error) => {
            let message = error.to_string();
            return refuse(&mut writer, Refusal::NoSession { message }).await;
        }
    };
    let welcome = Welcome::Attached(Box::new(Attached {
        session: client.session_id.clone(),
        client: client.ops.client(),
        version: version.to_owned(),
        after: client.events.last(),
        snapshot: std::mem::take(&mut client.snapshot),
    }));
    writer.write_all(to_line(&welcome)?.as_bytes()).await?;
    loop {
        tokio::select! {
            event = client.events.next() => {
                let Some(event) = event else {
                    return writer.shutdown().await;
                };
                send_events(&mut writer, &mut client, event, &sessions.now()).await?;
            }
            line = reader.next() => {
                let Some(line) = line? else {
                    return Ok(());
                };
                let Ok(frame) = serde_json::from_str::<FromClient>(&line) else {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "an unknown frame"));
                };
                match frame {
                    // The session is not the client's to end: it only leaves.
                    FromClient::Op(line) if matches!(line.op, Op::Close | Op::Finish) => {
                        return writer.shutdown().await;
                    }
                    FromClient::Op(line) => {
                        // Before the session has it: what was not acknowledged has not happened.
                        if let Some(op) = line.id.clone() {
                            let arrived = Event::Delta(Delta::OpArrived { op });
                            write_event(&mut writer, &arrived, &sessions.now()).await?;
                        }
                        if client.ops.send_line(line).await.is_err() {
                            return writer.shutdown().await;
                        }
                    }
                    FromClient::Ping { ping } => {
                        let line = to_line(&Pong { pong: ping })?;
                        writer.write_all(line.as_bytes()).await?;
                    }
                    FromClient::Fetch { fetch } => {
                        for fetched in answer(&client, fetch).await {
                            writer.write_all(to_line(&fetched)?.as_bytes()).await?;
                        }
                    }
                }
            }
        }
    }
}

async fn refuse(writer: &mut (impl AsyncWrite + Unpin), refusal: Refusal) -> io::Result<()> {
    let line = to_line(&Welcome::Refused(refusal))?;
    writer.write_all(line.as_bytes()).await
}

async fn write_event(
    writer: &mut (impl AsyncWrite + Unpin),
    event: &Event,
    now: &str,
) -> io::Result<()> {
    let mut line = event.to_line(now).map_err(io::Error::other)?;
    line.push('\n');
    writer.write_all(line.as_bytes()).await
}

/// Writes an event and all that came with it, at once.
async fn send_events(
    writer: &mut (impl AsyncWrite + Unpin),
    client: &mut Client,
    first: Event,
    now: &str,
) -> io::Result<()> {
    const MAX_AT_ONCE: usize = 256;
    let mut lines = String::new();
    let mut next = Some(first);
    for _ in 0..MAX_AT_ONCE {
        let Some(event) = next else { break };
        lines.push_str(&event.to_line(now).map_err(io::Error::other)?);
        lines.push('\n');
        next = client.events.try_next();
    }
    if let Some(event) = next {
        lines.push_str(&event.to_line(now).map_err(io::Error::other)?);
        lines.push('\n');
    }
    writer.write_all(lines.as_bytes()).await
}

async fn answer(client: &Client, fetch: Fetch) -> Vec<Fetched> {
    let entries = match fetch.what {
        FetchWhat::Branch => client.events.source().branch().await,
        FetchWhat::After(last) => client.events.source().entries_after(last).await,
    };
    Fetched::split(fetch.id, &entries)
}
