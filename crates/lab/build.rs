//! Packs the page of `play`, and sets `cfg(live)` where live links are wanted and can be had: with the feature `live`, on Linux.

use std::path::Path;
use std::{env, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=assets");
    println!("cargo::rustc-check-cfg=cfg(live)");
    if env::var_os("CARGO_FEATURE_LIVE").is_some() && env::var_os("CARGO_CFG_TARGET_OS").is_some_and(|os| os == "linux")
    {
        println!("cargo::rustc-cfg=live");
    }
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    aqmkit_files::packed::pack("assets".as_ref(), &Path::new(&out).join("assets.packed"))
}
