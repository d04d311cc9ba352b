/** The figures of docs/guide/play.md: they must hold on a machine that has other work as well, so computing time is measured, or the best of several. */
import type { CDPSession, Page } from "playwright-core";
import { expect, it } from "vitest";
import { FAST } from "../experiments";
import { tell } from "../tell";
import { ADDRESS, clock, reaches, slide, withBrowser } from "./browser";

const { open, visit } = withBrowser();

/** The computing time of the page's thread so far, ms. */
async function computed(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return 1000 * (metrics.find((m) => m.name === "TaskDuration")?.value ?? Number.NaN);
}

async function measured(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return session;
}

for (const hash of ["", "#d=codel"])
  it(`a queue moves within a second of opening the page ${hash}`, { timeout: 60_000 }, async () => {
    const taken: number[] = [];
    for (let i = 0; i < 3; i++) {
      const { page } = await visit(ADDRESS + hash);
      await reaches(page, 5.0001);
      // From the start of navigation, on the page's own clock.
      taken.push(await page.evaluate(() => performance.now()));
      await page.context().close();
    }
    const [best = Number.NaN, middle = Number.NaN] = taken.sort((a, b) => a - b);
    tell(`${hash || "the page"} moves after ${middle.toFixed(0)} ms, at best ${best.toFixed(0)} ms`);
    // An idle machine takes half a second; one with twelve times as much work as cores took 3.4 s.
    expect(best).toBeLessThan(6000);
  });

it("frames of 500 flows at 100 Mbit/s leave the page time for thirty a second", {
  timeout: 60_000,
}, async () => {
  const { page, errors } = await open();
  await page.getByRole("button", { name: "Open…" }).click();
  await page.getByLabel("Or paste it").fill(FAST);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.locator(".top .title", { hasText: "500 flows" }).waitFor();
  await slide(page, "Speed", 0.4);
  const play = page.getByRole("button", { name: "Play" });
  if (await play.isVisible()) await play.click();
  await reaches(page, 2);
  const session = await measured(page);
  const before = await computed(session);
  const frames = 60;
  const [from, begun] = [await clock(page), performance.now()];
  await page.evaluate(
    (most) =>
      new Promise<void>((done) => {
        let seen = 0;
        const frame = () => (++seen < most ? requestAnimationFrame(frame) : done());
        requestAnimationFrame(frame);
      }),
    frames,
  );
  const each = ((await computed(session)) - before) / frames;
  const seconds = (performance.now() - begun) / 1000;
  const pace = ((await clock(page)) - from) / seconds;
  tell(
    `500 flows: ${(frames / seconds).toFixed(0)} frames a second, ${pace.toFixed(2)} simulated seconds a second, ${each.toFixed(1)} ms of computing for a frame`,
  );
  // Beside much other work it took 6 ms.
  expect(each).toBeLessThan(1000 / 30);
  expect(errors).toEqual([]);
  await page.context().close();
});

it("a slider is seen in the picture within 100 ms", { timeout: 60_000 }, async () => {
  const { page } = await open();
  await reaches(page, 5.0001);
  const session = await measured(page);
  const before = await computed(session);
  const moves = 20;
  const found = await page.evaluate(async (most) => {
    const slider = document.querySelector('input[type="range"][aria-valuetext$="bit/s"]') as HTMLInputElement;
    const taken: { ms: number; frames: number }[] = [];
    for (let i = 0; i < most; i++) {
      const begun = performance.now();
      slider.value = String(100 + i * 10);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      let frames = 0;
      await new Promise<void>((done) => {
        const look = () => {
          if (document.documentElement.dataset.changes === String(i + 1)) return done();
          frames += 1;
          requestAnimationFrame(look);
        };
        look();
      });
      taken.push({ ms: performance.now() - begun, frames });
      await new Promise((done) => setTimeout(done, 50));
    }
    return taken;
  }, moves);
  const each = ((await computed(session)) - before) / moves;
  const middle = (values: number[]) => values.sort((a, b) => a - b)[moves / 2] ?? Number.NaN;
  const [ms, frames] = [found.map((f) => f.ms), found.map((f) => f.frames)];
  tell(
    `a slider: ${middle(ms).toFixed(0)} ms, at best ${ms[0]?.toFixed(0)} ms; ${middle(frames)} frames; ${each.toFixed(0)} ms computed`,
  );
  // An idle machine takes 16 ms, which is one frame; one with much other work took 48 ms at best, 3 frames and 22 ms of computing.
  expect(ms[0]).toBeLessThan(100);
  expect(middle(frames)).toBeLessThanOrEqual(5);
  expect(each).toBeLessThan(100);
  await page.context().close();
});
