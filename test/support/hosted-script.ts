/** A hosted service as a process of its own, for tests that kill it: `node test/support/hosted-script.ts DIR`. */
import { serviceServe } from '../../src/host/service/serve.ts';

const [dataDir = ''] = process.argv.slice(2);
const service = await serviceServe({ dataDir, env: {} });
process.stdout.write(`${service.baseUrl}\n`);
process.exitCode = await service.untilStopped();
