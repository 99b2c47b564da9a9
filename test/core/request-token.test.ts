import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  answerText,
  createRequestToken,
  isBoundTo,
  readRequestToken,
  type BoundRequest,
} from '../../src/core/request-token.ts';
import { runKeyOf } from '../../src/core/run-token.ts';

const key = 'gov_live_secret';
const keyId = 'key_01jq3v5k8hf7wb3c9x2m4n6p8r';
const request: BoundRequest = {
  method: 'POST',
  target: '/api/v1/events?x=1',
  idempotencyKey: 'id-1',
  body: Buffer.from('{"a":1}'),
};
const made = (): string => createRequestToken({ keyId, key }, request, { projectId: 'prj_1', expiresMs: 99 });
const hex = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('request tokens', () => {
  it('a token has the documented form', () => {
    const [head = '', claims = '', mac] = made().split('.');
    expect(head).toBe(`gov_req_${keyId}`);
    const read = JSON.parse(Buffer.from(claims, 'base64url').toString());
    const preimage = `gov.request/1\nPOST\n/api/v1/events?x=1\nid-1\n${hex('{"a":1}')}`;
    expect(read).toMatchObject({ e: 99, p: 'prj_1' });
    expect(Buffer.from(read.q, 'base64url').toString('hex')).toBe(hex(preimage));
    expect(Buffer.from(read.n, 'base64url')).toHaveLength(16);
    const own = createHmac('sha256', runKeyOf(key)).update(`gov.requesttoken/1\n${keyId}\n${claims}`);
    expect(mac).toBe(own.digest('base64url'));
    expect(made()).not.toBe(made());
  });

  it('a token is of its key and for its request alone', () => {
    const token = readRequestToken(made());
    if (token === null) throw new Error('expected a token');
    expect([token.isOf(runKeyOf(key)), token.isOf(runKeyOf('gov_live_other'))]).toEqual([true, false]);
    expect(isBoundTo(token, request)).toBe(true);
    for (const other of [
      { method: 'GET' },
      { target: '/api/v1/events?x=2' },
      { idempotencyKey: 'id-2' },
      { idempotencyKey: undefined },
      { body: Buffer.from('{"a":2}') },
    ])
      expect(isBoundTo(token, { ...request, ...other })).toBe(false);
  });

  it('readRequestToken gives null for every other text, and a changed token is of no key', () => {
    const token = made();
    for (const text of ['', key, token.slice(1), `${token}x`, token.replace('gov_req_', 'gov_run_')])
      expect(readRequestToken(text)).toBeNull();
    const claims = Buffer.from('{"e":1,"n":"","p":"prj_1","q":"AA"}').toString('base64url');
    expect(readRequestToken(token.replace(/\.[^.]+\./, `.${claims}.`))).toBeNull();
    const later = Buffer.from(token.split('.')[1] ?? '', 'base64url')
      .toString()
      .replace('"e":99', '"e":98');
    const changed = token.replace(/\.[^.]+\./, `.${Buffer.from(later).toString('base64url')}.`);
    expect(readRequestToken(changed)?.isOf(runKeyOf(key))).toBe(false);
  });

  it('the text of an answer names the token, the status and the body', () => {
    expect(answerText('gov_req_x', 200, '{}').toString()).toBe(
      `gov.answer/1\n${hex('gov_req_x')}\n200\n${hex('{}')}`,
    );
  });
});
