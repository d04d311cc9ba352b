//! Sets of classes, and the place in such a set that is next.

/// Classes by number, with the next one found without a look at each: a bit for each class, and one for each word of bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    words: Vec<u64>,
    /// Which of `words` are not zero.
    used: Vec<u64>,
    len: usize,
}

impl Set {
    /// Makes room for the classes up to this number.
    pub(super) fn reserve(&mut self, class: usize) {
        if class / 64 >= self.words.len() {
            self.words.resize(class / 64 + 1, 0);
            self.used.resize(class / 4096 + 1, 0);
        }
    }

    pub(super) fn add(&mut self, class: usize) {
        self.reserve(class);
        let word = &mut self.words[class / 64];
        self.len += usize::from(*word & 1 << (class % 64) == 0);
        *word |= 1 << (class % 64);
        self.used[class / 4096] |= 1 << (class / 64 % 64);
    }

    pub(super) fn remove(&mut self, class: usize) {
        let Some(word) = self.words.get_mut(class / 64) else { return };
        self.len -= usize::from(*word & 1 << (class % 64) != 0);
        *word &= !(1 << (class % 64));
        if *word == 0 {
            self.used[class / 4096] &= !(1 << (class / 64 % 64));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first class that is `class` or comes after it.
    pub(super) fn from(&self, class: usize) -> Option<usize> {
        let own = self.words.get(class / 64)? & (u64::MAX << (class % 64));
        if own != 0 {
            return Some(class / 64 * 64 + own.trailing_zeros() as usize);
        }
        let word = next_bit(&self.used, class / 64 + 1)?;
        Some(64 * word + self.words[word].trailing_zeros() as usize)
    }
}

/// The first bit that is set, from this one on.
fn next_bit(words: &[u64], bit: usize) -> Option<usize> {
    let mut word = bit / 64;
    let mut bits = words.get(word)? & (u64::MAX << (bit % 64));
    while bits == 0 {
        word += 1;
        bits = *words.get(word)?;
    }
    Some(64 * word + bits.trailing_zeros() as usize)
}

/// Where the round of a set is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// After the last.
    #[default]
    End,
    /// At this class, which is in the set.
    At(usize),
    /// At a class that has left the set: where that was, or after it.
    Left(usize),
}

/// Classes that take turns, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Feed {
    pub(super) set: Set,
    place: Place,
}

impl Feed {
    /// Takes a class out. If it is its turn, the turn is that of the class that is then next in a row, and in a feed that of the same class if it comes
    /// back.
    pub(super) fn remove(&mut self, class: usize, row: bool) {
        if self.place == Place::At(class) && row {
            self.advance();
        } else if self.place == Place::At(class) {
            self.place = Place::Left(class);
        }
        self.set.remove(class);
    }

    /// Passes the turn on.
    pub(super) fn advance(&mut self) {
        if let Place::At(class) = self.place {
            self.place = self.set.from(class + 1).map_or(Place::End, Place::At);
        }
    }

    /// Whose turn it is; nothing at the end of a round.
    pub(super) fn current(&mut self) -> Option<usize> {
        if let Place::Left(class) = self.place {
            self.place = self.set.from(class).map_or(Place::End, Place::At);
        }
        match self.place {
            Place::At(class) => Some(class),
            _ => None,
        }
    }

    /// Begins a new round.
    pub(super) fn rewind(&mut self) {
        self.place = self.set.from(0).map_or(Place::End, Place::At);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a sorted set, with classes in words far apart.
    #[test]
    fn a_set_finds_the_next_class() {
        let (mut set, mut model) = (Set::default(), std::collections::BTreeSet::new());
        let mut draw = aqmkit_base::Rng::stream(1, "classes");
        for _ in 0..20_000 {
            let class = draw.below(9) as usize * 7001 + draw.below(70) as usize;
            if draw.chance(0.4) {
                set.add(class);
                model.insert(class);
            } else {
                set.remove(class);
                model.remove(&class);
            }
            let from = draw.below(65_536) as usize;
            assert_eq!(set.from(from), model.range(from..).next().copied());
            assert_eq!(set.is_empty(), model.is_empty());
        }
    }

    #[test]
    fn a_round_goes_by_number_and_ends() {
        let mut feed = Feed::default();
        [200, 3, 64].into_iter().for_each(|class| feed.set.add(class));
        assert_eq!(feed.current(), None, "at the end of a round that nobody was in");
        feed.rewind();
        let mut round = Vec::new();
        while let Some(class) = feed.current() {
            round.push(class);
            feed.advance();
        }
        assert_eq!(round, [3, 64, 200]);
    }

    #[test]
    fn the_turn_of_a_class_that_leaves_is_kept_in_a_feed_and_passed_on_in_a_row() {
        for (row, back) in [(true, 64), (false, 3)] {
            let mut feed = Feed::default();
            [3, 64].into_iter().for_each(|class| feed.set.add(class));
            feed.rewind();
            feed.remove(3, row);
            feed.set.add(3);
            assert_eq!(feed.current(), Some(back));
        }
    }
}
