/** A report of the command opens its runs, from a file and without a network. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { clock, reaches, violations, withBrowser } from "./browser";

const { visit } = withBrowser();

const EXPERIMENT = `title = "Tiny"
duration = "2s"
warmup = "1s"
repeat = 2
[topology]
rate = "2mbit"
delays = "20ms"
[sweep]
aqm = ["fifo", { name = "red", min = 5, max = 15 }]
[[traffic]]
kind = "bulk"
flows = 3
`;

const PLACES = ["release", "debug"].map((p) =>
  fileURLToPath(new URL(`../../../target/${p}/aqmkit`, import.meta.url)),
);
const AQMKIT = process.env.AQMKIT ?? PLACES.find((place) => existsSync(place));

it.skipIf(!AQMKIT)("with the page inside, or beside", { timeout: 120_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), "aqmkit-"));
  const run = (...command: string[]) => execFileSync(AQMKIT ?? "", command, { cwd: dir, encoding: "utf8" });
  writeFileSync(join(dir, "tiny.toml"), EXPERIMENT);
  const told = run("run", "tiny.toml", "--digests");
  const report = join(dir, "results", "tiny", "report.html");
  for (const place of ["inside", "beside"]) {
    if (place === "beside") run("report", "results/tiny", "--page-beside");
    const { page, errors } = await visit(`file://${report}`, { offline: true });
    const chooser = page.locator("#player");
    await chooser.getByLabel("Combination").selectOption("aqm red");
    await chooser.getByLabel("Repetition").selectOption({ index: 1 });
    const seed = /seed (\d+)/.exec(await chooser.getByLabel("Repetition").innerText())?.[1];
    expect(await violations(page, "#player")).toEqual([]);
    const opening = page.context().waitForEvent("page");
    await chooser.getByRole("link", { name: "Open the run" }).click();
    const player = await opening;
    player.on("pageerror", (e) => errors.push(e.message));
    await player.getByRole("button", { name: "Start the run" }).waitFor();
    expect(player.url()).toMatch(place === "inside" ? /^blob:/ : /play\.html#e=.*&run=3$/);
    expect(await player.locator(".column").getAttribute("aria-label")).toBe("red");
    expect(await clock(player)).toBe(-1);
    await player.getByRole("slider", { name: "Speed" }).fill("400");
    await player.getByRole("button", { name: "Start the run" }).click();
    await reaches(player, 2);
    const digest = await player.locator(".digest code").innerText();
    expect(told, `seed ${seed}`).toContain(digest);
    await player.getByRole("button", { name: "Link and save" }).click();
    const link = await player.getByLabel("A link to what is shown now").inputValue();
    expect(link).toMatch(place === "inside" ? /^play\.html#e=/ : /^file:.*play\.html#e=/);
    expect(errors).toEqual([]);
    await page.context().close();
  }
  expect(readFileSync(report, "utf8").length).toBeLessThan(1_000_000);
});
