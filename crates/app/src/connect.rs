//! The hidden mode that joins its standard streams to a host through the sandbox's proxy, for ssh. It runs inside of the
//! sandbox, so it can do nothing that the command could not.

use ostler_engine::confine::{CONNECT_MODE, authorization};
use ostler_host::sandbox::PROXY;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::process::ExitCode;

/// Longest answer of the proxy.
const MAX_HEAD: usize = 8 << 10;

/// To be called early in `main`.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args().skip(1);
    if args.next()? != CONNECT_MODE {
        return None;
    }
    let (host, port) = (
        args.next().unwrap_or_default(),
        args.next().unwrap_or_default(),
    );
    Some(match connect(&host, &port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _unseen = writeln!(io::stderr(), "ostler: {host}:{port}: {error}");
            ExitCode::FAILURE
        }
    })
}

fn connect(host: &str, port: &str) -> io::Result<()> {
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    let mut server = TcpStream::connect(PROXY)?;
    server.set_nodelay(true)?;
    let login = std::env::var("https_proxy")
        .ok()
        .as_deref()
        .and_then(authorization);
    let login = login.map_or_else(String::new, |l| format!("Proxy-Authorization: {l}\r\n"));
    write!(server, "CONNECT {host}:{port} HTTP/1.1\r\n{login}\r\n")?;
    let head = head(&mut server)?;
    if head.split(' ').nth(1) != Some("200") {
        let mut why = String::new();
        let _partly = (&server).take(MAX_HEAD as u64).read_to_string(&mut why);
        return Err(io::Error::other(why.trim().to_owned()));
    }
    let mut up = server.try_clone()?;
    let (mut input, mut output) = (bare(&io::stdin())?, bare(&io::stdout())?);
    std::thread::spawn(move || {
        let _gone = pump(&mut input, &mut up);
        let _gone = up.shutdown(Shutdown::Write);
    });
    pump(&mut server, &mut output)
}

/// Passes on what comes, as it comes. `io::copy` has the kernel do it, which keeps back what it takes for the start of
/// something longer, while the other side waits for just that.
fn pump(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = [0; 16 << 10];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(buffer.get(..count).unwrap_or_default())?;
    }
}

/// Without the buffer of the usual one, which keeps back what does not end a line.
fn bare(stream: &impl AsFd) -> io::Result<File> {
    Ok(stream.as_fd().try_clone_to_owned()?.into())
}

/// Byte by byte: what follows belongs to the host.
fn head(server: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < MAX_HEAD {
        let mut byte = [0];
        server.read_exact(&mut byte)?;
        head.extend(byte);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}
