import type { Lesson } from "./lesson";
import { constant, downloads, link } from "./link";

const RED = '{ name = "red", limit = 240, min = 10, max = 60 }';

/** What RED's thresholds do. */
export const red: Lesson = {
  id: "red",
  title: "RED's two thresholds",
  about: "A slow average, and a drop probability that rises between two lengths.",
  speed: 0.2,
  runs: [
    {
      label: "4 downloads",
      toml: link({ title: "RED and four downloads", aqm: RED, traffic: [downloads(4)] }),
    },
    {
      label: "40 downloads",
      toml: link({ title: "RED and forty downloads", aqm: RED, traffic: [downloads(40)] }),
    },
  ],
  claims: [
    {
      says: "With four downloads the average stays near `min`: between 5 and 20.",
      measure: { of: 0, what: "gauge.mean", gauge: "avg", from: 5, to: 20 },
      least: 5,
      most: 20,
    },
    {
      says: "The queue itself goes above 20 packets, which is more than its average ever does.",
      measure: { of: 0, what: "packets.max", from: 5, to: 20 },
      least: 20,
    },
    {
      says: "Forty downloads push the average up, to more than 1.5 times as much.",
      measure: { of: 1, what: "gauge.mean", gauge: "avg", from: 5, to: 20 },
      times: { of: 0, what: "gauge.mean", gauge: "avg", from: 5, to: 20 },
      least: 1.5,
    },
    {
      says: "They are dropped more often, more than five times.",
      measure: { of: 1, what: "dropped", from: 5, to: 20 },
      times: { of: 0, what: "dropped", from: 5, to: 20 },
      least: 5,
    },
  ],
  body: [
    {
      text: "*Random early detection* drops before the queue is full. It follows the queue with a slow average, the line with the arrow. Left of the queue's head are two dashed lines: below `min` nothing is dropped, and from `min` to `max` the probability of a drop rises in a straight line.",
    },
    {
      text: "The queue itself jumps with every burst; the average hardly notices. So bursts pass, and only a queue that lasts is answered.",
    },
    { claim: 0 },
    { claim: 1 },
    {
      text: "A drop slows one sender down. With ten times as many senders, one drop does a tenth as much; RED must drop more, and can only do that at a longer average.",
    },
    { claim: 2 },
    { claim: 3 },
    {
      text: "So RED's queue tells how many flows there are. Whoever wants a certain delay must tune it to the traffic.",
    },
    { tries: { label: "Move max to 20 packets", set: { parameters: { max: 20 } } } },
  ],
};

const GROWING = [downloads(4), downloads(36, { name: "more", start: "15s" })];

/** Why an integral controller holds a queue. */
export const pi: Lesson = {
  id: "pi",
  title: "Why PI holds a queue",
  about: "An integrator has no rest until the delay is what it should be.",
  speed: 1,
  runs: [
    { label: "red", toml: link({ title: "RED, then 36 more downloads", aqm: RED, traffic: GROWING }) },
    { label: "pi2", toml: link({ title: "PI2, then 36 more downloads", aqm: '"pi2"', traffic: GROWING }) },
  ],
  claims: [
    {
      says: "With four downloads PI2 holds the delay at its target of 20 ms: between 15 and 25 ms.",
      measure: { of: 1, what: "delay.mean", from: 5, to: 15 },
      least: 0.015,
      most: 0.025,
    },
    {
      says: "With forty it does so as well.",
      measure: { of: 1, what: "delay.mean", from: 20, to: 35 },
      least: 0.015,
      most: 0.025,
    },
    {
      says: "Under RED the same change makes the delay at least 1.6 times as long.",
      measure: { of: 0, what: "delay.mean", from: 20, to: 35 },
      times: { of: 0, what: "delay.mean", from: 5, to: 15 },
      least: 1.6,
    },
  ],
  body: [
    {
      text: "RED's probability is a function of the queue: a certain load needs a certain probability, so it gets a certain queue. A *proportional-integral* controller separates the two. Several times a second it looks at the delay and moves its probability by how far the delay is from the target, and by how fast it changes.",
    },
    {
      text: "As long as the delay is above the target, the probability goes on rising. It comes to rest at one place only: at the target.",
    },
    { claim: 0 },
    {
      text: "At 15 s, 36 more downloads begin. Look at the plot of the probability: it climbs to a new level, and the delay comes back.",
    },
    { claim: 1 },
    { claim: 2 },
    { tries: { label: "Set PI2's target to 5 ms", of: 1, set: { parameters: { target: "5ms" } } } },
  ],
};

