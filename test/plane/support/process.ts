/** A plane as a process of its own, for tests of signals and faults: `node test/plane/support/process.ts DIR`. */
import { planeServe } from '../../../plane/serve/start.ts';

const [dataDir = ''] = process.argv.slice(2);
const plane = await planeServe({ dataDir, env: {} });
process.stdout.write(`${plane.baseUrl}\n`);
process.exitCode = await plane.untilStopped();
