//! Registers aqmkit's qdisc (`crates/kernel/bpf/queue.bpf.c`) with the kernel.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use aya::Btf;
use aya::maps::MapData;
use aya_obj::Object;
use aya_obj::btf::BtfFeatures;

use super::functions::for_this_kernel;
use super::maps::Maps;
use crate::bpf::kernel_types::Btf as KernelTypes;
use crate::bpf::load_types;
use crate::bpf::struct_ops::Table;

/// The kernel's struct of qdisc operations, and its `struct_ops` wrapper.
const TABLE: &str = "Qdisc_ops";
pub(super) const WRAPPER: &str = "bpf_struct_ops_Qdisc_ops";
/// The members to set; the programs have the same names.
const MEMBERS: [&str; 5] = ["enqueue", "dequeue", "init", "reset", "destroy"];

/// Prefix of aqmkit's qdisc names in `tc qdisc show`.
pub(super) const PREFIX: &str = "aqmkit_";

/// The qdisc's name; the kernel allows 15 bytes.
pub(super) fn name(discipline: &str) -> String {
    format!("{PREFIX}{discipline}").chars().take(15).collect()
}

/// Registers the qdisc in this ELF object under a name, sharing its state with a classifier's maps. It can be attached
/// to a device until the file is closed; once attached it stays, and everything is freed when it is removed from the
/// device.
///
/// # Errors
/// When the kernel lacks BPF qdiscs, the verifier rejects the programs, the name is taken (`EEXIST`), or permission is
/// missing.
pub(super) fn register(name: &str, object: &[u8], maps: &Maps) -> io::Result<OwnedFd> {
    let kernel = KernelTypes::of_kernel()?;
    let mut table = Table::new(&kernel, TABLE, WRAPPER)?;
    // Loaded programs hold references to their maps.
    let (object, _own) = linked(object, maps)?;
    for member in MEMBERS {
        table.add(member, &code(&object, member)?)?;
    }
    table.set("id", name.as_bytes())?;
    table.register()
}

/// The object relocated for the running kernel, using the classifier's maps plus maps of its own for the queued packets
/// and the state of a law that drops at the head.
fn linked(object: &[u8], maps: &Maps) -> io::Result<(Object, Vec<(String, MapData)>)> {
    let mut object = Object::parse(&for_this_kernel(object)).map_err(io::Error::other)?;
    // Any kernel with BPF qdiscs supports every kind of BTF type.
    let features = BtfFeatures::new(true, true, true, true, true, true, true, true);
    let types = object.fixup_and_sanitize_btf(&features).map_err(io::Error::other)?;
    let types = load_types(&types.ok_or_else(|| lacking("types"))?.to_bytes())?;
    object.relocate_btf(&Btf::from_sys_fs().map_err(io::Error::other)?).map_err(io::Error::other)?;
    let shared = [("queue", &maps.queue), ("pace", &maps.pace), ("settings", &maps.settings), ("active", &maps.active)];
    let known = object.maps.clone();
    let own = known.iter().filter(|(name, _)| shared.iter().all(|(other, _)| other != name));
    let own = own.map(|(name, map)| {
        Ok((name.clone(), MapData::create(map.clone(), name, Some(types.as_fd())).map_err(io::Error::other)?))
    });
    let own: Vec<(String, MapData)> = own.collect::<io::Result<_>>()?;
    let all = shared.into_iter().chain(own.iter().map(|(name, map)| (name.as_str(), map)));
    let found = all.filter_map(|(name, map)| Some((name, map.fd().as_fd().as_raw_fd(), known.get(name)?)));
    let sections = object.functions.keys().map(|(section, _)| *section).collect();
    object.relocate_maps(found, &sections).map_err(io::Error::other)?;
    Ok((object, own))
}

/// The instructions of one program.
fn code(object: &Object, name: &str) -> io::Result<Vec<u64>> {
    let program = object.programs.get(name).ok_or_else(|| lacking(name))?;
    let function = object.functions.get(&program.function_key()).ok_or_else(|| lacking(name))?;
    let word = |i: &aya_obj::generated::bpf_insn| {
        let registers = u64::from(i.dst_reg()) | u64::from(i.src_reg()) << 4;
        u64::from(i.code) | registers << 8 | u64::from(i.off as u16) << 16 | u64::from(i.imm as u32) << 32
    };
    Ok(function.instructions.iter().map(word).collect())
}

fn lacking(what: &str) -> io::Error {
    io::Error::other(format!("the queue discipline has no {what}"))
}
