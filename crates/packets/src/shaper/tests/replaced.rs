//! Replacing the discipline while packets are queued.

use aqmkit_aqm::registry::ALL;

use super::*;

fn with(aqm: Spec) -> Setup {
    Setup { aqm, ..setup() }
}

#[test]
fn what_waits_is_sent_first_and_the_new_discipline_decides_about_the_rest() {
    let mut s = shaper();
    (0..3).for_each(|id| s.arrive(pkt(id), us(0)));
    let short = Spec::read("fifo", serde_json::json!({ "limit": 2 })).unwrap();
    s.reconfigure(&with(Spec::named("codel").unwrap()), us(100)).unwrap();
    s.arrive(pkt(3), us(100));
    s.reconfigure(&with(short), us(200)).unwrap();
    (4..9).for_each(|id| s.arrive(pkt(id), us(200)));
    // One is in transmission, two are in the first queue, one in the second, and two in the third, which dropped three.
    assert_eq!(s.backlog(), Backlog { packets: 5, bytes: 5000 });
    assert_eq!(s.stats().drops(), 3);
    let ids: Vec<u64> = released(&mut s, us(100_000)).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
    assert_eq!(s.backlog(), Backlog::default());
}

/// Including disciplines that delay packets or drop on dequeue: every packet is sent or counted as dropped.
#[test]
fn no_discipline_loses_a_packet_by_the_change() {
    let usable = |spec: &Spec| spec.effective(&setup().link()).is_ok();
    let all: Vec<Spec> = ALL.iter().filter_map(|entry| Spec::named(entry.name)).filter(usable).collect();
    assert!(all.len() >= 35, "{}", all.len());
    for (old, new) in all.iter().zip(all.iter().cycle().skip(7)) {
        let mut s: Shaper<Pkt> = Shaper::new(&with(old.clone()), Meter::whole(&[]), Instant::ZERO).unwrap();
        (0..50).for_each(|id| s.arrive(pkt(id), us(10 * id)));
        s.reconfigure(&with(new.clone()), us(5_000)).unwrap();
        (50..100).for_each(|id| s.arrive(pkt(id), us(5_000 + 10 * id)));
        let sent = released(&mut s, us(60_000_000)).len() as u64;
        let dropped = s.meter().so_far().traffic.drops();
        assert_eq!((sent + dropped, s.backlog().packets), (100, 0), "{} to {}", old.name(), new.name());
        assert_eq!(s.wakeup(), None, "{} to {}", old.name(), new.name());
    }
}
