import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FILE, violations, withBrowser } from "./browser";

const { visit } = withBrowser();

const TOKEN = "0123456789abcdef".repeat(2);
const changes: unknown[] = [];
const readers: ServerResponse[] = [];
let server: Server;
let address = "";

/** A state as `aqmkit ctl play` tells it. */
function state(at: number, writable: boolean): string {
  const direction = (name: string, packets: number) => ({
    name,
    discipline: "red",
    parameters: { limit: "100p", min: "5p", max: "15p", weight: 0.002, max_p: 0.1, ecn: false },
    rate: 10_000_000,
    packets,
    bytes: packets * 1500,
    arrived: 1000 * at + 40,
    sent: 1000 * at,
    sent_bytes: 1_000_000 * at,
    dropped: 40,
    marked: 0,
    overrun: name === "down" ? 1234 : 0,
    delay: 0.012,
    delay_p99: 0.03,
    gauges: { avg: 9.5, p: 0.04 },
  });
  const directions = [direction("down", 17), direction("up", 0)];
  return JSON.stringify({ kind: "link", name: "link", at, writable, late: 1e-5, directions });
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://x");
    if (url.pathname === "/") {
      response.setHeader("Content-Type", "text/html; charset=utf-8").end(readFileSync(FILE));
    } else if (url.searchParams.get("token") !== TOKEN) response.writeHead(403).end();
    else if (url.pathname === "/live") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      for (let i = 1; i <= 30; i++) response.write(`data: ${state(i / 10, true)}\n\n`);
      readers.push(response);
    } else {
      let body = "";
      request.on("data", (part) => {
        body += part;
      });
      request.on("end", () => {
        changes.push(JSON.parse(body));
        const wrong = body.includes('"max_p"');
        response.writeHead(wrong ? 400 : 200).end(wrong ? "down: max_p of red cannot be that" : "");
      });
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => server.close());

it("a bottleneck of real packets is shown and changed", { timeout: 40_000 }, async () => {
  const { page, errors } = await visit(`${address}#live=${TOKEN}`);
  await page.getByRole("heading", { name: "down: red" }).waitFor();
  const column = page.locator(".column").first();
  await expect.poll(() => column.innerText()).toContain("17 packets wait, of at most 100");
  expect(await column.innerText()).toContain("8 Mbit/s");
  expect(await column.innerText()).toMatch(/dropped before, machine too slow\s+1,234/);
  expect(await page.locator(".column").nth(1).innerText()).not.toContain("dropped before");
  expect(await violations(page)).toEqual([]);
  await column.getByRole("slider", { name: "Rate" }).fill("200");
  await expect.poll(() => changes).toEqual([{ direction: "down", rate_bps: expect.any(Number) }]);
  // A step of the slider is a fifth of a packet here: an arrow key moves by a whole one.
  await column.getByRole("slider", { name: "max", exact: true }).press("ArrowRight");
  await expect.poll(() => changes.at(-1)).toEqual({ direction: "down", parameters: { max: 16 } });
  await page.setViewportSize({ width: 400, height: 800 });
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  await column.getByLabel("Discipline").selectOption("codel");
  await expect.poll(() => changes.at(-1)).toEqual({ direction: "down", aqm: "codel" });
  const field = page.getByLabel("max_p, exact value").first();
  await field.fill("0.5");
  await field.press("Enter");
  await expect.poll(() => changes.at(-1)).toEqual({ direction: "down", parameters: { max_p: 0.5 } });
  await expect.poll(() => page.locator(".problem").innerText()).toContain("max_p of red cannot be that");
  for (const reader of readers) reader.end("event: end\ndata: nothing named link is running\n\n");
  await expect
    .poll(() => page.getByRole("alert").first().innerText())
    .toContain("nothing named link is running");
  expect(errors.filter((e) => !e.includes("400"))).toEqual([]);
  await page.context().close();
});
