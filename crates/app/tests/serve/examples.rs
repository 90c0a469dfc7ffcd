//! The examples of docs/api.md, run as they stand, and each endpoint has one.

use super::bench::{Bench, TOKEN};
use super::common::skipped;
use ostler_testkit::{Run, Step};

const GUIDE: &str = include_str!("../../../../docs/api.md");

/// The blocks that a shell can run.
fn examples() -> Vec<&'static str> {
    let blocks = GUIDE.split("```sh\n").skip(1);
    blocks
        .filter_map(|block| block.split("```").next())
        .collect()
}

/// The method and path of each request of an example.
fn requests(example: &str) -> Vec<(String, String)> {
    let lines = example.lines().filter(|line| line.starts_with("curl "));
    lines
        .map(|line| {
            let method = match (line.split_once("-X "), line.contains(" -d ")) {
                (Some((_, rest)), _) => rest.split(' ').next().unwrap_or_default(),
                (None, true) => "POST",
                (None, false) => "GET",
            };
            let (_, path) = line.split_once("$URL").expect("an address");
            let end = path.find(['?', '"', ' ']).unwrap_or(path.len());
            (method.to_lowercase(), path[..end].to_owned())
        })
        .collect()
}

fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<&str>, Vec<&str>) =
        (template.split('/').collect(), path.split('/').collect());
    let same = |(t, p): (&&str, &&str)| t == p || t.starts_with('{') && !p.is_empty();
    template.len() == path.len() && template.iter().zip(&path).all(same)
}

#[test]
fn each_endpoint_has_an_example_and_each_example_works() {
    let path = std::env::var("PATH").unwrap_or_default();
    let has_curl = std::env::split_paths(&path).any(|folder| folder.join("curl").is_file());
    if !has_curl {
        return skipped("no curl here");
    }
    let bench = Bench::new((0..2).map(|_| Step::answer().text("Hello.")));
    let (project, session) = (bench.project(), bench.new_session());
    bench.turn(&session, "hello");
    let folder = bench.scene.log_path().with_extension("");
    std::fs::create_dir_all(&folder).unwrap();
    bench.scene.space.write(folder.join("out.txt"), "kept");
    let wants_trust = "[permissions]\nallow = [\"Bash(make:*)\"]\n";
    bench.scene.space.write("ostler.toml", wants_trust);
    let work = bench.scene.space.user_home().join("work");
    std::fs::create_dir_all(&work).unwrap();
    for example in examples() {
        let run = Run::new("/bin/sh").args(["-e", "-c", example]).cwd(&work);
        run.env("PATH", &path)
            .env("URL", format!("http://{}", bench.address))
            .env("TOKEN", TOKEN)
            .env("AUTH", format!("Authorization: Bearer {TOKEN}"))
            .env("PROJECT", &project)
            .env("SESSION", &session)
            .output()
            .ok();
    }
    assert_eq!(
        std::fs::read_to_string(work.join("output.txt")).unwrap(),
        "kept"
    );
    let api = bench.get("/api/openapi.json");
    assert_eq!(api["openapi"], "3.1.0");
    let shown: Vec<(String, String)> = examples().into_iter().flat_map(requests).collect();
    let described = api["paths"].as_object().unwrap();
    for (template, methods) in described {
        for (method, about) in methods.as_object().unwrap() {
            let has = |(m, p): &(String, String)| m == method && fits(template, p);
            assert!(shown.iter().any(has), "no example of {method} {template}");
            assert!(about["summary"].is_string(), "{method} {template}");
        }
    }
    for (method, path) in &shown {
        let mut known = described
            .iter()
            .filter(|(template, _)| fits(template, path));
        let is_known = known.any(|(_, methods)| methods.get(method).is_some());
        assert!(is_known, "{method} {path} is not described");
    }
}
