//! Work on several threads.

use std::sync::Mutex;

/// Applies `work` to each of `items` on `jobs` threads, and returns the results in the order of the items.
pub(crate) fn in_parallel<T: Sync + Send, R: Send>(
    jobs: usize,
    items: Vec<T>,
    work: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    let queue = Mutex::new(items.into_iter().enumerate());
    let work = &work;
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let next = || queue.lock().ok().and_then(|mut queue| queue.next());
        let worker = move || std::iter::from_fn(next).map(|(i, item)| (i, work(i, &item))).collect::<Vec<_>>();
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(worker)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect()
    });
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let twice = in_parallel(3, (0..100).collect(), |i, item| i + item);
        assert_eq!(twice, (0..100).map(|i| 2 * i).collect::<Vec<_>>());
    }
}
