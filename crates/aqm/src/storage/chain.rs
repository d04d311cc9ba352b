//! An order among numbered places.

/// The number of no place.
const NOBODY: usize = usize::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    before: usize,
    after: usize,
}

/// A doubly linked list of places numbered from zero, for a vector without holes that is kept in another
/// order than its own. Numbers that are no place of the vector mean nobody.
#[derive(Clone, Debug)]
pub struct Chain {
    links: Vec<Link>,
    first: usize,
    last: usize,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { links: Vec::new(), first: NOBODY, last: NOBODY }
    }
}

impl Chain {
    /// The first place.
    #[must_use]
    pub fn first(&self) -> usize {
        self.first
    }

    /// The last place.
    #[must_use]
    pub fn last(&self) -> usize {
        self.last
    }

    /// The place after this one.
    #[must_use]
    pub fn after(&self, place: usize) -> usize {
        self.links.get(place).map_or(NOBODY, |link| link.after)
    }

    /// The place before this one.
    #[must_use]
    pub fn before(&self, place: usize) -> usize {
        self.links.get(place).map_or(NOBODY, |link| link.before)
    }

    /// Puts a place that is not in the chain at its end.
    pub fn push(&mut self, place: usize) {
        let link = Link { before: self.last, after: NOBODY };
        if place >= self.links.len() {
            self.links.resize(place + 1, link);
        }
        self.links[place] = link;
        self.join(self.last, place);
        self.last = place;
    }

    /// Takes a place out.
    pub fn remove(&mut self, place: usize) {
        self.join(self.before(place), self.after(place));
    }

    /// What stood at `from` stands at `to` now, which is free (or the same).
    pub fn moved(&mut self, from: usize, to: usize) {
        if from != to {
            let link = self.links[from];
            self.links[to] = link;
            self.join(link.before, to);
            self.join(to, link.after);
        }
    }

    /// Makes two places neighbours; nobody's neighbour is the first or the last.
    fn join(&mut self, before: usize, after: usize) {
        match self.links.get_mut(before) {
            Some(link) => link.after = after,
            None => self.first = after,
        }
        match self.links.get_mut(after) {
            Some(link) => link.before = before,
            None => self.last = before,
        }
    }
}
