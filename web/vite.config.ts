import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { OutputAsset, OutputChunk } from "rolldown";
import { defineConfig, type Plugin } from "vite";
import { sourcesHash } from "./sources";
import { split } from "./split";
import { instantiate } from "./src/simulator/module";

/** The simulator module; make play builds it. */
const MODULE = process.env.AQMKIT_WASM ?? "../target/wasm32-unknown-unknown/wasm/aqmkit_play.wasm";

function sha256(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

function policy(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src ${sha256(script)} 'wasm-unsafe-eval'`,
    `style-src ${sha256(style)}`,
    "worker-src blob:",
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** The experiments of the project. */
const EXPERIMENTS = "../experiments";

/**
 * Compressed by the program xz: a third smaller than with gzip. Without alignment, since neither text nor instructions have one; the bits of the
 * byte before that tell something of a byte are `before`.
 */
function xz(content: Uint8Array | string, before: number): Buffer {
  const filter = `--lzma2=preset=9e,dict=4MiB,lc=${before},pb=0,nice=273`;
  return execFileSync("xz", ["--format=xz", "--check=crc32", filter, "--stdout", "-"], {
    input: content,
    maxBuffer: 1 << 26,
  });
}

/** A data block of the page. */
function block(id: string, content: Uint8Array | string, before: number): string {
  return `<script id="${id}" type="application/x-xz">${xz(content, before).toString("base64url")}</script>`;
}

/**
 * The blocks of the simulator: what a first look runs, and the rest, or all of it in one where the tool to divide it is missing. A site
 * has the rest as a file of its own.
 */
async function simulator(): Promise<string> {
  if (!existsSync(MODULE)) throw new Error(`${MODULE} is missing: make web builds it, or set AQMKIT_WASM`);
  const parts = await split(MODULE);
  if (parts === null) {
    console.warn("wasm-split is missing (Debian package binaryen): the simulator is in one piece");
    return block("simulator", readFileSync(MODULE), 3);
  }
  return `${block("simulator", parts.first, 3)}\n    ${block("rest", parts.rest, 3)}`;
}

/** What the module says of itself (version, simulator and hash of its catalogue), and the hash of the other sources. A test of crates/play
 * compares both with the code. */
async function stamp(): Promise<string> {
  const first = await WebAssembly.compile(readFileSync(MODULE));
  const module = await instantiate({ first, rest: null });
  const { version, simulator, digest } = module.call("catalogue", {});
  return `<meta name="aqmkit" content="${version} ${simulator} ${digest}" />
    <meta name="aqmkit-sources" content="${sourcesHash("../")}" />`;
}

/** The experiments that need no other file, by id. Captures and traces are beside an experiment and not in the page. */
function library(): string {
  const found = readdirSync(EXPERIMENTS, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".toml"))
    .sort();
  const experiments = found.flatMap((name) => {
    const toml = readFileSync(`${EXPERIMENTS}/${name}`, "utf8");
    const needsFile = /^\s*(file|trace|vectors|table)\s*=\s*"|\btrace\s*=\s*"/m.test(toml);
    const sends = /^\[\[traffic\]\]/m.test(toml);
    const title = /^title\s*=\s*"(.*)"/m.exec(toml)?.[1] ?? name;
    return needsFile || !sends ? [] : [{ id: name.slice(0, -5), title, toml }];
  });
  return block("library", JSON.stringify(experiments), 4);
}

/** Makes one file of the page, with a policy that allows this script and this style only. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    apply: "build",
    async generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const page = files.find((f): f is OutputAsset => f.fileName === "index.html");
      const script = files.find((f): f is OutputChunk => f.type === "chunk" && f.isEntry);
      const style = files.find((f): f is OutputAsset => f.fileName.endsWith(".css"));
      if (!page || !script || !style) throw new Error("the bundle has no page, script or style");
      const code = script.code.trim().replace(/<\/(script)/gi, "<\\/$1");
      const css = String(style.source).trim();
      const [made, blocks] = [await stamp(), await simulator()];
      const html = String(page.source)
        .replace(/<script type="module"[^>]*><\/script>/, "")
        .replace(/<link rel="stylesheet"[^>]*>/, "")
        .replace(
          '<meta charset="utf-8" />',
          () =>
            `<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="${policy(code, css)}" />`,
        )
        .replace("</head>", () => `${made}\n    <style>${css}</style>\n  </head>`)
        .replace(
          "</body>",
          () => `${blocks}\n    ${library()}\n    <script type="module">${code}</script>\n  </body>`,
        );
      for (const file of files) delete bundle[file.fileName];
      this.emitFile({ type: "asset", fileName: "play.html", source: html });
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  build: {
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    reportCompressedSize: false,
  },
  worker: { format: "iife" },
  test: { include: ["tests/**/*.test.ts"], environment: "node", testTimeout: 20_000 },
} as Parameters<typeof defineConfig>[0]);