/** How CoDel finds its rate of drops. */
export const codel: Lesson = {
  id: "codel",
  title: "CoDel's square root",
  about: "Drops come closer and closer together until the standing queue goes.",
  speed: 0.5,
  runs: [
    {
      label: "4 downloads",
      toml: link({ title: "CoDel and four downloads", aqm: '"codel"', traffic: [downloads(4)] }),
    },
    {
      label: "a blast",
      toml: link({
        title: "CoDel and a sender that does not respond",
        aqm: '"codel"',
        traffic: [constant("12mbit")],
      }),
    },
  ],
  claims: [
    {
      says: "The downloads wait less than 12 ms on average, and use at least 96 % of the link.",
      measure: { of: 0, what: "delay.mean", from: 5, to: 20 },
      most: 0.012,
    },
    {
      says: "At least 96 % of the link is used.",
      measure: { of: 0, what: "used", from: 5, to: 20 },
      least: 0.96,
    },
    {
      says: "Between 2 and 4 s there are about three times as many drops as in the first two.",
      measure: { of: 1, what: "drops", from: 2, to: 4 },
      times: { of: 1, what: "drops", from: 0, to: 2 },
      least: 2.6,
      most: 3.4,
    },
    {
      says: "Between 4 and 6 s about five times as many.",
      measure: { of: 1, what: "drops", from: 4, to: 6 },
      times: { of: 1, what: "drops", from: 0, to: 2 },
      least: 4.4,
      most: 5.6,
    },
    {
      says: "Until then the blast keeps the packets waiting, more than 200 ms from 2 to 6 s.",
      measure: { of: 1, what: "delay.mean", from: 2, to: 6 },
      least: 0.2,
    },
  ],
  body: [
    {
      text: "*CoDel* does not look at the length of the queue, but at how long a packet has waited when it leaves. If that was above `target` (5 ms) for a whole `interval` (100 ms), the queue stands, and CoDel drops one packet at the head.",
    },
    {
      text: "If the delay stays, the next drop comes sooner: the *n*-th after interval / √n. For TCP this is the right pace, since its rate falls with the square root of the share that is dropped.",
    },
    { claim: 0 },
    { claim: 1 },
    {
      text: "In the second run a sender at 12 Mbit/s pays no attention, so that the law is seen alone. With gaps of 1/√n, the number of drops grows with the square of time: one part in the first two seconds, three in the next two, then five.",
    },
    { claim: 2 },
    { claim: 3 },
    {
      text: "It takes this law several seconds to drop as much as such a sender sends too much. CoDel is made for senders that respond.",
    },
    { claim: 4 },
  ],
};

/** Marks instead of drops. */
export const ecn: Lesson = {
  id: "ecn",
  title: "Marks instead of drops",
  about: "With ECN the queue tells senders to slow down, and no packet is lost.",
  speed: 0.1,
  runs: [
    { label: "drops", toml: link({ title: "RED without ECN", aqm: RED, traffic: [downloads(8)] }) },
    {
      label: "marks",
      toml: link({
        title: "RED with ECN",
        aqm: '{ name = "red", limit = 240, min = 10, max = 60, ecn = true }',
        traffic: [downloads(8)],
        ecn: true,
      }),
    },
  ],
  claims: [
    {
      says: "Without ECN more than 1 % of the packets are dropped.",
      measure: { of: 0, what: "dropped", from: 5, to: 20 },
      least: 0.01,
    },
    {
      says: "With ECN none is dropped.",
      measure: { of: 1, what: "drops", from: 5, to: 20 },
      most: 0,
    },
    {
      says: "Instead more than 1 % are marked.",
      measure: { of: 1, what: "marked", from: 5, to: 20 },
      least: 0.01,
    },
    {
      says: "The delay is about the same: from 0.8 to 1.25 times as long.",
      measure: { of: 1, what: "delay.mean", from: 5, to: 20 },
      times: { of: 0, what: "delay.mean", from: 5, to: 20 },
      least: 0.8,
      most: 1.25,
    },
  ],
  body: [
    {
      text: "A drop is a signal and a loss at once: the packet has to be sent again, and for whoever waits for it, that takes a round trip. *Explicit congestion notification* gives the signal alone. Two bits of the IP header say that a sender understands it, and that a queue has marked the packet.",
    },
    {
      text: "Both runs have RED with the same thresholds. On the left packets fall; on the right diamonds rise, and marked packets go on with a notch.",
    },
    { claim: 0 },
    { claim: 1 },
    { claim: 2 },
    {
      text: "The receiver reports the mark, and the sender reduces its window as after a loss. So the control of the queue remains.",
    },
    { claim: 3 },
  ],
};
