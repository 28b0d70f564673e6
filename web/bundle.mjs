// Bundles the modules of pages into djinn_memory/web/static, or into the folder that is named.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";

const here = path.dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? path.join(here, "../djinn_memory/web/static");

await mkdir(target, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { graph: "graph/index.js", pages: "pages/pages.js" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  define: { __THREE_DEVTOOLS__: "undefined" },
});
await build({
  absWorkingDir: here,
  entryPoints: { graph: "graph/graph.css", style: "pages/style.css" },
  outdir: target,
  minify: true,
  target: ["chrome111", "firefox113", "safari16.4"],
});
for (const [name, source] of [["graph", "three"], ["pages", "htmx.org"]]) {
  await copyFile(
    path.join(here, "node_modules", source, "LICENSE"),
    path.join(target, `${name}.LICENSE.txt`),
  );
}
await copyFile(path.join(here, "pages/icon.svg"), path.join(target, "icon.svg"));
