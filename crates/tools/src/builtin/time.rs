//! `time`: what the clock says, in UTC. The zone of the machine is nobody's business here.

use crate::tool::{Context, Done, Rendered, Scope, ToolError, Typed};
use jiff::Timestamp;
use ostler_wire::Access;
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone, Copy)]
pub struct Time;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {}

impl Typed for Time {
    type Args = Args;
    type Uses = ();
    const NAME: &'static str = "time";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Talk)
        .result(ResultForm::Time)
        .marks(&[ToolMark::Deferred]);
    const PROSE: &'static str = include_str!("time.md");

    fn access(&self, _: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&self, _: Args, _: Context<()>) -> Result<Done, ToolError> {
        Ok(at(Timestamp::now()).into())
    }

    fn render(data: &Value) -> Rendered {
        let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
        format!(
            "{} {} (epoch {})",
            text("weekday"),
            text("utc"),
            data["epoch_seconds"]
        )
        .into()
    }
}

fn at(now: Timestamp) -> Value {
    json!({
        "utc": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "weekday": now.strftime("%A").to_string(),
        "epoch_seconds": now.as_second(),
        "epoch_millis": now.as_millisecond(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_the_same_moment() {
        let data = at(Timestamp::from_millisecond(1_794_700_800_250).unwrap());
        let expect = json!({
            "utc": "2026-11-15T00:00:00Z",
            "weekday": "Sunday",
            "epoch_seconds": 1_794_700_800,
            "epoch_millis": 1_794_700_800_250_i64,
        });
        assert_eq!(data, expect);
        assert_eq!(
            Time::render(&data).text,
            "Sunday 2026-11-15T00:00:00Z (epoch 1794700800)"
        );
    }
}
