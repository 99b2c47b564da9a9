import { describe, expect, it } from 'vitest';
import { captured, describeRun } from '../../../src/cli/mcp/outcome.ts';
import { limits } from '../../../src/contract/limits.ts';
import { Envelope } from '../../../src/core/mcp/envelope.ts';
import { sha256Text } from '../../../src/core/hash.ts';

const answer = (text: string) => ({ how: 'answered', answer: new Envelope(Buffer.from(text)) }) as const;
const run = (text: string, policy: 'none' | 'hashes' | 'full' = 'hashes') =>
  describeRun({ ended: answer(text), durationMs: 1.23456, cancelled: false, progress: 0 }, policy);

describe('describeRun', () => {
  it.each([
    ['ok', '{"result":{"content":[]}}', { ok: true, outcome: 'ok', isError: false }],
    ['the failure of a tool', '{"result":{"isError":true}}', { ok: false, outcome: 'error', isError: true }],
    [
      'a JSON-RPC error',
      '{"error":{"code":-1,"message":"no"}}',
      { ok: false, outcome: 'error', code: -1, error: 'no' },
    ],
    ['a question', '{"result":{"resultType":"input_required"}}', { ok: true, outcome: 'input_required' }],
    ['a task', '{"result":{"task":{"taskId":"t1"}}}', { ok: true, outcome: 'task', taskId: 't1' }],
  ])('records %s', (_, text, expected) => {
    expect(run(text)).toMatchObject({ ...expected, durationMs: 1.235, bytes: text.length });
  });

  it('hashes the bytes of a result of one byte more than the limit, and the canonical JSON of one at the limit', () => {
    const result = (size: number): string => `{"a":"${'x'.repeat(size - 8)}"}`;
    const most = result(limits.mcpResultBytes);
    expect(run(`{"result":${most}}`)).toMatchObject({
      content: { hash: sha256Text(most), bytes: most.length },
    });
    const more = result(limits.mcpResultBytes + 1);
    expect(run(`{"result":${more}}`)).toMatchObject({
      content: { bytesHash: sha256Text(more), bytes: more.length },
    });
    expect(run(`{"result":${more}}`, 'none')).not.toHaveProperty('content');
  });
});

describe('captured', () => {
  it('keeps full content up to the limit, and its hash beyond', () => {
    const content = (size: number) => ({
      content: 'x'.repeat(size - JSON.stringify({ content: '' }).length),
    });
    const most = content(limits.mcpContentBytes);
    expect(captured(most, 'full')).toEqual(most);
    expect(captured(content(limits.mcpContentBytes + 1), 'full')['content']).toHaveProperty('hash');
  });

  it.each([
    ['a number that events cannot hold', { content: 2 ** 60 }],
    ['text that events cannot hold', { content: '\u0000' }],
    ['content that is too deep', { content: JSON.parse('['.repeat(20) + ']'.repeat(20)) }],
  ])('keeps the hash of %s', (_, members) => {
    expect(captured(members, 'full')['content']).toHaveProperty('hash');
  });
});
