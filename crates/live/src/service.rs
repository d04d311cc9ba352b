//! Notifications to a service manager such as systemd (`sd_notify(3)`).

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// A service manager that receives notifications.
#[derive(Debug)]
pub struct Manager {
    socket: UnixDatagram,
    patience: Option<Duration>,
}

impl Manager {
    /// The service manager of this process (`NOTIFY_SOCKET`); `None` if there is none.
    ///
    /// # Errors
    /// When its socket cannot be used.
    pub fn of_this_process() -> io::Result<Option<Manager>> {
        let Some(place) = std::env::var_os("NOTIFY_SOCKET").filter(|place| !place.is_empty()) else { return Ok(None) };
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let other = number("WATCHDOG_PID").is_some_and(|pid| pid != u64::from(std::process::id()));
        let patience = number("WATCHDOG_USEC").filter(|us| *us > 0 && !other).map(Duration::from_micros);
        Manager::at(&place, patience).map(Some)
    }

    /// The service manager listening on a socket: a path, or an abstract name after `@`.
    fn at(place: &OsStr, patience: Option<Duration>) -> io::Result<Manager> {
        let address = match place.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(place)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        socket.set_nonblocking(true)?;
        Ok(Manager { socket, patience })
    }

    /// The interval at which to send keep-alives: half of `WATCHDOG_USEC`. `None` if the watchdog is off.
    #[must_use]
    pub fn watchdog_interval(&self) -> Option<Duration> {
        self.patience.map(|patience| patience / 2)
    }

    /// Sends `READY=1`.
    pub fn ready(&self) {
        self.tell("READY=1");
    }

    /// Sends `WATCHDOG=1`, the keep-alive.
    pub fn alive(&self) {
        self.tell("WATCHDOG=1");
    }

    /// Sends `STOPPING=1`.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    fn tell(&self, state: &str) {
        // Errors are ignored: the manager may have stopped listening.
        let _ = self.socket.send(state.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let listener = UnixDatagram::bind(&path).unwrap();
        let name = format!("aqmkit-test-{}", std::process::id());
        let hidden = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        for (place, socket) in [(path.into_os_string(), listener), (format!("@{name}").into(), hidden)] {
            let manager = Manager::at(&place, Some(Duration::from_secs(4))).unwrap();
            assert_eq!(manager.watchdog_interval(), Some(Duration::from_secs(2)));
            manager.ready();
            manager.alive();
            manager.stopping();
            let mut buffer = [0; 100];
            let told = [(); 3].map(|()| {
                let n = socket.recv(&mut buffer).unwrap();
                String::from_utf8_lossy(&buffer[..n]).into_owned()
            });
            assert_eq!(told, ["READY=1", "WATCHDOG=1", "STOPPING=1"]);
        }
        assert!(Manager::at(OsStr::new("/no/such/socket"), None).is_err());
    }
}
