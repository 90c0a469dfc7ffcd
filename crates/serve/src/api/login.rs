//! Logging in and out, and who one is.

use super::{MAX_BODY, read};
use crate::App;
use crate::assets;
use crate::auth::{COOKIE, Caller, LOGIN_LIFE, Refused};
use crate::gate::{self, From, Scheme};
use crate::problem::{Problem, ProblemBody};
use crate::settings::Auth;
use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use ostler_wire::{Language, Word};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub struct Me {
    version: String,
    /// `none`, `token` or `password`.
    auth_mode: &'static str,
    /// What a page sends as `X-Ostler-CSRF` with each change; empty for programs, which need none.
    csrf: String,
    /// `en` or `zh`.
    language: &'static str,
}

#[derive(Deserialize, ToSchema)]
pub struct Login {
    token: Option<String>,
    password: Option<String>,
}

/// Who one is, and what the page needs to know.
#[utoipa::path(get, path = "/api/me", tag = "login", responses(
    (status = 200, body = Me), (status = 401, body = ProblemBody)))]
pub async fn me(State(app): State<Arc<App>>, Extension(caller): Extension<Caller>) -> Json<Me> {
    let about = app.backend.about();
    Json(Me {
        version: about.version,
        auth_mode: app.access.mode(),
        csrf: caller.csrf().unwrap_or_default().to_owned(),
        language: about.language.name(),
    })
}

/// A form to log in with.
#[utoipa::path(get, path = "/login", tag = "login", responses((status = 200, content_type = "text/html")))]
pub async fn page(State(app): State<Arc<App>>) -> Response {
    form(&app, None)
}

/// Logs in, by a form or as JSON. The cookie of the answer stands for the login.
#[utoipa::path(post, path = "/login", tag = "login", request_body = Login, responses(
    (status = 204, description = "JSON: logged in"), (status = 303, description = "form: logged in"),
    (status = 401, body = ProblemBody), (status = 429, body = ProblemBody)))]
pub async fn log_in(
    State(app): State<Arc<App>>,
    Extension(From(from)): Extension<From>,
    Extension(scheme): Extension<Scheme>,
    request: Request,
) -> Response {
    let language = app.backend.about().language;
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|value| value.to_str().ok());
    let is_json = kind.is_some_and(|kind| kind.starts_with("application/json"));
    let body = match read(request.into_body(), MAX_BODY, language).await {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    let login: Login = match is_json {
        true => match serde_json::from_slice(&body) {
            Ok(login) => login,
            Err(e) => return super::invalid(&e.to_string(), language).into_response(),
        },
        false => of_form(&body),
    };
    let checked = match (login.token, login.password) {
        (Some(token), _) => app.access.check_token(token.trim(), from),
        (None, Some(password)) => app.access.check_password(password, from).await,
        (None, None) => Err(Refused::Wrong),
    };
    match (checked, is_json) {
        (Ok(()), true) => logged_in(&app, scheme, StatusCode::NO_CONTENT),
        (Ok(()), false) => logged_in(&app, scheme, StatusCode::SEE_OTHER),
        (Err(refused), true) => wrong(&app, refused).into_response(),
        (Err(refused), false) => form(&app, Some(refused)),
    }
}

/// Logs this browser out; its streams end.
#[utoipa::path(post, path = "/logout", tag = "login", responses((status = 204)))]
pub async fn log_out(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    if let Some(cookie) = gate::cookie(&headers) {
        app.access.log_out(cookie);
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let gone = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    if let Ok(gone) = HeaderValue::from_str(&gone) {
        response.headers_mut().insert(header::SET_COOKIE, gone);
    }
    response
}

/// `/?token=…`: the token leaves the address bar at once.
pub fn by_address(app: &App, token: &str, from: From, scheme: Scheme) -> Response {
    match app.access.check_token(token, from.0) {
        Ok(()) => logged_in(app, scheme, StatusCode::SEE_OTHER),
        Err(refused) => form(app, Some(refused)),
    }
}

fn logged_in(app: &App, scheme: Scheme, status: StatusCode) -> Response {
    let secure = match scheme {
        Scheme::Https => "; Secure",
        Scheme::Http => "",
    };
    let cookie = format!(
        "{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}",
        app.access.log_in(),
        LOGIN_LIFE.as_secs()
    );
    let mut response = status.into_response();
    let headers = response.headers_mut();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    if status == StatusCode::SEE_OTHER {
        headers.insert(header::LOCATION, HeaderValue::from_static("/"));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn wrong(app: &App, refused: Refused) -> Problem {
    let language = app.backend.about().language;
    match refused {
        Refused::Wrong => Problem {
            detail: language.say(Word::ServeWrong).into(),
            ..Problem::unauthorized(language)
        },
        Refused::TooOften => gate::refusal(refused, app),
    }
}

fn of_form(body: &[u8]) -> Login {
    let mut login = Login {
        token: None,
        password: None,
    };
    for (name, value) in url::form_urlencoded::parse(body) {
        match name.as_ref() {
            "token" => login.token = Some(value.into_owned()),
            "password" => login.password = Some(value.into_owned()),
            _ => {}
        }
    }
    login
}

fn form(app: &App, refused: Option<Refused>) -> Response {
    let language = app.backend.about().language;
    let say = |word: Word| language.say(word);
    let (name, label) = match app.settings.auth {
        Auth::None | Auth::Token(_) => ("token", say(Word::ServeToken)),
        Auth::Password { .. } => ("password", say(Word::ServePassword)),
    };
    let (status, told) = match refused {
        None => (StatusCode::OK, String::new()),
        Some(refused) => {
            let status = match refused {
                Refused::Wrong => StatusCode::UNAUTHORIZED,
                Refused::TooOften => StatusCode::TOO_MANY_REQUESTS,
            };
            let why = wrong(app, refused).detail;
            (
                status,
                format!("<p class=\"wrong\" role=\"alert\">{why}</p>"),
            )
        }
    };
    let hint = match app.settings.auth {
        Auth::None | Auth::Token(_) => say(Word::ServeTokenHint),
        Auth::Password { .. } => "",
    };
    let lang = match language {
        Language::English => "en",
        Language::Chinese => "zh-CN",
    };
    let button = say(Word::ServeLogIn);
    let page = format!(
        "<!doctype html>\n<html lang=\"{lang}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Ostler</title>\
         <link rel=\"icon\" href=\"/icon.svg\"><link rel=\"stylesheet\" href=\"/login.css?{}\"></head><body><main>\
         <h1><img src=\"/icon.svg\" alt=\"\" width=\"30\" height=\"30\"> Ostler</h1>{told}\
         <form method=\"post\" action=\"/login\"><label for=\"key\">{label}</label>\
         <input id=\"key\" name=\"{name}\" type=\"password\" autocomplete=\"current-password\" required autofocus>\
         <button>{button}</button></form><p>{}</p></main></body></html>\n",
        assets::find("login.css").map_or("", |file| file.hash),
        super::docs::marked(hint),
    );
    let mut response = (status, Body::from(page)).into_response();
    let headers = response.headers_mut();
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, html);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A page that names no referrer sends its form without saying where it comes from.
    let own = HeaderValue::from_static("same-origin");
    headers.insert(header::REFERRER_POLICY, own);
    response
}
