//! What the end of a hook means: exit codes, plain words, and the JSON that hooks in this field print. Pure.

use super::run::Ended;
use super::{Hook, Moment};
use ostler_wire::{Language, Word};
use serde_json::Value;

/// Characters of what a hook adds to a turn.
const MAX_CONTEXT: usize = 10_000;
/// Characters of a reason or a message.
const MAX_REASON: usize = 4_000;
/// The exit code that says no.
const BLOCKS: i32 = 2;
const NO_REASON: &str = "a hook refused it and did not say why";

/// What a hook wants for a call. It answers for the person, not for a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Permission {
    #[default]
    AsEver,
    Allow,
    Ask,
}

/// What the hooks of one occasion say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub permission: Permission,
    /// Why not.
    pub block: Option<String>,
    /// Why the turn ends.
    pub halt: Option<String>,
    /// The arguments that a call should have instead.
    pub input: Option<Value>,
    /// For the model.
    pub context: Vec<String>,
    /// For the person.
    pub notices: Vec<String>,
}

impl Said {
    pub fn add(&mut self, more: Self) {
        self.permission = match (self.permission, more.permission) {
            (Permission::Ask, _) | (_, Permission::Ask) => Permission::Ask,
            (Permission::Allow, _) | (_, Permission::Allow) => Permission::Allow,
            (Permission::AsEver, Permission::AsEver) => Permission::AsEver,
        };
        self.block = self.block.take().or(more.block);
        self.halt = self.halt.take().or(more.halt);
        self.input = more.input.or_else(|| self.input.take());
        self.context.extend(more.context);
        self.notices.extend(more.notices);
    }

    /// Why a call must not run.
    pub fn refusal(&mut self) -> Option<String> {
        self.block.take().or_else(|| self.halt.clone())
    }

    fn notice(text: String) -> Self {
        Self {
            notices: vec![text],
            ..Self::default()
        }
    }
}

pub fn judge(hook: &Hook, ended: Ended, language: Language) -> Said {
    let name = hook.shown();
    let failed = |why: &str| {
        let why = cut(why.trim(), MAX_REASON);
        Said::notice(language.fill(Word::HookFailed, &[&name, hook.moment.name(), &why]))
    };
    match ended {
        Ended::Cancelled => Said::default(),
        Ended::TimedOut => {
            let seconds = hook.timeout.as_secs_f64().to_string();
            failed(&language.fill(Word::HookTimedOut, &[&seconds]))
        }
        Ended::NotRun(why) => failed(&why),
        Ended::Exited(Some(0), stdout, _) => spoken(hook, &stdout, &failed),
        Ended::Exited(Some(BLOCKS), _, stderr) if hook.moment.can_block() => Said {
            block: Some(reason(&stderr)),
            ..Said::default()
        },
        Ended::Exited(code, _, stderr) => {
            let first = stderr.trim().lines().next().unwrap_or_default();
            let Some(code) = code.map(|code| code.to_string()) else {
                return failed(language.say(Word::HookKilled));
            };
            failed(
                language
                    .fill(Word::HookExit, &[&code, first])
                    .trim_end_matches([':', ' ', '：']),
            )
        }
    }
}

fn spoken(hook: &Hook, stdout: &str, failed: &dyn Fn(&str) -> Said) -> Said {
    let text = stdout.trim();
    if text.is_empty() {
        return Said::default();
    }
    let json = text
        .starts_with('{')
        .then(|| serde_json::from_str::<Value>(text));
    match json {
        Some(Ok(value)) => structured(hook.moment, &value),
        Some(Err(error)) if !hook.moment.takes_text() => failed(&format!("stdout: {error}")),
        Some(Err(_)) | None if hook.moment.takes_text() => Said {
            context: vec![cut(text, MAX_CONTEXT)],
            ..Said::default()
        },
        Some(Err(_)) | None => Said::default(),
    }
}

