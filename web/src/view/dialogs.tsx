/** Opening an experiment, and taking away what is shown. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import * as player from "../player";
import { LONGEST, MOST_COLUMNS } from "../share";
import type { Checked, Digest, LibraryExperiment } from "../simulator/contract";
import { library } from "../simulator/embedded";
import * as source from "../source";

export function Dialog(p: {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (p.open && !element?.open) element?.showModal();
    if (!p.open && element?.open) element.close();
  }, [p.open]);
  return (
    <dialog ref={dialog} onClose={p.onClose} aria-label={p.title}>
      <header>
        <h2>{p.title}</h2>
        <button type="button" class="plain" onClick={p.onClose}>
          Close
        </button>
      </header>
      {p.open ? p.children : null}
    </dialog>
  );
}

/** Reads a file of the reader's; a large one is refused before it is read. */
export async function readFile(file: File): Promise<string> {
  if (file.size > LONGEST) throw new Error(`${file.name} is longer than ${LONGEST / 1024} KiB.`);
  return file.text();
}

export function OpenDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [text, setText] = useState(source.file.value?.text ?? "");
  const [checked, setChecked] = useState<Checked | null>(null);
  const [experiments, setExperiments] = useState<LibraryExperiment[]>([]);
  useEffect(() => {
    if (open && experiments.length === 0) library().then(setExperiments, player.complain);
  }, [open, experiments]);

  /** The settings that came with the experiment that is open. */
  function settings(toml: string): string[] {
    return toml === source.file.value?.text ? source.file.value.set : [];
  }

  async function offer(toml: string) {
    setText(toml);
    setChecked(null);
    player.problem.value = null;
    try {
      const found = await player.check(toml, settings(toml));
      if (found.runs.length > 1) setChecked(found);
      else if (await source.openFile(toml, [0], settings(toml))) onClose();
    } catch (e) {
      player.complain(e);
    }
  }

  async function choose(runs: number[]) {
    if (await source.openFile(text, runs, settings(text))) onClose();
  }

  return (
    <Dialog title="Open an experiment" open={open} onClose={onClose}>
      <label class="stacked">
        From the library
        <select
          value=""
          onChange={(e) => offer(experiments.find((x) => x.id === e.currentTarget.value)?.toml ?? "")}
        >
          <option value="">Choose…</option>
          {experiments.map((x) => (
            <option key={x.id} value={x.id}>
              {x.id}: {x.title}
            </option>
          ))}
        </select>
      </label>
      <label class="stacked">
        From a file
        <input
          type="file"
          accept=".toml,text/plain"
          onChange={(e) => {
            const file = e.currentTarget.files?.[0];
            if (file) readFile(file).then(offer, player.complain);
          }}
        />
      </label>
      <label class="stacked">
        Or paste it
        <textarea
          rows={10}
          spellcheck={false}
          value={text}
          maxLength={LONGEST}
          onInput={(e) => {
            setText(e.currentTarget.value);
            setChecked(null);
          }}
        />
      </label>
      <Problem />
      {checked ? (
        <RunChoice checked={checked} onChoose={choose} />
      ) : (
        <button type="button" class="main" disabled={text.trim() === ""} onClick={() => offer(text)}>
          Open
        </button>
      )}
    </Dialog>
  );
}

/** Which runs of a sweep to show. */
function RunChoice({ checked, onChoose }: { checked: Checked; onChoose: (runs: number[]) => void }) {
  const [chosen, setChosen] = useState<number[]>([checked.runs[0]?.index ?? 0]);
  const [sought, seek] = useState("");
  const found = checked.runs.filter((r) => r.name.toLowerCase().includes(sought.toLowerCase())).slice(0, 60);
  return (
    <fieldset class="runs">
      <legend>
        This experiment has {checked.runs.length.toLocaleString("en")} runs. Show up to {MOST_COLUMNS} of
        them.
      </legend>
      {checked.runs.length > 12 ? (
        <input
          type="search"
          aria-label="Find a run"
          placeholder="Find a run"
          value={sought}
          onInput={(e) => seek(e.currentTarget.value)}
        />
      ) : null}
      <ul>
        {found.map((run) => (
          <li key={run.index}>
            <label>
              <input
                type="checkbox"
                checked={chosen.includes(run.index)}
                disabled={!chosen.includes(run.index) && chosen.length >= MOST_COLUMNS}
                onChange={(e) =>
                  setChosen(
                    e.currentTarget.checked ? [...chosen, run.index] : chosen.filter((i) => i !== run.index),
                  )
                }
              />{" "}
              {run.name}
            </label>
          </li>
        ))}
      </ul>
      <button type="button" class="main" disabled={chosen.length === 0} onClick={() => onChoose(chosen)}>
        Show
      </button>
    </fieldset>
  );
}

/** What is wrong, in the words of the simulator, with the place in the experiment. */
export function Problem() {
  const fault = player.problem.value;
  if (!fault) return null;
  return (
    <div class="problem" role="alert">
      <p>
        {fault.line ? `Line ${fault.line}: ` : ""}
        {fault.message}
      </p>
      {fault.hint ? <p class="small">{fault.hint}</p> : null}
      <button type="button" class="plain" onClick={() => (player.problem.value = null)}>
        Dismiss
      </button>
    </div>
  );
}

function save(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

interface Taken {
  link: string;
  experiments: string[];
  digests: Digest[];
}

export function ShareDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [taken, take] = useState<Taken | null>(null);
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!open) return;
    player.playing.value = false;
    setCopied(false);
    take(null);
    Promise.all([source.link(), player.experiments("now"), player.digests()])
      .then(([link, experiments, digests]) => take({ link, experiments, digests }))
      .catch(player.complain);
  }, [open]);
  return (
    <Dialog title="Link and experiment" open={open} onClose={onClose}>
      <Problem />
      {taken ? (
        <>
          <label class="stacked">
            A link to what is shown now: the whole experiment is in it
            <input type="text" readOnly value={taken.link} onFocus={(e) => e.currentTarget.select()} />
          </label>
          {source.isInside() ? (
            <p class="small">
              This page is inside a report. The link leads to a page of its own, which{" "}
              <code>aqmkit play --save play.html</code> writes.
            </p>
          ) : null}
          <button
            type="button"
            class="main"
            onClick={() =>
              navigator.clipboard?.writeText(taken.link).then(
                () => setCopied(true),
                () => undefined,
              )
            }
          >
            {copied ? "Copied" : "Copy the link"}
          </button>
          {player.columns.value.map((column, i) => (
            <Taking
              key={column.id}
              column={column}
              toml={taken.experiments[i] ?? ""}
              digest={taken.digests[i]}
            />
          ))}
        </>
      ) : null}
    </Dialog>
  );
}

function Taking({
  column,
  toml,
  digest,
}: {
  column: player.Column;
  toml: string;
  digest: Digest | undefined;
}) {
  const discipline = column.opened.queues[column.opened.watched]?.discipline ?? "run";
  const name = `${discipline}.toml`;
  return (
    <section class="taking">
      <h3>{discipline}</h3>
      <p>
        Digest at {digest ? `${digest.now.toFixed(6)} s` : ""}: <code>{digest?.digest ?? ""}</code>
      </p>
      <p class="small">
        <code>aqmkit run {name}</code> repeats what was simulated so far, with every change that was made by
        hand, and prints the same digest.
      </p>
      <button type="button" onClick={() => save(name, toml)}>
        Save as experiment
      </button>
      <details>
        <summary>Show it</summary>
        <textarea readOnly rows={14} aria-label={`Experiment of ${discipline}`} value={toml} />
      </details>
    </section>
  );
}
