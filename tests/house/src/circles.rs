//! Finds files of a crate that import each other in a ring.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use petgraph::algo::{greedy_feedback_arc_set, tarjan_scc};
use petgraph::graph::DiGraph;
use petgraph::visit::EdgeRef;

use crate::modules::Crate;
use crate::names::definitions;
use crate::tree;

/// A file that takes items from another file of its crate.
pub struct Edge {
    /// Relative to the repository's root, as `to`.
    pub from: String,
    pub to: String,
    pub first_line: usize,
    pub names: BTreeSet<String>,
}

/// Files of which each reaches each other one by imports.
pub struct Circle {
    /// The package, and the target if it is not the library.
    pub of: String,
    pub files: Vec<String>,
    /// The imports to remove to open it: a proposal, few and heuristically chosen.
    pub closing: Vec<Edge>,
}

/// The targets of the workspace: name (`muster-core`, `muster-tests/scenarios`) and root file.
pub fn targets() -> Result<Vec<(String, PathBuf)>> {
    let mut targets = Vec::new();
    for package in tree::packages()? {
        for target in &package.targets {
            if target.kind == ["custom-build"] {
                continue;
            }
            let name = match target.kind == ["lib"] {
                true => package.name.clone(),
                false => format!("{}/{}", package.name, target.name),
            };
            targets.push((name, target.src_path.clone()));
        }
    }
    Ok(targets)
}

/// Imports between the files of one crate, without `mod` lines and re-exports: a re-exported item counts as imported
/// from the file that defines it.
pub fn edges(root: &Path) -> Result<Vec<Edge>> {
    let found = Crate::read(root)?;
    let mut edges: BTreeMap<(PathBuf, PathBuf), (usize, BTreeSet<String>)> = BTreeMap::new();
    for (id, module) in found.modules.iter().enumerate() {
        let imports = module.imports.iter().filter(|import| !import.reexport);
        let imports = imports.map(|import| (&import.path, import.line));
        let mentions = module
            .mentions
            .iter()
            .map(|mention| (&mention.path, mention.line));
        for (path, line) in imports.chain(mentions) {
            for definer in definitions(&found, id, path) {
                let to = &found.modules[definer].file;
                if *to != module.file {
                    let (first, names) = edges
                        .entry((module.file.clone(), to.clone()))
                        .or_insert((line, BTreeSet::new()));
                    *first = line.min(*first);
                    names.insert(path.last().cloned().unwrap_or_default());
                }
            }
        }
    }
    let edge = |((from, to), (first_line, names)): ((PathBuf, PathBuf), _)| Edge {
        from: relative(&from),
        to: relative(&to),
        first_line,
        names,
    };
    Ok(edges.into_iter().map(edge).collect())
}

/// Every circle of a target, largest first.
pub fn circles(of: &str, root: &Path) -> Result<Vec<Circle>> {
    let edges = edges(root)?;
    let mut circles: Vec<Circle> = rings(&edges)
        .into_iter()
        .map(|mut files| {
            files.sort();
            let closing = closing(&files, &edges);
            Circle {
                of: of.to_owned(),
                files,
                closing,
            }
        })
        .collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.files.len()));
    Ok(circles)
}

fn rings(edges: &[Edge]) -> Vec<Vec<String>> {
    let graph = graph(edges);
    let components = tarjan_scc(&graph)
        .into_iter()
        .filter(|component| component.len() > 1);
    components
        .map(|component| component.into_iter().map(|node| graph[node].to_owned()).collect())
        .collect()
}

fn closing(files: &[String], edges: &[Edge]) -> Vec<Edge> {
    let inside = edges
        .iter()
        .filter(|edge| files.contains(&edge.from) && files.contains(&edge.to));
    let graph = graph(inside);
    let closing = greedy_feedback_arc_set(&graph).map(|edge| edge.id());
    let mut closing: Vec<Edge> = closing.map(|id| graph[id].to_owned()).collect();
    closing.sort_by_key(|edge| edge.names.len());
    closing
}

fn graph<'a>(edges: impl IntoIterator<Item = &'a Edge>) -> DiGraph<&'a str, &'a Edge> {
    let mut graph = DiGraph::new();
    let mut nodes = HashMap::new();
    for edge in edges {
        let from = *nodes
            .entry(&edge.from)
            .or_insert_with(|| graph.add_node(edge.from.as_str()));
        let to = *nodes
            .entry(&edge.to)
            .or_insert_with(|| graph.add_node(edge.to.as_str()));
        graph.add_edge(from, to, edge);
    }
    graph
}

impl Edge {
    fn to_owned(&self) -> Edge {
        Edge {
            from: self.from.clone(),
            to: self.to.clone(),
            first_line: self.first_line,
            names: self.names.clone(),
        }
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        write!(
            f,
            "{}:{} takes {} from {}",
            self.from,
            self.first_line,
            names.join(", "),
            self.to
        )
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: a circle of {} files:", self.of, self.files.len())?;
        for file in &self.files {
            writeln!(f, "    {file}")?;
        }
        writeln!(f, "  these imports close it:")?;
        self.closing.iter().try_for_each(|edge| writeln!(f, "    {edge}"))
    }
}

fn relative(file: &Path) -> String {
    let root = tree::root();
    file.strip_prefix(&root).unwrap_or(file).display().to_string()
}
