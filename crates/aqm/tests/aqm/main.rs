//! The disciplines from outside: what their papers say that they do, worked examples, and contracts that hold for all of them.

#[path = "../common/mod.rs"]
mod common;

mod alike;
mod bounds;
mod cake;
mod catalogue;
mod closed_forms;
mod conformance;
mod csfq;
mod custom;
mod defaults;
mod fair;
mod fair_worked;
mod flow_kind;
mod fq;
mod gauges;
mod history;
mod htb;
mod linux_and_docsis;
mod live_changes;
mod live_classes;
mod marks;
mod pages;
mod published_flows;
mod red_pd;
mod strangers;
mod tc;
mod trees;
mod units;
mod worked;
mod worked_control;
mod worked_flows;
