/** Play, pause, one packet, back to the start, and how fast. */
import { useEffect } from "preact/hooks";
import * as player from "../player";
import * as source from "../source";
import { short, showTime } from "../units";
import { position, valueAt } from "./field";

function speedText(speed: number): string {
  if (speed === 1) return "real time";
  return speed < 1 ? `1/${short(1 / speed, 2)} of real time` : `${short(speed, 2)} × real time`;
}

/** What is typed somewhere else is not a command. */
function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA|BUTTON|A|SUMMARY)$/.test(target.tagName);
}

function toggle(): void {
  player.playing.value = !player.playing.value && !player.finished.value;
}

function faster(factor: number): void {
  const next = Math.min(player.FASTEST, Math.max(player.SLOWEST, player.speed.value * factor));
  player.speed.value = Number(next.toPrecision(2));
}

/** Keys: space, the arrow to the right, 0, and - and + for the speed. */
function onKey(e: KeyboardEvent): void {
  if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target) || document.querySelector("dialog[open]"))
    return;
  if (e.key === " ") toggle();
  else if (e.key === "ArrowRight") player.step();
  else if (e.key === "0" || e.key === "Home") source.restart();
  else if (e.key === "+" || e.key === "=") faster(2);
  else if (e.key === "-") faster(0.5);
  else return;
  e.preventDefault();
}

export function Playback() {
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const { speed, playing, finished, achieved, now } = player;
  return (
    <section class="playback" aria-label="Playback">
      <button type="button" class="main" onClick={toggle} disabled={finished.value} aria-keyshortcuts="Space">
        <Icon name={playing.value ? "pause" : "play"} />
        {playing.value ? "Pause" : "Play"}
      </button>
      <button
        type="button"
        onClick={() => player.step()}
        disabled={finished.value}
        aria-keyshortcuts="ArrowRight"
      >
        <Icon name="step" />
        One packet
      </button>
      <button type="button" onClick={() => source.restart()} aria-keyshortcuts="0">
        <Icon name="start" />
        Start again
      </button>
      <label class="speed">
        <span>{speedText(speed.value)}</span>
        <input
          type="range"
          aria-label="Speed"
          aria-valuetext={speedText(speed.value)}
          min={0}
          max={400}
          value={position(speed.value, player.SLOWEST, player.FASTEST, true)}
          onInput={(e) => {
            const next = valueAt(Number(e.currentTarget.value), player.SLOWEST, player.FASTEST, true, false);
            speed.value = Math.abs(next - 1) < 0.12 ? 1 : Number(next.toPrecision(2));
          }}
        />
      </label>
      <output class="clock" aria-label="Simulated time">
        {now.value.toFixed(speed.value < 0.5 ? 4 : 2)} s
        {finished.value ? <span class="small"> the end</span> : null}
        {playing.value && achieved.value !== null ? (
          <span class="small"> {short(achieved.value, 2)} × is what this machine reaches</span>
        ) : null}
      </output>
      <Happened />
    </section>
  );
}

const WORDS = { arrival: "arrives", departure: "leaves", drop: "is dropped", mark: "is marked" };

/** What the last single step did. */
function Happened() {
  const event = player.stepped.value;
  if (!event || player.playing.value) return null;
  const waited = event.delay ? ` after ${showTime(event.delay)}` : "";
  return (
    <output class="small happened">
      A packet of {event.bytes} bytes of flow {event.flow} {WORDS[event.kind]}
      {waited}.
    </output>
  );
}

const PATHS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  step: "M3 2.5v11l7-5.5zM11 2.5h2v11h-2z",
  start: "M13 2.5v11L6 8zM3 2.5h2v11H3z",
};

function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <path d={PATHS[name]} fill="currentColor" />
    </svg>
  );
}
