//! How long a `tools/call` takes through our client, beside the bare client of the protocol's library, with the same
//! server: `cargo bench -p ostler --bench mcp_round_trip`. It prints medians and asserts nothing.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use ostler_engine::SandboxLauncher;
use ostler_mcp::{Caller, Connection, Endpoint, McpSettings, Program, Server, ServerContext};
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Map, Value, json};
use std::io::{BufRead as _, Write as _};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const SERVE: &str = "serve";
const CALLS: usize = 2_000;
const ROUNDS: usize = 5;

fn main() -> anyhow::Result<()> {
    ostler_host::watchdog::run_if_asked();
    if std::env::args().nth(1).as_deref() == Some(SERVE) {
        return serve();
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure())
}

/// As small as a server can be.
fn serve() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else {
            continue;
        };
        let answer = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "bench", "version": "1"},
            }}),
            "tools/call" => json!({"result": {"content": [{"type": "text", "text": "ok"}]}}),
            _ => json!({"error": {"code": -32601, "message": "no"}}),
        };
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

async fn measure() -> anyhow::Result<()> {
    let this = std::env::current_exe()?;
    let mut child = tokio::process::Command::new(&this)
        .arg(SERVE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (Some(read), Some(write)) = (child.stdout.take(), child.stdin.take()) else {
        anyhow::bail!("the server has no pipes");
    };
    let bare = ().serve(AsyncRwTransport::new_client(read, write)).await?;
    let folder = tempfile::tempdir()?;
    let program = Program {
        argv: vec![this.into(), SERVE.into()],
        cwd: Some(folder.path().to_owned()),
        env: Vec::new(),
        confinement: Default::default(),
    };
    let server = Server::new("bench", Endpoint::Program(program));
    let context = ServerContext {
        version: "0".into(),
        launcher: Arc::new(SandboxLauncher {
            host: Arc::new(ostler_host::Local::new()),
            env: Vec::new(),
            sandbox: Default::default(),
            writable: Vec::new(),
            root: folder.path().to_owned(),
            user_home: None,
            there: None,
        }),
        shell: Vec::new(),
        root: folder.path().to_owned(),
        cache: None,
        interactive: false,
        settings: Arc::new(McpSettings::default()),
    };
    let ours = Connection::open(&server, &context, CancellationToken::new()).await;
    let ours = ours.map_err(|failed| anyhow::anyhow!(failed.why))?;
    let caller = Caller {
        cancel: &CancellationToken::new(),
        on_progress: &|_| {},
        asker: None,
    };
    println!("{CALLS} calls a round; medians");
    for _ in 0..ROUNDS {
        let mut took = Vec::new();
        for _ in 0..CALLS {
            let start = Instant::now();
            bare.call_tool(CallToolRequestParams::new("go")).await?;
            took.push(start.elapsed());
        }
        let floor = median(&mut took);
        took.clear();
        for _ in 0..CALLS {
            let start = Instant::now();
            let limit = Duration::from_secs(10);
            ours.call("go", Map::new(), limit, &caller).await?;
            took.push(start.elapsed());
        }
        let own = median(&mut took);
        println!(
            "bare {:.3} ms, ours {:.3} ms, {:+.3} ms, ratio {:.2}",
            ms(floor),
            ms(own),
            ms(own) - ms(floor),
            ms(own) / ms(floor)
        );
    }
    Ok(())
}

fn median(all: &mut [Duration]) -> Duration {
    all.sort();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
