//! Packs the page of `aqmkit play`, which the library embeds.

use std::path::Path;
use std::{env, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=assets");
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    aqmkit_files::packed::pack("assets".as_ref(), &Path::new(&out).join("assets.packed"))
}
