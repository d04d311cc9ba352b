import type { Lesson } from "./lesson";
import { downloads, link } from "./link";

const HOME = [
  downloads(4, { control: "cubic" }),
  `[[traffic]]
name  = "calls"
kind  = "voip"
calls = 1
`,
];
const settled = { from: 5, to: 25 };

/** Bufferbloat at home, and what ends it. */
export const home: Lesson = {
  id: "home",
  title: "Bufferbloat at home",
  about: "A telephone call beside four downloads, with and without a queue of its own.",
  speed: 0.5,
  runs: [
    {
      label: "fifo",
      toml: link({
        title: "A call beside downloads at a buffer of 1000 packets",
        aqm: '{ name = "fifo", limit = 1000 }',
        traffic: HOME,
      }),
    },
    {
      label: "fq-codel",
      toml: link({ title: "A call beside downloads at FQ-CoDel", aqm: '"fq-codel"', traffic: HOME }),
    },
  ],
  claims: [
    {
      says: "At the large buffer the call's packets wait more than 500 ms.",
      measure: { of: 0, what: "delay.mean", group: "calls", ...settled },
      least: 0.5,
    },
    {
      says: "FQ-CoDel lets them wait less than 3 ms.",
      measure: { of: 1, what: "delay.mean", group: "calls", ...settled },
      most: 0.003,
    },
    {
      says: "It drops none of them.",
      measure: { of: 1, what: "drops", group: "calls", ...settled },
      most: 0,
    },
    {
      says: "The downloads lose nothing: they have at least 95 % of the rate that they had.",
      measure: { of: 1, what: "rate", group: "downloads", ...settled },
      times: { of: 0, what: "rate", group: "downloads", ...settled },
      least: 0.95,
    },
  ],
  body: [
    {
      text: "A home router with a buffer of 1000 packets, a line of 10 Mbit/s, four downloads and one telephone call. The downloads fill the buffer, and the call stands in the same line.",
    },
    { claim: 0 },
    {
      text: "Half a second each way ends a conversation. The line is not too slow for it: a call needs less than a hundredth of it.",
    },
    {
      text: "*FQ-CoDel* gives each flow a queue of its own and serves them in turn; each row of the picture is one. A flow whose queue was empty is served first. Within a queue, CoDel holds the delay down.",
    },
    { claim: 1 },
    { claim: 2 },
    { claim: 3 },
    {
      text: "The call pays nothing for the downloads any more, and nobody had to say which packets are the call's.",
    },
  ],
};

const MIXED = [
  downloads(2, { name: "classic", control: "cubic" }),
  downloads(2, { name: "scalable", control: "prague" }),
];

/** The coupled queues of DualQ. */
export const dualq: Lesson = {
  id: "dualq",
  title: "The coupled queues of DualQ",
  about: "A queue of under a millisecond beside an ordinary one, on one link.",
  speed: 0.2,
  runs: [
    {
      label: "dualpi2",
      toml: link({ title: "CUBIC and Prague at DualPI2", aqm: '"dualpi2"', traffic: MIXED }),
    },
    {
      label: "codel",
      toml: link({
        title: "CUBIC and Prague in one queue",
        aqm: '{ name = "codel", ecn = true }',
        traffic: MIXED,
      }),
    },
  ],
  claims: [
    {
      says: "The scalable flows wait less than 2 ms.",
      measure: { of: 0, what: "delay.mean", group: "scalable", ...settled },
      most: 0.002,
    },
    {
      says: "The classic flows wait about 15 ms: between 10 and 22.",
      measure: { of: 0, what: "delay.mean", group: "classic", ...settled },
      least: 0.01,
      most: 0.022,
    },
    {
      says: "The rates are near each other: the classic ones have 0.6 to 1.5 times as much.",
      measure: { of: 0, what: "rate", group: "classic", ...settled },
      times: { of: 0, what: "rate", group: "scalable", ...settled },
      least: 0.6,
      most: 1.5,
    },
    {
      says: "In one queue the scalable flows take more than 90 % of the link.",
      measure: { of: 1, what: "share", group: "scalable", ...settled },
      least: 0.9,
    },
  ],
  body: [
    {
      text: "A *scalable* congestion control such as Prague reduces its window by the share of packets that were marked: two marks in each round trip hold it. That needs a queue that marks early, and then hardly any queue forms. CUBIC reduces its window a lot at each signal, and needs a deeper queue to keep the link busy.",
    },
    {
      text: "*DualPI2* has two queues, drawn as two rows: a shallow one for packets with the codepoint ECT(1), and an ordinary one.",
    },
    { claim: 0 },
    { claim: 1 },
    {
      text: "Two queues could mean two classes of citizens. They are *coupled* instead: one controller computes a probability p. The classic queue drops with p², the shallow one marks with 2p, since a scalable flow's rate falls with p and a classic one's with its square root.",
    },
    { claim: 2 },
    {
      text: "The second run shows what happens without: the same flows in one queue that treats a mark as a drop.",
    },
    { claim: 3 },
  ],
};
