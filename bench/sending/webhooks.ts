/**
 * Benchmark of webhooks: the delay from the log to two quick receivers, alone, beside two other quick ones, and beside one
 * that never answers and one that takes half a second. The second shows what two more receivers cost by themselves. `node bench/sending/webhooks.ts [events]`
 */
import { openOutbound } from '../../src/host/outbound/open.ts';
import { AllowList } from '../../src/host/outbound/allowed.ts';
import { Webhooks } from '../../src/service/webhooks/work.ts';
import type { Services } from '../../src/service/port/services.ts';
import { makeAuthority } from '../../test/support/certificates.ts';
import { startReceiver } from '../../test/support/network/receiver.ts';
import { answered, openPostOffice, projectId } from '../../test/service/webhooks/support/post-office.ts';
import { endpointData, endpointKind } from '../../src/service/webhooks/endpoint.ts';
import { scratch } from '../support/harness.ts';

const events = Number(process.argv[2] ?? 10_000);
const authority = makeAuthority(scratch());
const issued = authority.issue('receiver');

/** Milliseconds from the append to each arrival at the quick receivers: half, 95 % and all of them. */
async function measure(names: readonly string[]): Promise<number[]> {
  const office = await openPostOffice(() => answered(200));
  const delays: number[] = [];
  let began = 0;
  const ports = new Map<string, number>();
  const receivers = await Promise.all(
    names.map(async (name) => {
      const receiver = await startReceiver(issued, (response) => {
        if (name === 'dead') return;
        if (name.startsWith('quick')) delays.push(performance.now() - began);
        setTimeout(() => response.writeHead(204).end(), name === 'slow' ? 500 : 0);
      });
      ports.set(await office.endpoint(name, { events: ['risk.blocked'] }), receiver.port);
      return receiver;
    }),
  );
  for (const stored of await office.store.documents(projectId, { kind: endpointKind }, { limit: 20 })) {
    const { projectId: _, ...save } = stored;
    const url = `https://127.0.0.1:${ports.get(stored.documentId)}/`;
    const data = JSON.stringify({ ...endpointData(stored), url });
    await office.store.saveDocuments(projectId, [{ save: { ...save, data } }]);
  }
  const outbound = openOutbound({
    allowed: new AllowList(['127.0.0.1:*'], 'bench'),
    authorities: authority.cert,
    now: Date.now,
    version: 'bench',
  });
  const webhooks = new Webhooks({ ...office.services, outbound, now: Date.now } as Services);
  began = performance.now();
  for (let made = 0; made < events; made += 500) await office.block(Math.min(500, events - made));
  webhooks.start();
  const wanted = events * names.filter((name) => name.startsWith('quick')).length;
  while (delays.length < wanted) await new Promise((resolve) => setTimeout(resolve, 20));
  for (const receiver of receivers) await receiver.close();
  await webhooks.stop();
  await office.end();
  delays.sort((one, other) => one - other);
  return [0.5, 0.95, 1].map((share) => Math.round(delays[Math.ceil(delays.length * share) - 1] ?? 0));
}

const alone = await measure(['quick1', 'quick2']);
const four = await measure(['quick1', 'quick2', 'other1', 'other2']);
const beside = await measure(['quick1', 'quick2', 'dead', 'slow']);
for (const [at, name] of ['half', '95 %', 'all'].entries()) {
  const [one = 0, other = 0, bad = 0] = [alone[at], four[at], beside[at]];
  const [ofOne, ofFour] = [one, other].map((base) => (bad / base).toFixed(2));
  console.log(
    `${name} of ${events} events: alone ${one} ms, with two more ${other} ms, with a dead and a slow one ${bad} ms: ${ofOne} and ${ofFour} times`,
  );
}
