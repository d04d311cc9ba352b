//! The laws of queue disciplines in fixed-point arithmetic.
//!
//! The Linux kernel's BPF programs have no floating point, no allocation and no unbounded loop. Each discipline that runs
//! there has its law here once more, one file each under [`disciplines`], under the same names as in `aqmkit_aqm`,
//! whose pages give the equations and their sources. The same text is compiled into BPF programs (`bpf/build`) and
//! natively, where tests compare its decisions with those of `aqmkit_aqm` (`crates/kernel/tests`).
//!
//! What is the same for all laws is in [`law`]: what they are told of an arrival, their verdict, and when they start.

#![no_std]

pub mod adaptive;
pub mod average;
#[cfg(target_arch = "bpf")]
mod bpf;
pub mod cache;
pub mod disciplines;
pub mod early;
pub mod fixed;
pub mod law;
pub mod part;
pub mod rate;
pub mod table;
mod verifier;
pub mod waiting;
pub mod words;
