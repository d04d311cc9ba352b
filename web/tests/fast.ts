/** A fast link with as many flows as a picture must keep up with. */
export const FAST = `title = "500 flows"
duration = "60s"
[topology]
rate = "100mbit"
delay = "20ms"
aqm = { name = "pie", limit = 2000 }
[[traffic]]
kind = "bulk"
flows = 500
stagger = "1s"
`;

/** Prints a measured value where it is asked for: npm run measure. */
export function tell(what: string): void {
  if (process.env.AQMKIT_MEASURE) console.log(what);
}
