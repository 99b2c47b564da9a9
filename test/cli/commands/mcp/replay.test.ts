import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { data, hasData, projectRoot } from '../../../paths.ts';
import { startProxy } from '../../support/mcp.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
});
afterAll(() => plane.end());

const replay = join(projectRoot, 'test/cli/support/mcp-replay.ts');

describe.skipIf(!hasData)(
  'replaying captures of MCP through the proxy (skipped without the recorded runs)',
  () => {
    it.each([
      ['mcp-2026-07-28-stdio', 10, 9],
      ['stdio-server-everything', 17, 16],
      ['stdio-server-filesystem', 17, 17],
      ['stdio-server-memory', 8, 8],
      ['stdio-server-sequential-thinking', 4, 4],
    ])('both sides of %s get every message with its bytes, in order', async (name, calls, answered) => {
      const path = data(`mcp/${name}.jsonl`);
      const captured = readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const env = { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key };
      const flags = ['--name', name, '--run', name];
      const proxied = startProxy({ env, flags, command: [process.execPath, replay, path] });
      onTestFinished(() => void proxied.child.kill('SIGKILL'));
      const eventsOf = async (type: string) =>
        (await plane.json(`events list --run ${name} --type ${type} --limit 1000`)).events;
      const recordedCalls = async () => (await eventsOf('tool.call')).length;
      const expected: string[] = [];
      let sent = 0;
      for (const { dir, msg } of captured) {
        if (dir === 'server->client') expected.push(JSON.stringify(msg));
        if (dir !== 'client->server') continue;
        // the client sent it after all that came before
        await expect.poll(() => proxied.lines.length, { timeout: 10_000, interval: 2 }).toBe(expected.length);
        if (msg.method === 'tools/call') sent++;
        // a call that is cancelled before its decision never reaches the server; this one did
        if (msg.method === 'notifications/cancelled') await expect.poll(recordedCalls).toBe(sent);
        proxied.send(msg);
      }
      const { code, stderr } = await proxied.end();
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(proxied.lines).toEqual(expected);
      expect(await recordedCalls()).toBe(calls);
      const outcomes = (await eventsOf('tool.result')).map(
        ({ metadata }: { metadata: { outcome: string } }) => metadata.outcome,
      );
      expect(outcomes).toHaveLength(calls);
      expect(
        outcomes.filter((outcome: string) => outcome !== 'unanswered' && outcome !== 'interrupted'),
      ).toHaveLength(answered);
    });
  },
);
