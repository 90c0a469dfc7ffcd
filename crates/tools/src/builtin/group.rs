//! Several tasks for others at the same time: started together, told as they end, and reported in their order whatever
//! became of each.

use super::task::render_report;
use crate::tool::{Context, Delegate, Done, TaskOrder, ToolError};
use futures_util::future::join_all;
use ostler_wire::clip;
use serde_json::{Value, json};
use std::sync::Arc;

/// Characters of an answer in the summary.
const MAX_LINE: usize = 200;
/// Tasks of one call.
pub const MAX_TASKS: usize = 20;

/// Does all of them. Those that fail do not stop the others; the result has what each came to.
pub async fn run(
    tasks: Vec<(String, TaskOrder)>,
    cx: Context<Option<Arc<dyn Delegate>>>,
) -> Result<Done, ToolError> {
    let Some(delegate) = cx.services.clone() else {
        let message = "There is nobody to delegate to here.";
        return Err(ToolError::new("unavailable", message));
    };
    let cx = cx.with_services(());
    let one = |(name, order): (String, TaskOrder)| {
        let (cx, delegate) = (cx.clone(), delegate.clone());
        async move {
            let role = order.role.clone();
            cx.show(&format!("{name} ({role}): started\n"));
            let result = delegate.run_task(cx.clone(), order).await;
            let how = match &result {
                Ok(_) => "completed",
                Err(_) => "failed",
            };
            cx.show(&format!("{name} ({role}): {how}\n"));
            (name, role, result)
        }
    };
    let results = join_all(tasks.into_iter().map(one)).await;
    if cx.cancel.is_cancelled()
        && let Some((_, _, Err(error))) = results
            .iter()
            .find(|(_, _, result)| result.as_ref().is_err_and(|e| e.code == "interrupted"))
    {
        return Err(error.clone());
    }
    let failed = results.iter().filter(|(_, _, result)| result.is_err());
    let failed = failed.count();
    let mut spent = Sum::default();
    let rows = results
        .into_iter()
        .map(|(name, role, result)| match result {
            Ok(data) => {
                spent.add(&data["spent"]);
                json!({"name": name, "role": role, "success": true, "report": data})
            }
            Err(error) => json!({
                "name": name, "role": role, "success": false,
                "error": {"code": error.code, "message": error.message},
            }),
        });
    let rows: Vec<Value> = rows.collect();
    let mut data = json!({
        "text": summary(&rows),
        "success": failed == 0,
        "failed": failed,
        "results": rows,
        "spent": {"input": spent.input, "cached": spent.cached, "output": spent.output},
    });
    if let Some(cost) = spent.cost {
        data["spent"]["cost"] = cost.into();
    }
    Ok(data.into())
}

/// A line for each, for people.
fn summary(rows: &[Value]) -> String {
    let line = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let of = match row["success"] == true {
            true => row["report"]["text"].as_str(),
            false => row["error"]["message"].as_str(),
        };
        let of = of
            .unwrap_or_default()
            .trim()
            .lines()
            .next()
            .unwrap_or_default();
        let mark = if row["success"] == true { "✓" } else { "✗" };
        format!(
            "{mark} {} ({}): {}\n",
            text("name"),
            text("role"),
            clip(of, MAX_LINE)
        )
    };
    rows.iter().map(line).collect()
}

/// What all of them took.
#[derive(Default)]
struct Sum {
    input: u64,
    cached: u64,
    output: u64,
    cost: Option<f64>,
}

impl Sum {
    fn add(&mut self, spent: &Value) {
        let count = |key: &str| spent[key].as_u64().unwrap_or(0);
        self.input = self.input.saturating_add(count("input"));
        self.cached = self.cached.saturating_add(count("cached"));
        self.output = self.output.saturating_add(count("output"));
        if let Some(cost) = spent["cost"].as_f64() {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
    }
}

/// What the model reads of them.
pub fn render(data: &Value) -> String {
    let rows = data["results"].as_array().map(Vec::as_slice);
    let parts = rows.unwrap_or_default().iter().map(|row| {
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        let body = match row["success"].as_bool() {
            Some(true) => render_report(&row["report"]),
            Some(false) | None => {
                let error = &row["error"];
                let message = error["message"].as_str().unwrap_or("failed");
                format!("[failed: {message}]")
            }
        };
        format!("## {} ({})\n{body}", text("name"), text("role"))
    });
    let mut out = parts.collect::<Vec<_>>().join("\n\n");
    if let Some(failed @ 1..) = data["failed"].as_u64() {
        out.push_str(&format!(
            "\n\n[{failed} of {} failed: do not take that work for done.]",
            rows.unwrap_or_default().len()
        ));
    }
    out
}

/// Refuses lists that are empty or too long.
pub fn check_count(count: usize, what: &str) -> Result<(), ToolError> {
    let message = match count {
        0 => format!("There are no {what}: name at least one."),
        1..=MAX_TASKS => return Ok(()),
        _ => format!("{count} {what} are too many for one call; {MAX_TASKS} are the most."),
    };
    Err(ToolError::new("invalid_input", message))
}
