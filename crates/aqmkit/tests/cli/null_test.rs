//! The null test and the stored verdicts, as users see them.

use super::{Desk, TINY};

const PUBLISHED: &str = "id,source,where,what,unit,low,high,kind\n\
    TH,Paper 2001,Table 1,a threshold,packets,39.07,39.07,equation\n\
    USED,Paper 2001,Table 2,use of the link under RED,%,50,100,value\n\
    QUEUE,Paper 2001,Table 3,queue under RED in packets,packets,,15,value\n\
    TAIL,Paper 2001,Table 3,queue under drop-tail in packets,packets,16,60,value\n\
    ORDER,Paper 2001,section 3,queue,packets,,,order\n";

const CLAIMS: &str = r#"
[params.fifo]
limit = 60
[[expect]]
id = "TH"
formula = "cbt-threshold"
args = { bandwidth = "575kibps", packet = "1507b", latency = "100ms" }
[[expect]]
id = "USED"
where = { aqm = "red", link = "bottleneck" }
metric = "utilization"
[[expect]]
id = "QUEUE"
where = { aqm = "red", link = "bottleneck" }
metric = "queue_packets.mean"
[[expect]]
id = "TAIL"
where = { aqm = "fifo", link = "bottleneck" }
metric = "queue_packets.mean"
[[expect]]
id = "ORDER"
where = { link = "bottleneck" }
metric = "queue_packets.mean"
order = "fifo > red"
headline = "the published order of the queues"
"#;

fn desk() -> Desk {
    let desk = Desk::new();
    let text = TINY
        .replace("flows = 3", "flows = 20")
        .replace("2s", "6s")
        .replace("repeat = 2", "repeat = 1")
        .replace("source = \"nowhere\"", "source = \"Paper 2001\"");
    desk.write("experiments/published.csv", PUBLISHED);
    desk.write("experiments/p/tiny.toml", &format!("{text}{CLAIMS}"));
    desk
}

#[test]
fn a_row_that_is_met_without_its_scheme_leaves_the_headline() {
    let desk = desk();
    let told = desk.run("-q reproduce --null p/tiny --record experiments").good();
    assert!(told.contains("p/tiny: USED"), "{told}");
    let kept = desk.read("experiments/null-test.csv");
    for row in ["p/tiny,ORDER,1,missed", "p/tiny,QUEUE,1,missed", "p/tiny,TAIL,1,no-scheme", "p/tiny,USED,1,met"] {
        assert!(kept.contains(row), "{row} is not in {kept}");
    }
    assert!(!kept.contains("TH"), "a calculation has no scheme");
    desk.run("-q reproduce --null p/tiny --check").good();
    let shown = desk.run("-q reproduce p/tiny --scale quick --record experiments").good();
    assert!(shown.contains("does not discriminate: it is also met without the scheme"), "{shown}");
    assert!(desk.run("scoreboard").good().contains("Paper 2001"));
    let score: serde_json::Value = serde_json::from_str(&desk.run("scoreboard --json").good()).unwrap();
    let line = score["sources"].as_array().unwrap().iter().find(|l| l["source"] == "Paper 2001").unwrap();
    let counts =
        |standing: &str| (line["tallies"][standing]["met"].clone(), line["tallies"][standing]["claimed"].clone());
    assert_eq!(counts("discriminates"), (2.into(), 2.into()), "{line}");
    for standing in ["does-not-discriminate", "no-scheme", "calculation"] {
        assert_eq!(counts(standing), (1.into(), 1.into()), "{standing}: {line}");
    }
}

/// The scoreboard uses outcomes at the scale of the verdicts; if there are none, it falls back to those of quick runs,
/// and says so.
#[test]
fn the_null_test_runs_at_either_scale() {
    let desk = desk();
    desk.run("-q reproduce --null p/tiny --record experiments").good();
    desk.run("-q reproduce p/tiny --scale full --record experiments").good();
    let at_quick = || {
        let score: serde_json::Value =
            serde_json::from_str(&desk.run("scoreboard --scale full --json").good()).unwrap();
        let line = score["sources"].as_array().unwrap().iter().find(|l| l["source"] == "Paper 2001").unwrap();
        line["null_at_quick"].clone()
    };
    assert_eq!(at_quick(), 4);
    assert!(desk.run("scoreboard --scale full").good().contains("measured rows was run at quick scale"));
    desk.run("-q reproduce --null p/tiny --scale full --record experiments").good();
    let kept = desk.read("experiments/null-test.csv");
    assert!(kept.contains("full,p/tiny,USED,1,met") && kept.contains("quick,p/tiny,USED,1,met"), "{kept}");
    assert_eq!(at_quick(), 0);
    desk.run("-q reproduce --null p/tiny --scale full --check").good();
}

#[test]
fn a_kept_outcome_that_is_not_found_any_more_fails_the_check() {
    let desk = desk();
    desk.run("-q reproduce --null p/tiny --record experiments").good();
    let wrong = desk.read("experiments/null-test.csv").replace("USED,1,met", "USED,1,missed");
    desk.write("experiments/null-test.csv", &wrong);
    let told = desk.run("-q reproduce --null p/tiny --check");
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.err.contains("p/tiny USED (claim 1): found Met") && told.err.contains("--record"), "{told:?}");
    desk.write("experiments/null-test.csv", "experiment,id\nx,y\n");
    desk.run("reproduce p/tiny --scale quick").wrong(&["null-test.csv", "writes it again"]);
}

#[test]
fn documents_take_their_numbers_from_kept_verdicts() {
    let desk = desk();
    desk.run("-q reproduce --null p/tiny --record experiments").good();
    desk.run("-q reproduce p/tiny --scale quick --record experiments").good();
    desk.write(
        "README.md",
        "Met: <!-- numbers: met p quick -->0 of 0<!-- end -->.\n<!-- numbers: study p quick -->\n<!-- end -->\n",
    );
    let told = desk.run("scoreboard --check README.md");
    assert!(told.code == 1 && told.err.contains("README.md has numbers"), "{told:?}");
    desk.run("scoreboard --update README.md").good();
    let text = desk.read("README.md");
    assert!(text.starts_with("Met: <!-- numbers: met p quick -->2 of 2<!-- end -->.\n"), "{text}");
    assert!(text.contains("| `p/tiny` | 2 of 2 | 1 of 1 | 1 of 1 | 1 of 1 |"), "{text}");
    desk.run("scoreboard --check README.md").good();
    desk.write("README.md", "<!-- numbers: summary quick --><!-- end -->\n");
    desk.run("scoreboard --update README.md").good();
    let summary = desk.read("README.md");
    let line = "| `p`: Paper 2001 | the published order of the queues: 1 of 1 comparison; 2 of 2 cells met; of drop-tail, \
                or of hosts and traffic alone: 1 of 1 |";
    assert!(summary.contains(line), "{summary}");
    assert!(desk.run("scoreboard").good().contains("p: the published order of the queues: 1 of 1"));
    desk.write("README.md", "<!-- numbers: met q quick --><!-- end -->");
    desk.run("scoreboard --update README.md").wrong(&["README.md", "there is no experiment or study", "numbers are"]);
}

#[test]
fn verdicts_are_kept_where_published_values_lie() {
    let desk = desk();
    desk.run("reproduce p/tiny --scale quick --record elsewhere").wrong(&["elsewhere has no published.csv"]);
}
