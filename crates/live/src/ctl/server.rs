//! The server of the control socket.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::control::Control;
use super::{Answer, is_dead, prepare};
use crate::capabilities::keep_none;
use crate::confinement::{Needs, confine};
use crate::port::Port;

/// Maximum length of a request, in bytes.
const LONGEST: u64 = 1 << 16;

/// Read timeout per connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// A control socket, which is removed when this value is dropped.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
}

impl Server {
    /// The path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Another process may have removed it first.
        let _ = fs::remove_file(&self.path);
    }
}

/// Serves requests on a socket in `directory`, on its own thread, one connection at a time.
///
/// # Errors
/// When the socket cannot be created, or a bottleneck of this name is running ([`std::io::ErrorKind::AddrInUse`]).
pub fn serve<D: Port + 'static>(directory: &Path, control: Arc<Control<D>>) -> io::Result<Server> {
    prepare(directory)?;
    let path = directory.join(format!("{}.sock", control.name()));
    // A socket without a listener was left by a killed process.
    if is_dead(&path) {
        fs::remove_file(&path)?;
    }
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    let thread = std::thread::Builder::new().name("aqmkit-ctl".to_owned());
    thread.spawn(move || {
        keep_none();
        // Confinement is best effort: older kernels lack seccomp.
        let _ = confine(Needs::Nothing);
        for connection in listener.incoming().flatten() {
            // A failed connection concerns only its client.
            let _ = converse(&connection, &control);
        }
    })?;
    Ok(Server { path })
}

fn converse<D: Port + 'static>(connection: &UnixStream, control: &Control<D>) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(connection.take(LONGEST)).read_line(&mut line)?;
    let answer = match serde_json::from_str(&line) {
        Ok(question) => control.answer(&question),
        Err(e) => Answer::Refused(format!("invalid request: {e}")),
    };
    let mut text = serde_json::to_vec(&answer)?;
    text.push(b'\n');
    let mut connection = connection;
    connection.write_all(&text)
}
