/** A plane as a process of its own, for tests of signals and faults: `node test/plane/process.ts DIR`. */
import { planeServe } from '../../plane/serve.ts';

const [dataDir = ''] = process.argv.slice(2);
const plane = await planeServe({ dataDir, env: {} });
process.stdout.write(`${plane.baseUrl}\n`);
process.exitCode = await plane.untilStopped();
