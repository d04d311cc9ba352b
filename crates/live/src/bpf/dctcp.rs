//! DCTCP (RFC 8257) for a kernel that was built without it.
//!
//! The functions are members of `struct tcp_congestion_ops`. `alpha` is in units of 2^-10, the gain g is 1/16, and the
//! initial alpha is 1. Without ECN nothing is marked, so `alpha` decays to zero and the control behaves like Reno.

use super::code::{Code, Op, Operand, Reg, Size, When};
use super::kernel_types::Btf;
use super::tcp::{Operation, Socket};

/// An `alpha` of 1.
const ONE: i32 = 1 << 10;
/// g = 2^-4 (RFC 8257, section 4.2).
const GAIN_SHIFT: i32 = 4;
/// The minimum cwnd, in segments.
const LEAST: i32 = 2;

/// `enum tcp_ca_event`.
const EVENT_LOSS: i32 = 3;
const EVENT_NOT_MARKED: i32 = 4;
const EVENT_MARKED: i32 = 5;
/// `enum tcp_ca_state`.
const STATE_RECOVERY: i32 = 3;
/// Bits of `icsk_ack.pending`: `ICSK_ACK_TIMER` (a delayed ACK is pending) and `ICSK_ACK_NOW`.
const ACK_TIMER: i32 = 2;
const ACK_NOW: i32 = 16;
/// `TCP_ECN_DEMAND_CWR` in `ecn_flags`: set ECE in ACKs.
const DEMAND_CWR: i32 = 4;
/// `BPF_FUNC_tcp_send_ack`: sends an ACK for a given `rcv_nxt`.
const TCP_SEND_ACK: i32 = 116;

/// Holds the socket in all functions.
const SOCKET: Reg = Reg::R6;

/// Per-connection state, in `icsk_ca_priv`.
struct State {
    alpha: i16,
    /// `snd_nxt` at the start of the observation window, which ends when this is acknowledged.
    next_seq: i16,
    old_delivered: i16,
    old_delivered_ce: i16,
    /// `rcv_nxt` when the CE state was last updated.
    prior_rcv_nxt: i16,
    /// Whether the last packet was CE-marked (`DCTCP.CE`).
    ce_state: i16,
    /// cwnd before the last reduction, for undo.
    loss_cwnd: i16,
}

impl State {
    fn at(private: i16) -> State {
        let nth = |n: i16| private + 4 * n;
        State {
            alpha: nth(0),
            next_seq: nth(1),
            old_delivered: nth(2),
            old_delivered_ce: nth(3),
            prior_rcv_nxt: nth(4),
            ce_state: nth(5),
            loss_cwnd: nth(6),
        }
    }
}

/// The operations, or the kernel function or struct member that is missing.
pub(super) fn operations(kernel: &Btf) -> Result<Vec<Operation>, &'static str> {
    let dctcp = Dctcp::new(Socket::of(kernel)?);
    let grow = "tcp_reno_cong_avoid";
    let grow = kernel.function(grow).ok_or(grow)?;
    Ok(vec![
        ("init", dctcp.init()),
        ("ssthresh", dctcp.ssthresh()),
        ("cong_avoid", Dctcp::cong_avoid(grow)),
        ("in_ack_event", dctcp.in_ack_event()),
        ("cwnd_event", dctcp.cwnd_event()),
        ("set_state", dctcp.set_state()),
        ("undo_cwnd", dctcp.undo_cwnd()),
    ])
}

struct Dctcp {
    socket: Socket,
    state: State,
}

impl Dctcp {
    fn new(socket: Socket) -> Self {
        let state = State::at(socket.private);
        Dctcp { socket, state }
    }

    /// The prologue of a function whose only argument is the socket.
    fn begin() -> Code {
        let mut code = Code::default();
        code.load(Size::U64, SOCKET, Reg::R1, 0);
        code
    }

    /// The prologue of a function whose arguments are the socket and one more value, in `R2`.
    fn begin_with_argument() -> Code {
        let mut code = Code::default();
        code.load(Size::U64, Reg::R2, Reg::R1, 8);
        code.load(Size::U64, SOCKET, Reg::R1, 0);
        code
    }

    fn get(code: &mut Code, to: Reg, field: i16) {
        code.load(Size::U32, to, SOCKET, field);
    }

    fn put(code: &mut Code, field: i16, from: Reg) {
        code.store(Size::U32, SOCKET, field, from);
    }

