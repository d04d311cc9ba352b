//! The disciplines against literal, slow transcriptions of their sources' pseudo-code, with the
//! readings that the sources' own text corrects. Both draw from the same stream at the same places, so
//! every decision must be equal.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../common/mod.rs"]
mod common;

mod afd;
mod ared;
mod blue;
mod cake;
mod cbq;
mod cbq_priority;
mod cbt;
mod choke;
mod cobalt;
mod codel;
mod csfq;
mod curvy_red;
mod dcn;
mod docsis_pie;
mod drr;
mod dualpi2;
mod dualpi2_linux;
mod dualq;
mod ets;
mod events;
mod fifo;
mod flow_queuing;
mod floyd_fall;
mod fq;
mod fred;
mod gred;
mod hhf;
mod htb;
mod pi;
mod pi2;
mod pie;
mod prio;
mod queues;
mod red;
mod red_part;
mod red_pd;
mod rem;
mod rio;
mod sfb;
mod sfq;
mod sfq_red;
mod sred;
mod step;
mod tbf;
mod trace;
mod wfq;
