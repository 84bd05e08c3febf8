//! The finder of circles, on small crates.

use muster_house::circles::circles;

/// The files of each circle in a crate of these files.
fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is made");
        std::fs::write(file, text).expect("the file is written");
    }
    let prefix = format!("{}/", folder.path().display());
    let circles = circles("sample", &folder.path().join("lib.rs")).expect("the sample parses");
    let name = |file: &String| file.trim_start_matches(&prefix).to_owned();
    circles
        .iter()
        .map(|circle| circle.files.iter().map(name).collect())
        .collect()
}

#[test]
fn a_reexported_item_is_taken_from_the_file_that_defines_it() {
    let circles = found(&[
        ("lib.rs", "mod a; mod b; mod c; mod d; pub use d::D;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "pub struct B(super::c::C);"),
        ("c.rs", "use crate::D; pub struct C(D);"),
        ("d.rs", "use super::a; pub struct D(Box<a::A>);"),
    ]);
    assert_eq!(circles, [["a.rs", "b.rs", "c.rs", "d.rs"]]);
}

#[test]
fn module_lines_and_test_code_are_no_imports() {
    let circles = found(&[
        ("lib.rs", "mod a; pub use a::deep::Deep; pub struct Top;"),
        ("a.rs", "pub mod deep; pub use deep::Deep as Other;"),
        (
            "a/deep.rs",
            "pub struct Deep; #[cfg(test)] mod tests { use crate::Top; fn f(_: Top) {} }",
        ),
    ]);
    assert!(circles.is_empty(), "{circles:?}");
}

#[test]
fn paths_in_macro_calls_and_through_globs_count() {
    let circles = found(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use super::b::*; pub fn one() -> u8 { two() }"),
        ("b.rs", "pub fn two() -> u8 { assert_eq!(crate::a::one(), 1); 2 }"),
    ]);
    assert_eq!(circles, [["a.rs", "b.rs"]]);
}
