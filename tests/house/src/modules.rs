//! Reads the modules of a crate: which file each lies in, which items it defines, imports and names.
//!
//! Test code is left out: everything under a `#[cfg(test)]`, and under `any(test, ..)`.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// The modules of one crate; the root is the first.
pub struct Crate {
    pub modules: Vec<Module>,
}

#[derive(Default)]
pub struct Module {
    pub file: PathBuf,
    pub parent: Option<usize>,
    pub children: HashMap<String, usize>,
    pub items: HashSet<String>,
    pub imports: Vec<Import>,
    /// Paths in types, expressions, patterns and macro calls.
    pub mentions: Vec<Mention>,
}

pub struct Import {
    /// The name it has here; `None` for a glob.
    pub name: Option<String>,
    pub path: Vec<String>,
    /// With any visibility: a table of contents that passes a child's item on.
    pub reexport: bool,
    pub line: usize,
}

pub struct Mention {
    pub path: Vec<String>,
    pub line: usize,
}

impl Crate {
    pub fn read(root: &Path) -> Result<Crate> {
        let mut found = Crate { modules: Vec::new() };
        let folder = root.parent().context("a root file lies in a folder")?;
        found.read_file(root, folder, None)?;
        Ok(found)
    }

    /// `folder` is where the files of its child modules are.
    fn read_file(&mut self, file: &Path, folder: &Path, parent: Option<usize>) -> Result<usize> {
        let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let syntax = syn::parse_file(&text).with_context(|| format!("parsing {}", file.display()))?;
        self.read_items(file, folder, parent, &syntax.items)
    }

    fn read_items(
        &mut self,
        file: &Path,
        folder: &Path,
        parent: Option<usize>,
        items: &[Item],
    ) -> Result<usize> {
        let id = self.modules.len();
        self.modules.push(Module {
            file: file.to_owned(),
            parent,
            ..Module::default()
        });
        for item in items {
            let Item::Mod(module) = item else {
                self.modules[id].visit_item(item);
                continue;
            };
            if is_test(&module.attrs) {
                continue;
            }
            let name = module.ident.to_string();
            let child = match &module.content {
                Some((_, items)) => self.read_items(file, &folder.join(&name), Some(id), items)?,
                None => {
                    let (file, folder) = module_file(file, folder, &name, &module.attrs)?;
                    self.read_file(&file, &folder, Some(id))?
                }
            };
            self.modules[id].children.insert(name, child);
        }
        Ok(id)
    }
}

/// The file of a module and the folder of its children.
fn module_file(
    parent: &Path,
    folder: &Path,
    name: &str,
    attributes: &[Attribute],
) -> Result<(PathBuf, PathBuf)> {
    let name = name.trim_start_matches("r#");
    let chosen = attributes
        .iter()
        .find(|attribute| attribute.path().is_ident("path"));
    if let Some(syn::Meta::NameValue(pair)) = chosen.map(|attribute| &attribute.meta)
        && let syn::Expr::Lit(literal) = &pair.value
        && let syn::Lit::Str(path) = &literal.lit
    {
        let file = parent
            .parent()
            .context("a file lies in a folder")?
            .join(path.value());
        let folder = file.parent().context("a file lies in a folder")?.to_owned();
        return Ok((file, folder));
    }
    let children = folder.join(name);
    for file in [folder.join(format!("{name}.rs")), children.join("mod.rs")] {
        if file.is_file() {
            return Ok((file, children));
        }
    }
    bail!("{}: no file of module {name}", parent.display())
}

impl Module {
    fn mention(&mut self, path: Vec<String>, span: Span) {
        self.mentions.push(Mention {
            path,
            line: span.start().line,
        });
    }

    fn import(&mut self, tree: &UseTree, prefix: &[String], reexport: bool) {
        let mut path = prefix.to_vec();
        let (name, span) = match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                return self.import(&part.tree, &path, reexport);
            }
            UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|tree| self.import(tree, prefix, reexport));
            }
            UseTree::Name(last) if last.ident == "self" => (prefix.last().cloned(), last.ident.span()),
            UseTree::Name(last) => {
                path.push(last.ident.to_string());
                (Some(last.ident.to_string()), last.ident.span())
            }
            UseTree::Rename(last) => {
                if last.ident != "self" {
                    path.push(last.ident.to_string());
                }
                (Some(last.rename.to_string()), last.ident.span())
            }
            UseTree::Glob(glob) => (None, glob.star_token.spans[0]),
        };
        self.imports.push(Import {
            name,
            path,
            reexport,
            line: span.start().line,
        });
    }

    /// Macro calls hide their paths in tokens: `a::b::c`, `a!`.
    fn mention_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut start = Span::call_site();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 && !path.is_empty() {
                        self.mention(std::mem::take(&mut path), start);
                    }
                    if path.is_empty() {
                        start = ident.span();
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.mention_tokens(group.stream());
                    colons = 0;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    if !path.is_empty() {
                        self.mention(std::mem::take(&mut path), start);
                    }
                    colons = 0;
                }
            }
        }
        if !path.is_empty() {
            self.mention(path, start);
        }
    }
}

impl<'a> Visit<'a> for Module {
    fn visit_item(&mut self, item: &'a Item) {
        let (attributes, name) = parts(item);
        if is_test(attributes) {
            return;
        }
        self.items.extend(name.map(|ident| ident.to_string()));
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'a syn::ImplItem) {
        if !matches!(item, syn::ImplItem::Fn(function) if is_test(&function.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.leading_colon.is_none()
            && let Some(first) = path.segments.first()
        {
            let names = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect();
            self.mention(names, first.ident.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.visit_path(&call.path);
        self.mention_tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, _: &'a Attribute) {}

    fn visit_visibility(&mut self, _: &'a Visibility) {}
}

fn parts(item: &Item) -> (&[Attribute], Option<&syn::Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Mod(item) => (&item.attrs, None),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && matches!(&attribute.meta, syn::Meta::List(list) if mentions_test(list.tokens.clone()))
    })
}

/// `test`, `all(test, ..)`, `any(test, ..)`; not `not(test)`.
fn mentions_test(tokens: TokenStream) -> bool {
    let mut negated = false;
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => {
            negated = ident == "not";
            ident == "test"
        }
        TokenTree::Group(group) => !negated && mentions_test(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
