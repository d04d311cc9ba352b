import { describe, expect, it } from "vitest";
import { fragment, fromBase64Url, LONGEST, pack, read, toBase64Url, unpack } from "../../src/share";

describe("a link", () => {
  it("carries experiments, the speed and the instant", async () => {
    const texts = ['title = "häufig"\n', "b".repeat(5000)];
    const asked = await read(await fragment(texts, 0.5, 12.25));
    expect(asked).toEqual({
      experiments: texts,
      run: 0,
      set: [],
      speed: 0.5,
      at: 12.25,
      lesson: null,
      beside: false,
      disciplines: [],
      cell: null,
    });
  });

  it("chooses a run of an experiment, and changes it", async () => {
    const packed = await pack("title = 1");
    const asked = await read(`#e=${packed}&set=topology.rate%3D3mbit&set=aqm%3Dred%2Bfifo&run=7`);
    expect([asked?.experiments, asked?.run]).toEqual([["title = 1"], 7]);
    expect(asked?.set).toEqual(["topology.rate=3mbit", "aqm=red+fifo"]);
    expect((await read(`#e=${packed}&run=-1`))?.run).toBe(0);
    await expect(read(`#e=${packed}${"&set=a%3D1".repeat(51)}`)).rejects.toThrow("more settings");
  });

  it("names a cell of a published table", async () => {
    const asked = await read(
      "#cell=red-pd/fig11-response&run=2&id=A-1&what=a%20time&published=48.99%20s&stored=48.76%20s&unit=s&repeats=5" +
        "&window=raised&metric=classes.a.b%20%2B%20classes.c.d&seconds=until%20%3C%3D%203&factor=0.001",
    );
    expect(asked?.cell).toEqual({
      experiment: "red-pd/fig11-response",
      run: 2,
      id: "A-1",
      what: "a time",
      published: "48.99 s",
      stored: "48.76 s",
      unit: "s",
      repeats: 5,
      number: { window: "raised", metric: "classes.a.b + classes.c.d", seconds: "until <= 3" },
      factor: 0.001,
    });
    const hostile = await read(`#cell=x&run=-1e99&factor=NaN&repeats=1e309&what=${"a".repeat(9999)}`);
    expect(hostile?.cell).toMatchObject({ run: 0, factor: 1, repeats: 1 });
    expect(hostile?.cell?.what).toHaveLength(300);
  });

  it("names disciplines", async () => {
    expect((await read("#d=red,codel,,pie,fifo"))?.disciplines).toEqual(["red", "codel", "pie"]);
  });

  it("asks for nothing when it is empty", async () => {
    expect(await read("")).toBeNull();
    expect(await read("#x=1")).toBeNull();
  });

  it("has bounds", async () => {
    const bomb = await pack("a".repeat(LONGEST));
    expect(await unpack(bomb)).toHaveLength(LONGEST);
    await expect(unpack("A".repeat(2 * LONGEST + 1))).rejects.toThrow("longer than");
    const many = `#${Array(4).fill(`e=${bomb}`).join("&")}`;
    await expect(read(many)).rejects.toThrow("at most 3");
    const asked = await read(`#e=${bomb}&speed=1e300&at=-5`);
    expect([asked?.speed, asked?.at]).toEqual([1000, null]);
  });

  it("does not inflate without end", async () => {
    const stream = new Blob([new Uint8Array(8 * LONGEST)])
      .stream()
      .pipeThrough(new CompressionStream("deflate-raw"));
    const packed = toBase64Url(new Uint8Array(await new Response(stream).arrayBuffer()));
    await expect(unpack(packed)).rejects.toThrow("is longer than 256 KiB");
  });

  it("says when it is damaged", async () => {
    const whole = await pack("title = 1".repeat(50));
    for (const wrong of [whole.slice(0, -8), "%%%", "AAAA", whole.replace(/.{6}$/, "!!")])
      await expect(unpack(wrong), wrong).rejects.toThrow("damaged");
  });

  it("turns bytes into text and back", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    expect(fromBase64Url(toBase64Url(bytes))).toEqual(bytes);
    expect(toBase64Url(bytes)).toMatch(/^[\w-]+$/);
  });
});
