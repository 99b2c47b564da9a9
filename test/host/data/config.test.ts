import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { readPlaneConfig, settingsOf } from '../../../src/host/data/config.ts';
import type { ServingFlags } from '../../../src/host/serving/config.ts';
import { parseAddress } from '../../../src/host/config/layers.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const good = {
  listen: '127.0.0.1:7460',
  metricsListen: null,
  projectId: 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz',
  organizationId: 'org_01jzzzzzzzzzzzzzzzzzzzzzzz',
  environment: 'sandbox',
  origin: 'gov.local/x/audit',
  meteringOrigin: 'gov.local/x/metering/0',
};
const read = (file: unknown, flags: ServingFlags = {}, env = {}) => {
  writeFileSync(join(folder, 'plane.json'), typeof file === 'string' ? file : JSON.stringify(file));
  return readPlaneConfig(folder, flags, env);
};

describe('plane.json', () => {
  it('plane.json is read with its defaults', () => {
    expect(read(good)).toMatchObject({
      listen: { host: '127.0.0.1', port: 7460 },
      metricsListen: null,
      logLevel: 'info',
      environment: 'sandbox',
    });
  });

  it('a missing plane.json leads to gov plane init, an unreadable one to its owner', () => {
    expect(() => readPlaneConfig(join(folder, 'none'), {}, {})).toThrow(/make one with gov plane init/);
    const path = join(folder, 'plane.json');
    read(good);
    chmodSync(folder, 0o755);
    chmodSync(path, 0);
    const [rootId, nobody] = [0, 65534];
    // root may read every file
    const isRoot = process.geteuid?.() === rootId;
    if (isRoot) process.seteuid?.(nobody);
    try {
      expect(() => readPlaneConfig(folder, {}, {})).toThrow(
        `cannot read ${path}: this user may not read it; run as its owner`,
      );
    } finally {
      if (isRoot) process.seteuid?.(rootId);
      rmSync(path);
    }
  });

  it('plane.json with a wrong, missing or unknown member is refused with the file and the place', () => {
    const { listen: _listen, ...rest } = good;
    expect(() => read(rest)).toThrow(/plane\.json \/listen: expected a member listen/);
    expect(() => read({ ...good, typo: 1 })).toThrow(/plane\.json \/typo/);
    expect(() => read({ ...good, environment: 'test' })).toThrow(
      /\/environment: expected one of production, sandbox/,
    );
    expect(() => read({ ...good, memoryMiB: 1.5 })).toThrow(/\/memoryMiB: expected an integer/);
    expect(() => read({ ...good, projectId: 'prj_1' })).toThrow(/\/projectId/);
    expect(() => read('{')).toThrow(/plane\.json: expected JSON/);
    expect(() => read({ ...good, listen: 'x' })).toThrow(/plane\.json: expected host:port/);
  });

  it('plane.json sets how long bodies are kept, erasure rules and the pointers to subjects', () => {
    expect(settingsOf(read(good))).toEqual({
      retentionDays: null,
      legalHold: false,
      requireTwoPersonErasure: false,
      subjectPointers: [],
      contentCapture: 'hashes',
    });
    const subjectPointers = ['/actor/id', '/arguments/customer'];
    const set = { retentionDays: 1, legalHold: true, requireTwoPersonErasure: true, subjectPointers };
    expect(settingsOf(read({ ...good, ...set, contentCapture: 'none' }))).toEqual({
      ...set,
      contentCapture: 'none',
    });
    expect(() => read({ ...good, contentCapture: 'some' })).toThrow(/\/contentCapture: expected one of none/);
    const kept = (retentionDays: number) =>
      settingsOf(read({ ...good, environment: 'production', retentionDays })).retentionDays;
    expect(kept(limits.retentionDaysProduction)).toBe(183);
    expect(() => kept(limits.retentionDaysProduction - 1)).toThrow(
      /retentionDays: expected at least 183 days/,
    );
    expect(read({ ...good, retentionDays: limits.retentionDays }).retentionDays).toBe(36_500);
    for (const retentionDays of [0, limits.retentionDays + 1, 1.5, '30'])
      expect(() => read({ ...good, retentionDays })).toThrow(/\/retentionDays/);
    const pointers = (count: number) => Array.from({ length: count }, (_, at) => `/metadata/k${at}`);
    const most = pointers(limits.subjectPointers);
    expect(read({ ...good, subjectPointers: most }).subjectPointers).toEqual(most);
    for (const subjectPointers of [pointers(limits.subjectPointers + 1), ['/runId'], ['actor'], '/actor'])
      expect(() => read({ ...good, subjectPointers })).toThrow(/\/subjectPointers/);
  });

  it('the environment overrides plane.json, flags override both, and an error names the layer', () => {
    expect(read(good, {}, { GOV_METRICS_LISTEN: '127.0.0.1:1' }).metricsListen?.port).toBe(1);
    expect(
      read(good, { metricsListen: 'off' }, { GOV_METRICS_LISTEN: '127.0.0.1:1' }).metricsListen,
    ).toBeNull();
    expect(read(good, {}, { GOV_LOG_LEVEL: '' }).logLevel).toBe('info');
    expect(() => read(good, {}, { GOV_LOG_LEVEL: 'loud' })).toThrow(/^GOV_LOG_LEVEL: expected one of/);
    expect(() => read(good, { metricsListen: 'x' })).toThrow(/^--metrics-listen: expected host:port/);
    expect(() => read(good, {}, { GOV_LISTEN: '1' })).toThrow(/^GOV_LISTEN: /);
  });
});

describe('an address', () => {
  const parse = (value: string) => parseAddress({ value, from: 'x' });

  it('an address is host:port, with brackets around IPv6', () => {
    expect(parse('localhost:80')).toEqual({ host: 'localhost', port: 80 });
    expect(parse('[::1]:0')).toEqual({ host: '::1', port: 0 });
    for (const text of ['', ':80', '80', 'a:b', 'a:65536', '::1:80', 'a b:80', 'http://a:80', 'a:80/']) {
      expect(() => parse(text), text).toThrow(/^x: expected host:port/);
    }
  });
});
