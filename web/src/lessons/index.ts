import type { Lesson } from "./lesson";

export const LESSONS: readonly Lesson[] = [];
