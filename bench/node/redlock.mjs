// SPDX-License-Identifier: Apache-2.0
// node redlock.mjs PORT
//
// The library redlock on one server, asked for rounds by lines (bench/companion.h): "CLIENTS MS",
// answered with pairs a second. Each client has a connection and a lock of its own.
import { createRequire } from "node:module";
import readline from "node:readline";

const port = Number(process.argv[2]);

const require = createRequire(new URL("../../build-node-peers/", import.meta.url));

function load(name) {
  try {
    return require(name);
  } catch {
    console.log(`no: ${name} is not installed (npm, bench/node/package.json)`);
    process.exit(0);
  }
}

const Redis = load("ioredis");
const Redlock = load("redlock");
const clients = [];

function client(number) {
  clients[number] ??= new Redlock([new Redis(port, "127.0.0.1")], { retryCount: 0 });
  return clients[number];
}

async function play(count, ms) {
  const redlocks = Array.from({ length: count }, (_, number) => client(number));
  let done = 0;
  const began = performance.now();
  const until = began + ms;
  await Promise.all(
    redlocks.map(async (redlock, number) => {
      do { // one at least, however short the round
        const lock = await redlock.lock(`redlock${number}`, 60000);
        await lock.unlock();
        done++;
      } while (performance.now() < until);
    }),
  );
  return (done * 1000) / (performance.now() - began);
}

console.log("ready");
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [count, ms] = line.split(" ").map(Number);
  console.log(await play(count, ms));
}
process.exit(0);
