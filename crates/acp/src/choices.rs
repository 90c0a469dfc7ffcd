//! What the person can set in a session: its mode, what is done about approvals, the model and its effort. Models and efforts
//! are the menus that their commands answer with.

use crate::protocol::schema as s;
use ostler_wire::{Act, Language, List, Mode, View, Word};

/// Commands that answer with a menu and take what is chosen from it.
pub const MODEL: &str = "model";
pub const EFFORT: &str = "effort";

const MODE: &str = "mode";
/// Set with `/approve`.
const APPROVALS_ID: &str = "approvals";

/// The modes of a session.
const MODES: [(&str, Word, Word); 3] = [
    ("normal", Word::AcpModeNormal, Word::AcpModeNormalMore),
    ("plan", Word::AcpModePlan, Word::AcpModePlanMore),
    ("goal", Word::AcpModeGoal, Word::AcpModeGoalMore),
];

/// What can be done about approvals: what `/approve` takes, how the session calls it then, and for people.
const APPROVALS: [(&str, &str, Word, Word); 4] = [
    ("ask", "ask", Word::AcpApproveAsk, Word::AcpApproveAskMore),
    (
        "10m",
        "auto",
        Word::AcpApproveWhile,
        Word::AcpApproveWhileMore,
    ),
    (
        "all",
        "yolo for",
        Word::AcpApproveAll,
        Word::AcpApproveAllMore,
    ),
    (
        "none",
        "refuse",
        Word::AcpApproveNone,
        Word::AcpApproveNoneMore,
    ),
];

/// How the settings of a session stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    pub mode: Mode,
    pub model: String,
    pub models: Option<List>,
    pub efforts: Option<List>,
}

/// What was wrong with a wish, as a sentence for the person.
pub type Wrong = String;

impl Choices {
    /// Takes the answer of a command in.
    pub fn take(&mut self, command: &str, view: &View) {
        let name = command.split_whitespace().next();
        let menu = (name == Some(command)).then(|| view.menu()).flatten();
        match (name, menu) {
            (Some(MODEL), Some(menu)) => self.models = Some(menu),
            (Some(EFFORT), Some(menu)) => self.efforts = Some(menu),
            _ => {}
        }
    }

    /// A menu says which of its items holds.
    pub fn mark_effort(&mut self, effort: &str) {
        let items = self.efforts.iter_mut().flat_map(|list| &mut list.items);
        for item in items {
            item.marked = argument(item, EFFORT).as_deref() == Some(effort);
        }
    }

    /// What was set holds; the session says it in its log only once it has one.
    pub fn chosen(&mut self, id: &str, value: &str) {
        match id {
            MODEL => value.clone_into(&mut self.model),
            EFFORT => self.mark_effort(value),
            // These are told by the session at once.
            _ => {}
        }
    }

    pub fn modes(&self, language: Language) -> s::SessionModeState {
        let modes = MODES.iter().map(|(id, name, more)| {
            s::SessionMode::new(*id, language.say(*name))
                .description(language.say(*more).to_owned())
        });
        s::SessionModeState::new(self.current_mode().to_owned(), modes.collect())
    }

    pub fn current_mode(&self) -> &str {
        let known = MODES.iter().find(|(id, ..)| *id == self.mode.mode);
        known.map_or("normal", |(id, ..)| id)
    }

    /// The command that enters a mode.
    pub fn enter(id: &str, language: Language) -> Result<String, Wrong> {
        match MODES.iter().any(|(known, ..)| *known == id) {
            true => Ok(format!("{MODE} {id}")),
            false => {
                let names = MODES.map(|(id, ..)| id).join(", ");
                Err(language.fill(Word::AcpNoMode, &[id, &names]))
            }
        }
    }

    pub fn options(&self, language: Language) -> Vec<s::SessionConfigOption> {
        let modes = MODES.map(|(id, name, more)| value(id, language.say(name), language.say(more)));
        let mode = s::SessionConfigOption::select(
            MODE,
            language.say(Word::AcpMode),
            self.current_mode().to_owned(),
            modes.to_vec(),
        )
        .category(s::SessionConfigOptionCategory::Mode);
        let mut out = vec![mode, self.approvals(language)];
        out.extend(self.models(language));
        out.extend(self.efforts(language));
        out
    }

    fn approvals(&self, language: Language) -> s::SessionConfigOption {
        let posture = self.mode.posture.as_str();
        let mut values = APPROVALS
            .map(|(id, _, name, more)| value(id, language.say(name), language.say(more)))
            .to_vec();
        let now = APPROVALS.iter().find(|(_, called, ..)| match *called {
            // Whoever began in it has it for longer than a while.
            "auto" => posture.starts_with(called) && posture != *called,
            called => posture.starts_with(called),
        });
        let current = match now {
            Some((id, ..)) => *id,
            // A posture that the session was started in.
            None => {
                values.insert(0, value(posture, posture, ""));
                posture
            }
        };
        s::SessionConfigOption::select(
            APPROVALS_ID,
            language.say(Word::AcpApproval),
            current.to_owned(),
            values,
        )
        .description(language.say(Word::AcpApprovalMore).to_owned())
        .category(s::SessionConfigOptionCategory::Other("_approvals".into()))
    }

