//! What the WebAssembly module exports: its memory, and four functions.
//!
//! A request lies in memory that [`aq_alloc`] gave, and is passed to [`aq_call`] by its address and length. The answer is a number: the
//! address in its upper 32 bits, the length in its lower ones. Both are given back with [`aq_free`]. No address that comes in is
//! followed: it has to be one that was given out.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::Player;

/// All memory that is in use by the other side, and the open experiments.
#[derive(Default)]
struct State {
    buffers: BTreeMap<usize, Box<[u8]>>,
    player: Player,
    records: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// The bytes of a record of [`aq_log`].
const RECORD: usize = 24;

fn packed(address: usize, count: usize) -> u64 {
    (address as u64) << 32 | (count as u64 & 0xffff_ffff)
}

/// Memory for a request of `len` bytes.
#[allow(unsafe_code, reason = "an exported name; nothing else here is unsafe")]
#[unsafe(no_mangle)]
pub extern "C" fn aq_alloc(len: u32) -> usize {
    STATE.with_borrow_mut(|state| {
        // A byte more, so that two empty ones differ.
        let buffer = vec![0_u8; len as usize + 1].into_boxed_slice();
        let address = buffer.as_ptr() as usize;
        state.buffers.insert(address, buffer);
        address
    })
}

/// Gives memory back.
#[allow(unsafe_code, reason = "an exported name; nothing else here is unsafe")]
#[unsafe(no_mangle)]
pub extern "C" fn aq_free(address: usize, _len: u32) {
    STATE.with_borrow_mut(|state| state.buffers.remove(&address));
}

/// Answers a request: the address of the answer and its length.
#[allow(unsafe_code, reason = "an exported name; nothing else here is unsafe")]
#[unsafe(no_mangle)]
pub extern "C" fn aq_call(address: usize, len: u32) -> u64 {
    STATE.with_borrow_mut(|state| {
        let bytes = state.buffers.get(&address).and_then(|buffer| buffer.get(..len as usize)).unwrap_or_default();
        let answer = match std::str::from_utf8(bytes) {
            Ok(request) => state.player.call(request),
            Err(_) => r#"{"error":{"message":"this request is not UTF-8"}}"#.to_owned(),
        };
        let answer = answer.into_bytes().into_boxed_slice();
        let (at, count) = (answer.as_ptr() as usize, answer.len());
        state.buffers.insert(at, answer);
        packed(at, count)
    })
}

/// The records of packets since the last call: the address of the first and their number. They are there until the next call.
#[allow(unsafe_code, reason = "an exported name; nothing else here is unsafe")]
#[unsafe(no_mangle)]
pub extern "C" fn aq_log(handle: u32) -> u64 {
    STATE.with_borrow_mut(|state| {
        state.records = state.player.records(handle);
        packed(state.records.as_ptr() as usize, state.records.len() / RECORD)
    })
}
