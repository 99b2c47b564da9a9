import { spawn } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { startServer } from '../../../client/server.ts';
import { cleanEnv, ended, govHere, runner } from '../../support/tool.ts';

const event = (sequence: number) => ({
  sequence,
  eventId: `evt_${sequence}`,
  runId: 'run-1',
  eventType: sequence % 2 ? 'tool.call' : 'tool.call_blocked',
  actor: { name: 'planner' },
  resource: 'search',
  action: 'look\u001b[2J up',
  metadata: sequence % 2 ? {} : { decision: 'escalate', approvalId: 'apr_1' },
  serverTimestamp: '2026-03-01T12:00:01.000Z',
});

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function streaming(count: number) {
  const server = await startServer();
  const sockets = new WebSocketServer({ server: server.server });
  const urls: string[] = [];
  sockets.on('connection', (socket, request) => {
    urls.push(request.url ?? '');
    for (let sequence = 1; sequence <= count; sequence += 1) socket.send(JSON.stringify(event(sequence)));
  });
  closers.push(
    () => sockets.clients.forEach((socket) => socket.terminate()),
    () => server.close(),
  );
  return { env: { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: 'gov_live_x' }, urls };
}

describe('gov events tail', () => {
  it('gov events tail prints one escaped JSON object per line into a pipe, and passes its filters on', async () => {
    const { env, urls } = await streaming(3);
    const argv = ['events', 'tail', '--run', 'run-1', '--type', 'tool.call', '--after', '0', '--count', '3'];
    const { stdout, code } = await govHere(argv, { env });
    expect(code).toBe(0);
    expect(
      stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    ).toEqual([1, 2, 3].map(event));
    expect(stdout).not.toContain('\u001b');
    expect(urls).toEqual(['/api/v1/events/stream?runId=run-1&eventType=tool.call&after=0']);
  });

  it('gov events tail prints one cleaned line for each event, with its decision, on a terminal', async () => {
    const { env } = await streaming(2);
    const { stdout } = await govHere(['events', 'tail', '--count', '2', '--color', 'never'], {
      env,
      columns: 80,
    });
    expect(stdout).toBe(
      '12:00:01 #1 run-1 tool.call planner → search: look\\u001b[2J up\n' +
        '12:00:01 #2 run-1 tool.call_blocked planner → search: look\\u001b[2J up escalate apr_1\n',
    );
  });

  it('gov events tail refuses a format that needs an end', async () => {
    for (const format of ['json', 'csv']) {
      expect(await govHere(['events', 'tail', '-o', format], {})).toMatchObject({ code: 2, stdout: '' });
    }
  });

  it('gov events tail runs until it is interrupted, and prints each event at once', async () => {
    const { env } = await streaming(1);
    const child = spawn(process.execPath, [runner, 'events', 'tail'], { env: cleanEnv(env) });
    child.stdout.once('data', () => child.kill('SIGINT'));
    const { code, stdout, stderr } = await ended(child);
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toEqual(event(1));
    expect(stderr).toBe('');
  });
});
