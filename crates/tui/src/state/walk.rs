//! What Shift-Tab goes through: ask first, accept edits, auto, plan mode, and the posture from before plan mode again.

use super::State;

/// The posture that the walk began in. It ends with any other key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    from: String,
    planned: bool,
}

impl State {
    pub(super) fn walk_on(&mut self) {
        let (mode, posture) = match &self.status.mode {
            Some(mode) => (mode.mode.clone(), mode.posture.clone()),
            None => ("normal".into(), "ask".into()),
        };
        let mut walk = self.work.walk.take().unwrap_or(Walk {
            from: posture.clone(),
            planned: false,
        });
        for line in steps(&mode, &posture, &mut walk) {
            self.quiet_command(line);
        }
        self.work.walk = Some(walk);
    }
}

/// The commands of one step.
fn steps(mode: &str, posture: &str, walk: &mut Walk) -> Vec<String> {
    match (mode, posture) {
        ("plan", _) => vec!["mode normal".into()],
        (_, "ask") => vec!["approve edits".into()],
        (_, "edits") => vec!["approve auto".into()],
        // A goal goes on whatever is approved.
        ("normal", "auto") if !walk.planned => {
            walk.planned = true;
            let back = (walk.from != posture && is_posture(&walk.from))
                .then(|| format!("approve {}", walk.from));
            back.into_iter().chain(["mode plan".to_owned()]).collect()
        }
        _ => vec!["approve ask".into()],
    }
}

fn is_posture(name: &str) -> bool {
    matches!(name, "ask" | "edits" | "auto" | "yolo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_comes_back_to_where_it_began() {
        for (from, mode, expect) in [
            (
                "ask",
                "normal",
                vec![
                    "approve edits",
                    "approve auto",
                    "approve ask, mode plan",
                    "mode normal",
                    "approve edits",
                ],
            ),
            (
                "auto",
                "normal",
                vec!["mode plan", "mode normal", "approve ask", "approve edits"],
            ),
            ("yolo", "normal", vec!["approve ask", "approve edits"]),
            (
                "ask",
                "goal",
                vec!["approve edits", "approve auto", "approve ask"],
            ),
            ("edits", "plan", vec!["mode normal", "approve auto"]),
        ] {
            let (mut mode, mut posture) = (mode.to_owned(), from.to_owned());
            let mut walk = Walk {
                from: from.into(),
                planned: false,
            };
            let mut got = Vec::new();
            for _ in 0..expect.len() {
                let lines = steps(&mode, &posture, &mut walk);
                for line in &lines {
                    match line.split_once(' ') {
                        Some(("approve", name)) => posture = name.into(),
                        Some((_, name)) => mode = name.into(),
                        None => {}
                    }
                }
                got.push(lines.join(", "));
            }
            assert_eq!(got, expect, "{from}");
        }
    }
}
