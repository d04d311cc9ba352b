//! Sets `cfg(live)` if live links are requested and supported: with the feature `live`, on Linux.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(live)");
    if env::var_os("CARGO_FEATURE_LIVE").is_some() && env::var_os("CARGO_CFG_TARGET_OS").is_some_and(|os| os == "linux")
    {
        println!("cargo::rustc-cfg=live");
    }
}
