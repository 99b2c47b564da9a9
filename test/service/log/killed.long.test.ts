/** S31: what is asked again after kill -9 has one effect and is counted once. */
import { describe, expect, it } from 'vitest';
import { engines, startService } from '../../support/hosted.ts';
import { serveProcess, type ServingProcess } from '../../support/process.ts';
import { event, send } from '../../support/serving.ts';

const rounds = 2;
const writers = 8;

/** Under its key, a request has at most one answer that was acknowledged. */
type Acknowledged = Map<string, string>;

/** Asks until the process is gone; answers the keys that were sent. */
async function writeUntilKilled(
  { child, baseUrl, ended }: ServingProcess,
  of: { key: string; round: number; acknowledged: Acknowledged },
): Promise<string[]> {
  const sent: string[] = [];
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; ; n++) {
      const name = `${of.round}-${writer}-${n}`;
      sent.push(name);
      // the connection ends with the process
      const answer = await ask(baseUrl, of.key, name).catch(() => null);
      if (answer === null) return;
      if (answer.status !== 201) throw new Error(answer.text);
      of.acknowledged.set(name, answer.text);
      if (of.acknowledged.size % 60 === 0) child.kill('SIGKILL');
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  await ended;
  return sent;
}

const ask = (baseUrl: string, key: string, name: string) =>
  send('POST', `${baseUrl}/events`, {
    key,
    body: event({ runId: 'killed', metadata: { name } }),
    headers: { 'idempotency-key': name },
  });

describe.each(engines)('a service on %s that is killed again and again', (engine) => {
  it(
    'a service that is killed repeatedly has each request once that was repeated until it was answered',
    { timeout: 120_000 },
    async () => {
      const service = await startService({ engine });
      const { keys } = await service.signUp('Ann');
      const key = keys.production;
      await service.close();
      const acknowledged: Acknowledged = new Map();
      const sent: string[] = [];
      for (let round = 0; round < rounds; round++) {
        const serving = await serveProcess('service', service.dataDir);
        sent.push(...(await writeUntilKilled(serving, { key, round, acknowledged })));
      }
      const { child, baseUrl, ended } = await serveProcess('service', service.dataDir);
      let repeated = 0;
      for (const name of sent) {
        const answer = await ask(baseUrl, key, name);
        expect(answer.status).toBe(201);
        const before = acknowledged.get(name);
        if (before !== undefined) expect(answer.text).toBe(before);
        repeated += answer.headers['idempotent-replayed'] === 'true' ? 1 : 0;
      }
      const get = async (path: string) => (await send('GET', `${baseUrl}${path}`, { key })).body;
      expect((await get('/events/count?runId=killed')).count).toBe(sent.length);
      const [events] = (await get('/metering/usage')).items;
      expect(events).toMatchObject({ type: 'audit_event', used: sent.length });
      expect(repeated).toBeGreaterThanOrEqual(acknowledged.size);
      expect(acknowledged.size).toBeGreaterThanOrEqual(rounds * 60 - writers);
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
      await service.end();
    },
  );
});
