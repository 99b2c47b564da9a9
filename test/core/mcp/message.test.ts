import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { needsApproval } from '../../../src/core/mcp/answer.ts';
import { readClientMessage, type CallMessage } from '../../../src/core/mcp/message.ts';

const read = (message: object | string) =>
  readClientMessage(Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)));
const call = (params: object, id: unknown = 1) => read({ jsonrpc: '2.0', id, method: 'tools/call', params });
const approvalId = `apr_${'0'.repeat(26)}`;

describe('what the proxy says', () => {
  it('hidden characters in the reason of an approval are escapes in the answer and in the question', () => {
    for (const elicits of [true, false]) {
      const asked = { id: '1', era: '2026', elicits, answered: undefined } as const;
      const said = needsApproval(asked, { approvalId, reason: 'to is "bo\u3164b"' });
      expect(said).toContain('bo\\\\u3164b');
      expect(said).not.toContain('\u3164');
    }
  });
});

describe('readClientMessage', () => {
  it.each([
    ['request', { id: 1, method: 'ping' }],
    ['notification', { method: 'notifications/initialized' }],
    ['response', { id: 1, result: {} }],
    ['cancel', { method: 'notifications/cancelled', params: { requestId: 1 } }],
    ['call', { id: 1, method: 'tools/call', params: { name: 'a' } }],
  ])('reads a %s', (kind, message) => {
    expect(read({ jsonrpc: '2.0', ...message }).kind).toBe(kind);
  });

  it.each([
    ['no version', { id: 1, method: 'ping' }],
    ['an id that is null', { jsonrpc: '2.0', id: null, method: 'ping' }],
    ['an id with a fraction', { jsonrpc: '2.0', id: 1.5, method: 'ping' }],
    ['a method that is no text', { jsonrpc: '2.0', id: 1, method: 5 }],
    ['a result and an error', { jsonrpc: '2.0', id: 1, result: {}, error: {} }],
    ['nothing to do', { jsonrpc: '2.0', id: 1 }],
    ['a tool call in another case', { jsonrpc: '2.0', id: 1, method: 'Tools/Call' }],
    ['a name that folds to params', '{"jsonrpc":"2.0","id":1,"method":"ping","param\u017f":{}}'],
    [
      'a name that folds to arguments',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","argument\u017f":{}}}',
    ],
    ['a tool call without params', { jsonrpc: '2.0', id: 1, method: 'tools/call' }],
    [
      'arguments that are a list',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', arguments: [] } },
    ],
  ])('refuses %s', (_, message) => {
    expect(read(message).kind).toBe('refused');
  });

  it('refuses a tool call of one byte more than the limit', () => {
    const bytes = JSON.stringify({ name: 'a', arguments: { a: '', b: '', c: '', d: '', e: '' } }).length;
    // a text has its own limit, so several share the bytes
    const filled = (size: number) => {
      const rest = size - bytes;
      const each = Math.floor(rest / 5);
      const text = 'x'.repeat(each);
      return call({
        name: 'a',
        arguments: { a: text, b: text, c: text, d: text, e: 'x'.repeat(rest - 4 * each) },
      });
    };
    expect(filled(limits.mcpCallBytes).kind).toBe('call');
    expect(filled(limits.mcpCallBytes + 1)).toMatchObject({
      kind: 'refused',
      detail: expect.stringContaining('at most'),
    });
  });

  it('takes an answer to its own question out of the call, and leaves every other byte', () => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a", "requestState":"gov:${approvalId}","arguments":{"n":1.0} ,"inputResponses":{"approval":{"action":"accept"}}} }`;
    const message = read(text) as CallMessage;
    expect(message.answered).toBe('accepted');
    expect(Buffer.from(message.forwarded).toString()).toBe(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":1.0}} }',
    );
  });

  it('leaves an answer to a question of the server in the call', () => {
    const message = call({
      name: 'a',
      requestState: 'theirs',
      inputResponses: { approval: { action: 'accept' } },
    });
    expect(message).toMatchObject({ answered: undefined });
    expect((message as CallMessage).forwarded).toBe((message as CallMessage).envelope.bytes);
  });

  it.each([
    ['cancel', { approval: { action: 'cancel' } }],
    ['decline', { approval: { action: 'decline' } }],
    ['nothing', undefined],
  ])('counts the answer %s as a refusal', (_, inputResponses) => {
    expect(call({ name: 'a', requestState: `gov:${approvalId}`, inputResponses })).toMatchObject({
      answered: 'refused',
    });
  });
});
