//! The exports of the WebAssembly module: its memory, and four functions.
//!
//! The caller writes a request into memory from [`aq_alloc`] and passes its address and length to [`aq_call`]. The
//! result is a number with the address of the answer in its upper 32 bits and the length in its lower 32 bits. The
//! caller frees both with [`aq_free`]. Addresses passed in are only looked up among those handed out, never
//! dereferenced.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::Player;

/// Buffers the caller has not freed yet, and the open experiments.
#[derive(Default)]
struct State {
    buffers: BTreeMap<usize, Box<[u8]>>,
    player: Player,
    records: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// The size of a record of [`aq_log`] in bytes.
const RECORD: usize = 24;

fn packed(address: usize, count: usize) -> u64 {
    (address as u64) << 32 | (count as u64 & 0xffff_ffff)
}

/// Allocates memory for a request of `len` bytes.
#[allow(unsafe_code, reason = "an exported name; nothing else here is unsafe")]
#[unsafe(no_mangle)]
pub extern "C" fn aq_alloc(len: u32) -> usize {
    STATE.with_borrow_mut(|state| {
        // One byte more, so that two empty requests have different addresses.
        let buffer = vec![0_u8; len as usize + 1].into_boxed_slice();
        let address = buffer.as_ptr() as usize;
        state.buffers.insert(address, buffer);
        address
    })
}

/// Frees a buffer from [`aq_alloc`] or an answer of [`aq_call`].
#[allow(unsafe_code, reason = "an exported name; nothing else here is unsafe")]
#[unsafe(no_mangle)]
pub extern "C" fn aq_free(address: usize, _len: u32) {
    STATE.with_borrow_mut(|state| state.buffers.remove(&address));
}

/// Answers a request; returns the address and the length of the answer.
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

/// The records of packets since the last call: the address of the first, and their number. They are valid until the
/// next call.
#[allow(unsafe_code, reason = "an exported name; nothing else here is unsafe")]
#[unsafe(no_mangle)]
pub extern "C" fn aq_log(handle: u32) -> u64 {
    STATE.with_borrow_mut(|state| {
        state.records = state.player.records(handle);
        packed(state.records.as_ptr() as usize, state.records.len() / RECORD)
    })
}