fn structured(moment: Moment, value: &Value) -> Said {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let specific = value.get("hookSpecificOutput").unwrap_or(&Value::Null);
    let mut said = Said::default();
    if value.get("continue") == Some(&Value::Bool(false)) {
        let why = text(value, "stopReason").unwrap_or_default();
        said.halt = Some(reason(&why));
    }
    let decided = text(specific, "permissionDecision").or_else(|| text(value, "decision"));
    let why = text(specific, "permissionDecisionReason").or_else(|| text(value, "reason"));
    match decided.as_deref() {
        Some("block" | "deny") if moment.can_block() => {
            said.block = Some(reason(&why.unwrap_or_default()));
        }
        Some("allow" | "approve") if moment == Moment::PreTool => {
            said.permission = Permission::Allow;
        }
        Some("ask") if moment == Moment::PreTool => said.permission = Permission::Ask,
        Some(_) | None => {}
    }
    if moment == Moment::PreTool && said.block.is_none() {
        said.input = specific.get("updatedInput").cloned();
    }
    let context = text(specific, "additionalContext").or_else(|| text(value, "additionalContext"));
    let context = context.filter(|text| !text.trim().is_empty());
    said.context
        .extend(context.map(|text| cut(text.trim(), MAX_CONTEXT)));
    let message = text(value, "systemMessage").filter(|text| !text.trim().is_empty());
    said.notices
        .extend(message.map(|text| cut(text.trim(), MAX_REASON)));
    said
}

