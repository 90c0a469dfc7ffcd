//! What clients of a session are sent: the feed of events, the backlog of a client that attaches late, and the register of
//! the sessions that run in this process.

pub mod backlog;
pub mod feed;
pub mod live;
