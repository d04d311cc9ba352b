import type { Lesson } from "./lesson";
import { constant, downloads, link } from "./link";

const BLAST = [downloads(8), constant("12mbit")];
const CBT = `{ name = "cbt", latency = "30ms", classes = [
  { class = "downloads", bandwidth = "9mbit", packet_size = "1500b" },
  { class = "blast", bandwidth = "1mbit", packet_size = "1000b" },
] }`;

const settled = { from: 5, to: 25 };

/** What a sender that does not respond does, and what stops it. */
export const blast: Lesson = {
  id: "blast",
  title: "A blast against RED, FRED and CBT",
  about: "Whoever does not slow down takes the link, unless the queue looks at who sends.",
  speed: 0.2,
  runs: [
    { label: "red", toml: link({ title: "A blast against RED", aqm: '"red"', traffic: BLAST }) },
    { label: "fred", toml: link({ title: "A blast against FRED", aqm: '"fred"', traffic: BLAST }) },
    { label: "cbt", toml: link({ title: "A blast against CBT", aqm: CBT, traffic: BLAST }) },
  ],
  claims: [
    {
      says: "Under RED the blast gets more than 85 % of the link.",
      measure: { of: 0, what: "share", group: "blast", ...settled },
      least: 0.85,
    },
    {
      says: "FRED leaves it less than 35 %.",
      measure: { of: 1, what: "share", group: "blast", ...settled },
      most: 0.35,
    },
    {
      says: "FRED drops more than 60 % of its packets.",
      measure: { of: 1, what: "dropped", group: "blast", ...settled },
      least: 0.6,
    },
    {
      says: "Under CBT the downloads keep more than 80 % of the link.",
      measure: { of: 2, what: "share", group: "downloads", ...settled },
      least: 0.8,
    },
  ],
  body: [
    {
      text: "Eight downloads share a link of 10 Mbit/s with a sender that sends 12 Mbit/s and never slows down. Its packets are orange-red.",
    },
    {
      text: "RED drops every packet with the same probability. The downloads answer a drop by slowing down, the blast does not: after a few seconds the link is its own.",
    },
    { claim: 0 },
    {
      text: "*FRED* counts how many packets of each flow wait. One that has more than its part, and has had so often, gets no further packet in.",
    },
    { claim: 1 },
    { claim: 2 },
    {
      text: "*Class-based thresholds* (CBT) needs no flows: it keeps one average for each class of traffic, and the class of the blast has a threshold that lets about 1 Mbit/s pass.",
    },
    { claim: 3 },
    { tries: { label: "Switch the blast off", set: { blast: { blast: "0bit" } } } },
  ],
};

const LIST = [downloads(8), constant("5mbit")];

/** RED-PD's list of fast flows. */
export const redPd: Lesson = {
  id: "red-pd",
  title: "RED-PD's list",
  about: "The history of drops names the flows that send more than their part.",
  speed: 1,
  runs: [
    { label: "red", toml: link({ title: "A sender of 5 Mbit/s at RED", aqm: '"red"', traffic: LIST }) },
    {
      label: "red-pd",
      toml: link({ title: "A sender of 5 Mbit/s at RED-PD", aqm: '"red-pd"', traffic: LIST }),
    },
  ],
  claims: [
    {
      says: "At RED the constant sender gets more than 4.5 of the 5 Mbit/s that it sends.",
      measure: { of: 0, what: "rate", group: "blast", ...settled },
      least: 4.5e6,
    },
    {
      says: "RED-PD has at least one flow on its list.",
      measure: { of: 1, what: "gauge.max", gauge: "monitored", ...settled },
      least: 1,
    },
    {
      says: "It leaves the sender less than 65 % of what RED does.",
      measure: { of: 1, what: "rate", group: "blast", ...settled },
      times: { of: 0, what: "rate", group: "blast", ...settled },
      most: 0.65,
    },
    {
      says: "The downloads are dropped less than under RED.",
      measure: { of: 1, what: "dropped", group: "downloads", ...settled },
      times: { of: 0, what: "dropped", group: "downloads", ...settled },
      most: 0.9,
    },
  ],
  body: [
    {
      text: "A flow that sends more has more of its packets dropped, in proportion. *RED with preferential dropping* uses that: it needs no state for all flows, only the list of recent drops.",
    },
    {
      text: "From time to time it looks at the drops of the last few intervals. A flow that was dropped in most of them sends faster than a TCP flow with the round trip `rtt` would at this share of drops. It comes on the list, and its packets have to pass a filter before the queue.",
    },
    { claim: 0 },
    { claim: 1 },
    { claim: 2 },
    {
      text: "The filter drops more as long as the flow is still dropped in the queue. What it saves goes to everybody else.",
    },
    { claim: 3 },
  ],
};

const RED = '{ name = "red", limit = 240, min = 10, max = 60 }';
const SHORT = `[[traffic]]
name     = "short"
kind     = "short-flows"
sources  = 10
size_max = "12kb"
`;
const MIXED = [downloads(4, { name: "long" }), SHORT];

/** How DCN spares short flows. */
export const dcn: Lesson = {
  id: "dcn",
  title: "DCN's fast flows",
  about: "Only flows that send fast are dropped; a web page passes.",
  speed: 0.2,
  runs: [
    { label: "red", toml: link({ title: "Short and long flows at RED", aqm: RED, traffic: MIXED }) },
    { label: "dcn", toml: link({ title: "Short and long flows at DCN", aqm: '"dcn"', traffic: MIXED }) },
  ],
  claims: [
    {
      says: "RED drops short and long flows about alike: short ones from 0.6 to 1.7 times as often.",
      measure: { of: 0, what: "dropped", group: "short", ...settled },
      times: { of: 0, what: "dropped", group: "long", ...settled },
      least: 0.6,
      most: 1.7,
    },
    {
      says: "DCN drops less than 0.1 % of the packets of short flows.",
      measure: { of: 1, what: "dropped", group: "short", ...settled },
      most: 0.001,
    },
    {
      says: "Of the long flows it drops more than 1 %.",
      measure: { of: 1, what: "dropped", group: "long", ...settled },
      least: 0.01,
    },
    {
      says: "The short flows get the same rate under both, about 2.5 Mbit/s.",
      measure: { of: 1, what: "rate", group: "short", ...settled },
      least: 2.2e6,
      most: 2.8e6,
    },
  ],
  body: [
    {
      text: "A hundred short downloads begin every second, each of a few packets, beside four long ones. A short flow that loses a packet often has nothing else in flight by which the loss would be noticed, and waits for a timeout. A long flow repairs it in a round trip.",
    },
    { text: "RED does not know the difference." },
    { claim: 0 },
    {
      text: "*Differential congestion notification* counts the recent packets of each flow. While a flow has had only a few, its packets are never dropped; a flow with more is fast, and gets its part of the signal.",
    },
    { claim: 1 },
    { claim: 2 },
    { text: "Short flows are a small part of the bytes, so the control of the queue does not need them." },
    { claim: 3 },
  ],
};
