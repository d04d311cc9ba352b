//! Layout of the running kernel's structs, from its BTF (`Documentation/bpf/btf.rst`).

use std::{fs, io};

/// The kernel's BTF.
const FILE: &str = "/sys/kernel/btf/vmlinux";

/// Whether the running kernel has BTF.
pub(crate) fn has_btf() -> bool {
    fs::exists(FILE).unwrap_or(false)
}

const MAGIC: u16 = 0xeb9f;
/// Size of `struct btf_type`: name, kind with vlen, and size or type id.
const HEAD: usize = 12;

/// `BTF_KIND_*`, as far as used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Struct = 4,
    Func = 12,
}

/// Parsed BTF.
pub(crate) struct Btf {
    bytes: Vec<u8>,
    /// Offsets of the types in `bytes`; the first one has BTF id 1.
    types: Vec<usize>,
    /// Offset of the string section.
    names: usize,
}

/// A struct type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Structure {
    /// BTF id.
    pub(crate) id: u32,
    /// Size in bytes.
    pub(crate) size: usize,
}

/// A member of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Zero-based member index.
    pub(crate) index: u32,
    /// Offset in bytes.
    pub(crate) offset: usize,
    /// BTF id of its type.
    kind: u32,
}

impl Btf {
    /// The running kernel's BTF.
    ///
    /// # Errors
    /// If the kernel has no BTF (built without `CONFIG_DEBUG_INFO_BTF`).
    pub(crate) fn of_kernel() -> io::Result<Btf> {
        Btf::parse(fs::read(FILE)?).ok_or_else(|| io::Error::other(format!("{FILE} has an unknown format")))
    }

    fn parse(bytes: Vec<u8>) -> Option<Btf> {
        if u16::from_ne_bytes(*bytes.first_chunk()?) != MAGIC {
            return None;
        }
        let at = |place| word(&bytes, place).map(|w| w as usize);
        let header = at(4)?;
        let (first, length, names) = (header + at(8)?, at(12)?, header + at(16)?);
        let (mut types, mut next) = (Vec::new(), first);
        while next < first + length {
            types.push(next);
            next += HEAD + tail(word(&bytes, next + 4)?)?;
        }
        Some(Btf { bytes, types, names })
    }

    fn word(&self, at: usize) -> Option<u32> {
        word(&self.bytes, at)
    }

    /// Whether the name offset at `at` refers to `name`.
    fn is_called(&self, at: usize, name: &str) -> bool {
        let place = self.word(at).map(|offset| self.names + offset as usize);
        let text = place.and_then(|p| self.bytes.get(p..)).and_then(|b| b.strip_prefix(name.as_bytes()));
        text.is_some_and(|rest| rest.first() == Some(&0))
    }

    fn named(&self, kind: Kind, name: &str) -> Option<u32> {
        let fits =
            |at: &usize| self.word(at + 4).is_some_and(|w| kind_of(w) == kind as u8) && self.is_called(*at, name);
        self.types.iter().position(fits).map(|index| index as u32 + 1)
    }

    /// The BTF id of a function.
    pub(crate) fn function(&self, name: &str) -> Option<u32> {
        self.named(Kind::Func, name)
    }

    /// Looks up a struct by name.
    pub(crate) fn structure(&self, name: &str) -> Option<Structure> {
        self.structure_of(self.named(Kind::Struct, name)?)
    }

    fn structure_of(&self, id: u32) -> Option<Structure> {
        let at = *self.types.get(id.checked_sub(1)? as usize)?;
        (kind_of(self.word(at + 4)?) == Kind::Struct as u8).then_some(())?;
        Some(Structure { id, size: self.word(at + 8)? as usize })
    }

