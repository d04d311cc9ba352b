//! Entry points for the BPF programs in C: one function per law, inlined into its caller.

#![allow(unsafe_code, reason = "the callers are in C; each passes what its map holds")]

use crate::disciplines::{
    afd, ared, blue, cbt, codel, csfq, dcn, erd, fred, pi, pie, red, rem, rio, sfb, sred, step, wred,
};
use crate::fixed::Fixed;
use crate::law::{GAUGES, Law, Program, Surroundings};
use crate::verifier::reread_mut;

macro_rules! program {
    ($function:ident, $law:ty) => {
        /// Decides on the arrival stored in the state, and writes the gauges.
        ///
        /// # Safety
        /// Every pointer must be valid for its type, and nothing else may access the state or the gauges during the
        /// call.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function(
            program: *mut Program<$law>,
            around: *const Surroundings,
            config: *const <$law as Law>::Config,
            gauges: *mut [Fixed; GAUGES],
        ) -> u32 {
            // SAFETY: by contract.
            let (program, around, config, gauges) = unsafe { (&mut *program, &*around, &*config, &mut *gauges) };
            let verdict = program.on_arrival(around, config);
            *gauges = reread_mut(program).law.gauges(config);
            verdict.code()
        }
    };
}

program!(red, red::Red);
program!(ared, ared::Ared);
program!(pi, pi::Pi);
program!(rem, rem::Rem);
program!(blue, blue::Blue);
program!(step, step::Step);
program!(erd, erd::Erd);
program!(dcn, dcn::Dcn);
program!(cbt, cbt::Cbt);
program!(rio, rio::Rio);
program!(wred, wred::Wred);
program!(fred, fred::Fred);
program!(sfb, sfb::Sfb);
program!(codel, codel::Codel);
program!(pie, pie::Pie);
program!(sred, sred::Sred);
program!(afd, afd::Afd);
program!(csfq, csfq::Csfq);

/// CoDel at the head of the queue: 1 to drop the packet, 0 to send it; writes the gauges.
///
/// # Safety
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codel_at_head(
    state: *mut codel::AtHead,
    config: *const codel::Config,
    packet: *const codel::Judged,
    gauges: *mut [Fixed; GAUGES],
) -> u32 {
    // SAFETY: by contract.
    let (state, config, packet, gauges) = unsafe { (&mut *state, &*config, &*packet, &mut *gauges) };
    let dropped = state.drops(config, packet);
    *gauges = state.gauges(config);
    u32::from(dropped)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
