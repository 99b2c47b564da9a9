/**
 * Contract S7 and S8 for accounts: no secret that people are shown, or show, is stored in clear in a file, a table, a log
 * line, a metric or an error. What is looked for are the secrets as they are and pieces of them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { createLog } from '../../../src/host/process/log.ts';
import { keyDigest } from '../../../src/service/credentials/token-format.ts';
import { engines, startService, type TestService } from '../../support/hosted.ts';
import type { Answer } from '../../support/answer.ts';
import { sessionOf, withCookie } from '../support/accounts.ts';

/** All files below a folder, as they lie there. */
const filesIn = (folder: string): Buffer[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)));

/** Every row of every table, as the superuser sees it; bytes as they are. */
async function tablesOf(url: string): Promise<Buffer[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const found: Buffer[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query(`SELECT * FROM ${name}`);
      for (const value of rows.flatMap((row: object) => Object.values(row))) {
        found.push(Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value)));
      }
    }
    return found;
  } finally {
    await client.end();
  }
}

/** What is kept of a key in clear: its first 13 and last 4 characters. */
const pieces = (secret: string): string[] => [secret, secret.slice(13, 29), secret.slice(-20)];

/** Does everything that shows or takes a secret; answers the secrets and what was answered with an error. */
async function useAll(service: TestService): Promise<{ secrets: string[]; refusals: Answer[] }> {
  const headers = { 'idempotency-key': 'once' };
  const post = (path: string, body: unknown, options: object = {}) =>
    service.call('POST', path, { body, headers, ...options });
  const account = { name: 'Ada', organizationName: 'Analytical Engines' };
  const signUpToken = await service.idToken('ada');
  const signedUp = await post('/auth/signup', account, { key: signUpToken });
  const again = await post('/auth/signup', account, { key: signUpToken });
  expect(again.text).toBe(signedUp.text);
  const idToken = await service.idToken('ada');
  const session = sessionOf(await post('/auth/session', { idToken }));
  const { token } = (await post('/auth/tokens', { idToken })).body;
  const { sandbox, production } = signedUp.body.apiKeys as Record<string, string>;
  for (const options of [withCookie(session), { key: token }, { key: production }, { key: idToken }]) {
    expect((await service.call('GET', '/auth/identity', options)).status).toBe(200);
  }
  const ended = sessionOf(await post('/auth/session', { idToken }));
  await service.call('DELETE', '/auth/session', withCookie(ended));
  const forged = `${idToken.slice(0, -8)}AAAAAAAA`;
  const refusals = [
    await service.call('GET', '/auth/identity', withCookie(ended)),
    await service.call('GET', '/auth/identity', { key: sandbox ?? '' }),
    await service.call('GET', '/auth/identity', { key: forged }),
    await service.call('POST', '/auth/session', { body: { idToken: forged } }),
    await service.call('POST', '/auth/session', { body: { idToken, extra: token } }),
    await service.call('POST', '/auth/signup', { key: idToken, body: account }),
    await service.call('DELETE', '/auth/tokens', { key: production ?? '' }),
    await service.call('GET', `/runs/${production}`, { key: production ?? '' }),
  ];
  const secrets = [sandbox, production, session, ended, token, signUpToken, idToken, forged] as string[];
  return { secrets, refusals };
}

describe.each(engines)('secrets of people on %s', (engine) => {
  it('the service stores no secret of a person in clear text', async () => {
    const lines: string[] = [];
    const log = createLog('debug', (line) => lines.push(line));
    const service = await startService({ engine, log, logLevel: 'debug', metricsListen: '127.0.0.1:0' });
    const { secrets, refusals } = await useAll(service);
    const [, production = '', session = ''] = secrets;
    expect(refusals.map(({ status }) => status)).toEqual([401, 401, 401, 401, 400, 409, 400, 404]);
    const metrics = await (await fetch(String(service.metricsUrl))).text();
    const stored = service.database === null ? [] : await tablesOf(service.database.superuser);
    const running = filesIn(service.dataDir);
    await service.close();
    const places: Record<string, Buffer[]> = {
      'files while it runs': running,
      'files after it': filesIn(service.dataDir),
      tables: stored,
      'log lines': lines.map((line) => Buffer.from(line)),
      metrics: [Buffer.from(metrics)],
      'answers with errors': refusals.map(({ text }) => Buffer.from(text)),
    };
    const found: string[] = [];
    for (const [place, all] of Object.entries(places)) {
      for (const piece of new Set(secrets.flatMap(pieces))) {
        if (all.some((bytes) => bytes.includes(piece))) found.push(`${place}: ${piece}`);
      }
    }
    expect(found).toEqual([]);
    // what is looked for is found where it is: the places are those where such things are kept
    const kept = [...running, ...stored];
    for (const known of ['Analytical Engines', production.slice(0, 13), keyDigest(session)]) {
      expect(kept.some((bytes) => bytes.includes(known))).toBe(true);
    }
    expect(lines.length).toBeGreaterThan(secrets.length);
    await service.end();
  });
});
