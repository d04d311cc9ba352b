//! The tcx programs that redirect an interface's frames through this process.

use std::io;

use crate::bpf::code::{Code, Reg, Size, When};
use crate::bpf::tcx::{Attached, Hook, MARK, NEXT, RECEIVED, REDIRECT};

/// skb mark of frames that have passed the queue (`aqmk` in ASCII). Frames arriving from the network have mark 0.
const PASSED: i32 = 0x6171_6d6b;

/// Redirects egress frames of the interface to the TAP device `to`.
///
/// # Errors
/// As [`Attached::to`].
pub(super) fn at_egress(interface: u32, to: u32) -> io::Result<Attached> {
    let mut code = Code::default();
    redirect(&mut code, to, 0);
    Attached::to(interface, Hook::Egress, code)
}

/// Redirects ingress frames of the interface to the TAP device `to`, except those already marked as passed.
///
/// # Errors
/// As [`Attached::to`].
pub(super) fn at_ingress(interface: u32, to: u32) -> io::Result<Attached> {
    let mut code = Code::default();
    let passed = code.label();
    code.load(Size::U32, Reg::R2, Reg::R1, MARK);
    code.jump(When::Equal, Reg::R2, PASSED, passed);
    redirect(&mut code, to, 0);
    code.here(passed);
    code.set(Reg::R2, 0);
    code.store(Size::U32, Reg::R1, MARK, Reg::R2);
    code.set(Reg::R0, NEXT);
    code.exit();
    Attached::to(interface, Hook::Ingress, code)
}

/// Redirects what this process writes to the TAP device `from` to the interface's ingress.
///
/// # Errors
/// As [`Attached::to`].
pub(super) fn back_to(interface: u32, from: u32) -> io::Result<Attached> {
    let mut code = Code::default();
    code.set(Reg::R2, PASSED);
    code.store(Size::U32, Reg::R1, MARK, Reg::R2);
    redirect(&mut code, interface, RECEIVED);
    Attached::to(from, Hook::Ingress, code)
}

/// Tests whether a tcx program can be attached to an interface, by attaching a no-op briefly.
///
/// # Errors
/// As [`Attached::to`].
pub(crate) fn can_attach(interface: u32) -> io::Result<()> {
    let mut code = Code::default();
    code.set(Reg::R0, NEXT);
    code.exit();
    Attached::to(interface, Hook::Egress, code).map(drop)
}

fn redirect(code: &mut Code, to: u32, flags: i32) {
    code.set(Reg::R1, to as i32);
    code.set(Reg::R2, flags);
    code.call_helper(REDIRECT);
    code.exit();
}
