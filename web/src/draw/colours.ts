/** Colours of flows: the palette of Okabe and Ito, which people with any colour vision can tell apart. */
const LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8a6d00", "#5b5fc7"];
const DARK = ["#4aa3df", "#f0b429", "#2fc59a", "#e19ac4", "#8fd3fa", "#cdb54a", "#9c9ff2"];
/** What does not respond to drops has a colour of its own. */
const UNRESPONSIVE = { light: "#d55e00", dark: "#ff7b2e" };

/** Colours of the page that a picture needs. */
export interface Theme {
  dark: boolean;
  ink: string;
  faint: string;
  line: string;
  track: string;
  surface: string;
  drop: string;
  mark: string;
}

export function theme(): Theme {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return dark
    ? {
        dark,
        ink: "#e4e7eb",
        faint: "#9aa4b1",
        line: "#3a434f",
        track: "#1b2128",
        surface: "#14181d",
        drop: "#ff6b5e",
        mark: "#ffd166",
      }
    : {
        dark,
        ink: "#1f2933",
        faint: "#616e7c",
        line: "#cbd2d9",
        track: "#f1f4f7",
        surface: "#ffffff",
        drop: "#b3261e",
        mark: "#8f6400",
      };
}

function shade(colour: string, step: number): string {
  // Flows of one group differ a little in lightness.
  const amount = [0, 0.22, -0.18, 0.38, -0.32][step % 5] ?? 0;
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const mixed = parts.map((part) =>
    Math.round(amount >= 0 ? part + (255 - part) * amount : part * (1 + amount)),
  );
  return `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Gives each flow its colour: its own while there are few, else a shade of its group's. */
export class Colours {
  /** The place of a flow among those of its group, in the order in which they were seen. */
  private readonly places = new Map<number, number>();
  private readonly counts = new Map<number, number>();

  constructor(
    readonly dark: boolean,
    private readonly responsive: boolean[],
    private readonly few: boolean,
  ) {}

  /** Whether a group is shown as one that does not respond, among others that do. */
  private stands(group: number): boolean {
    return this.responsive[group] === false && this.responsive.includes(true);
  }

  group(group: number): string {
    if (this.stands(group)) return this.dark ? UNRESPONSIVE.dark : UNRESPONSIVE.light;
    return this.own(Math.max(0, group));
  }

  private own(place: number): string {
    const palette = this.dark ? DARK : LIGHT;
    return palette[place % palette.length] ?? "#888888";
  }

  flow(flow: number, group: number): string {
    let place = this.places.get(flow);
    if (place === undefined) {
      if (this.places.size > 50_000) this.places.clear();
      place = this.counts.get(group) ?? 0;
      this.counts.set(group, place + 1);
      this.places.set(flow, place);
    }
    return this.few && !this.stands(group) ? this.own(place) : shade(this.group(group), place);
  }
}
