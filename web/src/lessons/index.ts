import { dualq, home } from "./access";
import { codel, ecn, pi, red } from "./control";
import { blast, dcn, redPd } from "./fairness";
import { buffers, late, lockOut } from "./full-queues";
import type { Lesson } from "./lesson";

/** The lessons in the order in which they build on each other. */
export const LESSONS: readonly Lesson[] = [
  late,
  buffers,
  lockOut,
  red,
  pi,
  codel,
  ecn,
  blast,
  redPd,
  dcn,
  home,
  dualq,
];
