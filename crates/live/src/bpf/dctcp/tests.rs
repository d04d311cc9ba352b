//! The programs, run by an interpreter on a socket of bytes, against values worked by hand from RFC 8257.

use std::sync::Mutex;

use super::*;

/// Offsets of the socket's fields in these tests.
const FIELDS: Socket = Socket {
    snd_cwnd: 0,
    snd_ssthresh: 4,
    snd_una: 8,
    snd_nxt: 12,
    rcv_nxt: 16,
    delivered: 20,
    delivered_ce: 24,
    ecn_flags: 28,
    ack_pending: 29,
    private: 32,
};

/// Offset of the socket, behind the function's arguments.
const SOCKET_AT: usize = 16;

/// `rcv_nxt` of the last ACK sent.
static ACKNOWLEDGED: Mutex<Option<u64>> = Mutex::new(None);

fn acknowledge(_socket: u64, up_to: u64, _: u64, _: u64, _: u64) -> u64 {
    *ACKNOWLEDGED.lock().unwrap() = Some(up_to);
    0
}

struct Memory(Vec<u8>);

impl Memory {
    fn new(fields: &[(i16, u32)]) -> Memory {
        let mut memory = Memory(vec![0; SOCKET_AT + 128]);
        fields.iter().for_each(|(field, value)| memory.set(*field, *value));
        memory
    }

