//! Checks that citations in comments and pages are in the repository: files, anchors, links between pages.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use crate::tree;

/// A citation without a target.
pub struct Broken {
    pub file: String,
    pub line: usize,
    pub citation: String,
    pub reason: &'static str,
}

/// Files with comments that cite pages.
const SOURCES: [&str; 8] = [
    ".rs",
    ".toml",
    ".sql",
    ".py",
    ".sh",
    "Makefile",
    "Containerfile",
    ".ci/run",
];

/// Checks every source and every page.
pub fn broken() -> Result<Vec<Broken>> {
    let mut pages = Pages::default();
    let mut broken = Vec::new();
    for file in tree::files(&SOURCES)?
        .iter()
        .filter(|file| !file.starts_with("docs/"))
    {
        broken.extend(in_source(file, &tree::text(file)?, &mut pages)?);
    }
    for file in tree::files(&[".md"])? {
        broken.extend(in_page(&file, &tree::text(&file)?, &mut pages)?);
    }
    Ok(broken)
}

/// Pages by name (`docs/protocol/ipxe.md#3`) and files that readers of the repository do not have.
fn in_source(file: &str, text: &str, pages: &mut Pages) -> Result<Vec<Broken>> {
    let page = Regex::new(r"[A-Za-z0-9_./-]*[A-Za-z0-9_-]\.md(#[A-Za-z0-9_.-]+)?")?;
    let table = Regex::new(r"\bdocs/[A-Za-z0-9_./-]+\.(tsv|json|yaml)(#[A-Za-z0-9_.-]+)?")?;
    let elsewhere = Regex::new(r"\bissues? \d+\b|\.\./shared/|\breview/[a-z]+\.md|/wor[k]/")?;
    let mut broken = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut note = |citation: &str, reason| {
            let citation = citation.to_owned();
            broken.push(Broken {
                file: file.to_owned(),
                line: number + 1,
                citation,
                reason,
            });
        };
        for found in page.find_iter(line).chain(table.find_iter(line)) {
            let citation = found.as_str().trim_end_matches('.');
            // In code, a name is not a citation.
            let start = line.trim_start();
            if !["//", "#", "--", "*"]
                .iter()
                .any(|comment| start.starts_with(comment))
            {
                continue;
            }
            let folder = Path::new(file).parent().unwrap_or(Path::new(""));
            let reasons = [Path::new(""), folder].map(|base| pages.leads(base, citation));
            if let [Some(reason), Some(_)] = reasons {
                note(citation, reason);
            }
        }
        for found in elsewhere.find_iter(line) {
            note(found.as_str(), "readers of the repository do not have it");
        }
    }
    Ok(broken)
}

/// Links of a page, and pages that its text names from the root (`docs/..`).
fn in_page(file: &str, text: &str, pages: &mut Pages) -> Result<Vec<Broken>> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let named = Regex::new(r"\bdocs/[A-Za-z0-9_./-]+\.(md|tsv|json|yaml)(#[A-Za-z0-9_-]+)?")?;
    let mut broken = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let line = text[..range.start].lines().count().max(1);
        let mut check = |base: &Path, citation: &str| {
            if let Some(reason) = pages.leads(base, citation) {
                let citation = citation.to_owned();
                broken.push(Broken {
                    file: file.to_owned(),
                    line,
                    citation,
                    reason,
                });
            }
        };
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                if dest_url.starts_with('#') {
                    check(Path::new(""), &format!("{file}{dest_url}"));
                } else if !dest_url.contains(':') {
                    check(folder, &dest_url);
                }
            }
            Event::Text(words) | Event::Code(words) => {
                for found in named.find_iter(&words) {
                    check(Path::new(""), found.as_str());
                }
            }
            _ => {}
        }
    }
    Ok(broken)
}

/// Anchors of pages already read.
#[derive(Default)]
struct Pages(HashMap<PathBuf, HashSet<String>>);

impl Pages {
    /// The reason why a citation has no target.
    fn leads(&mut self, folder: &Path, citation: &str) -> Option<&'static str> {
        let (path, anchor) = citation.split_once('#').unwrap_or((citation, ""));
        let Some(path) = joined(folder, path) else {
            return Some("leads out of the repository");
        };
        let file = tree::root().join(&path);
        if !file.exists() {
            return Some("there is no such file");
        }
        if anchor.is_empty() || path.extension().is_none_or(|ending| ending != "md") {
            return None;
        }
        let anchors = self.0.entry(path).or_insert_with(|| {
            std::fs::read_to_string(&file)
                .map(|text| anchors(&text))
                .unwrap_or_default()
        });
        (!anchors.contains(anchor)).then_some("the page has no such anchor")
    }
}

fn joined(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut joined = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::Normal(name) => joined.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !joined.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(joined)
}

/// `<a id="..">` and headings as GitHub names them.
fn anchors(text: &str) -> HashSet<String> {
    let mut anchors = HashSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take().map(|text| slug(&text))),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let ids = html
                    .split("id=\"")
                    .skip(1)
                    .filter_map(|rest| rest.split('"').next());
                anchors.extend(ids.map(str::to_owned));
            }
            _ => {}
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Files of the repository that a page names in code spans: with a folder and an ending, without
/// placeholders.
pub fn named_files(text: &str) -> Vec<String> {
    let mut named = Vec::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        if let Event::Code(code) = event
            && code.contains('/')
            && Path::new(&*code)
                .extension()
                .is_some_and(|ending| ending.len() <= 4)
            && !code.contains(['<', '{', '*', ' ', ':', '#'])
            && !named.iter().any(|name| *name == *code)
        {
            named.push(code.to_string());
        }
    }
    named
}
