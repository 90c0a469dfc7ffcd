//! What our tests and our benchmark stand on: a mock vendor server with scripted answers and
//! faults, throw-away workspaces, and a way to run the binary in them. Uses none of our other
//! crates, so that it can disagree with them.
//!
//! ```
//! use ostler_testkit::{Kind, Place, Server, Step, Stop, TempWorkspace};
//! use serde_json::json;
//!
//! let server = Server::start([
//!     Step::rate_limited(1),
//!     Step::answer()
//!         .reasoning("The test fails, so look first.")
//!         .text("Reading it. ")
//!         .call("read_file", json!({"path": "src/lib.rs"}))
//!         .call("bash", json!({"command": "cargo test"})).id("call_7").split_at(&[3, 9]),
//!     Step::answer().text("Half an ans").cut(Place::Text(2)),
//!     Step::answer().text_in(3, "Done, as far as it goes.").stop(Stop::Length).noise(),
//! ]);
//! let space = TempWorkspace::new();
//! space.write("src/lib.rs", "pub fn one() -> u32 { 2 }\n");
//! space.config(&server, Kind::Messages);
//! // space.run(env!("CARGO_BIN_EXE_ostler")).args(["exec", "-p", "fix it"]).output().ok();
//! // server.request(1).last_user_text(), .tool_names(), .tool_results(), .prompt_bytes() …
//! ```
//!
//! Every request is checked as its vendor would check it and refused with 400 when it is invalid;
//! a test whose server saw an invalid or unscripted request fails when the server is dropped.
//! Reasoning blobs verify themselves: one that comes back altered, or to another model, is invalid.

#[cfg(unix)]
mod agents;
mod captured;
mod kind;
mod lines;
mod mcp;
mod oauth;
mod run;
mod script;
mod seal;
mod server;
#[cfg(unix)]
mod term;
mod workspace;

#[cfg(unix)]
pub use agents::{Act, AgentCall, FakeAgents};
pub use captured::{Captured, Fate};
pub use kind::Kind;
pub use lines::{json_lines, only, types};
pub use mcp::McpServer;
pub use oauth::{CLIENT_ID, Hitch, Issuer, USER_CODE, browse, redirect_of};
pub use run::{Output, Run, Running, Signal};
pub use script::{Break, Place, Step, Stop, Trouble, Usage};
pub use server::{Builder, Server, WAIT};
#[cfg(unix)]
pub use term::{Cell, Look, Term};
pub use workspace::{KEY, KEY_NAME, TempWorkspace, config_text};
