import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { capture } from '../../../../src/core/intake/otlp/capture.ts';

const sha256 = (text: string): string => `sha256:${hash('sha256', text, 'hex')}`;

const metadata = {
  signal: 'span',
  toolCallId: 'c1',
  arguments: { b: 1, a: 'x' },
  content: 'done',
  statusMessage: 'no such account 12',
  usage: { input_tokens: 3 },
  otel: {
    'gen_ai.usage.input_tokens': 3,
    'llm.input_messages.0.message.content': 'hello',
    'traceloop.entity.input': 'hello',
    'user.email': 'zoe@example.com',
    'http.route': '/pay',
    retries: 2,
    note: 'x'.repeat(257),
    label: 'x'.repeat(256),
  },
};

describe('content of telemetry', () => {
  it('is kept whole when the project says so', () => {
    expect(capture(metadata, 'full')).toBe(metadata);
  });

  it('becomes the hash of its canonical JSON with its length, and everything else stays', () => {
    expect(capture(metadata, 'hashes')).toEqual({
      signal: 'span',
      toolCallId: 'c1',
      arguments: { hash: sha256('{"a":"x","b":1}'), bytes: 15 },
      content: { hash: sha256('"done"'), bytes: 6 },
      statusMessage: { hash: sha256('"no such account 12"'), bytes: 20 },
      usage: { input_tokens: 3 },
      otel: {
        'gen_ai.usage.input_tokens': 3,
        'llm.input_messages.0.message.content': { hash: sha256('"hello"'), bytes: 7 },
        'traceloop.entity.input': { hash: sha256('"hello"'), bytes: 7 },
        'user.email': { hash: sha256('"zoe@example.com"'), bytes: 17 },
        'http.route': '/pay',
        retries: 2,
        note: { hash: sha256(`"${'x'.repeat(257)}"`), bytes: 259 },
        label: 'x'.repeat(256),
      },
    });
  });

  it('is left out when the project keeps none', () => {
    const kept = JSON.parse(JSON.stringify(capture(metadata, 'none'))) as Record<string, object>;
    expect(Object.keys(kept)).toEqual(['signal', 'toolCallId', 'usage', 'otel']);
    expect(Object.keys(kept['otel'] ?? {})).toEqual([
      'gen_ai.usage.input_tokens',
      'http.route',
      'retries',
      'label',
    ]);
  });

  it('is hashed as the text that would be recorded when JSON cannot carry it', () => {
    const odd = capture({ arguments: { n: NaN, t: '\ud800', u: undefined } }, 'hashes');
    expect(odd['arguments']).toEqual({ hash: sha256('{"n":"NaN","t":"\ufffd"}'), bytes: 21 });
  });
});
