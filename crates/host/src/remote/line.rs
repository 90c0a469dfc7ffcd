//! Our end of a link that is made again when it breaks: tries with growing pauses, for as long as the helper waits. What runs
//! there goes on meanwhile.

use super::carrier::{self, BUFFER, Carrier, Closer, Greeting, Over};
use super::frame::{MAGIC, Reader};
use super::hello::Hello;
use super::link::Unreached;
use super::program::{Dial, Dialed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::sync::watch;
use tokio::time::Instant;

/// The pauses between tries.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How long a line that closes is waited for.
const FAREWELL: Duration = Duration::from_secs(3);

/// What becomes of a line.
#[derive(Clone)]
pub struct Line {
    closer: Closer,
    /// Why it is cut now, while it is being made again. Closed when it has ended.
    state: watch::Receiver<Option<String>>,
    /// Why it has ended for good.
    pub lost: Arc<OnceLock<String>>,
}

impl Line {
    /// Why it is cut now, and whenever that changes.
    pub fn state(&self) -> watch::Receiver<Option<String>> {
        self.state.clone()
    }

    /// Says that all is over, and waits until the other end has heard it. What runs there ends at once.
    pub async fn close(&self) {
        self.closer.close();
        let mut state = self.state.clone();
        let ended = async {
            // While it is cut nobody hears it.
            while state.borrow_and_update().is_none() && state.changed().await.is_ok() {}
        };
        let _late = tokio::time::timeout(FAREWELL, ended).await;
    }
}

/// How a line is made.
pub struct LineSettings {
    pub dial: Dial,
    pub hello: Hello,
    /// How long one try may take.
    pub patience: Duration,
}

enum Refused {
    Gone,
    Unreached(Unreached),
}

impl LineSettings {
    /// The line, and the stream that it carries.
    pub async fn open(self, first: Duration) -> Result<(Line, DuplexStream), Unreached> {
        let (ours, theirs) = tokio::io::duplex(BUFFER);
        let (dialed, received) = match self.dial(None, first).await {
            Ok(dialed) => dialed,
            Err(Refused::Gone) => return Err(Unreached::Broken("it refused".into())),
            Err(Refused::Unreached(error)) => return Err(error),
        };
        let carrier = Carrier::new(theirs);
        let (says, state) = watch::channel(None);
        let line = Line {
            closer: carrier.closer(),
            state,
            lost: Arc::default(),
        };
        let lost = line.lost.clone();
        tokio::spawn(async move {
            let why = self.hold(carrier, (dialed, received), &says).await;
            // Before the carrier's stream ends, whose reader looks for it.
            if let Some((why, carrier)) = why {
                let _first = lost.set(why);
                drop(carrier);
            }
        });
        Ok((line, ours))
    }

    /// Over one connection after the other. Why there is none any more, unless everything was said.
    async fn hold(
        &self,
        carrier: Carrier,
        first: (Dialed, u64),
        says: &watch::Sender<Option<String>>,
    ) -> Option<(String, Carrier)> {
        let (mut dialed, mut received) = first;
        loop {
            let why = match carrier
                .carry(received, &mut dialed.input, &mut dialed.output)
                .await
            {
                Over::Done => {
                    // The program has passed everything on when it ends.
                    let mut rest = tokio::io::sink();
                    let ended = tokio::io::copy(&mut dialed.input, &mut rest);
                    let _late = tokio::time::timeout(FAREWELL, ended).await;
                    return None;
                }
                Over::Broken(why) => why,
            };
            drop(dialed);
            says.send_replace(Some(why.clone()));
            match self.again(&carrier, why, says).await {
                Ok(Some(next)) => (dialed, received) = next,
                Ok(None) => return None,
                Err(why) => return Some((why, carrier)),
            }
            says.send_replace(None);
        }
    }

    /// Tries until it is there, or all time is over, or it is not wanted any more.
    async fn again(
        &self,
        carrier: &Carrier,
        why: String,
        says: &watch::Sender<Option<String>>,
    ) -> Result<Option<(Dialed, u64)>, String> {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut last = why;
        loop {
            if carrier.closer().is_closed() {
                return Ok(None);
            }
            let known = Some(carrier.received());
            match self.dial(known, self.patience).await {
                Ok(next) => return Ok(Some(next)),
                Err(Refused::Gone) => {
                    return Err("the helper has ended there, and what it ran with it".into());
                }
                Err(Refused::Unreached(error)) => last = told(error).unwrap_or(last),
            }
            // Why it stays cut is often another thing than why it was.
            says.send_if_modified(|said| {
                let is_news = said.as_ref() != Some(&last);
                *said = Some(last.clone());
                is_news
            });
            if begun.elapsed() + pause > self.hello.grace {
                return Err(last);
            }
            tokio::time::sleep(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// One connection to a helper that is new, or to the one that runs, and how much of ours it has received.
    async fn dial(&self, known: Option<u64>, patience: Duration) -> Result<(Dialed, u64), Refused> {
        let hello = Hello {
            known,
            ..self.hello.clone()
        };
        let dialed = (self.dial)().await;
        let mut dialed =
            dialed.map_err(|error| Refused::Unreached(Unreached::Broken(error.to_string())))?;
        let greeting = tokio::time::timeout(patience, greet(&mut dialed, &hello)).await;
        let error = match greeting {
            Ok(Ok(Greeting::Welcome(received))) => return Ok((dialed, received)),
            Ok(Ok(Greeting::Gone)) => return Err(Refused::Gone),
            Ok(Err(error)) => error,
            Err(_) => Unreached::Silent {
                seconds: patience.as_secs(),
            },
        };
        Err(Refused::Unreached(dialed.explain(error).await))
    }
}

async fn greet(dialed: &mut Dialed, hello: &Hello) -> Result<Greeting, Unreached> {
    // Nothing is sent before: a login script could read it.
    let mut reader = Reader::new(&mut dialed.input);
    reader.skip_to_magic().await.map_err(Unreached::NoHelper)?;
    let broken = |error: std::io::Error| Unreached::Broken(error.to_string());
    dialed.output.write_all(MAGIC).await.map_err(broken)?;
    hello.send(&mut dialed.output).await.map_err(broken)?;
    carrier::greeting(&mut dialed.input).await.map_err(broken)
}

fn told(error: Unreached) -> Option<String> {
    match error {
        Unreached::NoHelper(said) | Unreached::Broken(said) => {
            Some(said.trim().to_owned()).filter(|said| !said.is_empty())
        }
        Unreached::Silent { seconds } => Some(format!("nothing answered within {seconds} seconds")),
        Unreached::OtherVersion { .. } => None,
    }
}
