//! Lets a program read a packet as the kernel sees it, field by field, where the kernel has a function for that.

use crate::bpf::kernel_types::kernel_function;

/// The kernel's function, since Linux 6.2.
const FUNCTION: &str = "bpf_cast_to_kern_ctx";
/// What a program has in the place of a call of it, and of whether there is one: `CAST` and `HAS_CAST` of `bpf/classifier.bpf.c`.
const CAST: i32 = 4_279_121;
const HAS_CAST: i32 = 4_279_122;

/// `call`, and that what is called is a function of the kernel.
const CALL: u8 = 0x85;
const OF_KERNEL: u8 = 2 << 4;
/// A register is set to a number, of 64 bits or of 32.
const SET: [u8; 2] = [0xb7, 0xb4];

/// The object with the function of the running kernel, or with the knowledge that there is none.
pub(super) fn for_this_kernel(object: &[u8]) -> Vec<u8> {
    with_function(object, kernel_function(FUNCTION))
}

/// Instructions stand at multiples of their eight bytes.
fn with_function(object: &[u8], function: Option<u32>) -> Vec<u8> {
    let mut object = object.to_vec();
    for instruction in object.as_chunks_mut::<8>().0 {
        let [operation, registers, _, _, number @ ..] = instruction;
        match (*operation, i32::from_le_bytes(*number), function) {
            (CALL, CAST, Some(id)) => {
                *registers = OF_KERNEL;
                *number = id.to_le_bytes();
            }
            (set, HAS_CAST, _) if SET.contains(&set) => *number = i32::from(function.is_some()).to_le_bytes(),
            _ => {}
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::super::program::{Room, load_as_it_is, verified};
    use super::*;

    const CALLED: [u8; 8] = [0x85, 0, 0, 0, 0x51, 0x4b, 0x41, 0];
    const ASKED: [u8; 8] = [0xb7, 3, 0, 0, 0x52, 0x4b, 0x41, 0];
    const OTHER: [u8; 8] = [0x85, 0, 0, 0, 5, 0, 0, 0];

    #[test]
    fn the_function_of_the_kernel_is_called_where_there_is_one() {
        let object = [CALLED, ASKED, OTHER].concat();
        let with = with_function(&object, Some(0x1234));
        assert_eq!(with, [[0x85, 0x20, 0, 0, 0x34, 0x12, 0, 0], [0xb7, 3, 0, 0, 1, 0, 0, 0], OTHER].concat());
        let without = with_function(&object, None);
        assert_eq!(without, [CALLED, [0xb7, 3, 0, 0, 0, 0, 0, 0], OTHER].concat());
    }

    /// Kernels before 6.2 do not have it.
    #[test]
    fn programs_are_accepted_without_it() {
        if super::super::examine::lacking().is_some() {
            return;
        }
        for classifier in aqmkit_kernel::CLASSIFIERS {
            let object = with_function(classifier.object, None);
            let mut loaded = load_as_it_is(&object, Room::default()).expect("an object");
            assert!(verified(&mut loaded, "classify").is_ok(), "{}", classifier.name);
        }
    }

    #[test]
    fn every_program_asks_once() {
        for classifier in aqmkit_kernel::CLASSIFIERS {
            let changed = with_function(classifier.object, Some(7));
            let different = changed.chunks(8).zip(classifier.object.chunks(8)).filter(|(a, b)| a != b).count();
            assert_eq!(different, 2, "{}", classifier.name);
        }
    }
}
