//! `cargo xtask docs --site`: the documents as a static site that can be searched. mdBook makes it from a copy of `docs/`
//! with a list of chapters that is read from the README, so that a page that the README names is in the site.

use crate::ostler::target;
use crate::root;
use anyhow::{Context as _, ensure};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const BOOK: &str = "[book]
title = \"Ostler\"
language = \"en\"
src = \"src\"

[output.html]
default-theme = \"light\"
preferred-dark-theme = \"navy\"
no-section-label = true

[output.html.search]
limit-results = 30
";

pub fn run() -> anyhow::Result<bool> {
    let there = Command::new("mdbook")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !there.is_ok_and(|status| status.success()) {
        println!("skipped: mdbook is not here (cargo install mdbook)");
        return Ok(true);
    }
    let book = target()?.join("site");
    if book.exists() {
        fs::remove_dir_all(&book)?;
    }
    let source = book.join("src");
    copy(&root().join("docs"), &source)?;
    let readme = fs::read_to_string(root().join("README.md"))?;
    // In the site the pages lie beside the first one.
    fs::write(source.join("README.md"), readme.replace("](docs/", "]("))?;
    let mut pages: Vec<String> = fs::read_dir(&source)?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md") && name != "README.md")
        .collect();
    pages.sort();
    fs::write(source.join("SUMMARY.md"), summary(&readme, &pages, &source))?;
    fs::write(book.join("book.toml"), BOOK)?;
    let built = Command::new("mdbook").arg("build").arg(&book).status();
    ensure!(
        built.context("mdbook cannot be started")?.success(),
        "the site does not build"
    );
    let missing: Vec<&String> = pages
        .iter()
        .filter(|page| {
            !book
                .join("book")
                .join(page.replace(".md", ".html"))
                .is_file()
        })
        .collect();
    ensure!(missing.is_empty(), "not in the site: {missing:?}");
    println!("site: {}", book.join("book/index.html").display());
    Ok(true)
}

/// The chapters: tables of the README name them in their order, and what they forget comes last.
fn summary(readme: &str, pages: &[String], source: &Path) -> String {
    let mut out = String::from("# Ostler\n\n[Ostler](README.md)\n");
    let mut listed = Vec::new();
    for line in readme.lines() {
        let Some(row) = line.strip_prefix('|') else {
            continue;
        };
        if let Some(part) = row.strip_suffix("| |").map(str::trim)
            && !part.contains('[')
            && !part.contains('|')
            && !part.is_empty()
        {
            out.push_str(&format!("\n# {part}\n\n"));
        }
        for link in row.split("](docs/").skip(1) {
            let page = link.split([')', '#']).next().unwrap_or_default();
            let is_new = pages.iter().any(|p| p == page) && !listed.contains(&page);
            // Only rows that begin with links to pages are chapters; others speak of them.
            if is_new && row.trim_start().starts_with('[') {
                out.push_str(&format!("- [{}]({page})\n", title(&source.join(page))));
                listed.push(page);
            }
        }
    }
    let rest: Vec<&String> = pages
        .iter()
        .filter(|page| !listed.contains(&page.as_str()))
        .collect();
    if !rest.is_empty() {
        out.push_str("\n# more\n\n");
    }
    for page in rest {
        out.push_str(&format!("- [{}]({page})\n", title(&source.join(page))));
    }
    out
}

/// The first heading of a page.
fn title(page: &Path) -> String {
    let text = fs::read_to_string(page).unwrap_or_default();
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    let name = || {
        page.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    heading.map_or_else(name, |heading| heading.trim().to_owned())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &to)?,
            false => drop(fs::copy(entry.path(), &to)?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chapters_follow_the_readme_and_none_is_lost() {
        let dir = tempfile();
        for (name, text) in [
            ("a.md", "# First\n"),
            ("b.md", "text"),
            ("c.md", "# Third\n"),
        ] {
            fs::write(dir.join(name), text).unwrap();
        }
        let readme = "| area | x |\n| see | [a](docs/a.md) |\n\n| to start | |\n|---|---|\n| [c.md](docs/c.md), [a.md](docs/a.md#x) | both |\n";
        let pages = ["a.md", "b.md", "c.md"].map(str::to_owned);
        assert_eq!(
            summary(readme, &pages, &dir),
            "# Ostler\n\n[Ostler](README.md)\n\n# to start\n\n- [Third](c.md)\n- [First](a.md)\n\n# more\n\n- [b](b.md)\n"
        );
        fs::remove_dir_all(dir).unwrap();
    }

    fn tempfile() -> std::path::PathBuf {
        let dir = std::env::temp_dir().join(format!("ostler-site-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }
}