    fn copy(code: &mut Code, to: i16, from: i16) {
        Self::get(code, Reg::R0, from);
        Self::put(code, to, Reg::R0);
    }

    /// `reg = max(reg, least)`.
    fn at_least(code: &mut Code, reg: Reg, least: impl Into<Operand> + Copy) {
        let enough = code.label();
        code.jump(When::AtLeast, reg, least, enough);
        code.set(reg, least);
        code.here(enough);
    }

    fn init(&self) -> Vec<u64> {
        let mut code = Self::begin();
        code.set(Reg::R0, ONE);
        Self::put(&mut code, self.state.alpha, Reg::R0);
        code.set(Reg::R0, 0);
        Self::put(&mut code, self.state.ce_state, Reg::R0);
        Self::put(&mut code, self.state.loss_cwnd, Reg::R0);
        Self::copy(&mut code, self.state.prior_rcv_nxt, self.socket.rcv_nxt);
        self.observe_anew(&mut code);
        code.exit();
        code.finish()
    }

    /// Starts a new observation window.
    fn observe_anew(&self, code: &mut Code) {
        Self::copy(code, self.state.next_seq, self.socket.snd_nxt);
        Self::copy(code, self.state.old_delivered, self.socket.delivered);
        Self::copy(code, self.state.old_delivered_ce, self.socket.delivered_ce);
    }

    /// Once per window: alpha = (1 - g) alpha + g M / N, where M of N delivered packets were marked (RFC 8257, section
    /// 3.3).
    fn in_ack_event(&self) -> Vec<u64> {
        let (alpha, marked, all) = (Reg::R1, Reg::R2, Reg::R3);
        let mut code = Self::begin();
        let (end, lowered, keep) = (code.label(), code.label(), code.label());
        Self::get(&mut code, Reg::R1, self.socket.snd_una);
        Self::get(&mut code, Reg::R2, self.state.next_seq);
        code.sub32(Reg::R1, Reg::R2);
        code.jump_negative(Reg::R1, end);

        Self::get(&mut code, alpha, self.state.alpha);
        code.set(Reg::R0, alpha);
        code.compute(Op::ShiftRight, Reg::R0, GAIN_SHIFT);
        // Below 2^-6 the shifted decrement is zero, and alpha would never decay: clear it.
        code.jump(When::NotEqual, Reg::R0, 0, lowered);
        code.set(Reg::R0, alpha);
        code.here(lowered);
        code.compute(Op::Sub, alpha, Reg::R0);

        self.since(&mut code, marked, self.socket.delivered_ce, self.state.old_delivered_ce);
        code.jump(When::Equal, marked, 0, keep);
        self.since(&mut code, all, self.socket.delivered, self.state.old_delivered);
        Self::at_least(&mut code, all, 1);
        code.compute(Op::ShiftLeft, marked, 10 - GAIN_SHIFT);
        code.compute(Op::Div, marked, all);
        code.compute(Op::Add, alpha, marked);
        code.set(Reg::R0, ONE);
        code.jump(When::AtLeast, Reg::R0, alpha, keep);
        code.set(alpha, ONE);
        code.here(keep);
        Self::put(&mut code, self.state.alpha, alpha);
        self.observe_anew(&mut code);
        code.here(end);
        code.exit();
        code.finish()
    }

    /// The increase of a 32-bit counter since `before`.
    fn since(&self, code: &mut Code, to: Reg, now: i16, before: i16) {
        Self::get(code, to, now);
        Self::get(code, Reg::R0, before);
        code.sub32(to, Reg::R0);
    }

    /// cwnd (1 - alpha / 2), at least two segments (RFC 8257, section 3.3).
    fn ssthresh(&self) -> Vec<u64> {
        let mut code = Self::begin();
        Self::get(&mut code, Reg::R0, self.socket.snd_cwnd);
        Self::put(&mut code, self.state.loss_cwnd, Reg::R0);
        Self::get(&mut code, Reg::R1, self.state.alpha);
        code.compute(Op::Mul, Reg::R1, Reg::R0);
        code.compute(Op::ShiftRight, Reg::R1, 11);
        code.compute(Op::Sub, Reg::R0, Reg::R1);
        Self::at_least(&mut code, Reg::R0, LEAST);
        code.exit();
        code.finish()
    }

