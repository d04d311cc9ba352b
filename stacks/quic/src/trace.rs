//! A trace as a writer of the standard library.

use std::io;

use aqmkit_stack::Trace;

/// Passes everything on; never fails.
pub struct TraceWriter(Trace);

impl TraceWriter {
    /// A writer to this trace.
    #[must_use]
    pub fn new(trace: Trace) -> Self {
        TraceWriter(trace)
    }
}

impl io::Write for TraceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
