//! Copies the experiments to where the library embeds them from; none there are an empty directory.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let source = Path::new("../../experiments");
    let Some(out) = env::var_os("OUT_DIR") else { return Ok(()) };
    let target = Path::new(&out).join("experiments");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    fs::create_dir_all(&target)?;
    println!("cargo::rerun-if-changed=build.rs");
    if source.is_dir() {
        println!("cargo::rerun-if-changed={}", source.display());
        copy(source, &target)?;
    }
    Ok(())
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
