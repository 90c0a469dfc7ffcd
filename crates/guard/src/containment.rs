//! What holds the commands of a session, and how one process tells it to another.

/// What holds the commands of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Containment {
    /// A layer of the sandbox works.
    Sandbox,
    /// The same, and the person gave commands the whole network.
    SandboxOnline,
    /// The person turned the sandbox off, which is consent to run commands without it.
    Waived,
    /// No layer works, and nobody consented to that.
    #[default]
    Missing,
}

impl Containment {
    /// As another process of the same session reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sandbox => "on",
            Self::SandboxOnline => "online",
            Self::Waived | Self::Missing => "off",
        }
    }

    /// Whether commands are held here no less than where this is what holds them.
    pub fn holds_as_much_as(self, name: &str) -> bool {
        let rank = |name: &str| match name {
            "off" => 0,
            "online" => 1,
            _ => 2,
        };
        rank(self.name()) >= rank(name)
    }

    pub fn has_layer(self) -> bool {
        match self {
            Self::Sandbox | Self::SandboxOnline => true,
            Self::Waived | Self::Missing => false,
        }
    }
}
