//! `ask`: a question to the person. Dispatch puts it; this only says what became of it, and never lets the model's own
//! guess look like the person's decision.

use crate::tool::{Context, Done, Question, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const NOBODY: &str = "Nobody is attached, so nobody answered. Decide yourself, and label it as your assumption, not as the person's decision.";

#[derive(Clone, Copy)]
pub struct Ask;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    question: String,
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    multi: Option<bool>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Choice {
    Text(String),
    Labelled {
        #[serde(alias = "text", alias = "value", alias = "name")]
        label: String,
    },
}

impl Typed for Ask {
    type Args = Args;
    type Uses = ();
    const NAME: &'static str = "ask";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Talk)
        .verb(CallVerb::Ask)
        .result(ResultForm::Answer)
        .common_name("AskUserQuestion")
        .advice("Ask only when a wrong guess would cost much; otherwise decide and say so.");
    const PROSE: &'static str = include_str!("ask.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        if args.question.trim().is_empty() {
            return Err(ToolError::new("invalid_input", "The question is empty."));
        }
        Ok(Vec::new())
    }

    fn subject(args: &Args) -> Subject {
        Subject::first_line(&args.question).with_body("question")
    }

    async fn run(&self, _: Args, cx: Context<()>) -> Result<Done, ToolError> {
        Ok(match cx.answer {
            Some(answer) => json!({"answer": answer.choice, "assumed": false}),
            None => json!({"answer": null, "assumed": true, "note": NOBODY}),
        }
        .into())
    }

    fn render(data: &Value) -> Rendered {
        match data["answer"].as_str() {
            Some(answer) => format!("The person answered: {answer}").into(),
            None => NOBODY.to_owned().into(),
        }
    }

    fn question(args: &Args) -> Option<Question> {
        let choices = args.choices.iter().flatten().map(|choice| match choice {
            Choice::Text(text) | Choice::Labelled { label: text } => text.clone(),
        });
        Some(Question::Words {
            text: args.question.clone(),
            choices: choices.collect(),
            multi: args.multi.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;
    use crate::tool::Tool;

    #[test]
    fn the_question_is_what_the_call_says() {
        let check = |args: Value, choices: &[&str], multi: bool| {
            let expect = Question::Words {
                text: "Which?".into(),
                choices: choices.iter().map(|c| (*c).to_owned()).collect(),
                multi,
            };
            assert_eq!(
                crate::testing::question(&Ask, &args),
                Some(expect),
                "{args}"
            );
        };
        check(json!({"question": "Which?"}), &[], false);
        check(
            json!({"question": "Which?", "choices": ["a", "b"], "multi": true}),
            &["a", "b"],
            true,
        );
        check(
            json!({"question": "Which?", "options": [{"label": "a"}, "b"]}),
            &["a", "b"],
            false,
        );
        assert_eq!(
            crate::testing::question(&Ask, &json!({"choices": []})),
            None
        );
    }

    #[tokio::test]
    async fn an_answer_is_the_persons_and_silence_never_is() {
        let bench = Bench::new();
        let args = json!({"question": "Which?"});
        let mut cx = bench.context("ask");
        let silent = crate::testing::run(&Ask, args.clone(), cx.clone())
            .await
            .unwrap()
            .data;
        assert_eq!(
            silent,
            json!({"answer": null, "assumed": true, "note": NOBODY})
        );
        assert_eq!(Tool::render(&Ask, &silent).text, NOBODY);
        cx.answer = Some("blue".into());
        let answered = crate::testing::run(&Ask, args, cx).await.unwrap().data;
        assert_eq!(answered, json!({"answer": "blue", "assumed": false}));
        assert_eq!(
            Tool::render(&Ask, &answered).text,
            "The person answered: blue"
        );
    }
}
