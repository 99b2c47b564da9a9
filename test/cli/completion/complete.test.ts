import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { complete } from '../../../src/cli/completion/complete.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { cleanEnv, emptyDirectory, gov } from '../support/tool.ts';

let plane: PolicyPlane;
let approvalId = '';
let proofId = '';
let decidedId = '';

/** Lines for a text whose last word is being typed. Never anything on stderr. */
async function offered(line: string, env: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const address = { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key };
  await complete(line.split(' '), {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env: cleanEnv({ ...address, ...env }),
    cwd: plane.folder,
    now: Date.now,
  });
  expect(stderr.read()).toBe(null);
  return (stdout.read()?.toString() ?? '').split('\n').slice(0, -1);
}
const words = async (line: string, env = {}): Promise<(string | undefined)[]> =>
  (await offered(line, env)).map((each) => each.split('\t')[0]);

beforeAll(async () => {
  plane = await startPolicyPlane({ extraKeys: { approver: { scopes: ['approvals:decide'] } } });
  plane.write('p/ask.policy', 'escalate "ask"\nwhen tool.name == "pay"');
  await plane.json('policy create p --publish');
  plane.write('call.json', { tool: { name: 'pay' }, arguments: { amount: 5 }, runId: 'r1' });
  ({ approvalId } = await plane.json('tools evaluate call.json'));
  ({ approvalId: decidedId } = await plane.json('tools evaluate call.json --run r2'));
  const approver = { env: { GOV_API_KEY: plane.keys['approver'] ?? '' } };
  await plane.gov(`approvals deny ${decidedId}`, approver);
  ({ proofId } = await plane.json('proofs create --run r1'));
});
afterAll(() => plane.end());

describe('completion of words that need no service', () => {
  const away = { GOV_BASE_URL: 'http://127.0.0.1:1' };

  it.for([
    ['ev', 'events\tAudit events: push, list, follow'],
    ['event cou', 'count\tCount events exactly'],
    ['risk c', 'config'],
    ['risk config g', 'get\tGet the risk router configuration'],
    ['-q proofs ver', 'verify\tVerify a proof by its id, or a bundle, answer or export without the service'],
    ['-C x --output json events ta', 'tail\tFollow events as they are recorded'],
    ['events list --order a', 'asc'],
    ['events list --order=d', '--order=desc'],
    ['events list --output nd', 'ndjson'],
    ['jobs list --json=err', '--json=errorSummary'],
    ['jobs list --json=jobId,sta', '--json=jobId,status'],
    ['config list --json=v', '--json=value'],
    ['graphs get r1 -o d', 'dot'],
    ['--env s', 'sandbox'],
    ['policy lint --fail-on w', 'warning'],
    ['replay run --fail-on mismatch,drift=h', 'mismatch,drift=high'],
    ['completion po', 'powershell'],
    ['cron run cl', 'cleanup'],
    ['help ex', 'exit-codes\tTopic'],
    ['help policy st', 'starter'],
    ['api GET /he', '/health\tOverall state; details with a credential only'],
  ])('completes "gov %s" without the service', async ([line = '', expected]) => {
    expect(await offered(line, away)).toContain(expected);
  });

  it('completion offers the flags of the command that are not given yet, and no hidden one', async () => {
    const flags = await words('events list --run r1 --', away);
    expect(flags).toEqual(expect.arrayContaining(['--order', '--output', '--help']));
    expect(flags).not.toContain('--run');
  });

  it('completion offers contexts and folders of planes, and lets the shell add folders', async () => {
    const folder = emptyDirectory();
    const contexts = {
      here: { kind: 'plane', dataDir: '/var/lib/here' },
      'two words': { kind: 'plane', dataDir: '/var/lib/$(touch x)' },
      hosted: { kind: 'service', baseUrl: 'https://gov.example.com/api/v1' },
    };
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ contexts }));
    const env = { ...away, GOV_CONFIG_DIR: folder };
    const both = ['here\t/var/lib/here', 'hosted\thttps://gov.example.com/api/v1'];
    expect(await offered('context use ', env)).toEqual(both);
    expect(await offered('runs list -C ', env)).toEqual(both);
    expect(await offered('plane status --data ', env)).toEqual(['/var/lib/here\tcontext here', ':folders']);
  });

  it('completion lets the shell add files where a file is meant, and nowhere else', async () => {
    expect(await offered('policy lint ', away)).toEqual([':files']);
    expect(await offered('proofs create --out ', away)).toEqual([':files']);
    expect(await offered('run -- ', away)).toEqual([':files']);
    expect(await offered('keys create ', away)).toEqual([]);
    expect(await offered('events list --limit ', away)).toEqual([]);
  });

  it('completion prints nothing about a broken configuration or an unknown command', async () => {
    const folder = emptyDirectory();
    writeFileSync(join(folder, 'config.json'), '{');
    expect(await offered('context use ', { GOV_CONFIG_DIR: folder })).toEqual([]);
    expect(await offered('nothing of this ')).toEqual([]);
    expect(await offered('events list --nothing=')).toEqual([]);
  });
});

describe('completion of ids', () => {
  it('completion lists runs, policies and proofs of the service with a description', async () => {
    expect(await words('runs show r')).toEqual(['r2', 'r1']);
    expect(await offered('runs show r1')).toEqual([expect.stringMatching(/^r1\t\d+, 20/)]);
    expect(await words('events list --run r1')).toEqual(['r1']);
    expect(await words('policy get ')).toEqual(['ask']);
    expect(await words('policy evaluate --policy ask,')).toEqual(['ask,ask']);
    expect(await words('proofs verify ')).toEqual([proofId, ':files']);
    expect(await words('report create run-e')).toEqual(['run-evidence']);
    expect(await words("''")).toContain('events');
  });

  it('completion offers pending approvals alone to those who decide', async () => {
    expect((await words('approvals show ')).toSorted()).toEqual([approvalId, decidedId].toSorted());
    expect(await words('approvals approve ')).toEqual([approvalId]);
  });

  it('completion leaves out ids that a shell would read as code', async () => {
    const page = JSON.stringify({
      data: ['$(touch x)', '-C', 'a b', "a'b", 'a;b', 'fine'].map((runId) => ({ runId })),
      nextCursor: null,
    });
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${page.length}\r\n\r\n`;
    const server = createServer((socket) => socket.once('data', () => socket.end(head + page)));
    const port = await listening(server);
    expect(await words('runs show ', { GOV_BASE_URL: `http://127.0.0.1:${port}/api/v1` })).toEqual(['fine']);
    server.close();
  });

  it('completion offers no ids after a second without an answer', async () => {
    const server = createServer(() => {});
    const port = await listening(server);
    const begin = performance.now();
    const env = { GOV_BASE_URL: `http://127.0.0.1:${port}/api/v1`, GOV_API_KEY: plane.key };
    const { code, stdout, stderr } = await gov(['__complete', 'runs', 'show', ''], { env });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' });
    const ms = performance.now() - begin;
    expect(ms).toBeGreaterThan(900);
    expect(ms).toBeLessThan(5000);
    server.close();
  });

  it('completion prints nothing where the credential is refused', async () => {
    expect(await offered('runs show ', { GOV_API_KEY: 'gov_live_wrong' })).toEqual([]);
  });
});

const listening = (server: ReturnType<typeof createServer>): Promise<number> =>
  new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  );
