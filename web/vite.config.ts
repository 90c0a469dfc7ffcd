// How the workbench is built: own files only, nothing inline, hashed names.
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "/",
  // No preload helper: it would set no attribute that the policy forbids, but modern browsers need none.
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
  },
  test: { include: ["tests/unit/**/*.test.{ts,tsx}"] },
  worker: { format: "es" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
