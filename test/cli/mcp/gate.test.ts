import { describe, expect, it } from 'vitest';
import { Gate } from '../../../src/cli/mcp/gate.ts';
import type { Pins } from '../../../src/cli/mcp/pins.ts';
import { GovApiError } from '../../../src/client/errors.ts';
import type { Client } from '../../../src/client/create.ts';
import type { CallMessage } from '../../../src/core/mcp/message.ts';
import { overQuota } from '../../../src/service/billing/quota.ts';

const { message, status } = overQuota({ op: 'audit_event', limit: 100, used: 100, units: 1 }, Date.now());
const spent = new GovApiError(
  status,
  { title: 'The quota is used up', detail: message, code: 'QUOTA_EXCEEDED' },
  {},
);
const call = { id: '1', name: 'pay', arguments: {}, meta: {} } as unknown as CallMessage;
const context = {
  peers: {},
  listing: { asked: Promise.resolve(), ask: () => Promise.resolve() },
  signal: new AbortController().signal,
};
/** A gate whose reads of pins, or whose decisions, fail as given. */
const gateOf = ({ pins, decisions }: { pins?: Error; decisions?: Error }): Gate =>
  new Gate({
    client: { evaluateTool: () => Promise.reject(decisions) } as unknown as Client,
    pins: {
      standing: () => (pins === undefined ? Promise.resolve({ is: 'unlisted' }) : Promise.reject(pins)),
    } as unknown as Pins,
    server: 'shop',
    content: 'hashes',
    warn: () => {},
  });
const answer = async (gate: Gate): Promise<string> =>
  String(await gate.call(call, context, () => expect.unreachable('expected no call of the server')));

describe('the answer to a call without a decision', () => {
  it.each([{ pins: spent }, { decisions: spent }])(
    'names a used-up quota, and nothing else (%#)',
    async (fails) => {
      const text = await answer(gateOf(fails));
      expect(text).toContain('not run: the quota of events or decisions is used up: expected at most 0 more');
      expect(text).toContain('gov usage show');
      expect(text).not.toMatch(/pins|no decision/);
    },
  );

  it('names the pins for another failure to read them', async () => {
    expect(await answer(gateOf({ pins: new Error('no route') }))).toContain(
      'not run: the pins of shop could not be read: no route.',
    );
  });
});
