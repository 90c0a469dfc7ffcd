//! Projects: the folders that sessions work in, and commands about no session.

use super::schemas::{AskSchema, ViewSchema};
use super::{MAX_BODY, invalid, number, read_json};
use crate::App;
use crate::backend::{Files, Project, UsageRow};
use crate::problem::{Problem, ProblemBody};
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use ostler_wire::{Ask, AskAnswer, View};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::ToSchema;

/// Files that are listed where no limit is given, and at most.
const FILES: usize = 100;
const MAX_FILES: usize = 1000;

/// Days that are summed up where no number is given, and at most.
const DAYS: u16 = 30;
const MAX_DAYS: u16 = 3660;

#[derive(Serialize, ToSchema)]
pub struct UsageList {
    rows: Vec<UsageRow>,
}

#[derive(Serialize, ToSchema)]
pub struct ProjectList {
    projects: Vec<Project>,
}

#[derive(Deserialize, ToSchema)]
pub struct NewProject {
    #[schema(value_type = String)]
    root: PathBuf,
}

#[derive(Deserialize, ToSchema)]
pub struct CommandLine {
    /// Without a slash.
    line: String,
}

#[derive(Serialize, ToSchema)]
pub struct Answer {
    /// As in the JSON stream.
    #[schema(value_type = ViewSchema)]
    view: View,
}

#[derive(Serialize, ToSchema)]
pub struct AskList {
    /// As in the JSON stream.
    #[schema(value_type = Vec<AskSchema>)]
    asks: Vec<Arc<Ask>>,
}

#[derive(Deserialize, ToSchema)]
pub struct NewAnswer {
    ask: String,
    choice: String,
    #[serde(default)]
    reason: Option<String>,
}

/// The folders that sessions work in.
#[utoipa::path(get, path = "/api/projects", tag = "projects", responses((status = 200, body = ProjectList)))]
pub async fn list(State(app): State<Arc<App>>) -> Result<Json<ProjectList>, Problem> {
    let projects = app.backend.projects().list().await?;
    Ok(Json(ProjectList { projects }))
}

/// Adds a folder. One that is known already is the same project.
#[utoipa::path(post, path = "/api/projects", tag = "projects", request_body = NewProject, responses(
    (status = 201, body = Project), (status = 404, body = ProblemBody)))]
pub async fn add(
    State(app): State<Arc<App>>,
    body: Body,
) -> Result<(StatusCode, Json<Project>), Problem> {
    let language = app.backend.about().language;
    let NewProject { root } = read_json(body, MAX_BODY, language).await?;
    if !root.is_absolute() {
        return Err(invalid("`root` is not a whole path", language));
    }
    let project = app.backend.projects().add(root).await?;
    Ok((StatusCode::CREATED, Json(project)))
}

/// Forgets a project here. The folder and its sessions stay.
#[utoipa::path(delete, path = "/api/projects/{project}", tag = "projects",
    params(("project" = String, Path)), responses((status = 204), (status = 404, body = ProblemBody)))]
pub async fn remove(
    State(app): State<Arc<App>>,
    Path(project): Path<String>,
) -> Result<StatusCode, Problem> {
    app.backend.projects().remove(&project).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Runs a command that is about no session, such as `usage` or `doctor`.
#[utoipa::path(post, path = "/api/projects/{project}/command", tag = "projects",
    params(("project" = String, Path)), request_body = CommandLine,
    responses((status = 200, body = Answer), (status = 404, body = ProblemBody)))]
pub async fn command(
    State(app): State<Arc<App>>,
    Path(project): Path<String>,
    body: Body,
) -> Result<Json<Answer>, Problem> {
    let language = app.backend.about().language;
    let CommandLine { line } = read_json(body, MAX_BODY, language).await?;
    let view = app.backend.projects().command(&project, line).await?;
    Ok(Json(Answer { view }))
}

/// Files and folders that a mention after `@` may name.
#[utoipa::path(get, path = "/api/projects/{project}/files", tag = "projects",
    params(("project" = String, Path), ("q" = Option<String>, Query), ("limit" = Option<usize>, Query)),
    responses((status = 200, body = Files), (status = 404, body = ProblemBody)))]
pub async fn files(
    State(app): State<Arc<App>>,
    Path(project): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Json<Files>, Problem> {
    let language = app.backend.about().language;
    let limit = number(query.get("limit"), "limit", language)?.unwrap_or(FILES);
    let text = query.get("q").cloned().unwrap_or_default();
    let files = app
        .backend
        .projects()
        .files(&project, text, limit.min(MAX_FILES));
    Ok(Json(files.await?))
}

/// Tokens and cost of the last days, by day, project and model.
#[utoipa::path(get, path = "/api/usage", tag = "projects", params(("days" = Option<u16>, Query)),
    responses((status = 200, body = UsageList)))]
pub async fn usage(
    State(app): State<Arc<App>>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Json<UsageList>, Problem> {
    let language = app.backend.about().language;
    let days = number(query.get("days"), "days", language)?.unwrap_or(DAYS);
    let rows = app.backend.projects().usage(days.clamp(1, MAX_DAYS));
    Ok(Json(UsageList { rows: rows.await? }))
}

/// What is to be answered before a session opens: whether the project's files are trusted, and, where no model is set up,
/// the questions of setup one by one. It waits while setup tries a provider.
#[utoipa::path(get, path = "/api/projects/{project}/questions", tag = "projects",
    params(("project" = String, Path)),
    responses((status = 200, body = AskList), (status = 404, body = ProblemBody)))]
pub async fn questions(
    State(app): State<Arc<App>>,
    Path(project): Path<String>,
) -> Result<Json<AskList>, Problem> {
    let asks = app.backend.questions().list(&project).await?;
    Ok(Json(AskList { asks }))
}

/// Answers one of them. An answer may bring another question.
#[utoipa::path(post, path = "/api/projects/{project}/answers", tag = "projects",
    params(("project" = String, Path)), request_body = NewAnswer,
    responses((status = 204), (status = 404, body = ProblemBody), (status = 409, body = ProblemBody)))]
pub async fn answer(
    State(app): State<Arc<App>>,
    Path(project): Path<String>,
    body: Body,
) -> Result<StatusCode, Problem> {
    let language = app.backend.about().language;
    let NewAnswer {
        ask,
        choice,
        reason,
    } = read_json(body, MAX_BODY, language).await?;
    let answer = AskAnswer { choice, reason };
    app.backend
        .questions()
        .answer(&project, ask, answer)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
