import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import {
  ed25519Cosigner,
  ed25519Signer,
  formatTrust,
  parseTrust,
} from '../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../src/core/note/signed.ts';

const logKey = (name = 'example.com/log'): string =>
  ed25519Signer(name, generateKeyPairSync('ed25519').privateKey).verifierKey;
const witnessKey = (name: string): string =>
  ed25519Cosigner(name, generateKeyPairSync('ed25519').privateKey).verifierKey;

const log = logKey();
const [w1 = '', w2 = '', w3 = ''] = ['one', 'two', 'three'].map(witnessKey);
const witnessLines = `witness X1 ${w1}\nwitness X2 ${w2} https://witness.example\nwitness X3 ${w3}\n`;
const names = (text: string): string[] => parseTrust(text).witnesses.map(({ name }) => name);

describe('trust file', () => {
  it('a trust file gives the log, witnesses, group and quorum', () => {
    const trust = parseTrust(
      `# my log\n\n log\t${log} https://log.example \n${witnessLines}group G 2 X1 X2 X3\nquorum G\n`,
    );
    expect(trust.origin).toBe('example.com/log');
    expect(trust.keys.map(({ text }) => text)).toEqual([log]);
    expect(trust.witnesses.map(({ text }) => text)).toEqual([w1, w2, w3]);
    expect(trust.quorum).toBe(2);
  });

  it('a trust file requires any signature or one of each algorithm, once, and keeps its line', () => {
    const require = (line: string) => parseTrust(`log ${log}\n${line}\nquorum none\n`);
    expect(require('').require).toBeUndefined();
    for (const each of ['any', 'each-algorithm'] as const) {
      const trust = require(`require ${each}`);
      expect(trust.require).toBe(each);
      expect(parseTrust(formatTrust(trust)).require).toBe(each);
    }
    for (const line of ['require', 'require all', 'require any any', 'require any\nrequire any'])
      expect(() => require(line)).toThrow('line');
  });

  it('a trust file may ask for any, all, one or none of the witnesses', () => {
    const quorum = (lines: string): number => parseTrust(`log ${log}\n${witnessLines}${lines}`).quorum;
    expect(quorum('group G any X1 X2\nquorum G')).toBe(1);
    expect(quorum('group G all X1 X2\nquorum G\n')).toBe(2);
    expect(quorum('quorum X2')).toBe(1);
    expect(quorum('quorum none')).toBe(0);
    expect(parseTrust(`log ${log}\nquorum none\n`)).toMatchObject({ witnesses: [], quorum: 0 });
  });

  it('a trust file counts only the witnesses of its quorum, and lists all without a quorum', () => {
    expect(names(`log ${log}\n${witnessLines}group G any X3 X1\nquorum G`)).toEqual(['three', 'one']);
    expect(names(`log ${log}\n${witnessLines}quorum X2`)).toEqual(['two']);
    expect(names(`quorum none\nlog ${log}\n${witnessLines}`)).toEqual(['one', 'two', 'three']);
  });

  it('index witnesses have names, keys and a quorum, and are no witnesses', () => {
    const lines = `index-witness W1 ${w1}\nindex-witness W2 ${w2} https://w2.example\n`;
    const read = (more: string) => parseTrust(`log ${log}\nquorum none\n${lines}${more}`);
    for (const [more, quorum] of [
      ['', 2],
      ['index-quorum all\n', 2],
      ['index-quorum 1\n', 1],
      ['index-quorum none\n', 0],
    ] as const) {
      const trust = read(more);
      expect(trust).toMatchObject({ witnesses: [], quorum: 0, index: { quorum } });
      expect(trust.index?.witnesses.map(({ name, key }) => [name, key.text])).toEqual([
        ['W1', w1],
        ['W2', w2],
      ]);
      expect(parseTrust(formatTrust(trust)).index).toMatchObject({ quorum });
    }
    const wrong = ['3', '0', 'any', '', '1 2', '1\nindex-quorum 1'].map((each) => `index-quorum ${each}`);
    for (const each of [...wrong, `index-witness W1 ${w3}`, `index-witness W3 ${w1}`, `index-witness ${w3}`])
      expect(() => read(each), each).toThrow(/trust|line/);
    expect(() => parseTrust(`log ${log}\nquorum none\nindex-quorum 1\n`)).toThrow('index-quorum');
    expect(parseTrust(`log ${log}\nquorum none\n`).index).toBeUndefined();
  });

  it('a trust file may have several keys of one log', () => {
    const second = logKey();
    const { keys } = parseTrust(`log ${log}\nlog ${second}\nquorum none\n`);
    expect(keys.map(({ text }) => text)).toEqual([log, second]);
  });

  it('a trust file is read back unchanged', () => {
    for (const quorum of [0, 1, 2, 3]) {
      const trust = {
        origin: 'example.com/log',
        keys: [parseVerifierKey(log)],
        witnesses: [w1, w2, w3].map(parseVerifierKey),
        quorum,
      };
      const read = parseTrust(formatTrust(trust));
      expect(read.quorum).toBe(quorum);
      expect(read.origin).toBe(trust.origin);
      expect(read.witnesses.map(({ text }) => text)).toEqual([w1, w2, w3]);
    }
    expect(formatTrust(parseTrust(`log ${log}\nquorum none`))).toBe(`log ${log}\nquorum none\n`);
  });

  it('formatTrust refuses a trust that could not be met or read', () => {
    const trust = { origin: 'example.com/log', keys: [parseVerifierKey(log)], witnesses: [], quorum: 1 };
    expect(() => formatTrust(trust)).toThrow('trust: expected');
    expect(() => formatTrust({ ...trust, quorum: 0, origin: 'example.com/other' })).toThrow('keys named');
    expect(() => formatTrust({ ...trust, quorum: 0, keys: [] })).toThrow('a line log');
  });

  const twin = generateKeyPairSync('ed25519').privateKey;
  it.each([
    ['', 'a line log'],
    [`log ${log}\n`, 'a line quorum'],
    ['quorum none\n', 'a line log'],
    [`log ${log}\nquorum none\nquorum none\n`, 'line 3: trust: expected one quorum line'],
    [`log ${log}\nquorum\n`, 'a witness or group'],
    [`log ${log}\nquorum none x\n`, 'quorum <name>'],
    [
      `log ${log}\nquorum X1\n${witnessLines}`,
      'line 2: trust: expected a witness or group of an earlier line',
    ],
    [`log ${log}\nlog ${log}\nquorum none`, 'line 2: trust: expected distinct public keys'],
    [`log ${log}\nlog ${logKey('example.com/other')}\nquorum none`, 'one log per trust file'],
    [`log ${w1}\nquorum none`, 'a key for ed25519 or ml-dsa-44'],
    [`witness X ${log}\nlog ${log}\nquorum X`, 'a key for ed25519-cosignature or ml-dsa-44'],
    [`log ${log} u v\nquorum none`, 'log <verifier key>'],
    [`log ${log}\nwitness X1 ${w1} u v\nquorum none`, 'witness <name>'],
    [`log ${log}\nwitness none ${w1}\nquorum none`, 'a name other than none'],
    [`log ${log}\nwitness X ${w1}\nwitness X ${w2}\nquorum X`, 'an unused name'],
    [`log ${log}\nwitness X ${w1}\ngroup X any X\nquorum X`, 'an unused name'],
    [`log ${log}\nwitness X ${w1}\nwitness Y ${w1}\nquorum X`, 'distinct public keys'],
    [`log ${log}\nwitness X\nquorum none`, 'verifier key: expected'],
    [
      `log ${ed25519Signer('a', twin).verifierKey}\nwitness X ${ed25519Cosigner('b', twin).verifierKey}\nquorum X`,
      'distinct public keys',
    ],
    [`log ${log}\n${witnessLines}group G 0 X1\nquorum G`, 'any, all, or a number from 1 to the 1 members'],
    [`log ${log}\n${witnessLines}group G 2 X1\nquorum G`, 'any, all, or a number'],
    [`log ${log}\n${witnessLines}group G 01 X1\nquorum G`, 'any, all, or a number'],
    [`log ${log}\n${witnessLines}group G constructor X1\nquorum G`, 'any, all, or a number'],
    [`log ${log}\n${witnessLines}group G all\nquorum G`, 'any, all, or a number'],
    [`log ${log}\n${witnessLines}group G any X1 X1\nquorum G`, 'each member once'],
    [`log ${log}\n${witnessLines}group G any X1 none\nquorum G`, 'witnesses of earlier lines'],
    [
      `log ${log}\n${witnessLines}group G any X1\ngroup H any G\nquorum H`,
      'groups of groups are not supported',
    ],
    [`log ${log}\rquorum none\n`, 'no control characters'],
    [`log ${log}\nquorum\u00a0none\n`, 'log, witness, group or quorum'],
    [`policy ${log}\nquorum none`, 'log, witness, group or quorum'],
    [`LOG ${log}\nquorum none`, 'log, witness, group or quorum'],
  ])('parseTrust refuses %j', (text, reason) => {
    expect(() => parseTrust(text)).toThrow(reason);
  });

  it('a trust file has at most 32 keys and 256 KiB', () => {
    const keys = Array.from({ length: limits.trustKeys }, () => `log ${logKey()}\n`).join('');
    expect(parseTrust(`${keys}quorum none\n`).keys).toHaveLength(limits.trustKeys);
    expect(() => parseTrust(`${keys}log ${log}\nquorum none\n`)).toThrow('at most 32 keys');
    const file = `log ${log}\nquorum none\n#`;
    const padding = '-'.repeat(limits.trustBytes - file.length);
    expect(parseTrust(file + padding).quorum).toBe(0);
    expect(() => parseTrust(`${file}${padding}-`)).toThrow('at most 262144 bytes');
  });
});
