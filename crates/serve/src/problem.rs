//! Errors as `application/problem+json`.

use crate::backend::{Fault, Refusal};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_wire::{Language, Word};
use serde::Serialize;
use utoipa::ToSchema;

/// Seconds after which a client that asked too often may ask again.
pub const RETRY_AFTER: u32 = 60;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub kind: Kind,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Unauthorized,
    ForbiddenHost,
    ForbiddenOrigin,
    NotFound,
    TooLarge,
    RateLimited,
    SessionClosed,
    Conflict,
    InvalidInput,
    Timeout,
    MethodNotAllowed,
    Failed,
}

/// An error as a client reads it.
#[derive(Serialize, ToSchema)]
pub struct ProblemBody {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    /// What programs decide by.
    kind: &'static str,
}

impl Kind {
    const fn parts(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized", "Log in first"),
            Self::ForbiddenHost => (StatusCode::FORBIDDEN, "forbidden_host", "Another host"),
            Self::ForbiddenOrigin => (StatusCode::FORBIDDEN, "forbidden_origin", "Another page"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", "Not found"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large", "Too large"),
            Self::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "rate_limited", "Too often"),
            Self::SessionClosed => (StatusCode::GONE, "session_closed", "The session is over"),
            Self::Conflict => (StatusCode::CONFLICT, "conflict", "Not now"),
            Self::InvalidInput => (StatusCode::BAD_REQUEST, "invalid_input", "Not understood"),
            Self::Timeout => (StatusCode::REQUEST_TIMEOUT, "timeout", "Too slow"),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "Not with this method",
            ),
            Self::Failed => (StatusCode::INTERNAL_SERVER_ERROR, "failed", "It failed"),
        }
    }
}

impl Problem {
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
        }
    }

    pub fn unauthorized(language: Language) -> Self {
        Self::new(Kind::Unauthorized, language.say(Word::ServeUnauthorized))
    }

    pub fn closed(language: Language) -> Self {
        Self::new(Kind::SessionClosed, language.say(Word::SessionEnded))
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.kind {
            Fault::NotFound => Kind::NotFound,
            Fault::Conflict => Kind::Conflict,
            Fault::Invalid => Kind::InvalidInput,
            Fault::Failed => Kind::Failed,
        };
        Self::new(kind, refusal.message)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, kind, title) = self.kind.parts();
        let body = ProblemBody {
            r#type: "about:blank",
            title,
            status: status.as_u16(),
            detail: self.detail,
            kind,
        };
        let text = serde_json::to_string(&body).unwrap_or_default();
        let mut response = (status, text).into_response();
        let headers = response.headers_mut();
        let json = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, json);
        if self.kind == Kind::RateLimited {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER.into());
        }
        response
    }
}
