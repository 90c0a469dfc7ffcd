//! Nobody says yes to what the window does not show.

use super::*;

/// The text that the person can reach by scrolling the question to its end.
fn read_through(bench: &mut Bench) -> String {
    let mut seen = bench.shown();
    for _ in 0..100 {
        bench.keys("<pagedown>");
        seen.push_str(&bench.shown());
    }
    seen
}

fn edit(diff: String) -> Ask {
    Ask {
        subject: "src/main.rs".into(),
        tool: Some("edit_file".into()),
        preview: Some(diff),
        preview_format: PreviewFormat::Diff,
        ..permission()
    }
}

#[test]
fn a_long_line_is_read_to_its_end() {
    let diff = |line: &str| edit(format!("@@ -0,0 +1 @@\n+{line}\n"));
    let blanks = format!("fn main(){{}}{}evil()", " ".repeat(3_000));
    let long = format!("{}evil()", "x".repeat(20_000));
    let command = Ask {
        subject: format!("bash: true{}evil()", " ".repeat(3_000)),
        ..permission()
    };
    let plan = Ask {
        preview: Some("| a |\n|---|\n".to_owned() + &"| b |\n".repeat(900) + "| evil() |\n"),
        preview_format: PreviewFormat::Markdown,
        ..permission()
    };
    for ask in [diff(&blanks), diff(&long), command, plan] {
        let mut bench = bench("working", 80, Look::Mono);
        bench.event(&Event::Ask(Arc::new(ask)));
        let seen = read_through(&mut bench);
        assert!(seen.contains("evil()"), "{}", &seen[..2_000]);
    }
    // What blanks would push out of sight is next to what stands before them.
    let mut bench = bench("working", 80, Look::Mono);
    bench.event(&Event::Ask(Arc::new(diff(&blanks))));
    assert!(bench.shown().contains("fn main(){} ·×3000 evil()"));
}

#[test]
fn a_window_that_shows_no_command_takes_no_answer() {
    let answers = |columns: usize, rows: usize| {
        let mut bench = bench("working", columns, Look::Mono);
        bench.canvas.rows = rows;
        bench.state.take_effects();
        bench.event(&Event::Ask(Arc::new(permission())));
        let shown = bench.shown();
        bench.passes(3_000);
        bench.keys("y");
        bench.passes(3_000);
        (!bench.state.is_asking(), shown)
    };
    for (columns, rows) in [(20, 4), (20, 3), (80, 3), (10, 30), (1, 1)] {
        let (is_answered, shown) = answers(columns, rows);
        assert!(!is_answered, "{columns}x{rows}\n{shown}");
    }
    for (columns, rows) in [(80, 24), (40, 10), (80, 6)] {
        let (is_answered, shown) = answers(columns, rows);
        assert!(
            is_answered && shown.contains("cargo test"),
            "{columns}x{rows}\n{shown}"
        );
    }
    let (_, shown) = answers(60, 3);
    assert!(shown.contains("window too small"), "{shown}");
}
