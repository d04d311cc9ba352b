import { useEffect, useId, useRef, useState } from "preact/hooks";

/** Positions of a slider. */
const STEPS = 400;

interface Properties {
  label: string;
  value: number;
  min: number;
  max: number;
  whole?: boolean;
  /** Whether equal ways of the slider are equal factors. */
  logarithmic?: boolean;
  /** As people read it, with its unit. */
  show: (value: number) => string;
  /** Reads what was typed; null if it is no such quantity. */
  read: (text: string) => number | null;
  help?: string;
  note?: string;
  /** Done when the simulator has taken the value. */
  onChange: (value: number) => unknown;
}

/** Where a value lies on the slider. */
export function position(value: number, min: number, max: number, logarithmic: boolean): number {
  if (max <= min) return 0;
  if (logarithmic && min > 0) return (Math.log(Math.max(value, min) / min) / Math.log(max / min)) * STEPS;
  return ((value - min) / (max - min)) * STEPS;
}

/** The value at a place of the slider, to three digits. */
export function valueAt(
  place: number,
  min: number,
  max: number,
  logarithmic: boolean,
  whole: boolean,
): number {
  const part = place / STEPS;
  const exact = logarithmic && min > 0 ? min * (max / min) ** part : min + (max - min) * part;
  if (place >= STEPS) return max;
  if (place <= 0) return min;
  return whole ? Math.round(exact) : Number(exact.toPrecision(3));
}

/** A slider with a field beside it. The slider has the usual range, the field takes any value. */
export function NumberField(p: Properties) {
  const id = useId();
  const [typed, setTyped] = useState<string | null>(null);
  const [wrong, setWrong] = useState(false);
  const [held, setHeld] = useState<number | null>(null);
  const wanted = useRef<number | null>(null);
  const sending = useRef(false);
  // The value that is shown follows the hand at once, and the simulator as soon as it has answered.
  useEffect(() => {
    if (!sending.current) setHeld(null);
  }, [p.value]);
  const value = held ?? p.value;
  const scale = p.logarithmic ?? false;

  /** Sends the newest value, one at a time: what lies between is left out when the simulator is slower. */
  async function send() {
    if (sending.current) return;
    sending.current = true;
    while (wanted.current !== null) {
      const next = wanted.current;
      wanted.current = null;
      await p.onChange(next);
    }
    sending.current = false;
    setHeld(null);
  }

  /** Shows a value at once and sends it. */
  function hold(next: number) {
    setHeld(next);
    wanted.current = next;
    send();
  }

  function slide(place: number) {
    hold(valueAt(place, p.min, p.max, scale, p.whole ?? false));
  }

  /** An arrow key moves a whole number by at least one, where a step of the slider is less. */
  function nudge(e: KeyboardEvent) {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[e.key];
    if (!step || !p.whole) return;
    e.preventDefault();
    const next = valueAt(position(value, p.min, p.max, scale) + step, p.min, p.max, scale, true);
    hold(next !== value ? next : Math.min(p.max, Math.max(p.min, value + step)));
  }

  function enter(text: string) {
    const next = p.read(text);
    setWrong(next === null);
    if (next === null) return;
    setTyped(null);
    if (next !== p.value) p.onChange(next);
  }

  return (
    <div class="field">
      <label for={`${id}-slider`} title={p.help}>
        {p.label}
        {p.note ? <span class="note">{p.note}</span> : null}
      </label>
      <input
        type="text"
        class="typed"
        aria-label={`${p.label}, exact value`}
        aria-invalid={wrong}
        value={typed ?? p.show(value)}
        onFocus={(e) => e.currentTarget.select()}
        onInput={(e) => setTyped(e.currentTarget.value)}
        onBlur={(e) => typed !== null && enter(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter") enter(e.currentTarget.value);
          if (e.key === "Escape") {
            setTyped(null);
            setWrong(false);
          }
        }}
      />
      <input
        id={`${id}-slider`}
        type="range"
        min={0}
        max={STEPS}
        step={p.whole && p.max - p.min <= STEPS && !scale ? STEPS / Math.max(1, p.max - p.min) : 1}
        value={position(value, p.min, p.max, scale)}
        aria-valuetext={p.show(value)}
        aria-describedby={p.help ? `${id}-help` : undefined}
        onInput={(e) => slide(Number(e.currentTarget.value))}
        onKeyDown={nudge}
      />
      {wrong ? <p class="wrong">A value such as {p.show(p.value)}.</p> : null}
      {p.help ? (
        <p id={`${id}-help`} class="help">
          {p.help}
        </p>
      ) : null}
    </div>
  );
}

/** A yes or no. */
export function Toggle(p: {
  label: string;
  value: boolean;
  help?: string;
  note?: string;
  onChange: (value: boolean) => void;
}) {
  return (
    <label class="toggle" title={p.help}>
      <input type="checkbox" checked={p.value} onChange={(e) => p.onChange(e.currentTarget.checked)} />
      <span>
        {p.label}
        {p.note ? <span class="note">{p.note}</span> : null}
      </span>
    </label>
  );
}

export function Choice(p: {
  label: string;
  value: string;
  options: { value: string; label: string }[];
  hidden?: boolean;
  onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <div class={p.hidden ? "choice bare" : "choice"}>
      <label for={id} class={p.hidden ? "unseen" : ""}>
        {p.label}
      </label>
      <select id={id} value={p.value} onChange={(e) => p.onChange(e.currentTarget.value)}>
        {p.options.map((o) => (
          <option key={o.value} value={o.value}>
            {o.label}
          </option>
        ))}
      </select>
    </div>
  );
}
