use aqmkit_base::Duration;

use crate::harness::{Host, population, spec};

#[test]
fn three_hundred_and_sixty_flows_are_seventy_two_for_each_server() {
    let p = population("bulk", r#"{"flows": 360}"#);
    let mut per_server = [0; 5];
    let mut starts = Vec::new();
    for i in 0..p.instances() {
        let mut host = Host::new(&*p, i, 1);
        host.run(Duration::from_secs(20));
        assert_eq!((host.opens.len(), host.requests.len(), host.servers_in_use().len()), (1, 1, 1));
        per_server[host.opens[0].1 as usize] += 1;
        starts.push(host.opens[0].0.as_secs_f64());
    }
    assert_eq!(per_server, [72; 5]);
    let mean = starts.iter().sum::<f64>() / 360.0;
    assert!((4.2..5.8).contains(&mean) && starts.iter().all(|s| (0.0..=10.0).contains(s)), "{mean}");
}

/// With one server it has all flows; with two, flows alternate between them.
#[test]
fn flows_take_turns_with_the_servers_there_are() {
    let p = population("bulk", r#"{"flows": 4, "stagger": "0s"}"#);
    for (servers, wanted) in [(1, [0, 0, 0, 0]), (2, [0, 1, 0, 1]), (5, [0, 1, 2, 3])] {
        let opened = [0, 1, 2, 3].map(|i| {
            let mut host = Host::new(&*p, i, 1);
            host.servers = servers;
            host.run(Duration::from_secs(1));
            host.opens[0].1
        });
        assert_eq!(opened, wanted, "{servers} servers");
    }
}

#[test]
fn a_transfer_of_a_size_is_done_once_and_closed() {
    let p = population("bulk", r#"{"flows": 1, "size": "1mb", "stagger": "0s"}"#);
    let mut host = Host::new(&*p, 0, 1);
    host.run(Duration::from_secs(20));
    assert_eq!((host.opens.len(), host.done.len()), (1, 1));
    assert_eq!((host.done[0].1.bytes, host.done[0].0.as_secs_f64()), (1 << 20, 0.1));
    assert!(host.servers_in_use().is_empty());
}

#[test]
fn a_connection_that_fails_is_opened_again() {
    let p = population("bulk", r#"{"flows": 1, "stagger": "0s"}"#);
    let mut host = Host::new(&*p, 0, 1);
    host.fail_every = 1;
    host.run(Duration::from_secs(10));
    assert_eq!(host.opens.len(), 10);
}

#[test]
fn values_that_cannot_be_are_refused() {
    let check = |json: &str| spec("bulk", json).check().unwrap_err().to_string();
    assert_eq!(check(r#"{"flows": 1000001}"#), "flows = 1000001 is not valid: it must be from 1 to 1000000");
    assert!(check(r#"{"size": "0b"}"#).contains("omit it"));
}
