//! What holds for any input.

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Keys(String),
    Paste(String),
    Image,
    View(usize, usize),
}

fn any_key() -> impl Strategy<Value = String> {
    let named = ACTIONS.iter().flat_map(|row| row.keys.iter());
    let named: Vec<String> = named
        .chain(&["esc", "tab", "ctrl-g", "ctrl-r", "pageup"])
        .map(|name| format!("<{name}>"))
        .collect();
    let letters = "abc xwe.0^$dycpPiaIAoOuGgfFtTvVJr~hjkl;,WBE2中é\u{301}\u{200d}👩🇩\t\\";
    let letters: Vec<String> = letters.chars().map(String::from).collect();
    prop_oneof![
        proptest::sample::select(named),
        proptest::sample::select(letters.clone()),
        proptest::sample::select(letters),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let text = "[a-c \\n\\r\\t\u{301}\u{200d}👩🇩中\u{1b}\u{202e}\u{e0041}]{0,12}";
    prop_oneof![
        12 => any_key().prop_map(Step::Keys),
        2 => text.prop_map(Step::Paste),
        1 => "[a-c\\n]{15}".prop_map(|s| Step::Paste(s.repeat(80))),
        1 => Just(Step::Image),
        2 => (1_usize..50, 1_usize..6).prop_map(|(c, r)| Step::View(c, r)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn anything_goes(steps in proptest::collection::vec(any_step(), 0..60), vim: bool, long_labels: bool) {
        let mut options = Options { vim, ..options() };
        if long_labels {
            options.labels = Labels::default();
        }
        let mut editor = Editor::new(options);
        for step in steps {
            match step {
                Step::Keys(pressed) => {
                    if press(&mut editor, &pressed) == Outcome::Submit {
                        let whole = editor.expanded();
                        prop_assert_eq!(editor.take().text, whole);
                    }
                }
                Step::Paste(text) => {
                    editor.paste(text);
                }
                Step::Image => {
                    let image = Image { media_type: String::new(), data: String::new() };
                    editor.attach_image(image, "2×2");
                }
                Step::View(columns, max_rows) => {
                    fits(&editor, columns.max(2), max_rows);
                    editor.view(columns, max_rows, &Theme::default());
                }
            }
            holds(&editor);
            prop_assert_eq!(editor.mode().is_some(), vim);
        }
    }

    #[test]
    fn undo_takes_everything_back(steps in proptest::collection::vec(any_step(), 0..40)) {
        let mut editor = Editor::new(options());
        for step in steps {
            match step {
                Step::Keys(pressed) => { press(&mut editor, &pressed); }
                Step::Paste(text) => { editor.paste(text); }
                Step::Image | Step::View(..) => {}
            }
        }
        press(&mut editor, "<esc>");
        // What was undone before is done again first: the end of the way, then the start of it.
        while press(&mut editor, "<alt-_>") == Outcome::Changed {}
        let last = editor.buffer.piece().clone();
        let mut count = 0;
        while press(&mut editor, "<ctrl-_>") == Outcome::Changed {
            count += 1;
        }
        prop_assert_eq!(editor.text(), "");
        for _ in 0..count {
            press(&mut editor, "<alt-_>");
        }
        prop_assert_eq!(editor.buffer.piece(), &last);
    }

    #[test]
    fn it_agrees_with_a_list_of_letters(pressed in proptest::collection::vec(
        proptest::sample::select(vec!["a", "b", "中", " ", "<left>", "<right>", "<backspace>", "<delete>",
            "<ctrl-a>", "<ctrl-e>", "<ctrl-u>", "<ctrl-k>", "<ctrl-j>", "<paste>"]), 0..80))
    {
        let mut editor = Editor::new(options());
        let (mut before, mut after): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let long = "long ".repeat(300);
        for key in pressed {
            let start = before.iter().rposition(|s| s == "\n").map_or(0, |i| i + 1);
            let end = after.iter().position(|s| s == "\n").unwrap_or(after.len());
            match key {
                "<left>" => after.splice(0..0, before.pop()).for_each(drop),
                "<right>" => before.extend(after.drain(..after.len().min(1))),
                "<backspace>" => drop(before.pop()),
                "<delete>" => drop(after.drain(..after.len().min(1))),
                "<ctrl-a>" => after.splice(0..0, before.drain(start..)).for_each(drop),
                "<ctrl-e>" => before.extend(after.drain(..end)),
                "<ctrl-u>" if start == before.len() => drop(before.pop()),
                "<ctrl-u>" => before.truncate(start),
                "<ctrl-k>" => drop(after.drain(..end.max(1).min(after.len()))),
                "<ctrl-j>" => before.push("\n".into()),
                "<paste>" => before.push(long.clone()),
                letter => before.push(letter.into()),
            }
            match key {
                "<paste>" => drop(editor.paste(long.clone())),
                key => drop(press(&mut editor, key)),
            }
        }
        prop_assert_eq!(editor.take().text, [before.concat(), after.concat()].concat());
    }
}
