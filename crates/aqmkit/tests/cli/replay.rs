use aqmkit_packets::replay::PcapWriter;
use serde_json::Value;

use super::Desk;

/// Twenty ECN-capable packets of 1000 bytes at the same time, then another one a second later.
fn capture() -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new());
    let mut frame = [&[0; 12][..], &[8, 0, 0x45, 2, 3, 0xda, 0, 0, 0, 0, 64, 17, 0x63, 0x8d]].concat();
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 3, 0xe8, 7, 0xd0, 3, 0xc6, 0, 0]);
    frame.resize(1000, 0);
    for i in 0..21 {
        writer.write(1_767_225_600_000_000_000 + i / 20 * 1_000_000_000, 1, 1000, &frame).unwrap();
    }
    writer.finish().unwrap()
}

fn desk() -> Desk {
    let desk = Desk::new();
    std::fs::write(desk.path().join("in.pcap"), capture()).unwrap();
    desk
}

#[test]
fn a_capture_is_replayed_and_told() {
    let desk = desk();
    let out = desk.run("replay in.pcap --aqm fifo --limit 9 --rate 8mbit").good();
    // Thousands are separated by a non-breaking space.
    let out = out.replace(['\u{202f}', '\u{a0}', '\u{2009}'], " ");
    assert!(out.starts_with("in.pcap through fifo at 8mbit: 21 packets, 21 000 bytes in 1.001 s"), "{out}");
    assert!(out.contains("Dropped: overflow 10") && out.contains("udp 10.0.0.1:1000 > 10.0.0.2:2000"), "{out}");
    let json: Value =
        serde_json::from_str(&desk.run("replay in.pcap --aqm fifo:limit=9 --rate 8mbit --json").good()).unwrap();
    let link = &json["link"];
    assert_eq!((&link["sent_packets"], &link["drops"]["overflow"]), (&11.into(), &10.into()));
    assert_eq!((&json["classes"]["udp"], &json["flows"]["counted"], &json["damage"]), (link, &1.into(), &Value::Null));
    // Ten waited 0 to 9 ms, the last one not at all.
    assert!((link["queue_delay_ms"]["mean"].as_f64().unwrap() - 45.0 / 11.0).abs() < 0.01, "{link}");
}

#[test]
fn one_direction_can_be_replayed() {
    let desk = desk();
    let told = |networks: &str| {
        let json = desk.run(&format!("replay in.pcap --rate 8mbit --json {networks}")).good();
        let json: Value = serde_json::from_str(&json).unwrap();
        (json["link"]["offered_packets"].as_u64().unwrap(), json["left_out"].as_u64().unwrap())
    };
    assert_eq!(told("--to 10.0.0.2 --from 10.0.0.0/31"), (21, 0));
    // A selection without packets is an error, and nothing is written.
    let none = desk.run("replay in.pcap --rate 8mbit --to 10.0.0.1 --out out.pcap");
    none.wrong(&["no packet of in.pcap is selected by --from and --to", "packets from 10.0.0.0/24 to 10.0.0.0/24"]);
    assert!(!desk.path().join("out.pcap").exists());
    desk.run("replay in.pcap --rate 8mbit --to 10.0.0.0/40").wrong(&["\"10.0.0.0/40\" is not a network"]);
    // Packets above the MTU that are not TCP cannot be segmented.
    desk.run("replay in.pcap --rate 8mbit --mtu 600").wrong(&["packet 1 has 986 bytes", "--mtu"]);
}

/// Two conversations between two hosts share a queue or have one each, depending on the definition of a flow. The
/// summary counts conversations.
#[test]
fn what_a_flow_is_can_be_chosen() {
    let desk = Desk::new();
    let mut writer = PcapWriter::new(Vec::new());
    for i in 0..40_u8 {
        let mut frame = [&[0; 12][..], &[8, 0, 0x45, 2, 3, 0xda, 0, 0, 0, 0, 64, 17, 0x63, 0x8d]].concat();
        // Three of four packets belong to the first flow.
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 3, u8::from(i % 4 == 3), 7, 0xd0, 3, 0xc6, 0, 0]);
        frame.resize(1000, 0);
        writer.write(1_767_225_600_000_000_000, 1, 1000, &frame).unwrap();
    }
    std::fs::write(desk.path().join("two.pcap"), writer.finish().unwrap()).unwrap();
    let dropped = |flow: &str| {
        let line = format!("replay two.pcap --aqm drr:limit=20,flow={flow} --rate 8mbit --json");
        let json: Value = serde_json::from_str(&desk.run(&line).good()).unwrap();
        let top = json["flows"]["top"].as_array().unwrap();
        [0, 1].map(|i| (top[i]["packets"].as_u64().unwrap(), top[i]["dropped"].as_u64().unwrap()))
    };
    // All packets arrive at once, and the queue holds 20. With two sub-queues, packets are dropped from the longer one.
    assert_eq!(dropped("connection"), [(30, 19), (10, 0)]);
    // With one sub-queue, each arrival replaces the last packet.
    for flow in ["hosts", "source", "destination"] {
        assert_eq!(dropped(flow), [(30, 15), (10, 4)], "{flow}");
    }
    let wrong = desk.run("replay two.pcap --aqm fifo:flow=hosts --rate 8mbit");
    wrong.wrong(&["flow of fifo: the discipline does not distinguish flows", "remove flow"]);
}

