//! Skills from every place, good and bad, and how much of them is in the prompt.

use super::*;
use crate::Owner;

fn loaded(files: &[(&str, &str)], disabled: &[&str]) -> (Skills, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let settings = SkillSettings {
        sources: ["near", "far"]
            .map(|folder| Source {
                path: dir.path().join(folder),
                owner: Owner::Person,
            })
            .to_vec(),
        disabled: disabled.iter().map(|d| (*d).to_owned()).collect(),
    };
    Skills::load(&settings, &Reader::unbound(Language::English))
}

fn names(skills: &Skills) -> Vec<&str> {
    skills.0.iter().map(Skill::name).collect()
}

#[test]
fn ours_are_there_unless_they_are_not_wanted() {
    let (skills, notices) = loaded(&[], &["security-review"]);
    assert!(notices.is_empty());
    assert_eq!(names(&skills), ["commit", "explore", "init", "review"]);
    let review = skills.find("review").unwrap();
    assert_eq!(
        (review.run_as, review.role.as_deref()),
        (RunAs::Subagent, Some("reviewer"))
    );
    assert!(review.template.body.contains("!`git diff HEAD`"));
    assert_eq!(skills.find("/init").unwrap().run_as, RunAs::Inline);
}

#[test]
fn folders_become_skills() {
    let (skills, notices) = loaded(
        &[
            (
                "near/pdf-forms/SKILL.md",
                "---\nname: pdf-forms\ndescription: Fill forms\nallowed-tools: Read, Bash(pdftk:*)\nmodel: inherit\n---\nSee forms.md. $ARGUMENTS",
            ),
            ("near/pdf-forms/forms.md", "x"),
            ("far/pdf-forms/SKILL.md", "---\nname: pdf-forms\n---\nOther"),
            ("far/group/deep/SKILL.md", "# Deep one\ntext"),
            (
                "far/forked/SKILL.md",
                "---\ncontext: fork\nagent: reviewer\ndisable-model-invocation: true\n---\nx",
            ),
            ("far/broken/SKILL.md", "---\nname: b\n"),
            ("far/empty/SKILL.md", "---\nname: e\n---\n"),
            ("far/odd/SKILL.md", "---\nname: two words\n---\nx"),
            ("far/strange/SKILL.md", "---\nrunAs: daemon\n---\nx"),
            ("far/loose.md", "x"),
        ],
        &["review", "init", "commit", "explore", "security_review"],
    );
    assert_eq!(names(&skills), ["deep", "forked", "pdf-forms"]);
    assert_eq!(notices.len(), 4, "{notices:?}");
    let pdf = skills.find("pdf_forms").unwrap();
    assert_eq!(pdf.template.allowed_tools, ["Read", "Bash(pdftk:*)"]);
    assert_eq!(pdf.template.model, None);
    assert!(pdf.template.body.starts_with("See forms.md"));
    let forked = skills.find("forked").unwrap();
    assert_eq!(
        (forked.run_as, forked.role.as_deref(), forked.hidden),
        (RunAs::Subagent, Some("reviewer"), true)
    );
    assert_eq!(
        skills.listing(),
        "- deep: Deep one\n- pdf-forms: Fill forms\n"
    );
}

#[test]
fn the_prompt_has_room_for_so_many() {
    let files: Vec<(String, String)> = (0..200)
        .map(|n| {
            let about = format!("Number {n} {}", "long ".repeat(100));
            let text = format!("---\ndescription: {about}\n---\nbody");
            (format!("near/s{n:03}/SKILL.md"), text)
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let (skills, _) = loaded(&files, &[]);
    let listing = skills.listing();
    assert!(listing.len() < MAX_LISTED + 100, "{}", listing.len());
    assert!(listing.ends_with("more: call skill with a word to search them\n"));
    assert!(!listing.contains("s150"));
    assert!(skills.search("150").starts_with("- s150: Number 150"));
    assert_eq!(skills.search("long").lines().count(), MAX_FOUND);
    assert_eq!(skills.search("zebra").lines().count(), MAX_FOUND);
}

#[test]
fn files_beside_are_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("scripts")).unwrap();
    for name in ["SKILL.md", "forms.md", "scripts/fill.py", ".hidden"] {
        std::fs::write(dir.path().join(name), "x").unwrap();
    }
    let text = beside(dir.path());
    assert!(text.contains(": forms.md scripts/fill.py]"), "{text}");
}
