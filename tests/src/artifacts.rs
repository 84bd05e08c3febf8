//! Paths of the things under test (programs, the live image) and of the lab's locks.

use std::fs::File;
use std::path::{Path, PathBuf};

/// The root of the project.
pub fn project_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ is inside the project")
}

/// The `muster` program: `MUSTER_BIN`, else the one in this test program's folder (`target/debug/muster`).
///
/// # Panics
/// If there is none; the message has the command that builds it.
pub fn muster_program() -> PathBuf {
    given_or(
        "MUSTER_BIN",
        beside_this_program("muster"),
        "`cargo build -p muster` (`make test` does)",
    )
}

/// The `muster` program without shared libraries: `MUSTER_STATIC_BIN`, else the one in this test program's folder.
///
/// # Panics
/// If there is none; the message has the command that builds it.
pub fn static_program() -> PathBuf {
    given_or(
        "MUSTER_STATIC_BIN",
        beside_this_program("muster-static"),
        "`make static-program`",
    )
}

/// The `muster-fleet` program: `MUSTER_FLEET_BIN`, else the one in this test program's folder.
///
/// # Panics
/// If there is none; the message has the command that builds it.
pub fn fleet_program() -> PathBuf {
    given_or(
        "MUSTER_FLEET_BIN",
        beside_this_program("muster-fleet"),
        "`cargo build -p muster-fleet` (`make test` does)",
    )
}

/// The released `muster-agent` program: `MUSTER_AGENT_BIN`, else `dist/muster-agent`.
///
/// # Panics
/// If there is none; the message has the command that builds it.
pub fn agent_program() -> PathBuf {
    given_or(
        "MUSTER_AGENT_BIN",
        project_root().join("dist/muster-agent"),
        "`make released-agent` (`make test-boot` does)",
    )
}

/// The Muster live image: `MUSTER_LIVE_IMAGE`, else the one in this test program's folder, else the released one in
/// `dist`.
///
/// # Panics
/// If there is none; the message has the command that makes it.
pub fn live_image() -> PathBuf {
    let quickly_made = beside_this_program("muster-live-x86_64.iso");
    let default = if quickly_made.is_file() {
        quickly_made
    } else {
        project_root().join("dist/muster-live-x86_64.iso")
    };
    given_or("MUSTER_LIVE_IMAGE", default, "`make try-image` or `make image`")
}

/// The Muster live image for ARM servers: `MUSTER_LIVE_IMAGE_AARCH64`, else the released one in `dist`.
///
/// # Panics
/// If there is none; the message has the command that makes it.
pub fn live_image_aarch64() -> PathBuf {
    let default = project_root().join("dist/muster-live-aarch64.iso");
    given_or("MUSTER_LIVE_IMAGE_AARCH64", default, "`make image-aarch64`")
}

/// The folder of artifacts that are downloaded or built once for all clones on this machine, as `.ci/kube` and
/// muster-image name it.
pub fn cache_folder() -> PathBuf {
    let set = |variable| {
        std::env::var_os(variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("MUSTER_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("muster")))
        .or_else(|| set("HOME").map(|folder| folder.join(".cache/muster")))
        .unwrap_or_else(|| project_root().join(".cache"))
}

fn given_or(variable: &str, default: PathBuf, remedy: &str) -> PathBuf {
    let path = std::env::var_os(variable).map_or(default, PathBuf::from);
    assert!(
        path.is_file(),
        "{} is missing: run {remedy}, or set {variable}",
        path.display()
    );
    path
}

/// Test programs are in `target/<profile>/deps`, others in `target/<profile>`.
fn beside_this_program(name: &str) -> PathBuf {
    profile_folder().join(name)
}

/// Cargo's target folder, which also keeps reusable artifacts that are made from downloads.
pub fn target_folder() -> PathBuf {
    let profile = profile_folder();
    profile.parent().unwrap_or(&profile).to_owned()
}

fn profile_folder() -> PathBuf {
    let own = std::env::current_exe().expect("the kernel knows the running program");
    let folder = own.parent().expect("a program is in a folder");
    let folder = if folder.ends_with("deps") {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    };
    folder.to_owned()
}

/// Opens the lock file of that name, shared by all test programs of this user.
pub(crate) fn lock_file(name: &str) -> File {
    let folder = std::env::temp_dir().join(format!("muster-lab-{}", nix::unistd::getuid()));
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let path = folder.join(name);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    file.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
