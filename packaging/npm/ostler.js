#!/usr/bin/env node
// Starts the program that the package for this system brings. It downloads nothing.
"use strict";

const { spawn } = require("node:child_process");
const path = require("node:path");

const name = `@ostler/${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "ostler.exe" : "ostler";

let program;
try {
  program = path.join(path.dirname(require.resolve(`${name}/package.json`)), "bin", file);
} catch {
  console.error(
    `ostler: there is no program for ${process.platform} ${process.arch} here (${name}).\n` +
      "If it was left out, install without --omit=optional; else build it from source.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends its signals to both; others come here alone and are passed on.
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
process.on("SIGINT", () => {});
child.on("error", (error) => {
  console.error(`ostler: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code ?? 1);
  }
});
