//! Copies the experiments to where the library embeds them from (none there are an empty directory), and makes a fingerprint of
//! the code that decides results, so that a stored run is never taken for one of changed code.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let source = experiments()?;
    let Some(out) = env::var_os("OUT_DIR") else { return Ok(()) };
    let target = Path::new(&out).join("experiments");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    fs::create_dir_all(&target)?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(live)");
    if env::var_os("CARGO_FEATURE_LIVE").is_some() && env::var_os("CARGO_CFG_TARGET_OS").is_some_and(|os| os == "linux")
    {
        println!("cargo::rustc-cfg=live");
    }
    if source.is_dir() {
        println!("cargo::rerun-if-changed={}", source.display());
        copy(&source, &target)?;
    }
    let code = ["../base/src", "../aqm/src", "../flows/src", "../sim/src", "src/experiment"];
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for folder in code.map(Path::new).into_iter().filter(|f| f.is_dir()) {
        println!("cargo::rerun-if-changed={}", folder.display());
        fingerprint(folder, &mut hash)?;
    }
    println!("cargo::rustc-env=AQMKIT_CODE={hash:016x}");
    Ok(())
}

/// The tree of the experiments: a link of this crate to it, or what a package has in its place. Where links are not made, as often on
/// Windows, git writes a file that says where it leads.
fn experiments() -> io::Result<PathBuf> {
    let here = Path::new("experiments");
    if here.is_file() { fs::read_to_string(here).map(|text| text.trim().into()) } else { Ok(here.into()) }
}

/// FNV-1a over the files of a folder, in the order of their names.
fn fingerprint(folder: &Path, hash: &mut u64) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            fingerprint(&path, hash)?;
        } else {
            for byte in fs::read(&path)? {
                *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
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