#[test]
fn fates_and_what_leaves_are_files() {
    let desk = desk();
    let line = "replay in.pcap --aqm step:threshold=3 --rate 8mbit -o out.pcap";
    desk.run(&format!("{line} --fates fates.csv")).good();
    let fates = desk.read("fates.csv");
    let lines: Vec<_> = fates.lines().collect();
    assert_eq!(lines[0], "packet,arrival_s,length,class,flow,ecn,fate,reason,queue_delay_ms,departure_s");
    assert_eq!(lines[1], "1,0,1000,udp,udp 10.0.0.1:1000 > 10.0.0.2:2000,ect0,sent,,0,0.001");
    assert_eq!((lines.len(), lines.iter().filter(|l| l.contains(",marked,step,")).count()), (22, 15));
    // The output is a capture again, with the same number of marks.
    let json = desk.run("replay out.pcap --aqm fifo --class ce=ecn:ce --rate 8mbit --json").good();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["classes"]["ce"]["offered_packets"], 15);
    desk.run(&format!("{line} --fates fates.parquet")).good();
    let file = std::fs::File::open(desk.path().join("fates.parquet")).unwrap();
    let rows = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 21);
}

#[test]
fn standard_input_is_a_capture_too() {
    let desk = desk();
    let mut command = assert_cmd::Command::cargo_bin("aqmkit").unwrap();
    let told = command.args(["replay", "-", "--rate", "8mbit"]).write_stdin(capture()).output().unwrap();
    assert!(told.status.success());
    let file = desk.run("replay in.pcap --rate 8mbit").good();
    assert_eq!(String::from_utf8(told.stdout).unwrap(), file.replace("in.pcap", "-"));
}

#[test]
fn a_capture_that_is_cut_off_gives_what_it_has() {
    let desk = desk();
    let whole = capture();
    std::fs::write(desk.path().join("cut.pcap"), &whole[..whole.len() - 5]).unwrap();
    let told = desk.run("replay cut.pcap --rate 8mbit -o out.pcap --json");
    let json: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((told.code, &json["link"]["sent_packets"]), (2, &20.into()), "{told:?}");
    assert_eq!(json["damage"]["offset"], 24 + 20 * 1016);
    let flat = told.err.split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
    assert!(flat.contains("cut.pcap: byte 20344: the file ends in the middle of a packet"), "{told:?}");
    assert_eq!(std::fs::metadata(desk.path().join("out.pcap")).unwrap().len(), 20344);
}

#[test]
fn wrong_input_is_named() {
    let desk = desk();
    desk.write("text.pcap", "this is no capture, whatever its name says");
    desk.write("empty.pcap", "");
    let wrong = |line: &str, parts: &[&str]| desk.run(line).wrong(parts);
    wrong("replay missing.pcap --rate 8mbit", &["missing.pcap cannot be read", "give a capture"]);
    wrong("replay . --rate 8mbit", &["is a directory"]);
    wrong("replay text.pcap --rate 8mbit", &["text.pcap: it is neither pcap nor pcapng"]);
    wrong("replay empty.pcap --rate 8mbit", &["empty.pcap: it is empty"]);
    wrong("replay in.pcap", &["--rate"]);
    wrong("replay in.pcap --rate 8ms", &["is not a rate"]);
    wrong("replay in.pcap --rate 0bit", &["above zero"]);
    wrong("replay in.pcap --rate 8mbit --aqm coddel", &["coddel", "did you mean codel?"]);
    wrong("replay in.pcap --rate 8mbit --aqm red:min=9,max=3", &["max"]);
    wrong("replay in.pcap --rate 8mbit --aqm red:maxx=3", &["maxx"]);
    wrong("replay in.pcap --rate 8mbit --class web", &["\"web\" is not a class"]);
    let tree = "name = \"htb\"\n[[class]]\nname = \"a\"\nrate = \"1mbit\"\nmatch = [\"client 3\", \"*\"]\n";
    desk.write("customers.toml", tree);
    wrong("replay in.pcap --rate 8mbit --aqm customers.toml", &["a client of a simulation", "a class or a codepoint"]);
    wrong("replay in.pcap --rate 8mbit --fates x.xlsx", &["x.xlsx", ".parquet or .csv"]);
    for line in ["-o no/where.pcap", "--fates no/where.csv"] {
        let told = desk.run(&format!("replay in.pcap --rate 8mbit {line}"));
        told.wrong(&["no/where.", "cannot be written: No such file"]);
        assert!(!told.err.contains(".part"), "the name is the one that was given: {}", told.err);
    }
    assert!(!desk.path().join("x.xlsx").exists());
}

