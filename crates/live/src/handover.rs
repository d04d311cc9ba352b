//! Kernel bridges that took over from an ended bridge (`--fail-open`).

use std::io;

use crate::bridge::{KernelDevice, kernel_bridges, remove_kernel_bridge};
use crate::cleanup::{BridgeState, Found, records};
use crate::netns::{Netns, cookie};

/// A kernel bridge that no process supervises: it forwards frames without a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarding {
    device: KernelDevice,
    /// Cookie of its network namespace.
    place: u64,
}

impl Forwarding {
    /// Interface name of the bridge.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.device.name
    }

    /// Whether `--fail-open` created it.
    #[must_use]
    pub fn made_here(&self) -> bool {
        self.device.made_here
    }

    /// Whether its ports include the interfaces of a bridge's record.
    pub(crate) fn is_between(&self, state: &BridgeState) -> bool {
        let joined =
            !state.interfaces.is_empty() && state.interfaces.iter().all(|name| self.device.ports.contains(name));
        self.place == state.place && joined
    }

    /// A warning with the remedy; `None` if the bridge has fewer than two ports and so does not forward.
    pub(crate) fn warning(&self) -> Option<String> {
        let KernelDevice { name, made_here, ports } = &self.device;
        let between = ports.join(" and ");
        let right = match made_here {
            true => "start the bridge again, or aqmkit bridge --cleanup removes it, which cuts the connection",
            false => "start the bridge again",
        };
        (ports.len() > 1).then(|| format!("the kernel forwards between {between} without a queue ({name}); {right}"))
    }

    /// Deletes the bridge device, in its namespace.
    ///
    /// # Errors
    /// When the device or its namespace is gone, or permission is missing.
    pub fn remove(&self) -> io::Result<()> {
        if self.place == current_cookie() {
            return remove_kernel_bridge(self.name());
        }
        let place = Netns::find(self.place).ok_or(io::ErrorKind::NotFound)?;
        place.inside(|| remove_kernel_bridge(self.name()))
    }
}

/// Cookie of the calling thread's network namespace; zero if the kernel does not report one.
fn current_cookie() -> u64 {
    cookie().unwrap_or_default()
}

/// The kernel bridges that took over from the bridges of a directory of records.
#[must_use]
pub fn all(directory: &std::path::Path) -> Vec<Forwarding> {
    forwarding(&records(directory))
}

/// The kernel bridges that took over from ended bridges: in the calling thread's namespace including those without a
/// record, in other namespaces those between the interfaces of a record.
pub(crate) fn forwarding(records: &[Found]) -> Vec<Forwarding> {
    let bridges =
        |running: bool| records.iter().filter(move |f| f.running == running).filter_map(|f| f.record.bridge.as_ref());
    let killed: Vec<&BridgeState> = bridges(false).filter(|state| state.fail_open).collect();
    let in_use: Vec<&BridgeState> = bridges(true).collect();
    let own = current_cookie();
    let devices = kernel_bridges().unwrap_or_default();
    let mut found = unattended(devices, own, &killed, &in_use, |device| device.made_here);
    let mut others: Vec<u64> =
        killed.iter().map(|state| state.place).filter(|place| *place != own && *place != 0).collect();
    others.sort_unstable();
    others.dedup();
    for place in others {
        let there = Netns::find(place).and_then(|n| n.inside(kernel_bridges).ok()).unwrap_or_default();
        found.extend(unattended(there, place, &killed, &in_use, |_| false));
    }
    found
}

/// Among a namespace's bridges: those that took over from a killed bridge, or satisfy `ours`, unless a running bridge
/// uses their ports.
fn unattended(
    devices: Vec<KernelDevice>,
    place: u64,
    killed: &[&BridgeState],
    in_use: &[&BridgeState],
    ours: impl Fn(&KernelDevice) -> bool,
) -> Vec<Forwarding> {
    let uses = |state: &BridgeState, ports: &[String]| {
        state.place == place && state.interfaces.iter().any(|i| ports.contains(i))
    };
    let attended = |ports: &[String]| in_use.iter().any(|state| uses(state, ports));
    let all = devices.into_iter().map(|device| Forwarding { device, place });
    let left = all.filter(|f| ours(&f.device) || killed.iter().any(|state| f.is_between(state)));
    left.filter(|f| !attended(&f.device.ports)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, ports: &[&str]) -> KernelDevice {
        let ports = ports.iter().map(|port| (*port).to_owned()).collect();
        KernelDevice { name: name.into(), made_here: name.starts_with("aqmkit-"), ports }
    }

    fn state(place: u64, interfaces: [&str; 2]) -> BridgeState {
        let interfaces = interfaces.map(str::to_owned).to_vec();
        BridgeState { name: "bridge".into(), place, interfaces, fail_open: true, ..BridgeState::default() }
    }

    #[test]
    fn a_device_that_nobody_attends_is_told_of_with_what_ends_it() {
        let devices =
            || vec![device("aqmkit-2", &["l1", "r1"]), device("br0", &["l2", "r2"]), device("br1", &["l3", "r3"])];
        let (first, second) = (state(7, ["l1", "r1"]), state(7, ["l2", "r2"]));
        let warnings = |killed: &[&BridgeState], in_use: &[&BridgeState], own: bool| -> Vec<String> {
            let found = unattended(devices(), 7, killed, in_use, |device| own && device.made_here);
            found.iter().filter_map(Forwarding::warning).collect()
        };
        let ours = "the kernel forwards between l1 and r1 without a queue (aqmkit-2); start the bridge again, or aqmkit bridge --cleanup \
                    removes it, which cuts the connection";
        let users = "the kernel forwards between l2 and r2 without a queue (br0); start the bridge again";
        assert_eq!(warnings(&[], &[], true), [ours], "it is found without a record, too");
        assert_eq!(warnings(&[&first, &second], &[], false), [ours, users]);
        assert_eq!(warnings(&[&first], &[&first], true), [""; 0], "the next bridge attends it");
        assert_eq!(
            warnings(&[&state(8, ["l1", "r1"])], &[], false),
            [""; 0],
            "those are interfaces of another namespace"
        );
    }
}
