import { signal } from "@preact/signals";
import { theme } from "../draw/colours";

/** The colours of the pictures; they follow the system's choice of light or dark. */
export const colours = signal(theme());

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colours.value = theme();
});
