import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskedInput, shownOf, viewText } from '../../../src/core/decided/view.ts';
import { firstShownHash, shownHash } from '../../../src/core/decided/view-hash.ts';
import type { Json } from '../../../src/core/json/parse.ts';

const sha256 = (preimage: string): string => `sha256:${createHash('sha256').update(preimage).digest('hex')}`;
const shown = { tool: { name: 'pay' }, arguments: { amount: 5 }, actor: 'agent', context: null };

describe('the view of an approval', () => {
  it('is one line of ASCII, and its hash has a preimage that sha256sum reproduces', () => {
    const hidden = { ...shown, arguments: { note: 'bob\u{e0041} ü\n\u007f' } };
    const view =
      '{"actor":"agent","arguments":{"note":"bob\\udb40\\udc41 \\u00fc\\n\\u007f"},"context":null,"tool":{"name":"pay"}}';
    expect(viewText(hidden)).toBe(view);
    expect(shownHash(hidden)).toBe(sha256(`gov.approvalview/v2\n${view}`));
  });

  it('each of its members changes the hash', () => {
    const others = [
      { ...shown, tool: null },
      { ...shown, arguments: { amount: 50 } },
      { ...shown, actor: null },
      { ...shown, context: {} },
    ].map(shownHash);
    expect(new Set([shownHash(shown), ...others]).size).toBe(5);
  });

  it('leaves out the action, which would repeat a value that the project redacts', () => {
    const input = {
      tool: { name: 'pay' },
      arguments: { to: 'x' },
      facts: { cwd: '/w' },
      action: { money: 'x' },
    };
    expect(shownOf(input, { isCall: true }).context).toEqual({ facts: { cwd: '/w' } });
    expect(shownOf(input, { isCall: false }).context).toEqual(input);
  });

  it('is ASCII whatever the arguments are, and parses to them', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), (given) => {
        const view = viewText({ ...shown, arguments: given });
        expect(view).toMatch(/^[ -~]*$/);
        expect(JSON.parse(view)['arguments']).toEqual({ ...given });
      }),
    );
  });

  it('the hash of the first form is that of the canonical JSON', () => {
    expect(firstShownHash(shown)).toBe(
      sha256(
        'gov.approvalview/v1\n{"actor":"agent","arguments":{"amount":5},"context":null,"tool":{"name":"pay"}}',
      ),
    );
    const others = [
      { ...shown, tool: null },
      { ...shown, arguments: { amount: 50 } },
      { ...shown, actor: null },
      { ...shown, context: {} },
    ].map(firstShownHash);
    expect(new Set([firstShownHash(shown), ...others]).size).toBe(5);
  });
});

describe('what is shown of an input', () => {
  const input = { tool: { name: 'pay' }, arguments: { a: 1 }, actor: 'ada', runId: 'r', cwd: '/' };

  it('of a call its tool, arguments, actor, and the rest as context; else the whole input', () => {
    expect(shownOf(input, { isCall: true })).toEqual({
      tool: { name: 'pay' },
      arguments: { a: 1 },
      actor: 'ada',
      context: { cwd: '/' },
    });
    expect(shownOf(input, { isCall: false })).toEqual({
      tool: null,
      arguments: null,
      actor: null,
      context: input,
    });
    expect(shownOf(null, { isCall: true }).context).toBeNull();
  });

  it('replaces the values at the masked places, and leaves the input as it is', () => {
    const given = { a: { 'x/y': [1, { b: 2 }] }, c: 3 };
    expect(maskedInput(given, { '/a/x~1y/1/b': 'f1', '/c': 'f2' })).toEqual({
      a: { 'x/y': [1, { b: { redacted: true, fingerprint: 'f1' } }] },
      c: { redacted: true, fingerprint: 'f2' },
    });
    expect(given).toEqual({ a: { 'x/y': [1, { b: 2 }] }, c: 3 });
    expect(maskedInput(given, {})).toEqual(given);
  });

  it.each(['/d', '/a/x~1y/2', '/a/x~1y/length', '/a/x~1y/01', '/c/0', '/__proto__/x', '/constructor/name'])(
    'no value is at %s, so nothing is masked there',
    (pointer) => {
      const given: Record<string, Json> = { a: { 'x/y': [1, { b: 2 }] }, c: 3 };
      expect(maskedInput(given, { [pointer]: 'f' })).toBeNull();
      expect(maskedInput(JSON.parse('{"a":{"__proto__":{"b":1}}}'), { '/a/__proto__/c': 'f' })).toBeNull();
      expect(Object.getPrototypeOf({})).not.toHaveProperty('x');
    },
  );

  it('the whole input, or a value that is no object, is no input that an approver saw', () => {
    expect(maskedInput({ a: 1 }, { '': 'f' })).toEqual({ redacted: true, fingerprint: 'f' });
  });
});
