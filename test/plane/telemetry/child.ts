/**
 * A plane with telemetry as a process of its own that is killed at any time: records an event, looks, and moves its clock
 * on by an hour, again and again. Says its time before each look and waits to be told to go on, so that the service can
 * have the same time. `node test/plane/telemetry/child.ts DIR MS`.
 */
import { createInterface } from 'node:readline';
import { openTelemetryPlane } from '../support/enrolled.ts';

const [dataDir = '', start = ''] = process.argv.slice(2);
let ms = Number(start);
const plane = openTelemetryPlane(dataDir, { now: () => ms });
const say = (): boolean => process.stdout.write(`${ms}\n`);
say();
for await (const _ of createInterface({ input: process.stdin })) {
  await plane.record(1);
  await plane.telemetry.look();
  ms += 3_600_000;
  say();
}
