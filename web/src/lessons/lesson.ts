import type { ChangeSet } from "../simulator/contract";
import type { Claim } from "./claim";

/** Text with `code` and *emphasis*, or the claim of this index, or something to try. */
export type Block = { text: string } | { claim: number } | { tries: Attempt };

/** A change that a reader is invited to make. */
export interface Attempt {
  label: string;
  /** The run it is made in; all if it is left out. */
  of?: number;
  set: ChangeSet;
}

/** A short guided tour beside the live picture. */
export interface Lesson {
  id: string;
  title: string;
  /** One sentence for the list. */
  about: string;
  /** Simulated seconds per second at the beginning. */
  speed: number;
  /** Runs side by side: an experiment of one run each. */
  runs: { label: string; toml: string }[];
  claims: Claim[];
  body: Block[];
}
