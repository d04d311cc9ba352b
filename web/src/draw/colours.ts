import type { Group } from "../simulator/contract";

/** Colours of the flows of one group: the palette of Okabe and Ito, which people with any colour vision can tell apart. */
const LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#8a6d00", "#5b5fc7"];
const DARK = ["#4aa3df", "#f0b429", "#2fc59a", "#e19ac4", "#8fd3fa", "#cdb54a", "#9c9ff2"];
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
  /** The colours of single flows, without those of groups that are beside them. */
  private readonly palette: string[];

  constructor(
    readonly dark: boolean,
    private readonly groups: readonly Pick<Group, "responsive" | "colour">[],
    private readonly few: boolean,
  ) {
    const others = groups.filter((g) => !g.responsive).map((g) => this.shown(g));
    this.palette = (dark ? DARK : LIGHT).filter((colour) => !others.includes(colour));
  }

  private shown(group: Pick<Group, "colour">): string {
    return this.dark ? group.colour.dark : group.colour.light;
  }

  group(group: number): string {
    const found = this.groups[Math.max(0, group)];
    return found ? this.shown(found) : "#888888";
  }

  flow(flow: number, group: number): string {
    let place = this.places.get(flow);
    if (place === undefined) {
      if (this.places.size > 50_000) this.places.clear();
      place = this.counts.get(group) ?? 0;
      this.counts.set(group, place + 1);
      this.places.set(flow, place);
    }
    const own = this.few && this.groups[Math.max(0, group)]?.responsive;
    return (own && this.palette[place % this.palette.length]) || shade(this.group(group), place);
  }
}
