/** The page as a site has it: a part of the simulator is a file of its own. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { UNCOMMON } from "../experiments";
import { tell } from "../tell";
import { FILE, reaches, withBrowser } from "./browser";

const { visit } = withBrowser();

/** What may come over the wire until a queue moves, in bytes. */
const MOST_ON_THE_WIRE = 560_000;
const REST = "/play-rest.wasm";

const files = new Map<string, Buffer>();
let server: Server;
let address = "";
/** What was asked for since the page was opened, with the bytes of the answers. */
let sent: [path: string, bytes: number][] = [];
let broken = false;

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), "aqmkit-site-"));
  execFileSync(new URL("../../../scripts/site-page", import.meta.url).pathname, [FILE, directory]);
  for (const name of ["play.html", "play-rest.wasm"])
    files.set(`/${name}`, gzipSync(readFileSync(join(directory, name))));
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://x");
    const file = files.get(pathname);
    if (!file || (broken && pathname === REST)) return response.writeHead(404).end();
    sent.push([pathname, file.length]);
    const type = pathname.endsWith(".wasm") ? "application/wasm" : "text/html; charset=utf-8";
    return response.writeHead(200, { "Content-Type": type, "Content-Encoding": "gzip" }).end(file);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/play.html`;
});
afterAll(() => server.close());

/** Opens the page at a site, and an experiment in it. */
async function opened(hash = "", experiment = "") {
  sent = [];
  const visited = await visit(address + hash);
  const { page } = visited;
  await reaches(page, 5.0001);
  if (experiment) {
    await page.getByRole("button", { name: "Open…" }).click();
    await page.getByLabel("Or paste it").fill(experiment);
    await page.getByRole("button", { name: "Open", exact: true }).click();
  }
  return visited;
}

for (const hash of ["", "#d=codel", "#d=dualpi2,cake", "#lesson=red-pd"])
  it(`a queue moves before 560 kB have come ${hash}`, { timeout: 40_000 }, async () => {
    const { page, errors } = await opened(hash);
    const bytes = sent.reduce((sum, [, length]) => sum + length, 0);
    tell(`${hash || "the page"} at a site: ${bytes} bytes until a queue moves`);
    expect(sent.map(([path]) => path)).toEqual(["/play.html"]);
    expect(bytes).toBeLessThan(MOST_ON_THE_WIRE);
    expect(errors).toEqual([]);
    await page.context().close();
  });

it("what needs the rest of the simulator loads it, once", { timeout: 40_000 }, async () => {
  const { page, errors } = await opened("", UNCOMMON);
  await page.locator(".top .title", { hasText: /^x$/ }).waitFor();
  await reaches(page, 0.1);
  expect(sent.filter(([path]) => path === REST).length).toBe(1);
  expect(errors).toEqual([]);
  await page.context().close();
});

it("without the rest the page says what to do", { timeout: 40_000 }, async () => {
  broken = true;
  const { page } = await opened("", UNCOMMON);
  await expect
    .poll(() => page.locator(".problem, dialog[open] .problem").first().innerText())
    .toContain("could not be loaded: reload the page when there is a connection");
  broken = false;
  await page.context().close();
});
