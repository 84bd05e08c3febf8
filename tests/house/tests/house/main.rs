//! The rules of the house. Each test fails with the remedy; known violations are in `allowed.txt`, which may only
//! shrink.

mod finder;

use std::path::Path;

use muster_house::modules::Crate;
use muster_house::{allowed, areas, circles, citations, claims, comments, maps, storeys, tree, words};

/// Files in one circle of imports at most.
const CIRCLE: usize = 3;
/// Per cent of doc comments that may open with What, Whether, How, ...
const OPENERS: f64 = 5.0;
/// Uses of the words of `words` among 10,000 words of a crate's comments: twice the highest of the models.
const PERSONIFYING: f64 = 20.0;
/// Most files to touch that a how-to page names.
const HOW_TO_FILES: usize = 6;

type Violations = Vec<(String, String)>;

fn hold(rule: &str, violations: Violations) {
    if let Err(problems) = allowed::verdict(rule, violations) {
        panic!("\n{problems}\n");
    }
}

#[test]
fn crates_are_built_from_those_below_them() {
    let violations = storeys::violations().expect("cargo lists what the crates are built from");
    let advice = |(package, from): (String, String)| {
        let advice = format!(
            "{package} must not be built from {from}: move the code that needs it up, or pass in what it takes \
             (`cargo tree -p {package} -e normal -i {from}` shows the way in; the rules: src/storeys.rs)"
        );
        (format!("{package} {from}"), advice)
    };
    hold("storey", violations.into_iter().map(advice).collect());
}

#[test]
fn areas_have_one_name_everywhere_and_cover_sources_that_exist() {
    hold("area", areas::violations().expect("the lists of areas are there"));
}

#[test]
fn what_is_reported_and_decides_is_listed_with_tests_that_exist() {
    hold("claim", claims::violations().expect("the page is there"));
}

#[test]
fn the_readme_of_a_crate_names_what_is_in_its_src() {
    hold("map", maps::violations().expect("the pages can be read"));
}

#[test]
fn no_circle_of_files_is_larger_than_three() {
    let mut violations = Violations::new();
    for (name, root) in circles::targets().expect("cargo lists targets") {
        let found = circles::circles(&name, &root).expect("the crate parses");
        for (number, circle) in found
            .into_iter()
            .filter(|circle| circle.files.len() > CIRCLE)
            .enumerate()
        {
            let advice = format!("{circle}  Cut them: move what both sides need into a file of its own.");
            violations.push((format!("{name} {}", number + 1), advice));
        }
    }
    hold("circle", violations);
}

#[test]
fn core_is_built_from_records_up() {
    let core = tree::root().join("service/core/src/lib.rs");
    let mut violations = Violations::new();
    for edge in circles::edges(&core).expect("core parses") {
        let floor = |file: &str| {
            let inside = file.strip_prefix("service/core/src/").unwrap_or_default();
            ["record", "rules", "lifecycle", "query"]
                .iter()
                .position(|floor| inside.split(['/', '.']).next() == Some(floor))
        };
        if let (Some(from), Some(to)) = (floor(&edge.from), floor(&edge.to))
            && from < to
        {
            let advice =
                format!("{edge}: of record, rules, lifecycle and query each sees only those before it");
            violations.push((format!("{} {}", edge.from, edge.to), advice));
        }
    }
    hold("core", violations);
}

#[test]
fn core_reads_no_clock_and_draws_no_lots() {
    let core = tree::root().join("service/core/src/lib.rs");
    let found = Crate::read(&core).expect("core parses");
    let mut violations = Violations::new();
    for module in &found.modules {
        let imports = module.imports.iter().map(|import| (&import.path, import.line));
        for (path, line) in imports.chain(
            module
                .mentions
                .iter()
                .map(|mention| (&mention.path, mention.line)),
        ) {
            let path = path.join("::");
            let forbidden = [
                "SystemTime::now",
                "Utc::now",
                "Local::now",
                "Instant::now",
                "Uuid::new_v4",
            ];
            let drawn = ["rand::", "getrandom::"]
                .iter()
                .any(|name| path.starts_with(name));
            if drawn || forbidden.iter().any(|name| path.ends_with(name)) {
                let file = module
                    .file
                    .strip_prefix(tree::root())
                    .unwrap_or(Path::new("?"))
                    .display();
                let advice = format!("{file}:{line}: {path}: let the caller pass time and randomness in");
                violations.push((format!("{file} {path}"), advice));
            }
        }
    }
    hold("pure", violations);
}

#[test]
fn everything_cited_is_in_the_repository() {
    let broken = citations::broken().expect("the sources can be read");
    let advice = |broken: citations::Broken| {
        let citations::Broken {
            file,
            line,
            citation,
            reason,
        } = broken;
        let advice = format!(
            "{file}:{line} cites {citation}: {reason}. Cite a page of docs/ with its anchor, or write the fact"
        );
        (format!("{file} {citation}"), advice)
    };
    hold("citation", broken.into_iter().map(advice).collect());
}

#[test]
fn comments_use_the_words_of_the_trade() {
    let mut violations = Violations::new();
    for (folder, counted) in words::count().expect("the sources can be read") {
        let rate = counted.per_ten_thousand();
        println!("{folder}: {rate:.1} in {} words", counted.words);
        if rate > PERSONIFYING {
            let some = counted
                .uses
                .iter()
                .take(40)
                .cloned()
                .collect::<Vec<_>>()
                .join("\n");
            let advice = format!(
                "{folder}: {rate:.1} of 10,000 words of comments make persons of programs, {PERSONIFYING} are allowed: functions return, \
                 programs request, report, receive\n{some}"
            );
            violations.push((folder, advice));
        }
    }
    hold("words", violations);
}

#[test]
fn few_doc_comments_open_with_a_question_word() {
    let counted = comments::count().expect("the sources can be read");
    let percent = counted.per_cent();
    println!("{percent:.1} % of {} doc comments", counted.doc_comments);
    assert!(
        percent <= OPENERS,
        "{percent:.1} % of {} doc comments open with What, Whether, How, ..., {OPENERS} are allowed: write a sentence \
         with subject and verb, or delete the comment where the name says it:\n{}",
        counted.doc_comments,
        counted.openers.join("\n")
    );
}

#[test]
fn how_to_pages_name_few_files_and_these_exist() {
    let mut violations = Violations::new();
    for page in tree::files(&[".md"]).expect("git lists files") {
        if !page.starts_with("docs/how-to/") || page.ends_with("README.md") {
            continue;
        }
        let named = citations::named_files(&tree::text(&page).expect("the page can be read"));
        for file in named.iter().filter(|file| !tree::root().join(file).exists()) {
            let advice = format!("{page} names {file}, which does not exist: correct the page");
            violations.push((format!("{page} {file}"), advice));
        }
        if named.len() > HOW_TO_FILES {
            let advice = format!(
                "{page} names {} files, {HOW_TO_FILES} at most: {}",
                named.len(),
                named.join(", ")
            );
            violations.push((format!("{page} files"), advice));
        }
    }
    hold("how-to", violations);
}
