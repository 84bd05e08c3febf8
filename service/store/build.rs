//! Lists the files of `migrations/` as Rust source, for `src/open/migrations.rs`.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.file_stem().and_then(|name| name.to_str());
        let (version, description) = name
            .and_then(|name| name.split_once('_'))
            .expect("a migration's name is VERSION_DESCRIPTION.sql");
        let description = description.replace('_', " ");
        list += &format!("({version}, {description:?}, include_str!({file:?})),\n");
    }
    list += "]\n";
    let out = env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("migrations.rs"), list)
}
