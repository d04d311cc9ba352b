import { RECORD } from "./module";

export const ARRIVAL = 0;
export const DEPARTURE = 1;
export const DROP = 2;
export const MARK = 3;

/** The group of a packet that belongs to none. */
export const NO_GROUP = 65535;

/** What happened to one packet at a queue. */
export interface PacketEvent {
  time: number;
  flow: number;
  bytes: number;
  /** Time in the queue, of a departure; s. */
  delay: number;
  kind: number;
  queue: number;
  group: number;
}

/** Calls `each` with every record; the object is the same one each time. */
export function eachRecord(log: DataView, each: (event: PacketEvent) => void): void {
  const event: PacketEvent = { time: 0, flow: 0, bytes: 0, delay: 0, kind: 0, queue: 0, group: 0 };
  for (let at = 0; at + RECORD <= log.byteLength; at += RECORD) {
    event.time = log.getFloat64(at, true);
    event.flow = log.getUint32(at + 8, true);
    event.bytes = log.getUint32(at + 12, true);
    event.delay = log.getFloat32(at + 16, true);
    event.kind = log.getUint8(at + 20);
    event.queue = log.getUint8(at + 21);
    event.group = log.getUint16(at + 22, true);
    each(event);
  }
}
