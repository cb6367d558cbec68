// One file, since VS Code loads it when a session begins. What is in it goes to
// ../build/vscode-bundle.json, for the bill of materials.
import { mkdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const { metafile } = await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
  minify: true,
  legalComments: "none",
  metafile: true,
});
mkdirSync("../build", { recursive: true });
writeFileSync("../build/vscode-bundle.json", JSON.stringify(metafile, null, 1) + "\n");
