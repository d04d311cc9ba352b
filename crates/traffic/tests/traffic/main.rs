//! Tests the traffic models on a host without a network: what they request, and when.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod abt;
mod added;
mod all;
mod bulk;
mod call;
mod cbr;
mod dash;
mod game;
mod harness;
mod http;
mod http_unc;
mod mpeg;
mod nada;
mod on_off;
mod pages;
mod pcap;
mod short_flows;
mod videoconf;
mod voip;
mod web;
