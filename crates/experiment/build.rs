//! Copies the experiments to where the library embeds them from; an empty directory where there are none.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_LIBRARY").is_none() {
        return Ok(());
    }
    let source = experiments()?;
    let Some(out) = env::var_os("OUT_DIR") else { return Ok(()) };
    let target = Path::new(&out).join("experiments");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    fs::create_dir_all(&target)?;
    if source.is_dir() {
        println!("cargo::rerun-if-changed={}", source.display());
        copy(&source, &target)?;
    }
    Ok(())
}

/// The tree of the experiments: a link of this crate to it, or what a package has in its place. Where links are not made, as often on
/// Windows, git writes a file that says where it leads.
fn experiments() -> io::Result<PathBuf> {
    let here = Path::new("experiments");
    if here.is_file() { fs::read_to_string(here).map(|text| text.trim().into()) } else { Ok(here.into()) }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
