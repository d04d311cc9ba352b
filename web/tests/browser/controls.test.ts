import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { clock, pause, reaches, shown, slide, withBrowser } from "./browser";

const { open } = withBrowser();

const SWEEP = `title = "Two queues"
duration = "20s"
[topology]
rate = "5mbit"
delay = "10ms"
[sweep]
aqm = ["fifo", "red", "codel"]
[[traffic]]
kind = "bulk"
name = "downloads"
flows = 3
`;

describe("playback", () => {
  it("plays, pauses, steps, goes back and changes its speed", async () => {
    const { page, errors } = await open();
    await reaches(page, 0.05);
    await pause(page);
    const at = await clock(page);
    await page.waitForTimeout(200);
    expect(await clock(page)).toBe(at);

    await page.getByRole("button", { name: "One packet" }).click();
    await page.locator(".happened").waitFor();
    expect(await page.locator(".happened").innerText()).toMatch(/^A packet of \d+ bytes of flow \d+ /);
    expect(await clock(page)).toBeGreaterThanOrEqual(at);

    await page.getByRole("button", { name: "Start again" }).click();
    await page.waitForFunction(
      () => Number.parseFloat(document.querySelector(".clock")?.textContent ?? "1") === 0,
    );

    await slide(page, "Speed", 1);
    expect(await page.locator(".speed").innerText()).toContain("1000 × real time");
    await slide(page, "Speed", 0);
    expect(await page.locator(".speed").innerText()).toContain("1/100 of real time");
    await slide(page, "Speed", 0.5);
    await page.getByRole("button", { name: "Play" }).click();
    await reaches(page, 1);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it("goes on to the end, and then tells the digest", async () => {
    const { page } = await open();
    await page.getByRole("button", { name: "Open…" }).click();
    await page.getByLabel("Or paste it").fill(SWEEP.replace(/\[sweep\][^[]*\[[^\]]*\]/, ""));
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await slide(page, "Speed", 0.9);
    const play = page.getByRole("button", { name: "Play" });
    if (await play.isVisible()) await play.click();
    await page.getByText("the end").waitFor();
    expect(await page.locator(".digest code").innerText()).toMatch(/^[0-9a-f]{16,}$/);
    await page.context().close();
  });
});

describe("hands on the link", () => {
  it("change a running simulation", async () => {
    const { page, errors } = await open();
    await reaches(page, 0.05);
    const before = await clock(page);
    for (const label of ["Rate", "Delay, one way", "Downloads"]) {
      const slider = page.getByRole("slider", { name: label, exact: true });
      const was = await slider.getAttribute("aria-valuetext");
      await slide(page, label, 0.4);
      await expect.poll(() => slider.getAttribute("aria-valuetext")).not.toBe(was);
    }
    const typed = page.getByLabel("Rate, exact value");
    await typed.fill("7mbit");
    await typed.press("Enter");
    await expect.poll(() => typed.inputValue()).toBe("7 Mbit/s");
    await typed.fill("fast");
    await typed.press("Enter");
    await page.getByText("A value such as 7 Mbit/s").waitFor();
    await typed.press("Escape");
    await page.getByLabel("Unresponsive blast", { exact: true }).check();
    await slide(page, "Rate of blast", 0.9);
    await expect.poll(async () => (await page.locator(".legend").innerText()).includes("blast")).toBe(true);
    // The simulation went on: none of these began it anew.
    expect(await clock(page)).toBeGreaterThanOrEqual(before);
    await page.getByLabel("Unresponsive blast", { exact: true }).uncheck();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it("set parameters of the discipline, of every kind", async () => {
    const { page, errors } = await open();
    await reaches(page, 0.02);
    await page.getByRole("button", { name: /more parameters/ }).click();
    await slide(page, "max", 0.8);
    const max = page.getByRole("slider", { name: "max", exact: true });
    await expect.poll(() => max.getAttribute("aria-valuetext")).not.toBe("15");
    await page.getByLabel("gentle").check();
    await page.getByLabel("min, exact value").fill("8");
    await page.getByLabel("min, exact value").press("Enter");
    await expect.poll(() => page.getByLabel("min, exact value").inputValue()).toBe("8");
    await page.getByRole("button", { name: "Fewer parameters" }).click();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it("choose the traffic and its congestion control", async () => {
    const { page, errors } = await open();
    await page.getByLabel("Congestion control of downloads").selectOption("reno");
    await expect.poll(() => page.locator(".flows tbody tr").first().innerText()).toContain("reno");
    for (const kind of ["pages", "dash", "call", "voip"])
      await page.getByLabel("Add traffic").selectOption(kind);
    await expect.poll(() => page.locator(".legend li").count()).toBe(6);
    await page.getByRole("button", { name: "Remove viewers" }).click();
    await expect.poll(() => page.locator(".legend li").count()).toBe(5);
    await page.getByLabel("ECN: mark packets").check();
    await slide(page, "Speed", 0.6);
    await expect.poll(() => shown(page, "marked"), { timeout: 15_000 }).toMatch(/[1-9]/);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

describe("disciplines", () => {
  it("run beside each other at the same time", async () => {
    const { page, errors } = await open();
    const beside = page.getByLabel("Another discipline beside");
    await beside.selectOption("fifo");
    await expect.poll(() => page.locator(".column").count()).toBe(2);
    await beside.selectOption("fq-codel");
    await expect.poll(() => page.locator(".column").count()).toBe(3);
    await expect.poll(() => beside.count()).toBe(0);
    await page.getByLabel("Discipline 2").selectOption("codel");
    await expect.poll(() => page.locator(".column").nth(1).getAttribute("aria-label")).toBe("codel");
    await slide(page, "Speed", 0.4);
    await reaches(page, 0.2);
    await page.getByRole("button", { name: "Remove codel" }).click();
    await expect.poll(() => page.locator(".column").count()).toBe(2);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it("all open and run", { timeout: 60_000 }, async () => {
    const { page, errors } = await open();
    await slide(page, "Speed", 0.6);
    const choice = page.getByLabel("Discipline 1");
    const names = await choice
      .locator("option")
      .evaluateAll((all) => all.map((o) => (o as HTMLOptionElement).value));
    expect(names.length).toBeGreaterThanOrEqual(33);
    for (const name of names) {
      await choice.selectOption(name);
      await expect.poll(() => page.locator(".column").getAttribute("aria-label")).toBe(name);
      await reaches(page, 0.1);
      expect(await page.locator(".problem").count(), name).toBe(0);
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

describe("experiments", () => {
  it("are pasted, with their mistakes shown, and runs are chosen", async () => {
    const { page } = await open();
    await page.getByRole("button", { name: "Open…" }).click();
    const text = page.getByLabel("Or paste it");
    await text.fill(SWEEP.replace("flows = 3", "flows = 3\nflosw = 2"));
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await expect.poll(() => page.locator("dialog .problem").innerText()).toMatch(/^Line 12: .*flosw/);
    await text.fill(SWEEP);
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await page.getByLabel(/codel/).check();
    await page.getByRole("button", { name: "Show" }).click();
    await expect.poll(() => page.locator(".column").count()).toBe(2);
    expect(await page.locator(".top .title").innerText()).toBe("Two queues");
    await page.getByRole("button", { name: "Own link" }).click();
    await expect.poll(() => page.locator(".column").count()).toBe(1);
    await page.context().close();
  });

  it("come from files and from the library", async () => {
    const { page } = await open();
    await page.getByRole("button", { name: "Open…" }).click();
    const buffer = Buffer.from(SWEEP.replace(/\[sweep\]\naqm = .*\n/, ""));
    await page.getByLabel("From a file").setInputFiles({ name: "mine.toml", mimeType: "text/plain", buffer });
    await expect.poll(() => page.locator(".top .title").innerText()).toBe("Two queues");
    await page.getByRole("button", { name: "Open…" }).click();
    await page.getByLabel("From the library").selectOption("cbt/blast");
    await page.getByRole("button", { name: "Show" }).click();
    await expect
      .poll(() => page.locator(".top .title").innerText(), { timeout: 15_000 })
      .not.toBe("Two queues");
    await page.context().close();
  });
});

describe("what is shown can be taken away", () => {
  it("as a link that gives the same run, and as an experiment", async () => {
    const { page } = await open();
    await slide(page, "Speed", 0.5);
    await reaches(page, 0.5);
    await slide(page, "Rate", 0.4);
    await slide(page, "max", 0.7);
    await reaches(page, 1);
    await pause(page);
    await page.getByRole("button", { name: "Link and save" }).click();
    const link = await page.getByLabel("A link to what is shown now").inputValue();
    const digest = await page.locator(".taking code").first().innerText();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as experiment" }).click();
    const saved = readFileSync(await (await download).path(), "utf8");
    expect(saved).toContain("[[changes]]");
    await page.keyboard.press("Escape");

    const other = await open(new URL(link).hash);
    await pause(other.page);
    await other.page.getByRole("button", { name: "Link and save" }).click();
    const again = await other.page.locator(".taking code").first().innerText();
    expect(await clock(other.page)).toBe(await clock(page));
    expect(again).toBe(digest);
    await other.page.context().close();
    await page.context().close();
  });
});
