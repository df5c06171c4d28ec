#!/usr/bin/env node
// A resident handler in Node.js (json protocol): one JSON object a line, both ways.
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
let seen = [];

const hear = {
  start({ key, epoch, checkpoint }) {
    if (checkpoint) seen = JSON.parse(checkpoint);
    console.error(`holding ${key} in epoch ${epoch}, after ${seen.length} messages`);
    say({ type: "ready" });
  },
  notify({ message }) {
    seen.push(message);
    say({ type: "checkpoint", data: JSON.stringify(seen) });
  },
  stop() {
    process.exit(0);
  },
};

process.on("SIGTERM", () => {}); // follows the stop line, which says more
require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const said = JSON.parse(line);
    hear[said.type]?.(said);
  });
