//! The server seen from the client's side of a socket.

mod answers;
mod client;
mod faults;
mod service;
