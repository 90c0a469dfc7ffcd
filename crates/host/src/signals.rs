//! The signals that end work, without the system's names for them.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many parts of the program catch signals.
static HANDLERS: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// The system, or whoever looks after us, wants us gone.
    Terminate,
}

/// Stops this process as Ctrl-Z would, until somebody brings it back.
#[cfg(unix)]
pub fn suspend() -> io::Result<()> {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
    Ok(())
}

#[cfg(not(unix))]
pub fn suspend() -> io::Result<()> {
    Ok(())
}

/// Catches them from now on.
pub struct Signals {
    _handler: Handler,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
    /// What would end the process at once, with nothing put in order.
    #[cfg(unix)]
    others: Vec<tokio::signal::unix::Signal>,
}

/// Counts one that catches signals for as long as it does.
struct Handler;

impl Handler {
    fn new() -> Self {
        HANDLERS.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        HANDLERS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The next signal that nobody else catches. From its first call on no signal ends the process by itself.
pub async fn unhandled() -> io::Result<Stop> {
    let mut signals = Signals::new()?;
    loop {
        let stop = signals.next().await;
        if HANDLERS.load(Ordering::SeqCst) == 1 {
            return Ok(stop);
        }
    }
}

#[cfg(unix)]
fn deadly() -> Vec<tokio::signal::unix::SignalKind> {
    use tokio::signal::unix::SignalKind;
    let numbers = [
        libc::SIGXCPU,
        libc::SIGVTALRM,
        libc::SIGPROF,
        libc::SIGTRAP,
        libc::SIGSYS,
        // Who really aborts ends by it all the same: the second one is not caught.
        libc::SIGABRT,
        #[cfg(target_os = "linux")]
        libc::SIGPWR,
        #[cfg(target_os = "linux")]
        libc::SIGSTKFLT,
    ];
    let mut all = vec![
        SignalKind::quit(),
        SignalKind::alarm(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
        SignalKind::io(),
    ];
    all.extend(numbers.into_iter().map(SignalKind::from_raw));
    #[cfg(target_os = "linux")]
    all.extend((libc::SIGRTMIN()..=libc::SIGRTMAX()).map(SignalKind::from_raw));
    all
}

#[cfg(unix)]
async fn any_of(signals: &mut [tokio::signal::unix::Signal]) {
    std::future::poll_fn(|context| {
        let mut polled = signals.iter_mut().map(|one| one.poll_recv(context));
        match polled.any(|one| one.is_ready()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

impl Signals {
    #[cfg(unix)]
    pub fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            _handler: Handler::new(),
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            others: deadly().into_iter().map(signal).collect::<Result<_, _>>()?,
        })
    }

    #[cfg(not(unix))]
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            _handler: Handler::new(),
        })
    }

    /// The next one.
    #[cfg(unix)]
    pub async fn next(&mut self) -> Stop {
        tokio::select! {
            _ = self.interrupt.recv() => Stop::Interrupt,
            _ = self.terminate.recv() => Stop::Terminate,
            _ = self.hang_up.recv() => Stop::Terminate,
            () = any_of(&mut self.others) => Stop::Terminate,
        }
    }

    #[cfg(not(unix))]
    pub async fn next(&mut self) -> Stop {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Stop::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}
