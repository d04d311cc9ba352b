//! The reference page and the parameters of every discipline, against each other.

use aqmkit_aqm::registry::{self, Link, Spec};
use aqmkit_base::BitRate;
use serde_json::{Value, json};

const SECTIONS: [&str; 6] = ["## Law", "## Parameters", "## Deviations", "## Limits", "## Evidence", "## References"];

fn section<'a>(page: &'a str, title: &str) -> &'a str {
    let rest = page.split_once(title).unwrap_or_else(|| panic!("no section {title:?} in:\n{page}")).1;
    rest.split("\n## ").next().unwrap_or("")
}

/// The names that a table of parameters may have, as the refusal of an unknown one lists them.
fn fields(name: &str, table: Value) -> Vec<String> {
    let refusal = Spec::read(name, table).expect_err("the field is unknown").to_string();
    let (_, known) = refusal.split_once("nown are ").unwrap_or_else(|| panic!("no names: {refusal}"));
    known.split(", ").map(str::to_owned).collect()
}

#[test]
fn a_page_has_every_section_in_order() {
    for entry in registry::ALL {
        let page = registry::page(entry.name).unwrap();
        let places: Vec<_> =
            SECTIONS.iter().map(|s| page.find(s).unwrap_or_else(|| panic!("{}: {s}", entry.name))).collect();
        assert!(places.is_sorted(), "{}: sections out of order", entry.name);
        assert!(page.starts_with("# ") && !entry.summary().is_empty() && !entry.summary().starts_with("//!"));
    }
}

#[test]
fn a_page_explains_every_parameter() {
    for entry in registry::ALL {
        let page = registry::page(entry.name).unwrap();
        let table = section(&page, "## Parameters");
        let mut names = fields(entry.name, json!({ "no such field": 1 }));
        if names.iter().any(|n| n == "classes") {
            names.extend(fields(entry.name, json!({ "classes": [{ "no such field": 1 }] })));
        }
        assert!(names.len() > 1);
        let tells_flows = Spec::named(entry.name).unwrap().tells_flows();
        assert_eq!(names.iter().any(|n| n == "flow"), tells_flows, "{}", entry.name);
        for name in names {
            assert!(table.contains(&format!("`{name}`")), "{}: {name} is not on the page", entry.name);
        }
    }
}

#[test]
fn evidence_names_files_that_exist() {
    for entry in registry::ALL {
        let page = registry::page(entry.name).unwrap();
        for file in section(&page, "## Evidence").split('`').filter(|t| t.starts_with("tests/")) {
            assert!(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file).exists(), "{}: {file}", entry.name);
        }
    }
}

#[test]
fn parameters_read_back_as_written() {
    let link = Link::new(BitRate::from_mbps(10));
    for entry in registry::ALL {
        let spec = Spec::named(entry.name).unwrap();
        let full = spec.effective(&link).unwrap();
        for written in [&spec, &full] {
            let value = serde_json::to_value(written).unwrap();
            assert_eq!(&Spec::read(entry.name, value).unwrap(), written);
        }
        assert_eq!(full.effective(&link).unwrap(), full, "{}: what is filled in stays", entry.name);
    }
}

/// `docs/disciplines/` holds each page, and a list of them.
fn documents() -> Vec<(String, String)> {
    let mut list =
        "# Disciplines\n\nThese reference pages are the output of `aqmkit describe NAME`; the source is the comment at the head of \
                    each discipline's file. [Parameters](../parameters.md) lists the range of each parameter, and whether it can change while \
                    packets are queued.\n\n| name | description |\n|---|---|\n"
            .to_owned();
    let mut documents = Vec::new();
    for entry in registry::ALL {
        let file = format!("{}.md", entry.name);
        list += &format!("| [`{}`]({file}) | {} |\n", entry.name, entry.summary());
        documents.push((
            file,
            format!(
                "{}\n\n{}",
                registry::page(entry.name).expect("every entry has a page"),
                registry::where_it_runs(entry.name)
            ),
        ));
    }
    documents.push(("README.md".to_owned(), list));
    documents
}

/// The site's table of contents with each page below the list of them.
fn contents(summary: &str) -> String {
    let (before, after) = summary.split_once("(disciplines/README.md)\n").expect("it names the list of disciplines");
    let rest = after.split_inclusive('\n').skip_while(|l| l.contains("](disciplines/"));
    let pages = registry::ALL.iter().map(|e| format!("  - [{0}](disciplines/{0}.md)\n", e.name));
    format!("{before}(disciplines/README.md)\n{}{}", pages.collect::<String>(), rest.collect::<String>())
}

/// With `UPDATE_PAGES=1` this writes the documents; without, it holds them to the sources.
#[test]
fn the_documents_are_up_to_date() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/disciplines");
    let update = std::env::var_os("UPDATE_PAGES").is_some();
    if update {
        std::fs::create_dir_all(&folder).unwrap();
    }
    let mut known = Vec::new();
    for (name, text) in documents() {
        let file = folder.join(&name);
        if update {
            std::fs::write(&file, &text).unwrap();
        }
        let found = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(found == text, "docs/disciplines/{name} is not what the source says: run make pages");
        known.push(name);
    }
    let summary = folder.join("../SUMMARY.md");
    let found = std::fs::read_to_string(&summary).unwrap();
    let text = contents(&found);
    if update {
        std::fs::write(&summary, &text).unwrap();
    }
    assert!(update || found == text, "docs/SUMMARY.md is not what the registry says: run make pages");
    for file in std::fs::read_dir(&folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name), "docs/disciplines/{name} belongs to no discipline");
    }
}
