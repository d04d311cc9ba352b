/** Experiments of lessons: one link, and the traffic over it. */
import { HOSTS } from "../scenario";

interface Link {
  title: string;
  aqm: string;
  traffic: string[];
  /** Of the bottleneck; each way. */
  delay?: string;
  ecn?: boolean;
  duration?: string;
}

/** An experiment on a link of 10 Mbit/s between hosts of today. */
export function link({ title, aqm, traffic, delay = "20ms", ecn = false, duration = "5min" }: Link): string {
  return `title    = ${JSON.stringify(title)}
duration = "${duration}"

[topology]
rate  = "10mbit"
delay = "${delay}"
aqm   = ${aqm}

[transport]
profile = "${HOSTS}"
${ecn ? "ecn     = true\n" : ""}
${traffic.join("\n")}`;
}

/** Connections that always have data to send. */
export function downloads(
  flows: number,
  more: { name?: string; control?: string; start?: string } = {},
): string {
  const { name = "downloads", control = "cubic", start } = more;
  return `[[traffic]]
name      = "${name}"
kind      = "bulk"
flows     = ${flows}
stagger   = "1s"
${start ? `start     = "${start}"\n` : ""}transport = { congestion = "${control}" }
`;
}

/** A sender at a constant rate that does not respond to drops. */
export function constant(
  rate: string,
  more: { name?: string; start?: string; packet?: string } = {},
): string {
  const { name = "blast", start = "0s", packet = "1000b" } = more;
  return `[[traffic]]
name   = "${name}"
kind   = "cbr"
rate   = "${rate}"
packet = "${packet}"
start  = "${start}"
`;
}
