//! Packs the experiments for the library, which embeds them; without the feature `library` it does nothing.

use std::io;

#[cfg(feature = "library")]
fn main() -> io::Result<()> {
    use std::path::Path;
    use std::{env, fs};

    // The tree of the experiments: a link of this crate to it, or what a package has in its place. Where links are not made, as often
    // on Windows, git writes a file that says where it leads.
    let here = Path::new("experiments");
    let source = if here.is_file() { fs::read_to_string(here)?.trim().into() } else { here.to_owned() };
    println!("cargo::rerun-if-changed=build.rs");
    if source.is_dir() {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    aqmkit_files::packed::pack(&source, &Path::new(&out).join("experiments.packed"))
}

#[cfg(not(feature = "library"))]
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
