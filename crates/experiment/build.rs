//! Packs the experiments into one file that the library embeds; does nothing without the feature `library`.

use std::io;

#[cfg(feature = "library")]
fn main() -> io::Result<()> {
    use std::path::Path;
    use std::{env, fs};

    // `experiments` is a symbolic link to the tree, or the tree itself in a published package. On systems without
    // symbolic links, such as Windows, git writes a file that contains the target's path.
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
