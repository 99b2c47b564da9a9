/** `docs/how-to/take-configuration-from-a-service.md` is followed line by line, with a service on loopback in place of the reader's. */
import { writeFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planeConfigFaults } from '../../src/contract/plane-config.ts';
import { emptyDirectory, shell } from '../cli/support/tool.ts';
import { blocks, page, promisedExit, withoutComment } from './pages.ts';
import { startService, type Tenant, type TestService } from '../support/hosted.ts';

const of = page('docs/how-to/take-configuration-from-a-service.md');
const format = page('docs/reference/plane-configuration.md');

describe('docs/how-to/take-configuration-from-a-service.md', () => {
  const folder = emptyDirectory();
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService();
    tenant = await service.signUp('ada');
  });
  afterAll(async () => {
    await service.end();
    rmSync(folder, { recursive: true, force: true });
  });

  const publish = async (policyId: string): Promise<void> => {
    const body = { policyId, name: policyId, condition: { 'tool.name': policyId }, action: 'deny' };
    await tenant.call('POST', '/governance/policies', { body });
    await tenant.call('POST', `/governance/policies/${policyId}/publish`, { body: {} });
  };

  it(
    'the plane configuration how-to runs line by line with the exit codes that the page states',
    { timeout: 120_000 },
    async () => {
      await publish('shell');
      const older = await tenant.call('GET', '/governance/bundle');
      writeFileSync(join(folder, 'older.govconfig.json'), JSON.stringify(older.body.signed));
      await publish('mail');
      const { body: held } = await tenant.call('GET', '/governance/bundle');
      const asAda = { GOV_BASE_URL: service.baseUrl, GOV_API_KEY: tenant.keys.production };
      const fill = [
        ['prj_…', held.signed.bundle.projectId],
        ['gov.example/config+…', held.verifierKey],
        [' -C acme', ''],
      ] as const;
      const said: string[] = [];
      for (const line of blocks(of, 'sh').flatMap((block) => block.split('\n'))) {
        const typed = withoutComment(line);
        if (typed === '') continue;
        const filled = fill.reduce((text, [gap, value]) => text.replaceAll(gap, value), typed);
        // another plane may serve at the port of the page
        const whole = filled.startsWith('gov plane init') ? `${filled} --listen 127.0.0.1:0` : filled;
        const env = { GOV_CONFIG_DIR: join(folder, 'config'), ...(typed.includes('-C acme') ? asAda : {}) };
        const result = await shell(whole, { env, cwd: folder });
        expect(result, whole).toMatchObject({ code: promisedExit(line), signal: null });
        said.push(result.stdout + result.stderr);
      }
      const text = said.join('\n');
      expect(text).toContain(`signed by the service, whose key is ${held.verifierKey}`);
      expect(text).toContain('outdated');
      expect(text).toContain(held.bundleHash);
      expect(said.at(-1)).toContain(held.bundleHash.replace('sha256:', ''));
    },
  );

  it('docs/reference/plane-configuration.md lists every reason of a refusal', () => {
    const missing = planeConfigFaults.filter(
      (reason) => !format.text.includes(`\`${reason}\``) && reason !== 'switched_off',
    );
    expect(missing).toEqual([]);
  });
});
