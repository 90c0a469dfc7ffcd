//! What the model is told of the mode: a block in the context of a person's message, never a change of the prefix. Pure.

use ostler_guard::Mode;

const OPEN: &str = "<mode>";
const CLOSE: &str = "</mode>";

/// How a plan gets to the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Tool,
    Answer,
}

/// `was` is the mode that the model was told before.
pub fn text(mode: Mode, was: Mode, way: Way) -> String {
    let what = match (mode, way) {
        (Mode::Goal, _) => {
            "goal: you work towards a goal on your own. This holds until it is reached or the person says otherwise."
        }
        (Mode::Normal, _) if was == Mode::Goal => {
            "normal: the goal is over; do what the person says. This holds from now on."
        }
        (Mode::Normal, _) => {
            "normal: plan mode is over, changes may be made. This holds from now on."
        }
        (Mode::Plan, Way::Tool) => {
            "plan: look and think, change nothing; calls that could are refused. Ask where the person has to decide. When the plan is ready, call exit_plan_mode with it. This holds until they approve."
        }
        (Mode::Plan, Way::Answer) => {
            "plan: look and think, change nothing; calls that could are refused. Give the plan as your answer. This holds until the person says otherwise."
        }
    };
    format!("{OPEN}\n{what}\n{CLOSE}")
}

/// The mode that the context of a message speaks of.
pub fn told(context: &str) -> Option<Mode> {
    let (_, block) = context.rsplit_once(&format!("{OPEN}\n"))?;
    let (name, _) = block.split_once(':')?;
    Mode::parse(name)
}

/// One context out of two.
pub fn join(context: Option<String>, more: Option<String>) -> Option<String> {
    match (context, more) {
        (Some(one), Some(other)) => Some(format!("{one}\n{other}")),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_can_be_read_back() {
        for (mode, was) in Mode::ALL
            .into_iter()
            .flat_map(|m| Mode::ALL.map(|was| (m, was)))
        {
            for way in [Way::Tool, Way::Answer] {
                let block = text(mode, was, way);
                assert_eq!(told(&block), Some(mode));
                let context = join(
                    Some("<environment>\nroot: /r\n</environment>".into()),
                    Some(block),
                );
                assert_eq!(context.as_deref().and_then(told), Some(mode));
            }
        }
        assert_eq!(told("<environment>\nroot: /r: plan:\n</environment>"), None);
        assert_eq!(join(None, None), None);
    }
}
