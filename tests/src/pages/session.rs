//! Types the blocks of a page into a shell, like a reader: the program under test, `kubectl`, `aicli`, default ports.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use regex::{Regex, RegexBuilder};
use tempfile::TempDir;

use super::blocks::{Block, Use, blocks};
use crate::artifacts::{fleet_program, live_image, muster_program, project_root};
use crate::condition::await_condition;
use crate::kube;
use crate::process::python::Environment;
use crate::process::{Program, command, run};
use crate::qemu::{Accel, Slots};

/// Time limit of a block: the longest boots a machine, of two on emulated processors.
const LIMIT: Duration = Duration::from_secs(300);

/// Time limit of a line that a command has yet to print.
const SHOWN_SOON: Duration = Duration::from_secs(30);

/// Files of the project that the pages name.
const FILES: [&str; 5] = [
    "deploy",
    "docs/examples",
    "api-spec/crds",
    "api-spec/kustomization.yaml",
    "tests/data/hcp-create-cluster-agent.yaml",
];

/// Names that the pages use, in the namespace of their shell.
const HOSTS: &str = "127.0.0.1 localhost\n192.0.2.10 muster.example.com\n";

/// Types all commands of `page` (its path in the project) into one shell from top to bottom.
///
/// # Panics
/// If a command fails, or does not print what the page shows: with page, line and output. Without the right to create
/// namespaces (tests that need them run as root).
#[track_caller]
pub fn type_page(page: &str) {
    let text =
        fs::read_to_string(project_root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    type_text(page, &text);
}

/// As [`type_page`], for a page of that name and text.
///
/// # Panics
/// As it.
#[track_caller]
pub fn type_text(page: &str, text: &str) {
    let blocks = blocks(text).unwrap_or_else(|mistakes| panic!("{page}: {mistakes:?}"));
    let types = |word: &str| {
        blocks
            .iter()
            .any(|block| block.mark.is_typed() && block.text.contains(word))
    };
    let _slot = types("qemu-system-").then(Slots::one);
    let mut shell = Shell::open(page, types("aicli "));
    for block in &blocks {
        shell.follow(block);
    }
}

impl Use {
    fn is_typed(&self) -> bool {
        matches!(self, Self::Run | Self::Until(_))
    }
}

struct Shell {
    page: String,
    program: Program,
    folder: TempDir,
    /// Blocks typed so far.
    typed: usize,
}

impl Shell {
    #[track_caller]
    fn open(page: &str, with_aicli: bool) -> Self {
        let folder = tempfile::Builder::new().prefix("muster-page-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let at = |name: &str| folder.path().join(name);
        for name in ["home", "programs", "blocks"] {
            fs::create_dir(at(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let muster = muster_program();
        let mut programs = vec![
            ("muster", muster.clone()),
            ("muster-fleet", fleet_program()),
            ("kubectl", kube::program("kubectl")),
        ];
        if with_aicli {
            programs.push(("aicli", Environment::of("clients").path("aicli")));
        }
        for (name, path) in programs {
            symlink(&path, at("programs").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        write(&at("hosts"), HOSTS);
        // A clone with the project's files that the pages name.
        let mut copy = Command::new("cp");
        copy.args(["-r", "--parents"]).args(FILES).arg(at("home"));
        run(copy.current_dir(project_root()));
        let make = at("programs").join("make");
        write(&make, &make_of_what_is_built(&muster));
        fs::set_permissions(&make, fs::Permissions::from_mode(0o755))
            .unwrap_or_else(|error| panic!("make: {error}"));
        run(Command::new("mkfifo").arg(at("typed")));

        let mut shell = command("unshare");
        shell
            .args([
                "--net",
                "--mount",
                "--pid",
                "--fork",
                "--mount-proc",
                "--kill-child=KILL",
                "--",
            ])
            // In a background job Ctrl-C may be ignored, and programs would inherit that.
            .args(["env", "--default-signal=HUP,INT,QUIT", "bash"])
            .arg(project_root().join("tests/src/pages/shell.sh"))
            .current_dir(at("home"))
            .env_clear()
            .env(
                "PATH",
                format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", at("programs").display()),
            )
            .env("HOME", at("home"))
            .env("LC_ALL", "C.UTF-8")
            .env("PAGE_FOLDER", folder.path())
            .env("MUSTER_LIVE_IMAGE", live_image())
            .env("HIDE_KVM", if Accel::best() == Accel::Kvm { "" } else { "yes" });
        let mut program = Program::start(page, &mut shell, &at("log"));
        program.await_output("(ready)", LIMIT);
        Self {
            page: page.to_owned(),
            program,
            folder,
            typed: 0,
        }
    }

    #[track_caller]
    fn follow(&mut self, block: &Block) {
        match &block.mark {
            Use::NotRun(_) => {}
            Use::File(name) => write(&self.folder.path().join("home").join(name), &block.text),
            Use::Shows => self.must_show(block),
            Use::Run => {
                let file = self.type_block("run", block);
                self.await_block(block, &file, |file| beside(file, "done").exists());
            }
            Use::Until(pattern) => {
                let pattern = Regex::new(pattern).expect("it was tried when the page was read");
                let file = self.type_block("until", block);
                self.await_block(block, &file, |file| pattern.is_match(&output(file)));
            }
        }
    }

    /// Passes a block to the shell; returns the file of its output.
    #[track_caller]
    fn type_block(&mut self, kind: &str, block: &Block) -> PathBuf {
        self.typed += 1;
        println!("{}:{}", self.page, block.line);
        let file = self.block_file(self.typed);
        write(&file, &block.text);
        write(
            &self.folder.path().join("typed"),
            &format!("{kind} {}\n", file.display()),
        );
        file
    }

    fn block_file(&self, number: usize) -> PathBuf {
        self.folder.path().join("blocks").join(number.to_string())
    }

    #[track_caller]
    fn await_block(&mut self, block: &Block, file: &Path, is_done: impl Fn(&Path) -> bool) {
        let what = format!("{}:{}", self.page, block.line);
        let running = &mut self.program;
        await_condition(&what, LIMIT, || {
            if let Ok(failure) = fs::read_to_string(beside(file, "failed")) {
                let mut words = failure.trim().splitn(3, ' ');
                let line = words
                    .next()
                    .and_then(|line| line.parse::<usize>().ok())
                    .unwrap_or(1);
                let (code, said) = (words.next().unwrap_or("?"), words.next().unwrap_or_default());
                panic!(
                    "{}:{}: exit code {code} of: {said}\n{}",
                    self.page,
                    block.line + line - 1,
                    output(file)
                );
            }
            assert!(
                running.is_running(),
                "{what}: the shell ended; the output:\n{}",
                output(file)
            );
            if is_done(file) {
                return Ok(());
            }
            let ended = matches!(block.mark, Use::Until(_)) && beside(file, "done").exists();
            assert!(
                !ended || is_done(file),
                "{what}: the command ended; its output:\n{}",
                output(file)
            );
            Err(format!("its output:\n{}", output(file)))
        });
    }

    /// Checks that each line of the block is in the output of the last typed block.
    #[track_caller]
    fn must_show(&self, block: &Block) {
        let file = self.block_file(self.typed);
        let lines = block
            .text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let has_ended = beside(&file, "done").exists();
        let limit = if has_ended { Duration::ZERO } else { SHOWN_SOON };
        for (number, line) in lines {
            let wanted = pattern_of(line);
            let what = format!("{}:{}: the line {line:?}", self.page, block.line + number);
            await_condition(&what, limit, || {
                let output = output(&file);
                if output.lines().any(|line| wanted.is_match(line)) {
                    return Ok(());
                }
                Err(format!("the output:\n{output}"))
            });
        }
    }
}

/// A line of a page as an expression: blanks match any width, `…` matches anything.
fn pattern_of(line: &str) -> Regex {
    let words = line
        .split_whitespace()
        .map(|word| regex::escape(word).replace('…', ".*"));
    let pattern = words.collect::<Vec<_>>().join(r"\s+");
    let whole = RegexBuilder::new(&format!(r"^\s*{pattern}\s*$")).build();
    whole.expect("escaped texts are an expression")
}

/// `make` for a reader with built programs: those under test.
fn make_of_what_is_built(muster: &Path) -> String {
    let built = muster.parent().unwrap_or(muster);
    format!(
        "#!/bin/bash\nexec /usr/bin/make -f {}/Makefile DEBUG={} -o try-programs -o try-image \"$@\"\n",
        project_root().display(),
        built.display()
    )
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    file.with_extension(ending)
}

/// The output of a block so far, without colours.
fn output(file: &Path) -> String {
    let bytes = fs::read(beside(file, "out")).unwrap_or_default();
    let colours = Regex::new("\x1b\\[[0-9;?]*[A-Za-z]").expect("a constant expression");
    let text = String::from_utf8_lossy(&bytes).replace('\r', "");
    colours.replace_all(&text, "").into_owned()
}

#[track_caller]
fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_line_is_met_by_one_with_other_blanks_and_anything_for_dots() {
        let wanted = pattern_of("NAME   worker-0  …s ago  fit (really)");
        assert!(wanted.is_match("  NAME worker-0   12s ago fit   (really)"));
        assert!(!wanted.is_match("NAME worker-0 now fit (really)"));
        assert!(!wanted.is_match("NAME worker-0 2s ago fit (really) and more"));
    }
}
