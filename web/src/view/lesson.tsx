/** The list of lessons, and the text of one beside the live picture. */
import { type ComponentChildren, Fragment } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { LESSONS } from "../lessons";
import { type Claim, holds, measuresOf } from "../lessons/claim";
import type { Attempt, Lesson } from "../lessons/lesson";
import * as player from "../player";
import * as source from "../source";
import { short, showRate, showShare, showTime } from "../units";

export function LessonList({ onChoose }: { onChoose: () => void }) {
  return (
    <ol class="lessons">
      {LESSONS.map((lesson) => (
        <li key={lesson.id}>
          <button
            type="button"
            class="plain"
            aria-current={source.lesson.value?.id === lesson.id}
            onClick={() => source.openLesson(lesson).then((opened) => opened && onChoose())}
          >
            {lesson.title}
          </button>
          <p class="small">{lesson.about}</p>
        </li>
      ))}
    </ol>
  );
}

/** Text with `code` and *emphasis*. */
export function inline(text: string): ComponentChildren {
  return text.split(/(`[^`]+`|\*[^*]+\*)/).map((part, i) => {
    if (part.startsWith("`")) return <code key={i}>{part.slice(1, -1)}</code>;
    if (part.startsWith("*")) return <em key={i}>{part.slice(1, -1)}</em>;
    return <Fragment key={i}>{part}</Fragment>;
  });
}

/** Goes to the start of a lesson: to the top of its text, and of the page where both are beside each other. */
function toTheStart(text: HTMLElement | null) {
  const side = text?.closest("aside");
  if (!side) return;
  side.scrollTop = 0;
  if (getComputedStyle(side).position === "sticky") scrollTo(0, 0);
  else side.scrollIntoView({ block: "start" });
}

export function LessonText({ lesson }: { lesson: Lesson }) {
  const text = useRef<HTMLElement>(null);
  const shown = useRef(lesson.id);
  useLayoutEffect(() => {
    // The first one is shown where the reader is; only from one to the next does the text begin anew.
    if (shown.current !== lesson.id) toTheStart(text.current);
    shown.current = lesson.id;
  }, [lesson.id]);
  const at = LESSONS.findIndex((l) => l.id === lesson.id);
  const next = LESSONS[at + 1];
  const last = Math.max(...lesson.claims.map((c) => Math.max(c.measure.to, c.times?.to ?? 0)));
  return (
    <article class="lesson" aria-labelledby="lesson-title" ref={text}>
      <p class="small">
        Lesson {at + 1} of {LESSONS.length}
      </p>
      <h2 id="lesson-title">{lesson.title}</h2>
      {lesson.body.map((block, i) => {
        if ("text" in block) return <p key={i}>{inline(block.text)}</p>;
        if ("tries" in block) return <Try key={i} attempt={block.tries} />;
        const claim = lesson.claims[block.claim];
        return claim ? <ClaimLine key={i} claim={claim} claims={lesson.claims} /> : null;
      })}
      <div class="pair">
        <button type="button" onClick={() => player.forward(last)}>
          Simulate to {showTime(last)}
        </button>
        {next ? (
          <button type="button" class="main" onClick={() => source.openLesson(next)}>
            Next lesson
          </button>
        ) : null}
      </div>
    </article>
  );
}

function Try({ attempt }: { attempt: Attempt }) {
  return (
    <p>
      <button type="button" class="try" onClick={() => player.change(attempt.set, attempt.of ?? null)}>
        {attempt.label}
      </button>
    </p>
  );
}

/** A measured value as people read it. */
export function measureText(what: string, value: number | null): string {
  if (value === null) return "–";
  if (what.startsWith("delay")) return showTime(value);
  if (what === "rate" || what.startsWith("flows")) return showRate(value);
  if (["used", "share", "dropped", "marked"].includes(what)) return showShare(value);
  return short(value);
}

/** A claim with what this run has measured, once it has come so far. */
function ClaimLine({ claim, claims }: { claim: Claim; claims: Claim[] }) {
  player.tick.value;
  const measured = (of: Claim["measure"] | undefined) => {
    if (!of) return null;
    return player.columns.value[of.of]?.frame.measured[measuresOf(claims, of.of).indexOf(of)] ?? null;
  };
  const own = measured(claim.measure);
  const other = measured(claim.times);
  const complete = own?.complete === true && (!claim.times || other?.complete === true);
  const met = complete && holds(claim, own.value, other?.value ?? null);
  const state = complete ? (met ? "met" : "unmet") : "open";
  const words = {
    met: "so it is in this run",
    unmet: "not so after what was changed",
    open: "not measured yet",
  };
  return (
    <div class={`claim ${state}`}>
      <p>{inline(claim.says)}</p>
      <p class="small">
        <span aria-hidden="true">{{ met: "✓", unmet: "✗", open: "○" }[state]}</span>{" "}
        {complete ? `Measured: ${measureText(claim.measure.what, own.value)}` : words.open}
        {complete && claim.times ? `, and ${measureText(claim.times.what, other?.value ?? null)}` : ""}
        {complete ? ` (${words[state]})` : `: from ${claim.measure.from} to ${claim.measure.to} s`}
      </p>
    </div>
  );
}