#[test]
fn nothing_is_written_over_what_is_read_or_written() {
    let desk = desk();
    std::fs::create_dir(desk.path().join("dir")).unwrap();
    std::fs::hard_link(desk.path().join("in.pcap"), desk.path().join("hard.pcap")).unwrap();
    std::os::unix::fs::symlink("in.pcap", desk.path().join("soft.pcap")).unwrap();
    for out in ["in.pcap", "./dir/../in.pcap", "hard.pcap", "soft.pcap"] {
        desk.run(&format!("replay in.pcap --rate 5mbit -o {out}"))
            .wrong(&["overwrite the capture", "another file with --out"]);
    }
    desk.run("replay in.pcap --rate 5mbit --fates both.csv -o ./both.csv").wrong(&["overwrite --out", "with --fates"]);
    desk.run("replay in.pcap --rate 5mbit -o -").wrong(&["--out - is not possible"]);
    desk.run("replay in.pcap --rate 5mbit -o dir").wrong(&["dir is a directory"]);
    let own = std::fs::File::open(desk.path().join("in.pcap")).unwrap();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("aqmkit"));
    let told = command.args(["replay", "-", "--rate", "5mbit", "-o", "in.pcap"]).current_dir(desk.path()).stdin(own);
    assert_eq!(told.output().unwrap().status.code(), Some(2));
    assert_eq!(std::fs::read(desk.path().join("in.pcap")).unwrap(), capture());
    assert!(!desk.path().join("-").exists());
    desk.run("replay in.pcap --rate 5mbit -o /dev/null --fates a.csv").good();
}

/// Starts a replay of standard input, which stays open, and waits until it writes.
fn under_way(desk: &Desk) -> std::process::Child {
    use std::process::Stdio;
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("aqmkit"));
    command.args(["replay", "-", "--rate", "8mbit", "-o", "out.pcap", "--fates", "out.csv"]).current_dir(desk.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let whole = capture();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), &whole[..whole.len() - 5]).unwrap();
    while drafts(desk) < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // Lets it read what is in the pipe.
    std::thread::sleep(std::time::Duration::from_millis(300));
    child
}

/// Number of unfinished files.
fn drafts(desk: &Desk) -> usize {
    let names = std::fs::read_dir(desk.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|n| n.ends_with(".part")).count()
}

fn signal(child: &std::process::Child, name: &str) {
    let told = std::process::Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(told.unwrap().success());
}

#[test]
fn a_signal_ends_the_capture_and_all_that_came_is_told() {
    for name in ["-INT", "-TERM"] {
        let desk = desk();
        let mut child = under_way(&desk);
        let open = child.stdin.take();
        signal(&child, name);
        let told = child.wait_with_output().unwrap();
        drop(open);
        let out = String::from_utf8(told.stdout).unwrap();
        assert!(told.status.code() == Some(130) && out.starts_with("- through fifo at 8mbit: 20 packets"), "{out}");
        // The truncated last packet is not reported as damage.
        assert_eq!(String::from_utf8(told.stderr).unwrap(), "Stopped: the summary covers the packets read so far.\n");
        assert_eq!(std::fs::metadata(desk.path().join("out.pcap")).unwrap().len(), 20_344);
        assert_eq!((desk.read("out.csv").lines().count(), drafts(&desk)), (21, 0));
    }
}

#[test]
fn a_second_signal_ends_at_once_and_leaves_no_drafts() {
    let desk = desk();
    let mut child = under_way(&desk);
    let open = child.stdin.take();
    signal(&child, "-INT");
    std::thread::sleep(std::time::Duration::from_millis(100));
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(open);
    assert_eq!(drafts(&desk), 0);
}
