//! What unit tests share: entries made by hand.

pub use ostler_store::testing::*;
