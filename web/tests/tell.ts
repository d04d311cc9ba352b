/** Prints a measured value where it is asked for: npm run measure. */
export function tell(what: string): void {
  if (process.env.AQMKIT_MEASURE) console.log(what);
}
