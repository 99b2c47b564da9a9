/**
 * The builds for runtimes without Node run in the Edge Runtime, which has web APIs only: the client against a real server,
 * and the verifier over files with proofs.
 */
import { EdgeVM } from '@edge-runtime/vm';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { logSigner, sample, bytesOf } from '../../core/proofs/log.ts';
import { projectRoot } from '../../paths.ts';
import { json, problem, startServer, type TestServer } from '../server.ts';

const dist = (name: string): string => join(projectRoot, 'dist', name);

/** The built file with its chunks as one script that sets `gov`. */
async function script(file: string): Promise<string> {
  const bundler = await rolldown({ input: dist(file), platform: 'neutral' });
  const { output } = await bundler.generate({ format: 'iife', name: 'gov', exports: 'named' });
  await bundler.close();
  expect(output).toHaveLength(1);
  return output[0].code;
}

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

it('the builds for other runtimes name no module of Node, and no global of Node', () => {
  for (const file of ['client-web.js', 'verify-web.js']) {
    const text = readFileSync(dist(file), 'utf8');
    expect(text).not.toMatch(/["'`]node:|\brequire\(|\bprocess\.(?!env)/);
  }
});

describe('the client in an edge runtime', () => {
  const run = async <Value>(code: string): Promise<Value> => {
    const vm = new EdgeVM();
    expect(vm.evaluate('typeof process + typeof Buffer + typeof require')).toBe(
      'undefinedundefinedundefined',
    );
    vm.evaluate(await script('client-web.js'));
    return vm.evaluate(
      `(async () => { const client = gov.createClient({ baseUrl: '${server.baseUrl}', apiKey: 'k', retries: 1 }); ${code} })()`,
    ) as Promise<Value>;
  };

  it('sends a call with its key and idempotency key, and returns the answer', async () => {
    server.handle = (_seen, response) => json(response, 201, { eventId: 'evt_1', runId: 'r' });
    const body = `{ runId: 'r', eventType: 'a', actor: 'b', action: 'c', timestamp: '2026-01-01T00:00:00Z' }`;
    const answer = await run(`return JSON.stringify(await client.createEvent({ body: ${body} }))`);
    expect(JSON.parse(answer as string)).toMatchObject({ status: 201, body: { eventId: 'evt_1' } });
    const { headers, body: sent } = server.seen.at(-1)!;
    expect(headers).toMatchObject({
      authorization: 'Bearer k',
      'content-type': 'application/json',
      'idempotency-key': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(JSON.parse(sent)).toMatchObject({ runId: 'r' });
  });

  it('retries, then throws the error of the status', async () => {
    server.seen.length = 0;
    server.handle = (_seen, response) => problem(response, 'OVERLOADED', 503);
    const seen = await run<string>(
      `try { await client.listRuns(); } catch (error) { return [error.name, error.code, error instanceof gov.GovServerError, error instanceof gov.GovError].join() }`,
    );
    expect(seen).toBe('GovServerError,OVERLOADED,true,true');
    expect(server.seen).toHaveLength(2);
  });

  it('ends at its time limit and at the signal of the caller', async () => {
    server.handle = () => {};
    const timeout = `await client.getHealth({ timeoutMs: 20 }).catch((error) => error.name)`;
    expect(await run(`return ${timeout}`)).toBe('GovTimeoutError');
    const aborted = `const stop = new AbortController(); setTimeout(() => stop.abort(new Error('mine')), 20); return await client.getHealth({ signal: stop.signal }).catch((error) => error.message)`;
    expect(await run(aborted)).toBe('mine');
  });

  it('refuses a redirect, which could carry the key to another host', async () => {
    server.handle = (_seen, response) => response.writeHead(302, { location: '/elsewhere' }).end();
    server.seen.length = 0;
    await run(`return await client.getHealth().catch((error) => error.name)`);
    expect(server.seen.some(({ url }) => url === '/elsewhere')).toBe(false);
  });

  it('reads a list page by page as an async iterator', async () => {
    server.handle = ({ url }, response) =>
      json(
        response,
        200,
        url.includes('cursor') ? { data: [3], nextCursor: null } : { data: [1, 2], nextCursor: 'c' },
      );
    const all = `const all = []; for await (const each of gov.paginate(client.listRuns, {})) all.push(each); return all.join()`;
    expect(await run(all)).toBe('1,2,3');
  });

  it('keeps records of namespaces in memory, and seals secrets', async () => {
    const kept = `const { id, data } = await client.secrets.create({ token: 's' });
      return data.token.redacted && (await client.secrets.update(id, { token: null })).version`;
    expect(await run(kept)).toBe(2);
  });

  it('records events in the background', async () => {
    server.handle = ({ body }, response) =>
      json(response, 201, {
        results: JSON.parse(body).events.map(() => ({ eventId: 'evt_1', status: 'accepted' })),
      });
    const recorded = `const events = await gov.EventRecorder.open(client); events.record({ runId: 'r' });
      return (await events.close()).sent`;
    expect(await run(recorded)).toBe(1);
  });

  it.each([
    [
      'the option spool',
      "await gov.EventRecorder.open(client, { spool: 'x' })",
      'expected Node for the option spool',
    ],
    ['sqliteStore', "await gov.sqliteStore('x')", 'expected Node for sqliteStore'],
    ['live events', 'await gov.tailEvents(client, {}).next()', 'expected Node for live events'],
    ['the option ca', "gov.createClient({ baseUrl: 'http://x', ca: [] })", 'expected Node for the option ca'],
  ])('refuses what needs Node, and says so: %s', async (_, code, message) => {
    expect(await run(`try { ${code} } catch (error) { return error.message }`)).toContain(message);
  });
});

it('the verifier in an edge runtime verifies a proof and refuses a changed copy', async () => {
  const vm = new EdgeVM();
  vm.evaluate(await script('verify-web.js'));
  const text = bytesOf(sample()).toString();
  const judge = (bundle: string): Promise<string> =>
    vm.evaluate(
      `gov.verify(${JSON.stringify(bundle)}, { trust: gov.readTrust(${JSON.stringify(logSigner.verifierKey)}) }).then(({ verified, code }) => verified + ' ' + code)`,
    ) as Promise<string>;
  expect(await judge(text)).toBe('true null');
  expect(await judge(text.replace('run-1', 'run-2'))).toMatch(/^false /);
});
