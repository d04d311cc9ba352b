import { useEffect, useState } from "preact/hooks";
import { cell } from "./cell";
import { LESSONS } from "./lessons";
import * as player from "./player";
import { FIRST } from "./scenario";
import { MOST_COLUMNS } from "./share";
import * as source from "./source";
import { CellPanel } from "./view/cell";
import { ColumnView } from "./view/column";
import { Controls } from "./view/controls";
import { Dialog, OpenDialog, Problem, readFile, ShareDialog } from "./view/dialogs";
import { Choice } from "./view/field";
import { LessonList, LessonText } from "./view/lesson";
import { Playback } from "./view/playback";

type Window = "open" | "share" | "lessons" | "help" | null;

export function App() {
  const [window, show] = useState<Window>(null);
  const [side, setSide] = useState<"text" | "controls">("controls");
  const lesson = source.lesson.value;
  const published = cell.value;
  const text = lesson ? "Lesson" : published ? "Published value" : null;
  useEffect(() => setSide(text ? "text" : "controls"), [lesson, published]);
  useDrop();
  const close = () => show(null);
  return (
    <>
      <Header onShow={show} />
      <Playback />
      <main>
        <aside aria-label={(side === "text" && text) || "Controls"}>
          {text ? (
            <div class="tabs">
              {(["text", "controls"] as const).map((name) => (
                <button type="button" key={name} aria-pressed={side === name} onClick={() => setSide(name)}>
                  {name === "text" ? text : "Controls"}
                </button>
              ))}
            </div>
          ) : null}
          {side === "controls" ? <Controls /> : null}
          {side === "text" && lesson ? <LessonText lesson={lesson} /> : null}
          {side === "text" && published ? <CellPanel cell={published} /> : null}
        </aside>
        <Stage />
      </main>
      <OpenDialog open={window === "open"} onClose={close} />
      <ShareDialog open={window === "share"} onClose={close} />
      <Dialog title="Lessons" open={window === "lessons"} onClose={close}>
        <LessonList onChoose={close} />
      </Dialog>
      <Dialog title="About the picture" open={window === "help"} onClose={close}>
        <Help />
      </Dialog>
    </>
  );
}

function Header({ onShow }: { onShow: (window: Window) => void }) {
  const title =
    source.file.value?.checked.title || (source.byHand() ? "" : player.columns.value[0]?.opened.title);
  return (
    <header class="top">
      <h1>
        aqmkit <span>play</span>
      </h1>
      <p class="title">{source.lesson.value ? "" : title}</p>
      <nav aria-label="Page">
        {source.byHand() ? null : (
          <button type="button" onClick={() => source.openScenario(FIRST)}>
            Own link
          </button>
        )}
        <button type="button" onClick={() => onShow("lessons")}>
          Lessons
        </button>
        <button type="button" onClick={() => onShow("open")}>
          Open…
        </button>
        <button type="button" onClick={() => onShow("share")}>
          Link and save
        </button>
        <button type="button" onClick={() => onShow("help")}>
          Help
        </button>
      </nav>
    </header>
  );
}

function Stage() {
  const columns = player.columns.value;
  const disciplines = player.catalogue.value?.disciplines ?? [];
  return (
    <section class="stage" aria-label="Running link">
      <Problem />
      {player.working.value ? (
        <p class="working" role="status">
          {player.working.value}
        </p>
      ) : null}
      <div class={`columns of-${columns.length}`}>
        {columns.map((column, index) => (
          <ColumnView key={column.id} column={column} index={index} />
        ))}
      </div>
      {columns.length > 0 && columns.length < MOST_COLUMNS ? (
        <Choice
          hidden
          label="Another discipline beside, under the same traffic"
          value=""
          options={[
            { value: "", label: "Beside it, the same traffic under…" },
            ...disciplines.map((d) => ({ value: d.name, label: `${d.name}: ${d.summary}`.slice(0, 70) })),
          ]}
          onChange={(name) => name && source.addColumn(name)}
        />
      ) : null}
    </section>
  );
}

/** An experiment file that is dropped anywhere on the page is opened. */
function useDrop() {
  useEffect(() => {
    const over = (e: DragEvent) => e.preventDefault();
    const drop = (e: DragEvent) => {
      e.preventDefault();
      const file = e.dataTransfer?.files[0];
      if (file) readFile(file).then((text) => source.openFile(text), player.complain);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, []);
}

function Help() {
  const { version, simulator } = player.catalogue.value ?? { version: "", simulator: "" };
  return (
    <div class="prose">
      <p>
        Every block is a packet, in the colour of its flow. Packets come in at the left and wait; the one at
        the right end leaves next, over the wire. The line below counts the packets that wait. Dashed lines
        are lengths at which the discipline acts; a line with an arrow is the average that it holds against
        them.
      </p>
      <p>
        A packet that falls with a cross is dropped: at the tail when it arrives, or at the head when it
        should leave. A diamond that rises is a mark; a marked packet has a notch. Each kind of traffic has
        its colour; orange-red packets are of a sender at a rate of its own, which does not slow down.
      </p>
      <p>
        The simulator is the one of the command <code>aqmkit</code>, with real transports, packet by packet.
        It runs in this page; nothing is sent anywhere. A change of a slider takes effect in the running
        simulation; where it says “starts anew”, the run begins again.
      </p>
      <dl class="keys">
        <dt>Space</dt>
        <dd>play or pause</dd>
        <dt>→</dt>
        <dd>one packet</dd>
        <dt>0</dt>
        <dd>start again</dd>
        <dt>− +</dt>
        <dd>slower, faster</dd>
      </dl>
      <p class="small">
        aqmkit {version}, simulator {simulator}; {LESSONS.length} lessons
      </p>
    </div>
  );
}
