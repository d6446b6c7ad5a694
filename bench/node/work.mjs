// SPDX-License-Identifier: Apache-2.0
// node work.mjs graphile-worker|pg-boss DIRECTORY
//
// A library's queue in the private server whose socket is in DIRECTORY, asked for rounds by lines
// (bench/companion.h): "WORKERS MS", answered with what was done in a second. Items are added before
// the clock of a round starts; their handlers do nothing.
import { createRequire } from "node:module";
import readline from "node:readline";

const BATCH = 5000; // items added at once
const RATE_MAX = 8000; // of what could be done in a second: so many are added for a round
const LEAST = 100;

const [library, directory] = process.argv.slice(2);
const config = { host: directory, user: "postgres", database: "postgres" };

const require = createRequire(new URL("../../build-node-peers/", import.meta.url));

function load(name) {
  try {
    return require(name);
  } catch {
    console.log(`no: ${name} is not installed (npm, bench/node/package.json)`);
    process.exit(0);
  }
}

async function graphile(pg) {
  const worker = load("graphile-worker");
  const pool = new pg.Pool({ ...config, max: 40 });
  const logger = new worker.Logger(() => () => {});
  await worker.runMigrations({ pgPool: pool, logger });
  return async (workers, ms) => {
    await pool.query("DELETE FROM graphile_worker._private_jobs");
    const count = Math.max(Math.ceil((RATE_MAX * ms) / 1000), LEAST);
    for (let left = count; left > 0; left -= BATCH) {
      await pool.query(
        "SELECT count(graphile_worker.add_job('nothing')) FROM generate_series(1, $1)",
        [Math.min(left, BATCH)],
      );
    }
    let done = 0;
    let first;
    const started = new Promise((resolve) => { first = resolve; });
    const runner = await worker.run({
      pgPool: pool,
      logger,
      concurrency: workers,
      noHandleSignals: true,
      taskList: { nothing: async () => { done++; first(); } },
    });
    await started; // the pool is up: as with the others, that does not count
    const before = done;
    const began = performance.now();
    await new Promise((resolve) => setTimeout(resolve, ms));
    const rate = Math.max(done - before, 1) * 1000 / (performance.now() - began);
    await runner.stop();
    return rate;
  };
}

async function boss(pg) {
  const Boss = load("pg-boss");
  const instance = new Boss({ ...config, max: 20 });
  instance.on("error", () => {});
  await instance.start();
  const pool = new pg.Pool({ ...config, max: 2 });
  return async (workers, ms) => {
    await pool.query("DELETE FROM pgboss.job");
    const jobs = Array.from({ length: Math.max(Math.ceil((RATE_MAX * ms) / 20000), LEAST) }, () => ({ name: "n" }));
    await instance.insert(jobs);
    let done = 0;
    const began = performance.now();
    const until = began + ms;
    await Promise.all(
      Array.from({ length: workers }, async () => {
        while (performance.now() < until) {
          const job = await instance.fetch("n");
          if (job === null) {
            break;
          }
          await instance.complete(job.id);
          done++;
        }
      }),
    );
    return (Math.max(done, 1) * 1000) / (performance.now() - began);
  };
}

const pg = load("pg");
const play = await (library === "pg-boss" ? boss : graphile)(pg);
console.log("ready");
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [workers, ms] = line.split(" ").map(Number);
  console.log(await play(workers, ms));
}
process.exit(0);