    /// Looks up a member; `a.b` is member `b` of the struct in member `a`.
    pub(crate) fn member(&self, of: Structure, path: &str) -> Option<Member> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let found = self.own_member(of, first)?;
        let Some(rest) = rest else { return Some(found) };
        let inner = self.member(self.structure_of(found.kind)?, rest)?;
        Some(Member { offset: found.offset + inner.offset, ..inner })
    }

    fn own_member(&self, of: Structure, name: &str) -> Option<Member> {
        const MEMBER: usize = 12;
        let at = *self.types.get(of.id.checked_sub(1)? as usize)?;
        let about = self.word(at + 4)?;
        let entry = |index: u32| at + HEAD + index as usize * MEMBER;
        let index = (0..about & 0xffff).find(|index| self.is_called(entry(*index), name))?;
        let bits = self.word(entry(index) + 8)?;
        // With kind_flag set, the upper byte is the bit-field width.
        let bits = if about >> 31 == 1 { bits & 0x00ff_ffff } else { bits };
        Some(Member { index, offset: bits as usize / 8, kind: self.word(entry(index) + 4)? })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_ne_bytes(*b))
}

fn kind_of(about: u32) -> u8 {
    (about >> 24 & 0x1f) as u8
}

/// Size of the data behind `struct btf_type`; `None` for unknown kinds.
fn tail(about: u32) -> Option<usize> {
    let count = (about & 0xffff) as usize;
    match kind_of(about) {
        // Pointers, forward declarations, typedefs, qualifiers, functions, floats, type tags.
        2 | 7..=12 | 16 | 18 => Some(0),
        // Integers, variables, declaration tags.
        1 | 14 | 17 => Some(4),
        // Arrays.
        3 => Some(12),
        // Structs, unions, data sections, 64-bit enums.
        4 | 5 | 15 | 19 => Some(12 * count),
        // Enums and function prototypes.
        6 | 13 => Some(8 * count),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { int a; struct inner { char x, y; } b; }` and `void go()`, encoded by hand.
    fn example() -> Vec<u8> {
        let names = b"\0int\0inner\0x\0y\0outer\0a\0b\0go\0";
        let name = |n: &str| {
            let found = names
                .windows(n.len() + 2)
                .position(|w| w[0] == 0 && &w[1..=n.len()] == n.as_bytes() && w[n.len() + 1] == 0);
            found.map_or(0, |p| p as u32 + 1)
        };
        let about = |kind: u32, count: u32| kind << 24 | count;
        let types: Vec<u32> = [
            vec![name("int"), about(1, 0), 4, 32],
            vec![name("inner"), about(4, 2), 2, name("x"), 1, 0, name("y"), 1, 8],
            vec![name("outer"), about(4, 2) | 1 << 31, 8, name("a"), 1, 0, name("b"), 2, 32],
            vec![0, about(13, 0), 0],
            vec![name("go"), about(12, 0), 4],
        ]
        .concat();
        let length = types.len() as u32 * 4;
        let header = [u32::from(MAGIC) | 1 << 16, 24, 0, length, length, names.len() as u32];
        let words = header.iter().chain(&types).flat_map(|w| w.to_ne_bytes());
        words.chain(names.iter().copied()).collect()
    }

    #[test]
    fn structures_their_members_and_functions_are_found_by_name() {
        let btf = Btf::parse(example()).expect("it is whole");
        let outer = btf.structure("outer").expect("there is one");
        assert_eq!(outer, Structure { id: 3, size: 8 });
        assert_eq!(btf.member(outer, "b").map(|m| (m.index, m.offset)), Some((1, 4)));
        assert_eq!(btf.member(outer, "b.y").map(|m| (m.index, m.offset)), Some((1, 5)));
        assert_eq!(btf.function("go"), Some(5));
        assert_eq!((btf.structure("go"), btf.function("outer"), btf.member(outer, "a.x")), (None, None, None));
        assert_eq!(btf.structure("oute"), None);
    }

    #[test]
    fn what_is_cut_short_is_refused_and_does_not_panic() {
        let whole = example();
        for end in 0..whole.len() {
            if let Some(btf) = Btf::parse(whole[..end].to_vec()) {
                let found = btf.structure("outer").and_then(|s| btf.member(s, "b.y"));
                assert!(found.is_none() || end > 24 + 4 * 20, "found at {end}");
            }
        }
    }
}
