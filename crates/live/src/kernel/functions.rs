//! Links calls of kernel functions (kfuncs), which `aya` does not resolve.

use std::collections::BTreeMap;

use crate::bpf::kernel_types::Btf;

/// Placeholder immediates of calls in `bpf/classifier.bpf.c` (the first, Linux 6.2) and `bpf/queue.bpf.c`, and the
/// kfuncs they stand for.
const FUNCTIONS: [(i32, &str); 8] = [
    (4_279_121, "bpf_cast_to_kern_ctx"),
    (4_279_124, "bpf_qdisc_skb_drop"),
    (4_279_125, "bpf_kfree_skb"),
    (4_279_126, "bpf_qdisc_watchdog_schedule"),
    (4_279_127, "bpf_qdisc_bstats_update"),
    (4_279_128, "bpf_iter_num_new"),
    (4_279_129, "bpf_iter_num_next"),
    (4_279_130, "bpf_iter_num_destroy"),
];
/// Placeholder for 1 if the kernel has the first of them, else 0: `HAS_CAST` in the classifier.
const HAS_CAST: i32 = 4_279_122;

/// `BPF_JMP | BPF_CALL`; `BPF_PSEUDO_KFUNC_CALL` in the source register marks a kfunc.
const CALL: u8 = 0x85;
const OF_KERNEL: u8 = 2 << 4;
/// `BPF_MOV` of an immediate, in 64 or 32 bits.
const SET: [u8; 2] = [0xb7, 0xb4];

/// The object with all placeholders resolved for the running kernel.
pub(super) fn for_this_kernel(object: &[u8]) -> Vec<u8> {
    let kernel = Btf::of_kernel().ok();
    let there = FUNCTIONS.iter().filter_map(|(place, name)| Some((*place, kernel.as_ref()?.function(name)?)));
    with_functions(object, &there.collect())
}

/// Resolves the placeholders, given the BTF ids of the kfuncs that exist. Instructions are aligned to eight bytes in
/// the file.
fn with_functions(object: &[u8], there: &BTreeMap<i32, u32>) -> Vec<u8> {
    let mut object = object.to_vec();
    for instruction in object.as_chunks_mut::<8>().0 {
        let [operation, registers, _, _, number @ ..] = instruction;
        let place = i32::from_le_bytes(*number);
        if *operation == CALL
            && let Some(id) = there.get(&place)
        {
            *registers = OF_KERNEL;
            *number = id.to_le_bytes();
        } else if SET.contains(operation) && place == HAS_CAST {
            *number = i32::from(there.contains_key(&FUNCTIONS[0].0)).to_le_bytes();
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::super::program::{MapSizes, load_as_it_is, verified};
    use super::*;

    const CALLED: [u8; 8] = [0x85, 0, 0, 0, 0x51, 0x4b, 0x41, 0];
    const ASKED: [u8; 8] = [0xb7, 3, 0, 0, 0x52, 0x4b, 0x41, 0];
    const OTHER: [u8; 8] = [0x85, 0, 0, 0, 5, 0, 0, 0];

    fn cast(id: u32) -> BTreeMap<i32, u32> {
        BTreeMap::from([(FUNCTIONS[0].0, id)])
    }

    #[test]
    fn the_function_of_the_kernel_is_called_where_there_is_one() {
        let object = [CALLED, ASKED, OTHER].concat();
        let with = with_functions(&object, &cast(0x1234));
        assert_eq!(with, [[0x85, 0x20, 0, 0, 0x34, 0x12, 0, 0], [0xb7, 3, 0, 0, 1, 0, 0, 0], OTHER].concat());
        let without = with_functions(&object, &BTreeMap::new());
        assert_eq!(without, [CALLED, [0xb7, 3, 0, 0, 0, 0, 0, 0], OTHER].concat());
    }

    /// Kernels before 6.2 lack the kfunc.
    #[test]
    fn programs_are_accepted_without_it() {
        if super::super::examine::lacking().is_some() {
            return;
        }
        for classifier in aqmkit_kernel::CLASSIFIERS {
            let object = with_functions(classifier.object(), &BTreeMap::new());
            let mut loaded = load_as_it_is(&object, MapSizes::default()).expect("an object");
            assert!(verified(&mut loaded, "classify").is_ok(), "{}", classifier.name);
        }
    }

    #[test]
    fn every_program_asks_once() {
        for classifier in aqmkit_kernel::CLASSIFIERS {
            let changed = with_functions(classifier.object(), &cast(7));
            let different = changed.chunks(8).zip(classifier.object().chunks(8)).filter(|(a, b)| a != b).count();
            assert_eq!(different, 2, "{}", classifier.name);
        }
    }

    /// The qdisc program calls all the other kfuncs.
    #[test]
    fn the_queue_calls_the_others() {
        let all = FUNCTIONS.iter().map(|(place, _)| (*place, 7)).collect();
        for discipline in ["red", "codel"] {
            let object = aqmkit_kernel::queue(discipline);
            let changed = with_functions(object, &all);
            for (place, name) in &FUNCTIONS[1..] {
                let calls = |code: &[u8]| {
                    let call = [[CALL, 0, 0, 0], place.to_le_bytes()].concat();
                    code.as_chunks::<8>().0.iter().filter(|i| i[..] == call).count()
                };
                assert!(calls(object) > 0 && calls(&changed) == 0, "{discipline} {name}");
            }
        }
    }
}
