//! A new migration file has to be seen; changed ones are.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
