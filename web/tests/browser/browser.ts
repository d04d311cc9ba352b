import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";

/** The page that is tested: a build, or the committed one. */
export const FILE =
  process.env.AQMKIT_PAGE ?? fileURLToPath(new URL("../../../crates/lab/assets/play.html", import.meta.url));
export const ADDRESS = `file://${FILE}`;

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** A browser for the tests of a file. */
export function withBrowser() {
  let browser: Browser;
  beforeAll(async () => {
    const executablePath = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
    if (!executablePath) throw new Error("no Chromium was found: set CHROMIUM to its path");
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  });
  afterAll(() => browser.close());

  /** An address, with a list of everything that its page complained of. */
  async function visit(
    address: string,
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; errors: string[] }> {
    const context = await browser.newContext({ viewport: { width: 1300, height: 1000 }, ...options });
    context.setDefaultTimeout(10_000);
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (e) => errors.push(e.message));
    page.on("console", (m) => {
      if (m.type() === "error" || m.type() === "warning") errors.push(m.text());
    });
    await page.goto(address);
    return { page, errors };
  }

  /** The page with this fragment, once its runs are open. */
  async function open(
    hash = "",
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; errors: string[] }> {
    const visited = await visit(ADDRESS + hash, options);
    await visited.page.waitForFunction(() => Number(document.documentElement.dataset.ready) > 0);
    return visited;
  }

  return { open, visit };
}

/** The simulated time that the page shows, s. */
export async function clock(page: Page): Promise<number> {
  return Number.parseFloat(await page.locator(".clock").innerText());
}

/** Waits until the simulation has come so far. */
export async function reaches(page: Page, seconds: number): Promise<void> {
  await page.waitForFunction(
    (s) => Number.parseFloat(document.querySelector(".clock")?.textContent ?? "") >= s,
    seconds,
  );
}

/** Moves a slider to a part of its way. */
export async function slide(page: Page, label: string, part: number): Promise<void> {
  await page.getByRole("slider", { name: label, exact: true }).fill(String(Math.round(part * 400)));
}

export async function pause(page: Page): Promise<void> {
  const button = page.getByRole("button", { name: "Pause" });
  if (await button.isVisible()) await button.click();
  // The slice of the run that the worker has begun still comes.
  let before = Number.NaN;
  for (let at = await clock(page); at !== before; at = await clock(page)) {
    before = at;
    await page.waitForTimeout(50);
  }
}

/** A number beside the picture of a column. */
export async function shown(page: Page, name: string, column = 0): Promise<string> {
  const numbers = page.locator(".column").nth(column).locator(".numbers > div");
  return numbers
    .filter({ has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) })
    .locator("dd")
    .innerText();
}

export const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** What a check for accessibility finds wrong. */
export async function violations(page: Page, part = "html"): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async (within) => {
    const axe = (
      window as unknown as {
        axe: { run: (where: string, what: object) => Promise<{ violations: Violation[] }> };
      }
    ).axe;
    interface Violation {
      id: string;
      nodes: { html: string }[];
    }
    const found = await axe.run(within, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
    });
    return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`);
  }, part);
}
