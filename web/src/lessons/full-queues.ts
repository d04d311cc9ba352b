import type { Lesson } from "./lesson";
import { constant, downloads, link } from "./link";

const steady = { from: 5, to: 20 };

/** Why drop-tail makes everything late. */
export const late: Lesson = {
  id: "late",
  title: "A full buffer is a late one",
  about: "Drop-tail signals only when the buffer is full, so the buffer stays full.",
  speed: 0.5,
  runs: [
    {
      label: "a buffer of 250 packets",
      toml: link({
        title: "Drop-tail with a buffer of 250 packets",
        aqm: '{ name = "fifo", limit = 250 }',
        traffic: [downloads(4)],
      }),
    },
    {
      label: "a buffer of 25 packets",
      toml: link({
        title: "Drop-tail with a buffer of 25 packets",
        aqm: '{ name = "fifo", limit = 25 }',
        traffic: [downloads(4)],
      }),
    },
  ],
  claims: [
    {
      says: "Nearly the whole buffer is occupied: of 250 places, more than 170 are taken on average.",
      measure: { of: 0, what: "packets.mean", ...steady },
      least: 170,
      most: 250,
    },
    {
      says: "Every packet therefore waits longer than 200 ms, five times the 40 ms of the path itself.",
      measure: { of: 0, what: "delay.mean", ...steady },
      least: 0.2,
    },
    {
      says: "With 25 places a packet waits less than 25 ms.",
      measure: { of: 1, what: "delay.mean", ...steady },
      most: 0.025,
    },
    {
      says: "The link is as busy: at least 99 % of it is used in both.",
      measure: { of: 1, what: "used", ...steady },
      least: 0.99,
    },
  ],
  body: [
    {
      text: "Two links of 10 Mbit/s carry four downloads each. A TCP sender increases its window until a packet is lost. A *drop-tail* queue loses packets only when it is full; so the senders fill it, whatever its size.",
    },
    {
      text: "Watch the left queue grow to its end. A packet that arrives there falls; soon after, its sender halves its window and the queue shrinks a little. It never empties.",
    },
    { claim: 0 },
    { claim: 1 },
    { text: "The right queue has a tenth of the room." },
    { claim: 2 },
    { claim: 3 },
    {
      text: "So nine tenths of the large buffer did no work; they only made every packet late. A buffer should absorb bursts. Kept full, it cannot even do that: see what is left for a burst in the left queue.",
    },
    { tries: { label: "Give the left queue 1000 places", of: 0, set: { parameters: { limit: 1000 } } } },
  ],
};

/** How large a buffer the traffic needs. */
export const buffers: Lesson = {
  id: "buffers",
  title: "How large must a buffer be?",
  about: "One flow needs the delay times the rate; many flows need less.",
  speed: 1,
  runs: [
    {
      label: "1 flow, 16 packets",
      toml: link({
        title: "One flow and a buffer of 16 packets",
        aqm: '{ name = "fifo", limit = 16 }',
        delay: "50ms",
        traffic: [downloads(1, { control: "newreno" })],
      }),
    },
    {
      label: "1 flow, 83 packets",
      toml: link({
        title: "One flow and a buffer of 83 packets",
        aqm: '{ name = "fifo", limit = 83 }',
        delay: "50ms",
        traffic: [downloads(1, { control: "newreno" })],
      }),
    },
    {
      label: "16 flows, 16 packets",
      toml: link({
        title: "Sixteen flows and a buffer of 16 packets",
        aqm: '{ name = "fifo", limit = 16 }',
        delay: "50ms",
        traffic: [downloads(16, { control: "newreno" })],
      }),
    },
  ],
  claims: [
    {
      says: "With 16 places, a single flow leaves more than a tenth of the link unused.",
      measure: { of: 0, what: "used", from: 5, to: 30 },
      most: 0.9,
    },
    {
      says: "With 83 places it uses at least 94 %.",
      measure: { of: 1, what: "used", from: 5, to: 30 },
      least: 0.94,
    },
    {
      says: "Sixteen flows use as much with only 16 places.",
      measure: { of: 2, what: "used", from: 5, to: 30 },
      least: 0.94,
    },
  ],
  body: [
    {
      text: "After a loss a sender with NewReno halves its window (CUBIC keeps 70 %). While it waits, the buffer keeps the link busy, if it holds enough: 10 Mbit/s times 100 ms is 83 packets of 1500 bytes, the *product of bandwidth and delay*.",
    },
    {
      text: "In the first run the buffer holds 16. See it run dry after each loss, and the gaps on the wire.",
    },
    { claim: 0 },
    { claim: 1 },
    {
      text: "Many flows do not halve their windows at the same moment. Their sum varies less, and a smaller buffer is enough; as a rule, it shrinks with the square root of their number.",
    },
    { claim: 2 },
    { text: "This is why the right size cannot be set once: it depends on who sends." },
  ],
};

/** How drop-tail can shut a flow out. */
export const lockOut: Lesson = {
  id: "lock-out",
  title: "Lock-out",
  about: "At a full drop-tail queue, timing decides who gets the free place.",
  speed: 0.02,
  runs: [
    {
      label: "drop-tail",
      toml: link({
        title: "Two equal senders at a drop-tail queue",
        aqm: '{ name = "fifo", limit = 25 }',
        traffic: [
          constant("8mbit", { name: "first" }),
          constant("8mbit", { name: "second", start: "0.3ms" }),
        ],
      }),
    },
    {
      label: "random drop",
      toml: link({
        title: "Two equal senders at a queue that drops at random",
        aqm: '{ name = "fifo", limit = 25, drop = "random" }',
        traffic: [
          constant("8mbit", { name: "first" }),
          constant("8mbit", { name: "second", start: "0.3ms" }),
        ],
      }),
    },
  ],
  claims: [
    {
      says: "The second sender gets more than 75 % of the link.",
      measure: { of: 0, what: "share", group: "second", from: 1, to: 6 },
      least: 0.75,
    },
    {
      says: "None of its packets is dropped.",
      measure: { of: 0, what: "drops", group: "second", from: 1, to: 6 },
      most: 0,
    },
    {
      says: "Of the first sender's packets, more than 70 % are dropped.",
      measure: { of: 0, what: "dropped", group: "first", from: 1, to: 6 },
      least: 0.7,
    },
    {
      says: "With random drop each gets about half: the first between 45 and 55 %.",
      measure: { of: 1, what: "share", group: "first", from: 1, to: 6 },
      least: 0.45,
      most: 0.55,
    },
  ],
  body: [
    {
      text: "Two senders send the same: packets of 1000 bytes at 8 Mbit/s. They began at different moments, less than a millisecond apart. Together they want 16 Mbit/s of a link of 10.",
    },
    {
      text: "A full drop-tail queue has a place for a moment, just after a packet has left. Go on *one packet* at a time: it is always the same sender whose packet comes first into the free place.",
    },
    { claim: 0 },
    { claim: 1 },
    { claim: 2 },
    {
      text: "Nothing is wrong with the first sender; only its timing is. This is *lock-out*, and it is one of the two reasons why RFC 2309 asked for active queue management (the other is the full queue).",
    },
    { text: "A queue that drops a random packet instead of the newest one makes timing worthless." },
    { claim: 3 },
  ],
};
