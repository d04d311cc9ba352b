//! Prints, for each law, the sizes of its state and parameters in 64-bit words and which packet fields it needs; read
//! by the build of the BPF programs.

#![allow(clippy::print_stdout, reason = "this is what the program is for")]

use aqmkit_kernel_laws::disciplines::{
    afd, ared, blue, cbt, codel, csfq, dcn, erd, fred, pi, pie, red, rem, rio, sfb, sred, step, wred,
};
use aqmkit_kernel_laws::law::{Law, Program};

/// `name STATE CONFIG LOOKS`, where LOOKS is 1 for a law that needs flows, plus 2 for one that needs classes.
fn line<L: Law>(name: &str) -> String {
    let looks = u8::from(L::FLOWS) + 2 * u8::from(L::CLASSES);
    format!("{name} {} {} {looks}", size_of::<Program<L>>() / 8, size_of::<L::Config>() / 8)
}

fn print_law<L: Law>(name: &str) {
    println!("{}", line::<L>(name));
}

/// As [`print_law`], with `HEAD SET` for a law that also runs at the head of the queue: the size of that state, and the
/// index of the parameter that enables it.
fn print_law_with_head<L: Law, H>(name: &str, set: usize) {
    println!("{} {} {set}", line::<L>(name), size_of::<H>() / 8);
}

fn main() {
    print_law::<red::Red>("red");
    print_law::<ared::Ared>("ared");
    print_law::<pi::Pi>("pi");
    print_law::<rem::Rem>("rem");
    print_law::<blue::Blue>("blue");
    print_law::<step::Step>("step");
    print_law::<erd::Erd>("erd");
    print_law::<dcn::Dcn>("dcn");
    print_law::<cbt::Cbt>("cbt");
    print_law::<rio::Rio>("rio");
    print_law::<wred::Wred>("wred");
    print_law::<fred::Fred>("fred");
    print_law::<sfb::Sfb>("sfb");
    print_law_with_head::<codel::Codel, codel::AtHead>("codel", codel::AT_HEAD);
    print_law::<pie::Pie>("pie");
    print_law::<sred::Sred>("sred");
    print_law::<afd::Afd>("afd");
    print_law::<csfq::Csfq>("csfq");
}
