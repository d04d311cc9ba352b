//! Many event lists that grow, and are emptied as a whole.
//!
//! A list is a linked list of blocks of 31 events, allocated from one pool. The memory accesses of a block
//! overlap, whereas those of a linked list of single events are sequential: with a million connections that
//! took a third of the time. The next block is prefetched while one is emptied.

use super::Entry;
use crate::fetch::fetch;

/// Events in a block: eight cache lines for events of 16 bytes.
const PIECE: usize = 31;
const NIL: u32 = u32::MAX;

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Piece<E> {
    entries: [Entry<E>; PIECE],
    /// The next block of the list, or of the free list.
    next: u32,
}

/// A list: first and last block, events in the last block, and events in total.
///
/// The counts are here and not in the block, so that an insertion does not read distant memory. The count
/// of the last block is stored to avoid a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List {
    first: u32,
    last: u32,
    filled: u32,
    len: u32,
}

impl List {
    pub(super) const EMPTY: List = List { first: NIL, last: NIL, filled: PIECE as u32, len: 0 };

    pub(super) fn len(self) -> usize {
        self.len as usize
    }

    pub(super) fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The pieces of all lists.
#[derive(Clone, Debug)]
pub(super) struct Pool<E> {
    pieces: Vec<Piece<E>>,
    free: u32,
}

impl<E> Default for Pool<E> {
    fn default() -> Self {
        Pool { pieces: Vec::new(), free: NIL }
    }
}

impl<E: Copy> Pool<E> {
    /// Puts an event at the end of a list.
    ///
    /// The parts are passed in registers: copying memory that was just written in smaller units stalls the
    /// processor (store forwarding).
    #[inline(always)]
    pub(super) fn put(&mut self, list: &mut List, at: u64, what: E) {
        if list.filled as usize == PIECE {
            let piece = self.piece(Entry { at, what });
            match self.pieces.get_mut(list.last as usize) {
                Some(last) => last.next = piece,
                None => list.first = piece,
            }
            (list.last, list.filled) = (piece, 0);
        }
        let entry = &mut self.pieces[list.last as usize].entries[list.filled as usize];
        (entry.at, entry.what) = (at, what);
        list.filled += 1;
        list.len += 1;
    }

    /// Allocates a block with undefined contents.
    fn piece(&mut self, filling: Entry<E>) -> u32 {
        let index = self.free;
        if index == NIL {
            self.pieces.push(Piece { entries: [filling; PIECE], next: NIL });
            return self.pieces.len() as u32 - 1;
        }
        self.free = std::mem::replace(&mut self.pieces[index as usize].next, NIL);
        index
    }

    /// Removes the first block of a list and appends its events to `to`, in insertion order. Returns
    /// whether there was one.
    pub(super) fn take_piece(&mut self, list: &mut List, to: &mut Vec<Entry<E>>) -> bool {
        if list.is_empty() {
            return false;
        }
        let index = list.first;
        let piece = &mut self.pieces[index as usize];
        let taken = (list.len as usize).min(PIECE);
        to.extend_from_slice(&piece.entries[..taken]);
        list.first = std::mem::replace(&mut piece.next, self.free);
        list.len -= taken as u32;
        self.free = index;
        match self.pieces.get(list.first as usize) {
            Some(next) => fetch(next),
            None => *list = List::EMPTY,
        }
        true
    }
}