    /// A loss halves cwnd regardless of alpha (RFC 8257, section 3.4).
    fn react_to_loss(&self, code: &mut Code) {
        Self::get(code, Reg::R1, self.socket.snd_cwnd);
        Self::put(code, self.state.loss_cwnd, Reg::R1);
        code.compute(Op::ShiftRight, Reg::R1, 1);
        Self::at_least(code, Reg::R1, LEAST);
        Self::put(code, self.socket.snd_ssthresh, Reg::R1);
    }

    /// On entering fast recovery.
    fn set_state(&self) -> Vec<u64> {
        let mut code = Self::begin_with_argument();
        let end = code.label();
        code.jump(When::NotEqual, Reg::R2, STATE_RECOVERY, end);
        self.react_to_loss(&mut code);
        code.here(end);
        code.exit();
        code.finish()
    }

    /// On a retransmission timeout, or when a received packet's ECN field is checked.
    fn cwnd_event(&self) -> Vec<u64> {
        let mut code = Self::begin_with_argument();
        let (loss, mark) = (code.label(), code.label());
        code.jump(When::Equal, Reg::R2, EVENT_LOSS, loss);
        code.jump(When::Equal, Reg::R2, EVENT_NOT_MARKED, mark);
        code.jump(When::Equal, Reg::R2, EVENT_MARKED, mark);
        code.exit();
        code.here(loss);
        self.react_to_loss(&mut code);
        code.exit();
        code.here(mark);
        self.receive(&mut code);
        code.exit();
        code.finish()
    }

    /// The receiver's ACK state machine (RFC 8257, section 3.2, figure 1): when the CE state changes, a pending delayed
    /// ACK is sent with the old state first, then the new packet is acknowledged immediately. The event is in `R2`.
    fn receive(&self, code: &mut Code) {
        let (same, sent) = (code.label(), code.label());
        let now = Reg::R2;
        code.compute(Op::Sub, now, EVENT_NOT_MARKED);
        Self::get(code, Reg::R1, self.state.ce_state);
        code.jump(When::Equal, Reg::R1, now, same);
        Self::put(code, self.state.ce_state, now);
        code.load(Size::U8, Reg::R3, SOCKET, self.socket.ack_pending);
        code.compute(Op::And, Reg::R3, ACK_TIMER);
        code.jump(When::Equal, Reg::R3, 0, sent);
        self.echo(code, Reg::R1);
        code.set(Reg::R1, SOCKET);
        Self::get(code, Reg::R2, self.state.prior_rcv_nxt);
        code.call_helper(TCP_SEND_ACK);
        code.here(sent);
        code.load(Size::U8, Reg::R3, SOCKET, self.socket.ack_pending);
        code.compute(Op::Or, Reg::R3, ACK_NOW);
        code.store(Size::U8, SOCKET, self.socket.ack_pending, Reg::R3);
        code.here(same);
        Self::copy(code, self.state.prior_rcv_nxt, self.socket.rcv_nxt);
        Self::get(code, Reg::R1, self.state.ce_state);
        self.echo(code, Reg::R1);
    }

    /// Sets or clears ECE in subsequent ACKs.
    fn echo(&self, code: &mut Code, marked: Reg) {
        let store = code.label();
        code.load(Size::U8, Reg::R3, SOCKET, self.socket.ecn_flags);
        code.compute(Op::And, Reg::R3, !DEMAND_CWR & 0xff);
        code.jump(When::Equal, marked, 0, store);
        code.compute(Op::Or, Reg::R3, DEMAND_CWR);
        code.here(store);
        code.store(Size::U8, SOCKET, self.socket.ecn_flags, Reg::R3);
    }

    /// Restores cwnd after a spurious reduction.
    fn undo_cwnd(&self) -> Vec<u64> {
        let mut code = Self::begin();
        Self::get(&mut code, Reg::R0, self.socket.snd_cwnd);
        Self::get(&mut code, Reg::R1, self.state.loss_cwnd);
        Self::at_least(&mut code, Reg::R0, Reg::R1);
        code.exit();
        code.finish()
    }

    /// Reno growth (RFC 8257, section 3.3), by the kernel's `tcp_reno_cong_avoid`.
    fn cong_avoid(grow: u32) -> Vec<u64> {
        let mut code = Code::default();
        code.load(Size::U64, Reg::R3, Reg::R1, 16);
        code.load(Size::U64, Reg::R2, Reg::R1, 8);
        code.load(Size::U64, Reg::R1, Reg::R1, 0);
        code.call_function(grow);
        code.exit();
        code.finish()
    }
}

#[cfg(test)]
mod tests;
