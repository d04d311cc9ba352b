/**
 * The hash of what the page is made of apart from its module: the files of sources.json, from the root of the repository on, and those in its
 * directories with one of its endings. crates/play/tests/page.rs computes it again, and fails when the page is older.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";

const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;

/** The 64-bit FNV hash of all paths and texts, with the line ends of Unix. `root` ends with a slash. */
export function sourcesHash(root: string): string {
  const list: { sources: string[]; endings: string[] } = JSON.parse(
    readFileSync(`${root}web/sources.json`, "utf8"),
  );
  const files = list.sources.flatMap((path) => {
    if (!statSync(root + path).isDirectory()) return [path];
    const below = readdirSync(root + path, { recursive: true, encoding: "utf8" });
    const counted = below.filter((name) => list.endings.some((ending) => name.endsWith(`.${ending}`)));
    return counted.map((name) => `${path}/${name.replaceAll("\\", "/")}`);
  });
  let hash = OFFSET;
  const add = (bytes: Uint8Array) => {
    for (const byte of bytes) if (byte !== 13) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  };
  for (const path of files.sort()) {
    add(new TextEncoder().encode(`${path}\n`));
    add(readFileSync(root + path));
  }
  return hash.toString(16).padStart(16, "0");
}
