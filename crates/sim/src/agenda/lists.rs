//! Lists of events that grow and are emptied as a whole, many of them at once.
//!
//! A list is a chain of pieces of 31 events each, and the pieces of all lists stand in one pool. The events of a piece come from memory
//! all together, where those of a chain of single events come one after the other: with a million connections that was a third
//! of all time. The next piece is on its way while one is emptied.

use super::Entry;
use crate::fetch::fetch;

/// Events in a piece: with those of 16 bytes that the world has, eight lines of cache.
const PIECE: usize = 31;
const NIL: u32 = u32::MAX;

#[derive(Clone, Debug)]
#[repr(align(64))]
struct Piece<E> {
    entries: [Entry<E>; PIECE],
    /// The next piece of the list, or of those that are free.
    next: u32,
}

/// A list: its first and last piece, how many events are in the last one, and how many in all.
///
/// The numbers stand here and not in the piece, so that an event is put in without reading what is far away. That
/// of the last piece follows from the other, but by a division.
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
    /// Its parts come one by one, in registers: a copy of what was written to memory a moment ago in smaller pieces
    /// stalls the processor.
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

    /// A piece. Whatever is in it is not part of a list yet.
    fn piece(&mut self, filling: Entry<E>) -> u32 {
        let index = self.free;
        if index == NIL {
            self.pieces.push(Piece { entries: [filling; PIECE], next: NIL });
            return self.pieces.len() as u32 - 1;
        }
        self.free = std::mem::replace(&mut self.pieces[index as usize].next, NIL);
        index
    }

    /// Takes the first piece out of a list: its events go to the end of `to`, in the order in which they were put in. Whether there
    /// was one.
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
