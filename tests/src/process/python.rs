//! Published Python programs of other projects: a virtual environment for each file of pinned requirements in
//! `tests/clients`, made when a test first needs it and kept in Cargo's target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::artifacts::{lock_file, project_root, target_folder};
use crate::process::{command, run};

/// Written last, so that an incomplete environment is made again.
const COMPLETE: &str = "complete";

/// A virtual environment that is ready for use.
#[derive(Debug, Clone)]
pub struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// The environment with the packages of `tests/clients/<name>.txt`. Made now, from PyPI, unless it was made before
    /// from the same list for the same Python.
    ///
    /// # Panics
    /// If it cannot be made; shows pip's output.
    #[track_caller]
    pub fn of(name: &str) -> Self {
        let list = project_root().join(format!("tests/clients/{name}.txt"));
        let text = fs::read(&list).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
        let python =
            run(Command::new("python3").args(["-c", "import sys; print(sys.executable, sys.version)"]));
        let key = Sha256::new().chain_update(text).chain_update(python).finalize();
        let folder = target_folder()
            .join("python")
            .join(format!("{name}-{}", &hex::encode(key)[..16]));
        let lock = lock_file(&format!("python-{name}"));
        lock.lock()
            .unwrap_or_else(|error| panic!("the lock of environment {name}: {error}"));
        if !folder.join(COMPLETE).is_file() {
            make(&folder, &list);
        }
        Self { folder }
    }

    /// The file of a program of the environment.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// A program of the environment, e.g. `python` or a program of a package. It has no proxy (the servers under test
    /// are on this computer) and `home` in place of its user's home.
    ///
    /// The caller adds arguments and starts it.
    pub fn program(&self, name: &str, home: &Path) -> Command {
        let programs = self.folder.join("bin");
        let mut program = command(self.path(name));
        for (variable, _) in std::env::vars_os() {
            if variable
                .to_string_lossy()
                .to_ascii_lowercase()
                .ends_with("_proxy")
            {
                program.env_remove(variable);
            }
        }
        let path = std::env::var("PATH").unwrap_or_default();
        program
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("HOME", home)
            .env("no_proxy", "*")
            .env("PYTHONUNBUFFERED", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("LC_ALL", "C.UTF-8")
            .current_dir(home);
        program
    }
}

/// Environments hold their own path, so this one is made where it stays.
#[track_caller]
fn make(folder: &Path, list: &Path) {
    eprintln!("making {} from {}", folder.display(), list.display());
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(folder));
    let pip = || {
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args(["--disable-pip-version-check", "--no-input"]);
        pip
    };
    // The list is complete, so nothing is chosen here; wheels only, so nothing is compiled.
    run(pip()
        .args(["install", "--quiet", "--retries", "5", "--no-deps"])
        .args(["--only-binary", ":all:", "--requirement"])
        .arg(list));
    run(pip().arg("check"));
    let mark = folder.join(COMPLETE);
    fs::write(&mark, "").unwrap_or_else(|error| panic!("{}: {error}", mark.display()));
}
