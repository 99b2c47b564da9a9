import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { noOutbound } from '../../../src/host/outbound/config.ts';
import { readServiceConfig, type ServiceFile, type ServiceFlags } from '../../../src/host/service/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-service-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const good: ServiceFile = { listen: '127.0.0.1:7470', metricsListen: null, name: 'gov.local' };

const write = (name: string, text: string, mode = 0o600): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};
function read(members: object | string = {}, flags: ServiceFlags = {}, env = {}) {
  write('service.json', typeof members === 'string' ? members : JSON.stringify({ ...good, ...members }));
  return readServiceConfig(folder, flags, env);
}
const refusal = (...input: Parameters<typeof read>): string => {
  try {
    read(...input);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('expected a refusal');
};

describe('service.json', () => {
  it('service.json is read with its defaults', () => {
    expect(read()).toEqual({
      dataDir: folder,
      listen: { host: '127.0.0.1', port: 7470 },
      metricsListen: null,
      logName: 'gov.local',
      publicUrl: null,
      database: null,
      connections: 8,
      issuer: null,
      billing: null,
      quotas: {
        production: {
          audit_event: null,
          compliance_proof: null,
          risk_decision: null,
          replay_verification: null,
        },
        sandbox: {
          audit_event: 100_000,
          compliance_proof: 1_000,
          risk_decision: 10_000,
          replay_verification: 1_000,
        },
      },
      rates: {
        keyPerSecond: limits.rateKeyPerSecond,
        keyBurst: limits.rateKeyBurst,
        eventsPerSecond: limits.rateEventsPerSecond,
        anonymousPerSecond: limits.rateAnonymousPerSecond,
        authPerMinute: limits.rateAuthPerMinute,
        exportsPerMinute: limits.rateExportsPerMinute,
        sharesPerMinute: limits.rateSharesPerMinute,
      },
      corsOrigins: [],
      trustedProxies: [],
      sessionHours: 12,
      exportHours: limits.exportHours,
      exportsMost: {
        open: limits.exportsOpen,
        kept: limits.exportsKept,
        keptBytes: limits.exportMebibytes * 2 ** 20,
      },
      exportDir: null,
      reporting: { isFor: 'everyone', upgradeUrl: null },
      reportFonts: null,
      returnHosts: [],
      problemBase: null,
      logLevel: 'info',
      memoryMiB: null,
      onLoss: 'record',
      receipts: 'commit',
      targets: [],
      tls: null,
      witnessing: null,
      outbound: noOutbound,
      senders: {},
      scheduling: { hasTimer: true, cronSecret: { isSet: false, matches: expect.any(Function) } },
    });
  });

  it('service.json sets single quotas and rates, and the others keep their defaults', () => {
    const { quotas, rates } = read({
      quotas: { production: { audit_event: 5 }, sandbox: { risk_decision: null } },
      rates: { keyBurst: 0 },
    });
    expect(quotas.production).toMatchObject({ audit_event: 5, compliance_proof: null });
    expect(quotas.sandbox).toMatchObject({ audit_event: 100_000, risk_decision: null });
    expect(rates).toMatchObject({ keyBurst: 0, keyPerSecond: 100 });
  });

  it('service.json with a wrong, missing or unknown member is refused with the file and the place', () => {
    const cases: readonly (readonly [object | string, RegExp])[] = [
      ['{', /service\.json: expected JSON/],
      ['{}', /service\.json \/listen: expected a member listen/],
      [{ typo: 1 }, /service\.json \/typo/],
      [{ name: 'two words' }, /service\.json \/name/],
      [{ name: 'a+b' }, /service\.json \/name/],
      [{ connections: 0 }, /service\.json \/connections/],
      [{ connections: 1001 }, /service\.json \/connections/],
      [{ issuer: { url: 'https://id.example' } }, /service\.json \/issuer\/clientId/],
      [{ quotas: { production: { audit_event: -1 } } }, /\/quotas\/production\/audit_event/],
      [{ quotas: { production: { audits: 1 } } }, /\/quotas\/production\/audits/],
      [{ rates: { keyPerSecond: 1.5 } }, /\/rates\/keyPerSecond/],
      [{ rates: { perSecond: 1 } }, /\/rates\/perSecond/],
      [{ corsOrigins: ['*'] }, /\/corsOrigins\/0/],
      [{ corsOrigins: ['https://a.example/x'] }, /\/corsOrigins: expected an origin without a path/],
      [{ trustedProxies: ['everyone'] }, /\/trustedProxies\/0/],
      [{ trustedProxies: ['10.0.0.0/33'] }, /\/trustedProxies: expected IP addresses or subnets/],
      [{ sessionHours: 0 }, /\/sessionHours/],
      [{ sessionHours: 337 }, /\/sessionHours/],
      [{ returnHosts: ['https://a.example'] }, /\/returnHosts\/0/],
      [{ publicUrl: 'https://a.example/api' }, /service\.json: expected an origin without a path/],
      [{ database: 'mysql://a/b' }, /service\.json: expected a URL such as postgres:/],
      [{ memoryMiB: 127 }, /\/memoryMiB/],
    ];
    for (const [members, expected] of cases) expect(refusal(members), String(expected)).toMatch(expected);
    expect(() => readServiceConfig(join(folder, 'none'), {}, {})).toThrow(/gov service init/);
  });

  it('service.json names CORS origins as browsers send them', () => {
    const corsOrigins = ['https://a.example/', 'https://b.example:8443'];
    expect(read({ corsOrigins }).corsOrigins).toEqual(['https://a.example', 'https://b.example:8443']);
  });

  it('service.json that others may read is refused because it may contain secrets', () => {
    write('service.json', JSON.stringify(good), 0o640);
    expect(() => readServiceConfig(folder, {}, {})).toThrow(/service\.json.*got mode 640; run chmod 600/);
  });

  it('the environment overrides service.json, flags override both, and an error names the layer', () => {
    const env = { GOV_LISTEN: '127.0.0.1:1', GOV_CONNECTIONS: '2', GOV_PUBLIC_URL: 'https://b.example/' };
    expect(read({}, {}, env)).toMatchObject({
      listen: { port: 1 },
      connections: 2,
      publicUrl: 'https://b.example',
      problemBase: 'https://b.example',
    });
    const flags = { listen: '127.0.0.1:3', connections: '4', publicUrl: 'http://127.0.0.1:5' };
    expect(read({ problemBase: 'https://docs.example' }, flags, env)).toMatchObject({
      listen: { port: 3 },
      connections: 4,
      publicUrl: 'http://127.0.0.1:5',
      problemBase: 'https://docs.example',
    });
    expect(refusal({}, { connections: '0' })).toBe('--connections: expected 1 to 1000 connections, got 0');
    expect(refusal({}, {}, { GOV_CONNECTIONS: '1001' })).toMatch(/^GOV_CONNECTIONS: expected 1 to 1000/);
    expect(refusal({}, { publicUrl: 'b.example' })).toMatch(/^--public-url: expected an origin/);
    expect(refusal({}, {}, { GOV_LISTEN: 'x' })).toMatch(/^GOV_LISTEN: /);
    expect(refusal({}, { logLevel: 'loud' })).toMatch(/^--log-level: /);
  });
});

describe('a secret', () => {
  const url = 'postgres://gov:hush@127.0.0.1/gov';
  const database = (...input: Parameters<typeof read>) => read(...input).database;

  it('a secret comes from the environment, its own file, or service.json, in this order', () => {
    const file = write('database', `${url}3\n`);
    expect(database({ database: `${url}1` })).toBe(`${url}1`);
    expect(database({ database: `${url}1` }, {}, { GOV_DATABASE_FILE: file })).toBe(`${url}3`);
    const env = { GOV_DATABASE: `${url}2`, GOV_DATABASE_FILE: file };
    expect(database({ database: `${url}1` }, {}, env)).toBe(`${url}2`);
    expect(database({}, { database: 'postgres://gov@127.0.0.1/gov' }, env)).toBe(
      'postgres://gov@127.0.0.1/gov',
    );
    const billing = { stripeKeyFile: write('stripe', 'sk_1'), baseUrl: 'http://127.0.0.1:1' };
    expect(read({ billing }).billing).toEqual({ stripeKey: 'sk_1', baseUrl: 'http://127.0.0.1:1' });
    expect(read({ billing }, {}, { GOV_STRIPE_KEY: 'sk_2' }).billing?.stripeKey).toBe('sk_2');
    expect(read({}, {}, { GOV_STRIPE_KEY: 'sk_2' }).billing).toEqual({ stripeKey: 'sk_2', baseUrl: null });
  });

  it('a secret in a flag is refused because every user of the machine can list it', () => {
    expect(refusal({}, { database: url })).toMatch(
      /^--database: expected no password, .* put the URL into GOV_DATABASE$/,
    );
  });

  it('a secret in a file that others may read, or that is empty or missing, is refused', () => {
    const env = { GOV_DATABASE_FILE: write('open', url, 0o644) };
    expect(refusal({}, {}, env)).toMatch(/open.*got mode 644/);
    expect(refusal({}, {}, { GOV_DATABASE_FILE: write('empty', '\n') })).toMatch(/empty: expected a secret/);
    expect(refusal({ billing: { stripeKeyFile: join(folder, 'gone') } })).toMatch(/gone.*cannot be read/);
  });

  it('a secret appears in no error message', () => {
    const wrong = 'mysql://gov:hush@127.0.0.1/gov';
    const refusals = [
      refusal({}, {}, { GOV_DATABASE: wrong }),
      refusal({}, {}, { GOV_DATABASE_FILE: write('wrong', wrong) }),
      refusal({ database: wrong }),
      refusal({}, { database: url }),
      refusal({}, {}, { GOV_DATABASE: 'hush' }),
    ];
    for (const message of refusals) expect(message).not.toContain('hush');
  });
});
