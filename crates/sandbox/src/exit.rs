//! How a program ended.

/// How a program ended: a code, or the signal that ended it, or neither when its end was lost with the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Exit {
    pub const LOST: Exit = Exit {
        code: None,
        signal: None,
    };

    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}