fn reason(text: &str) -> String {
    match text.trim() {
        "" => NO_REASON.to_owned(),
        text => cut(text, MAX_REASON),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}… (cut)", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::Matcher;
    use std::time::Duration;

    fn hook(moment: Moment) -> Hook {
        Hook {
            moment,
            matcher: Matcher::parse("", "x:1").unwrap(),
            only: None,
            command: "./check".into(),
            timeout: Duration::from_millis(1500),
            env: Vec::new(),
            from: "x:1".into(),
            on: crate::hooks::RunsOn::default(),
        }
    }

    fn exited(code: i32, stdout: &str, stderr: &str) -> Ended {
        Ended::Exited(Some(code), stdout.into(), stderr.into())
    }

    fn check(moment: Moment, ended: Ended, expect: Said) {
        let shown = format!("{moment:?} {ended:?}");
        assert_eq!(
            judge(&hook(moment), ended, Language::English),
            expect,
            "{shown}"
        );
    }

    fn said() -> Said {
        Said::default()
    }

    #[test]
    fn exit_codes() {
        use Moment::{Notification, PostTool, PreTool, SessionStart, Stop, UserPrompt};
        for moment in Moment::ALL {
            check(moment, exited(0, "", "noise"), said());
            check(moment, Ended::Cancelled, said());
        }
        for moment in [UserPrompt, PreTool, PostTool, Stop] {
            let block = |why: &str| Said {
                block: Some(why.into()),
                ..said()
            };
            check(moment, exited(2, "out", " no rm \n"), block("no rm"));
            check(moment, exited(2, "", ""), block(NO_REASON));
        }
        for moment in [SessionStart, Notification] {
            let text = format!(
                "The hook `./check` ({}) failed; the work continues: exit 2: x",
                moment.name()
            );
            check(moment, exited(2, "", "x\ny"), Said::notice(text));
        }
        let text = |why: &str| {
            Said::notice(format!(
                "The hook `./check` (pre_tool) failed; the work continues: {why}"
            ))
        };
        check(PreTool, exited(1, "", ""), text("exit 1"));
        check(
            PreTool,
            exited(127, "", "sh: not found\n"),
            text("exit 127: sh: not found"),
        );
        check(
            PreTool,
            Ended::Exited(None, String::new(), String::new()),
            text("a signal killed it"),
        );
        check(
            PreTool,
            Ended::TimedOut,
            text("it took longer than 1.5 s and was killed"),
        );
        check(
            PreTool,
            Ended::NotRun("no such file".into()),
            text("no such file"),
        );
    }

    #[test]
    fn plain_words_are_for_the_turn() {
        let context = |text: &str| Said {
            context: vec![text.into()],
            ..said()
        };
        for moment in [Moment::SessionStart, Moment::UserPrompt] {
            check(
                moment,
                exited(0, " branch: main\n", ""),
                context("branch: main"),
            );
            check(moment, exited(0, "{broken", ""), context("{broken"));
        }
        check(Moment::PreTool, exited(0, "checked", ""), said());
        let long = judge(
            &hook(Moment::UserPrompt),
            exited(0, &"x".repeat(20_000), ""),
            Language::English,
        );
        assert_eq!(
            long.context[0].chars().count(),
            MAX_CONTEXT + "… (cut)".chars().count()
        );
    }

    #[test]
    fn the_json_of_others() {
        use Moment::{PostTool, PreTool, SessionStart, Stop, UserPrompt};
        let block = |why: &str| Said {
            block: Some(why.into()),
            ..said()
        };
        for (moment, json, expect) in [
            (
                PreTool,
                r#"{"decision":"block","reason":"no"}"#,
                block("no"),
            ),
            (PreTool, r#"{"decision":"block"}"#, block(NO_REASON)),
            (
                PreTool,
                r#"{"decision":"approve"}"#,
                Said {
                    permission: Permission::Allow,
                    ..said()
                },
            ),
            (
                PreTool,
                r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"why"}}"#,
                block("why"),
            ),
            (
                PreTool,
                r#"{"hookSpecificOutput":{"permissionDecision":"allow"},"decision":"block"}"#,
                Said {
                    permission: Permission::Allow,
                    ..said()
                },
            ),
            (
                PreTool,
                r#"{"hookSpecificOutput":{"permissionDecision":"ask"}}"#,
                Said {
                    permission: Permission::Ask,
                    ..said()
                },
            ),
            (
                PreTool,
                r#"{"hookSpecificOutput":{"permissionDecision":"perhaps"}}"#,
                said(),
            ),
            (
                PostTool,
                r#"{"decision":"block","reason":"lint"}"#,
                block("lint"),
            ),
            (
                PostTool,
                r#"{"hookSpecificOutput":{"additionalContext":"formatted"}}"#,
                Said {
                    context: vec!["formatted".into()],
                    ..said()
                },
            ),
            (
                Stop,
                r#"{"decision":"block","reason":"tests fail"}"#,
                block("tests fail"),
            ),
            (
                UserPrompt,
                r#"{"hookSpecificOutput":{"additionalContext":" c "}}"#,
                Said {
                    context: vec!["c".into()],
                    ..said()
                },
            ),
            (
                UserPrompt,
                r#"{"continue":false,"stopReason":"closed"}"#,
                Said {
                    halt: Some("closed".into()),
                    ..said()
                },
            ),
            (
                UserPrompt,
                r#"{"continue":true,"suppressOutput":true}"#,
                said(),
            ),
            (
                UserPrompt,
                r#"{"systemMessage":"hello"}"#,
                Said::notice("hello".into()),
            ),
            (
                SessionStart,
                r#"{"decision":"block","reason":"no"}"#,
                said(),
            ),
            (
                PreTool,
                r#"{"decision":3,"reason":[],"hookSpecificOutput":"x"}"#,
                said(),
            ),
        ] {
            check(moment, exited(0, json, ""), expect);
        }
        let broken = judge(&hook(PreTool), exited(0, "{broken", ""), Language::English);
        assert_eq!(broken.notices.len(), 1, "{broken:?}");
        assert_eq!(broken.block, None);
    }

    #[test]
    fn the_stricter_word_counts() {
        use Permission::{Allow, AsEver, Ask};
        for (one, other, expect) in [
            (AsEver, AsEver, AsEver),
            (AsEver, Allow, Allow),
            (Allow, Ask, Ask),
            (Ask, Allow, Ask),
            (Allow, AsEver, Allow),
        ] {
            let mut said = Said {
                permission: one,
                ..said()
            };
            said.add(Said {
                permission: other,
                ..Said::default()
            });
            assert_eq!(said.permission, expect);
        }
    }
}
