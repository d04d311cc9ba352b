/**
 * How fast the page is, in a real browser: npm run measure. Prints the bytes of the page, the time until the queue moves, the frames
 * per second at 100 Mbit/s and 500 flows, and how long a slider takes to be seen.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const file =
  process.env.AQMKIT_PAGE ?? fileURLToPath(new URL("../../crates/lab/assets/play.html", import.meta.url));
const address = process.env.AQMKIT_ADDRESS ?? `file://${file}`;
const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];

const EXPERIMENT = `title = "500 flows"
duration = "60s"
[topology]
rate = "100mbit"
delay = "20ms"
aqm = { name = "pie", limit = 2000 }
[[traffic]]
kind = "bulk"
flows = 500
stagger = "1s"
`;

const browser = await chromium.launch({
  executablePath: places.find((place) => place && existsSync(place)),
  args: ["--no-sandbox"],
});

/** Simulated time that the page shows, s. */
const CLOCK = 'Number.parseFloat(document.querySelector(".clock")?.textContent ?? "0")';

function reaches(page, seconds) {
  const past = (s) => Number.parseFloat(document.querySelector(".clock")?.textContent ?? "0") > s;
  return page.waitForFunction(past, seconds, { polling: 10 });
}

async function untilMoving() {
  const page = await browser.newPage({ viewport: { width: 1300, height: 1000 } });
  await page.goto(address, { waitUntil: "commit" });
  await reaches(page, 5.0001);
  // From the start of navigation, on the page's own clock.
  const taken = await page.evaluate("performance.now()");
  await page.close();
  return taken;
}

async function framesPerSecond() {
  const page = await browser.newPage({ viewport: { width: 1300, height: 1000 } });
  await page.goto(address);
  await page.getByRole("button", { name: "Open…" }).click();
  await page.getByLabel("Or paste it").fill(EXPERIMENT);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.locator(".top .title", { hasText: "500 flows" }).waitFor();
  await page.getByRole("slider", { name: "Speed" }).fill("160");
  const play = page.getByRole("button", { name: "Play" });
  if (await play.isVisible()) await play.click();
  await reaches(page, 3);
  const measured = await page.evaluate(
    `new Promise((done) => {
      const clock = () => ${CLOCK};
      const begun = performance.now();
      const from = clock();
      let frames = 0;
      let longest = 0;
      let last = begun;
      const frame = (at) => {
        frames += 1;
        longest = Math.max(longest, at - last);
        last = at;
        if (at - begun < 5000) requestAnimationFrame(frame);
        else done({ frames: frames / ((at - begun) / 1000), longest, pace: (clock() - from) / ((at - begun) / 1000) });
      };
      requestAnimationFrame(frame);
    })`,
  );
  await page.close();
  return measured;
}

async function sliderLatency() {
  const page = await browser.newPage({ viewport: { width: 1300, height: 1000 } });
  await page.goto(address);
  await reaches(page, 5.0001);
  const taken = await page.evaluate(
    `(async () => {
      const slider = document.querySelector('input[type="range"][aria-valuetext$="bit/s"]');
      const results = [];
      for (let i = 0; i < 20; i++) {
        const begun = performance.now();
        slider.value = String(100 + i * 10);
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((done) => {
          const look = () => (document.documentElement.dataset.changes === String(i + 1) ? done() : requestAnimationFrame(look));
          look();
        });
        results.push(performance.now() - begun);
        await new Promise((done) => setTimeout(done, 50));
      }
      return results.sort((a, b) => a - b);
    })()`,
  );
  await page.close();
  return taken;
}

const bytes = readFileSync(file);
console.log(
  `page: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} with gzip, ${brotliCompressSync(bytes).length} with brotli`,
);
for (const [, id, content] of bytes.toString().matchAll(/<script id="(\w+)"[^>]*>([^<]*)</g))
  console.log(`  of which ${id}: ${Buffer.from(content, "base64url").length} bytes compressed`);
const moving = [];
for (let i = 0; i < 5; i++) moving.push(await untilMoving());
moving.sort((a, b) => a - b);
console.log(
  `opening to a moving queue: ${moving[2].toFixed(0)} ms (median of 5; ${moving[4].toFixed(0)} at most)`,
);
const speed = await framesPerSecond();
console.log(
  `100 Mbit/s, 500 flows: ${speed.frames.toFixed(1)} frames a second, longest ${speed.longest.toFixed(0)} ms; ${speed.pace.toFixed(2)} simulated s per s`,
);
const latency = await sliderLatency();
console.log(
  `a slider until its change is shown: ${latency[10].toFixed(0)} ms (median of 20; ${latency[19].toFixed(0)} at most)`,
);
await browser.close();