    fn models(&self, language: Language) -> Option<s::SessionConfigOption> {
        let mut values = items(self.models.as_ref(), MODEL);
        if values.iter().all(|one| *one.value.0 != *self.model) {
            values.insert(0, value(&self.model, &self.model, ""));
        }
        let name = language.say(Word::AcpModel);
        (!self.model.is_empty()).then(|| {
            s::SessionConfigOption::select(MODEL, name, self.model.clone(), values)
                .category(s::SessionConfigOptionCategory::Model)
        })
    }

    fn efforts(&self, language: Language) -> Option<s::SessionConfigOption> {
        let list = self.efforts.as_ref()?;
        let mut values = items(Some(list), EFFORT);
        let marked = list.items.iter().find(|item| item.marked);
        let current = marked.and_then(|item| argument(item, EFFORT));
        let current = current.unwrap_or_else(|| {
            values.insert(0, value("", language.say(Word::AcpEffortDefault), ""));
            String::new()
        });
        let name = language.say(Word::AcpEffort);
        Some(
            s::SessionConfigOption::select(EFFORT, name, current, values)
                .category(s::SessionConfigOptionCategory::ThoughtLevel),
        )
    }

    /// The command that sets an option, if it has such a value.
    pub fn set(&self, id: &str, wanted: &str, language: Language) -> Result<String, Wrong> {
        let options = self.options(language);
        let Some(option) = options.iter().find(|one| *one.id.0 == *id) else {
            let ids = options.iter().map(|one| one.id.0.to_string());
            let ids = ids.collect::<Vec<_>>().join(", ");
            return Err(language.fill(Word::AcpNoOption, &[id, &ids]));
        };
        let values = values_of(option);
        if values.iter().any(|value| *value == wanted) && !wanted.is_empty() {
            return Ok(match id {
                APPROVALS_ID => format!("approve {wanted}"),
                // The option is called like its command.
                id => format!("{id} {wanted}"),
            });
        }
        let values = values.join(", ");
        Err(language.fill(Word::AcpNoValue, &[&option.name, wanted, &values]))
    }
}

fn values_of(option: &s::SessionConfigOption) -> Vec<String> {
    let s::SessionConfigKind::Select(select) = &option.kind else {
        return Vec::new();
    };
    match &select.options {
        s::SessionConfigSelectOptions::Ungrouped(values) => {
            values.iter().map(|one| one.value.0.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

fn value(id: &str, name: &str, more: &str) -> s::SessionConfigSelectOption {
    let more = (!more.is_empty()).then(|| more.to_owned());
    s::SessionConfigSelectOption::new(id.to_owned(), name).description(more)
}

/// The items of a menu whose action is the command with a word behind it.
fn items(menu: Option<&List>, command: &str) -> Vec<s::SessionConfigSelectOption> {
    let items = menu.into_iter().flat_map(|menu| &menu.items);
    let shown = items.filter_map(|item| {
        let argument = argument(item, command)?;
        Some(value(&argument, &item.label, &item.detail))
    });
    shown.collect()
}

fn argument(item: &ostler_wire::Item, command: &str) -> Option<String> {
    match &item.actions.first()?.act {
        Act::Command(line) => {
            let (name, argument) = line.split_once(' ')?;
            (name == command).then(|| argument.to_owned())
        }
        Act::Do(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::{Action, Item};

    fn menu(command: &str, values: &[&str], marked: &str) -> View {
        let item = |value: &&str| Item {
            label: (*value).into(),
            marked: *value == marked,
            actions: vec![Action {
                label: "Use".into(),
                act: Act::Command(format!("{command} {value}")),
            }],
            ..Item::default()
        };
        View::List(List {
            items: values.iter().map(item).collect(),
            ..List::default()
        })
    }

    fn choices(posture: &str) -> Choices {
        let mut choices = Choices {
            mode: Mode {
                mode: "plan".into(),
                posture: posture.into(),
                ..Mode::default()
            },
            model: "p/m".into(),
            ..Choices::default()
        };
        choices.take("model", &menu("model", &["p/m", "p/n"], "p/m"));
        choices.take("effort", &menu("effort", &["low", "high"], "high"));
        choices
    }

    fn current(choices: &Choices) -> Vec<String> {
        let options = choices.options(Language::English);
        let current = options.iter().map(|one| match &one.kind {
            s::SessionConfigKind::Select(select) => select.current_value.0.to_string(),
            _ => String::new(),
        });
        current.collect()
    }

    #[test]
    fn options_say_what_holds() {
        assert_eq!(current(&choices("ask")), ["plan", "ask", "p/m", "high"]);
        assert_eq!(current(&choices("yolo"))[1], "yolo");
        assert_eq!(current(&choices("auto"))[1], "auto");
        assert_eq!(current(&choices("yolo for commands"))[1], "all");
        assert_eq!(current(&choices("refuse"))[1], "none");
        assert_eq!(current(&choices("auto for 9m"))[1], "10m");
    }

    #[test]
    fn only_what_is_offered_can_be_set() {
        let choices = choices("ask");
        let set = |id: &str, value: &str| choices.set(id, value, Language::English);
        assert_eq!(set("model", "p/n"), Ok("model p/n".into()));
        assert_eq!(set("approvals", "10m"), Ok("approve 10m".into()));
        assert!(set("model", "x; rm").unwrap_err().contains("p/m, p/n"));
        assert!(
            set("colour", "red")
                .unwrap_err()
                .contains("mode, approvals")
        );
        assert!(Choices::enter("yolo", Language::English).is_err());
    }
}
