//! The laws of queue disciplines in fixed-point arithmetic.
//!
//! BPF programs have no floating point, no allocation and no unbounded loops. Each discipline that runs in the kernel
//! has a second implementation of its law here, one file each under [`disciplines`], named as in `aqmkit_aqm`, whose
//! pages give the equations and sources. The same code is compiled to BPF (`crates/kernel/bpf/build`) and natively,
//! where tests compare its decisions with those of `aqmkit_aqm` (`crates/kernel/tests`).
//!
//! [`law`] has what all laws share: the description of an arrival, verdicts, and the program around a law.

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