    fn set(&mut self, field: i16, value: u32) {
        let at = SOCKET_AT + field as usize;
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn get(&self, field: i16) -> u32 {
        let at = SOCKET_AT + field as usize;
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    fn byte(&mut self, field: i16) -> &mut u8 {
        &mut self.0[SOCKET_AT + field as usize]
    }

    /// Runs a function on the socket and one more argument; returns its result.
    fn run(&mut self, code: &[u64], argument: u64) -> u64 {
        let socket = self.0.as_ptr() as u64 + SOCKET_AT as u64;
        self.0[..8].copy_from_slice(&socket.to_le_bytes());
        self.0[8..16].copy_from_slice(&argument.to_le_bytes());
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut machine = rbpf::EbpfVmRaw::new(Some(&bytes)).unwrap();
        machine.register_helper(TCP_SEND_ACK as u32, acknowledge).unwrap();
        machine.execute_program(&mut self.0).unwrap()
    }
}

fn dctcp() -> Dctcp {
    Dctcp::new(FIELDS)
}

fn state() -> State {
    State::at(FIELDS.private)
}

/// alpha after a window in which `marked` of `delivered` packets were marked.
fn estimate(alpha: u32, marked: u32, delivered: u32) -> u32 {
    let mut memory = Memory::new(&[
        (state().alpha, alpha),
        (state().next_seq, 1000),
        (state().old_delivered, u32::MAX - 3),
        (state().old_delivered_ce, 7),
        (FIELDS.snd_una, 1000),
        (FIELDS.snd_nxt, 5000),
        (FIELDS.delivered, (u32::MAX - 3).wrapping_add(delivered)),
        (FIELDS.delivered_ce, 7 + marked),
    ]);
    memory.run(&dctcp().in_ack_event(), 0);
    assert_eq!((memory.get(state().next_seq), memory.get(state().old_delivered_ce)), (5000, 7 + marked));
    memory.get(state().alpha)
}

/// RFC 8257, section 3.3, step 7, in units of 1/1024 with g = 1/16.
#[test]
fn the_estimate_follows_the_share_of_marks() {
    // 15/16 + 1/16 * 5/10 = 0.96875.
    assert_eq!(estimate(1024, 5, 10), 992);
    assert_eq!(estimate(1024, 10, 10), 1024);
    assert_eq!(estimate(512, 0, 10), 480);
    // Below 1/64 alpha goes to zero at once.
    assert_eq!(estimate(15, 0, 10), 0);
    assert_eq!(estimate(0, 1, 100), 0);
    assert_eq!(estimate(0, 2, 100), 1);
}

#[test]
fn a_window_ends_when_all_of_it_is_acknowledged() {
    for (una, next, ends) in [(999, 1000, false), (1000, 1000, true), (5, u32::MAX, true), (u32::MAX - 9, 5, false)] {
        let fields = [(state().alpha, 1024), (state().next_seq, next), (FIELDS.snd_una, una), (FIELDS.delivered, 1)];
        let mut memory = Memory::new(&fields);
        memory.run(&dctcp().in_ack_event(), 0);
        assert_eq!(memory.get(state().alpha) != 1024, ends, "{una} of {next}");
    }
}

#[test]
fn marks_take_off_half_of_the_estimate_and_losses_half_of_the_window() {
    for (cwnd, alpha, left) in [(20, 512, 15), (20, 1024, 10), (20, 0, 20), (3, 1024, 2), (2, 1024, 2)] {
        let mut memory = Memory::new(&[(FIELDS.snd_cwnd, cwnd), (state().alpha, alpha)]);
        assert_eq!(memory.run(&dctcp().ssthresh(), 0), left, "{cwnd} with {alpha}");
        assert_eq!(memory.run(&dctcp().undo_cwnd(), 0), u64::from(cwnd));
        memory.set(FIELDS.snd_cwnd, 1);
        assert_eq!(memory.run(&dctcp().undo_cwnd(), 0), u64::from(cwnd), "undone");
    }
    for (code, argument, happened) in [
        (dctcp().set_state(), 3, true),
        (dctcp().set_state(), 2, false),
        (dctcp().cwnd_event(), 3, true),
        (dctcp().cwnd_event(), 0, false),
    ] {
        let mut memory = Memory::new(&[(FIELDS.snd_cwnd, 21), (FIELDS.snd_ssthresh, 77)]);
        memory.run(&code, argument);
        assert_eq!(memory.get(FIELDS.snd_ssthresh), if happened { 10 } else { 77 });
    }
}

/// RFC 8257, section 3.2, figure 1: when the CE state changes, the pending ACK is sent with the old state, then the new
/// packet is acknowledged immediately.
#[test]
fn a_change_of_marks_is_told_at_once() {
    let (marked, not_marked) = (EVENT_MARKED as u64, EVENT_NOT_MARKED as u64);
    let mut memory = Memory::new(&[(FIELDS.rcv_nxt, 3000), (state().prior_rcv_nxt, 2000)]);
    *memory.byte(FIELDS.ack_pending) = ACK_TIMER as u8;
    *memory.byte(FIELDS.ecn_flags) = 1;
    memory.run(&dctcp().cwnd_event(), marked);
    assert_eq!(ACKNOWLEDGED.lock().unwrap().take(), Some(2000));
    assert_eq!((*memory.byte(FIELDS.ecn_flags), *memory.byte(FIELDS.ack_pending)), (1 | 4, 2 | 16));
    assert_eq!((memory.get(state().ce_state), memory.get(state().prior_rcv_nxt)), (1, 3000));

    // A second marked packet changes nothing.
    *memory.byte(FIELDS.ack_pending) = ACK_TIMER as u8;
    memory.set(FIELDS.rcv_nxt, 4000);
    memory.run(&dctcp().cwnd_event(), marked);
    assert_eq!((ACKNOWLEDGED.lock().unwrap().take(), *memory.byte(FIELDS.ack_pending)), (None, 2));
    assert_eq!(memory.get(state().prior_rcv_nxt), 4000);

    // An unmarked packet with no ACK pending.
    *memory.byte(FIELDS.ack_pending) = 0;
    memory.run(&dctcp().cwnd_event(), not_marked);
    assert_eq!(ACKNOWLEDGED.lock().unwrap().take(), None);
    assert_eq!((*memory.byte(FIELDS.ecn_flags), *memory.byte(FIELDS.ack_pending)), (1, 16));
    assert_eq!(memory.get(state().ce_state), 0);
}

#[test]
fn a_connection_begins_with_the_largest_estimate() {
    let mut memory =
        Memory::new(&[(FIELDS.snd_nxt, 11), (FIELDS.rcv_nxt, 22), (FIELDS.delivered, 1), (state().loss_cwnd, 9)]);
    memory.run(&dctcp().init(), 0);
    let fields = [state().alpha, state().next_seq, state().prior_rcv_nxt, state().old_delivered, state().loss_cwnd];
    assert_eq!(fields.map(|f| memory.get(f)), [1024, 11, 22, 1, 0]);
}
