import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Theme } from "../draw/colours";

/** A line of a plot. */
export interface Line {
  label: string;
  colour: string;
  width?: number;
  dash?: number[];
  fill?: string;
}

export interface PlotData {
  lines: Line[];
  /** Times, and the values of each line. */
  values: (number | null)[][];
  from: number;
  to: number;
  /** The top of the scale, the same beside each other. */
  top: number;
}

interface Properties {
  label: ComponentChildren;
  unit: string;
  height: number;
  theme: Theme;
  /** Called at every frame that draws. */
  data: () => PlotData;
  /** Draws anew when this changes. */
  turn: number;
}

function axes(theme: Theme): uPlot.Axis[] {
  const shared: uPlot.Axis = {
    stroke: theme.faint,
    font: "11px system-ui, sans-serif",
    grid: { stroke: theme.line, width: 0.5 },
    ticks: { show: false },
  };
  return [
    {
      ...shared,
      size: 28,
      gap: 8,
      space: 70,
      grid: { show: false },
      values: (_, at) => at.map((t) => `${+t.toFixed(6)} s`),
    },
    { ...shared, size: 44, gap: 4, space: 22 },
  ];
}

function options(width: number, { height, theme }: Properties, data: PlotData): uPlot.Options {
  return {
    width,
    height,
    padding: [6, 4, 0, 0],
    cursor: { show: false },
    legend: { show: false },
    scales: { x: { time: false, auto: false }, y: { auto: false } },
    axes: axes(theme),
    series: [
      {},
      ...data.lines.map((line) => ({
        label: line.label,
        stroke: line.colour,
        width: line.width ?? 1.75,
        points: { show: false },
        spanGaps: true,
        ...(line.dash ? { dash: line.dash } : {}),
        ...(line.fill ? { fill: line.fill } : {}),
      })),
    ],
  };
}

/** A moving plot. It is drawn by uPlot; what it says is also in the table of numbers. */
export function Plot(properties: Properties) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = useRef("");
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const data = properties.data();
    const wanted = JSON.stringify([data.lines, properties.theme.dark, properties.height]);
    if (wanted !== shape.current) {
      plot.current?.destroy();
      plot.current = new uPlot(options(element.clientWidth || 300, properties, data), undefined, element);
      shape.current = wanted;
    }
    const drawn = plot.current;
    if (!drawn) return;
    if (element.clientWidth && drawn.width !== element.clientWidth)
      drawn.setSize({ width: element.clientWidth, height: properties.height });
    drawn.batch(() => {
      drawn.setData(data.values as uPlot.AlignedData, false);
      drawn.setScale("x", { min: data.from, max: data.to });
      drawn.setScale("y", { min: 0, max: data.top });
    });
  }, [properties.turn, properties.theme, properties.height]);
  useEffect(() => () => plot.current?.destroy(), []);
  return (
    <figure class="plot">
      <figcaption>
        {properties.label} <span class="unit">{properties.unit}</span>
      </figcaption>
      <div ref={host} class="plot-area" aria-hidden="true" style={{ height: `${properties.height}px` }} />
    </figure>
  );
}
