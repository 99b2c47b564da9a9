/**
 * The whole life of a plane that never has a route: made, enrolled by file, written to, reported by file, asked and answered
 * by file, in a network namespace of its own, with every connect(2) watched. What is carried between it and a real service
 * are files; an operator at the service takes them in with the command line, as docs/how-to/report-to-a-service.md says.
 */
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Account } from '../cli/support/account.ts';
import { emptyDirectory } from '../cli/support/tool.ts';
import { startService, type Tenant, type TestService } from '../support/hosted.ts';
import { event } from '../support/serving.ts';
import {
  makeLine,
  noNamespace,
  noTrace,
  run,
  served,
  serveLines,
  stopLine,
  title,
} from './support/isolated.ts';

const life = `
gov plane enroll --request request.json --token-file ward.token
gov plane doctor > before.txt || true
carry request.json
gov plane enroll --answer answer.json
gov events push more.ndjson
gov proofs create --run more
gov plane usage export -O usage.ndjson
carry usage.ndjson
gov plane usage receipts receipts.ndjson
gov plane usage export -O answers.ndjson
carry answers.ndjson
gov plane usage receipts receipts.ndjson
gov plane status > status.txt
gov plane doctor > doctor.txt || true
gov plane telemetry send 2> send.txt || echo "send ended with $?"
`;

describe.skipIf(noNamespace !== null)(title('a plane that never has a route', noNamespace), () => {
  let folder: string;
  let service: TestService;
  let tenant: Tenant;
  let operator: Account;
  beforeEach(async () => {
    folder = emptyDirectory();
    service = await startService();
    tenant = await service.signUp('ada');
    operator = new Account();
    const login = [
      'auth',
      'login',
      '--api-key-stdin',
      '--base-url',
      `${service.origin}/api/v1`,
      '-C',
      'acme',
    ];
    expect((await operator.gov(login, { input: tenant.keys.production })).code).toBe(0);
  }, 60_000);
  afterEach(async () => {
    await service.end();
    for (const each of [folder, operator.folder]) rmSync(each, { recursive: true, force: true });
  });

  it(
    'a plane without a route is enrolled, reports, answers a challenge and is billed by file',
    { timeout: 120_000 },
    async () => {
      const events = Array.from({ length: 20 }, (_, number) =>
        event({ runId: 'more', metadata: { number } }),
      );
      writeFileSync(join(folder, 'more.ndjson'), events.map((each) => JSON.stringify(each)).join('\n'));
      const made = await operator.json(['planes', 'create', 'ward-9', '--out', 'ward.token']);
      const { dataPlaneId } = made.dataPlane;
      copyFileSync(join(operator.folder, 'ward.token'), join(folder, 'ward.token'));
      const token = readFileSync(join(folder, 'ward.token'), 'utf8').trim();
      const carried: string[] = [];
      const bring = (file: string, from: string, to: string): void => {
        carried.push(readFileSync(join(from, file), 'utf8'));
        copyFileSync(join(from, file), join(to, file));
      };
      const carry = async (file: string): Promise<void> => {
        bring(file, folder, operator.folder);
        const words =
          file === 'request.json'
            ? ['planes', 'enroll', dataPlaneId, file, '-O', 'answer.json']
            : ['usage', 'import', file, '--receipts', 'receipts.ndjson'];
        const { code, stderr } = await operator.gov(words);
        expect([code, stderr]).toEqual([0, expect.any(String)]);
        bring(file === 'request.json' ? 'answer.json' : 'receipts.ndjson', operator.folder, folder);
      };
      const lines = ['ip link set lo up', makeLine, serveLines, life, stopLine].join('\n');
      const { code, said, connected } = await run(lines, { folder, before: ['unshare', '-rn'], carry });
      expect([code, said]).toEqual([0, expect.stringContaining('send ended with 6')]);
      // nothing was even tried
      if (noTrace === null) expect([...connected]).toEqual([served(folder)]);

      const shown = await operator.json(['planes', 'show', dataPlaneId]);
      expect(shown).toMatchObject({ status: 'active', missing: 0 });
      const { body } = await tenant.call('GET', `/telemetry/planes/${dataPlaneId}/reports`);
      // the first of an epoch is always asked about
      expect(body.data.at(-1)).toMatchObject({ sequence: 1, attestation: 'verified' });
      const hybrid = Object.fromEntries(
        (await tenant.call('GET', '/metering/usage')).body.items.map(
          (item: { type: string; hybrid: number }) => [item.type, item.hybrid],
        ),
      );
      expect(hybrid).toMatchObject({ audit_event: 20, compliance_proof: 1 });

      const keys = join(folder, 'plane', 'keys');
      expect(statSync(join(keys, 'telemetry.json')).mode & 0o777).toBe(0o600);
      expect(existsSync(join(keys, 'enrolment-request.json'))).toBe(false);
      const { current, service: address } = JSON.parse(readFileSync(join(keys, 'telemetry.json'), 'utf8'));
      expect(address).toBeNull();
      const text = (name: string): string => readFileSync(join(folder, name), 'utf8');
      for (const secret of [token, current.key, current.signingSecret]) {
        expect(`${said}${text('serve.log')}`).not.toContain(secret);
        for (const file of carried) expect(file).not.toContain(secret);
      }
      expect(text('before.txt')).toContain('waits for its answer');
      expect(text('doctor.txt')).toContain(`${dataPlaneId}, by file`);
      expect(text('status.txt')).toMatch(/manual-file/);
      expect(text('send.txt')).toContain('manual-file');
    },
  );
});
