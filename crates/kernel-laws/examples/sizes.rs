//! Prints the sizes of every law's state and parameters in 64-bit words, and what it looks at, for the BPF programs in C.

#![allow(clippy::print_stdout, reason = "this is what the program is for")]

use aqmkit_kernel_laws::disciplines::{
    afd, ared, blue, cbt, codel, csfq, dcn, erd, fred, pi, pie, red, rem, rio, sfb, sred, step, wred,
};
use aqmkit_kernel_laws::law::{Law, Program};

/// `name STATE CONFIG LOOKS`, with the sum of 1 for a law that looks at flows and 2 for one that looks at classes.
fn line<L: Law>(name: &str) -> String {
    let looks = u8::from(L::FLOWS) + 2 * u8::from(L::CLASSES);
    format!("{name} {} {} {looks}", size_of::<Program<L>>() / 8, size_of::<L::Config>() / 8)
}

fn tell<L: Law>(name: &str) {
    println!("{}", line::<L>(name));
}

/// The same with `HEAD SET` of a law that also runs at the head of the queue: the size of that state, and the place of the parameter that puts it in
/// force.
fn tell_with<L: Law, H>(name: &str, set: usize) {
    println!("{} {} {set}", line::<L>(name), size_of::<H>() / 8);
}

fn main() {
    tell::<red::Red>("red");
    tell::<ared::Ared>("ared");
    tell::<pi::Pi>("pi");
    tell::<rem::Rem>("rem");
    tell::<blue::Blue>("blue");
    tell::<step::Step>("step");
    tell::<erd::Erd>("erd");
    tell::<dcn::Dcn>("dcn");
    tell::<cbt::Cbt>("cbt");
    tell::<rio::Rio>("rio");
    tell::<wred::Wred>("wred");
    tell::<fred::Fred>("fred");
    tell::<sfb::Sfb>("sfb");
    tell_with::<codel::Codel, codel::AtHead>("codel", codel::AT_HEAD);
    tell::<pie::Pie>("pie");
    tell::<sred::Sred>("sred");
    tell::<afd::Afd>("afd");
    tell::<csfq::Csfq>("csfq");
}
