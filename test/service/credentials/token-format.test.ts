import * as fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import {
  createKey,
  createToken,
  keyDigest,
  keyKinds,
  tokenKind,
  TokenReader,
} from '../../../src/service/credentials/token-format.ts';
import type { Project } from '../../../src/store/port/store.ts';

const project = (environment: Project['environment']): Project => ({
  projectId: 'prj_x',
  organizationId: 'org_x',
  environment,
  auditOrigin: 'a',
  meteringOrigin: 'm',
});

describe('a token', () => {
  it('a token has its kind, 32 random characters and the CRC-32 of all before', () => {
    for (const kind of keyKinds) {
      const token = createToken(kind, randomBytes);
      expect(token).toMatch(new RegExp(`^gov_${kind}_[0-9A-Za-z]{38}$`));
      expect(tokenKind(token)).toBe(kind);
      const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
      const value = Array.from(token.slice(-6)).reduce((sum, char) => sum * 62 + digits.indexOf(char), 0);
      expect(value).toBe(crc32(token.slice(0, -6)));
    }
  });

  it('a token has a known answer (CRC-32 by Python’s zlib)', () => {
    expect(createToken('live', (size) => Buffer.alloc(size, 0))).toBe(`gov_live_${'0'.repeat(32)}0fBvmT`);
  });

  it('a token uses every character of the alphabet alike, and none of the bytes that would favour some', () => {
    expect(
      createToken('live', (size) =>
        Buffer.from(Array.from({ length: size }, (_, at) => (at % 2 === 0 ? 255 : 61))),
      ),
    ).toContain('z'.repeat(32));
  });

  it('a token with any character changed is rejected', () => {
    const token = createToken('live', randomBytes);
    for (let at = 0; at < token.length; at += 1) {
      const other = token[at] === 'a' ? 'b' : 'a';
      expect(tokenKind(token.slice(0, at) + other + token.slice(at + 1)), `${at}`).toBeNull();
    }
    expect(tokenKind(`${token} `)).toBeNull();
    expect(tokenKind(`${token}\n`)).toBeNull();
  });

  it('the service rejects invented tokens', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 0, maxLength: 60 }), (text) => {
        expect(tokenKind(text)).toBeNull();
        expect(tokenKind(`gov_live_${text}`)).toBeNull();
      }),
      { numRuns: 2000 },
    );
    // contract S9; a string of these passes by chance once in 57 thousand million
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    let accepted = 0;
    const [rounds, batch, length] = [1000, 1000, 38];
    for (let round = 0; round < rounds; round += 1) {
      const text = randomBytes(batch * length).reduce((all, byte) => all + digits[byte % digits.length]!, '');
      for (let at = 0; at < text.length; at += length) {
        if (tokenKind(`gov_live_${text.slice(at, at + length)}`) !== null) accepted += 1;
      }
    }
    expect(accepted).toBe(0);
  });
});

describe('a key', () => {
  it('a key belongs to the environment of its project, and its row contains no token', () => {
    for (const [environment, prefix] of [
      ['production', 'gov_live_'],
      ['sandbox', 'gov_test_'],
    ] as const) {
      const { token, row } = createKey(project(environment), {
        name: 'n',
        scopes: ['*'],
        nowMs: 5,
        randomBytes,
      });
      expect(token.startsWith(prefix)).toBe(true);
      expect(row).toMatchObject({ name: 'n', scopes: ['*'], createdMs: 5, expiresMs: null, revokedMs: null });
      expect([row.prefix, row.last4]).toEqual([token.slice(0, limits.keyPrefixChars), token.slice(-4)]);
      expect(row.digest).toEqual(keyDigest(token));
      expect(JSON.stringify(row)).not.toContain(token.slice(13, -4));
    }
  });
});

describe('a reader of tokens', () => {
  it('a reader of tokens always returns the same result, and caches a bounded number, none of them malformed', () => {
    const reader = new TokenReader();
    const tokens = Array.from({ length: limits.tokensHeld }, () => createToken('live', randomBytes));
    for (const token of [...tokens, ...tokens]) {
      expect(reader.read(token)).toEqual({ kind: 'live', digest: keyDigest(token) });
    }
    expect(reader.held).toBe(limits.tokensHeld);
    expect(reader.read(`${tokens[0]}x`)).toEqual({ kind: null, digest: null });
    expect(reader.held).toBe(limits.tokensHeld);
    reader.read(createToken('hyb', randomBytes));
    expect(reader.held).toBe(1);
  });
});
