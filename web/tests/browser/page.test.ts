import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { LESSONS } from "../../src/lessons";
import { toBase64Url } from "../../src/share";
import { LINK, UNCOMMON } from "../experiments";
import { tell } from "../tell";
import { ADDRESS, clock, FILE, pause, reaches, slide, violations, withBrowser } from "./browser";

const { open, visit } = withBrowser();

async function packed(text: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return `#e=${toBase64Url(new Uint8Array(await new Response(stream).arrayBuffer()))}`;
}

/** The file: docs/guide/play.md has its size. */
const MOST_BYTES = 1_070_000;

describe("the file", () => {
  it("is one, and small", () => {
    const text = readFileSync(FILE);
    tell(`${text.length} bytes, ${gzipSync(text, { level: 9 }).length} with gzip -9`);
    for (const [, id, content = ""] of text.toString().matchAll(/<script id="(\w+)"[^>]*>([^<]*)</g))
      tell(`of which ${id}: ${Buffer.from(content, "base64url").length} bytes compressed`);
    expect(text.length).toBeLessThan(MOST_BYTES);
    expect(text.toString()).not.toMatch(/(src|href)="(https?:)?\/\//);
  });

  it("moves within a second or so of being opened, and keeps to its policy", async () => {
    const begun = performance.now();
    const { page, errors } = await open();
    await reaches(page, 0.001);
    expect(performance.now() - begun).toBeLessThan(5000);
    expect(errors).toEqual([]);
    const policy = await page.locator("meta[http-equiv=Content-Security-Policy]").getAttribute("content");
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[^']+' 'wasm-unsafe-eval'; style-src 'sha256-/,
    );
    // What is put into the page by a stranger does not run.
    const ran = await page.evaluate(async () => {
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      document.body.append(script);
      const image = document.createElement("div");
      image.innerHTML = '<img src="x" onerror="window.ran = true">';
      document.body.append(image);
      await new Promise((done) => setTimeout(done, 100));
      return (window as unknown as { ran?: boolean }).ran ?? false;
    });
    expect(ran).toBe(false);
    await page.context().close();
  });
});

it("a link to disciplines shows queues at work, as the first link does", async () => {
  const { page, errors } = await open("#d=codel,fq-codel");
  await reaches(page, 5.001);
  expect(await page.locator(".picture").first().getAttribute("aria-label")).toMatch(/queue of codel$/);
  await expect
    .poll(() => page.locator(".picture").first().getAttribute("aria-label"))
    .toMatch(/^[1-9]\d* packets wait/);
  await page.getByRole("button", { name: "Start again" }).click();
  await expect.poll(() => clock(page)).toBeLessThan(5);
  expect(errors).toEqual([]);
  await page.context().close();
});

describe("a run that was opened", () => {
  const SWEEP = LINK.replace('aqm = "red"', "").replace(
    "[topology]",
    'warmup = "1s"\nrepeat = 2\n[sweep]\naqm = ["fifo", "red"]\n[topology]',
  );
  for (const viewport of [
    { width: 1300, height: 1000 },
    { width: 390, height: 800 },
  ])
    it(`stands at its start and says what starts it, ${viewport.width} pixels wide`, async () => {
      const { page, errors } = await open(await packed(SWEEP), { viewport });
      expect(await clock(page)).toBe(-1);
      const told = page.locator(".standing[role=status]");
      expect(await told.innerText()).toMatch(
        /Play or the space bar starts it.*Times before 0 s are its warm-up/s,
      );
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
      await told.getByRole("button", { name: "Start the run" }).click();
      await reaches(page, -0.99);
      expect(await told.count()).toBe(0);
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByRole("button", { name: "Start again" }).click();
      await told.waitFor();
      expect(errors).toEqual([]);
      await page.context().close();
    });

  it("is the one that the link chooses, with its settings", async () => {
    const { page } = await open(`${await packed(SWEEP)}&run=3&set=topology.rate%3D7mbit`);
    expect(await page.locator(".column").getAttribute("aria-label")).toBe("red");
    expect(await page.getByLabel("Rate, exact value").inputValue()).toBe("7 Mbit/s");
    await page.getByRole("button", { name: "Link and save" }).click();
    await page.getByText("Show it").click();
    expect(await page.getByLabel("Experiment of red").inputValue()).toMatch(/repeat = 2.*7mbit/s);
    await page.context().close();
  });

  it("may need at once what a first look does not", async () => {
    const { page, errors } = await open(await packed(UNCOMMON));
    await page.getByRole("button", { name: "Play" }).click();
    await reaches(page, 0.1);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it("may be inside the page itself", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "aqmkit-")), "saved.html");
    const meta = `<meta name="aqmkit-open" content="${await packed(SWEEP)}" /></head>`;
    writeFileSync(
      file,
      readFileSync(FILE, "utf8").replace("</head>", () => meta),
    );
    const { page, errors } = await visit(`file://${file}`);
    await page.locator(".standing").waitFor();
    expect(await page.locator(".column").getAttribute("aria-label")).toBe("fifo");
    await page.goto("about:blank");
    await page.goto(`file://${file}#d=pie`);
    await reaches(page, 5.001);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

describe("lessons", () => {
  it("show that every claim is so, in the page as well", { timeout: 120_000 }, async () => {
    const { page, errors } = await open();
    for (const lesson of LESSONS) {
      await page.goto(`${ADDRESS}#lesson=${lesson.id}`);
      await page.getByRole("heading", { name: lesson.title }).waitFor();
      await page.getByRole("button", { name: /^Simulate to/ }).click();
      const met = page.locator(".claim.met");
      await expect.poll(() => met.count(), { timeout: 30_000 }).toBe(lesson.claims.length);
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it("are chosen from a list, followed by the next, and left for the controls", async () => {
    const { page } = await open();
    await page.getByRole("button", { name: "Lessons" }).click();
    const [first, second] = LESSONS;
    await page.getByRole("button", { name: first?.title ?? "" }).click();
    await page.getByRole("heading", { name: first?.title ?? "" }).waitFor();
    await page.getByRole("button", { name: "Give the left queue 1000 places" }).click();
    await page.getByRole("button", { name: "Controls" }).click();
    await expect.poll(() => page.getByLabel("limit, exact value").first().inputValue()).toBe("1000");
    await page.getByRole("button", { name: "Lesson", exact: true }).click();
    const side = page.locator("aside");
    await side.evaluate((of) => of.scrollTo(0, of.scrollHeight));
    expect(await side.evaluate((of) => of.scrollTop)).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Next lesson" }).click();
    await page.getByRole("heading", { name: second?.title ?? "" }).waitFor();
    await expect.poll(() => side.evaluate((of) => of.scrollTop)).toBe(0);
    await page.context().close();
  });
});

it("a published value is measured again, beside the stored one", { timeout: 60_000 }, async () => {
  const cell =
    "#cell=red-pd/fig11-response&run=0&id=RPD-F11-07&what=time%20to%20come%20down&published=48.99%20s&stored=48.76%20s" +
    "&unit=s&repeats=5&window=raised&metric=classes.cbr.throughput_bps&seconds=until%20%3C%3D%203674235&factor=1";
  const { page, errors } = await open(cell);
  await page.getByRole("heading", { name: "time to come down" }).waitFor();
  const row = (name: string) => page.locator(`.values dt:text-is("${name}") + dd`).first().innerText();
  expect(await row("Published")).toBe("48.99 s");
  expect(await row("Stored")).toContain("48.76 s");
  expect(await row("This run")).toContain("at its end");
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Simulate to the end" }).click();
  // The first of the five runs whose mean is stored.
  await expect.poll(() => row("This run"), { timeout: 40_000 }).toMatch(/^4[789][.\d]* s$/);
  expect(errors).toEqual([]);
  await page.context().close();
});

describe("everybody can use it", () => {
  for (const [name, options] of [
    ["on a desk", {}],
    ["in the dark", { colorScheme: "dark" }],
    ["on a telephone", { viewport: { width: 390, height: 800 }, hasTouch: true }],
  ] as const)
    it(name, { timeout: 30_000 }, async () => {
      const { page } = await open("", options);
      await reaches(page, 0.01);
      await pause(page);
      const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
      expect(await fits()).toBe(true);
      expect(await violations(page)).toEqual([]);
      await page.getByRole("button", { name: "Lessons" }).click();
      await page.getByRole("button", { name: LESSONS[0]?.title ?? "" }).click();
      await page.getByRole("heading", { name: LESSONS[0]?.title ?? "" }).waitFor();
      expect(await fits()).toBe(true);
      expect(await violations(page)).toEqual([]);
      for (const dialog of name === "on a desk" ? ["Open…", "Link and save", "Help"] : ["Open…"]) {
        await page.getByRole("button", { name: dialog }).click();
        await page.locator("dialog[open]").waitFor();
        expect(await violations(page), dialog).toEqual([]);
        await page.keyboard.press("Escape");
      }
      await page.context().close();
    });

  it("by keyboard alone", async () => {
    const { page } = await open();
    await reaches(page, 0.01);
    await page.keyboard.press("Space");
    const at = await clock(page);
    await page.keyboard.press("ArrowRight");
    await page.locator(".happened").waitFor();
    expect(await clock(page)).toBeGreaterThanOrEqual(at);
    await page.keyboard.press("+");
    await page.keyboard.press("Home");
    await expect.poll(() => clock(page)).toBe(0);
    // Every control is reached by the tabulator.
    const controls = await page
      .locator("button:visible:not(:disabled), select:visible, input:visible")
      .count();
    const reached = new Set<string>();
    for (let i = 0; i < controls + 5; i++) {
      await page.keyboard.press("Tab");
      const where = await page.evaluate(() => {
        const all = [...document.querySelectorAll("button, select, input")];
        return String(all.indexOf(document.activeElement as Element));
      });
      if (where !== "-1") reached.add(where);
    }
    expect(reached.size).toBe(controls);
    await page.getByRole("button", { name: "Lessons" }).focus();
    await page.keyboard.press("Enter");
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("dialog[open]").count()).toBe(0);
    await page.context().close();
  });
});

describe("hostile links", () => {
  const wrong: Record<string, string | Uint8Array<ArrayBuffer>> = {
    "a billion flows": LINK.replace("flows = 4", "flows = 1000000000"),
    "a million flows": LINK.replace("flows = 4", "flows = 1000000"),
    "a huge duration": LINK.replace("60s", "1e300s"),
    "a huge rate": LINK.replace("10mbit", "1e308tbit"),
    "endless repeats": `repeat = 4000000000\n${LINK}`,
    "deep brackets": `x = ${"[".repeat(100_000)}`,
    "no experiment": "\u0000\u0001",
    "a bomb": new Uint8Array(50_000_000),
  };
  it("get a message, and the page goes on", { timeout: 60_000 }, async () => {
    const { page } = await open();
    await slide(page, "Speed", 0.2);
    for (const [name, text] of Object.entries(wrong)) {
      await page.evaluate(
        (hash) => {
          location.hash = hash;
        },
        await packed(text),
      );
      const problem = page.locator(".problem");
      await problem.waitFor();
      expect((await problem.innerText()).length, name).toBeGreaterThan(15);
      await page.getByRole("button", { name: "Dismiss" }).click();
      const at = await clock(page);
      await expect.poll(() => clock(page)).not.toBe(at);
    }
    await page.context().close();
  });

  it("are refused when the page opens with one", async () => {
    const { page } = await open(await packed(LINK.replace("flows = 4", "flows = 1000000000")));
    await page.locator(".problem").waitFor();
    await reaches(page, 5.001);
    await page.context().close();
  });

  it("with script in a title show it as text", async () => {
    const title = "<script>window.ran = true</script><img src=x onerror='window.ran = true'>";
    const { page, errors } = await open(await packed(LINK.replace('"x"', JSON.stringify(title))));
    await expect.poll(() => page.locator(".top .title").innerText()).toBe(title);
    expect(await page.evaluate(() => (window as unknown as { ran?: boolean }).ran ?? false)).toBe(false);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it("with a large run stop when one wants", async () => {
    const large = LINK.replace("10mbit", "10gbit").replace("flows = 4", "flows = 1000");
    const { page } = await open(`${await packed(large)}&speed=1000`);
    await page.getByRole("button", { name: "Play" }).click();
    await page.waitForTimeout(500);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Play" }).waitFor({ timeout: 2000 });
    await page.context().close();
  });

  it("that are damaged or ask for nothing known say so", async () => {
    const { page } = await open();
    for (const hash of ["#e=%%%", "#e=AAAA", "#lesson=nothing", "#d=nothing"]) {
      await page.evaluate((to) => {
        location.hash = to;
      }, hash);
      await page.locator(".problem").waitFor();
      await page.getByRole("button", { name: "Dismiss" }).click();
    }
    await page.context().close();
  });
});
