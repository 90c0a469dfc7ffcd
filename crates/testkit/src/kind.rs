//! The four wire protocols by their endpoints. Knows paths and config names, no message shapes.

/// One wire protocol the mock server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `POST …/chat/completions`
    Chat,
    /// `POST …/responses`
    Responses,
    /// `POST …/v1/messages`
    Messages,
    /// `POST …/v1beta/models/{model}:streamGenerateContent` and `:generateContent`
    Gemini,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Chat, Kind::Responses, Kind::Messages, Kind::Gemini];

    /// The `kind` of a `[[providers]]` entry.
    pub fn config_name(self) -> &'static str {
        match self {
            Kind::Chat => "openai",
            Kind::Responses => "openai-responses",
            Kind::Messages => "anthropic",
            Kind::Gemini => "gemini",
        }
    }

    /// Short name, as in test titles and in the error table.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Chat => "chat",
            Kind::Responses => "responses",
            Kind::Messages => "messages",
            Kind::Gemini => "gemini",
        }
    }

    /// What follows the server's URL in a provider's `base_url`.
    pub fn base_path(self) -> &'static str {
        match self {
            Kind::Chat | Kind::Responses => "/v1",
            Kind::Messages | Kind::Gemini => "",
        }
    }

    /// The path a client posts to, streaming where the path decides that.
    pub fn path(self, model: &str) -> String {
        match self {
            Kind::Chat => "/v1/chat/completions".into(),
            Kind::Responses => "/v1/responses".into(),
            Kind::Messages => "/v1/messages".into(),
            Kind::Gemini => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
        }
    }

    /// Which protocol a request path belongs to; `None` for any other route.
    pub fn of_path(path: &str) -> Option<Kind> {
        let path = path.split('?').next().unwrap_or_default();
        if path.ends_with("/chat/completions") {
            Some(Kind::Chat)
        } else if path.ends_with("/responses") {
            Some(Kind::Responses)
        } else if path.ends_with("/v1/messages") {
            Some(Kind::Messages)
        } else if path.contains("/models/")
            && (path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent"))
        {
            Some(Kind::Gemini)
        } else {
            None
        }
    }
}
