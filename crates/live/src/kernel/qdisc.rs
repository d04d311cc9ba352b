//! Registers our queue discipline (`crates/kernel/bpf/queue.bpf.c`) with the kernel.

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

/// The kernel's table of functions of a queue discipline, and what it wraps around one in BPF.
const TABLE: &str = "Qdisc_ops";
pub(super) const WRAPPER: &str = "bpf_struct_ops_Qdisc_ops";
/// The members that are filled in: the programs have their names.
const MEMBERS: [&str; 5] = ["enqueue", "dequeue", "init", "reset", "destroy"];

/// How the names of our queue disciplines begin, as `tc qdisc show` has them.
pub(super) const PREFIX: &str = "aqmkit_";

/// The name of the queue discipline; the kernel has room for 15 bytes.
pub(super) fn name(discipline: &str) -> String {
    format!("{PREFIX}{discipline}").chars().take(15).collect()
}

/// Registers a queue discipline, an ELF file, under a name; its state is in the maps of a classifier. It can be put before a device until the file is
/// closed; there it stays afterwards, and all of it goes when it is removed from the device.
///
/// # Errors
/// When the kernel lacks support or refuses the programs, one of this name is registered (`EEXIST`), or permission is missing.
pub(super) fn register(name: &str, object: &[u8], maps: &Maps) -> io::Result<OwnedFd> {
    let kernel = KernelTypes::of_kernel()?;
    let mut table = Table::new(&kernel, TABLE, WRAPPER)?;
    // The programs hold their maps once they are loaded.
    let (object, _own) = linked(object, maps)?;
    for member in MEMBERS {
        table.add(member, &code(&object, member)?)?;
    }
    table.set("id", name.as_bytes())?;
    table.register()
}

/// The object with the maps of the classifier and the offsets of the running kernel, and maps of its own: for the packets that wait, and for the state of
/// a law at the head of the queue.
fn linked(object: &[u8], maps: &Maps) -> io::Result<(Object, Vec<(String, MapData)>)> {
    let mut object = Object::parse(&for_this_kernel(object)).map_err(io::Error::other)?;
    // Every kernel that has queue disciplines in BPF has all kinds of types.
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

/// The instructions of a program.
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
