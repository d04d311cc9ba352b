//! Small numbers for flows: an index into arrays for each known flow.

use aqmkit_base::FlowKey;

use super::FlowTable;

/// Gives each flow a number, constant as long as it is known; released numbers are reused, so that the highest never
/// exceeds the maximum number of flows known at once.
#[derive(Clone, Debug, Default)]
pub struct FlowNumbers {
    numbers: FlowTable<u32>,
    keys: Vec<FlowKey>,
    free: Vec<u32>,
}

impl FlowNumbers {
    /// The number of a flow that is known.
    #[must_use]
    pub fn get(&self, key: FlowKey) -> Option<usize> {
        self.numbers.get(key).map(|&number| number as usize)
    }

    /// The number of a flow, which is known from now on.
    pub fn assign(&mut self, key: FlowKey) -> usize {
        if let Some(number) = self.get(key) {
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.keys.push(key);
            self.keys.len() as u32 - 1
        });
        self.keys[number as usize] = key;
        *self.numbers.or_default(key) = number;
        number as usize
    }

    /// Forgets the flow with this number.
    pub fn release(&mut self, number: usize) {
        if self.numbers.remove(self.keys[number]).is_some() {
            self.free.push(number as u32);
        }
    }

    /// How many flows are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_and_used_again() {
        let mut flows = FlowNumbers::default();
        assert_eq!([7, 8, 7].map(|f| flows.assign(FlowKey(f))), [0, 1, 0]);
        flows.release(0);
        assert_eq!((flows.get(FlowKey(7)), flows.get(FlowKey(8)), flows.len()), (None, Some(1), 1));
        assert_eq!([9, 7].map(|f| flows.assign(FlowKey(f))), [0, 2]);
    }
}
