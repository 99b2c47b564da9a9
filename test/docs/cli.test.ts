/** docs/how-to/use-several-services.md is followed line by line against a service with a real identity provider. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { blocks, page, promisedExit, withoutComment } from './pages.ts';
import { startService, type TestService } from '../support/hosted.ts';
import { startProvider, type TestProvider } from '../support/oidc.ts';
import { event } from '../support/serving.ts';
import { Account } from '../cli/support/account.ts';
import { cleanEnv, ended, runner, shell, type Result } from '../cli/support/tool.ts';

let provider: TestProvider;
let service: TestService;
beforeAll(async () => {
  provider = await startProvider();
  const { issuer: url, clientId } = provider;
  const quotas = { sandbox: { audit_event: 100 } };
  service = await startService({ file: { issuer: { url, clientId }, quotas } });
});
afterAll(async () => {
  await service.end();
  await provider.close();
});

const account = new Account();
const fill = new Map<string, string>();

/** Signs in at the page that the line shows, where it shows one. */
async function follow(line: string): Promise<Result> {
  const text = withoutComment([...fill].reduce((done, [from, to]) => done.replaceAll(from, to), line));
  const env = { ...account.env, GOV_ID_TOKEN: await provider.idToken('ada') };
  if (!/^gov auth (signup|login)/.test(line) || /--(ci|id-token|api-key-stdin)/.test(line))
    return shell(text, { env, cwd: account.folder });
  const tool = `gov() { '${process.execPath}' '${runner}' "$@"; }; ${text}`;
  const child = spawn('bash', ['-c', tool], { env: cleanEnv(env), cwd: account.folder });
  let shown = '';
  child.stderr.on('data', (chunk: Buffer) => {
    const before = shown;
    shown += chunk.toString();
    const address = /^or +(\S+)\n/m.exec(shown)?.[1];
    if (address !== undefined && !/^or +\S+\n/m.test(before)) void provider.approve(address, 'ada');
  });
  return ended(child);
}

const of = page('docs/how-to/use-several-services.md');

it(
  `the commands of ${of.name} run line by line with the exit codes that the page states`,
  { timeout: 300_000 },
  async () => {
    fill.set('https://gov.example.com', service.origin);
    const write = (name: string, text: string): void =>
      writeFileSync(join(account.folder, name), `${text}\n`, { mode: 0o600 });
    write('id-token.jwt', await provider.idToken('ada'));
    write('run.ndjson', JSON.stringify(event()));
    const lines = blocks(of, 'sh').flatMap((block) => block.trimEnd().split('\n'));
    expect(lines.length).toBeGreaterThan(15);
    for (const line of lines) {
      const { code, stdout, stderr } = await follow(line);
      expect({ line, code, stderr }).toMatchObject({ line, code: promisedExit(line) });
      if (line.includes('acme-keys.json')) {
        const keys = JSON.parse(account.file('acme-keys.json').text);
        fill.set('prj_…', keys.projectId);
        write('api.key', keys.apiKeys.sandbox);
      }
      const [keyId] = /key_\w{26}/.exec(stdout) ?? [];
      if (line.includes('keys create') && keyId !== undefined) fill.set('key_…', keyId);
    }
    expect(account.file('ci.key').mode).toBe(0o600);
    expect(Object.keys(account.contexts).toSorted()).toEqual(
      [
        'acme',
        'acme-sandbox',
        'box-sandbox',
        'ci',
        'ci-sandbox',
        'job',
        'job-sandbox',
        'me',
        'me-sandbox',
      ].toSorted(),
    );
  },
);
