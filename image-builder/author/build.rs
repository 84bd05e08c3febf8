//! Finds libisoburn, or names the packages to install.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = pkg_config::Config::new()
        .atleast_version("1.5.4")
        .probe("libisoburn-1")
    {
        println!(
            "cargo::error=libisoburn was not found; on Debian: apt-get install libisoburn-dev pkg-config"
        );
        for line in error.to_string().lines() {
            println!("cargo::warning={line}");
        }
    }
}
